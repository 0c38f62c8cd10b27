# distutils: extra_compile_args = -O1
# cython: wraparound=True
"""Pooling of channels-last float32 data: max, average and sum.

A 3-d window is one over planes and then one along depth: of equal maxima the first one in memory
gets the gradient, as in row-major order.
"""

from libc.stdint cimport int64_t

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.normalization.channels_last cimport PoolWindow, window_pool, window_unpool
from .._base cimport Operator, OpContext

from ..property import ResourceRequest
from .pooling import PoolingProperty

_TYPES = {"max": 0, "avg": 1, "sum": 2}


class ChannelsLastPooling(PoolingProperty):
    """Pooling on channels-last data."""

    op_name = "Pooling"

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def backward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def create_operator(self, ctx, in_shapes, in_types):
        return self.operator(self, in_shapes[0])

    @staticmethod
    def operator(prop, data):
        """The Operator of `prop` on channels-last data, (N, C, *size)."""
        return (ChannelsLastPool3 if len(data) == 5 else ChannelsLastPool)(prop, data)

    @staticmethod
    def suits(prop, shape):
        """True when the loops here can do what `prop` asks on data of this shape."""
        return prop.pool_type in _TYPES and len(shape) in (3, 4, 5)


cdef void _describe(PoolWindow* s, prop, int64_t batch, int64_t channels, sizes, axes) except *:
    """A 2-d window over planes of `sizes`; `axes` as PoolingProperty.geometry gives them."""
    cdef int i
    s.batch, s.channels = batch, channels
    s.type, s.count_pad = _TYPES[prop.pool_type], prop.count_include_pad is not False
    for i, (size, axis) in enumerate(zip(sizes, axes)):
        s.in_size[i] = size
        s.out_size[i], s.kernel[i], s.stride[i], s.pad[i], s.pad_after[i] = axis


cdef class ChannelsLastPool(Operator):
    cdef PoolWindow shape

    def __init__(self, prop, data):
        axes = [prop.geometry(axis, size) for axis, size in enumerate(data[2:])]
        sizes = list(data[2:])
        if len(sizes) == 1:
            axes, sizes = [(1, 1, 1, 0, 0), *axes], [1, *sizes]
        _describe(&self.shape, prop, data[0], data[1], sizes, axes)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp:
            window_pool(&self.shape, <const float*>in_data[0].data, <float*>out_data[0].data,
                        req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp:
            window_unpool(&self.shape, <const float*>out_grad[0].data,
                          <const float*>in_data[0].data, <float*>in_grad[0].data,
                          req[0] == kAddTo)
        return 0


cdef class ChannelsLastPool3(Operator):
    """Over planes into temporary space, then along depth."""

    cdef PoolWindow plane, depth
    cdef bint maximum
    cdef size_t nbytes  # of what lies between

    def __init__(self, prop, data):
        batch, channels, *sizes = data
        first, *rest = (prop.geometry(axis, size) for axis, size in enumerate(sizes))
        across = rest[0][0] * rest[1][0]
        _describe(&self.plane, prop, batch * sizes[0], channels, sizes[1:], rest)
        _describe(&self.depth, prop, batch, channels, (sizes[0], across),
                  (first, (across, 1, 1, 0, 0)))
        self.maximum = prop.pool_type == "max"
        self.nbytes = (batch * channels * sizes[0] * across * sizeof(float) + 63) // 64 * 64

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef float* between
        if req[0] == kNullOp:
            return 0
        between = <float*>get_space(&ctx.requested[0], self.nbytes)
        window_pool(&self.plane, <const float*>in_data[0].data, between, False)
        window_pool(&self.depth, between, <float*>out_data[0].data, req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef char* between
        cdef float* grad
        if req[0] == kNullOp:
            return 0
        between = <char*>get_space(&ctx.requested[0], 2 * self.nbytes)
        grad = <float*>(between + self.nbytes)
        if self.maximum:
            window_pool(&self.plane, <const float*>in_data[0].data, <float*>between, False)
        window_unpool(&self.depth, <const float*>out_grad[0].data, <const float*>between, grad,
                      False)
        window_unpool(&self.plane, grad, <const float*>in_data[0].data, <float*>in_grad[0].data,
                      req[0] == kAddTo)
        return 0
