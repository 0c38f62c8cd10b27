# cython: wraparound=True
"""GPU form of BatchNorm: cuDNN, and kernels for cases without a cuDNN call (given statistics)."""

from libc.stddef cimport size_t

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...cuda.libraries.cudnn_layers cimport BatchNorm
from .._base cimport OpContext
from .launch cimport MAX_SPACES, DeviceOperator

from math import prod

import numpy as np

from ...cuda.libraries.cudnn import open_cudnn
from ..nn.batch_norm import BatchNormProperty
from .launch_program import Steps, zeros
from .registry import register_form
from .launch_steps import ADD, AUX, IN, IN_GRAD, OUT, OUT_GRAD, launch_each, launch_lines
from .kernel_args import C_TYPES, SIZEOF


cdef class BatchNormForm(DeviceOperator):  # BatchNorm by cuDNN
    """BatchNorm of data (outer, C, inner); gamma, beta, means and inverse deviations (C,).

    Its launches are those of given statistics, the moving average and gamma's gradient of zero.
    """

    cdef BatchNorm layer
    cdef bint use_global_stats, fixed
    cdef size_t data_bytes, parameter_bytes  # multiples of 256
    cdef const void* ones

    def __init__(self, prop, layer, data_bytes, parameter_bytes, ones, device, forward, backward):
        super().__init__(device, forward.steps, backward.steps, forward.spaces, backward.spaces)
        self.layer, self.use_global_stats = layer, prop.use_global_stats
        self.data_bytes, self.parameter_bytes = _align_256(data_bytes), _align_256(parameter_bytes)
        self.fixed = prop.fix_gamma
        self.ones = <const void*><size_t>ones.address if self.fixed else NULL
        self.held.append(ones)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef const void* gamma = self.ones if self.fixed else in_data[1].data
        if not (self.use_global_stats or not ctx.is_train):
            return _forward(self, ctx, in_data, req, out_data)
        if req[0] != kNullOp:
            self.layer.forward_inference(&ctx.run_ctx, in_data[0].data, gamma, in_data[2].data,
                                         aux_states[0].data, aux_states[1].data, out_data[0].data,
                                         req[0] == kAddTo)
        return self.run(0, ctx, in_data, out_data, NULL, NULL, aux_states, req)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if not (self.use_global_stats or not ctx.is_train):
            _backward(self, ctx, out_grad, in_data, out_data, req, in_grad)
        return self.run(1, ctx, in_data, out_data, out_grad, in_grad, aux_states, req)


cdef size_t _align_256(size_t nbytes) noexcept nogil:  # rounds up to a multiple of 256
    return (nbytes + 255) // 256 * 256


cdef int _forward(BatchNormForm self, OpContext* ctx, const TBlob* in_data, const int* req,
                  TBlob* out_data) except -1 nogil:
    """Forward with the batch's statistics. cuDNN overwrites mean, inverse deviation and out: for
    other requests the results go to temporary memory first."""
    cdef void* targets[3]
    cdef size_t need[3]
    cdef int i
    cdef char* space = NULL
    need[0] = self.data_bytes if req[0] == kNullOp else 0
    for i in range(1, 3):
        need[i] = self.parameter_bytes if req[i] == kNullOp or req[i] == kAddTo else 0
    if req[0] == kNullOp and req[1] == kNullOp and req[2] == kNullOp:
        return 0
    if need[0] + need[1] + need[2]:
        space = <char*>self.space(ctx.run_ctx.dev_id, MAX_SPACES, need[0] + need[1] + need[2],
                                  ctx.run_ctx.stream)
    for i in range(3):
        targets[i] = out_data[i].data
        if need[i]:
            targets[i] = space
            space += need[i]
    self.layer.forward(
        &ctx.run_ctx, in_data[0].data, self.ones if self.fixed else in_data[1].data,
        in_data[2].data, targets[0], req[0] == kAddTo, targets[1], targets[2])
    for i in range(1, 3):
        if req[i] == kAddTo:
            self.layer.copy_data(&ctx.run_ctx, targets[i], out_data[i].data, False, True)
    return 0


cdef int _backward(BatchNormForm self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                   const TBlob* out_data, const int* req, TBlob* in_grad) except -1 nogil:
    """Backward through the batch's statistics. cuDNN writes all three gradients, the last two
    alike, and does not document that the first may share memory with out_grad."""
    cdef bint gamma = req[1] != kNullOp and not self.fixed, beta = req[2] != kNullOp
    cdef bint add = req[0] == kAddTo, same_kind = (req[1] == kAddTo) == (req[2] == kAddTo)
    cdef bint direct = gamma and beta and same_kind
    cdef bint aside = req[0] == kNullOp or in_grad[0].data == out_grad[0].data
    cdef void* data_grad = in_grad[0].data
    cdef void* gamma_grad = in_grad[1].data
    cdef void* beta_grad = in_grad[2].data
    cdef char* space = NULL
    if req[0] == kNullOp and not gamma and not beta:
        return 0
    if aside or not direct:
        space = <char*>self.space(ctx.run_ctx.dev_id, MAX_SPACES,
                                  2 * self.parameter_bytes + (self.data_bytes if aside else 0),
                                  ctx.run_ctx.stream)
    if not direct:
        gamma_grad, beta_grad = space, space + self.parameter_bytes
    if aside:
        data_grad = space + 2 * self.parameter_bytes
    self.layer.backward(
        &ctx.run_ctx, in_data[0].data, out_grad[0].data,
        self.ones if self.fixed else in_data[1].data, out_data[1].data, out_data[2].data,
        data_grad, add and not aside, gamma_grad, beta_grad, direct and req[1] == kAddTo)
    if not direct:
        if gamma:
            self.layer.copy_data(&ctx.run_ctx, gamma_grad, in_grad[1].data, False, req[1] == kAddTo)
        if beta:
            self.layer.copy_data(&ctx.run_ctx, beta_grad, in_grad[2].data, False, req[2] == kAddTo)
    if aside and req[0] != kNullOp:
        self.layer.copy_data(&ctx.run_ctx, data_grad, in_grad[0].data, True, False)
    return 0


@register_form(BatchNormProperty)
def batch_norm(prop, in_shapes, in_types, device):
    """Build the form for channels on any axis: the axes on either side become one axis."""
    shape, axis = in_shapes[0], prop.positive_axis(in_shapes[0])
    data, kind = C_TYPES[in_types[0]], C_TYPES[in_types[1]]
    outer, channels, inner = prod(shape[:axis]), shape[axis], prod(shape[axis + 1:])
    n, nbytes, eps = prod(shape), channels * SIZEOF[kind], float(prop.eps)
    given = () if prop.use_global_stats else ("predicting",)
    ones = device.upload(np.ones(channels, in_types[1]).tobytes()) if prop.fix_gamma else None
    copy = f"cast<{kind}, {kind}>"
    forward, backward = Steps(), Steps()
    forward += launch_each(channels, "cast", copy, AUX[0], OUT[1], channels, ADD, when=given)
    forward += launch_each(channels, "batch_norm", f"inverse_deviation<{kind}>", AUX[1], OUT[2],
                           channels, eps, ADD, when=given)
    gamma_grad, beta_grad = backward.reserve_bytes(nbytes), backward.reserve_bytes(nbytes)
    backward += launch_lines(channels, outer * inner, "batch_norm", f"channel_sums<{data}, {kind}>",
                             OUT_GRAD[0], IN[0], AUX[0], AUX[1], gamma_grad, beta_grad, outer,
                             channels, inner, eps, to=(1, 2), when=given)
    if prop.fix_gamma:
        backward += zeros((channels,), in_types[1], IN_GRAD[1])
    else:
        backward += launch_each(channels, "cast", copy, gamma_grad, IN_GRAD[1], channels, ADD,
                                when=given)
    backward += launch_each(channels, "cast", copy, beta_grad, IN_GRAD[2], channels, ADD,
                            when=given)
    backward += launch_each(n, "batch_norm", f"channel_scale<{data}, {kind}>", OUT_GRAD[0], AUX[1],
                            ones or IN[1], IN_GRAD[0], n, channels, inner, eps, ADD, when=given)
    if not prop.use_global_stats:
        backward += launch_each(channels, "batch_norm", f"move_statistics<{kind}>", OUT[1], OUT[2],
                                AUX[0], AUX[1], channels, float(prop.momentum), eps, to=(0, 0),
                                when=("training",))
    open_cudnn()
    layer = BatchNorm(in_types[0], outer, channels, inner, eps)
    return BatchNormForm(prop, layer, n * SIZEOF[data], nbytes, ones, device, forward, backward)
