# cython: wraparound=True
"""InstanceNorm of channels-last float32 data, with relu folded in: each sample by the loops of
BatchNorm.

Shapes as in instance_norm.pyx; data and out lie in channels-last order.
"""

from libc.math cimport sqrt
from libc.stdint cimport int64_t

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.normalization.channels_last cimport (
    NormGradient, NormShape, norm_apply, norm_backward, norm_space, norm_statistics
)
from .._base cimport Operator, OpContext

from math import prod

from ..property import ResourceRequest
from .fused_activation import TakesReluHooks
from .instance_norm import InstanceNormProperty


class ChannelsLastInstanceNorm(InstanceNormProperty):
    """InstanceNorm on channels-last data; `relu` is switched on by the fuse pass."""

    op_name = "InstanceNorm"
    graph = TakesReluHooks()
    relu = False

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], *in_data] if self.relu else [out_grad[0], in_data[0], in_data[1]]

    def create_operator(self, ctx, in_shapes, in_types):
        return ChannelsLastInstances(self, in_shapes[0])


cdef class ChannelsLastInstances(Operator):
    cdef NormShape shape  # of one sample
    cdef int64_t batch
    cdef size_t inner     # bytes of scratch of the loops; behind them lie four floats a channel

    def __init__(self, prop, data):
        cdef NormShape* s = &self.shape
        self.batch = data[0]
        s.rows, s.channels = prod(data[2:]), data[1]
        s.eps, s.fixed, s.relu, s.residual = prop.eps, False, prop.relu, False
        self.inner = norm_space(s)

    cdef void _prepare(self, const float* x, const TBlob* in_data, double* space, float* own,
                       bint affine) noexcept nogil:
        """mean, inv_std and, with `affine`, what forward multiplies by and adds, into `own`."""
        cdef int64_t c, n = self.shape.channels
        cdef double inv_std, factor
        norm_statistics(&self.shape, x, space)
        for c in range(n):
            inv_std = 1 / sqrt(space[n + c] + self.shape.eps)
            own[c], own[n + c] = <float>space[c], <float>inv_std
            if affine:
                factor = (<const float*>in_data[1].data)[c] * inv_std
                own[2 * n + c] = <float>factor
                own[3 * n + c] = <float>((<const float*>in_data[2].data)[c] - space[c] * factor)

    cdef double* _space(self, OpContext* ctx) except NULL nogil:
        return <double*>get_space(&ctx.requested[0],
                                  self.inner + 4 * self.shape.channels * sizeof(float))

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t i, n = self.shape.channels, size = self.shape.rows * n
        cdef const float* x = <const float*>in_data[0].data
        cdef double* space
        cdef float* own
        if req[0] == kNullOp:
            return 0
        space = self._space(ctx)
        own = <float*>(<char*>space + self.inner)
        for i in range(self.batch):
            self._prepare(x + i * size, in_data, space, own, True)
            norm_apply(&self.shape, x + i * size, own + 2 * n, own + 3 * n, NULL,
                       <float*>out_data[0].data + i * size, req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int64_t i, n = self.shape.channels, size = self.shape.rows * n
        cdef const float* x = <const float*>in_data[0].data
        cdef double* space = self._space(ctx)
        cdef float* own = <float*>(<char*>space + self.inner)
        cdef NormGradient g
        g.y = g.dresidual = NULL
        g.gamma, g.mean, g.inv_std = <const float*>in_data[1].data, own, own + n
        g.scale, g.shift = own + 2 * n, own + 3 * n
        g.dgamma = <float*>in_grad[1].data if req[1] != kNullOp else NULL
        g.dbeta = <float*>in_grad[2].data if req[2] != kNullOp else NULL
        g.add_x, g.add_residual, g.constant = req[0] == kAddTo, False, False
        for i in range(self.batch):
            self._prepare(x + i * size, in_data, space, own, self.shape.relu)
            g.dy, g.x = <const float*>out_grad[0].data + i * size, x + i * size
            g.dx = <float*>in_grad[0].data + i * size if req[0] != kNullOp else NULL
            g.add_gamma, g.add_beta = req[1] == kAddTo or i > 0, req[2] == kAddTo or i > 0
            norm_backward(&self.shape, &g, space)
        return 0
