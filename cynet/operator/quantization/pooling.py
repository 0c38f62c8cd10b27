"""quantized_pooling: the maximum or the mean of every window of a quantized array."""

from ...base.errors import ArgumentError
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel
from ..nn.pooling import PoolingProperty
from ..nn.spatial_window import channels_first_shape, is_channels_last, to_3d
from ..precision import Precision
from ..property import ResourceRequest
from .int8_form import Int8Form
from .shapes import INPUTS_DOC, OUTPUTS, SameRangeProperty


class QuantizedPoolingHooks(GraphHooks):
    """Graph hooks of quantized pooling: it has a channels-last form."""

    def channels_last_form(self, prop, in_shapes, in_types):
        if is_channels_last(prop.layout) or in_shapes[0] is None:
            return None
        return prop.changed(last=True), [0]


def _int8_is_exact_enough(prop):
    """Return whether int8 pooling is exact enough: maxima lose nothing, means of small windows half
    a step. The mean of a whole image has a far smaller range than its pixels; it would lose more,
    and costs little in float."""
    return prop.pool_type == "max" or (prop.pool_type == "avg" and not prop.global_pool)


class QuantizedPoolingProperty(
    SameRangeProperty, PoolingProperty, operator="_contrib_quantized_pooling"
):
    """Reduce every window over the spatial axes of a quantized array to its maximum or its mean,
    rounded to even. Parameters are those of Pooling; the range does not change."""

    graph = QuantizedPoolingHooks()
    inputs_doc = INPUTS_DOC
    forward = Kernel("quantized_pool", ("data", "min_data", "max_data"), OUTPUTS, whole=True)
    backward = ()
    amp = Precision()
    int8_form = Int8Form(
        PoolingProperty,
        ("kernel", "pool_type", "global_pool", "pooling_convention", "stride", "pad", "layout")
        + ("count_include_pad",),
        fits=_int8_is_exact_enough,
    )
    example = """
    >>> q, low, high = mx.nd.contrib.quantize_v2(mx.nd.arange(4).reshape((1, 1, 2, 2)))
    >>> mx.nd.contrib.quantized_pooling(q, low, high, kernel=(2, 2))[0].reshape((1,))
    [127]
    <NDArray 1 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if self.pool_type not in ("max", "avg"):
            raise ArgumentError(
                f"operator {self.op_name}: pool_type '{self.pool_type}' is not available for "
                "quantized arrays; use 'max' or 'avg'"
            )

    def infer_shape(self, in_shapes, out_shapes):
        (data,), (out,), _ = PoolingProperty.infer_shape(self, in_shapes[:1], out_shapes[:1])
        return self.shapes_with_ranges(in_shapes, out_shapes, data, out)

    def kernel_params(self, in_shapes):
        data = channels_first_shape(in_shapes[0], self.layout)
        axes = [self.geometry(axis, size) for axis, size in enumerate(data[2:])]
        axes = zip(*to_3d(axes, (1, 1, 1, 0, 0)))
        sizes = dict(zip(("out_size", "kernel", "stride", "pad", "pad_after"), axes))
        return sizes | {
            "batch": data[0],
            "channels": data[1],
            "in_size": to_3d(data[2:], 1),
            "mean": self.pool_type == "avg",
            "count_pad": self.count_include_pad is not False,
            "last": self.last or is_channels_last(self.layout),
        }

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def create_operator(self, ctx, in_shapes, in_types):
        return SameRangeProperty.create_operator(self, ctx, in_shapes, in_types)
