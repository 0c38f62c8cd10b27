"""quantize, quantize_v2, quantize_asym, requantize, dequantize: conversions between floats,
integers of 32 bits and integers of 8 bits.

An array of int8 with a range (low, high) holds steps of ``r / 127``, one of uint8 steps of
``r / 255``, where ``r = max(|low|, |high|)``; between floats and integers `quantize_v2` and
`dequantize` count 127.5 and 255.5, as MXNet 1.9.1 does. Results are rounded to even.
"""

from ..checks.shapes import unify_shapes
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Enum, Float
from ..property import merge_shapes
from .ranges import (
    BYTES,
    ONE,
    NanCheck,
    has_calib_range,
    quantized_dtype,
    range_input_shapes,
    require_byte_dtype,
)

_RANGE_OF_INPUTS, _GIVEN_RANGE, _RANGE_OF_DATA = range(3)  # where a kernel gets the range from
_OUTPUT_TRIPLE = ["output0", "output1", "output2"]  # an array and the ends of its range


class AnyOrderHooks(GraphHooks):  # graph hooks: elementwise, any memory order
    """Hooks: element i of output 0 depends on element i of input 0 alone, in any memory order."""

    def channels_last_form(self, prop, in_shapes, in_types):
        return prop, [0]


class _ConversionProperty(NanCheck, KernelProperty):  # base: floats <-> integers
    """Base of conversions of an array, with an optional range, to another dtype."""

    differentiable = False
    floats = ()
    graph = AnyOrderHooks()
    output_names = _OUTPUT_TRIPLE

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(in_shapes[0], out_shapes[0])
        ends = [
            unify_shapes(name, s, ONE) for name, s in zip(self.list_outputs()[1:], out_shapes[1:])
        ]
        return [shape, *range_input_shapes(self, in_shapes, 1)], [shape, *ends], []

    def kernel_params(self, in_shapes):
        low, high = getattr(self, "min_calib_range", None), getattr(self, "max_calib_range", None)
        given = low is not None
        found = _GIVEN_RANGE if given else _RANGE_OF_DATA if self.finds_range else _RANGE_OF_INPUTS
        return {
            "range_from": found,
            "low": low if given else 0.0,
            "high": high if given else 0.0,
            "finer": self.finer,
            "given": self.given,
        }


_QUANTIZE_KERNEL = Kernel(  # floats to 8 bits
    "quantize", ("data", "min_range", "max_range"), tuple(_OUTPUT_TRIPLE), whole=True
)
_COPY_KERNEL = Kernel("quantized_copy", ("data",), tuple(_OUTPUT_TRIPLE), whole=True)  # integers
_STEP_LIMITS = {"uint8": (0.0, 255.5), "int8": (-127.5, 127.5)}  # ranges in which a step is 1


class QuantizeProperty(_ConversionProperty, operator="_contrib_quantize"):
    """Floats to integers of 8 bits: ``round(data * 255 / r)``, or 127 for int8, clipped to their
    limits; `r` is the larger of ``|min_range|`` and ``|max_range|``.

    The range of the output is that of the input for uint8, ``(-r, r)`` for int8.
    """

    out_type = Enum(("int8", "uint8"), "uint8", doc="Type of the output.")

    inputs_doc = {
        "data": "Floats, any shape.",
        "min_range": "The least value, (1,).",
        "max_range": "The largest value, (1,).",
    }
    finer, given, finds_range = False, True, False
    forward = _QUANTIZE_KERNEL
    example = """
    >>> x, low, high = mx.nd.array([-1, 0, 0.5]), mx.nd.array([-1]), mx.nd.array([1])
    >>> mx.nd.contrib.quantize(x, low, high, out_type="int8")[0]
    [-127    0   64]
    <NDArray 3 @cpu(0)>
    """

    def infer_type(self, in_types, out_types):
        require_byte_dtype(self, in_types[0], allowed=("float32",))
        return ["float32"] * 3, [self.out_type, "float32", "float32"], []


class QuantizeV2Property(_ConversionProperty, operator="_contrib_quantize_v2"):
    """Floats to integers of 8 bits, with a given range or that of `data`.

    ``round(data * 127.5 / r)`` for int8 and 255.5 for uint8, limited to what these can hold; `r` is
    the larger absolute value of the range's two ends. Data that are integers of 8 bits already stay
    as they are.
    """

    out_type = Enum(
        ("auto", "int8", "uint8"),
        "int8",
        doc="Type of the output; 'auto' is uint8 with a range that is given and not negative.",
    )
    min_calib_range = Float(None, doc="The least value; that of data by default.")
    max_calib_range = Float(None, doc="The largest value; that of data by default.")

    inputs_doc = {"data": "Floats, any shape, or integers of 8 bits."}
    finer, given, finds_range = True, True, True
    forward = _QUANTIZE_KERNEL._replace(reads=("data",))
    example = """
    >>> q, low, high = mx.nd.contrib.quantize_v2(mx.nd.array([-1, 0, 0.5]))
    >>> q, low, high
    (
    [-128    0   64]
    <NDArray 3 @cpu(0)>,
    [-1.]
    <NDArray 1 @cpu(0)>,
    [1.]
    <NDArray 1 @cpu(0)>)
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        has_calib_range(self)

    def infer_type(self, in_types, out_types):
        data = in_types[0] or "float32"
        require_byte_dtype(self, data, allowed=("float32", *BYTES))
        out = data if data in BYTES else quantized_dtype(self)
        return [data], [out, "float32", "float32"], []

    def create_operator(self, ctx, in_shapes, in_types):
        if in_types[0] not in BYTES:
            return super().create_operator(ctx, in_shapes, in_types)
        low, high = self.min_calib_range, self.max_calib_range
        if low is None:
            low, high = _STEP_LIMITS[in_types[0]]
        copied = self.changed(forward=_COPY_KERNEL, min_calib_range=low, max_calib_range=high)
        return super(QuantizeV2Property, copied).create_operator(ctx, in_shapes, in_types)


class QuantizeAsymProperty(_ConversionProperty, operator="_contrib_quantize_asym"):
    """Floats as uint8, 0 for the least value of a range and 255 for the largest.

    ``floor(data * scale + shift + 0.5)``, limited to 0 and 255, where ``scale = 255 / (high -
    low)`` and ``shift = 255 - high * scale``. The range is the given one, or that of `data`; of one
    that is a single value `scale` is 1.
    """

    min_calib_range = Float(None, doc="The least value; that of data by default.")
    max_calib_range = Float(None, doc="The largest value; that of data by default.")

    inputs_doc = {"data": "Floats, any shape."}
    finer, given, finds_range = False, True, True
    forward = Kernel("quantize_asym", ("data",), ("output", "scale", "shift"), whole=True)
    output_names = ("output", "scale", "shift")
    example = """
    >>> q, scale, shift = mx.nd.contrib.quantize_asym(mx.nd.array([-1, 0, 0.5]))
    >>> q, scale, shift
    (
    [  0 170 255]
    <NDArray 3 @cpu(0)>,
    [170.]
    <NDArray 1 @cpu(0)>,
    [170.]
    <NDArray 1 @cpu(0)>)
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        has_calib_range(self)

    def infer_type(self, in_types, out_types):
        require_byte_dtype(self, in_types[0], allowed=("float32",))
        return ["float32"], ["uint8", "float32", "float32"], []


class RequantizeProperty(_ConversionProperty, operator="_contrib_requantize"):
    """Integers of 32 bits to 8 bits, with a given range or that of `data`.

    The limits of int32 stand for the larger of ``|min_range|`` and ``|max_range|``. The output is
    ``round(value * 127 / r)``, or 255 for uint8; its range is ``(-r, r)``, or ``(0, r)``.
    """

    out_type = Enum(
        ("auto", "int8", "uint8"),
        "int8",
        doc="Type of the output; 'auto' is uint8 with a range that is given and not negative.",
    )
    min_calib_range = Float(None, doc="The least value; that of data by default.")
    max_calib_range = Float(None, doc="The largest value; that of data by default.")

    inputs_doc = {
        "data": "Integers of 32 bits, any shape.",
        "min_range": "What the least of them stands for, (1,).",
        "max_range": "What the largest of them stands for, (1,).",
    }
    finer, given, finds_range = False, False, True
    forward = _QUANTIZE_KERNEL
    example = """
    >>> x, low, high = mx.nd.array([1000, 2000], dtype="int32"), mx.nd.array([-1]), mx.nd.array([1])
    >>> mx.nd.contrib.requantize(x, low, high)[0]
    [ 64 127]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        has_calib_range(self)

    def infer_type(self, in_types, out_types):
        require_byte_dtype(self, in_types[0], allowed=("int32",))
        types = [quantized_dtype(self), "float32", "float32"]
        return ["int32", "float32", "float32"], types, []


class DequantizeProperty(_ConversionProperty, operator="_contrib_dequantize"):
    """Integers of 8 bits as floats: ``data * r / 127.5``, or 255.5 for uint8, where `r` is the
    larger of ``|min_range|`` and ``|max_range|``."""

    out_type = Enum(("float32",), "float32", doc="Type of the output.")

    inputs_doc = {
        "data": "Integers of 8 bits, any shape.",
        "min_range": "The least value, (1,).",
        "max_range": "The largest value, (1,).",
    }
    forward = Kernel("dequantize", ("data", "min_range", "max_range"))
    output_names = ("output",)
    example = """
    >>> q, low, high = mx.nd.contrib.quantize_v2(mx.nd.array([-1, 0, 0.5]))
    >>> mx.nd.contrib.dequantize(q, low, high)
    [-1.0039216  0.         0.5019608]
    <NDArray 3 @cpu(0)>
    """

    def infer_type(self, in_types, out_types):
        require_byte_dtype(self, in_types[0])
        return [in_types[0], "float32", "float32"], ["float32"], []

    def kernel_params(self, in_shapes):
        return {}
