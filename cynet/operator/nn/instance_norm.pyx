# distutils: extra_compile_args = -O1
# cython: wraparound=True
"""InstanceNorm: out = (data - mean) / sqrt(var + eps) * gamma + beta.

data and out (N, C, ...), mean and var of each (n, c); gamma and beta (C,).
"""

from cython cimport floating
from libc.stdint cimport int64_t

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.normalization.batch_norm cimport Channels, batch_norm_backward, batch_norm_forward
from .._base cimport Operator, OpContext

from math import prod

from ...base.errors import ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Float
from ..property import OperatorProperty, ResourceRequest, merge_shapes
from ..checks.shapes import agree


class InstanceNormHooks(GraphHooks):
    """A channels-last form, with relu folded in."""

    def channels_last(self, prop, in_shapes, in_types):
        if any(t != "float32" for t in in_types):
            return None
        from .instance_norm_channels_last import ChannelsLastInstanceNorm

        return ChannelsLastInstanceNorm(**prop.params()), [0]


class InstanceNormProperty(OperatorProperty):
    """Normalize each channel of each sample over its positions, then scale and shift it.

    ``out = (data - mean) / sqrt(var + eps) * gamma + beta`` with mean and variance over the axes
    behind the second.
    """

    eps = Float(1e-3, doc="Added to the variance.", low=0.0)

    graph = InstanceNormHooks(float32_beside_half=())
    inputs_doc = {"data": "Input (N, C, ...).", "gamma": "Scale (C,).", "beta": "Shift (C,)."}

    def infer_shape(self, in_shapes, out_shapes):
        data = merge_shapes(in_shapes[0], out_shapes[0])
        channels = merge_shapes(*in_shapes[1:], (0,))
        if data is not None:
            if len(data) < 3:
                raise ShapeError(f"data has shape {data}, expected (N, C, ...), at least 3 axes")
            channels = agree("gamma or beta", channels, (data[1],))
            data = (data[0], channels[0], *data[2:])
        return [data, channels, channels], [data], []

    def backward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], in_data[0], in_data[1]]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        shape = in_shapes[0]
        return InstanceNormOperator(shape[0], shape[1], prod(shape[2:]), self.eps)


cdef class InstanceNormOperator(Operator):
    """A batch normalization of each sample; further outputs get mean and standard deviation, one a
    channel and sample."""

    cdef Channels shape
    cdef int64_t batch

    def __init__(self, batch, channels, inner, eps):
        self.batch = batch
        self.shape.outer, self.shape.channels, self.shape.inner = 1, channels, inner
        self.shape.eps = eps
        self.shape.fixed = False

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if in_data[0].dtype == kFloat32:
            return self._forward(<const float*>in_data[0].data, ctx, in_data, req, out_data)
        return self._forward(<const double*>in_data[0].data, ctx, in_data, req, out_data)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if in_data[0].dtype == kFloat32:
            return self._backward(<const float*>out_grad[0].data, ctx, in_data, req, in_grad)
        return self._backward(<const double*>out_grad[0].data, ctx, in_data, req, in_grad)

    cdef int _forward(self, const floating* x, OpContext* ctx, const TBlob* in_data,
                      const int* req, TBlob* out_data) except -1 nogil:
        cdef int64_t i, c, channels = self.shape.channels, size = channels * self.shape.inner
        cdef floating* y = <floating*>(out_data[0].data if req[0] != kNullOp else NULL)
        cdef floating* mean = NULL
        cdef floating* std = NULL
        cdef floating* inverse = NULL
        cdef bint add_mean = False, add_std = False
        if ctx.n_out > 1:
            mean = <floating*>(out_data[1].data if req[1] != kNullOp else NULL)
            std = <floating*>(out_data[2].data if req[2] != kNullOp else NULL)
            add_mean, add_std = req[1] == kAddTo, req[2] == kAddTo
            inverse = <floating*>get_space(&ctx.requested[0], channels * sizeof(floating))
        elif y == NULL:
            return 0
        for i in range(self.batch):
            batch_norm_forward(
                &self.shape, x + i * size, <const floating*>in_data[1].data,
                <const floating*>in_data[2].data, <const floating*>NULL, <const floating*>NULL,
                mean + i * channels if mean != NULL else mean, inverse,
                y + i * size if y != NULL else y, req[0] == kAddTo, add_mean, False)
            if std != NULL:
                for c in range(channels):
                    std[i * channels + c] = 1 / inverse[c] + (
                        std[i * channels + c] if add_std else 0)
        return 0

    cdef int _backward(self, const floating* dy, OpContext* ctx, const TBlob* in_data,
                       const int* req, TBlob* in_grad) except -1 nogil:
        cdef int64_t i, channels = self.shape.channels, size = channels * self.shape.inner
        cdef const floating* x = <const floating*>in_data[0].data
        cdef const floating* gamma = <const floating*>in_data[1].data
        cdef floating* dx = <floating*>(in_grad[0].data if req[0] != kNullOp else NULL)
        cdef floating* dgamma = <floating*>(in_grad[1].data if req[1] != kNullOp else NULL)
        cdef floating* dbeta = <floating*>(in_grad[2].data if req[2] != kNullOp else NULL)
        cdef floating* mean = <floating*>get_space(&ctx.requested[0],
                                                   2 * channels * sizeof(floating))
        for i in range(self.batch):
            batch_norm_forward(
                &self.shape, x + i * size, gamma, gamma, <const floating*>NULL,
                <const floating*>NULL, mean, mean + channels, <floating*>NULL, False, False, False)
            batch_norm_backward(
                &self.shape, dy + i * size, x + i * size, gamma, mean, mean + channels, False,
                dx + i * size if dx != NULL else dx, dgamma, dbeta, req[0] == kAddTo,
                req[1] == kAddTo or i > 0, req[2] == kAddTo or i > 0)
        return 0


register_operator("InstanceNorm", InstanceNormProperty)
