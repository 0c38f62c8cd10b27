# distutils: extra_compile_args = -Os
# cython: wraparound=True
"""Matrix products of one shape, one or a stack of them, in bfloat16 by oneDNN: float32 sums,
rounded once. What is computed is said in matmul.pyx."""

from libc.stdint cimport int64_t

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.conv.onednn cimport Layout, Primitive
from .._base cimport Operator, OpContext

from ...kernels.conv.onednn import matmul

cdef enum:
    FORWARD = 0
    LHS = 1
    RHS = 2


cdef class LibraryProducts(Operator):
    """`batch` products of m x k by k x n; each of the three, for writing or adding, is made when it
    is first run."""

    cdef bint trans_a, trans_b
    cdef int64_t batch, m, n, k
    cdef void* products[3][2]  # by kind and whether it adds: a Primitive that `_made` holds
    cdef list _made

    def __init__(self, prop, batch, m, n, k):
        self.stateful, self._made = True, []
        self.trans_a, self.trans_b = prop.transpose_a, prop.transpose_b
        self.batch, self.m, self.n, self.k = batch, m, n, k
        self._make(FORWARD, False)

    cdef int _make(self, int kind, bint add) except -1:
        cdef Primitive made
        cdef int64_t m = self.m, n = self.n, k = self.k
        if kind == FORWARD:
            a, b, c = self._layout(m, k, self.trans_a), self._layout(k, n, self.trans_b), (m, n)
        elif kind == LHS and self.trans_a:  # b g'
            a, b, c = self._layout(k, n, self.trans_b), self._layout(n, m, True), (k, m)
        elif kind == LHS:  # g b'
            a, b, c = self._layout(m, n, False), self._layout(n, k, not self.trans_b), (m, k)
        elif self.trans_b:  # g' a
            a, b, c = self._layout(n, m, True), self._layout(m, k, self.trans_a), (n, k)
        else:  # a' g
            a, b, c = self._layout(k, m, not self.trans_a), self._layout(m, n, False), (k, n)
        made = matmul(a, b, self._layout(c[0], c[1], False), None, None, add)
        self._made.append(made)
        self.products[kind][add] = <void*>made
        return 0

    cdef Layout _layout(self, int64_t rows, int64_t columns, bint transposed):
        """A stack of matrices; transposed ones have their columns one behind the other."""
        cdef list strides = [rows * columns, 1, rows] if transposed else [
            rows * columns, columns, 1]
        return Layout((self.batch, rows, columns), strides, "bfloat16")

    cdef int _run(self, OpContext* ctx, int kind, int req, void* a, void* b,
                  void* c) except -1 nogil:
        cdef bint add = req == kAddTo
        cdef void* tensors[3]
        if req == kNullOp:
            return 0
        if self.products[kind][add] == NULL:
            with gil:
                self._make(kind, add)
        tensors[0], tensors[1], tensors[2] = a, b, c
        return (<Primitive>self.products[kind][add]).run(
            tensors, get_space(&ctx.requested[0],
                               (<Primitive>self.products[kind][add]).scratch_bytes))

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
