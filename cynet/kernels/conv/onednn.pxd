"""The one guarded door to oneDNN: primitives over fixed shapes of float32 or
bfloat16, made once and run often.

The library is the one in the `onednn-cpu-gomp` wheel, opened when the first primitive is asked for;
nothing is linked and no header is needed. It runs on the threads of parallel.pxd. Where it is
missing, or ``CYNET_KERNELS=portable``, `available` says no and operators use the portable kernels.
"""

from libc.stdint cimport int64_t

from ..elementwise.elementwise cimport Kernel


cdef struct Argument:
    int number    # DNNL_ARG_...
    void* memory  # dnnl_memory_t


cdef class Layout:
    # A memory descriptor: shape, and where in memory each element lies.
    cdef void* desc  # dnnl_memory_desc_t, owned
    cdef int dtype   # DType
    cdef size_t nbytes(self) noexcept


cdef class Primitive:
    # One computation. `data` has the address of every tensor, in the order of `layouts`; `scratch`
    # has `scratch_bytes`. Not for two threads at once: an Operator that holds one is `stateful`.
    cdef void* handle     # dnnl_primitive_t, owned
    cdef Argument arguments[9]
    cdef int count
    cdef int threads      # that there were when it was made: its parts meet at barriers
    cdef readonly size_t scratch_bytes
    cdef readonly tuple layouts
    cdef readonly str implementation
    cdef int run(self, void** data, void* scratch) except -1 nogil


cdef class ReorderedPrimitive:
    # A primitive whose operands may first be brought into, or whose result be brought out of, the
    # layout it prefers: reorders in, primitive, reorder out, all over one piece of scratch.
    cdef Primitive main
    cdef void* reorders[9]      # of each tensor: a Primitive that `_kept` holds, or NULL
    cdef list _kept
    cdef size_t offsets[9]      # of the reordered tensors in the scratch
    cdef size_t inner[9]        # of the reorders' own scratch
    cdef size_t main_offset
    cdef readonly size_t scratch_bytes
    cdef int output             # index of the tensor written
    cdef int dtype              # of that tensor: a DType
    cdef Kernel add
    cdef int run(self, void** data, void* scratch) except -1 nogil
    # The same, its result of `size` elements added to what there is if `add`; `space` has `room`.
    cdef size_t room(self, int64_t size, bint add) noexcept nogil
    cdef int run_to(self, void** data, int64_t size, bint add, void* space) except -1 nogil
    cdef int _reorder(self, int i, void** pair, char* base) except -1 nogil
