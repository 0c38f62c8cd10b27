"""Rows of a matrix picked by index, and their gradient."""

from libc.stdint cimport int64_t, uint64_t

# out[i] (+)= weight[row(i)], rows of `dim` elements of `dtype`. An index is truncated to an integer
# and brought into [0, rows); NaN counts as 0. Adding: float32 and float64 only.
cdef void embedding_forward(const void* index, int index_dtype, int64_t n, const void* weight,
                            int dtype,
                            int64_t rows, int64_t dim, void* out, bint add) noexcept nogil
# dweight[row(i)] += dout[i], onto zeros unless `add`. `bits`, or NULL, get one set for
# each of these rows, the others 0; where they are `known` before, rows without one are zeros.
cdef void embedding_backward(const void* index, int index_dtype, int64_t n, const void* dout,
                             int dtype, int64_t rows, int64_t dim, void* dweight, bint add,
                             uint64_t* bits, bint known) noexcept nogil
