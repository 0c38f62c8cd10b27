"""The test for sparse arrays. Their TBlob has no elements and the device type SPARSE_DEVICE_TYPE;
the arrays of values and indices are attributes (ndarray/sparse/arrays.py)."""

from .._ndarray cimport NDArrayBase
from .._typedefs cimport TBlob

cdef enum:
    SPARSE_DEVICE_TYPE = 9  # the device type of a sparse array's TBlob

cdef inline bint is_sparse(const TBlob* blob) noexcept nogil:
    return blob.dev_type == SPARSE_DEVICE_TYPE

# Return the array itself if it is dense, else a new dense array with its values.
cpdef NDArrayBase dense_of(NDArrayBase array)

# Raise ArgumentError if the array is sparse; `what` names the function.
cdef int refuse_sparse(NDArrayBase array, str what) except -1
