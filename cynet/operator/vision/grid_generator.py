"""GridGenerator: grids (N, 2, H, W) of the x and y at which BilinearSampler reads.

affine: data (N, 6) is theta, and ``(x, y) = theta (u, v, 1)`` for u and v from -1 to 1 (Jaderberg
et al., "Spatial transformer networks", 2015). warp: data (N, 2, H, W) is a flow in pixels, and each
pixel's point is where the flow leads.
"""

from ...base.errors import ArgumentError, ShapeError
from ..checks.shapes import unify_shapes
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Enum, Shape
from ..second_order import Linear
from .planes import unify_planes


def checked_target_shape(prop):
    """Return (H, W) of parameter target_shape; raise ArgumentError if it is missing."""
    shape = prop.target_shape
    if len(shape) != 2 or min(shape) < 1:
        raise ArgumentError(
            f"operator {prop.op_name}: target_shape must be (H, W), each at least 1, got {shape}"
        )
    return shape


def infer_theta_shape(name, shape, batch):
    """Return the shape (batch, 6) of affine maps."""
    if shape is not None and len(shape) != 2:
        raise ShapeError(f"{name} has shape {tuple(shape)}, expected (N, 6)")
    return unify_shapes(name, shape, (batch, 6))


class GridGeneratorProperty(KernelProperty, operator="GridGenerator"):
    """Points at which BilinearSampler reads, from affine maps or from a flow.

    ``transform_type='affine'``: data (N, 6) are maps theta, row by row; point (u, v), which go from
    -1 to 1 over target_shape (and are 0 along an axis of length 1), becomes ``theta (u, v, 1)``.
    ``'warp'``: data (N, 2, H, W) is a flow, x then y, in pixels; the point of each pixel is where
    its flow leads, and target_shape is not read.
    """

    transform_type = Enum(("affine", "warp"), doc="Contents of data.")
    target_shape = Shape((0, 0), doc="Height and width of the grid, for 'affine'.")

    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {"data": "Affine maps (N, 6), or a flow (N, 2, H, W)."}
    forward = Kernel("grid_generator")
    backward = Kernel("grid_generator_grad", ("d_output",), ("d_data",))
    second_order = Linear(affine=True)
    example = """
    >>> same = mx.nd.array([[1, 0, 0, 0, 1, 0]])
    >>> mx.nd.GridGenerator(same, transform_type="affine", target_shape=(2, 2))[0, 0]  # x
    [[-1.  1.]
     [-1.  1.]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if self.transform_type == "affine":
            checked_target_shape(self)

    def infer_shape(self, in_shapes, out_shapes):
        data, out = in_shapes[0], out_shapes[0]
        if self.transform_type == "warp":
            out = unify_planes("output", out, unify_planes("data", data, (0, 2, 0, 0)))
            return [out], [out], []
        data = infer_theta_shape("data", data, 0)
        out = unify_planes("output", out, (data[0], 2, *self.target_shape))
        return [unify_shapes("data", data, (out[0], 6))], [out], []

    def kernel_params(self, in_shapes):
        return {"warp": self.transform_type == "warp"}
