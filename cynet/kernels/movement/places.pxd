"""Places in arrays as one number and as one number an axis (places.h)."""

from libc.stdint cimport int64_t

cdef extern from "movement/places.h" namespace "cynet" nogil:
    struct Axes:
        int ndim
        int64_t shape[8]
    # out (n) (+)= row-major places of the columns of index (ndim, n)
    void ravel_places(int dtype, int threads, const Axes& axes, int64_t n, const void* index,
                      void* out, bint add) noexcept
    # the columns of out (ndim, n) (+)= the places index (n) along each axis
    void unravel_places(int dtype, int threads, const Axes& axes, int64_t n, const void* index,
                        void* out, bint add) noexcept
