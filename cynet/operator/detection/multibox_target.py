"""_contrib_MultiBoxTarget: training targets for the anchors of an SSD.

anchor (1, A, 4), label (N, L, 5 or more) with rows (class, left, top, right, bottom, ...) and -1 in
those that are none, cls_pred (N, classes, A) give loc_target and loc_mask (N, 4 A) and cls_target
(N, A): 0 background, 1 + class, ignore_label where an anchor is not to learn.
"""

from ...base.errors import ArgumentError, ShapeError, shown
from ..checks.dtypes import require_floats
from ..checks.index_dtype import IndexWrite
from ..checks.shapes import unify_shapes
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Float, FloatTuple, Int
from ..precision import FLOAT32, WIDEST, Precision


def check_variances(prop):
    """Raise ArgumentError unless the parameter has four numbers."""
    if len(prop.variances) != 4:
        raise ArgumentError(
            f"operator {prop.op_name}: parameter 'variances' takes four numbers, "
            f"got {shown(prop.variances)}"
        )


class MultiBoxTargetProperty(KernelProperty, operator="_contrib_MultiBoxTarget"):
    """Matches anchors with the boxes of labels: each box gets the anchor with the largest overlap,
    and all anchors with enough overlap. The other anchors are background, or only the hardest of
    them.
    """

    differentiable = False

    overlap_threshold = Float(
        0.5,
        doc="Anchors that overlap a box by more than this learn it; 0 or"
        " less: only the best anchor of each box does.",
    )
    ignore_label = Float(-1.0, doc="cls_target of anchors that are not to learn.")
    negative_mining_ratio = Float(
        -1.0,
        doc="How many anchors for each matched one learn that they "
        "are background; 0 or less: all that are left.",
    )
    negative_mining_thresh = Float(
        0.5, doc="With a ratio: anchors that overlap a box as much as this are never background."
    )
    minimum_negative_samples = Int(0, doc="Accepted and without effect, as in MXNet.")
    variances = FloatTuple((0.1, 0.1, 0.2, 0.2), doc="What the numbers of a code are divided by.")
    inputs_doc = {
        "anchor": "Corners of the anchors (1, A, 4).",
        "label": "Boxes of each image (N, L, 5 or more), rows of -1 behind the last.",
        "cls_pred": "Scores of the classes, the background first, (N, classes, A).",
    }
    forward = Kernel(
        "multibox_target", tuple(inputs_doc), ("loc_target", "loc_mask", "cls_target"), whole=True
    )
    amp = Precision(FLOAT32, WIDEST)
    output_names = ("loc_target", "loc_mask", "cls_target")
    example = """
    >>> anchors = mx.nd.array([[[0, 0, 0.5, 0.5], [0.5, 0.5, 1, 1]]])
    >>> label = mx.nd.array([[[0, 0.1, 0, 0.5, 0.5]]])  # class, corners
    >>> _, mask, target = mx.nd.contrib.MultiBoxTarget(anchors, label, mx.nd.zeros((1, 2, 2)))
    >>> target  # class + 1, 0 is background
    [[1. 0.]]
    <NDArray 1x2 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        check_variances(self)
        if self.negative_mining_ratio > 0 and not self.negative_mining_thresh > 0:
            raise ArgumentError(
                f"operator {self.op_name}: with negative_mining_ratio parameter "
                "'negative_mining_thresh' takes a float above 0, got "
                f"{self.negative_mining_thresh}"
            )

    def infer_shape(self, in_shapes, out_shapes):
        anchor, label, scores = in_shapes
        n = batch = 0
        if anchor is not None:
            n = unify_shapes("anchor", anchor, (1, 0, 4))[1]
        if label is not None:
            batch = unify_shapes("label", label, (0, 0, 0))[0]
            if label[2] and label[2] < 5:
                raise ShapeError(
                    f"label has shape {tuple(label)}: a row has a class and four numbers at least"
                )
        scores = unify_shapes("cls_pred", scores, (batch, 0, n))
        batch, n = batch or scores[0], n or scores[2]
        label = unify_shapes("label", label, (batch, 0, 0))
        outs = [
            unify_shapes("loc_target", out_shapes[0], (batch, n * 4)),
            unify_shapes("loc_mask", out_shapes[1], (batch, n * 4)),
            unify_shapes("cls_target", out_shapes[2], (batch, n)),
        ]
        return [(1, n, 4), label, scores], outs, []

    def arrays_read_by_index(self, in_shapes, in_types):
        return [IndexWrite(("cls_target", in_types[1], in_shapes[2][1]))]

    def create_operator(self, ctx, in_shapes, in_types):
        require_floats(self, self.list_arguments(), in_types, ("float32",))
        if in_shapes[0][1] >= 1 << 31:
            raise ShapeError(
                f"operator {self.op_name}: {in_shapes[0][1]} anchors, there can be at most "
                f"{2**31 - 1}"
            )
        return super().create_operator(ctx, in_shapes, in_types)

    def kernel_error(self, item, values):
        image, row = map(int, values[:2])
        return ArgumentError(
            f"operator {self.op_name}: row {row} of image {image} in label has the class -1 but is "
            "no padding: its box must be -1, too"
        )
