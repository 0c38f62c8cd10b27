"""Channels-last forms of Convolution and Deconvolution: their common part and their layouts.

Data of a layout such as NHWC are the same bytes as (N, C, *size) in channels-last order.
"""

from ..layout_adapter import LayoutAdapter, reordering_operator
from ..spatial_window import is_channels_last
from . import select

# oneDNN creates its primitives, and reorders the weight, in every call: below this many outputs of
# a filter, or multiplications in all, copies of data to row-major order are faster.
FEW_PIXELS, FEW_PRODUCTS = 128, 1 << 24  # below them row-major copies are faster
MAX_CACHED_DESCS = 16  # most descriptions that a property caches


def _cached_desc(prop, in_shapes, in_types):
    """``prop.desc``, cached for several passes that read it for steps with the same property."""
    known = prop.__dict__.setdefault("_desc", {})
    key = *in_shapes, *in_types
    desc = known.get(key)
    if desc is None:
        if len(known) >= MAX_CACHED_DESCS:
            known.clear()
        desc = known[key] = prop.desc(in_shapes, in_types)
    return desc


class ChannelsLast:  # mixin for channels-last data
    """Mixin for channels-last data, by order or by layout; its weight is (F, C, *kernel) in
    row-major order. `weight_shape` is the shape of a weight that the pack pass has packed."""

    weight_layout = None
    weight_shape = None

    def infer_shape(self, in_shapes, out_shapes):
        if self.weight_shape is not None:
            in_shapes = [in_shapes[0], self.weight_shape, *in_shapes[2:]]
        return super().infer_shape(in_shapes, out_shapes)

    def desc(self, in_shapes, in_types):
        packed = self.weight_shape is not None
        return super().desc(in_shapes, in_types, channels_last=True, packed=packed)


class ConvHooks:  # graph hooks of (de)convolutions
    """Graph hooks that all convolutions and deconvolutions share."""

    def algorithms(self, prop, in_shapes, in_types):
        return select.choices_by_pass(_cached_desc(prop, in_shapes, in_types))

    def takes_bfloat16(self, prop, in_shapes, in_types):
        return set(in_types) == {"bfloat16"} and (
            prop.desc(in_shapes, in_types).dtype == "bfloat16"
        )


class ChannelsLastHooks(ConvHooks):
    """Hooks of a ChannelsLast."""

    def weight_shape(self, prop, in_shapes):
        return prop.weight_shape or in_shapes[1]

    def prepack(self, prop, in_shapes, in_types, replaces):
        if prop.weight_shape is not None:
            return None
        pack = select.prepack(_cached_desc(prop, in_shapes, in_types), prop, replaces)
        return pack and (pack, prop.changed(weight_shape=in_shapes[1]), pack.size)


def find_channels_last(form, prop, in_shapes, in_types):
    """`GraphHooks.channels_last_form` of `prop`, whose class for such data is `form`."""
    if is_channels_last(prop.layout) or len(set(in_types)) > 1:
        return None
    if not select.takes_channels_last(_cached_desc(prop, in_shapes, in_types)):
        return None
    return _converted_property(form, prop), [0]


def _converted_property(form, prop):
    """`prop` as a property of class `form`, cached, since it is the same for every shape."""
    made = prop.__dict__.get("_in_order")
    if type(made) is not form:
        made = prop.__dict__["_in_order"] = form(**prop.params())
    return made


def weight_first_form(form, prop, in_shapes, in_types):
    """`GraphHooks.weight_first_form` of `prop`, whose class for channels-last data is `form`."""
    if not is_channels_last(prop.layout) or set(in_types) != {"float32"}:
        return None
    return _converted_property(form, prop) if prop.desc(in_shapes, in_types).channels_last else None


def create_conv_operator(prop, in_shapes, in_types):
    """The Operator of a convolution or deconvolution `prop` on a CPU."""
    desc = _cached_desc(prop, in_shapes, in_types)
    if not is_channels_last(prop.weight_layout):
        return select.create_operator(desc, prop)
    if _prefers_row_major(desc):
        desc = desc._replace(channels_last=False)
    operator = select.create_operator(desc, prop)
    data = out = None
    if not desc.channels_last:
        data = reordering_operator(in_shapes[0], in_types[0])
        out = reordering_operator(*prop.output_shapes(in_shapes), in_types[0])
    return LayoutAdapter(operator, data, reordering_operator(in_shapes[1], in_types[1]), out)


def _prefers_row_major(desc):
    """Return whether oneDNN's channels-last convolution does not pay outside a compiled graph."""
    choice = select.ALGORITHMS.choose(desc)
    if choice.name != "onednn" or choice.forced:
        return False
    products = desc.pixels * desc.filters * desc.channels // desc.groups * desc.taps
    return desc.pixels < FEW_PIXELS or products < FEW_PRODUCTS
