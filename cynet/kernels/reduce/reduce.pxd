"""Reductions over any set of axes, picked by name and dtype when an operator is made."""

from libc.stdint cimport int64_t

cdef extern from "reduce/reduce.h" namespace "cynet" nogil:
    struct ReduceSpace:
        int n_kept
        int n_reduced
        int64_t kept_size
        int64_t reduced_size
    ctypedef void (*ReduceLoop)(int threads, int level, const ReduceSpace& s, const void* x,
                                void* out, int add, double divisor) noexcept
    ctypedef void (*ArgLoop)(int threads, int level, int64_t outer, int64_t n, int64_t inner,
                             const void* x, void* out, int add) noexcept

# sum, nansum, prod, nanprod, max, min, norm1, norm2. Both raise MissingLoop when there is none for
# the dtype.
cdef ReduceLoop find_reduce(const char* name, int dtype) except NULL
cdef ArgLoop find_arg(bint largest, int dtype) except NULL
# Split `shape` into kept axes and those whose `reduced` flag is set.
cdef void make_reduce_space(ReduceSpace* space, int ndim, const int64_t* shape,
                            const bint* reduced) noexcept nogil
# out (+)= reduction / divisor; the divisor is used by sums alone
cdef void run_reduce(ReduceLoop loop, const ReduceSpace* space, const void* x, void* out, bint add,
                     double divisor) noexcept nogil
cdef void run_arg(ArgLoop loop, int64_t outer, int64_t n, int64_t inner, const void* x, void* out,
                  bint add) noexcept nogil
