"""_image_resize: images (H, W, C) or (N, H, W, C) in another size, by OpenCV."""

import numpy as np

from ...base.errors import ArgumentError, shown
from ...base.opencv import MAX_SIDE_PIXELS, N_INTERPOLATIONS, resize_image, size_by_short_side
from .._base import Operator
from ..checks.shapes import check_elements, unify_shapes
from ..parameters import Bool, Int, Shape
from ..property import OperatorProperty, OpReq
from .layout import check_image, check_pixel_dtypes


class ResizeProperty(OperatorProperty, operator="_image_resize"):
    """The image, or each of a batch, in another size."""

    differentiable = False

    size = Shape((), doc="(width, height), or one number for both.", low=1)
    keep_ratio = Bool(False, doc="With one number: that is the shorter side.")
    interp = Int(
        1,
        doc="0 nearest, 1 bilinear, 2 bicubic, 3 by area, 4 Lanczos.",
        low=0,
        high=N_INTERPOLATIONS - 1,
    )
    inputs_doc = {"data": "Image (H, W, C) or batch (N, H, W, C) of uint8, float32 or float64."}
    example = """
    >>> x = mx.nd.zeros((8, 10, 3), dtype="uint8")
    >>> mx.nd.image.resize(x, size=(4, 6)).shape  # size is width, height
    (6, 4, 3)
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if len(self.size) not in (1, 2) or max(self.size) > MAX_SIDE_PIXELS:
            raise ArgumentError(
                f"operator {self.op_name}: parameter 'size' takes (width, height) or one number, "
                f"of at most {MAX_SIDE_PIXELS}, got {shown(self.size)}"
            )

    def new_size(self, height, width):
        """Return (height, width) of the resized image."""
        if len(self.size) == 1 and self.keep_ratio:
            return size_by_short_side(height, width, self.size[0]) if height and width else (0, 0)
        return self.size[-1], self.size[0]

    def infer_shape(self, in_shapes, out_shapes):
        data = in_shapes[0]
        check_image(self, data)
        if data is None:
            return [None], out_shapes, []
        *images, height, width, channels = data
        out = (*images, *self.new_size(height, width), channels)
        check_elements(out, f"the output of {self.op_name}")
        return [data], [unify_shapes("output", out_shapes[0], out)], []

    def create_operator(self, ctx, in_shapes, in_types):
        check_pixel_dtypes(self, ctx, in_types, ("bool", "float16", "int8", "int32", "int64"))
        height, width = self.new_size(*in_shapes[0][-3:-1])
        return ResizeOperator(width, height, self.interp)


class ResizeOperator(Operator):
    """Resizes one image after the other."""

    def __init__(self, width, height, interpolation):
        self.size, self.interpolation = (width, height), interpolation

    def forward(self, ctx, in_data, req, out_data, aux_states):
        """Call OpenCV, which releases the GIL."""
        if req[0] == OpReq.null:
            return
        data, out = np.asarray(in_data[0]), np.asarray(out_data[0])
        data, out = (x.reshape(-1, *x.shape[-3:]) for x in (data, out))
        for image, target in zip(data, out):
            made = resize_image(image, *self.size, self.interpolation)
            if req[0] == OpReq.add:
                target += made
            else:
                target[...] = made
