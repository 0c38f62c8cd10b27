"""Regions of interest: what all operators that pool them share."""

from libc.stdint cimport int64_t

from ..._typedefs cimport TBlob

# Raises ArgumentError, naming the operator, the row and what is wrong, unless all rows of `rois`
# name an image below `batch` (negative: none) and have coordinates of a reasonable size.
cdef int require_regions(str where, const TBlob* rois, double scale,
                         int64_t batch) except -1 nogil
# Zeros for the gradient of the regions, of which no output is taken to depend.
cdef void clear(const TBlob* blob, int req) noexcept nogil
