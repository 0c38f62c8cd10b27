# cython: wraparound=True
"""BatchNorm: out = (data - mean) / sqrt(var + eps) * gamma + beta, channel by channel.

data and out (N, C, ...) with channels along `axis`; gamma, beta, mean, var and the moving
statistics (C,).
"""

from cython cimport floating
from libc.math cimport sqrt
from libc.stdint cimport int64_t

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.normalization.batch_norm cimport Channels, batch_norm_backward, batch_norm_forward
from .._base cimport Operator, OpContext

from math import prod

from ...base.errors import ArgumentError, ShapeError
from .._base import register_operator
from ..checks.dtypes import NARROW, require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Bool, Double, Float, Int
from ..property import OperatorProperty, ResourceRequest, merge_shapes
from ..checks.shapes import agree


class BatchNormHooks(GraphHooks):
    """A channels-last form, with what follows it folded in."""

    def fixed_inputs(self, prop):
        return {"gamma": 1.0} if prop.fix_gamma else {}

    def channels_last(self, prop, in_shapes, in_types):
        from .batch_norm_channels_last import ChannelsLastBatchNorm

        if any(t != "float32" for t in in_types) or prop.position(in_shapes[0]) != 1:
            return None
        form, made = ChannelsLastBatchNorm, prop.__dict__.get("_in_order")
        if made is None:  # for every shape it is the same
            made = form(**{k: v for k, v in prop.params().items() if k in form.fields})
            prop.__dict__["_in_order"] = made
        return made, [0]


class BatchNormProperty(OperatorProperty):
    """Normalize each channel to mean 0 and variance 1 over all other axes, then scale and shift it.

    ``out = (data - mean) / sqrt(var + eps) * gamma + beta``. In training, mean and var are the
    batch's and backward moves the moving statistics: ``moving = momentum * moving + (1 - momentum)
    * batch`` (the variance is the biased one). Otherwise, and always with `use_global_stats`, they
      are the moving ones.
    """

    eps = Double(1e-3, doc="Added to the variance.", low=0.0)
    momentum = Float(0.9, doc="How much of the moving statistics stays at each step.")
    fix_gamma = Bool(True, doc="Take gamma as 1, write 1 into it, give it gradient 0.")
    use_global_stats = Bool(False, doc="Use the moving statistics in training too.")
    output_mean_var = Bool(False, doc="Also give the mean and 1 / sqrt(var + eps) as outputs.")
    axis = Int(1, doc="The axis of channels.")
    cudnn_off = Bool(False, doc="Accepted and not needed.")
    min_calib_range = Float(None, doc="Accepted and not needed.")
    max_calib_range = Float(None, doc="Accepted and not needed.")

    inputs_doc = {
        "data": "Input, channels along `axis`.",
        "gamma": "Scale (C,).",
        "beta": "Shift (C,).",
        "moving_mean": "Running mean (C,).",
        "moving_var": "Running variance (C,).",
    }

    graph = BatchNormHooks(moves_states=False, float32_beside_half=("gamma", "beta"))
    relu = residual = False  # what the fuse pass adds to the channels-last form
    variable_attrs = {
        "moving_mean": {"__init__": '["zero", {}]'},
        "moving_var": {"__init__": '["one", {}]'},
    }

    def list_outputs(self):
        return ["output", "mean", "var"]

    def num_visible_outputs(self):
        return 3 if self.output_mean_var else 1

    def list_auxiliary_states(self):
        return ["moving_mean", "moving_var"]

    def infer_shape(self, in_shapes, out_shapes):
        data = merge_shapes(in_shapes[0], out_shapes[0])
        channels = merge_shapes(*in_shapes[1:], *out_shapes[1:], (0,))
        if data is not None:
            axis = self.position(data)
            channels = agree("gamma or beta", channels, (data[axis],))
            data = (*data[:axis], channels[0], *data[axis + 1:])
        return [data, channels, channels], [data, channels, channels], [channels, channels]

    def infer_type(self, in_types, out_types):
        """gamma, beta and all statistics have data's dtype; beside narrow floats they
        are float32."""
        data = in_types[0] or out_types[0]
        others = [*in_types[1:], *out_types[1:]]
        known = next((t for t in others if t is not None), None)
        if data is None and known not in (None, "float32"):  # float32 is beside narrow ones, too
            data = known
        kind = known if data is None else "float32" if data in NARROW else data
        if out_types[0] not in (None, data) or any(t not in (None, kind) for t in others):
            raise ArgumentError(
                f"BatchNorm: inputs {in_types} and outputs {out_types} do not fit: of {data} data "
                f"the output is {data}, gamma, beta, mean and variance are {kind}")
        return [data, kind, kind], [data, kind, kind], [kind, kind]

    def position(self, shape):
        """The axis of channels counted from the front."""
        if not -len(shape) <= self.axis < len(shape):
            raise ShapeError(f"axis {self.axis} is out of range for data of shape {tuple(shape)}")
        return self.axis % len(shape)

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def backward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], in_data[0], in_data[1], out_data[1], out_data[2]]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])]

    def create_operator(self, ctx, in_shapes, in_types):
        from .batch_norm_channels_last import (
            ChannelsLastNorm,
        )  # loaded by the first, not by a later shape

        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        shape, axis = in_shapes[0], self.position(in_shapes[0])
        outer, inner = prod(shape[:axis]), prod(shape[axis + 1:])
        if inner == 1 and in_types[0] == "float32":
            return ChannelsLastNorm(self, (outer, shape[axis]))
        return BatchNormOperator(self, outer, shape[axis], inner)


cdef class BatchNormOperator(Operator):
    cdef Channels shape
    cdef double momentum
    cdef bint use_global_stats

    def __init__(self, prop, outer, channels, inner):
        self.shape.outer, self.shape.channels, self.shape.inner = outer, channels, inner
        self.shape.eps = prop.eps
        self.shape.fixed = prop.fix_gamma
        self.momentum = prop.momentum
        self.use_global_stats = prop.use_global_stats

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if in_data[0].dtype == kFloat32:
            self._forward(<float*>NULL, ctx, in_data, req, out_data, aux_states)
        else:
            self._forward(<double*>NULL, ctx, in_data, req, out_data, aux_states)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if in_data[0].dtype == kFloat32:
            return self._backward(<float*>NULL, ctx, out_grad, in_data, out_data, req, in_grad,
                                  aux_states)
        return self._backward(<double*>NULL, ctx, out_grad, in_data, out_data, req, in_grad,
                              aux_states)

    cdef void _forward(self, floating* kind, OpContext* ctx, const TBlob* in_data, const int* req,
                       TBlob* out_data, TBlob* aux_states) noexcept nogil:
        cdef bint given = self.use_global_stats or not ctx.is_train
        batch_norm_forward(
            &self.shape, <const floating*>in_data[0].data, <const floating*>in_data[1].data,
            <const floating*>in_data[2].data,
            <const floating*>(aux_states[0].data if given else NULL),
            <const floating*>(aux_states[1].data if given else NULL),
            <floating*>(out_data[1].data if req[1] != kNullOp else NULL),
            <floating*>(out_data[2].data if req[2] != kNullOp else NULL),
            <floating*>(out_data[0].data if req[0] != kNullOp else NULL),
            req[0] == kAddTo, req[1] == kAddTo, req[2] == kAddTo)

    cdef int _backward(self, floating* kind, OpContext* ctx, const TBlob* out_grad,
                       const TBlob* in_data, const TBlob* out_data, const int* req, TBlob* in_grad,
                       TBlob* aux_states) except -1 nogil:
        cdef bint given = self.use_global_stats or not ctx.is_train
        cdef int64_t c
        cdef double variance, keep = self.momentum
        cdef const floating* mean = <const floating*>out_data[1].data
        cdef const floating* inv_std = <const floating*>out_data[2].data
        cdef floating* moving_mean = <floating*>aux_states[0].data
        cdef floating* moving_var = <floating*>aux_states[1].data
        cdef floating* space
        if given:
            mean = moving_mean
            space = <floating*>get_space(&ctx.requested[0], self.shape.channels * sizeof(floating))
            for c in range(self.shape.channels):
                space[c] = <floating>(1 / sqrt(<double>moving_var[c] + self.shape.eps))
            inv_std = space
        batch_norm_backward(
            &self.shape, <const floating*>out_grad[0].data, <const floating*>in_data[0].data,
            <const floating*>in_data[1].data, mean, inv_std, given,
            <floating*>(in_grad[0].data if req[0] != kNullOp else NULL),
            <floating*>(in_grad[1].data if req[1] != kNullOp else NULL),
            <floating*>(in_grad[2].data if req[2] != kNullOp else NULL),
            req[0] == kAddTo, req[1] == kAddTo, req[2] == kAddTo)
        if not given:
            for c in range(self.shape.channels):
                variance = 1 / (<double>inv_std[c] * inv_std[c]) - self.shape.eps
                moving_mean[c] = <floating>(keep * moving_mean[c] + (1 - keep) * mean[c])
                moving_var[c] = <floating>(keep * moving_var[c] + (1 - keep) * variance)
        return 0


register_operator("BatchNorm", BatchNormProperty, aliases=("BatchNorm_v1",))
