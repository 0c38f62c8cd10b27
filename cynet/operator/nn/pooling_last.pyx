# cython: wraparound=True
"""Pooling of channels-last float32 data: max, average and sum over 1-d and 2-d windows."""

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.channels_last cimport WindowShape, window_pool, window_unpool
from .._base cimport Operator, OpContext

from .pooling import PoolingProperty

_TYPES = {"max": 0, "avg": 1, "sum": 2}


class ChannelsLastPooling(PoolingProperty):
    """Pooling on channels-last data."""

    op_name = "Pooling"

    def create_operator(self, ctx, in_shapes, in_types):
        return ChannelsLastPool(self, in_shapes[0])

    @staticmethod
    def suits(prop, shape):
        """True when the loops here can do what `prop` asks on data of this shape."""
        return prop.pool_type in _TYPES and len(shape) in (3, 4)


cdef class ChannelsLastPool(Operator):
    cdef WindowShape shape

    def __init__(self, prop, data):
        cdef int i
        cdef WindowShape* s = &self.shape
        s.batch, s.channels = data[0], data[1]
        s.type, s.count_pad = _TYPES[prop.pool_type], prop.count_include_pad is not False
        axes = [prop.geometry(axis, size) for axis, size in enumerate(data[2:])]
        sizes = list(data[2:])
        if len(sizes) == 1:
            axes, sizes = [(1, 1, 1, 0, 0), *axes], [1, *sizes]
        for i, (size, axis) in enumerate(zip(sizes, axes)):
            s.in_size[i] = size
            s.out_size[i], s.kernel[i], s.stride[i], s.pad[i], s.pad_after[i] = axis

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
