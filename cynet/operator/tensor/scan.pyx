# distutils: extra_compile_args = -O1
"""cumsum: running sums along an axis; the gradient is the running sum from the end."""

from libc.stdint cimport int64_t

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.movement.index cimport run_cumsum
from .._base cimport Operator, OpContext

from ...base.dtype import FLAGS, dtype_flag
from ...base.errors import ArgumentError
from .._base import register_operator
from ..out_dtype import OutDType
from ..parameters import DType, Int
from ..property import is_known, merge_shapes
from .axes import axis_of, split_at


class CumSumProperty(OutDType):
    """Running sums along an axis, or of the flattened array."""

    inputs_doc = {"a": "The input, any shape."}
    axis = Int(None, doc="The axis; None flattens the input.")
    dtype = DType(None, doc="Dtype of the output and of the sums; the input's by default.")

    def infer_shape(self, in_shapes, out_shapes):
        shape = in_shapes[0]
        if not is_known(shape):
            return [shape], [out_shapes[0]], []
        out = shape
        if self.axis is None:
            out = (split_at((1, *shape), 0)[2],)
        return [shape], [merge_shapes(out, out_shapes[0])], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return out_grad if self.dtype is None else [*out_grad, *in_data]

    converted = tuple(FLAGS)

    def computed_in(self, data, out):
        return out

    def create_alike(self, ctx, in_shapes, in_types):
        if in_types[0] == "bool":
            raise ArgumentError(
                f"operator {self.op_name}: an array of bool cannot be summed as bool; say in which "
                "dtype")
        shape = in_shapes[0]
        if self.axis is None:
            return CumSumOperator(in_types[0], 1, split_at((1, *shape), 0)[2], 1)
        return CumSumOperator(in_types[0], *split_at(shape, axis_of(self.axis, len(shape))))


cdef class CumSumOperator(Operator):
    """Sums along the middle of (outer, n, inner)."""

    cdef int64_t outer, n, inner
    cdef int dtype

    def __init__(self, dtype, outer, n, inner):
        self.dtype = dtype_flag(dtype)
        self.outer, self.n, self.inner = outer, n, inner

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp:
            run_cumsum(self.dtype, False, req[0] == kAddTo, self.outer, self.n, self.inner,
                       in_data[0].data, out_data[0].data)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp:
            run_cumsum(self.dtype, True, req[0] == kAddTo, self.outer, self.n, self.inner,
                       out_grad[0].data, in_grad[0].data)
        return 0


register_operator("_np_cumsum", CumSumProperty, aliases=("cumsum",))
