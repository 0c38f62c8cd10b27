"""_contrib_bipartite_matching: rows and columns of a table of scores in pairs.

data (..., n, m) gives the column of each row (..., n) and the row of each column (..., m), -1 where
there is none.
"""

from cython.parallel cimport prange
from libc.stdint cimport int64_t

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, kFloat32
from ...kernels.detection.bounding_box cimport bipartite_matching
from .._base cimport Operator, OpContext
from ..results cimport deliver, parts_of, room_for

from ...base.errors import ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Bool, Float, Int
from ..property import OperatorProperty, ResourceRequest, merge_shapes


class BipartiteMatchingProperty(OperatorProperty):
    """Pairs of a row and a column, the pair of the best score first, each row and column once."""

    differentiable = False
    graph = GraphHooks(float32_beside_half=())

    is_ascend = Bool(False, doc="Low scores are the better ones.")
    threshold = Float(doc="Pairs are made of scores over this; with is_ascend: under.")
    topk = Int(-1, doc="With 1 or more: at most one pair more than this, as in MXNet.")
    inputs_doc = {"data": "Scores (..., n, m)."}

    def list_outputs(self):
        return ["output0", "output1"]

    def infer_shape(self, in_shapes, out_shapes):
        shape = in_shapes[0]
        if shape is None:
            return in_shapes, out_shapes, []
        if len(shape) < 2:
            raise ShapeError(f"data has shape {tuple(shape)}, expected (..., rows, columns)")
        *lead, n, m = shape
        return [shape], [merge_shapes((*lead, n), out_shapes[0]),
                         merge_shapes((*lead, m), out_shapes[1])], []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space] * 3

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        *_, n, m = in_shapes[0]
        return MatchingOperator(n, m, self.threshold, self.is_ascend, self.topk)


cdef class MatchingOperator(Operator):
    cdef int64_t n, m, topk
    cdef double threshold
    cdef bint ascending

    def __init__(self, n, m, threshold, ascending, topk):
        self.n, self.m, self.topk = n, m, topk
        self.threshold, self.ascending = threshold, ascending

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t n = self.n, m = self.m, each = n * m, batch = in_data[0].size // each, i
        cdef int parts = parts_of(batch, in_data[0].size * 32), part
        cdef char* rows = <char*>room_for(ctx, out_data, req, 0)
        cdef char* columns = <char*>room_for(ctx, out_data, req, 1)
        cdef int64_t* order = <int64_t*>get_space(&ctx.requested[2], parts * each * sizeof(int64_t))
        cdef bint single = in_data[0].dtype == kFloat32
        for part in prange(parts, num_threads=parts, schedule="static"):
            i = part
            while i < batch:
                if single:
                    bipartite_matching(
                        <const float*>in_data[0].data + i * each, n, m, <float>self.threshold,
                        self.ascending, self.topk, <float*>rows + i * n, <float*>columns + i * m,
                        order + part * each)
                else:
                    bipartite_matching(
                        <const double*>in_data[0].data + i * each, n, m, self.threshold,
                        self.ascending, self.topk, <double*>rows + i * n, <double*>columns + i * m,
                        order + part * each)
                i = i + parts
        deliver(out_data, req, 0, rows)
        deliver(out_data, req, 1, columns)
        return 0


register_operator("_contrib_bipartite_matching", BipartiteMatchingProperty)
