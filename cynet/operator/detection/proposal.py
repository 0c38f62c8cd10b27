"""_contrib_Proposal and _contrib_MultiProposal: regions that a region proposal network proposes.

cls_prob (N, 2 A, H, W) with A background scores before A of the foreground, bbox_pred (N, 4 A, H,
W) and im_info (N, 3), rows (height, width, scale), give N times rpn_post_nms_top_n rows (image,
left, top, right, bottom) in pixels. Proposal takes one image.
"""

from math import floor, sqrt

from ...base.errors import ArgumentError, ShapeError
from ..checks.dtypes import require_floats
from ..checks.shapes import check_elements, unify_shapes
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, Float, FloatTuple, Int
from ..precision import WIDEST, Precision

MAX_ANCHORS = 4096  # limit of anchors at a position


def base_anchor_corners(stride, ratios, scales):
    """Corners of the anchors at the first position, a list of four numbers each.

    A square of `stride` pixels, in every ratio of height to width, times every scale; sides are
    whole numbers before they are scaled.

    >>> base_anchor_corners(16, [1.0], [2.0])
    [[-8.0, -8.0, 23.0, 23.0]]
    """
    middle, out = 0.5 * (stride - 1), []
    for ratio in ratios:
        width = floor(sqrt(floor(stride * stride / ratio)) + 0.5)
        height = floor(width * ratio + 0.5)
        for scale in scales:
            w, h = 0.5 * (width * scale - 1), 0.5 * (height * scale - 1)
            out.append([middle - w, middle - h, middle + w, middle + h])
    return out


class ProposalProperty(KernelProperty, operator="_contrib_Proposal"):
    """Regions of an image from the scores and deltas of anchors, sorted by score, without regions
    that overlap a better one; too few are repeated from the first on.
    """

    differentiable = False
    images = 1  # limit of images; 0: any number

    rpn_pre_nms_top_n = Int(6000, doc="How many of the best regions count; 0 or less: all.")
    rpn_post_nms_top_n = Int(300, doc="How many regions an image gives.", low=0)
    threshold = Float(
        0.7,
        doc="Overlap (intersection over union) above which a better region suppresses a region.",
    )
    rpn_min_size = Int(
        16, doc="Regions with a shorter side, in pixels of the unscaled image, come last."
    )
    scales = FloatTuple((4.0, 8.0, 16.0, 32.0), doc="Sizes of anchors, in strides.")
    ratios = FloatTuple((0.5, 1.0, 2.0), doc="Heights of anchors over their widths.")
    feature_stride = Int(16, doc="Pixels from one place to the next.", low=1)
    output_score = Bool(False, doc="A second output has the scores, one in each row.")
    iou_loss = Bool(False, doc="Deltas are of corners, in pixels.")
    inputs_doc = {
        "cls_prob": "Scores of background and foreground, (N, 2 A, H, W).",
        "bbox_pred": "Deltas of the anchors, (N, 4 A, H, W).",
        "im_info": "Height, width and scale of each image, (N, 3).",
    }
    forward = Kernel("proposal", tuple(inputs_doc), ("output", "score"), whole=True)
    amp = Precision(WIDEST, WIDEST)
    output_names = ("output", "score")
    example = """
    >>> scores = mx.nd.random.uniform(shape=(1, 2, 4, 4))
    >>> moves = mx.nd.zeros((1, 4, 4, 4))
    >>> info = mx.nd.array([[64, 64, 1]])  # height, width, scale
    >>> rois = mx.nd.contrib.Proposal(scores, moves, info, scales=(2,), ratios=(1,),
    ...     feature_stride=16, rpn_pre_nms_top_n=12, rpn_post_nms_top_n=5, rpn_min_size=1)
    >>> rois.shape  # image, corners
    (5, 5)
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        for name in ("scales", "ratios"):
            values = getattr(self, name)
            if not values or not all(v > 0 for v in values):
                raise ArgumentError(
                    f"operator {self.op_name}: parameter '{name}' takes numbers "
                    f"above 0, got {values}"
                )
        if len(self.scales) * len(self.ratios) > MAX_ANCHORS:
            raise ArgumentError(
                f"operator {self.op_name}: {len(self.scales)} scales and "
                f"{len(self.ratios)} ratios are more than {MAX_ANCHORS} anchors"
            )

    def num_visible_outputs(self):
        return 2 if self.output_score else 1

    def infer_shape(self, in_shapes, out_shapes):
        n = len(self.scales) * len(self.ratios)
        scores = unify_shapes("cls_prob", in_shapes[0], (self.images, 2 * n, 0, 0))
        deltas = unify_shapes("bbox_pred", in_shapes[1], (scores[0], 4 * n, *scores[2:]))
        scores = unify_shapes("cls_prob", scores, (deltas[0], 2 * n, *deltas[2:]))
        info = unify_shapes("im_info", in_shapes[2], (scores[0], 3))
        batch = info[0]
        rows = batch * self.rpn_post_nms_top_n
        check_elements((rows, 5), f"the output of {self.op_name}")
        if not batch:
            return [scores, deltas, info], out_shapes, []
        return (
            [(batch, *scores[1:]), (batch, *deltas[1:]), info],
            [
                unify_shapes("output", out_shapes[0], (rows, 5)),
                unify_shapes("score", out_shapes[1], (rows, 1)),
            ],
            [],
        )

    def create_operator(self, ctx, in_shapes, in_types):
        require_floats(self, self.list_arguments(), in_types, ("float32",))
        _, channels, height, width = in_shapes[0]
        if channels // 2 * height * width >= 1 << 31:
            raise ShapeError(
                f"operator {self.op_name}: cls_prob of {in_shapes[0]} has more than "
                f"{2**31 - 1} anchors"
            )
        return super().create_operator(ctx, in_shapes, in_types)

    def kernel_params(self, in_shapes):
        anchors = base_anchor_corners(self.feature_stride, self.ratios, self.scales)
        return {"anchors": [number for anchor in anchors for number in anchor]}

    def kernel_error(self, item, values):
        return ArgumentError(
            f"operator {self.op_name}: im_info says that image {item} is {values[0]:g} x "
            f"{values[1]:g} pixels; a map of {values[2]:g} x {values[3]:g} places "
            f"{self.feature_stride} pixels apart is smaller"
        )


class MultiProposalProperty(ProposalProperty, operator="_contrib_MultiProposal"):
    """Regions of each image of a batch: see Proposal."""

    images = 0
    example = """
    >>> scores = mx.nd.random.uniform(shape=(1, 2, 4, 4))
    >>> moves = mx.nd.zeros((1, 4, 4, 4))
    >>> info = mx.nd.array([[64, 64, 1]])  # height, width, scale
    >>> rois = mx.nd.contrib.MultiProposal(scores, moves, info, scales=(2,), ratios=(1,),
    ...     feature_stride=16, rpn_pre_nms_top_n=12, rpn_post_nms_top_n=5, rpn_min_size=1)
    >>> rois.shape  # image, corners
    (5, 5)
    """
