"""quantized_flatten, quantized_act: operators that do not change the range."""

from math import prod

from ..checks.shapes import unify_shapes
from ..kernel_property import Kernel, KernelProperty
from ..nn.flatten import FlattenProperty
from ..parameters import Enum
from ..property import merge_shapes
from .conversions import AnyOrderHooks
from .int8_form import Int8Form
from .ranges import ONE, range_input_shapes, require_byte_dtype

OUTPUTS = ("output", "min_output", "max_output")  # an array and the ends of its range
INPUTS_DOC = {  # descriptions of inputs
    "data": "Integers of 8 bits.",
    "min_data": "The least value of data, (1,).",
    "max_data": "The largest value of data, (1,).",
}


class SameRangeProperty(KernelProperty):  # base: outputs have the range of `data`
    """Base of operators whose output has the dtype and the range of `data`."""

    differentiable = False
    floats = ()
    inputs_doc = INPUTS_DOC
    output_names = OUTPUTS

    def infer_type(self, in_types, out_types):
        data = in_types[0] or out_types[0]
        require_byte_dtype(self, data)
        return [data, "float32", "float32"], [data, "float32", "float32"], []

    def shapes_with_ranges(self, in_shapes, out_shapes, data, out):
        """The result of `infer_shape` for these shapes of data and output 0."""
        ends = [unify_shapes(name, s, ONE) for name, s in zip(OUTPUTS[1:], out_shapes[1:])]
        return [data, *range_input_shapes(self, in_shapes, 1)], [out, *ends], []


_RELU_KERNEL = Kernel("quantized_at_least", ("data", "min_data", "max_data"), OUTPUTS, whole=True)


class QuantizedFlattenProperty(SameRangeProperty, operator="_contrib_quantized_flatten"):
    """Collapse all axes but the first of a quantized array: (N, d1, ...) becomes (N, d1*...)."""

    forward = _RELU_KERNEL
    int8_form = Int8Form(FlattenProperty)
    example = """
    >>> q, low, high = mx.nd.contrib.quantize_v2(mx.nd.ones((2, 2, 3)))
    >>> mx.nd.contrib.quantized_flatten(q, low, high)[0].shape
    (2, 6)
    """

    def infer_shape(self, in_shapes, out_shapes):
        data, out = in_shapes[0], out_shapes[0]
        if data is not None:
            out = unify_shapes("output", out, (data[0], prod(data[1:])))
            data = (out[0], *data[1:])
        return self.shapes_with_ranges(in_shapes, out_shapes, data, out)

    def kernel_params(self, in_shapes):
        return {"least": -128.0}


class QuantizedActProperty(SameRangeProperty, operator="_contrib_quantized_act"):
    """The rectifier of a quantized array: ``max(data, 0)``. Its range does not change."""

    act_type = Enum(
        ("relu", "sigmoid", "softrelu", "softsign", "tanh"),
        doc="The activation; 'relu' alone can be computed on quantized arrays.",
    )
    forward = _RELU_KERNEL
    graph = AnyOrderHooks()
    example = """
    >>> q, low, high = mx.nd.contrib.quantize_v2(mx.nd.array([-1, 0, 0.5]))
    >>> mx.nd.contrib.quantized_act(q, low, high, act_type="relu")[0]
    [ 0  0 64]
    <NDArray 3 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if self.act_type != "relu":
            self.fields["act_type"].refuse(self.act_type, self._operator_label())

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(in_shapes[0], out_shapes[0])
        return self.shapes_with_ranges(in_shapes, out_shapes, shape, shape)

    def kernel_params(self, in_shapes):
        return {"least": 0.0}
