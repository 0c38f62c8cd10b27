"""Crop: a window of images, with a given size or that of other images."""

from ...base.errors import ArgumentError, ShapeError
from ..graph_hooks import GraphHooks
from ..parameters import Bool, Int, Shape
from ..property import OperatorProperty, infer_type_from_first, is_known, merge_shapes
from ..second_order import Linear
from ..tensor.strided_moves import StridedCopyOperator, StridedPart, subview, whole_view


class CropHooks(GraphHooks):
    """Graph hooks of a crop: it has a channels-last form."""

    def channels_last_form(self, prop, in_shapes, in_types):
        return prop.changed(channels_last=True), [0]


class CropProperty(OperatorProperty, operator="Crop"):
    """The window of images (N, C, H, W) that starts at `offset`, or that lies in their middle.

    With one input it is `h_w` large; with two, as large as images of the second, whose values and
    other axes do not count: its gradient is zero.
    """

    key_var_num_args = "num_args"
    graph = CropHooks(shape_only=(1,), bfloat16_loops=True)

    num_args = Int(1, doc="Number of inputs: 1, or 2 to crop like the second.", low=1, high=2)
    offset = Shape((0, 0), doc="First row and column of the window.", low=0)
    h_w = Shape((0, 0), doc="Height and width of the window where there is one input.", low=0)
    center_crop = Bool(False, doc="Crop the middle; `offset` is ignored.")

    channels_last = False  # the graph's layout pass sets it to True

    inputs_doc = {"arg0": "Images (N, C, H, W).", "arg1": "Images of the size that is taken."}
    second_order = Linear()
    backward_reads = ("out_grad",)
    example = """
    >>> x = mx.nd.arange(9).reshape((1, 1, 3, 3))
    >>> mx.nd.Crop(x, h_w=(2, 2), offset=(1, 0))
    [[[[3. 4.]
       [6. 7.]]]]
    <NDArray 1x1x2x2 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if len(self.offset) != 2:
            raise ArgumentError(
                f"operator {self.op_name}: offset {self.offset} is not (row, column)"
            )
        if self.num_args == 1 and (len(self.h_w) != 2 or not all(self.h_w)):
            raise ArgumentError(
                f"operator {self.op_name}: with one input h_w is the window's height and width, "
                f"each at least 1; got {self.h_w}"
            )

    def list_arguments(self):
        return ["data"] if self.num_args == 1 else ["arg0", "arg1"]

    def infer_shape(self, in_shapes, out_shapes):
        for shape in (*in_shapes, *out_shapes):
            if shape is not None and len(shape) != 4:
                raise ShapeError(f"shape {tuple(shape)} is not (N, C, H, W)")
        data, size = in_shapes[0], self.h_w if self.num_args == 1 else (0, 0)
        if self.num_args == 2 and in_shapes[1] is not None:
            size = in_shapes[1][2:]
        out = merge_shapes((*(data or (0, 0))[:2], *size), out_shapes[0])
        if data is None:
            return [(*out[:2], 0, 0), *in_shapes[1:]], [out], []
        data = (*(a or b for a, b in zip(data[:2], out[:2])), *data[2:])
        if is_known(data[2:]) and is_known(out[2:]):
            self.window_start(data, out)
        return [data, *in_shapes[1:]], [out], []

    def window_start(self, data, out):
        """First row and column of the window; ShapeError if it is not inside of the images."""
        if any(a > b for a, b in zip(out[2:], data[2:])):
            raise ShapeError(f"a window {out[2:]} does not fit images {data[2:]}")
        if self.center_crop:
            return tuple((a - b) // 2 for a, b in zip(data[2:], out[2:]))
        if any(i + a > b for i, a, b in zip(self.offset, out[2:], data[2:])):
            raise ShapeError(
                f"a window {out[2:]} at offset {self.offset} does not fit images {data[2:]}"
            )
        return self.offset

    infer_type = infer_type_from_first

    def create_operator(self, ctx, in_shapes, in_types):
        (out,) = self.output_shapes(in_shapes)
        first, data = (0, 0, *self.window_start(in_shapes[0], out)), in_shapes[0]
        if self.channels_last:
            first, data, out = ((s[0], *s[2:], s[1]) for s in (first, data, out))
        source = subview(whole_view(data), first, (1,) * 4, out)
        return StridedCopyOperator(
            in_types[0], [StridedPart(source, whole_view(source.shape))], uncovered=(0,)
        )
