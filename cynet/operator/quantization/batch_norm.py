"""quantized_batch_norm: BatchNorm of a quantized array, for prediction."""

from ...base.errors import ArgumentError
from ..checks.shapes import unify_shapes
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, Double, Float, Int
from ..property import merge_shapes
from ..tensor.axes import normalize_axis, sizes_around_axis
from .ranges import ONE, NanCheck, has_calib_range, range_input_shapes, require_byte_dtype
from .shapes import OUTPUTS

_PER_CHANNEL_INPUTS = ("gamma", "beta", "moving_mean", "moving_var")  # shape (C,)


class QuantizedBatchNormProperty(
    NanCheck, KernelProperty, operator="_contrib_quantized_batch_norm"
):
    """BatchNorm of a quantized array by the moving statistics; int8, within the given range.

    ``out = (data - moving_mean) / sqrt(moving_var + eps) * gamma + beta``, rounded to even, in
    steps of ``r / 127.5``. The statistics are inputs as the others, and not changed.
    """

    eps = Double(1e-3, doc="Added to the variance.", low=0.0)
    momentum = Float(0.9, doc="Accepted; the moving statistics stay as they are.")
    fix_gamma = Bool(True, doc="Take gamma as 1.")
    use_global_stats = Bool(False, doc="Accepted; the moving statistics are always used.")
    output_mean_var = Bool(False, doc="False: there are no such outputs.")
    axis = Int(1, doc="The axis of channels.")
    cudnn_off = Bool(False, doc="Accepted and not needed.")
    min_calib_range = Float(None, doc="The least value of the output; required.")
    max_calib_range = Float(None, doc="The largest value of the output; required.")

    differentiable = False
    floats = ()
    inputs_doc = {
        "data": "Integers of 8 bits, channels along `axis`.",
        "gamma": "Scale (C,).",
        "beta": "Shift (C,).",
        "moving_mean": "Mean (C,).",
        "moving_var": "Variance (C,).",
        "min_data": "The least value of data, (1,).",
        "max_data": "The largest value of data, (1,).",
    }
    forward = Kernel(
        "quantized_batch_norm",
        ("data", *_PER_CHANNEL_INPUTS, "min_data", "max_data"),
        OUTPUTS,
        whole=True,
    )
    output_names = OUTPUTS
    example = """
    >>> x = mx.nd.array([[1, -2], [3, 4]])
    >>> q, low, high = mx.nd.contrib.quantize_v2(x)
    >>> gamma, beta, mean, var = mx.nd.ones(2), mx.nd.zeros(2), mx.nd.array([2, 1]), mx.nd.ones(2)
    >>> out = mx.nd.contrib.quantized_batch_norm(
    ...     q, gamma, beta, mean, var, low, high, min_calib_range=-4, max_calib_range=4)
    >>> mx.nd.contrib.dequantize(*out)
    [[-1.0039216 -3.011765 ]
     [ 1.0039216  2.9803922]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if self.output_mean_var:
            self.fields["output_mean_var"].refuse(True, self._operator_label())
        if not has_calib_range(self):
            raise ArgumentError(
                f"operator {self.op_name} needs min_calib_range and max_calib_range, the range of "
                "its output"
            )

    def infer_shape(self, in_shapes, out_shapes):
        data = merge_shapes(in_shapes[0], out_shapes[0])
        channels = merge_shapes(*in_shapes[1:5], (0,))
        if data is not None:
            axis = normalize_axis(self.axis, data)
            channels = unify_shapes("gamma", channels, (data[axis],))
            data = (*data[:axis], channels[0], *data[axis + 1 :])
        ends = [unify_shapes(name, s, ONE) for name, s in zip(OUTPUTS[1:], out_shapes[1:])]
        return [data, *[channels] * 4, *range_input_shapes(self, in_shapes, 5)], [data, *ends], []

    def infer_type(self, in_types, out_types):
        data = in_types[0] or "int8"
        require_byte_dtype(self, data)
        return [data, *["float32"] * 6], ["int8", "float32", "float32"], []

    def kernel_params(self, in_shapes):
        outer, channels, inner = sizes_around_axis(
            in_shapes[0], normalize_axis(self.axis, in_shapes[0])
        )
        return {
            "outer": outer,
            "channels": channels,
            "inner": inner,
            "eps": self.eps,
            "fixed": self.fix_gamma,
            "low": self.min_calib_range,
            "high": self.max_calib_range,
        }
