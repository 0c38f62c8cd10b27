"""add_n: the sum of any number of arrays of one shape."""

from ..._typedefs cimport TBlob, kAddTo, kBool, kNullOp
from ...kernels.binary cimport find_binary
from ...kernels.elementwise cimport Kernel, run_binary, run_unary
from ...kernels.unary cimport find_unary
from .._base cimport Operator, OpContext

from ...dtype import dtype_flag
from ...errors import ArgumentError
from .._base import register_operator
from ..parameters import Int
from ..property import OperatorProperty


class AddNProperty(OperatorProperty):
    """Sum of any number of arrays of one shape: ``output = data[0] + data[1] + ...``."""

    elementwise = True
    key_var_num_args = "num_args"
    passes_gradient = True
    num_args = Int(doc="Number of inputs; filled in from the call.", low=1)

    def list_arguments(self):
        return [f"arg{i}" for i in range(self.num_args)]

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return out_grad

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])]

    def create_operator(self, ctx, in_shapes, in_types):
        return AddNOperator(in_types[0])


cdef class AddNOperator(Operator):
    """add_n for one dtype."""

    cdef Kernel copy, add, plus

    def __init__(self, dtype):
        cdef int flag = dtype_flag(dtype)
        if flag == kBool:
            raise ArgumentError("operator add_n does not take arrays of bool; cast them first")
        self.copy = find_unary(b"identity", flag, False)
        self.add = find_unary(b"identity", flag, True)
        self.plus = find_binary(b"plus", flag, False)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int first = 0, i
        cdef void* out = out_data[0].data
        if req[0] == kNullOp:
            return 0
        if req[0] != kAddTo:
            if ctx.n_in == 1:
                run_unary(&self.copy, in_data[0].data, out, out_data[0].size)
            else:
                run_binary(&self.plus, in_data[0].data, 1, in_data[1].data, 1, out,
                           out_data[0].size)
            first = 2
        for i in range(first, ctx.n_in):
            run_unary(&self.add, in_data[i].data, out, out_data[0].size)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int i
        for i in range(ctx.n_in):
            if req[i] != kNullOp:
                run_unary(&self.add if req[i] == kAddTo else &self.copy, out_grad[0].data,
                          in_grad[i].data, in_grad[i].size)
        return 0


register_operator("add_n", AddNProperty, aliases=("ElementWiseSum",))
