"""Where the extremes are: argmax, argmin, argmax_channel.

The indices come in the input's dtype, as MXNet has it; the first of equal elements wins, and NaN is
the extreme of any row that has one.
"""

from libc.stdint cimport int64_t

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.reduce.reduce cimport ArgLoop, run_arg
from ...kernels.table cimport find_arg
from .._base cimport Operator, OpContext

from ...base.dtype import dtype_flag
from ...base.errors import ArgumentError
from .._base import register_operator
from ..parameters import Bool, Int
from ..property import OperatorProperty, merge_shapes
from .axes import axis_of, split_at


class ArgProperty(OperatorProperty):
    """Base of argmax and argmin."""

    inputs_doc = {"data": "The input, any shape."}
    axis = Int(None, doc="Axis to search along; None searches the whole array.")
    keepdims = Bool(False, doc="Keep the searched axis with length 1.")
    differentiable = False
    largest = True

    def infer_shape(self, in_shapes, out_shapes):
        shape = in_shapes[0]
        if shape is None:
            return [None], [out_shapes[0]], []
        if self.axis is None:
            out = (1,) * len(shape) if self.keepdims else (1,)
        else:
            axis = axis_of(self.axis, len(shape))
            middle = (1,) if self.keepdims else ()
            out = shape[:axis] + middle + shape[axis + 1:] or (1,)
        return [shape], [merge_shapes(out, out_shapes[0])], []

    def create_operator(self, ctx, in_shapes, in_types):
        shape = in_shapes[0]
        if self.axis is None:
            outer, n, inner = split_at((1, *shape), 0)
            outer, n, inner = 1, inner, 1
        else:
            outer, n, inner = split_at(shape, axis_of(self.axis, len(shape)))
        return ArgOperator(self.largest, in_types[0], outer, n, inner)


cdef class ArgOperator(Operator):
    """The search along the middle one of three axes."""

    cdef ArgLoop loop
    cdef int64_t outer, n, inner

    def __init__(self, bint largest, dtype, outer, n, inner):
        self.loop = find_arg(largest, dtype_flag(dtype))
        self.outer, self.n, self.inner = outer, n, inner

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp:
            run_arg(self.loop, self.outer, self.n, self.inner, in_data[0].data, out_data[0].data,
                    req[0] == kAddTo)
        return 0


class ArgmaxProperty(ArgProperty):
    """Index of the largest element along an axis."""


class ArgminProperty(ArgProperty):
    """Index of the smallest element along an axis."""

    largest = False


class ArgmaxChannelProperty(OperatorProperty):
    """Index of the largest element of each row of a matrix."""

    inputs_doc = {"data": "Matrix of shape (rows, channels)."}
    differentiable = False

    def infer_shape(self, in_shapes, out_shapes):
        shape = in_shapes[0]
        if shape is None:
            return [None], [out_shapes[0]], []
        if len(shape) < 2:
            raise ArgumentError(f"operator argmax_channel takes a matrix, got shape {shape}")
        return [shape], [merge_shapes((shape[0], *shape[2:]), out_shapes[0])], []

    def create_operator(self, ctx, in_shapes, in_types):
        return ArgOperator(True, in_types[0], *split_at(in_shapes[0], 1))


register_operator("argmax", ArgmaxProperty)
register_operator("argmin", ArgminProperty)
register_operator("argmax_channel", ArgmaxChannelProperty)
