"""The only interface to BLAS: row-major matrix products of float and double.

The library is the one in the `scipy_openblas32` wheel, opened at import; nothing is linked. BLAS
itself runs on the calling thread only: a large product is cut into blocks of C over the threads of
parallel.pxd.
"""

from cython cimport floating
from libc.stdint cimport int64_t

# C = alpha op(A) op(B) + beta C with op(A) of m x k, op(B) of k x n, C of m x n; op transposes when
# its flag is set. All are row-major; lda, ldb, ldc are the distances between rows as stored. beta
# == 0: C is not read. Every size must fit a 32-bit int (`check_sizes`).
cdef void gemm(bint trans_a, bint trans_b, int64_t m, int64_t n, int64_t k,
               floating alpha, const floating* a, int64_t lda, const floating* b, int64_t ldb,
               floating beta, floating* c, int64_t ldc) noexcept nogil
