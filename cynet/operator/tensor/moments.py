"""moments: mean and population variance over some axes."""

from math import prod

from ...base.errors import ArgumentError
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, Shape
from ..precision import FLOAT32, Precision
from ..property import merge_shapes
from ..second_order import Rewrite
from .axes import axes_of
from .strided_moves import whole_view


class MomentsProperty(KernelProperty, operator="moments"):
    """Mean and variance over `axes`: two outputs, each of the shape that ``mean`` gives."""

    inputs_doc = {"data": "The input, any shape."}
    forward = Kernel("moments", ("data",), ("output0", "output1"))
    backward = Kernel("moments_grad", ("d_output0", "d_output1", "data"), ("d_data",))
    floats = ()
    axes = Shape(None, doc="Axes to take mean and variance over; required, all for global ones.")
    keepdims = Bool(False, doc="Keep the axes, with length 1.")
    amp = Precision(FLOAT32)
    output_names = ("output0", "output1")
    example = """
    >>> mean, var = mx.nd.moments(mx.nd.array([[1, 2, 3], [4, 4, 4]]), axes=1)
    >>> mean
    [2. 4.]
    <NDArray 2 @cpu(0)>
    >>> var
    [0.6666667 0.       ]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if not self.axes:
            raise ArgumentError(
                f"operator {self.op_name}: parameter 'axes' must name at least one "
                "axis; name all axes for moments of the whole array"
            )

    def infer_shape(self, in_shapes, out_shapes):
        shape = in_shapes[0]
        if shape is None:
            return [None], list(out_shapes), []
        axes = axes_of(self.axes, len(shape))
        if self.keepdims:
            out = tuple([1 if i in axes else n for i, n in enumerate(shape)])
        else:
            out = tuple([n for i, n in enumerate(shape) if i not in axes]) or self.no_axes
        out = merge_shapes(out, *out_shapes)
        return [shape], [out, out], []

    def kernel_params(self, in_shapes):
        axes = axes_of(self.axes, len(in_shapes[0]))
        lengths = list(zip(in_shapes[0], whole_view(in_shapes[0]).strides))
        outer = [each for i, each in enumerate(lengths) if i not in axes]
        folded = [each for i, each in enumerate(lengths) if i in axes]
        return {
            "n_preserved": len(outer),
            "n_folded": len(folded),
            "preserved": [n for n, _ in outer],
            "preserved_strides": [stride for _, stride in outer],
            "folded": [n for n, _ in folded],
            "folded_strides": [stride for _, stride in folded],
            "outputs": prod(n for n, _ in outer),
            "each": prod(n for n, _ in folded),
        }

    def compose_outputs(self, F, inputs, aux, training):
        (data,) = inputs
        mean = F.mean(data, axis=self.axes, keepdims=True)
        apart = F.square(F.broadcast_sub(data, mean))
        return [F.mean(x, axis=self.axes, keepdims=self.keepdims) for x in (data, apart)]

    second_order = Rewrite(compose_outputs)
