"""Linear algebra on stacks of row-major matrices of float and double, through LAPACK.

The library is that of kernels/gemm/blas.pxd. LAPACK runs on the calling thread only: the matrices
of a stack are shared out among threads, each computed by one, and products of a single matrix go
through `gemm`, so no number of threads changes a result.
"""

from libc.stdint cimport int64_t

cdef extern from "linalg/stack.h" namespace "cynet::linalg" nogil:
    enum: MAX_PARTS
    cdef enum LinalgOperation:
        TRMM, TRSM, SYRK, EXTRACT_TRIAN, MAKE_TRIAN, POTRF, POTRI, GELQF, SYEVD, INVERSE, DET
        SLOGDET, SUM_LOG_DIAG, SOLVE, SVD, EIG
    enum: COMPLEX_VALUES
    # One operation on a stack of matrices (m, n), or (n, n) for square ones.
    struct Stack:
        int op  # LinalgOperation
        int64_t m, n
        double alpha
        bint transpose, right, lower
        int64_t offset
    # in: inputs of forward; out: its outputs, for backward; grad: their gradients, NULL in forward;
    # target: outputs, NULL if not requested; add: add to it; sizes: elements of one matrix in each.
    cppclass Arrays[T]:
        const T* in_ "in" [3]
        const T* out[3]
        const T* grad[3]
        T* target[3]
        bint add[3]
        int64_t in_sizes[3]
        int64_t out_sizes[3]
        int n_targets

# Elements of working memory that one part needs.
cdef int64_t part_workspace_elements_float(const Stack* s, const Arrays[float]* a) noexcept nogil
cdef int64_t part_workspace_elements_double(const Stack* s, const Arrays[double]* a) noexcept nogil
# Computes `batch` matrices in `parts` (<= MAX_PARTS) parts; `space` has memory for each. Returns
# -1, or the first matrix that LAPACK refuses, with its `info`.
cdef int64_t run_float(const Stack* s, const Arrays[float]* a, bint back, int64_t batch, int parts,
                       float* space, int64_t* info) noexcept nogil
cdef int64_t run_double(const Stack* s, const Arrays[double]* a, bint back, int64_t batch,
                        int parts, double* space, int64_t* info) noexcept nogil
