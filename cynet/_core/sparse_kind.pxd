"""The test for sparse arrays: their own blob has no elements and an invalid device; their parts are
in ndarray/sparse/arrays.py."""

from .._ndarray cimport NDArrayBase
from .._typedefs cimport TBlob

cdef enum:
    SPARSE = 9  # the device type of such a blob

cdef inline bint is_sparse(const TBlob* blob) noexcept nogil:
    return blob.dev_type == SPARSE

# The array itself, or a dense one with its values.
cpdef NDArrayBase dense_of(NDArrayBase array)

# Raises ArgumentError if the array is sparse.
cdef int refuse_sparse(NDArrayBase array, str what) except -1
