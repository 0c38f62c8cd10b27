"""ProductOperator: matrix products of one shape, one or a stack of them.

``C[i] = op(A[i]) op(B[i])``; dA = g op(B)', dB = op(A)' g. float32 and float64. Each of the three
is by kernels of our own (kernels/gemm/small.h) or BLAS (kernels/gemm/blas.pxd), as products.py
chooses.
"""

from libc.stdint cimport int64_t

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.gemm.blas cimport gemm
from ...kernels.parallel cimport parallel_ranges, threads_for
from ...kernels.gemm.small cimport Product, ProductKernel, run_product, product_workspace_bytes
from .._base cimport Operator, OpContext

from ...base.dtype import dtype_flag
from ...base.errors import ArgumentError
from ...kernels.gemm.blas import check_sizes
from ..products import PRODUCTS, ProductDesc, kernel_code


def choose_product_kernels(prop, dtype, m, n, k):
    """The Choice of each product: "forward" and the gradients of "lhs" and "rhs"."""
    sizes = {"forward": (m, n, k, prop.transpose_a, prop.transpose_b)}
    sizes.update(zip(("lhs", "rhs"), gradient_sizes(prop.transpose_a, prop.transpose_b, m, n, k)))
    return {
        what: PRODUCTS.choose(ProductDesc(*each[:3], dtype, *each[3:]))
        for what, each in sizes.items()
    }


def gradient_sizes(a, b, m, n, k):
    """(m, n, k, whether the left and whether the right operand is transposed) of the products of
    the two gradients; `a` and `b`: whether the operands of forward are transposed."""
    lhs = (k, m, n, b, True) if a else (m, k, n, False, not b)
    rhs = (n, k, m, True, a) if b else (k, n, m, not a, False)
    return lhs, rhs


cdef struct ProductStack:  # a batch of products of one shape
    # `batch` products of one shape
    bint trans_a, trans_b
    int dtype, algorithm
    int64_t batch, parts, m, n, k
    double beta
    const char* a
    const char* b
    char* c
    char* space     # workspace of each part for own kernels; NULL: BLAS
    size_t n_space


cdef class ProductOperator(Operator):
    """`batch` products of m x k by k x n."""

    cdef bint trans_a, trans_b
    cdef int dtype
    cdef int64_t batch, m, n, k
    cdef int algorithms[3]  # kernels of forward and the gradients; -1: BLAS

    def __init__(self, prop, dtype, batch, m, n, k):
        if dtype not in ("float32", "float64"):
            raise ArgumentError(f"operator {prop.op_name} takes float32 or float64, not {dtype}")
        check_sizes(f"operator {prop.op_name}", m, n, k)
        self.trans_a, self.trans_b = prop.transpose_a, prop.transpose_b
        self.dtype = dtype_flag(dtype)
        self.batch, self.m, self.n, self.k = batch, m, n, k
        choices = choose_product_kernels(prop, dtype, m, n, k).values()
        self.algorithms = [kernel_code(choice) for choice in choices]

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        return _multiply(self, ctx, 0, req[0], self.trans_a, self.trans_b, self.m, self.n, self.k,
                         in_data[0].data, in_data[1].data, out_data[0].data)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef void* g = out_grad[0].data
        cdef void* a = in_data[0].data
        cdef void* b = in_data[1].data
        if self.trans_a:
            _multiply(self, ctx, 1, req[0], self.trans_b, True, self.k, self.m, self.n, b, g,
                      in_grad[0].data)
        else:
            _multiply(self, ctx, 1, req[0], False, not self.trans_b, self.m, self.k, self.n, g, b,
                      in_grad[0].data)
        if self.trans_b:
            _multiply(self, ctx, 2, req[1], True, self.trans_a, self.n, self.k, self.m, g, a,
                      in_grad[1].data)
        else:
            _multiply(self, ctx, 2, req[1], not self.trans_a, False, self.k, self.n, self.m, a, g,
                      in_grad[1].data)
        return 0


cdef int _multiply(ProductOperator self, OpContext* ctx, int which, int req, bint trans_a,
                   bint trans_b, int64_t m, int64_t n, int64_t k, const void* a, const void* b,
                   void* c) except -1 nogil:
    cdef ProductStack s
    cdef int threads = 1
    cdef bint own = self.algorithms[which] >= 0
    if req == kNullOp:
        return 0
    s.trans_a, s.trans_b, s.dtype = trans_a, trans_b, self.dtype
    s.algorithm = self.algorithms[which]
    s.batch, s.m, s.n, s.k = self.batch, m, n, k
    s.beta = 1.0 if req == kAddTo else 0.0
    s.a, s.b, s.c = <const char*>a, <const char*>b, <char*>c
    s.space = NULL
    # the kernel splits one product among threads; of many products each thread computes a share
    if self.batch > 1:
        threads = threads_for(self.batch * m * n * k // (8 if own else 1))
    s.parts = min(<int64_t>threads, self.batch)
    if own:
        threads = threads_for(m * n * k // 8) if s.parts == 1 else 1
        s.n_space = product_workspace_bytes(threads)
        s.space = <char*>get_space(&ctx.requested[0], s.parts * s.n_space)
        if s.parts == 1:
            _multiply_by_own(&s, 0, self.batch, threads, s.space)
            return 0
    parallel_ranges(<int>s.parts, s.parts, _multiply_batch_parts, &s)
    return 0


cdef void _multiply_batch_parts(void* arg, int64_t begin, int64_t end) noexcept nogil:
    cdef ProductStack* s = <ProductStack*>arg
    cdef int64_t part, first, last
    for part in range(begin, end):
        first, last = s.batch * part // s.parts, s.batch * (part + 1) // s.parts
        if s.space != NULL:
            _multiply_by_own(s, first, last, 1, s.space + part * s.n_space)
        else:
            _multiply_by_blas(s, first, last)


cdef void _multiply_by_own(const ProductStack* s, int64_t begin, int64_t end, int threads,
                           char* space) noexcept nogil:
    cdef int64_t i
    cdef Product p
    p.m, p.n, p.k = s.m, s.n, s.k
    p.a_transposed, p.a_row = s.trans_a, s.m if s.trans_a else s.k
    p.b_transposed, p.b_row = s.trans_b, s.k if s.trans_b else s.n
    p.c_row, p.relu, p.add = s.n, False, s.beta != 0
    p.bias = NULL
    for i in range(begin, end):
        p.a = <const float*>s.a + i * s.m * s.k
        p.b = <const float*>s.b + i * s.k * s.n
        p.c = <float*>s.c + i * s.m * s.n
        run_product(&p, <ProductKernel>s.algorithm, threads, space)


cdef void _multiply_by_blas(const ProductStack* s, int64_t begin, int64_t end) noexcept nogil:
    cdef int64_t i, size = 4 if s.dtype == kFloat32 else 8
    cdef int64_t lda = s.m if s.trans_a else s.k, ldb = s.k if s.trans_b else s.n
    cdef const char* a
    cdef const char* b
    cdef char* c
    for i in range(begin, end):
        a = s.a + i * s.m * s.k * size
        b = s.b + i * s.k * s.n * size
        c = s.c + i * s.m * s.n * size
        if s.dtype == kFloat32:
            gemm[float](s.trans_a, s.trans_b, s.m, s.n, s.k, 1.0, <const float*>a, lda,
                        <const float*>b, ldb, <float>s.beta, <float*>c, s.n)
        else:
            gemm[double](s.trans_a, s.trans_b, s.m, s.n, s.k, 1.0, <const double*>a, lda,
                         <const double*>b, ldb, s.beta, <double*>c, s.n)
