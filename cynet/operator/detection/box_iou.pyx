"""_contrib_box_iou: overlaps of all pairs of boxes.

lhs (..., 4) and rhs (..., 4) give out (leading axes of lhs, leading axes of rhs): intersection over
union, 0 where a box has no area.
"""

from cython.parallel cimport prange
from libc.stdint cimport int64_t

from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.detection.bounding_box cimport box_overlaps
from ...kernels.parallel cimport threads_for
from .._base cimport Operator, OpContext

from ...base.errors import ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..checks.shapes import check_elements
from ..graph_hooks import GraphHooks
from ..parameters import Enum
from ..property import OperatorProperty, is_known, merge_shapes

FORMATS = ("center", "corner")  # middle and size; left, top, right, bottom


class BoxIouProperty(OperatorProperty):
    """Overlap (intersection over union) of every box of `lhs` with every box of `rhs`."""

    differentiable = False
    graph = GraphHooks(float32_beside_half=())

    format = Enum(FORMATS, "corner",
                  doc="corner: left, top, right, bottom; center: middle x and y, width, height.")
    inputs_doc = {"lhs": "Boxes (..., 4).", "rhs": "Boxes (..., 4)."}

    def infer_shape(self, in_shapes, out_shapes):
        for name, shape in zip(self.list_arguments(), in_shapes):
            if shape is None:
                continue
            if len(shape) < 2 or shape[len(shape) - 1] not in (0, 4):
                raise ShapeError(f"{name} has shape {tuple(shape)}, expected (..., 4)")
        left, right = in_shapes
        out = out_shapes[0]
        if left is not None and right is not None:
            out = merge_shapes((*left[:len(left) - 1], *right[:len(right) - 1]), out)
            if is_known(out):
                check_elements(out, "the output of _contrib_box_iou")
        return [left, right], [out], []

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return BoxIouOperator(self.format == "center")


cdef class BoxIouOperator(Operator):
    cdef bint center

    def __init__(self, center):
        self.center = center

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t n = in_data[0].size // 4, m = in_data[1].size // 4, i
        cdef int threads = threads_for(n * m * 16)
        cdef bint single = in_data[0].dtype == kFloat32, add = req[0] == kAddTo
        if req[0] == kNullOp:
            return 0
        for i in prange(n, num_threads=threads, schedule="static"):
            if single:
                box_overlaps(<const float*>in_data[0].data + 4 * i, <const float*>in_data[1].data,
                             m, self.center, <float*>out_data[0].data + i * m, add)
            else:
                box_overlaps(<const double*>in_data[0].data + 4 * i, <const double*>in_data[1].data,
                             m, self.center, <double*>out_data[0].data + i * m, add)
        return 0


register_operator("_contrib_box_iou", BoxIouProperty)
