"""Access to cuDNN 9, checked for errors: its functions, handles by stream, and descriptors.

The library comes from pip (extra `cuda`) or the system and is opened when the first descriptor is
made; nothing is linked and no header is needed. What is computed with it: cudnn_layers.pxd,
cudnn_maps.pxd, cudnn_rnn.pxd.
"""

from libc.stddef cimport size_t

from ..._typedefs cimport RunContext

cdef struct AlgorithmPerf:  # cuDNN's estimate for a convolution
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
# handle, three descriptors and the convolution's in the call's order, requested, found, results
ctypedef int (*algorithms_t)(void*, void*, void*, void*, void*, int, int*,
                             AlgorithmPerf*) noexcept nogil
# handle, alpha, desc, data, desc, data, convolution, algorithm, space, bytes, beta, desc, data
ctypedef int (*convolve_t)(void*, const void*, void*, const void*, void*, const void*, void*, int,
                           void*, size_t, const void*, void*, void*) noexcept nogil
# arguments: handle, alpha, desc, data, beta, desc, data
ctypedef int (*map_t)(void*, const void*, void*, const void*, const void*, void*,
                      void*) noexcept nogil
ctypedef int (*pooling_nd_t)(void*, int, int, int, const int*, const int*,
                             const int*) noexcept nogil
ctypedef int (*pool_t)(void*, void*, const void*, void*, const void*, const void*, void*,
                       void*) noexcept nogil
ctypedef int (*pool_grad_t)(void*, void*, const void*, void*, const void*, void*, const void*,
                            void*, const void*, const void*, void*, void*) noexcept nogil
# arguments: handle, algorithm, mode, alpha, desc, data, beta, desc, data
ctypedef int (*softmax_t)(void*, int, int, const void*, void*, const void*, const void*, void*,
                          void*) noexcept nogil
ctypedef int (*softmax_grad_t)(void*, int, int, const void*, void*, const void*, void*, const void*,
                               const void*, void*, void*) noexcept nogil
ctypedef int (*norm_given_t)(void*, int, const void*, const void*, void*, const void*, void*, void*,
                             void*, const void*, const void*, const void*, const void*,
                             double) noexcept nogil
ctypedef int (*norm_train_t)(void*, int, const void*, const void*, void*, const void*, void*, void*,
                             void*, const void*, const void*, double, void*, void*, double, void*,
                             void*) noexcept nogil
ctypedef int (*norm_grad_t)(void*, int, const void*, const void*, const void*, const void*, void*,
                            const void*, void*, const void*, void*, void*, void*, const void*,
                            void*, void*, double, const void*, const void*) noexcept nogil

# arguments: handle, rnn, mode of forward, data, workspace, reserve
ctypedef int (*rnn_space_t)(void*, void*, int, void*, size_t*, size_t*) noexcept nogil
ctypedef int (*rnn_set_t)(void*, int, int, int, int, int, int, int, int, int, int, int, int, void*,
                          int) noexcept nogil
ctypedef int (*rnn_clip_t)(void*, int, int, double, double) noexcept nogil
ctypedef int (*rnn_data_t)(void*, int, int, int, int, int, const int*, void*) noexcept nogil
ctypedef int (*weight_size_t)(void*, void*, size_t*) noexcept nogil
# arguments: handle, rnn, pseudo layer, bytes, weights, matrix; descriptor, address of matrix, bias
ctypedef int (*weight_place_t)(void*, void*, int, size_t, const void*, int, void*, void**, void*,
                               void**) noexcept nogil
# handle, rnn, mode, lengths; x, y; states, cells: descriptor, first, last; weights, workspace,
# reserve: bytes, address
ctypedef int (*rnn_forward_t)(void*, void*, int, const int*, void*, const void*, void*, void*,
                              void*, const void*, void*, void*, const void*, void*, size_t,
                              const void*, size_t, void*, size_t, void*) noexcept nogil
# handle, rnn, lengths; y: descriptor, values, gradient; x: descriptor, gradient; states, cells:
# descriptor, first, gradients of last and first; weights, workspace, reserve
ctypedef int (*rnn_to_data_t)(void*, void*, const int*, void*, const void*, const void*, void*,
                              void*, void*, const void*, const void*, void*, void*, const void*,
                              const void*, void*, size_t, const void*, size_t, void*, size_t,
                              void*) noexcept nogil
# handle, rnn, add or set, lengths; x, states, y: descriptor, values; the rest as above
ctypedef int (*rnn_to_weight_t)(void*, void*, int, const int*, void*, const void*, void*,
                                const void*, void*, const void*, size_t, void*, size_t, void*,
                                size_t, void*) noexcept nogil

cdef struct CudnnTable:  # functions of cuDNN
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
    algorithms_t guess[3]  # of forward, data and filter gradient: by heuristics
    algorithms_t time[3]   # the same three: by timing (cuDNN allocates)
    convolve_t convolve[3]
    map_t add
    create_t pooling_create
    pooling_nd_t pooling_set
    destroy_t pooling_destroy
    pool_t pool
    pool_grad_t pool_gradient
    softmax_t softmax
    softmax_grad_t softmax_gradient
    norm_given_t normalize_given
    norm_train_t normalize
    norm_grad_t normalize_gradient
    create_t rnn_create
    rnn_set_t rnn_set
    rnn_clip_t rnn_clip
    destroy_t rnn_destroy
    create_t rnn_data_create
    rnn_data_t rnn_data_set
    destroy_t rnn_data_destroy
    rnn_space_t rnn_space
    weight_size_t rnn_weight_size
    weight_place_t rnn_weight_place
    rnn_forward_t rnn_forward
    rnn_to_data_t rnn_to_data
    rnn_to_weight_t rnn_to_weight

# The table of cuDNN's functions, which open_cudnn() fills.
cdef CudnnTable* library() noexcept nogil
# The handle of run's device and stream, created at its first use.
cdef void* handle_of(const RunContext* run) except NULL nogil
# Raise CynetError unless status is 0; the message has the call, its purpose and cuDNN's reason.
cdef int check(int status, str call, str what=*) except -1  # raises cuDNN's error
# 0 or 1 as alpha or beta of a call on tensors of `dtype`.
cdef const void* scalar(int dtype, bint one) noexcept nogil  # address of 0 or 1


cdef class TensorDesc:  # cuDNN's descriptor of a tensor
    # cudnnTensorDescriptor_t of a row-major tensor with at least four axes, or `least`
    cdef void* desc
    cdef readonly tuple shape


cdef class Filter:  # descriptor of convolution weights
    # cudnnFilterDescriptor_t of row-major weights (F, C / groups, *kernel)
    cdef void* desc
