"""Mirrored images: _image_flip_*, and _image_random_flip_*, which mirror with probability 1/2."""

from ..kernel_property import Kernel
from ..property import merge_shapes
from ..second_order import Linear, Rewrite
from ..tensor.transpose import ReversedProperty
from .layout import PixelsProperty, check_image, image_sizes


class FlipLeftRightProperty(ReversedProperty, operator="_image_flip_left_right"):
    """The image, or each of a batch, mirrored left to right."""

    inputs_doc = PixelsProperty.inputs_doc
    second_order = Linear()
    example = """
    >>> x = mx.nd.arange(6).reshape((1, 2, 3))
    >>> mx.nd.image.flip_left_right(x)
    [[[3. 4. 5.]
      [0. 1. 2.]]]
    <NDArray 1x2x3 @cpu(0)>
    """

    def reversed_axes(self, ndim):
        return (ndim - 2,)

    def infer_shape(self, in_shapes, out_shapes):
        check_image(self, in_shapes[0])
        return super().infer_shape(in_shapes, out_shapes)


class FlipTopBottomProperty(FlipLeftRightProperty, operator="_image_flip_top_bottom"):
    """The image, or each of a batch, mirrored top to bottom."""

    second_order = Linear()
    example = """
    >>> x = mx.nd.arange(6).reshape((2, 3, 1))
    >>> mx.nd.image.flip_top_bottom(x)[:, :, 0]
    [[3. 4. 5.]
     [0. 1. 2.]]
    <NDArray 2x3 @cpu(0)>
    """

    def reversed_axes(self, ndim):
        return (ndim - 3,)


class RandomFlipLeftRightProperty(PixelsProperty, operator="_image_random_flip_left_right"):
    """The image mirrored left to right with probability 1/2, independently for each of a batch."""

    sideways = True
    forward = Kernel("random_mirror", writes=("output", "mirrored"), whole=True, draws=True)
    backward = Kernel("random_mirror_grad", ("d_output", "mirrored"), ("d_data",))
    output_names = ("output", "mirrored")
    example = """
    >>> x = mx.nd.arange(6).reshape((1, 2, 3))
    >>> y = mx.nd.image.random_flip_left_right(x)
    >>> flipped = mx.nd.image.flip_left_right(x)
    >>> bool((y == x).min() or (y == flipped).min())
    True
    """

    def num_visible_outputs(self):
        return 1

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(in_shapes[0], out_shapes[0])
        check_image(self, shape)
        images = None if shape is None else image_sizes(shape)[:1]
        return [shape], [shape, images], []

    def infer_type(self, in_types, out_types):
        kind = in_types[0] or out_types[0]
        return [kind], [kind, "uint8"], []

    def compose_outputs(self, F, inputs, aux, training):
        (data,), mirrored = inputs, aux[0]
        chosen = mirrored.reshape((*mirrored.shape, 1, 1, 1)[-data.ndim :])
        chosen = F.broadcast_to(chosen.astype(data.dtype), shape=data.shape)
        return [F.where(chosen, F.reverse(data, axis=data.ndim - 2 - (not self.sideways)), data)]

    second_order = Rewrite(compose_outputs)


class RandomFlipTopBottomProperty(
    RandomFlipLeftRightProperty, operator="_image_random_flip_top_bottom"
):
    """The image mirrored top to bottom with probability 1/2, independently for each of a batch."""

    sideways = False
    example = """
    >>> x = mx.nd.arange(6).reshape((2, 1, 3))
    >>> y = mx.nd.image.random_flip_top_bottom(x)
    >>> flipped = mx.nd.image.flip_top_bottom(x)
    >>> bool((y == x).min() or (y == flipped).min())
    True
    """
