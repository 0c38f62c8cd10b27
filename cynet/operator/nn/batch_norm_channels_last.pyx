# cython: wraparound=True
"""BatchNorm of channels-last float32 data, with what often follows it folded in.

out = act((data - mean) / sqrt(var + eps) * gamma + beta + residual): the layout pass makes this
form of BatchNorm, the fuse pass gives it the residual and relu. data, residual and out (N, C, ...)
in channels-last order; gamma, beta and the statistics (C,).
"""

from libc.math cimport sqrt
from libc.stdint cimport int64_t

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.normalization.channels_last cimport (
    NormGradient, NormShape, norm_apply, norm_backward, norm_space, norm_statistics
)
from .._base cimport Operator, OpContext

from ..graph_hooks import RESIDUAL
from .batch_norm import BatchNormHooks, BatchNormProperty
from .fused_activation import TakesReluHooks


class ChannelsLastBatchNormHooks(TakesReluHooks, BatchNormHooks):
    """relu, or a sum and relu."""

    def epilogue(self, prop, kind, in_shapes, in_types, act_type=None):
        if kind != RESIDUAL:
            return super().epilogue(prop, kind, in_shapes, in_types, act_type)
        if act_type != "relu" or prop.relu or prop.num_visible_outputs() > 1:
            return None
        return prop.changed(relu=True, residual=True)


class ChannelsLastBatchNorm(BatchNormProperty):
    """BatchNorm on channels-last data; `relu` and `residual` (a fourth input) are switched on by
    the fuse pass."""

    op_name = "BatchNorm"
    graph = ChannelsLastBatchNormHooks(moves_states=False)

    def list_arguments(self):
        names = super().list_arguments()
        return [*names, "residual"] if self.residual else names

    def infer_shape(self, in_shapes, out_shapes):
        shapes, outs, states = super().infer_shape(in_shapes[:3], out_shapes)
        return [*shapes, *(outs[0] for _ in in_shapes[3:])], outs, states

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        needed = [out_grad[0], in_data[0], in_data[1], out_data[1], out_data[2]]
        if self.relu:  # its mask: from the output, or computed anew from data
            needed.append(out_data[0] if self.residual else in_data[2])
        return needed

    def forward_inplace_option(self, in_data, out_data):
        return [(i, out_data[0]) for i in (in_data[0], *in_data[3:])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], i) for i in (in_grad[0], *in_grad[3:])]

    def create_operator(self, ctx, in_shapes, in_types):
        return ChannelsLastNorm(self, in_shapes[0])


cdef class ChannelsLastNorm(Operator):
    cdef NormShape shape
    cdef double momentum
    cdef bint use_global_stats

    def __init__(self, prop, data):
        cdef NormShape* s = &self.shape
        s.rows, s.channels = data[0], data[1]
        for n in data[2:]:
            s.rows *= n
        s.eps, s.fixed, s.relu, s.residual = prop.eps, prop.fix_gamma, prop.relu, prop.residual
        self.momentum, self.use_global_stats = prop.momentum, prop.use_global_stats

    cdef double* _space(self, OpContext* ctx) except NULL nogil:
        return <double*>get_space(&ctx.requested[0], norm_space(&self.shape))

    cdef void _affine(self, const float* gamma, const float* beta, const float* mean,
                      const float* inv_std, float* scale) noexcept nogil:
        """scale[c] and, behind them, shift[c]: what forward multiplies and adds."""
        cdef int64_t c, n = self.shape.channels
        cdef double factor
        for c in range(n):
            factor = (1 if self.shape.fixed else <double>gamma[c]) * inv_std[c]
            scale[c] = <float>factor
            scale[n + c] = <float>(beta[c] - mean[c] * factor)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t c, n = self.shape.channels
        cdef double* space = self._space(ctx)
        cdef float* mean
        cdef float* inv_std
        cdef float* scale
        cdef const float* x = <const float*>in_data[0].data
        if self.use_global_stats or not ctx.is_train:
            for c in range(n):
                space[c] = (<float*>aux_states[0].data)[c]
                space[n + c] = (<float*>aux_states[1].data)[c]
        else:
            norm_statistics(&self.shape, x, space)
        mean = <float*>(space + 2 * n)
        inv_std = mean + n
        scale = <float*>space  # written behind what is read
        for c in range(n):
            mean[c] = <float>space[c]
            inv_std[c] = <float>(1 / sqrt(space[n + c] + self.shape.eps))
        _give(<float*>out_data[1].data, mean, n, req[1])
        _give(<float*>out_data[2].data, inv_std, n, req[2])
        if req[0] == kNullOp:
            return 0
        self._affine(<const float*>in_data[1].data, <const float*>in_data[2].data, mean, inv_std,
                     scale)
        norm_apply(&self.shape, x, scale, scale + n,
                   <const float*>in_data[3].data if self.shape.residual else NULL,
                   <float*>out_data[0].data, req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef bint given = self.use_global_stats or not ctx.is_train
        cdef int64_t c, n = self.shape.channels
        cdef double variance, keep = self.momentum
        cdef const float* mean = <const float*>out_data[1].data
        cdef const float* inv_std = <const float*>out_data[2].data
        cdef float* moving_mean = <float*>aux_states[0].data
        cdef float* moving_var = <float*>aux_states[1].data
        cdef NormGradient g
        cdef size_t inner = norm_space(&self.shape)
        cdef double* space = <double*>get_space(&ctx.requested[0], inner + 4 * n * sizeof(float))
        cdef float* own = <float*>(<char*>space + inner)
        if given:
            for c in range(n):
                own[2 * n + c] = <float>(1 / sqrt(<double>moving_var[c] + self.shape.eps))
            mean, inv_std = moving_mean, own + 2 * n
        g.dy, g.x = <const float*>out_grad[0].data, <const float*>in_data[0].data
        g.y = <const float*>out_data[0].data
        g.gamma, g.mean, g.inv_std, g.constant = <const float*>in_data[1].data, mean, inv_std, given
        if self.shape.relu and not self.shape.residual:
            self._affine(g.gamma, <const float*>in_data[2].data, mean, inv_std, own)
        g.scale, g.shift = own, own + n
        g.dx = <float*>in_grad[0].data if req[0] != kNullOp else NULL
        g.dgamma = <float*>in_grad[1].data if req[1] != kNullOp else NULL
        g.dbeta = <float*>in_grad[2].data if req[2] != kNullOp else NULL
        g.dresidual = NULL
        g.add_residual = False
        g.add_x, g.add_gamma, g.add_beta = req[0] == kAddTo, req[1] == kAddTo, req[2] == kAddTo
        if self.shape.residual and req[3] != kNullOp:
            g.dresidual, g.add_residual = <float*>in_grad[3].data, req[3] == kAddTo
        norm_backward(&self.shape, &g, space)
        if not given:
            for c in range(n):
                variance = 1 / (<double>inv_std[c] * inv_std[c]) - self.shape.eps
                moving_mean[c] = <float>(keep * moving_mean[c] + (1 - keep) * mean[c])
                moving_var[c] = <float>(keep * moving_var[c] + (1 - keep) * variance)
        return 0


cdef void _give(float* to, const float* values, int64_t n, int req) noexcept nogil:
    cdef int64_t c
    if req == kNullOp:
        return
    for c in range(n):
        to[c] = to[c] + values[c] if req == kAddTo else values[c]
