"""Checks of the shapes and dtypes of images."""

from ...base.errors import ArgumentError, ArgumentTypeError, ShapeError
from ..kernel_property import KernelProperty


def check_image(prop, shape, channels=None, words="(H, W, C) or (N, H, W, C)", axis=-1):
    """Raise ShapeError unless `shape`, if it is known, is the shape of an image or a batch.

    prop: OperatorProperty
    shape: tuple or None
    channels (tuple of int, optional): How many there may be.
    words (str): How the axes are called.
    axis (int): That of the channels.
    """
    if shape is None:
        return
    if len(shape) not in (3, 4):
        raise ShapeError(f"{prop.op_name} takes {words}, got shape {tuple(shape)}")
    if channels and shape[axis] and shape[axis] not in channels:
        some = " or ".join(map(str, channels))
        raise ShapeError(
            f"{prop.op_name} takes {words} of {some} channels, got shape {tuple(shape)}"
        )


def check_pixel_dtypes(prop, ctx, in_types, but=("bool",)):
    """Raise unless `ctx` is a CPU and the dtype of the pixels is not in `but`."""
    if ctx.device_type == "gpu":
        raise ArgumentError(f"operator {prop.op_name} has no implementation on {ctx}")
    if in_types[0] in but:
        raise ArgumentTypeError(
            f"operator {prop.op_name}: expected images of a dtype other than {in_types[0]}"
        )


def image_sizes(shape):
    """Return (images, height, width, channels) for the shape of an image or a batch.

    >>> image_sizes((4, 6, 3))
    (1, 4, 6, 3)
    """
    return (1, *shape) if len(shape) == 3 else tuple(shape)


class PixelsProperty(KernelProperty):  # base: images of any dtype but bool
    """Base of operators on images of any dtype but bool."""

    floats = ()
    inputs_doc = {"data": "Image (H, W, C) or batch (N, H, W, C)."}

    def create_operator(self, ctx, in_shapes, in_types):
        check_pixel_dtypes(self, ctx, in_types)
        return super().create_operator(ctx, in_shapes, in_types)
