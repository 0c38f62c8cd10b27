"""Copies and fills of arrays in engine order: on the host, on a GPU, between them.

Promises:
- A region is given by strides in elements; both sides have the same shape. dtypes may differ.
- What a GPU does is only put on its streams; the host waits for it where it reads the result.
"""

from libc.stdint cimport int64_t

from .._ndarray cimport NDArrayBase

# dst[...] = src[...], strides in elements, in engine order; the arrays' memory, offset elements
# further.
cdef struct Region:
    int ndim
    int64_t offset
    int64_t shape[16]
    int64_t stride[16]
cdef Region whole_region(NDArrayBase array) noexcept
# Push a copy of src's region (broadcast by strides of 0) into dst's, of the same shape; dtypes may
# differ.
cdef int push_copy(NDArrayBase dst, const Region* to, NDArrayBase src,
                   const Region* source) except -1
# Push: the one element at `value`, of src_type, everywhere into dst's region.
cdef int push_fill(NDArrayBase dst, const Region* to, const void* value, int src_type) except -1
# Copy host memory into dst's region, in engine order, and wait until the caller's memory is free.
cdef int copy_from_host(NDArrayBase dst, const Region* to, const void* src, int src_type,
                        const int64_t* src_stride) except -1
# Push: row i of `picked` is row rows[i] of `array`, rows of nbytes bytes; with `scatter` the other
# way round, where the last of equal rows stays and, on the CPU, `picked` may be one row for all.
cdef int push_rows(NDArrayBase array, NDArrayBase picked, const int64_t* rows, int64_t n,
                   int64_t nbytes, bint scatter) except -1
