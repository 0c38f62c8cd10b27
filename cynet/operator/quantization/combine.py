"""quantized_elemwise_add, quantized_elemwise_mul: sum and product of two quantized arrays."""

from ..checks.shapes import unify_shapes
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, Float
from ..property import merge_shapes
from .ranges import ONE, NanCheck, has_calib_range, range_input_shapes, require_byte_dtype
from .shapes import OUTPUTS

_INPUT_NAMES = ("lhs", "rhs", "lhs_min", "lhs_max", "rhs_min", "rhs_max")  # arrays and their ranges


class TwoInputHooks(GraphHooks):  # graph hooks of operators of two arrays
    """Graph hooks: element i of output 0 depends on elements i of inputs 0 and 1 alone."""

    def channels_last_form(self, prop, in_shapes, in_types):
        return prop, [0, 1]


class _TwoArrayProperty(NanCheck, KernelProperty):  # base: 8-bit lhs and rhs
    differentiable = False
    floats = ()
    graph = TwoInputHooks()
    inputs_doc = {
        "lhs": "Integers of 8 bits.",
        "rhs": "Integers of 8 bits, of the shape of lhs.",
        "lhs_min": "The least value of lhs, (1,).",
        "lhs_max": "The largest value of lhs, (1,).",
        "rhs_min": "The least value of rhs, (1,).",
        "rhs_max": "The largest value of rhs, (1,).",
    }
    product = enable_float_output = False
    unsigned = True  # whether two uint8 arrays give a uint8 array

    min_calib_range = Float(None, doc="The least value of the output, which then has 8 bits.")
    max_calib_range = Float(None, doc="The largest value of the output.")

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        has_calib_range(self)

    @property
    def forward(self):  # the kernel of the operator
        return Kernel("quantized_combine", _INPUT_NAMES, tuple(self.list_outputs()), whole=True)

    def list_outputs(self):
        return list(OUTPUTS[:1] if self.enable_float_output else OUTPUTS)

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(*in_shapes[:2], out_shapes[0])
        ends = [unify_shapes(name, s, ONE) for name, s in zip(OUTPUTS[1:], out_shapes[1:])]
        return [shape, shape, *range_input_shapes(self, in_shapes, 2)], [shape, *ends], []

    def infer_type(self, in_types, out_types):
        for name, dtype in zip(_INPUT_NAMES, in_types[:2]):
            require_byte_dtype(self, dtype, name)
        left, right = in_types[:2]
        if self.enable_float_output:
            out = "float32"
        elif has_calib_range(self):
            out = "uint8" if self.unsigned and left == right == "uint8" else "int8"
        else:
            out = "int32"
        outs = [out, "float32", "float32"][: len(self.list_outputs())]
        return [left, right, *["float32"] * 4], outs, []

    def kernel_params(self, in_shapes):
        calibrated = has_calib_range(self)
        return {
            "product": self.product,
            "calibrated": calibrated,
            "low": self.min_calib_range if calibrated else 0.0,
            "high": self.max_calib_range if calibrated else 0.0,
        }


class QuantizedElemwiseAddProperty(_TwoArrayProperty, operator="_contrib_quantized_elemwise_add"):
    """The sum of two quantized arrays.

    With a range for it integers of 8 bits, uint8 where both arrays are; else integers of 32 bits,
    whose limits stand for the sum of the larger ends of both ranges.
    """

    example = """
    >>> q, low, high = mx.nd.contrib.quantize_v2(mx.nd.array([1, 2]))
    >>> mx.nd.contrib.quantized_elemwise_add(
    ...     q, q, low, high, low, high, min_calib_range=-4, max_calib_range=4
    ... )[0]
    [ 64 127]
    <NDArray 2 @cpu(0)>
    """


class QuantizedElemwiseMulProperty(_TwoArrayProperty, operator="_contrib_quantized_elemwise_mul"):
    """The product of two quantized arrays.

    With a range for it int8; floats, and no range, with `enable_float_output`; else the products
    themselves, integers of 32 bits.
    """

    enable_float_output = Bool(False, doc="Whether the output is of floats.")
    product, unsigned = True, False
    example = """
    >>> q, low, high = mx.nd.contrib.quantize_v2(mx.nd.array([1, 2]))
    >>> mx.nd.contrib.quantized_elemwise_mul(q, q, low, high, low, high)[0]
    [ 4096 16129]
    <NDArray 2 @cpu(0)>
    """
