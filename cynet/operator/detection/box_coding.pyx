"""_contrib_box_encode and _contrib_box_decode: boxes seen from anchors, and back.

A code is ((x - ax) / aw, (y - ay) / ah, log(w / aw), log(h / ah)), less means, over stds (encode);
with (x, y) the middle of a box, (w, h) its size and a its anchor's.
"""

from cython.parallel cimport prange
from libc.stdint cimport int64_t

from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.detection.bounding_box cimport box_decode, box_encode
from ...kernels.parallel cimport threads_for
from .._base cimport Operator, OpContext
from ..results cimport deliver, room_for

from ...base.errors import ArgumentError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..checks.shapes import agree
from ..graph_hooks import GraphHooks
from ..parameters import Enum, Float
from ..property import OperatorProperty, ResourceRequest
from .box_iou import FORMATS


class BoxEncodeProperty(OperatorProperty):
    """What anchors are to learn of the boxes that they are matched with, and a mask of those that
    are."""

    differentiable = False
    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {
        "samples": "1 for anchors with a box, (batch, n); others are 0 or -1.",
        "matches": "Which row of refs an anchor's box is, (batch, n).",
        "anchors": "Corners of the anchors, (batch, n, 4).",
        "refs": "Corners of the boxes, (batch, m, 4).",
        "means": "Is subtracted from each number of a code, (4,).",
        "stds": "What each is divided by, (4,).",
    }

    def list_outputs(self):
        return ["output0", "output1"]

    def infer_shape(self, in_shapes, out_shapes):
        samples, matches, anchors, refs, means, stds = in_shapes
        batch, n = (0, 0)
        for name, shape, rank in (("samples", samples, 2), ("matches", matches, 2),
                                  ("anchors", anchors, 3), ("output0", out_shapes[0], 3),
                                  ("output1", out_shapes[1], 3)):
            if shape is not None:
                batch, n, *_ = agree(name, shape, (batch, n, 4)[:rank])
        if refs is not None:
            refs = agree("refs", refs, (batch, 0, 4))
            batch = refs[0]
        shapes = [agree("samples", samples, (batch, n)), agree("matches", matches, (batch, n)),
                  agree("anchors", anchors, (batch, n, 4)), agree("refs", refs, (batch, 0, 4)),
                  agree("means", means, (4,)), agree("stds", stds, (4,))]
        return shapes, [(batch, n, 4)] * 2, []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space] * 2

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return BoxEncodeOperator(in_shapes[2][1], in_shapes[3][1])


cdef int _no_match(int64_t image, int64_t sample, int64_t boxes) except -1 with gil:
    raise ArgumentError(
        f"operator _contrib_box_encode: sample {sample} of image {image} is matched with none of "
        f"the {boxes} boxes of refs")


cdef class BoxEncodeOperator(Operator):
    cdef int64_t n, boxes

    def __init__(self, n, boxes):
        self.n, self.boxes = n, boxes

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t n = self.n, m = self.boxes, i, bad
        cdef char* out = <char*>room_for(ctx, out_data, req, 0)
        cdef char* mask = <char*>room_for(ctx, out_data, req, 1)
        for i in range(in_data[0].size // n):
            if in_data[0].dtype == kFloat32:
                bad = box_encode(
                    <const float*>in_data[0].data + i * n, <const float*>in_data[1].data + i * n,
                    <const float*>in_data[2].data + i * n * 4,
                    <const float*>in_data[3].data + i * m * 4, n, m, <const float*>in_data[4].data,
                    <const float*>in_data[5].data, <float*>out + i * n * 4,
                    <float*>mask + i * n * 4)
            else:
                bad = box_encode(
                    <const double*>in_data[0].data + i * n, <const double*>in_data[1].data + i * n,
                    <const double*>in_data[2].data + i * n * 4,
                    <const double*>in_data[3].data + i * m * 4, n, m,
                    <const double*>in_data[4].data, <const double*>in_data[5].data,
                    <double*>out + i * n * 4, <double*>mask + i * n * 4)
            if bad >= 0:
                _no_match(i, bad, m)
        deliver(out_data, req, 0, out)
        deliver(out_data, req, 1, mask)
        return 0


class BoxDecodeProperty(OperatorProperty):
    """The corners of the boxes that codes say, seen from anchors."""

    differentiable = False
    graph = GraphHooks(float32_beside_half=())

    std0 = Float(1.0, doc="Factor of the first number of a code.")
    std1 = Float(1.0, doc="Factor of the second one.")
    std2 = Float(1.0, doc="Factor of the third one.")
    std3 = Float(1.0, doc="Factor of the fourth one.")
    clip = Float(-1.0, doc="Most that the logarithm of a size may be; 0 or less: anything.")
    format = Enum(FORMATS, "center", doc="What the four numbers of an anchor are (see box_iou).")
    inputs_doc = {"data": "Codes (batch, n, 4).", "anchors": "Anchors of all images, (1, n, 4)."}

    def infer_shape(self, in_shapes, out_shapes):
        data, anchors = in_shapes
        shape = (0, 0, 4)
        for name, given in (("data", data), ("output", out_shapes[0])):
            if given is not None:
                shape = agree(name, given, shape)
        if anchors is not None:
            shape = (shape[0], agree("anchors", anchors, (1, shape[1], 4))[1], 4)
        return [shape, (1, shape[1], 4)], [shape], []

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        stds = self.std0, self.std1, self.std2, self.std3
        return BoxDecodeOperator(in_shapes[0][1], stds, self.clip, self.format == "center")


cdef class BoxDecodeOperator(Operator):
    cdef int64_t n
    cdef double stds[4]
    cdef float single_stds[4]
    cdef double clip
    cdef bint center

    def __init__(self, n, stds, clip, center):
        self.n, self.clip, self.center = n, clip, center
        for i in range(4):
            self.stds[i] = self.single_stds[i] = stds[i]

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t each = self.n * 4, batch = in_data[0].size // each, i
        cdef int threads = threads_for(in_data[0].size * 8)
        cdef bint single = in_data[0].dtype == kFloat32, add = req[0] == kAddTo
        if req[0] == kNullOp:
            return 0
        for i in prange(batch, num_threads=threads, schedule="static"):
            if single:
                box_decode(<const float*>in_data[0].data + i * each, <const float*>in_data[1].data,
                           self.n, self.single_stds, <float>self.clip, self.center,
                           <float*>out_data[0].data + i * each, add)
            else:
                box_decode(<const double*>in_data[0].data + i * each,
                           <const double*>in_data[1].data, self.n, self.stds, self.clip,
                           self.center, <double*>out_data[0].data + i * each, add)
        return 0


register_operator("_contrib_box_encode", BoxEncodeProperty)
register_operator("_contrib_box_decode", BoxDecodeProperty)
