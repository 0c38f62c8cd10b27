"""_image_normalize: (data - mean) / std of each channel of (C, H, W) or (N, C, H, W)."""

from ...base.errors import ArgumentError, shown
from ..kernel_property import Kernel
from ..parameters import FloatTuple
from ..property import merge_shapes
from ..second_order import Linear
from .layout import PixelsProperty, check_image


class NormalizeProperty(PixelsProperty, operator="_image_normalize"):
    """``(data - mean) / std`` of each channel."""

    mean = FloatTuple((0.0,), doc="One number, or one for each channel.")
    std = FloatTuple((1.0,), doc="One number, or one for each channel.")
    inputs_doc = {"data": "Image (C, H, W) or batch (N, C, H, W) of 1 or 3 channels."}
    forward = Kernel("image_normalize", in_place=(("data", "output"),))
    backward = Kernel(
        "image_normalize_grad", ("d_output",), ("d_data",), in_place=(("d_output", "d_data"),)
    )
    second_order = Linear(affine=True)
    example = """
    >>> x = mx.nd.ones((3, 1, 2)) / 2
    >>> mx.nd.image.normalize(x, mean=(0.5, 0.4, 0.3), std=(1, 0.1, 0.1))[:, 0]
    [[0.         0.        ]
     [0.99999994 0.99999994]
     [1.9999999  1.9999999 ]]
    <NDArray 3x2 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(in_shapes[0], out_shapes[0])
        if shape is not None:
            axis = len(shape) - 3
            check_image(self, shape, (1, 3), "(C, H, W) or (N, C, H, W)", axis)
            for name, values in (("mean", self.mean), ("std", self.std)):
                if shape[axis] and len(values) not in (1, shape[axis]):
                    raise ArgumentError(
                        f"operator {self.op_name}: parameter '{name}' takes one number or one for "
                        f"each of {int(shape[axis])} channels, got {shown(values)}"
                    )
        return [shape], [shape], []
