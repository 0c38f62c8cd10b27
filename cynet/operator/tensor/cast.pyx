"""Operators that change the dtype: Cast, amp_cast.

Real to integer truncates; the gradient is cast back.
"""

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.elementwise.elementwise cimport Kernel, run_cast, run_cast_add
from ...kernels.elementwise.unary cimport find_unary
from .._base cimport Operator, OpContext

from ...base.dtype import dtype_flag
from .._base import register_operator
from ..parameters import DType
from ..property import OperatorProperty


class CastProperty(OperatorProperty):
    """The input in another dtype."""

    inputs_doc = {"data": "The input, any shape and dtype."}
    dtype = DType(doc="Dtype of the output.")

    def infer_type(self, in_types, out_types):
        return [in_types[0]], [self.dtype], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return out_grad

    def create_operator(self, ctx, in_shapes, in_types):
        return CastOperator(in_types[0], self.dtype)


class AmpCastProperty(CastProperty):
    """The input in another dtype, as automatic mixed precision inserts it."""


cdef class CastOperator(Operator):
    """One dtype to another, and back."""

    cdef int source, target
    cdef Kernel add, add_back  # what adds the cast values

    def __init__(self, source, target):
        self.source, self.target = dtype_flag(source), dtype_flag(target)
        self.add = find_unary(b"identity", self.target, True)
        self.add_back = find_unary(b"identity", self.source, True)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        _cast(self.source, self.target, &self.add, req[0], in_data[0].data, out_data)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        _cast(self.target, self.source, &self.add_back, req[0], out_grad[0].data, in_grad)
        return 0


cdef void _cast(int source, int target, const Kernel* add, int req, const void* src,
                TBlob* dst) noexcept nogil:
    if req == kAddTo:
        run_cast_add(add, source, src, dst.data, dst.size)
    elif req != kNullOp:
        run_cast(source, target, src, dst.data, dst.size)


register_operator("Cast", CastProperty, aliases=("cast",))
register_operator("amp_cast", AmpCastProperty)
