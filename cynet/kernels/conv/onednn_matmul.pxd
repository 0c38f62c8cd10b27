"""A matrix product by oneDNN, cut into parts for one thread each."""

from libc.stdint cimport int64_t

from .onednn cimport MAX_THREADS


cdef class Matmul:  # one product, in parts for threads
    # Not thread-safe: an Operator with one is `stateful`.
    cdef readonly int stacks, cuts, strips  # number of parts along the stack, rows and columns
    cdef int threads, n_tensors
    cdef list _owned
    cdef void* chains[MAX_THREADS]  # Primitive of each thread; `_owned` owns them
    cdef int64_t products, space_bytes
    cdef int64_t steps[4][3]  # bytes from part to part, along each axis of each tensor
    cdef readonly int64_t scratch_bytes
    # `data` has the addresses of a, b[, bias] and c; `scratch` has `scratch_bytes`.
    cdef int run(self, void** data, void* scratch) except -1 nogil
    cdef int _run_parts(self, int thread, int threads, void** data, char* scratch) except -1 nogil
