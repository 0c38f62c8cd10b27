"""NDArray core: reference-counted memory, an engine variable, a shape and a dtype.

Zero-copy views share a Chunk. Promises:

- A Chunk's memory returns to its pool only after every function pushed on its variable is done.
- An array whose computation failed is never visible: reading it raises until it is written again.
- Reading an array's bytes outside the engine waits for its writers; writing waits for readers, too.
"""

from libc.stdint cimport int64_t, uint64_t
from libcpp.atomic cimport atomic
from libcpp.vector cimport vector

from ._core.face cimport Face
from ._engine cimport VarHandle
from ._storage cimport Handle
from ._typedefs cimport TBlob

cdef cppclass RowSet:
    # A set of rows of an array; all other rows are zero while `are_rows_known` (touched_rows.pxd).
    # Guarded by the array's variable.
    char* data
    int64_t n, length      # number of rows, and bytes per row
    unsigned writes        # number of writes to the variable when the set was made
    bint known             # the set is filled
    vector[uint64_t] bits  # bit r is 1 if row r is in the set, the lowest bit first
    atomic[int64_t] maximum   # upper bound of the number of rows in the set; read without a lock

ctypedef RowSet* RowSetPointer

cdef cppclass Chunk:
    atomic[int] references
    VarHandle var
    Handle handle     # handle.ptr == NULL: `owner` owns the memory
    void* owner       # PyObject* that keeps foreign memory alive (DLPack, NumPy), or NULL
    # False: new memory that no function has written yet. Set by functions of the
    # engine that write the variable; read after a wait, so that what failed is never shown as data.
    bint written
    # True: code outside of the engine can write to the memory (DLPack, a writable buffer, foreign
    # memory), so the variable does not count all changes.
    atomic[bint] exposed
    atomic[RowSetPointer] rows  # nonzero rows of an array in the chunk, or NULL; set once

cdef class NDArrayBase:
    cdef TBlob blob      # data points into the chunk
    cdef Chunk* chunk
    cdef object grad_entry  # the array's node in autograd's tape, or None
    cdef Face face          # the array's family, mx.nd or mx.np; results have the same
    # mx.nd: the result of a comparison can be a mask (ndarray/legacy/slots.pyx).
    cdef bint is_mask
    cdef object __weakref__

    cdef int wait_read(self) except -1   # waits for the array's writers and raises their error
    cdef int wait_write(self) except -1  # waits for the array's writers and readers

# Return a new array of the face's class with uninitialised memory. shape has ndim entries. Whoever
# has it computed by the engine sets chunk.written to False and, in the function, to True.
cdef NDArrayBase new_array(Face face, const int64_t* shape, int ndim, int dtype, int dev_type,
                           int dev_id)
# Return a view of `base`'s memory from element `offset` on, under another shape.
cdef NDArrayBase new_view(NDArrayBase base, const int64_t* shape, int ndim, int64_t offset)
# Return an array over memory that `owner` keeps alive; no other code may write it while the engine
# uses it.
cdef NDArrayBase wrap_memory(Face face, void* data, const int64_t* shape, int ndim, int dtype,
                             int dev_type, int dev_id, object owner)

# Return whether both arrays are views of one chunk and have a byte in common.
cdef bint do_overlap(NDArrayBase a, NDArrayBase b) noexcept
cdef tuple blob_shape(const TBlob* blob)
# Fill `out` from a sequence of ints; returns the number of axes. Negative and too large sizes are
# refused.
cdef int read_shape(object shape, int64_t* out) except -1
cdef bint is_on_host(const TBlob* blob) noexcept nogil

cdef inline bint same_shape(const TBlob* a, const TBlob* b) noexcept nogil:
    cdef int i
    if a.ndim != b.ndim:
        return False
    for i in range(a.ndim):
        if a.shape[i] != b.shape[i]:
            return False
    return True
