# cython: wraparound=True
"""BilinearSampler: data (N, C, H, W), read at points of grid (N, 2, H', W'), gives (N, C, H', W').

A point x, y in [-1, 1] lies at pixel ``((x + 1) (W - 1) / 2, (y + 1) (H - 1) / 2)``; its value is
the bilinear interpolation of the four pixels around it, those outside being zeros.
"""

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.vision.sampler cimport (
    SamplerShape, sample, sample_backward_data, sample_backward_grid
)
from .._base cimport Operator, OpContext

from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Bool
from ..property import OperatorProperty
from .planes import merged


class BilinearSamplerProperty(OperatorProperty):
    """Read data at the points of a grid, by bilinear interpolation.

    Points have x and y (the two channels of grid) in [-1, 1], which the outer pixels' centres span;
    pixels outside are zeros. Both inputs have a gradient.
    """

    cudnn_off = Bool(None, doc="Accepted and not needed.")

    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {"data": "Input (N, C, H, W).", "grid": "Points (N, 2, H', W'): x, then y."}

    def infer_shape(self, in_shapes, out_shapes):
        data = merged("data", in_shapes[0], (0, 0, 0, 0))
        grid = merged("grid", in_shapes[1], (data[0], 2, 0, 0))
        out = merged("output", out_shapes[0], (grid[0], data[1], *grid[2:]))
        grid = merged("grid", grid, (out[0], 2, *out[2:]))
        return [merged("data", data, (*out[:2], 0, 0)), grid], [out], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], *in_data]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return SamplerOperator(in_shapes[0], in_shapes[1])


cdef class SamplerOperator(Operator):
    cdef SamplerShape shape

    def __init__(self, data, grid):
        cdef SamplerShape* s = &self.shape
        s.batch, s.channels, s.height, s.width = data
        s.points = grid[2] * grid[3]

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp:
            sample(in_data[0].dtype, &self.shape, in_data[0].data, in_data[1].data,
                   out_data[0].data, req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp:
            sample_backward_data(in_data[0].dtype, &self.shape, in_data[1].data, out_grad[0].data,
                                 in_grad[0].data, req[0] == kAddTo)
        if req[1] != kNullOp:
            sample_backward_grid(in_data[0].dtype, &self.shape, in_data[0].data, in_data[1].data,
                                 out_grad[0].data, in_grad[1].data, req[1] == kAddTo)
        return 0


register_operator("BilinearSampler", BilinearSamplerProperty)
