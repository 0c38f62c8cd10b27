# distutils: extra_compile_args = -O1
# cython: wraparound=True
"""GridGenerator: grids (N, 2, H, W) of the x and y at which BilinearSampler reads.

affine: data (N, 6) is theta, and ``(x, y) = theta (u, v, 1)`` for u and v from -1 to 1 (Jaderberg
et al., "Spatial transformer networks", 2015). warp: data (N, 2, H, W) is a flow in pixels, and each
pixel's point is where the flow leads.
"""

from libc.stdint cimport int64_t

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.vision.grid cimport affine_grid, affine_grid_backward, warp_grid
from .._base cimport Operator, OpContext

from ...base.errors import ArgumentError, ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..checks.shapes import agree
from ..graph_hooks import GraphHooks
from ..parameters import Enum, Shape
from ..property import OperatorProperty
from .planes import merged


def check_target(prop):
    """The (H, W) of parameter target_shape, which an affine map needs; ArgumentError."""
    shape = prop.target_shape
    if len(shape) != 2 or min(shape) < 1:
        raise ArgumentError(f"operator {prop.op_name}: target_shape must be (H, W), each at least "
                            f"1, got {shape}")
    return shape


def infer_theta(name, shape, batch):
    """The shape (batch, 6) of affine maps."""
    if shape is not None and len(shape) != 2:
        raise ShapeError(f"{name} has shape {tuple(shape)}, expected (N, 6)")
    return agree(name, shape, (batch, 6))


class GridGeneratorProperty(OperatorProperty):
    """Points at which BilinearSampler reads, from affine maps or from a flow.

    ``transform_type='affine'``: data (N, 6) are maps theta, row by row; point (u, v), which go from
    -1 to 1 over target_shape (and are 0 along an axis of length 1), becomes ``theta (u, v, 1)``.
    ``'warp'``: data (N, 2, H, W) is a flow, x then y, in pixels; the point of each pixel is where
    its flow leads, and target_shape is not read.
    """

    transform_type = Enum(("affine", "warp"), doc="What data is.")
    target_shape = Shape((0, 0), doc="Height and width of the grid, for 'affine'.")

    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {"data": "Affine maps (N, 6), or a flow (N, 2, H, W)."}

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if self.transform_type == "affine":
            check_target(self)

    def infer_shape(self, in_shapes, out_shapes):
        data, out = in_shapes[0], out_shapes[0]
        if self.transform_type == "warp":
            out = merged("output", out, merged("data", data, (0, 2, 0, 0)))
            return [out], [out], []
        data = infer_theta("data", data, 0)
        out = merged("output", out, (data[0], 2, *self.target_shape))
        return [agree("data", data, (out[0], 6))], [out], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0]]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, ["data"], in_types)
        (out,) = self.output_shapes(in_shapes)
        return GridOperator(self.transform_type == "affine", out)


cdef class GridOperator(Operator):
    cdef bint affine
    cdef int64_t batch, height, width

    def __init__(self, affine, out):
        self.affine = affine
        self.batch, _, self.height, self.width = out

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] == kNullOp:
            return 0
        if self.affine:
            affine_grid(in_data[0].dtype, self.batch, self.height, self.width, in_data[0].data,
                        out_data[0].data, req[0] == kAddTo)
        else:
            warp_grid(in_data[0].dtype, self.batch, self.height, self.width, False,
                      in_data[0].data, out_data[0].data, req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if req[0] == kNullOp:
            return 0
        if self.affine:
            affine_grid_backward(out_grad[0].dtype, self.batch, self.height, self.width,
                                 out_grad[0].data, in_grad[0].data, req[0] == kAddTo)
        else:
            warp_grid(out_grad[0].dtype, self.batch, self.height, self.width, True,
                      out_grad[0].data, in_grad[0].data, req[0] == kAddTo)
        return 0


register_operator("GridGenerator", GridGeneratorProperty)
