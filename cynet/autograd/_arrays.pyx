"""Arrays of gradients (contract in _arrays.pxd)."""

from .._core.copy cimport Region, push_copy, push_fill, whole
from .._ndarray cimport NDArrayBase, blob_shape, new_array, new_view, same_shape
from .._typedefs cimport TBlob, kFloat64
from ..ndarray._dispatch cimport run_small
from ..ndarray._resolve cimport resolve

from ..base.dtype import NAMES
from ..base.errors import ArgumentTypeError, ShapeError, shown
from ..operator._base import get_operator

cdef object _sum = None


cdef NDArrayBase blank(const TBlob* like):
    cdef NDArrayBase out = new_array(like.shape, like.ndim, like.dtype, like.dev_type, like.dev_id)
    out.chunk.written = out.blob.size == 0
    return out


cdef NDArrayBase filled(const TBlob* like, double value):
    cdef NDArrayBase out = blank(like)
    fill(out, value)
    return out


cdef int fill(NDArrayBase array, double value) except -1:
    cdef Region to = whole(array)
    if array.blob.size == 0:
        return 0
    return push_fill(array, &to, &value, kFloat64)


cdef int copy_values(NDArrayBase target, NDArrayBase source) except -1:
    cdef Region to = whole(target)
    cdef Region region = whole(source)
    return push_copy(target, &to, source, &region)


cdef NDArrayBase copied(NDArrayBase source):
    cdef NDArrayBase out = blank(&source.blob)
    copy_values(out, source)
    return out


cdef NDArrayBase plus(NDArrayBase a, NDArrayBase b, NDArrayBase out):
    global _sum
    if _sum is None:
        _sum = get_operator("elemwise_add")
    return run_small(resolve(_sum, [a, b], (), {}, None), a, b, out)


cdef NDArrayBase in_shape(NDArrayBase array, const TBlob* like):
    if same_shape(&array.blob, like):
        return array
    return new_view(array, like.shape, like.ndim, 0)


cdef NDArrayBase gradient_of_head(NDArrayBase head, object given, int i):
    cdef NDArrayBase grad
    if not isinstance(given, NDArrayBase):
        raise ArgumentTypeError(
            f"the gradient of head {i} must be an NDArray or None, got {shown(given)}")
    grad = given
    if not same_shape(&head.blob, &grad.blob):
        raise ShapeError(f"the gradient of head {i} has shape {blob_shape(&grad.blob)}, the "
                         f"head has shape {blob_shape(&head.blob)}")
    if grad.blob.dtype != head.blob.dtype or grad.blob.dev_type != head.blob.dev_type or (
            grad.blob.dev_id != head.blob.dev_id):
        grad = given.as_in_context((<object>head).context).astype(
            NAMES[head.blob.dtype], copy=False)
    return grad
