"""Arrays of gradients (contract in _arrays.pxd)."""

from .._core.face cimport Face
from .._core.copy cimport Region, push_copy, push_fill, whole_region
from .._core.sparse_kind cimport is_sparse
from .._ndarray cimport NDArrayBase, blob_shape, new_array, new_view, same_shape
from .._typedefs cimport TBlob, kFloat64
from ..ndarray._dispatch cimport run_one_output
from ..ndarray._resolve cimport resolve_call
from ..ndarray._tape cimport CallNode, Output

from ..base.dtype import NAMES
from ..base.errors import ArgumentTypeError, GradientError, ShapeError, shown
from ..operator._base import get_operator

cdef object _add_entry = None  # operator elemwise_add, once it was needed
cdef object _sparse_module = None  # module ndarray/sparse/gradients.py, imported at first use

NOT_RECORDED = (
    "{} belongs to no recorded graph: compute it from arrays "
    "with attach_grad() inside `with autograd.record():`. An earlier backward has let go of its "
    "graph, unless it was called with retain_graph=True.")


cdef object sparse_module():
    global _sparse_module
    if _sparse_module is None:
        from ..ndarray.sparse import gradients
        _sparse_module = gradients
    return _sparse_module


cdef NDArrayBase new_array_like(const TBlob* like, Face face):
    cdef NDArrayBase out = new_array(
        face, like.shape, like.ndim, like.dtype, like.dev_type, like.dev_id)
    out.chunk.written = out.blob.size == 0
    return out


cdef NDArrayBase filled_like(const TBlob* like, double value, Face face):
    cdef NDArrayBase out = new_array_like(like, face)
    fill(out, value)
    return out


cdef int fill(NDArrayBase array, double value) except -1:
    cdef Region to = whole_region(array)
    if is_sparse(&array.blob):
        sparse_module().set_to_zeros(array)
        return 0
    if array.blob.size == 0:
        return 0
    return push_fill(array, &to, &value, kFloat64)


cdef int copy_values(NDArrayBase target, NDArrayBase source) except -1:
    cdef Region to = whole_region(target)
    cdef Region region = whole_region(source)
    if is_sparse(&target.blob) or is_sparse(&source.blob):
        sparse_module().assign_gradient(target, source)
        return 0
    return push_copy(target, &to, source, &region)


cdef NDArrayBase copy_of(NDArrayBase source):
    cdef NDArrayBase out
    if is_sparse(&source.blob):
        return (<object>source).copy()
    out = new_array_like(&source.blob, source.face)
    copy_values(out, source)
    return out


cdef NDArrayBase add_arrays(NDArrayBase a, NDArrayBase b, NDArrayBase out):
    global _add_entry
    if is_sparse(&a.blob) or is_sparse(&b.blob):
        return sparse_module().add_gradients(a, b, out)
    if _add_entry is None:
        _add_entry = get_operator("elemwise_add")
    return run_one_output(resolve_call(a.face, _add_entry, [a, b], (), {}, None), a, b, out)


cdef NDArrayBase reshaped_like(NDArrayBase array, const TBlob* like):
    if same_shape(&array.blob, like):
        return array
    return new_view(array, like.shape, like.ndim, 0)


cdef NDArrayBase check_head_grad(NDArrayBase head, object given, int i):
    cdef NDArrayBase grad
    if not isinstance(given, NDArrayBase):
        raise ArgumentTypeError(
            f"the gradient of head {i} must be an NDArray or None, got {shown(given)}")
    grad = given
    if is_sparse(&grad.blob) or is_sparse(&head.blob):
        return sparse_module().accept_head_gradient(head, given, i)
    if not same_shape(&head.blob, &grad.blob):
        raise ShapeError(f"the gradient of head {i} has shape {blob_shape(&grad.blob)}, the "
                         f"head has shape {blob_shape(&head.blob)}")
    if grad.blob.dtype != head.blob.dtype or grad.blob.dev_type != head.blob.dev_type or (
            grad.blob.dev_id != head.blob.dev_id):
        grad = given.as_in_context((<object>head).context).astype(
            NAMES[head.blob.dtype], copy=False)
    return grad


cdef object entry_of_output(CallNode node, int i):
    cdef Output out
    if node.call.n_visible == 1:
        return node
    out = Output.__new__(Output)
    out.node, out.index = node, i
    return out


cdef NDArrayBase link_to_entry(NDArrayBase array, object entry):
    # The array, linked to the graph entry that it had when it was recorded.
    cdef NDArrayBase out
    if array is None or array.grad_entry is entry:
        return array
    out = new_view(array, array.blob.shape, array.blob.ndim, 0)
    out.grad_entry = entry
    return out


cdef list entries_of(list heads):
    out = []
    for i, head in enumerate(heads):
        if not isinstance(head, NDArrayBase):
            raise ArgumentTypeError(f"head {i} must be an NDArray, got {shown(head)}")
        entry = (<NDArrayBase>head).grad_entry
        if entry is None:
            raise GradientError(NOT_RECORDED.format(
                f"head {i}" if len(heads) > 1 else "this array"))
        out.append(entry)
    return out
