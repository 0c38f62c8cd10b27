"""_contrib_MultiBoxDetection: boxes decoded from the predictions of an SSD's anchors.

cls_prob (N, classes, A), loc_pred (N, 4 A) and anchor (1, A, 4) give rows (class, score, left, top,
right, bottom), (N, A, 6), the best score first; class -1 where there is none.
"""

from ...base.errors import ShapeError
from ..checks.dtypes import require_floats
from ..checks.index_dtype import IndexWrite
from ..checks.shapes import unify_shapes
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, Float, FloatTuple, Int
from ..precision import FLOAT32, WIDEST, Precision
from .multibox_target import check_variances


class MultiBoxDetectionProperty(KernelProperty, operator="_contrib_MultiBoxDetection"):
    """The box of each anchor whose best class is not the background, without boxes that overlap a
    better one (non-maximum suppression)."""

    differentiable = False

    clip = Bool(True, doc="Cut boxes at the image's sides.")
    threshold = Float(0.01, doc="Boxes with a lower score are left out.")
    background_id = Int(0, doc="Accepted; class 0 is the background whatever it says, as in MXNet.")
    nms_threshold = Float(
        0.5,
        doc="A box goes where it overlaps a better one as much as this; "
        "beyond (0, 1] none goes, and they are not sorted.",
    )
    force_suppress = Bool(False, doc="Whether boxes also suppress boxes of other classes.")
    variances = FloatTuple((0.1, 0.1, 0.2, 0.2), doc="Factors of the numbers of a code.")
    nms_topk = Int(-1, doc="How many of the best boxes stay before suppression; 0 or less: all.")
    inputs_doc = {
        "cls_prob": "Probabilities of the classes, the background first, (N, classes, A).",
        "loc_pred": "Codes of the boxes, (N, 4 A).",
        "anchor": "Corners of the anchors (1, A, 4).",
    }
    forward = Kernel("multibox_detection", tuple(inputs_doc), whole=True)
    amp = Precision(FLOAT32, WIDEST)
    example = """
    >>> anchors = mx.nd.array([[[0, 0, 0.5, 0.5], [0.5, 0.5, 1, 1]]])
    >>> probabilities = mx.nd.array([[[0.1, 0.8], [0.9, 0.2]]])  # background, one class
    >>> mx.nd.contrib.MultiBoxDetection(probabilities, mx.nd.zeros((1, 8)), anchors, threshold=0.1)
    [[[0.  0.9 0.  0.  0.5 0.5]
      [0.  0.2 0.5 0.5 1.  1. ]]]
    <NDArray 1x2x6 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        check_variances(self)

    def infer_shape(self, in_shapes, out_shapes):
        scores = unify_shapes("cls_prob", in_shapes[0], (0, 0, 0))
        batch, n = scores[0], scores[2]
        if in_shapes[2] is not None:
            n = unify_shapes("anchor", in_shapes[2], (1, n, 4))[1]
        if out_shapes[0] is not None:
            batch, n, _ = unify_shapes("output", out_shapes[0], (batch, n, 6))
        codes = unify_shapes("loc_pred", in_shapes[1], (batch, n * 4))
        if codes[1] % 4:
            raise ShapeError(f"loc_pred has shape {tuple(codes)}: an anchor has four numbers")
        batch, n = batch or codes[0], n or codes[1] // 4
        scores = unify_shapes("cls_prob", scores, (batch, 0, n))
        return [scores, codes, (1, n, 4)], [(batch, n, 6)], []

    def arrays_read_by_index(self, in_shapes, in_types):
        return [IndexWrite(("output", in_types[0], in_shapes[0][1]))]

    def create_operator(self, ctx, in_shapes, in_types):
        require_floats(self, self.list_arguments(), in_types, ("float32",))
        if in_shapes[2][1] >= 1 << 31:
            raise ShapeError(
                f"operator {self.op_name}: {in_shapes[2][1]} anchors, there can be at most "
                f"{2**31 - 1}"
            )
        return super().create_operator(ctx, in_shapes, in_types)
