"""Copies with strides on both sides and a change of element type: assignment, slices, casts,
fills."""

from libc.stdint cimport int64_t

cdef extern from "movement/strided_copy.h" namespace "cynet" nogil:
    cdef struct StridedCopy:
        # strides count elements; 0 (src only) broadcasts, negative ones walk backwards
        void* dst
        const void* src
        int dst_type
        int src_type
        int ndim
        int64_t shape[16]
        int64_t dst_stride[16]
        int64_t src_stride[16]

# dst[...] = src[...]; memory of the two must not overlap. `what` is changed. Above the grain
# several threads share the work; with `serial`, only threads of a team that is awake.
cdef void copy_strided(StridedCopy* what, bint serial) noexcept nogil
# True if all n numbers are in [0, size).
cdef bint are_row_indices(const int64_t* rows, int64_t n, int64_t size) noexcept nogil
# dst row i = src row rows[i], rows of nbytes bytes; and the reverse, with src's rows `step` bytes
# apart, where the last of equal rows stays.
cdef void copy_from_rows(char* dst, const char* src, const int64_t* rows, int64_t n, int64_t nbytes,
                         bint serial) noexcept nogil
cdef void copy_to_rows(char* dst, const char* src, int64_t step, const int64_t* rows, int64_t n,
                       int64_t nbytes, bint serial) noexcept nogil
