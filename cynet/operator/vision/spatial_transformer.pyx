# cython: wraparound=True
"""SpatialTransformer: BilinearSampler at the grid that GridGenerator makes of affine maps.

data (N, C, H, W) and loc (N, 6) give (N, C, *target_shape) (Jaderberg et al., "Spatial transformer
networks", 2015). The grid is in temporary memory, and is made again for the gradients.
"""

from libc.stdint cimport int64_t

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, dtype_size, kAddTo, kNullOp
from ...kernels.vision.grid cimport affine_grid, affine_grid_backward
from ...kernels.vision.sampler cimport (
    SamplerShape, sample, sample_backward_data, sample_backward_grid
)
from .._base cimport Operator, OpContext

from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Bool, Enum, Shape
from ..property import OperatorProperty, ResourceRequest
from .grid_generator import check_target, infer_theta
from .planes import merged


class SpatialTransformerProperty(OperatorProperty):
    """Read data at the points to which affine maps move a grid of target_shape.

    The same as ``BilinearSampler(data, GridGenerator(loc, transform_type='affine',
    target_shape=target_shape))``. Both inputs have a gradient.
    """

    target_shape = Shape((0, 0), doc="Height and width of the output.")
    transform_type = Enum(("affine",), doc="What loc is.")
    sampler_type = Enum(("bilinear",), doc="How data is read between pixels.")
    cudnn_off = Bool(None, doc="Accepted and not needed.")

    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {"data": "Input (N, C, H, W).", "loc": "Affine maps (N, 6), row by row."}

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        check_target(self)

    def infer_shape(self, in_shapes, out_shapes):
        data = merged("data", in_shapes[0], (0, 0, 0, 0))
        loc = infer_theta("loc", in_shapes[1], data[0])
        out = merged("output", out_shapes[0], (loc[0], data[1], *self.target_shape))
        return [merged("data", data, (*out[:2], 0, 0)), infer_theta("loc", loc, out[0])], [out], []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def backward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], *in_data]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return TransformerOperator(in_shapes[0], self.target_shape)


cdef class TransformerOperator(Operator):
    cdef SamplerShape shape
    cdef int64_t height, width

    def __init__(self, data, target):
        cdef SamplerShape* s = &self.shape
        s.batch, s.channels, s.height, s.width = data
        self.height, self.width = target
        s.points = self.height * self.width

    cdef char* _grid(self, OpContext* ctx, const TBlob* loc, int n) except NULL nogil:
        """The grid, at the begin of memory for `n` of them."""
        cdef size_t room = self.shape.batch * 2 * self.shape.points * dtype_size(loc.dtype)
        cdef char* grid = <char*>get_space(&ctx.requested[0], n * room)
        affine_grid(loc.dtype, self.shape.batch, self.height, self.width, loc.data, grid, False)
        return grid

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp:
            sample(in_data[0].dtype, &self.shape, in_data[0].data,
                   self._grid(ctx, &in_data[1], 1), out_data[0].data, req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int dtype = out_grad[0].dtype
        cdef char* grid
        cdef char* dgrid
        if req[0] == kNullOp and req[1] == kNullOp:
            return 0
        grid = self._grid(ctx, &in_data[1], 2)
        dgrid = grid + self.shape.batch * 2 * self.shape.points * dtype_size(dtype)
        if req[0] != kNullOp:
            sample_backward_data(dtype, &self.shape, grid, out_grad[0].data, in_grad[0].data,
                                 req[0] == kAddTo)
        if req[1] != kNullOp:
            sample_backward_grid(dtype, &self.shape, in_data[0].data, grid, out_grad[0].data,
                                 dgrid, False)
            affine_grid_backward(dtype, self.shape.batch, self.height, self.width, dgrid,
                                 in_grad[1].data, req[1] == kAddTo)
        return 0


register_operator("SpatialTransformer", SpatialTransformerProperty)
