"""_contrib_box_nms: rows of boxes without those that overlap better ones.

data (..., n, width) and out have one shape. Each of the leading axes' images is on its own: rows
with a score over valid_thresh, the best first; a row goes where it overlaps a better one that stays
by more than overlap_thresh. Rows that are left free hold -1.
"""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, dtype_size, kAddTo, kFloat32, kNullOp
from ...kernels.detection.bounding_box cimport NmsOptions, box_nms, box_nms_backward, nms_bytes
from .._base cimport Operator, OpContext
from ..results cimport deliver, parts_of, room_for

from ...base.errors import ArgumentError, ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Bool, Enum, Float, Int
from ..property import OperatorProperty, ResourceRequest, merge_shapes
from .box_iou import FORMATS


class BoxNmsProperty(OperatorProperty):
    """Boxes sorted by score, without those that overlap a better one (non-maximum suppression).

    The gradient of a row that is kept goes to the row of `data` that it was.
    """

    overlap_thresh = Float(0.5, doc="A box goes where it overlaps a better one by more than this.")
    valid_thresh = Float(0.0, doc="Only boxes with a score over this count.")
    topk = Int(-1, doc="How many of the best boxes count; -1: all, 0: data is copied.")
    coord_start = Int(2, doc="Where the four numbers of the box begin in a row.")
    score_index = Int(1, doc="Where the score is in a row.")
    id_index = Int(-1, doc="Where the class is in a row; -1: there is none.")
    background_id = Int(-1, doc="Rows of this class do not count.")
    force_suppress = Bool(False, doc="Boxes of other classes suppress, too.")
    in_format = Enum(FORMATS, "corner", doc="What the four numbers of `data` are (see box_iou).")
    out_format = Enum(FORMATS, "corner", doc="What those of the output are.")

    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {"data": "Rows with a score and four numbers of a box, shape (..., n, width)."}

    def list_outputs(self):
        return ["output0", "output1"]

    def num_visible_outputs(self):
        return 1

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(in_shapes[0], out_shapes[0])
        if shape is None:
            return [shape], [shape, out_shapes[1]], []
        if len(shape) < 2:
            raise ShapeError(f"data has shape {shape}, expected (..., boxes, numbers of a box)")
        if shape[len(shape) - 1]:
            self._check_places(shape[len(shape) - 1])
        return [shape], [shape, merge_shapes(shape[:len(shape) - 1], out_shapes[1])], []

    def _check_places(self, width):
        """Where score, class and box are in a row."""
        start, where = self.coord_start, f"operator {self.op_name}: parameter"
        if not 0 <= start <= width - 4:
            raise ArgumentError(f"{where} 'coord_start' is {start}: four numbers from there on are "
                                f"not in a row of {width}")
        taken = {k: "the box" for k in range(start, start + 4)}
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

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space] * 3

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], out_data[1]]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        *_, n, width = in_shapes[0]
        if n >= 1 << 31:
            raise ShapeError(f"operator {self.op_name}: an image has {n} boxes, at most {2**31 - 1}"
                             " can be sorted")
        self._check_places(width)
        return BoxNmsOperator(self, n, width)


cdef class BoxNmsOperator(Operator):
    cdef NmsOptions options
    cdef int64_t n, width

    def __init__(self, prop, n, width):
        self.n, self.width = n, width
        self.options.overlap, self.options.valid = prop.overlap_thresh, prop.valid_thresh
        self.options.topk, self.options.coord = prop.topk, prop.coord_start
        self.options.score, self.options.id = prop.score_index, prop.id_index
        self.options.background, self.options.force = prop.background_id, prop.force_suppress
        self.options.center_in = prop.in_format == "center"
        self.options.center_out = prop.out_format == "center"

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t each = self.n * self.width, batch = in_data[0].size // each, i
        cdef bint single = in_data[0].dtype == kFloat32
        cdef int64_t room = nms_bytes[float](self.n) if single else nms_bytes[double](self.n)
        cdef int parts = parts_of(batch, in_data[0].size * 64), part
        cdef char* out = <char*>room_for(ctx, out_data, req, 0)
        cdef int32_t* record = <int32_t*>room_for(ctx, out_data, req, 1)
        cdef char* space = <char*>get_space(&ctx.requested[2], parts * room)
        for part in prange(parts, num_threads=parts, schedule="static"):
            i = part
            while i < batch:
                if single:
                    box_nms(self.options, <const float*>in_data[0].data + i * each, self.n,
                            self.width, <float*>out + i * each, record + i * self.n,
                            space + part * room)
                else:
                    box_nms(self.options, <const double*>in_data[0].data + i * each, self.n,
                            self.width, <double*>out + i * each, record + i * self.n,
                            space + part * room)
                i = i + parts
        deliver(out_data, req, 0, out)
        deliver(out_data, req, 1, record)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int64_t each = self.n * self.width, batch = in_grad[0].size // each, i
        cdef const int32_t* record = <const int32_t*>out_data[1].data
        if req[0] == kNullOp:
            return 0
        if req[0] != kAddTo:
            memset(in_grad[0].data, 0, in_grad[0].size * dtype_size(in_grad[0].dtype))
        for i in range(batch):
            if in_grad[0].dtype == kFloat32:
                box_nms_backward(self.options, <const float*>out_grad[0].data + i * each,
                                 record + i * self.n, self.n, self.width,
                                 <float*>in_grad[0].data + i * each)
            else:
                box_nms_backward(self.options, <const double*>out_grad[0].data + i * each,
                                 record + i * self.n, self.n, self.width,
                                 <double*>in_grad[0].data + i * each)
        return 0


register_operator("_contrib_box_nms", BoxNmsProperty,
                  aliases=("_contrib_box_non_maximum_suppression",))
