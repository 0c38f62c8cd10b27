# cython: wraparound=True
"""GPU forms of dot, batch_dot and FullyConnected: products by cuBLAS."""

from libc.stdint cimport int64_t

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...cuda.libraries.cublas cimport Product, matmul
from .._base cimport Operator, OpContext

import numpy as np

from ...cuda.libraries.cublas import open_cublas
from ...base.dtype import dtype_flag
from ..checks.dtypes import CPU_FLOATS, require_floats
from ..nn.fully_connected.fully_connected import FullyConnectedProperty
from ..tensor.dot import BatchDotProperty, DotProperty
from .kernel_args import bytes_of_numbers
from .registry import register_form


cdef int _matmul(OpContext* ctx, int dtype, int req, bint trans_a, bint trans_b, int64_t m,
                 int64_t n, int64_t k, int64_t count, const void* a, const void* b,
                 void* c) except -1 nogil:
    """``c[i] (+)= op(a[i]) op(b[i])`` for `count` products, written or added as `req` requires."""
    cdef Product p
    if req == kNullOp:
        return 0
    p.dtype, p.trans_a, p.trans_b = dtype, trans_a, trans_b
    p.m, p.n, p.k, p.count = m, n, k, count
    return matmul(&ctx.run_ctx, &p, a, b, c, req == kAddTo)


cdef class ProductForm(Operator):  # batched matrix products on a GPU
    """`count` products of m x k by k x n; dA = g op(B)', dB = op(A)' g."""

    cdef bint trans_a, trans_b
    cdef int dtype
    cdef int64_t count, m, n, k

    def __init__(self, prop, dtype, count, m, n, k):
        self.trans_a, self.trans_b = prop.transpose_a, prop.transpose_b
        self.dtype = dtype_flag(dtype)
        self.count, self.m, self.n, self.k = count, m, n, k

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        return _matmul(ctx, self.dtype, req[0], self.trans_a, self.trans_b, self.m, self.n, self.k,
                       self.count, in_data[0].data, in_data[1].data, out_data[0].data)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef const void* g = out_grad[0].data
        cdef const void* a = in_data[0].data
        cdef const void* b = in_data[1].data
        cdef int64_t m = self.m, n = self.n, k = self.k
        if self.trans_a:
            _matmul(ctx, self.dtype, req[0], self.trans_b, True, k, m, n, self.count, b, g,
                    in_grad[0].data)
        else:
            _matmul(ctx, self.dtype, req[0], False, not self.trans_b, m, k, n, self.count, g, b,
                    in_grad[0].data)
        if self.trans_b:
            return _matmul(ctx, self.dtype, req[1], True, self.trans_a, n, k, m, self.count, g, a,
                           in_grad[1].data)
        return _matmul(ctx, self.dtype, req[1], not self.trans_a, False, k, n, m, self.count, a, g,
                       in_grad[1].data)


cdef class FullyConnectedForm(Operator):  # FullyConnected by cuBLAS
    """data (N, K), weight (M, K), bias (M,), out (N, M): the bias and its gradient are products
    with a vector of N ones."""

    cdef bint has_bias
    cdef int dtype
    cdef int64_t rows, units, hidden
    cdef object held
    cdef const void* ones

    def __init__(self, prop, dtype, rows, units, hidden, device):
        self.rows, self.units, self.hidden = rows, units, hidden
        self.dtype, self.has_bias = dtype_flag(dtype), not prop.no_bias
        if self.has_bias:
            self.held = device.upload(bytes_of_numbers(np.ones(rows), dtype))
            self.ones = <const void*><size_t>self.held.address

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int add = req[0]
        if self.has_bias:
            _matmul(ctx, self.dtype, add, False, False, self.rows, self.hidden, 1, 1, self.ones,
                    in_data[2].data, out_data[0].data)
            add = add if add == kNullOp else kAddTo
        return _matmul(ctx, self.dtype, add, False, True, self.rows, self.hidden, self.units, 1,
                       in_data[0].data, in_data[1].data, out_data[0].data)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef const void* g = out_grad[0].data
        _matmul(ctx, self.dtype, req[1], True, False, self.hidden, self.units, self.rows, 1, g,
                in_data[0].data, in_grad[1].data)
        if self.has_bias:
            _matmul(ctx, self.dtype, req[2], False, False, 1, self.hidden, self.rows, 1, self.ones,
                    g, in_grad[2].data)
        return _matmul(ctx, self.dtype, req[0], False, False, self.rows, self.units, self.hidden,
                       1, g, in_data[1].data, in_grad[0].data)


@register_form(DotProperty, BatchDotProperty, checks=False)
def product_form(prop, in_shapes, in_types, device):
    """Build the form of dot and batch_dot: one product or a stack of products."""
    require_floats(prop, prop.list_arguments(), in_types, CPU_FLOATS)
    open_cublas()
    return ProductForm(prop, in_types[0], *prop.product_sizes(*in_shapes))


@register_form(FullyConnectedProperty, checks=False)
def fully_connected(prop, in_shapes, in_types, device):
    """Build the form of FullyConnected: three products, and two small ones for the bias."""
    require_floats(prop, prop.list_arguments(), in_types, CPU_FLOATS)
    open_cublas()
    return FullyConnectedForm(prop, in_types[0], prop.row_count(in_shapes[0]), in_shapes[1][1],
                              prop.num_hidden, device)
