"""_contrib_MultiBoxDetection: boxes from what the anchors of an SSD predict.

cls_prob (N, classes, A), loc_pred (N, 4 A) and anchor (1, A, 4) give rows (class, score, left, top,
right, bottom), (N, A, 6), the best score first; class -1 where there is none.
"""

from cython.parallel cimport prange
from libc.stdint cimport int64_t

from ..._resource cimport get_space
from ..._typedefs cimport TBlob
from ...kernels.detection.multibox cimport DetectionOptions, detection_bytes, multibox_detection
from .._base cimport Operator, OpContext
from ..results cimport deliver, parts_of, room_for

from ...base.errors import ShapeError
from .._base import register_operator
from ..checks.dtypes import require_floats
from ..checks.shapes import agree
from ..parameters import Bool, Float, FloatTuple, Int
from ..property import OperatorProperty, ResourceRequest
from .multibox_target import check_variances


class MultiBoxDetectionProperty(OperatorProperty):
    """The box of each anchor whose best class is not the background, without those that overlap a
    better one (non-maximum suppression)."""

    differentiable = False

    clip = Bool(True, doc="Cut boxes at the image's sides.")
    threshold = Float(0.01, doc="Boxes with a lower score are left out.")
    background_id = Int(0, doc="Accepted; class 0 is the background whatever it says, as in MXNet.")
    nms_threshold = Float(0.5, doc="A box goes where it overlaps a better one as much as this; "
                          "beyond (0, 1] none goes, and they are not sorted.")
    force_suppress = Bool(False, doc="Boxes of other classes suppress, too.")
    variances = FloatTuple((0.1, 0.1, 0.2, 0.2), doc="Factors of the numbers of a code.")
    nms_topk = Int(-1, doc="How many of the best boxes stay before suppression; 0 or less: all.")
    inputs_doc = {
        "cls_prob": "Probabilities of the classes, the background first, (N, classes, A).",
        "loc_pred": "Codes of the boxes, (N, 4 A).",
        "anchor": "Corners of the anchors (1, A, 4).",
    }

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        check_variances(self)

    def infer_shape(self, in_shapes, out_shapes):
        scores = agree("cls_prob", in_shapes[0], (0, 0, 0))
        batch, n = scores[0], scores[2]
        if in_shapes[2] is not None:
            n = agree("anchor", in_shapes[2], (1, n, 4))[1]
        if out_shapes[0] is not None:
            batch, n, _ = agree("output", out_shapes[0], (batch, n, 6))
        codes = agree("loc_pred", in_shapes[1], (batch, n * 4))
        if codes[1] % 4:
            raise ShapeError(f"loc_pred has shape {tuple(codes)}: an anchor has four numbers")
        batch, n = batch or codes[0], n or codes[1] // 4
        scores = agree("cls_prob", scores, (batch, 0, n))
        return [scores, codes, (1, n, 4)], [(batch, n, 6)], []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space] * 2

    def create_operator(self, ctx, in_shapes, in_types):
        require_floats(self, self.list_arguments(), in_types, ("float32",))
        if in_shapes[2][1] >= 1 << 31:
            raise ShapeError(f"operator {self.op_name}: {in_shapes[2][1]} anchors, there can be at "
                             f"most {2**31 - 1}")
        return MultiBoxDetectionOperator(self, *in_shapes[0][1:])


cdef class MultiBoxDetectionOperator(Operator):
    cdef DetectionOptions options
    cdef int64_t n, classes

    def __init__(self, prop, classes, n):
        self.n, self.classes = n, classes
        self.options.threshold, self.options.overlap = prop.threshold, prop.nms_threshold
        self.options.topk, self.options.clip = prop.nms_topk, prop.clip
        self.options.force = prop.force_suppress
        for i in range(4):
            self.options.variances[i] = prop.variances[i]

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t batch = in_data[0].shape[0], n = self.n, i
        cdef int64_t room = detection_bytes(n)
        cdef int parts = parts_of(batch, batch * n * (self.classes + 64)), part
        cdef float* out = <float*>room_for(ctx, out_data, req, 0)
        cdef char* space = <char*>get_space(&ctx.requested[1], parts * room)
        for part in prange(parts, num_threads=parts, schedule="static"):
            i = part
            while i < batch:
                multibox_detection(
                    self.options, <const float*>in_data[0].data + i * n * self.classes,
                    self.classes, <const float*>in_data[1].data + i * n * 4,
                    <const float*>in_data[2].data, n, out + i * n * 6, space + part * room)
                i = i + parts
        deliver(out_data, req, 0, out)
        return 0


register_operator("_contrib_MultiBoxDetection", MultiBoxDetectionProperty)
