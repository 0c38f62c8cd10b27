"""count_sketch: lines projected to fewer elements: each is added, with a sign, to one sum.

out[..., h[i]] = sum over i of s[i] * data[..., i]; data (..., in_dim), h and s (in_dim) or
(1, in_dim), out (..., out_dim). Only data has a gradient: s[i] * out_grad[..., h[i]].
"""

from ...base.errors import BoundsError, ShapeError
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Int
from ..precision import FLOAT32, Precision
from ..property import merge_shapes
from ..second_order import Linear


class CountSketchProperty(KernelProperty, operator="_contrib_count_sketch"):
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
    processing_batch_size = Int(32, doc="Part of MXNet's signature; not used.", low=1)
    zeros = ("d_h", "d_s")
    forward = Kernel("count_sketch", ("data", "h", "s"))
    backward = Kernel("count_sketch_grad", ("d_output", "h", "s"), ("d_data",))
    second_order = Linear({0: ()})
    amp = Precision(FLOAT32)
    example = """
    >>> x = mx.nd.array([[1, 2, 3]])
    >>> place, sign = mx.nd.array([[0, 1, 0]]), mx.nd.array([[1, -1, 1]])
    >>> mx.nd.contrib.count_sketch(x, place, sign, out_dim=2)
    [[ 4. -2.]]
    <NDArray 1x2 @cpu(0)>
    """

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
                raise ShapeError(
                    f"operator {self.op_name}: '{name}' has shape {tuple(side)}, "
                    f"expected (1, {length})"
                )
            elif side is None and len(next((o for o in (h, s) if o is not None), (1, 1))) == 1:
                side = (length,)
            else:
                side = merge_shapes(side, (1, length))
            sides.append(side)
        out = merge_shapes((*data[: len(data) - 1], self.out_dim), out)
        return [(*out[: len(out) - 1], length), *sides], [out], []

    def kernel_error(self, item, values):
        return BoundsError(
            f"operator {self.op_name}: number {item} of 'h' is not in [0, {self.out_dim})"
        )
