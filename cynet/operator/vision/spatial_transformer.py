"""SpatialTransformer: BilinearSampler at the grid that GridGenerator makes of affine maps.

data (N, C, H, W) and loc (N, 6) give (N, C, *target_shape) (Jaderberg et al., "Spatial transformer
networks", 2015). The grid is in temporary memory, and is made again for the gradients.
"""

from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, Enum, Shape
from ..second_order import Rewrite
from .grid_generator import checked_target_shape, infer_theta_shape
from .planes import unify_planes


class SpatialTransformerProperty(KernelProperty, operator="SpatialTransformer"):
    """Read data at the points of a grid of target_shape, moved by affine maps.

    The same as ``BilinearSampler(data, GridGenerator(loc, transform_type='affine',
    target_shape=target_shape))``. Both inputs have a gradient.
    """

    target_shape = Shape((0, 0), doc="Height and width of the output.")
    transform_type = Enum(("affine",), doc="Contents of loc.")
    sampler_type = Enum(("bilinear",), doc="How data is read between pixels.")
    cudnn_off = Bool(None, doc="Part of MXNet's signature; not used.")

    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {"data": "Input (N, C, H, W).", "loc": "Affine maps (N, 6), row by row."}
    forward = Kernel("spatial_transformer", ("data", "loc"))
    backward = Kernel("spatial_transformer_grad", ("d_output", "data", "loc"), ("d_data", "d_loc"))
    example = """
    >>> x = mx.nd.array([[[[0, 1], [2, 3]]]])
    >>> mirror = mx.nd.array([[-1, 0, 0, 0, 1, 0]])
    >>> mx.nd.SpatialTransformer(x, mirror, target_shape=(2, 2), transform_type="affine",
    ...                          sampler_type="bilinear")
    [[[[1. 0.]
       [3. 2.]]]]
    <NDArray 1x1x2x2 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        checked_target_shape(self)

    def infer_shape(self, in_shapes, out_shapes):
        data = unify_planes("data", in_shapes[0], (0, 0, 0, 0))
        loc = infer_theta_shape("loc", in_shapes[1], data[0])
        out = unify_planes("output", out_shapes[0], (loc[0], data[1], *self.target_shape))
        return (
            [unify_planes("data", data, (*out[:2], 0, 0)), infer_theta_shape("loc", loc, out[0])],
            [out],
            [],
        )

    def compose_outputs(self, F, inputs, aux, training):
        data, loc = inputs
        grid = F.GridGenerator(loc, transform_type="affine", target_shape=self.target_shape)
        return [F.BilinearSampler(data, grid)]

    second_order = Rewrite(compose_outputs)
