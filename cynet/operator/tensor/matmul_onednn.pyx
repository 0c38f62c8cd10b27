# cython: wraparound=True
"""Matrix products of one shape, one or a stack of them, in bfloat16 by oneDNN: float32 sums,
rounded once. See matmul.pyx for the contract."""

from libc.stdint cimport int64_t

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.conv.onednn_matmul cimport Matmul
from .._base cimport Operator, OpContext

cdef enum:
    FORWARD = 0  # the product that computes the output
    LHS = 1  # the product that computes the gradient of the left operand
    RHS = 2  # the product that computes the gradient of the right operand


cdef class LibraryProducts(Operator):  # products by oneDNN
    """`batch` products of m x k by k x n; each of the three, for writing or adding, is made when it
    is first run."""

    cdef bint trans_a, trans_b
    cdef int64_t batch, m, n, k
    cdef void* products[3][2]  # Matmuls by kind and whether they add; `_made` holds them
    cdef list _made

    def __init__(self, prop, batch, m, n, k):
        self.stateful, self._made = True, []
        self.trans_a, self.trans_b = prop.transpose_a, prop.transpose_b
        self.batch, self.m, self.n, self.k = batch, m, n, k
        self._make_product(FORWARD, False)

    cdef int _make_product(self, int kind, bint add) except -1:  # kind: FORWARD, LHS or RHS
        cdef Matmul made
        cdef int64_t m = self.m, n = self.n, k = self.k
        if kind == FORWARD:
            shape, transposed = (m, n, k), (self.trans_a, self.trans_b)
        elif kind == LHS and self.trans_a:  # b g'
            shape, transposed = (k, m, n), (self.trans_b, True)
        elif kind == LHS:  # g b'
            shape, transposed = (m, k, n), (False, not self.trans_b)
        elif self.trans_b:  # g' a
            shape, transposed = (n, k, m), (True, self.trans_a)
        else:  # a' g
            shape, transposed = (k, n, m), (not self.trans_a, False)
        made = Matmul((self.batch, *shape), *transposed, "bfloat16", add=add)
        self._made.append(made)
        self.products[kind][add] = <void*>made
        return 0

    cdef int _run(self, OpContext* ctx, int kind, int req, void* a, void* b,
                  void* c) except -1 nogil:
        cdef bint add = req == kAddTo
        cdef void* tensors[3]
        if req == kNullOp:
            return 0
        if self.products[kind][add] == NULL:
            with gil:
                self._make_product(kind, add)
        tensors[0], tensors[1], tensors[2] = a, b, c
        return (<Matmul>self.products[kind][add]).run(
            tensors, get_space(&ctx.requested[0],
                               (<Matmul>self.products[kind][add]).scratch_bytes))

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        return self._run(ctx, FORWARD, req[0], in_data[0].data, in_data[1].data, out_data[0].data)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef void* g = out_grad[0].data
        cdef void* a = in_data[0].data
        cdef void* b = in_data[1].data
        self._run(ctx, LHS, req[0], b if self.trans_a else g, g if self.trans_a else b,
                  in_grad[0].data)
        return self._run(ctx, RHS, req[1], g if self.trans_b else a, a if self.trans_b else g,
                         in_grad[1].data)
