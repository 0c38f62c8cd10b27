"""Reductions over any set of axes (contract in reduce.pxd)."""

from libc.stdint cimport int64_t

from ..isa.dispatch cimport cpu_level, no_loop
from ..parallel cimport threads_for


cdef extern from "reduce/reduce.h" namespace "cynet" nogil:
    struct FullSpace "cynet::ReduceSpace":
        int n_kept
        int n_reduced
        int64_t kept_size
        int64_t reduced_size
        int64_t kept[8]
        int64_t kept_stride[8]
        int64_t reduced[8]
        int64_t reduced_stride[8]
        int last_is_kept
    ReduceLoop find_reduce_loop(const char* name, int dtype) noexcept
    ArgLoop find_arg_loop(int largest, int dtype) noexcept


cdef ReduceLoop find_reduce(const char* name, int dtype) except NULL:
    cdef ReduceLoop loop = find_reduce_loop(name, dtype)
    if loop == NULL:
        no_loop(name, dtype)
    return loop


cdef ArgLoop find_arg(bint largest, int dtype) except NULL:
    cdef ArgLoop loop = find_arg_loop(largest, dtype)
    if loop == NULL:
        no_loop("argmax" if largest else "argmin", dtype)
    return loop


cdef void make_reduce_space(ReduceSpace* space, int ndim, const int64_t* shape,
                            const bint* reduced) noexcept nogil:
    cdef FullSpace* s = <FullSpace*>space
    cdef int64_t stride = 1
    cdef int i, last = -1  # flag of the axis to the right, to join neighbours of one kind
    s.n_kept = s.n_reduced = 0
    s.kept_size = s.reduced_size = 1
    s.last_is_kept = 0
    # from the last axis to the first; the lists are transposed round below
    for i in range(ndim - 1, -1, -1):
        if shape[i] == 1:
            continue
        if reduced[i]:
            s.reduced_size *= shape[i]
            if last == 1:
                s.reduced[s.n_reduced - 1] *= shape[i]
            else:
                s.reduced[s.n_reduced] = shape[i]
                s.reduced_stride[s.n_reduced] = stride
                s.n_reduced += 1
        else:
            if last == -1:
                s.last_is_kept = 1
            s.kept_size *= shape[i]
            if last == 0:
                s.kept[s.n_kept - 1] *= shape[i]
            else:
                s.kept[s.n_kept] = shape[i]
                s.kept_stride[s.n_kept] = stride
                s.n_kept += 1
        last = 1 if reduced[i] else 0
        stride *= shape[i]
    if s.n_reduced == 0 and not s.last_is_kept:  # one element
        s.reduced[0] = 1
        s.reduced_stride[0] = 1
        s.n_reduced = 1
    _reverse(s.kept, s.n_kept)
    _reverse(s.kept_stride, s.n_kept)
    _reverse(s.reduced, s.n_reduced)
    _reverse(s.reduced_stride, s.n_reduced)


cdef void _reverse(int64_t* values, int n) noexcept nogil:
    cdef int i
    for i in range(n // 2):
        values[i], values[n - 1 - i] = values[n - 1 - i], values[i]


cdef void run_reduce(ReduceLoop loop, const ReduceSpace* space, const void* x, void* out, bint add,
                     double divisor) noexcept nogil:
    loop(threads_for(space.kept_size * space.reduced_size), cpu_level(), space[0], x, out, add,
         divisor)


cdef void run_arg(ArgLoop loop, int64_t outer, int64_t n, int64_t inner, const void* x, void* out,
                  bint add) noexcept nogil:
    loop(threads_for(outer * n * inner), cpu_level(), outer, n, inner, x, out, add)
