"""The only interface to oneDNN: primitives over fixed shapes of float32, bfloat16 or 8-bit
integers.

The library is the one in the `onednn-cpu-gomp` wheel, opened when the first primitive is requested;
nothing is linked and no header is needed. It runs on the threads of parallel.pxd. Where it is
missing, or ``CYNET_KERNELS=portable``, `available` says no and operators use the portable kernels.
"""

from libc.stdint cimport int64_t

from ..elementwise.elementwise cimport Kernel


ctypedef int (*engine_create_t)(void**, int, size_t) noexcept nogil
ctypedef int (*stream_create_t)(void**, void*, unsigned) noexcept nogil
ctypedef int (*desc_strides_t)(void**, int, const int64_t*, int, const int64_t*) noexcept nogil
ctypedef int (*desc_tag_t)(void**, int, const int64_t*, int, int) noexcept nogil
ctypedef size_t (*desc_size_t)(const void*) noexcept nogil
ctypedef int (*desc_equal_t)(const void*, const void*) noexcept nogil
ctypedef int (*desc_clone_t)(void**, const void*) noexcept nogil
ctypedef int (*destroy_t)(void*) noexcept nogil
ctypedef const void* (*query_md_t)(const void*, int, int) noexcept nogil
ctypedef int (*query_t)(const void*, int, int, void*) noexcept nogil
ctypedef int (*next_t)(void*) noexcept nogil
ctypedef int (*create_t)(void**, const void*) noexcept nogil
ctypedef int (*memory_create_t)(void**, const void*, void*, void*) noexcept nogil
ctypedef int (*set_handle_t)(void*, void*) noexcept nogil
ctypedef int (*execute_t)(const void*, void*, int, const Argument*) noexcept nogil
ctypedef int (*attr_create_t)(void**) noexcept nogil
ctypedef int (*attr_mode_t)(void*, int) noexcept nogil
ctypedef int (*attr_post_t)(void*, const void*) noexcept nogil
ctypedef int (*post_eltwise_t)(void*, int, float, float) noexcept nogil
ctypedef int (*attr_scales_t)(void*, int, int) noexcept nogil
ctypedef int (*post_binary_t)(void*, int, const void*) noexcept nogil
ctypedef int (*post_sum_t)(void*, float, int, int) noexcept nogil
ctypedef int (*reorder_t)(void**, const void*, void*, const void*, void*,
                          const void*) noexcept nogil
ctypedef int (*convolution_t)(void**, void*, int, int, const void*, const void*, const void*,
                              const void*, const int64_t*, const int64_t*, const int64_t*,
                              const int64_t*, const void*) noexcept nogil
ctypedef int (*convolution_data_t)(void**, void*, int, const void*, const void*, const void*,
                                   const int64_t*, const int64_t*, const int64_t*, const int64_t*,
                                   const void*, const void*) noexcept nogil
ctypedef int (*convolution_weights_t)(void**, void*, int, const void*, const void*, const void*,
                                      const void*, const int64_t*, const int64_t*, const int64_t*,
                                      const int64_t*, const void*, const void*) noexcept nogil
ctypedef int (*matmul_t)(void**, void*, const void*, const void*, const void*, const void*,
                         const void*) noexcept nogil

cdef struct DnnlFunctions:
    engine_create_t engine_create
    stream_create_t stream_create
    desc_strides_t desc_strides
    desc_tag_t desc_tag
    desc_size_t desc_size
    desc_equal_t desc_equal
    desc_clone_t desc_clone
    destroy_t desc_destroy
    destroy_t pd_destroy
    query_md_t query_md
    query_t query
    create_t primitive_create
    destroy_t primitive_destroy
    execute_t execute
    memory_create_t memory_create
    set_handle_t set_handle
    destroy_t memory_destroy
    attr_create_t attr_create
    attr_mode_t attr_scratchpad
    attr_post_t attr_post_ops
    destroy_t attr_destroy
    attr_create_t post_create
    post_eltwise_t post_eltwise
    post_sum_t post_sum
    destroy_t post_destroy
    reorder_t reorder
    convolution_t convolution
    convolution_data_t convolution_data
    convolution_weights_t convolution_weights
    matmul_t matmul
    next_t next_implementation
    attr_scales_t attr_scales
    post_binary_t post_binary
    void* engine
    void* stream


cdef enum:
    MAX_THREADS = 16  # maximum number of parts that onednn_parts.py makes


cdef struct Argument:  # an argument of a primitive's execution
    int number    # DNNL_ARG_...
    void* memory  # dnnl_memory_t


cdef class Layout:  # a memory descriptor of oneDNN
    # A memory descriptor: shape, and where in memory each element lies.
    cdef void* desc  # dnnl_memory_desc_t, owned
    cdef int dtype   # DType
    cdef size_t nbytes(self) noexcept


cdef class Primitive:  # one computation of oneDNN
    # One computation. `data` has the address of every tensor, in the order of `layouts`; `scratch`
    # has `scratch_bytes`. Not for two threads at once: an Operator that holds one is `stateful`.
    cdef void* handle     # dnnl_primitive_t, owned
    cdef Argument arguments[9]
    cdef int count
    cdef int threads      # number of threads at creation, as its parts wait at barriers
    cdef readonly size_t scratch_bytes
    cdef readonly tuple layouts
    cdef readonly str implementation
    cdef int run(self, void** data, void* scratch) except -1 nogil


cdef class ReorderedPrimitive:
    # A primitive with reorders of its operands and its result between the given layouts and those
    # that it prefers; all use one scratch buffer.
    cdef Primitive main
    cdef void* reorders[9]      # reorder of each tensor: a Primitive that `_owned` holds, or NULL
    cdef list _owned
    cdef size_t offsets[9]      # offsets of the reordered tensors in the scratch
    cdef size_t inner[9]        # offsets of the reorders' own scratch
    cdef size_t main_offset
    cdef readonly size_t scratch_bytes
    cdef int output             # index of the tensor written
    cdef int dtype              # DType of the tensor written
    cdef Kernel add
    cdef int run(self, void** data, void* scratch) except -1 nogil
    # Run the primitive with a result of `size` elements that is added to the output if `add`;
    # `space` holds `workspace` bytes.
    cdef size_t workspace(self, int64_t size, bint add) noexcept nogil
    cdef int run_or_add(self, void** data, int64_t size, bint add, void* space) except -1 nogil
    cdef int _run_reorder(self, int i, void** pair, char* base) except -1 nogil


# For other files with primitives: oneDNN's functions (once a Layout exists); whether they run on
# cynet's threads; a check of a status; the primitive of a description; a change of the description
# to kernels that are freed with the primitive, False if there are none.
cdef const DnnlFunctions* dnnl_functions() noexcept
cdef bint onednn_runs_on_team() noexcept
cdef int check(int status, str what) except -1  # raises the error of a oneDNN status
cdef Primitive make_primitive(void* pd, list tensors)
cdef bint try_avoid_brgemm(void* pd) except -1
