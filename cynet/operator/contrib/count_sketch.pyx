"""count_sketch: lines projected to fewer numbers, each added with a sign to one of them.

out[..., h[i]] = sum over i of s[i] * data[..., i]; data (..., in_dim), h and s (in_dim) or
(1, in_dim), out (..., out_dim). Only data has a gradient: s[i] * out_grad[..., h[i]].
"""

from libc.stdint cimport int64_t

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.movement.index cimport read_indices
from ...kernels.parallel cimport threads_for
from .._base cimport Operator, OpContext

from cython.parallel cimport prange
from libc.string cimport memset

from ...base.errors import BoundsError, ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Int
from ..property import OperatorProperty, ResourceRequest, merge_shapes

ctypedef fused real:
    float
    double


class CountSketchProperty(OperatorProperty):
    """Count sketches: each number of a line is added, with a sign, to one of `out_dim` sums.

    No gradient flows to `h` and `s`.
    """

    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {
        "data": "Lines (..., in_dim).",
        "h": "Which sum each number goes to, shape (1, in_dim), values in [0, out_dim).",
        "s": "Signs, shape (1, in_dim).",
    }
    out_dim = Int(doc="How many sums a line has.", low=1)
    processing_batch_size = Int(32, doc="Accepted for files, without effect.", low=1)

    def infer_shape(self, in_shapes, out_shapes):
        data, h, s = in_shapes
        out = out_shapes[0]
        if data is None:
            return [data, h, s], [out], []
        length = data[len(data) - 1]
        sides = []
        for name, side in (("h", h), ("s", s)):
            if side is not None and len(side) == 1:
                side = merge_shapes(side, (length,))
            elif side is not None and len(side) != 2:
                raise ShapeError(f"operator {self.op_name}: '{name}' has shape {tuple(side)}, "
                                 f"expected (1, {length})")
            elif side is None and len(next((o for o in (h, s) if o is not None), (1, 1))) == 1:
                side = (length,)
            else:
                side = merge_shapes(side, (1, length))
            sides.append(side)
        out = merge_shapes((*data[:len(data) - 1], self.out_dim), out)
        return [(*out[:len(out) - 1], length), *sides], [out], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [*out_grad, *in_data[1:]]

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def backward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return CountSketchOperator(in_shapes[0][len(in_shapes[0]) - 1], self.out_dim)


cdef int _outside(int64_t place, int64_t n) except -1 with gil:
    raise BoundsError(f"operator _contrib_count_sketch: number {place} of 'h' is not in [0, {n})")


cdef class CountSketchOperator(Operator):
    cdef int64_t n_in, n_out

    def __init__(self, n_in, n_out):
        self.n_in, self.n_out = n_in, n_out

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t lines = in_data[0].size // self.n_in
        cdef int64_t* h
        if req[0] == kNullOp:
            return 0
        h = _places(self, ctx, &in_data[1])
        if in_data[0].dtype == kFloat32:
            _sum[float](lines, self.n_in, self.n_out, h, <float*>in_data[2].data,
                        <float*>in_data[0].data, <float*>out_data[0].data, req[0] == kAddTo)
        else:
            _sum[double](lines, self.n_in, self.n_out, h, <double*>in_data[2].data,
                         <double*>in_data[0].data, <double*>out_data[0].data, req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int64_t lines = out_grad[0].size // self.n_out
        cdef int64_t* h
        cdef int i
        for i in range(1, 3):
            if req[i] != kNullOp and req[i] != kAddTo:
                memset(in_grad[i].data, 0, self.n_in * (4 if in_grad[i].dtype == kFloat32 else 8))
        if req[0] == kNullOp:
            return 0
        h = _places(self, ctx, &in_data[1])
        if out_grad[0].dtype == kFloat32:
            _spread[float](lines, self.n_in, self.n_out, h, <float*>in_data[2].data,
                           <float*>out_grad[0].data, <float*>in_grad[0].data, req[0] == kAddTo)
        else:
            _spread[double](lines, self.n_in, self.n_out, h, <double*>in_data[2].data,
                            <double*>out_grad[0].data, <double*>in_grad[0].data, req[0] == kAddTo)
        return 0


cdef int64_t* _places(CountSketchOperator self, OpContext* ctx, const TBlob* h) except NULL nogil:
    cdef int64_t* places = <int64_t*>get_space(&ctx.requested[0], self.n_in * sizeof(int64_t))
    cdef int64_t bad
    read_indices(h.dtype, h.data, places, self.n_in)
    for bad in range(self.n_in):
        if places[bad] < 0 or places[bad] >= self.n_out:
            _outside(bad, self.n_out)
            return NULL
    return places


cdef void _sum(int64_t lines, int64_t n_in, int64_t n_out, const int64_t* h, const real* s,
               const real* x, real* y, bint add) noexcept nogil:
    cdef int64_t line, i
    cdef int threads = threads_for(lines * (n_in + n_out))
    for line in prange(lines, num_threads=threads, schedule="static"):
        if not add:
            for i in range(n_out):
                y[line * n_out + i] = 0
        for i in range(n_in):
            y[line * n_out + h[i]] = y[line * n_out + h[i]] + s[i] * x[line * n_in + i]


cdef void _spread(int64_t lines, int64_t n_in, int64_t n_out, const int64_t* h, const real* s,
                  const real* g, real* dx, bint add) noexcept nogil:
    cdef int64_t line, i
    cdef int threads = threads_for(lines * n_in)
    for line in prange(lines, num_threads=threads, schedule="static"):
        for i in range(n_in):
            dx[line * n_in + i] = ((dx[line * n_in + i] if add else 0)
                                   + s[i] * g[line * n_out + h[i]])


register_operator("_contrib_count_sketch", CountSketchProperty)
