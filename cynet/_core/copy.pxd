"""Copies and fills of arrays in engine order: on the host, on a GPU, between them.

Promises:
- A region is given by strides in elements; both sides have the same shape. dtypes may differ.
- What a GPU does is only put on its streams; the host waits for it where it reads the result.
"""

from libc.stdint cimport int64_t

from .._ndarray cimport NDArrayBase

# A part of an array: its shape, its strides and its offset from the array's first element, in
# elements.
cdef struct Region:  # a part of an array
    int ndim
    int64_t offset
    int64_t shape[16]
    int64_t stride[16]
cdef Region whole_region(NDArrayBase array) noexcept
# Push a copy of src's region (broadcast by strides of 0) into dst's, of the same shape; dtypes may
# differ.
cdef int push_copy(NDArrayBase dst, const Region* to, NDArrayBase src,
                   const Region* source) except -1
# Push a fill of dst's region with the element at `value`, whose dtype is src_type.
cdef int push_fill(NDArrayBase dst, const Region* to, const void* value, int src_type) except -1
# Copy host memory into dst's region, in engine order, and wait until the caller's memory is free.
cdef int copy_from_host(NDArrayBase dst, const Region* to, const void* src, int src_type,
                        const int64_t* src_stride) except -1
# Push a copy of the rows of `array` at the indices `rows`, of nbytes each, into `picked`; with
# `scatter` from `picked` into them: the last of equal indices counts, and `picked` may be one row.
cdef int copy_rows(NDArrayBase array, NDArrayBase picked, const int64_t* rows, int64_t n,
                   int64_t nbytes, bint scatter) except -1
