"""_contrib_box_nms: non-maximum suppression of rows of boxes.

data (..., n, width) and out have one shape. Each of the leading axes' images is on its own: rows
with a score over valid_thresh, the best first; a row goes where it overlaps a better one that stays
by more than overlap_thresh. Rows that are left free hold -1.
"""

import numpy as np

from ...base.errors import ArgumentError, ShapeError
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, Enum, Float, Int
from ..precision import WIDEST, Precision
from ..property import merge_shapes
from ..second_order import Rewrite
from .box_iou import FORMATS


class BoxNmsProperty(
    KernelProperty, operator="_contrib_box_nms", aliases=("_contrib_box_non_maximum_suppression",)
):
    """Boxes sorted by score, without boxes that overlap a better one (non-maximum suppression).

    The gradient of a row that remains goes to the row of `data` that it was.
    """

    overlap_thresh = Float(
        0.5, doc="Overlap (intersection over union) above which a better box suppresses a box."
    )
    valid_thresh = Float(0.0, doc="Score above which boxes are considered.")
    topk = Int(-1, doc="Number of best boxes to consider; -1 means all, 0 copies data.")
    coord_start = Int(2, doc="Index of the first of a box's four numbers in a row.")
    score_index = Int(1, doc="Index of the score in a row.")
    id_index = Int(-1, doc="Index of the class in a row; -1 if there is none.")
    background_id = Int(-1, doc="Class of rows that are ignored.")
    force_suppress = Bool(False, doc="Whether boxes also suppress boxes of other classes.")
    in_format = Enum(FORMATS, "corner", doc="Format of the boxes in `data`, see box_iou.")
    out_format = Enum(FORMATS, "corner", doc="Format of the boxes in the output.")

    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {"data": "Rows with a score and four numbers of a box, shape (..., n, width)."}
    forward = Kernel("box_nms", writes=("output0", "output1"), whole=True)
    backward = Kernel("box_nms_grad", ("d_output0", "output1"), ("d_data",))
    amp = Precision(WIDEST, WIDEST)
    output_names = ("output0", "output1")
    example = """
    >>> boxes = mx.nd.array([[0, 0.9, 0, 0, 2, 2], [0, 0.8, 0, 0, 2, 1.9], [0, 0.7, 5, 5, 6, 6]])
    >>> mx.nd.contrib.box_nms(boxes, overlap_thresh=0.5, id_index=0)  # class, score, corners
    [[ 0.   0.9  0.   0.   2.   2. ]
     [ 0.   0.7  5.   5.   6.   6. ]
     [-1.  -1.  -1.  -1.  -1.  -1. ]]
    <NDArray 3x6 @cpu(0)>
    """

    def num_visible_outputs(self):
        return 1

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(in_shapes[0], out_shapes[0])
        if shape is None:
            return [shape], [shape, out_shapes[1]], []
        if len(shape) < 2:
            raise ShapeError(f"data has shape {shape}, expected (..., boxes, numbers of a box)")
        if shape[len(shape) - 1]:
            self._column_positions(shape[len(shape) - 1])
        return [shape], [shape, merge_shapes(shape[: len(shape) - 1], out_shapes[1])], []

    def _column_positions(self, width):
        """Return where score, class and box are in a row."""
        start, where = self.coord_start, f"operator {self.op_name}: parameter"
        if not 0 <= start <= width - 4:
            raise ArgumentError(
                f"{where} 'coord_start' is {start}: four numbers from there on are "
                f"not in a row of {width}"
            )
        taken = dict.fromkeys(range(start, start + 4), "the box")
        for name, place in (("score_index", self.score_index), ("id_index", self.id_index)):
            if name == "id_index" and place == -1:
                continue
            if not 0 <= place < width:
                raise ArgumentError(f"{where} '{name}' is {place}, a row has {width} numbers")
            if place in taken:
                raise ArgumentError(f"{where} '{name}' is {place}, where {taken[place]} is")
            taken[place] = name

    def infer_type(self, in_types, out_types):
        kind = in_types[0] or out_types[0]
        return [kind], [kind, "int32"], []

    def kernel_params(self, in_shapes):
        return {"center_in": self.in_format == "center", "center_out": self.out_format == "center"}

    def create_operator(self, ctx, in_shapes, in_types):
        *_, n, width = in_shapes[0]
        if n >= 1 << 31:
            raise ShapeError(
                f"operator {self.op_name}: an image has {n} boxes, at most {2**31 - 1} can be "
                "sorted"
            )
        self._column_positions(width)
        return super().create_operator(ctx, in_shapes, in_types)

    def compose_outputs(self, F, inputs, aux, training):
        data, record = inputs[0], aux[-1].asnumpy()
        width = data.shape[-1]
        record = record.reshape(-1, record.shape[-1])
        positions = (
            np.where(record >= 0, record, 0) + np.arange(len(record))[:, None] * record.shape[1]
        )
        index = F.array(positions.reshape(-1), ctx=data.ctx, dtype="int64")
        out = F.take(data.reshape((-1, width)), index, axis=0)
        if self.topk != 0 and self.in_format != self.out_format:
            step = np.eye(width)  # matrix that converts a row's box format
            for low in (self.coord_start, self.coord_start + 1):
                matrix = (
                    [[0.5, -1], [0.5, 1]] if self.out_format == "center" else [[1, 1], [-0.5, 0.5]]
                )
                step[np.ix_((low, low + 2), (low, low + 2))] = matrix
            out = F.dot(out, F.array(step, ctx=data.ctx, dtype=data.dtype))
        valid = F.array(record.reshape(-1, 1) >= 0, ctx=data.ctx, dtype=data.dtype)
        # rows that are left free hold -1
        return [(F.broadcast_mul(out + 1, valid) - 1).reshape(data.shape)]

    second_order = Rewrite(compose_outputs)
