"""The one guarded door to cuDNN 9: its functions, handles by stream, and descriptors.

The library comes from pip (extra `cuda`) or the system and is opened when the first descriptor is
made; nothing is linked and no header is needed. What is computed with it: cudnn_layers.pxd.
"""

from libc.stddef cimport size_t

from .._typedefs cimport RunContext

cdef struct AlgorithmPerf:
    # cudnnConvolution{Fwd,BwdData,BwdFilter}AlgoPerf_t: one layout for all three
    int algorithm
    int status
    float time     # milliseconds, or -1
    size_t memory  # bytes of workspace
    int determinism
    int math
    int reserved[3]

ctypedef int (*create_t)(void**) noexcept nogil
ctypedef int (*destroy_t)(void*) noexcept nogil
ctypedef int (*set_stream_t)(void*, void*) noexcept nogil
ctypedef const char* (*error_string_t)(int) noexcept nogil
ctypedef void (*last_error_t)(char*, size_t) noexcept nogil
ctypedef int (*tensor_nd_t)(void*, int, int, const int*, const int*) noexcept nogil
ctypedef int (*filter_nd_t)(void*, int, int, int, const int*) noexcept nogil
ctypedef int (*convolution_nd_t)(void*, int, const int*, const int*, const int*, int,
                                 int) noexcept nogil
ctypedef int (*set_int_t)(void*, int) noexcept nogil
ctypedef int (*output_dims_t)(void*, void*, void*, int, int*) noexcept nogil
# handle, three descriptors and the convolution's in the call's order, asked, found, results
ctypedef int (*algorithms_t)(void*, void*, void*, void*, void*, int, int*,
                             AlgorithmPerf*) noexcept nogil
# handle, alpha, desc, data, desc, data, convolution, algorithm, space, bytes, beta, desc, data
ctypedef int (*convolve_t)(void*, const void*, void*, const void*, void*, const void*, void*, int,
                           void*, size_t, const void*, void*, void*) noexcept nogil
# handle, alpha, desc, data, beta, desc, data
ctypedef int (*map_t)(void*, const void*, void*, const void*, const void*, void*,
                      void*) noexcept nogil
ctypedef int (*pooling_nd_t)(void*, int, int, int, const int*, const int*,
                             const int*) noexcept nogil
ctypedef int (*pool_t)(void*, void*, const void*, void*, const void*, const void*, void*,
                       void*) noexcept nogil
ctypedef int (*pool_grad_t)(void*, void*, const void*, void*, const void*, void*, const void*,
                            void*, const void*, const void*, void*, void*) noexcept nogil
ctypedef int (*norm_given_t)(void*, int, const void*, const void*, void*, const void*, void*, void*,
                             void*, const void*, const void*, const void*, const void*,
                             double) noexcept nogil
ctypedef int (*norm_train_t)(void*, int, const void*, const void*, void*, const void*, void*, void*,
                             void*, const void*, const void*, double, void*, void*, double, void*,
                             void*) noexcept nogil
ctypedef int (*norm_grad_t)(void*, int, const void*, const void*, const void*, const void*, void*,
                            const void*, void*, const void*, void*, void*, void*, const void*,
                            void*, void*, double, const void*, const void*) noexcept nogil

cdef struct Library:
    create_t create
    set_stream_t set_stream
    error_string_t error_string
    last_error_t last_error
    create_t tensor_create
    tensor_nd_t tensor_set
    destroy_t tensor_destroy
    create_t filter_create
    filter_nd_t filter_set
    destroy_t filter_destroy
    create_t convolution_create
    convolution_nd_t convolution_set
    set_int_t convolution_groups
    set_int_t convolution_math
    output_dims_t convolution_output
    destroy_t convolution_destroy
    algorithms_t guess[3]  # forward, backward data, backward filter: by heuristics
    algorithms_t time[3]   # by trying them all, in memory of its own
    convolve_t convolve[3]
    map_t bias_gradient
    map_t add
    create_t pooling_create
    pooling_nd_t pooling_set
    destroy_t pooling_destroy
    pool_t pool
    pool_grad_t pool_gradient
    norm_given_t normalize_given
    norm_train_t normalize
    norm_grad_t normalize_gradient

# The functions, once open_door() has returned.
cdef Library* library() noexcept nogil
# The handle of run's device and stream, made when it is first asked for.
cdef void* handle_of(const RunContext* run) except NULL nogil
# Raise CynetError unless status is 0; names the call, what it was for and cuDNN's own words.
cdef int check(int status, str call, str what=*) except -1
# 0 or 1 as alpha or beta of a call on tensors of `dtype`.
cdef const void* scale(int dtype, bint one) noexcept nogil


cdef class Tensor:
    # cudnnTensorDescriptor_t of a row-major tensor with at least four axes
    cdef void* desc
    cdef readonly tuple shape


cdef class Filter:
    # cudnnFilterDescriptor_t of row-major weights (F, C / groups, *kernel)
    cdef void* desc
