"""NDArray core: reference-counted memory + engine variable + shape + dtype; zero-copy views share a
Chunk.

Promises:
- A Chunk's memory goes back to its pool only when every function pushed on its variable is done.
- Reading an array's bytes from outside the engine waits for its writers first, writing for its
readers too.
"""

from libcpp.atomic cimport atomic

from ._engine cimport VarHandle
from ._storage cimport Handle
from ._typedefs cimport TBlob

cdef cppclass Chunk:
    atomic[int] references
    VarHandle var
    Handle handle     # handle.ptr == NULL: the memory is somebody else's (`NDArrayBase.owner`)

cdef class NDArrayBase:
    cdef TBlob blob      # data points into the chunk
    cdef Chunk* chunk
    cdef object owner    # keeps foreign memory alive (DLPack, NumPy), else None
    cdef object grad_entry  # the autograd tape's, else None
    cdef object __weakref__

# A new NDArray of the public class with uninitialised memory. shape has ndim entries.
cdef NDArrayBase new_array(const long long* shape, int ndim, int dtype, int dev_type, int dev_id)
# A view of `base`'s memory: same chunk, `offset` elements further, another shape.
cdef NDArrayBase new_view(NDArrayBase base, const long long* shape, int ndim, size_t offset)
