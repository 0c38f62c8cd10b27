"""BilinearSampler: reads data (N, C, H, W) at the points of grid (N, 2, H', W'); returns (N, C, H',
W').

A point x, y in [-1, 1] lies at pixel ``((x + 1) (W - 1) / 2, (y + 1) (H - 1) / 2)``; its value is
the bilinear interpolation of the four pixels around it, those outside being zeros.
"""

from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool
from ..second_order import Rewrite
from .between_pixels import sample_bilinear
from .planes import unify_planes


class BilinearSamplerProperty(KernelProperty, operator="BilinearSampler"):
    """Read data at the points of a grid, by bilinear interpolation.

    Points have x and y (the two channels of grid) in [-1, 1], which the outer pixels' centers span;
    pixels outside are zeros. Both inputs have a gradient.
    """

    cudnn_off = Bool(None, doc="Part of MXNet's signature; not used.")

    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {"data": "Input (N, C, H, W).", "grid": "Points (N, 2, H', W'): x, then y."}
    forward = Kernel("bilinear_sampler", ("data", "grid"))
    backward = Kernel("bilinear_sampler_grad", ("d_output", "data", "grid"), ("d_data", "d_grid"))
    example = """
    >>> x = mx.nd.array([[[[0, 1], [2, 3]]]])
    >>> grid = mx.nd.array([[[[0]], [[-1]]]])  # x and y, from -1 to 1
    >>> mx.nd.BilinearSampler(x, grid)
    [[[[0.5]]]]
    <NDArray 1x1x1x1 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        data = unify_planes("data", in_shapes[0], (0, 0, 0, 0))
        grid = unify_planes("grid", in_shapes[1], (data[0], 2, 0, 0))
        out = unify_planes("output", out_shapes[0], (grid[0], data[1], *grid[2:]))
        grid = unify_planes("grid", grid, (out[0], 2, *out[2:]))
        return [unify_planes("data", data, (*out[:2], 0, 0)), grid], [out], []

    def compose_outputs(self, F, inputs, aux, training):
        data, grid = inputs
        points = grid.reshape((grid.shape[0], 2, -1))
        column, row = (
            (F.slice_axis(points, axis=1, begin=i, end=i + 1).reshape((grid.shape[0], -1)) + 1)
            * ((data.shape[3 - i] - 1) / 2)
            for i in (0, 1)
        )
        out = sample_bilinear(F, data, row, column)
        return [out.reshape((*data.shape[:2], *grid.shape[2:]))]

    second_order = Rewrite(compose_outputs)
