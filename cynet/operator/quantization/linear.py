"""_quantize_linear, _dequantize_linear: floats to integers of 8 bits and back, as ONNX defines it:
scale and zero point are parameters."""

from ...base.errors import ArgumentError
from ..elementwise_loop import Loop
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Enum, Float, Int
from ..property import merge_shapes
from .conversions import AnyOrderHooks
from .ranges import BYTE_LIMITS, NanCheck, require_byte_dtype

_SCALE_FIELD = Float(doc="What a step counts for.", low=1e-38)
_ZERO_FIELD = Int(0, doc="The integer that stands for 0.", low=-128, high=255)


class LinearHooks(AnyOrderHooks):  # graph hooks: one loop, bytes <-> floats
    """Graph hooks: a plan runs the operator as one loop that converts bytes to floats, or back."""

    def forward_loops(self, prop, in_data, out_data):
        family = "bytes_of_floats" if prop.to_bytes else "floats_of_bytes"
        dtype = (out_data if prop.to_bytes else in_data)[0].dtype
        reads = in_data[0], prop.scale, float(prop.zero_point)
        return [Loop(family, dtype, reads, out_data[0])]

    def is_memory_bound(self, prop, in_shapes):
        return True


class _LinearProperty(NanCheck, KernelProperty):  # base: one scale, one zero point
    differentiable = False
    floats = ()
    graph = LinearHooks()

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(in_shapes[0], out_shapes[0])
        return [shape], [shape], []

    def kernel_params(self, in_shapes):
        return {"scale": self.scale, "zero_point": self.zero_point}

    def check_zero_point(self, dtype):
        """Raise ArgumentError unless the zero is an integer of `dtype`."""
        if dtype in BYTE_LIMITS:
            low, high = BYTE_LIMITS[dtype]
            if not low <= self.zero_point <= high:
                raise ArgumentError(
                    f"{self._operator_label()}: zero_point {self.zero_point} is no {dtype},"
                    f" expected {low} to {high}"
                )


class QuantizeLinearProperty(_LinearProperty, operator="_quantize_linear"):
    """Floats to integers of 8 bits: ``round(data / scale) + zero_point``, rounded to even, clipped
    to their limits. NaN is refused."""

    scale, zero_point = _SCALE_FIELD, _ZERO_FIELD
    out_type = Enum(("int8", "uint8"), "uint8", doc="Type of the output.")
    inputs_doc = {"data": "Floats, any shape."}
    to_bytes = True
    forward = Kernel("quantize_linear", whole=True)
    example = """
    >>> mx.nd._internal._quantize_linear(mx.nd.array([-1, 0, 0.5]), scale=0.25, zero_point=7)
    [3 7 9]
    <NDArray 3 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.check_zero_point(self.out_type)

    def infer_type(self, in_types, out_types):
        require_byte_dtype(self, in_types[0], allowed=("float32",))
        return ["float32"], [self.out_type], []


class DequantizeLinearProperty(_LinearProperty, operator="_dequantize_linear"):
    """Integers of 8 bits as floats: ``(data - zero_point) * scale``."""

    scale, zero_point = _SCALE_FIELD, _ZERO_FIELD
    inputs_doc = {"data": "Integers of 8 bits, any shape."}
    graph = LinearHooks(sooner_computed=True)
    to_bytes = False
    forward = Kernel("dequantize_linear")
    example = """
    >>> q = mx.nd.array([3, 7, 9], dtype="uint8")
    >>> mx.nd._internal._dequantize_linear(q, scale=0.25, zero_point=7)
    [-1.   0.   0.5]
    <NDArray 3 @cpu(0)>
    """

    def infer_type(self, in_types, out_types):
        require_byte_dtype(self, in_types[0])
        self.check_zero_point(in_types[0])
        return [in_types[0]], ["float32"], []
