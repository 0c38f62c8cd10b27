"""All calls of cuBLAS, checked for errors: products of row-major matrices on a GPU's stream.

The library comes from pip (extra `cuda`) or the system and is opened at the first product; nothing
is linked and no header is needed. Each device and stream has a handle of its own.
"""

from libc.stdint cimport int64_t

from ..._typedefs cimport RunContext

cdef struct Product:  # sizes and dtype of a batch of matrix products
    # C[i] (+)= op(A[i]) op(B[i]) for `count` dense row-major matrices, one behind the other.
    # op(A) is m x k, op(B) is k x n. Narrow floats are summed in float32.
    int dtype  # kFloat32, kFloat64, kFloat16 or kBfloat16
    bint trans_a
    bint trans_b
    int64_t m
    int64_t n
    int64_t k
    int64_t count

# Queue the product on run.stream.
cdef int matmul(const RunContext* run, const Product* p, const void* a, const void* b, void* c,
                bint add) except -1 nogil
