"""Reductions over any set of axes; `find_reduce` of table.pxd finds their loops."""

from libc.stdint cimport int64_t

from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_for

cdef extern from "reduce/reduce_space.h" namespace "cynet" nogil:
    struct ReduceSpace:
        int n_preserved
        int n_reduced
        int64_t preserved_size
        int64_t reduced_size
    ctypedef void (*ReduceLoop)(int threads, int level, const ReduceSpace& s, const void* x,
                                void* out, int add, double divisor) noexcept
    # Split `shape` into preserved axes and those whose `reduced` flag is set.
    void make_reduce_space(ReduceSpace* space, int ndim, const int64_t* shape,
                           const bint* reduced) noexcept

# out (+)= reduction / divisor; the divisor is used by sums alone
cdef inline void run_reduce(ReduceLoop loop, const ReduceSpace* space, const void* x, void* out,
                            bint add, double divisor) noexcept nogil:
    loop(threads_for(space.preserved_size * space.reduced_size), cpu_level(), space[0], x, out, add,
         divisor)
