"""What the channels-last forms of Convolution and Deconvolution share."""

from . import select


class ChannelsLast:
    """A property for channels-last data; `weight_shape` is the shape of a weight that the pack pass
    has packed."""

    weight_shape = None

    def infer_shape(self, in_shapes, out_shapes):
        if self.weight_shape is not None:
            in_shapes = [in_shapes[0], self.weight_shape, *in_shapes[2:]]
        return super().infer_shape(in_shapes, out_shapes)

    def desc(self, in_shapes, in_types):
        packed = self.weight_shape is not None
        return super().desc(in_shapes, in_types, channels_last=True, packed=packed)


class ConvHooks:
    """Hooks of every convolution and deconvolution."""

    def algorithms(self, prop, in_shapes, in_types):
        return select.choices(prop.desc(in_shapes, in_types))


class ChannelsLastHooks(ConvHooks):
    """Hooks of a ChannelsLast."""

    def weight_shape(self, prop, in_shapes):
        return prop.weight_shape or in_shapes[1]

    def prepack(self, prop, in_shapes, in_types, replaces):
        if prop.weight_shape is not None:
            return None
        pack = select.prepack(prop.desc(in_shapes, in_types), prop, replaces)
        return pack and (pack, prop.changed(weight_shape=in_shapes[1]), pack.size)


def channels_last(form, prop, in_shapes, in_types):
    """`GraphHooks.channels_last` of `prop`, whose class for such data is `form`."""
    if len(set(in_types)) > 1 or not select.takes_channels_last(prop.desc(in_shapes, in_types)):
        return None
    return form(**prop.params()), [0]
