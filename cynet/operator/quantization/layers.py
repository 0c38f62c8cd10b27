"""Convolutions and fully connected layers of quantized arrays.

`_contrib_quantized_conv` and `_contrib_quantized_fully_connected` are MXNet's: sums of 32 bits, and
the range that their limits stand for. `_int8_convolution` and `_int8_fully_connected` are whole
layers: a step of the weight for each filter, bias, a term that is added, bounds, and 8 bits again.
"""

from math import inf, prod

from ...base.errors import ArgumentError
from ...kernels.conv.onednn_int8 import make_int8_convolution, uses_onednn_int8
from ..checks.shapes import unify_shapes
from ..graph_hooks import LayerHooks, Traits
from ..nn.convolution.convolution import ConvolutionProperty
from ..nn.convolution.onednn import ReorderWeight
from ..nn.convolution.select import PackWeight
from ..nn.fully_connected.fully_connected import FullyConnectedProperty
from ..nn.spatial_window import channels_first_shape, is_channels_last, to_3d
from ..parameters import Bool, Enum, Float
from ..precision import Precision
from ..property import ResourceRequest
from .int8_form import Int8Form
from .int8_layer import Int8Layer, Int8Pack, OnednnInt8Layer, packed_bytes
from .ranges import ONE, has_calib_range, quantized_dtype, require_byte_dtype
from .shapes import OUTPUTS


class Int8LayerHooks(LayerHooks):
    """Graph hooks: the weight is packed once, and there is a channels-last form."""

    traits = Traits()

    def weight_shape(self, prop, in_shapes):
        return prop.packed_shape or in_shapes[1]

    def prepack(self, prop, in_shapes, in_types, replaces):
        if prop.packed_shape is not None:
            return None
        geometry = prop.geometry(in_shapes)
        primitives = prop.onednn_primitives(geometry, in_types)
        # inputs of the packed bytes come last
        if primitives is not None:
            _, reorder, size = primitives
            kinds = in_types[0], prop.output_bounds(), prop.infer_type(in_types, [None] * 3)
            make, packs_as = (lambda: ReorderWeight(reorder)), ("int8", repr((geometry, kinds)))
        else:
            sizes = [geometry[name] for name in ("channels", "filters", "groups", "kernel")]
            size = packed_bytes(geometry)
            make, packs_as = (lambda: Int8Pack(geometry)), ("int8", *sizes)
        pack = PackWeight(size, make, *packs_as)
        return pack, prop.changed(packed_shape=in_shapes[1]), size

    def channels_last_form(self, prop, in_shapes, in_types):
        if len(in_shapes[0]) < 3 or not prop.has_windows or is_channels_last(prop.layout):
            return None
        return prop.changed(last=True, graph=_LAST_LAYER_HOOKS), prop.inputs_in_layout()


class LastInt8LayerHooks(Int8LayerHooks):  # of the channels-last form
    """Graph hooks of a layer that is in the channels-last form already."""

    traits = Traits(prefers_channels_last=True)


_LAYER_HOOKS, _LAST_LAYER_HOOKS = Int8LayerHooks(), LastInt8LayerHooks()  # row-major, channels-last


class _Int8Layer:  # mixin of all 8-bit layers
    """Base of the four int8 layers; it comes before the property whose parameters they have.

    `packed_shape` is the shape of a weight that the pack pass has packed.
    """

    differentiable = False
    backward_reads = ()
    second_order, amp, sparse = None, Precision(), None
    activation = None
    packed_shape = None
    last = False
    has_windows = True
    weight_layout = None  # None: (F, C, *kernel), for any layout of data
    graph = _LAYER_HOOKS
    output_names = OUTPUTS

    def inputs_in_layout(self):
        """Return the indices of the inputs that are channels-last in the channels-last form."""
        return [0]

    def float_layer_shapes(self, in_shapes, out_shapes, n):
        """Return the shapes of the first `n` inputs and the output, inferred by the float layer."""
        if self.packed_shape is not None:
            in_shapes = [in_shapes[0], self.packed_shape, *in_shapes[2:]]
        data, (out,), _ = super().infer_shape(list(in_shapes[:n]), out_shapes[:1])
        return data, out

    def geometry(self, in_shapes):
        """Return the geometry of the layer as a convolution, for Int8Layer."""
        packed = self.packed_shape or in_shapes[1]
        (out, *_) = self.output_shapes([in_shapes[0], packed, *in_shapes[2:]])
        if not self.has_windows:
            units = prod(in_shapes[0][1:]) if self.flatten else in_shapes[0][-1]
            ones = (1, 1, 1)
            return {
                "batch": prod(out[:-1]),
                "channels": units,
                "filters": self.num_hidden,
                "groups": 1,
                "in_size": ones,
                "out_size": ones,
                "kernel": ones,
                "stride": ones,
                "dilate": ones,
                "pad": (0, 0, 0),
            }
        stride, dilate, pad = self.window
        data, out = (channels_first_shape(shape, self.layout) for shape in (in_shapes[0], out))
        return {
            "batch": data[0],
            "channels": data[1],
            "filters": self.num_filter,
            "groups": self.num_group,
            "in_size": to_3d(data[2:], 1),
            "out_size": to_3d(out[2:], 1),
            "kernel": to_3d(self.kernel, 1),
            "stride": to_3d(stride, 1),
            "dilate": to_3d(dilate, 1),
            "pad": to_3d(pad, 0),
        }

    def onednn_primitives(self, geometry, in_types):
        """Return oneDNN's primitives, or None for the loops of int8_conv.h."""
        return None

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def backward_resource(self, in_shapes):
        return []

    def create_operator(self, ctx, in_shapes, in_types):
        if ctx.device_type == "gpu":
            raise ArgumentError(f"operator {self.op_name} has no implementation on {ctx}")
        geometry = self.geometry(in_shapes)
        settings = {
            "geometry": geometry,
            "where": self._operator_label(),
            "input_index": {name: i for i, name in enumerate(self.list_arguments())},
            "last": self.last or not self.has_windows or is_channels_last(self.layout),
            "packed": self.packed_shape is not None,
            **self.output_bounds(),
        }
        primitives = self.onednn_primitives(geometry, in_types)
        if primitives is None:
            return Int8Layer(**settings)
        return OnednnInt8Layer(primitives, **settings)


class _RawInt8Layer(_Int8Layer):  # output: sums of 32 bits
    """Sums of 32 bits."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if is_channels_last(self.layout):
            raise ArgumentError(
                f"operator {self.op_name}: layout '{self.layout}' is not available; channels are "
                "the second axis of its arrays"
            )

    def list_arguments(self):
        names = super().list_arguments()
        return [*names, *(f"{end}_{name}" for name in names for end in ("min", "max"))]

    def infer_shape(self, in_shapes, out_shapes):
        n = 2 if self.no_bias else 3
        data, out = self.float_layer_shapes(in_shapes, out_shapes, n)
        names = self.list_arguments()[n:]
        one = [unify_shapes(name, s, ONE) for name, s in zip(names, in_shapes[n:])]
        ends = [unify_shapes(name, s, ONE) for name, s in zip(OUTPUTS[1:], out_shapes[1:])]
        return [*data, *one], [out, *ends], []

    def infer_type(self, in_types, out_types):
        n = 2 if self.no_bias else 3
        require_byte_dtype(self, in_types[0])
        for name, dtype in zip(("weight", "bias"), in_types[1:n]):
            require_byte_dtype(self, dtype, name, ("int8",))
        ins = [in_types[0], *["int8"] * (n - 1), *["float32"] * (2 * n)]
        return ins, ["int32", "float32", "float32"], []

    def output_bounds(self):
        return {}


class QuantizedConvProperty(_RawInt8Layer, ConvolutionProperty, operator="_contrib_quantized_conv"):
    """Convolution of a quantized array by a quantized weight: sums of 32 bits, exact.

    The range of the output is what the limits of int32 stand for. The bias is brought to the steps
    of the sums and rounded.
    """

    inputs_doc = {
        "data": "Integers of 8 bits (N, C, *size).",
        "weight": "Filters (num_filter, C / num_group, *kernel), int8.",
        "bias": "Vector (num_filter,), int8.",
        "min_data": "The least value of data, (1,).",
        "max_data": "The largest value of data, (1,).",
        "min_weight": "The least value of weight, (1,).",
        "max_weight": "The largest value of weight, (1,).",
        "min_bias": "The least value of bias, (1,).",
        "max_bias": "The largest value of bias, (1,).",
    }
    example = """
    >>> q, low, high = mx.nd.contrib.quantize_v2(mx.nd.ones((1, 1, 2, 2)))
    >>> sums, low, high = mx.nd.contrib.quantized_conv(
    ...     q, q, low, high, low, high, kernel=(2, 2), num_filter=1, no_bias=True
    ... )
    >>> sums.reshape((1,))  # 4 * 127 * 127
    [64516]
    <NDArray 1 @cpu(0)>
    """


class QuantizedFullyConnectedProperty(
    _RawInt8Layer, FullyConnectedProperty, operator="_contrib_quantized_fully_connected"
):
    """Linear map of a quantized array by a quantized weight: sums of 32 bits, exact.

    The range of the output is what the limits of int32 stand for. The bias is brought to the steps
    of the sums and rounded.
    """

    has_windows, layout = False, None
    inputs_doc = QuantizedConvProperty.inputs_doc | {
        "data": "Integers of 8 bits, at least 1-d.",
        "weight": "Matrix (num_hidden, input size), int8.",
        "bias": "Vector (num_hidden,), int8.",
    }
    example = """
    >>> q, low, high = mx.nd.contrib.quantize_v2(mx.nd.ones((1, 4)))
    >>> mx.nd.contrib.quantized_fully_connected(
    ...     q, q, low, high, low, high, num_hidden=1, no_bias=True
    ... )[0]
    [[64516]]
    <NDArray 1x1 @cpu(0)>
    """


_FUSED_DOC = {  # what the inputs of the fused layers are
    "scale": "What a step of the weight counts for, one number a filter.",
    "bias": "What is added to each filter's sums, float32.",
    "min_data": "The least value of data, (1,).",
    "max_data": "The largest value of data, (1,).",
    "residual": "What is added, of the output's shape, 8 bits or float32 (`with_residual`).",
    "min_residual": "The least value of residual, (1,).",
    "max_residual": "The largest value of residual, (1,).",
}


class _Fused(_Int8Layer):  # base: 8-bit layers with a fused epilogue
    """Base of layers with a fused epilogue."""

    takes_float32 = True
    no_bias = False

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if has_calib_range(self) != (self.out_type != "float32"):
            raise ArgumentError(
                f"operator {self.op_name}: out_type '{self.out_type}' with min_calib_range "
                f"{self.min_calib_range}: integers of 8 bits need a range, float32 has none"
            )

    def list_arguments(self):
        names = ["data", "weight", "scale", "bias", "min_data", "max_data"]
        more = ["residual", "min_residual", "max_residual"]
        return names + more if self.with_residual else names

    def list_outputs(self):
        return list(OUTPUTS[:1] if self.out_type == "float32" else OUTPUTS)

    def inputs_in_layout(self):
        return [0, 6] if self.with_residual else [0]

    def infer_shape(self, in_shapes, out_shapes):
        layer = [*in_shapes[:2], in_shapes[3]]
        residual = in_shapes[6] if self.with_residual else None
        if out_shapes[0] is None:
            out_shapes = [residual, *out_shapes[1:]]
        (data, weight, bias), out = self.float_layer_shapes(layer, out_shapes, 3)
        scale = unify_shapes("scale", in_shapes[2], bias)
        names, shapes = self.list_arguments(), list(in_shapes)
        shapes[:4] = data, weight, scale, bias
        for i in range(4, len(names)):
            if names[i] == "residual":
                shapes[i] = out if out is None else unify_shapes(names[i], shapes[i], out)
            else:
                shapes[i] = unify_shapes(names[i], shapes[i], ONE)
        ends = [unify_shapes(name, s, ONE) for name, s in zip(OUTPUTS[1:], out_shapes[1:])]
        return shapes, [out, *ends], []

    def infer_type(self, in_types, out_types):
        require_byte_dtype(self, in_types[0])
        require_byte_dtype(self, in_types[1], "weight", ("int8",))
        ins = [in_types[0], "int8", *["float32"] * 4]
        if self.with_residual:
            require_byte_dtype(self, in_types[6], "residual", ("float32", "uint8", "int8"))
            ins += [in_types[6], "float32", "float32"]
        outs = [quantized_dtype(self), "float32", "float32"][: len(self.list_outputs())]
        return ins, outs, []

    def onednn_primitives(self, geometry, in_types):
        bounds = self.output_bounds()
        low, high = bounds["low"], bounds["high"]
        residual = in_types[6] if self.with_residual else ""
        # the layer adds integers without scaling, in steps that the bounds would have to follow
        bounded = residual in ("int8", "uint8") and (low not in (0, -inf) or high != inf)
        if bounded or 0 in (geometry["batch"], geometry["channels"], *geometry["out_size"]):
            return None
        if not uses_onednn_int8():
            return None
        _, (out_type, *_), _ = self.infer_type(in_types, [None] * 3)
        return make_int8_convolution(geometry, in_types[0], out_type, residual, low, high)

    def output_bounds(self):
        low, high = self.min_calib_range, self.max_calib_range
        return {
            "low": -inf if self.a_min is None else self.a_min,
            "high": inf if self.a_max is None else self.a_max,
            "range_low": 0.0 if low is None else low,
            "range_high": 0.0 if high is None else high,
        }


_OUT_TYPE = Enum(  # field of the fused layers
    ("float32", "auto", "int8", "uint8"),
    "float32",
    doc="Type of the output; 'auto' is uint8 with a range that is not negative, else int8.",
)
_RESIDUAL_FIELD = Bool(False, doc="Whether `residual` is added before the bounds.")
_LOW_FIELD = Float(None, doc="The least value of the output: 0 for relu.")
_HIGH_FIELD = Float(None, doc="The largest value of the output: 6 for relu6.")
_MIN_FIELD = Float(None, doc="The least value that integers of 8 bits stand for.")
_MAX_FIELD = Float(None, doc="The largest value that integers of 8 bits stand for.")


class Int8ConvolutionProperty(_Fused, ConvolutionProperty, operator="_int8_convolution"):
    """A layer of a quantized network: convolution, bias, a term that is added, bounds.

    ``out = clip(sum * data_step * scale[f] + bias[f] + residual, a_min, a_max)`` of exact sums of
    32 bits, as float32 or rounded to steps of the range given. A step of data is its range's larger
    end divided by 127.5, or by 255.5 for uint8, as in `quantize_v2`.
    """

    out_type, with_residual, a_min, a_max = _OUT_TYPE, _RESIDUAL_FIELD, _LOW_FIELD, _HIGH_FIELD
    min_calib_range, max_calib_range = _MIN_FIELD, _MAX_FIELD
    workspace = cudnn_tune = None
    no_bias = cudnn_off = False
    inputs_doc = {
        "data": "Integers of 8 bits (N, C, *size), or in the order of `layout`.",
        "weight": "Filters (num_filter, C / num_group, *kernel), int8, in any layout.",
    } | _FUSED_DOC
    int8_form = Int8Form(
        ConvolutionProperty,
        ("kernel", "stride", "dilate", "pad", "num_filter", "num_group", "layout"),
        is_layer=True,
    )
    example = """
    >>> q, low, high = mx.nd.contrib.quantize_v2(mx.nd.ones((1, 1, 2, 2)))
    >>> weight = mx.nd.ones((1, 1, 2, 2), dtype="int8")
    >>> step, bias = mx.nd.array([0.5]), mx.nd.array([-5])
    >>> mx.nd._internal._int8_convolution(
    ...     q, weight, step, bias, low, high, kernel=(2, 2), num_filter=1, a_min=0
    ... ).reshape((1,))
    [0.]
    <NDArray 1 @cpu(0)>
    """


class Int8FullyConnectedProperty(_Fused, FullyConnectedProperty, operator="_int8_fully_connected"):
    """A layer of a quantized network: linear map, bias, a term that is added, bounds.

    ``out = clip(sum * data_step * scale[f] + bias[f] + residual, a_min, a_max)`` of exact sums of
    32 bits, as float32 or rounded to steps of the range given. A step of data is its range's larger
    end divided by 127.5, or by 255.5 for uint8, as in `quantize_v2`.
    """

    has_windows, layout = False, None
    out_type, with_residual, a_min, a_max = _OUT_TYPE, _RESIDUAL_FIELD, _LOW_FIELD, _HIGH_FIELD
    min_calib_range, max_calib_range = _MIN_FIELD, _MAX_FIELD
    no_bias = False
    inputs_doc = {
        "data": "Integers of 8 bits, at least 1-d.",
        "weight": "Matrix (num_hidden, input size), int8.",
    } | _FUSED_DOC
    int8_form = Int8Form(FullyConnectedProperty, ("num_hidden", "flatten"), is_layer=True)
    example = """
    >>> q, low, high = mx.nd.contrib.quantize_v2(mx.nd.array([[1, 2, 4]]))
    >>> weight, step, bias = mx.nd.ones((1, 3), dtype="int8"), mx.nd.array([0.5]), mx.nd.array([1])
    >>> mx.nd._internal._int8_fully_connected(q, weight, step, bias, low, high, num_hidden=1)
    [[4.4980392]]
    <NDArray 1x1 @cpu(0)>
    """
