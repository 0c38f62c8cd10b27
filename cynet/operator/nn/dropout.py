"""Dropout: out = data * mask / (1 - p), mask random ones and zeros; out has data's shape."""

from ...base.errors import ShapeError
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, Enum, Float, Shape
from ..property import merge_shapes
from ..second_order import Flat


class DropoutHooks(GraphHooks):
    def draws_in_prediction(self, prop):
        return prop.mode == "always"


class DropoutProperty(KernelProperty, operator="Dropout"):
    """Set each element to 0 with probability `p`, and divide the others by ``1 - p``.

    Done in training only, unless ``mode='always'``; otherwise out is data. Along `axes` all
    elements share one fate.
    """

    p = Float(0.5, doc="Probability of an element to be dropped.", low=0.0, high=1.0)
    mode = Enum(
        ("training", "always"),
        "training",
        doc="Whether elements are dropped in training only, or always.",
    )
    axes = Shape((), doc="Axes along which the mask repeats.", low=0)
    cudnn_off = Bool(False, doc="Part of MXNet's signature; not used.")

    graph = DropoutHooks(float32_beside_half=())
    inputs_doc = {"data": "Input of any shape."}
    forward = Kernel(
        "dropout", writes=("output", "mask"), in_place=(("data", "output"),), draws=True
    )
    backward = Kernel(
        "dropout_grad", ("d_output", "mask"), ("d_data",), in_place=(("d_output", "d_data"),)
    )
    second_order = Flat()
    drawn_as = "norm"
    output_names = ("output", "mask")
    example = """
    >>> x = mx.nd.ones((100, 100))
    >>> mx.nd.Dropout(x, p=0.4).mean()  # outside of training: unchanged
    [1.]
    <NDArray 1 @cpu(0)>
    >>> mx.random.seed(1)
    >>> with mx.autograd.train_mode():
    ...     y = mx.nd.Dropout(x, p=0.4)
    ...
    >>> round(float((y == 0).mean()), 1), round(float(y.max()), 3)
    (0.4, 1.667)
    """

    def num_visible_outputs(self):
        return 1

    def infer_shape(self, in_shapes, out_shapes):
        data = merge_shapes(in_shapes[0], out_shapes[0])
        mask = data
        if data is not None:
            if any(axis >= len(data) for axis in self.axes):
                raise ShapeError(f"axes {self.axes} are out of range for data of shape {data}")
            mask = tuple(1 if axis in self.axes else size for axis, size in enumerate(data))
        return [data], [data, mask], []

    def infer_type(self, in_types, out_types):
        known = in_types[0] or out_types[0]
        return [known], [known, "bool"], []

    def kernel_params(self, in_shapes):
        shape, step = in_shapes[0], 1
        stride = [0] * len(shape)  # strides of the mask
        for axis in reversed(range(len(shape))):
            if axis not in self.axes:
                stride[axis] = step
                step *= shape[axis]
        found = {"always": self.mode == "always", "repeats": bool(self.axes)}
        return {**found, "stride": stride}
