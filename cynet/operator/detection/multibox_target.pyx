"""_contrib_MultiBoxTarget: what the anchors of an SSD are to learn.

anchor (1, A, 4), label (N, L, 5 or more) with rows (class, left, top, right, bottom, ...) and -1 in
those that are none, cls_pred (N, classes, A) give loc_target and loc_mask (N, 4 A) and cls_target
(N, A): 0 background, 1 + class, ignore_label where an anchor is not to learn.
"""

from cython.parallel cimport prange
from libc.stdint cimport int64_t

from ..._resource cimport get_space
from ..._typedefs cimport TBlob
from ...kernels.detection.multibox cimport TargetOptions, multibox_target, target_bytes
from .._base cimport Operator, OpContext
from ..results cimport deliver, parts_of, room_for

from ...base.errors import ArgumentError, ShapeError, shown
from .._base import register_operator
from ..checks.dtypes import require_floats
from ..checks.shapes import agree
from ..parameters import Float, FloatTuple, Int
from ..property import OperatorProperty, ResourceRequest


def check_variances(prop):
    """Raise ArgumentError unless the parameter has four numbers."""
    if len(prop.variances) != 4:
        raise ArgumentError(f"operator {prop.op_name}: parameter 'variances' takes four numbers, "
                            f"got {shown(prop.variances)}")


class MultiBoxTargetProperty(OperatorProperty):
    """Matches anchors with the boxes of labels: each box has the anchor that it overlaps most, and
    all anchors that it overlaps enough. The rest is background, or the part of it that is hardest.
    """

    differentiable = False

    overlap_threshold = Float(0.5, doc="Anchors that overlap a box by more than this learn it; 0 or"
                              " less: only the best anchor of each box does.")
    ignore_label = Float(-1.0, doc="cls_target of anchors that are not to learn.")
    negative_mining_ratio = Float(-1.0, doc="How many anchors for each matched one learn that they "
                                  "are background; 0 or less: all that are left.")
    negative_mining_thresh = Float(0.5, doc="With a ratio: anchors that overlap a box as much as "
                                   "this are never background.")
    minimum_negative_samples = Int(0, doc="Accepted and without effect, as in MXNet.")
    variances = FloatTuple((0.1, 0.1, 0.2, 0.2), doc="What the numbers of a code are divided by.")
    inputs_doc = {
        "anchor": "Corners of the anchors (1, A, 4).",
        "label": "Boxes of each image (N, L, 5 or more), rows of -1 behind the last.",
        "cls_pred": "Scores of the classes, the background first, (N, classes, A).",
    }

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        check_variances(self)
        if self.negative_mining_ratio > 0 and not self.negative_mining_thresh > 0:
            raise ArgumentError(f"operator {self.op_name}: with negative_mining_ratio parameter "
                                "'negative_mining_thresh' takes a float above 0, got "
                                f"{self.negative_mining_thresh}")

    def list_outputs(self):
        return ["loc_target", "loc_mask", "cls_target"]

    def infer_shape(self, in_shapes, out_shapes):
        anchor, label, scores = in_shapes
        n = batch = 0
        if anchor is not None:
            n = agree("anchor", anchor, (1, 0, 4))[1]
        if label is not None:
            batch = agree("label", label, (0, 0, 0))[0]
            if label[2] and label[2] < 5:
                raise ShapeError(f"label has shape {tuple(label)}: a row has a class and four "
                                 "numbers at least")
        scores = agree("cls_pred", scores, (batch, 0, n))
        batch, n = batch or scores[0], n or scores[2]
        label = agree("label", label, (batch, 0, 0))
        outs = [agree("loc_target", out_shapes[0], (batch, n * 4)),
                agree("loc_mask", out_shapes[1], (batch, n * 4)),
                agree("cls_target", out_shapes[2], (batch, n))]
        return [(1, n, 4), label, scores], outs, []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space] * 4

    def create_operator(self, ctx, in_shapes, in_types):
        require_floats(self, self.list_arguments(), in_types, ("float32",))
        if in_shapes[0][1] >= 1 << 31:
            raise ShapeError(f"operator {self.op_name}: {in_shapes[0][1]} anchors, there can be at "
                             f"most {2**31 - 1}")
        return MultiBoxTargetOperator(self, in_shapes)


cdef int _bad_label(int64_t image, int64_t row) except -1 with gil:
    raise ArgumentError(
        f"operator _contrib_MultiBoxTarget: row {row} of image {image} in label has the class -1 "
        "but is no padding: its box must be -1, too")


cdef class MultiBoxTargetOperator(Operator):
    cdef TargetOptions options
    cdef int64_t n, rows, width, classes

    def __init__(self, prop, in_shapes):
        self.n, self.classes = in_shapes[0][1], in_shapes[2][1]
        self.rows, self.width = in_shapes[1][1], in_shapes[1][2]
        self.options.overlap, self.options.ignore = prop.overlap_threshold, prop.ignore_label
        self.options.mining_ratio = prop.negative_mining_ratio
        self.options.mining_overlap = prop.negative_mining_thresh
        for i in range(4):
            self.options.variances[i] = prop.variances[i]

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t batch = in_data[1].shape[0], n = self.n, i, bad
        cdef int64_t room = target_bytes(n, self.rows), each = self.rows * self.width
        cdef int parts = parts_of(batch, batch * n * (self.rows + self.classes) * 8), part
        cdef float* codes = <float*>room_for(ctx, out_data, req, 0)
        cdef float* mask = <float*>room_for(ctx, out_data, req, 1)
        cdef float* kinds = <float*>room_for(ctx, out_data, req, 2)
        cdef char* space = <char*>get_space(&ctx.requested[3], parts * (room + sizeof(int64_t)))
        cdef int64_t* wrong = <int64_t*>(space + parts * room)  # of each part: an image, or -1
        for part in prange(parts, num_threads=parts, schedule="static"):
            wrong[part] = -1
            i = part
            while i < batch:
                bad = multibox_target(
                    self.options, <const float*>in_data[0].data, n,
                    <const float*>in_data[1].data + i * each, self.rows, self.width,
                    <const float*>in_data[2].data + i * n * self.classes, self.classes,
                    codes + i * n * 4, mask + i * n * 4, kinds + i * n, space + part * room)
                if bad >= 0 and wrong[part] < 0:
                    wrong[part] = i * self.rows + bad
                i = i + parts
        bad = -1
        for part in range(parts):
            if wrong[part] >= 0 and (bad < 0 or wrong[part] < bad):
                bad = wrong[part]
        if bad >= 0:
            _bad_label(bad // self.rows, bad % self.rows)
        deliver(out_data, req, 0, codes)
        deliver(out_data, req, 1, mask)
        deliver(out_data, req, 2, kinds)
        return 0


register_operator("_contrib_MultiBoxTarget", MultiBoxTargetProperty)
