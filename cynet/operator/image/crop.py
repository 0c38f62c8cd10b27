"""_image_crop: a part of images (H, W, C) or (N, H, W, C)."""

from ...base.errors import ShapeError
from ..parameters import Int
from ..second_order import Linear
from ..tensor.slicing import SlicedProperty, slice_ranges
from .layout import check_image


class ImageCropProperty(SlicedProperty, operator="_image_crop"):
    """The part of an image, or of each image of a batch, that begins at (x, y)."""

    x = Int(doc="First column.", low=0)
    y = Int(doc="First row.", low=0)
    width = Int(doc="Number of columns.", low=1)
    height = Int(doc="Number of rows.", low=1)
    inputs_doc = {"data": "Image (H, W, C) or batch (N, H, W, C), of any dtype."}
    second_order = Linear()
    example = """
    >>> x = mx.nd.zeros((8, 10, 3), dtype="uint8")
    >>> mx.nd.image.crop(x, x=1, y=2, width=4, height=5).shape
    (5, 4, 3)
    """

    def infer_shape(self, in_shapes, out_shapes):
        check_image(self, in_shapes[0])
        return super().infer_shape(in_shapes, out_shapes)

    def part_range(self, shape):
        row, column = len(shape) - 3, len(shape) - 2
        for axis, first, count, names in (
            (row, self.y, self.height, ("y", "height")),
            (column, self.x, self.width, ("x", "width")),
        ):
            if first + count > shape[axis]:
                raise ShapeError(
                    f"{self.op_name}: {names[0]} {first} and {names[1]} {count} go beyond the "
                    f"{int(shape[axis])} {'rows' if axis == row else 'columns'} of the image"
                )
        begin, end = [0] * len(shape), list(shape)
        begin[row], end[row] = self.y, self.y + self.height
        begin[column], end[column] = self.x, self.x + self.width
        return slice_ranges(shape, tuple(begin), tuple(end), (), self.op_name)
