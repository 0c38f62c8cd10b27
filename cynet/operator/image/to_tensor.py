"""_image_to_tensor: pixels (H, W, C) or (N, H, W, C) as floats (C, H, W) or (N, C, H, W) / 255."""

from ..checks.shapes import unify_shapes
from ..kernel_property import Kernel
from ..second_order import Linear
from .layout import PixelsProperty, check_image


class ToTensorProperty(PixelsProperty, operator="_image_to_tensor"):
    """Images as float32 with the channels first, divided by 255: from 0 to 1 for uint8."""

    forward = Kernel("image_to_tensor")
    backward = Kernel("image_to_tensor_grad", ("d_output",), ("d_data",))
    second_order = Linear()
    example = """
    >>> x = mx.nd.array([[[0, 51, 255]]], dtype="uint8")
    >>> mx.nd.image.to_tensor(x).reshape((3,))
    [0.  0.2 1. ]
    <NDArray 3 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        data, out = in_shapes[0], out_shapes[0]
        check_image(self, data)
        check_image(self, out, words="(C, H, W) or (N, C, H, W)")
        if data is None and out is not None:
            data = (*out[: len(out) - 3], 0, 0, 0)
        if data is None:
            return [None], [None], []
        n = len(data) - 3
        out = unify_shapes("output", out, (*data[:n], data[n + 2], data[n], data[n + 1]))
        return [(*out[:n], out[n + 1], out[n + 2], out[n])], [out], []

    def infer_type(self, in_types, out_types):
        return in_types, ["float32"], []
