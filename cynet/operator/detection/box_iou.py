"""_contrib_box_iou: overlaps of all pairs of boxes.

lhs (..., 4) and rhs (..., 4) give out (leading axes of lhs, leading axes of rhs): intersection over
union, 0 where a box has no area.
"""

from ...base.errors import ShapeError
from ..checks.shapes import check_elements
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Enum
from ..precision import WIDEST, Precision
from ..property import is_known, merge_shapes

FORMATS = ("center", "corner")  # middle and size; left, top, right, bottom


class BoxIouProperty(KernelProperty, operator="_contrib_box_iou"):
    """Overlap (intersection over union) of every box of `lhs` with every box of `rhs`."""

    differentiable = False
    graph = GraphHooks(float32_beside_half=())

    format = Enum(
        FORMATS,
        "corner",
        doc="corner: left, top, right, bottom; center: middle x and y, width, height.",
    )
    inputs_doc = {"lhs": "Boxes (..., 4).", "rhs": "Boxes (..., 4)."}
    forward = Kernel("box_iou", ("lhs", "rhs"))
    amp = Precision(WIDEST, WIDEST)
    example = """
    >>> x = mx.nd.array([[0, 0, 2, 2]])
    >>> mx.nd.contrib.box_iou(x, mx.nd.array([[1, 1, 3, 3], [0, 0, 2, 1]]))
    [[0.14285715 0.5       ]]
    <NDArray 1x2 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        for name, shape in zip(self.list_arguments(), in_shapes):
            if shape is None:
                continue
            if len(shape) < 2 or shape[len(shape) - 1] not in (0, 4):
                raise ShapeError(f"{name} has shape {tuple(shape)}, expected (..., 4)")
        left, right = in_shapes
        out = out_shapes[0]
        if left is not None and right is not None:
            out = merge_shapes((*left[: len(left) - 1], *right[: len(right) - 1]), out)
            if is_known(out):
                check_elements(out, "the output of _contrib_box_iou")
        return [left, right], [out], []

    def kernel_params(self, in_shapes):
        return {"center": self.format == "center"}
