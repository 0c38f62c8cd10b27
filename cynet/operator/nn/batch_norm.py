"""BatchNorm: out = (data - mean) / sqrt(var + eps) * gamma + beta, channel by channel.

data and out (N, C, ...) with channels along `axis`; gamma, beta, mean, var and the moving
statistics (C,).
"""

from ...base.errors import ArgumentError
from ..checks.dtypes import NARROW_FLOATS
from ..checks.shapes import unify_shapes
from ..graph_hooks import RESIDUAL, GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, Double, Float, Int
from ..precision import EITHER, Precision
from ..property import merge_shapes
from ..second_order import Rewrite
from ..tensor.axes import normalize_axis, sizes_around_axis
from .fused_activation import TakesReluHooks
from .normalization_composed import normalize_axes, reshape_along, scale_shift

# inputs that stay float32 beside bfloat16 data, as MXNet lists them: '' is the data
_FLOAT32_INPUTS = "", "gamma", "beta", "moving_mean", "moving_var"  # beside bfloat16 data


class BatchNormHooks(GraphHooks):
    """Graph hooks of BatchNorm: it has a channels-last form, which folds in following operators."""

    def fixed_inputs(self, prop):
        return {"gamma": 1.0} if prop.fix_gamma else {}

    def channels_last_form(self, prop, in_shapes, in_types):
        if any(t != "float32" for t in in_types) or prop.positive_axis(in_shapes[0]) != 1:
            return None
        form, made = ChannelsLastBatchNorm, prop.__dict__.get("_in_order")
        if made is None:  # one form serves every shape
            made = form(**{k: v for k, v in prop.params().items() if k in form.fields})
            prop.__dict__["_in_order"] = made
        return made, [0]


class BatchNormProperty(KernelProperty, operator="BatchNorm", aliases=("BatchNorm_v1",)):
    """Normalize each channel to mean 0 and variance 1 over all other axes, then scale and shift it.

    ``out = (data - mean) / sqrt(var + eps) * gamma + beta``. In training, mean and var are the
    batch's and backward moves the moving statistics: ``moving = momentum * moving + (1 - momentum)
    * batch`` (the variance is the biased one). Otherwise, and always with `use_global_stats`, they
    are the moving ones.
    """

    eps = Double(1e-3, doc="Added to the variance.", low=0.0)
    momentum = Float(0.9, doc="Share of the moving statistics that each step keeps.")
    fix_gamma = Bool(True, doc="Take gamma as 1, write 1 into it, give it gradient 0.")
    use_global_stats = Bool(False, doc="Use the moving statistics in training too.")
    output_mean_var = Bool(False, doc="Also give the mean and 1 / sqrt(var + eps) as outputs.")
    axis = Int(1, doc="The axis of channels.")
    cudnn_off = Bool(False, doc="Part of MXNet's signature; not used.")
    min_calib_range = Float(None, doc="Part of MXNet's signature; not used.")
    max_calib_range = Float(None, doc="Part of MXNet's signature; not used.")

    inputs_doc = {
        "data": "Input, channels along `axis`.",
        "gamma": "Scale (C,).",
        "beta": "Shift (C,).",
        "moving_mean": "Running mean (C,).",
        "moving_var": "Running variance (C,).",
    }

    graph = BatchNormHooks(moves_states=False, float32_beside_half=("gamma", "beta"))
    # relu and residual: folded in by the fuse pass; last: whether it is the channels-last form
    relu = residual = last = False
    shows_variance = False  # the visible third output has the variance
    forward = Kernel(
        "batch_norm",
        ("data", "gamma", "beta", "moving_mean", "moving_var", "residual?"),
        ("output", "mean", "var"),
    )
    variable_attrs = {
        "moving_mean": {"__init__": '["zero", {}]'},
        "moving_var": {"__init__": '["one", {}]'},
    }
    amp = Precision(EITHER, EITHER, float32_inputs=_FLOAT32_INPUTS)
    drawn_as = "norm"
    output_names = ("output", "mean", "var")
    example = """
    >>> x = mx.nd.array([[1, 2], [3, 6]])
    >>> gamma, beta = mx.nd.ones(2), mx.nd.zeros(2)
    >>> mean, var = mx.nd.zeros(2), mx.nd.ones(2)  # moving mean and variance
    >>> with mx.autograd.train_mode():
    ...     y = mx.nd.BatchNorm(x, gamma, beta, mean, var)
    ...
    >>> y
    [[-0.9995004 -0.999875 ]
     [ 0.9995004  0.999875 ]]
    <NDArray 2x2 @cpu(0)>
    """

    def num_visible_outputs(self):
        return 3 if self.output_mean_var else 1

    def list_auxiliary_states(self):
        return ["moving_mean", "moving_var"]

    def infer_shape(self, in_shapes, out_shapes):
        data = merge_shapes(in_shapes[0], out_shapes[0])
        channels = merge_shapes(*in_shapes[1:], *out_shapes[1:], (0,))
        if data is not None:
            axis = self.positive_axis(data)
            channels = unify_shapes("gamma or beta", channels, (data[axis],))
            data = (*data[:axis], channels[0], *data[axis + 1 :])
        return [data, channels, channels], [data, channels, channels], [channels, channels]

    def infer_type(self, in_types, out_types):
        """gamma, beta and all statistics have data's dtype, or float32 beside narrow ones."""
        data = in_types[0] or out_types[0]
        others = [*in_types[1:], *out_types[1:]]
        known = next((t for t in others if t is not None), None)
        if data is None and known not in (None, "float32"):  # float32 may be beside 16-bit data
            data = known
        kind = known if data is None else "float32" if data in NARROW_FLOATS else data
        if out_types[0] not in (None, data) or any(t not in (None, kind) for t in others):
            raise ArgumentError(
                f"BatchNorm: inputs {in_types} and outputs {out_types} do not fit: of {data} data "
                f"the output is {data}, gamma, beta, mean and variance are {kind}"
            )
        return [data, kind, kind], [data, kind, kind], [kind, kind]

    def positive_axis(self, shape):
        """Return the axis of channels as an index of 0 or more."""
        return normalize_axis(self.axis, shape)

    @property
    def backward(self):  # the kernels of the gradients
        # backward masks relu by the output, or recomputes the mask from data
        masks = "beta?" if self.relu and not self.residual else "none?"
        masked = "output" if self.relu and (self.residual or not self.last) else "none?"
        return Kernel(
            "batch_norm_grad",
            ("d_output", "data", "gamma", "mean", "var", masks, masked),
            ("d_data", "d_gamma", "d_beta", "moving_mean", "moving_var", "d_residual?"),
            in_place=(("d_output", "d_data"),),
        )

    def kernel_params(self, in_shapes):
        outer, channels, inner = sizes_around_axis(in_shapes[0], self.positive_axis(in_shapes[0]))
        return {
            "outer": outer,
            "channels": channels,
            "inner": inner,
            "eps": self.eps,
            "momentum": self.momentum,
            "fixed": self.fix_gamma,
            "given": self.use_global_stats,
            "relu": self.relu,
            "residual": self.residual,
            "variance": self.shows_variance and self.output_mean_var,
            "last": self.last,
        }

    def compose_outputs(self, F, inputs, aux, training):
        data, gamma, beta = inputs
        axis = self.positive_axis(data.shape)
        gamma = None if self.fix_gamma else gamma
        if training and not self.use_global_stats:
            axes = tuple(i for i in range(data.ndim) if i != axis)
            return [scale_shift(F, normalize_axes(F, data, axes, self.eps), gamma, beta, axis)]
        mean, variance = (reshape_along(F, each, axis, data.ndim) for each in aux[:2])
        out = F.broadcast_mul(F.broadcast_sub(data, mean), F.rsqrt(variance + self.eps))
        return [scale_shift(F, out, gamma, beta, axis)]

    second_order = Rewrite(compose_outputs)


class ChannelsLastBatchNormHooks(TakesReluHooks, BatchNormHooks):
    """Graph hooks of the channels-last form: it folds in relu, or a sum and relu."""

    def epilogue(self, prop, in_shapes, in_types, kind, act_type=None):
        if kind != RESIDUAL:
            return super().epilogue(prop, in_shapes, in_types, kind, act_type)
        if act_type != "relu" or prop.relu or prop.num_visible_outputs() > 1:
            return None
        return prop.changed(relu=True, residual=True)


class ChannelsLastBatchNorm(BatchNormProperty):
    """Channels-last BatchNorm; the fuse pass switches `relu` and `residual` (a 4th input) on."""

    op_name = "BatchNorm"
    graph = ChannelsLastBatchNormHooks(moves_states=False)
    last = True

    def list_arguments(self):
        names = super().list_arguments()
        return [*names, "residual"] if self.residual else names

    def infer_shape(self, in_shapes, out_shapes):
        shapes, outs, states = super().infer_shape(in_shapes[:3], out_shapes)
        return [*shapes, *(outs[0] for _ in in_shapes[3:])], outs, states

    def forward_inplace_option(self, in_data, out_data):
        return [(i, out_data[0]) for i in (in_data[0], *in_data[3:])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], i) for i in (in_grad[0], *in_grad[3:])]
