"""Functions that tell sparse arrays from dense ones (contract in sparse_kind.pxd)."""

from libc.stdint cimport int64_t

from .face cimport ND
from .._ndarray cimport NDArrayBase, new_array
from .._typedefs cimport kCPU

from .._ndarray import array_without_memory
from ..base.errors import ArgumentError


cdef int refuse_sparse(NDArrayBase array, str what) except -1:
    if is_sparse(&array.blob):
        raise ArgumentError(f"{what}: expected a dense array, got {type(array).__name__}; "
                            "tostype('default') makes a dense one")
    return 0


def is_dense(NDArrayBase array not None):
    """Return whether the array is dense."""
    return not is_sparse(&array.blob)


cpdef NDArrayBase dense_of(NDArrayBase array):
    return (<object>array).tostype("default") if is_sparse(&array.blob) else array


def new_sparse_array(cls, int dtype):
    """Return an array of the sparse class `cls`, without memory: its values are in other arrays."""
    cdef int64_t nothing = 0
    cdef NDArrayBase dense = new_array(ND, &nothing, 1, dtype, kCPU, 0)
    cdef NDArrayBase out = array_without_memory(cls)
    out.blob = dense.blob
    out.blob.dev_type = SPARSE_DEVICE_TYPE
    dense.chunk.references.fetch_add(1)
    out.chunk = dense.chunk
    return out
