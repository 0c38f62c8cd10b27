# distutils: extra_compile_args = -O1
"""Operators that order elements along an axis: OrderOperator, which topk, sort and argsort are made
of.

Equal elements keep their order; NaN comes last. Backward orders the input again, so that positions
of any size are exact.
"""

from libc.stdint cimport int64_t
from libc.string cimport memset

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, dtype_size, kAddTo, kInt64, kNullOp
from ...kernels.elementwise.elementwise cimport Kernel, run_cast, run_cast_add
from ...kernels.movement.sort cimport order_scratch, run_mark_order, run_order, run_take_order
from ...kernels.table cimport find_unary
from .._base cimport Operator, OpContext

from ...base.dtype import dtype_flag


cdef class OrderOperator(Operator):
    """The first k of x (outer, n, inner) in order.

    `gives` names the outputs: any of 'value', 'indices' and 'mask', in the order of the outputs.
    """

    cdef int64_t outer, n, inner, k
    cdef bint ascending
    cdef int dtype, index_dtype
    cdef int value_at, index_at, mask_at  # numbers of the outputs, -1: not given
    cdef Kernel add_index

    def __init__(self, dtype, index_dtype, outer, n, inner, k, bint ascending, tuple gives):
        self.dtype, self.index_dtype = dtype_flag(dtype), dtype_flag(index_dtype)
        self.outer, self.n, self.inner, self.k = outer, n, inner, k
        self.ascending = ascending
        at = {kind: i for i, kind in enumerate(gives)}
        self.value_at, self.index_at = at.get("value", -1), at.get("indices", -1)
        self.mask_at = at.get("mask", -1)
        self.add_index = find_unary(b"identity", self.index_dtype, True)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef void* x = in_data[0].data
        cdef int64_t m = self.outer * self.k * self.inner
        cdef int64_t* order = _order(self, ctx, x)
        cdef TBlob* out
        if self.value_at >= 0 and req[self.value_at] != kNullOp:
            run_take_order(self.dtype, False, req[self.value_at] == kAddTo, self.outer, self.n,
                           self.inner, self.k, order, x, out_data[self.value_at].data)
        if self.mask_at >= 0 and req[self.mask_at] != kNullOp:
            out = &out_data[self.mask_at]
            if req[self.mask_at] != kAddTo:
                memset(out.data, 0, out.size * dtype_size(self.dtype))
            run_mark_order(self.dtype, self.outer, self.n, self.inner, self.k, order, out.data)
        if self.index_at >= 0 and req[self.index_at] != kNullOp:
            out = &out_data[self.index_at]
            if req[self.index_at] == kAddTo:
                run_cast_add(&self.add_index, kInt64, order, out.data, m)
            else:
                run_cast(kInt64, self.index_dtype, order, out.data, m)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int64_t* order
        if req[0] == kNullOp:
            return 0
        if req[0] != kAddTo:
            memset(in_grad[0].data, 0, in_grad[0].size * dtype_size(self.dtype))
        if self.value_at >= 0:
            order = _order(self, ctx, in_data[0].data)
            run_take_order(self.dtype, True, True, self.outer, self.n, self.inner, self.k, order,
                           in_grad[0].data, out_grad[self.value_at].data)
        return 0


cdef int64_t* _order(OrderOperator self, OpContext* ctx, const void* x) except NULL nogil:
    """The positions in order, in temporary space; the sort's scratch lies behind them."""
    cdef int64_t m = self.outer * self.k * self.inner
    cdef int64_t scratch = order_scratch(self.outer, self.n, self.inner)
    cdef int64_t* space = <int64_t*>get_space(&ctx.requested[0], (m + scratch) * sizeof(int64_t))
    run_order(self.dtype, self.ascending, self.outer, self.n, self.inner, self.k, x, space + m,
              scratch,
              space)
    return space
