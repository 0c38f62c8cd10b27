"""index_copy: old_tensor with the rows at `index_vector` replaced by the rows of new_tensor."""

from ...base.errors import BoundsError, ShapeError
from ..checks.index_dtype import IndexRead
from ..kernel_property import Kernel, KernelProperty
from ..property import merge_shapes
from ..second_order import Linear
from ..tensor.axes import params_along_axis
from ..tensor.take import MODES


class IndexCopyProperty(KernelProperty, operator="_contrib_index_copy"):
    """`old_tensor` with rows replaced: ``out[index_vector[i]] = new_tensor[i]``.

    Of equal indices the last one counts, and the gradient of each is that of its row. An index that
    is no row is an error.
    """

    inputs_doc = {
        "old_tensor": "Rows (n, ...).",
        "index_vector": "Which rows are replaced, shape (m).",
        "new_tensor": "What they become, shape (m, ...).",
    }
    forward = Kernel("index_copy", ("old_tensor", "index_vector", "new_tensor"), whole=True)
    backward = (
        Kernel("index_copy_grad", ("d_output", "index_vector"), ("d_old_tensor",), whole=True),
        Kernel("take", ("d_output", "index_vector"), ("d_new_tensor",)),
    )
    zeros = ("d_index_vector",)
    floats = ()
    second_order = Linear({0: (), 2: ()})
    example = """
    >>> x = mx.nd.zeros((3, 2))
    >>> index = mx.nd.array([2, 0], dtype="int32")
    >>> mx.nd.contrib.index_copy(x, index, mx.nd.array([[1, 2], [3, 4]]))
    [[3. 4.]
     [0. 0.]
     [1. 2.]]
    <NDArray 3x2 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        old, index, new = in_shapes
        old = merge_shapes(old, out_shapes[0])
        if index is not None and len(index) != 1:
            raise ShapeError(
                f"operator {self.op_name}: 'index_vector' has shape {tuple(index)}, "
                "expected one axis"
            )
        if old is not None and new is not None and len(old) != len(new):
            raise ShapeError(
                f"operator {self.op_name}: expected as many axes in 'new_tensor' as "
                f"in 'old_tensor' of {old}, got {new}"
            )
        count = 0 if index is None else index[0]
        if new is not None:
            new = merge_shapes(new, (count, *(old[1:] if old is not None else new[1:])))
        elif old is not None:
            new = (count, *old[1:])
        if old is not None:
            old = (old[0], *new[1:])
        if new is not None:
            index = merge_shapes(index, new[:1])
        return [old, index, new], [old], []

    def infer_type(self, in_types, out_types):
        kind = in_types[0] or in_types[2] or out_types[0]
        return [kind, in_types[1] or "int32", kind], [kind], []

    def arrays_read_by_index(self, in_shapes, in_types):
        return [IndexRead(("index_vector", in_types[1], in_shapes[0][0]))]

    def kernel_params(self, in_shapes):
        return {**params_along_axis(in_shapes[0], 0), "mode": MODES.index("raise")}

    def kernel_error(self, item, values):
        index, n = (min(int(value), 2**63 - 1) for value in values)
        return BoundsError(
            f"operator _contrib_index_copy: expected rows of 'old_tensor', which has "
            f"{n}, in 'index_vector', got {index}"
        )
