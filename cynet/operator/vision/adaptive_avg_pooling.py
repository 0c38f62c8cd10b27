"""AdaptiveAvgPooling2D: means of windows that cover the planes of data (N, C, H, W) evenly.

Row i of H' covers rows ``i * H // H'`` to ``ceil((i + 1) * H / H')``, and columns alike.
"""

from ...base.errors import ArgumentError
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Shape
from ..second_order import Linear
from .planes import unify_planes


class AdaptiveAvgPooling2DProperty(KernelProperty, operator="_contrib_AdaptiveAvgPooling2D"):
    """Pool the planes of (N, C, H, W) to output_size by means, whatever their size.

    Output row i is the mean of the rows from ``floor(i * H / H')`` to ``ceil((i + 1) * H / H')``,
    that one excluded, and columns alike.
    """

    output_size = Shape((), doc="(H', W'), or one number for both; 1 by default.", low=1)

    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {"data": "Input (N, C, H, W)."}
    forward = Kernel("adaptive_avg_pool")
    backward = Kernel("adaptive_avg_pool_grad", ("d_output",), ("d_data",))
    second_order = Linear()
    example = """
    >>> x = mx.nd.arange(16).reshape((1, 1, 4, 4))
    >>> mx.nd.contrib.AdaptiveAvgPooling2D(x, output_size=2)
    [[[[ 2.5  4.5]
       [10.5 12.5]]]]
    <NDArray 1x1x2x2 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if len(self.output_size) > 2:
            raise ArgumentError(
                f"operator {self.op_name}: output_size {self.output_size} must have one or two "
                "numbers"
            )

    def infer_shape(self, in_shapes, out_shapes):
        sizes = {0: (1, 1), 1: self.output_size * 2, 2: self.output_size}[len(self.output_size)]
        data = unify_planes("data", in_shapes[0], (0, 0, 0, 0))
        out = unify_planes("output", out_shapes[0], (*data[:2], *sizes))
        return [unify_planes("data", data, (*out[:2], 0, 0))], [out], []
