"""ProductOperator: matrix products of one shape, one or a stack of them.

``C[i] = op(A[i]) op(B[i])``; dA = g op(B)', dB = op(A)' g. float32 and float64.
"""

from libc.stdint cimport int64_t

from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.blas cimport gemm
from ...kernels.parallel cimport parallel_ranges, threads_for
from .._base cimport Operator, OpContext

from ...dtype import dtype_flag
from ...errors import ArgumentError
from ...kernels.blas import check_sizes


cdef struct Product:
    # `batch` products of one shape; strides between matrices in elements
    bint trans_a, trans_b
    int dtype
    int64_t m, n, k
    double beta
    const char* a
    const char* b
    char* c


cdef class ProductOperator(Operator):
    """`batch` products of m x k by k x n."""

    cdef bint trans_a, trans_b
    cdef int dtype
    cdef int64_t batch, m, n, k

    def __init__(self, prop, dtype, batch, m, n, k):
        if dtype not in ("float32", "float64"):
            raise ArgumentError(f"operator {prop.op_name} takes float32 or float64, not {dtype}")
        check_sizes(f"operator {prop.op_name}", m, n, k)
        self.trans_a, self.trans_b = prop.transpose_a, prop.transpose_b
        self.dtype = dtype_flag(dtype)
        self.batch, self.m, self.n, self.k = batch, m, n, k

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        _multiply(self, req[0], self.trans_a, self.trans_b, self.m, self.n, self.k, in_data[0].data,
                  in_data[1].data, out_data[0].data)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef void* g = out_grad[0].data
        cdef void* a = in_data[0].data
        cdef void* b = in_data[1].data
        if self.trans_a:
            _multiply(self, req[0], self.trans_b, True, self.k, self.m, self.n, b, g,
                      in_grad[0].data)
        else:
            _multiply(self, req[0], False, not self.trans_b, self.m, self.k, self.n, g, b,
                      in_grad[0].data)
        if self.trans_b:
            _multiply(self, req[1], True, self.trans_a, self.n, self.k, self.m, g, a,
                      in_grad[1].data)
        else:
            _multiply(self, req[1], not self.trans_a, False, self.k, self.n, self.m, a, g,
                      in_grad[1].data)
        return 0


cdef void _multiply(ProductOperator self, int req, bint trans_a, bint trans_b, int64_t m, int64_t n,
                    int64_t k, const void* a, const void* b, void* c) noexcept nogil:
    cdef Product p
    if req == kNullOp:
        return
    p.trans_a, p.trans_b, p.dtype = trans_a, trans_b, self.dtype
    p.m, p.n, p.k = m, n, k
    p.beta = 1.0 if req == kAddTo else 0.0
    p.a, p.b, p.c = <const char*>a, <const char*>b, <char*>c
    # one product is cut up inside gemm; of many, each thread takes its share
    parallel_ranges(threads_for(self.batch * m * n * k) if self.batch > 1 else 1, self.batch,
                    _range, &p)


cdef void _range(void* arg, int64_t begin, int64_t end) noexcept nogil:
    cdef Product* p = <Product*>arg
    cdef int64_t i, size = 4 if p.dtype == kFloat32 else 8
    cdef int64_t lda = p.m if p.trans_a else p.k, ldb = p.k if p.trans_b else p.n
    cdef const char* a
    cdef const char* b
    cdef char* c
    for i in range(begin, end):
        a = p.a + i * p.m * p.k * size
        b = p.b + i * p.k * p.n * size
        c = p.c + i * p.m * p.n * size
        if p.dtype == kFloat32:
            gemm[float](p.trans_a, p.trans_b, p.m, p.n, p.k, 1.0, <const float*>a, lda,
                        <const float*>b, ldb, <float>p.beta, <float*>c, p.n)
        else:
            gemm[double](p.trans_a, p.trans_b, p.m, p.n, p.k, 1.0, <const double*>a, lda,
                         <const double*>b, ldb, p.beta, <double*>c, p.n)
