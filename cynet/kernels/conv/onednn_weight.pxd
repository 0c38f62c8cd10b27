"""The gradient of a convolution's weight, cut into parts for one thread each."""

from libc.stdint cimport int64_t

from ..elementwise.elementwise cimport Kernel
from .onednn cimport MAX_THREADS, Primitive


cdef class WeightGradient:  # gradient of a convolution's weight
    # Not thread-safe: an Operator with one is `stateful`.
    cdef readonly int slices, cuts  # number of slices of the batch, and of cuts of the filters
    cdef int parts
    cdef list _owned
    # ReorderedPrimitives of each thread, which `_owned` holds: for the last slice, and for the
    # earlier slices if these are longer.
    cdef void* chains[2][MAX_THREADS]
    cdef bint of_slices             # True if earlier slices are longer than the last
    cdef int threads                # number of threads that have chains
    cdef Primitive finish           # reorders a sum of slices to row-major, or None
    cdef Kernel add, add_slice
    cdef int dtype
    cdef bint has_bias
    cdef int64_t products
    cdef int64_t size, filters      # elements of the weight; its number of filters
    cdef int64_t cut_filters, cut_bytes, cut_bias_bytes
    cdef int64_t slice_bytes, slice_bias_bytes  # bytes of a slice's gradients in the scratch
    cdef int64_t data_step, grad_step, grad_cut_step  # bytes from one part's operand to the next
    cdef int64_t bias_at, slices_at, slice_bias_at, space_at, space_bytes  # offsets in the scratch
    cdef readonly int64_t scratch_bytes
    # Gradients that are NULL are not computed; `scratch` has `scratch_bytes`.
    cdef int run(self, void* grad, void* data, void* weight, bint add_weight, void* bias,
                 bint add_bias, char* scratch) except -1 nogil
    cdef int _run_parts(self, int thread, int threads, char* grad, char* data, char* weight,
                        char* bias, char* scratch) except -1 nogil
    cdef int _add_slices(self, char* weight, char* bias, char* scratch) except -1 nogil
