"""softmax, log_softmax, softmin along an axis, and SoftmaxActivation; out has data's shape."""

from math import prod

from ...base.errors import ArgumentError, ArgumentTypeError, ShapeError
from ..checks.shapes import unify_shapes
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..out_dtype import OutDType, cast_gradients_back
from ..parameters import Bool, Double, Enum, Int
from ..precision import FLOAT32, Precision
from ..property import merge_shapes
from ..second_order import Formula
from ..tensor.axes import normalize_axis, sizes_around_axis

LINE_COST = 8  # fixed cost of a line, in units of the cost of one element


def softmax_params(outer, n, inner, temperature=1.0, log_of=False):
    """Parameters of softmax kernels, for lines along the middle of (outer, n, inner)."""
    return {"outer": outer, "n": n, "inner": inner, "temperature": temperature, "log_of": log_of}


def softmax_cost_elements(shape, params):
    return prod(shape) + LINE_COST * params["outer"] * params["inner"]


class SoftmaxProperty(OutDType, KernelProperty, operator="softmax"):
    """Softmax along `axis`: ``out = exp(data / temperature) / sum(exp(data / temperature))``.

    With `use_length` a second input says how many of the first entries along `axis` take part; the
    output of the others is 0.
    """

    axis = Int(-1, doc="The axis whose entries sum to 1.")
    temperature = Double(None, doc="Data are divided by it first; 1 by default, not 0.")
    dtype = Enum(
        ("float16", "float32", "float64"), None, doc="Type of the output; by default that of data."
    )
    use_length = Bool(False, doc="Whether the input `length` is given.")

    graph = GraphHooks(float32_beside_half=("length",))
    inputs_doc = {
        "data": "Input of any shape.",
        "length": "int32 or int64 of data's shape without `axis`.",
    }
    forward = Kernel("softmax", ("data", "length?"), in_place=(("data", "output"),))
    backward = Kernel(
        "softmax_grad",
        ("d_output", "output", "length?"),
        ("d_data",),
        in_place=(("d_output", "d_data"),),
    )
    zeros = ("d_length?",)
    floats = ("data",)
    sign, log_of = 1.0, False
    amp = Precision(FLOAT32)
    methods = ("softmax",)
    drawn_as = "loss"
    example = """
    >>> x = mx.nd.array([[1, 1, 2], [0, 0, 0]])
    >>> mx.nd.softmax(x)
    [[0.21194157 0.21194157 0.5761169 ]
     [0.33333334 0.33333334 0.33333334]]
    <NDArray 2x3 @cpu(0)>
    >>> mx.nd.softmax(x, mx.nd.array([2, 3], dtype="int32"), use_length=True)
    [[0.5        0.5        0.        ]
     [0.33333334 0.33333334 0.33333334]]
    <NDArray 2x3 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if self.temperature == 0:
            raise ArgumentError(f"operator {self.op_name}: temperature must not be 0")

    def list_arguments(self):
        return ["data", "length"] if self.use_length else ["data"]

    def infer_shape(self, in_shapes, out_shapes):
        data = merge_shapes(in_shapes[0], out_shapes[0])
        shapes = [data, *in_shapes[1:]]
        if data is not None:
            axis = self.positive_axis(data)
            if self.use_length:
                shapes[1] = unify_shapes("length", in_shapes[1], data[:axis] + data[axis + 1 :])
        return shapes, [data], []

    def positive_axis(self, shape):
        """Return the axis as an index of 0 or more."""
        return normalize_axis(self.axis, shape)

    def infer_type(self, in_types, out_types):
        ins, outs, _ = super().infer_type(in_types, out_types)
        return [ins[0], *(t or "int32" for t in in_types[1:])], outs, []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        # if the output has another dtype, data determines the dtype of its gradient
        read = super().declare_backward_dependency(out_grad, in_data, out_data)
        return read if self.dtype is None else [*read, in_data[0]]

    def forward_inplace_option(self, in_data, out_data):
        return [] if self.dtype else super().forward_inplace_option(in_data, out_data)

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        if self.dtype:
            return []
        return super().backward_inplace_option(out_grad, in_data, out_data, in_grad)

    def create_without_cast(self, ctx, in_shapes, in_types):
        if self.use_length and in_types[1] not in ("int32", "int64"):
            raise ArgumentTypeError(
                f"operator {self.op_name}: length is {in_types[1]}, expected int32 or int64"
            )
        return KernelProperty.create_operator(self, ctx, in_shapes, in_types)

    def kernel_params(self, in_shapes):
        sizes = sizes_around_axis(in_shapes[0], self.positive_axis(in_shapes[0]))
        return softmax_params(*sizes, self.sign * (self.temperature or 1.0), self.log_of)

    def cost_elements(self, in_shapes):
        return softmax_cost_elements(in_shapes[0], self.kernel_params(in_shapes))

    def gradients(self, F, g, x, y):
        """Gradients, computed by operators."""

        def gradient():
            inner = F.sum(g[0] * y[0], axis=self.axis, keepdims=True)
            out = y[0] * F.broadcast_sub(g[0], inner)
            scale = self.sign / (self.temperature or 1.0)
            return out if scale == 1 else out * scale

        return [gradient, None]

    second_order = Formula(cast_gradients_back(gradients))


class LogSoftmaxProperty(SoftmaxProperty, operator="log_softmax"):
    """Logarithm of the softmax along `axis`, computed without losing small numbers."""

    log_of = True
    unlisted = ("length",)
    methods = ("log_softmax",)
    drawn_as = "loss"
    example = """
    >>> x = mx.nd.array([[1, 1, 2], [0, 0, 0]])
    >>> mx.nd.log_softmax(x)
    [[-1.5514446  -1.5514446  -0.55144465]
     [-1.0986123  -1.0986123  -1.0986123 ]]
    <NDArray 2x3 @cpu(0)>
    """

    def gradients(self, F, g, x, y):
        """Gradients, computed by operators."""

        def gradient():
            inner = F.sum(g[0], axis=self.axis, keepdims=True)
            out = g[0] - F.broadcast_mul(F.exp(y[0]), inner)
            return out if (self.temperature or 1.0) == 1 else out / self.temperature

        return [gradient, None]

    second_order = Formula(cast_gradients_back(gradients))


class SoftminProperty(SoftmaxProperty, operator="softmin"):
    """Softmax of ``-data`` along `axis`: the smallest entry gets the most."""

    sign = -1.0
    unlisted = ("length",)
    methods = ("softmin",)
    example = """
    >>> x = mx.nd.array([[1, 1, 2], [0, 0, 0]])
    >>> mx.nd.softmin(x)
    [[0.42231882 0.42231882 0.15536241]
     [0.33333334 0.33333334 0.33333334]]
    <NDArray 2x3 @cpu(0)>
    """


class SoftmaxActivationProperty(KernelProperty, operator="SoftmaxActivation"):
    """Softmax along the last axis ('instance') or along axis 1 ('channel')."""

    mode = Enum(("channel", "instance"), "instance", doc="Which entries sum to 1.")

    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {"data": "Input, at least 2-d."}
    forward = Kernel("softmax", in_place=(("data", "output"),))
    backward = Kernel(
        "softmax_grad", ("d_output", "output"), ("d_data",), in_place=(("d_output", "d_data"),)
    )
    amp = Precision(FLOAT32)
    drawn_as = "loss"
    example = """
    >>> mx.nd.SoftmaxActivation(mx.nd.array([[1, 1, 2], [0, 0, 0]]))
    [[0.21194157 0.21194157 0.5761169 ]
     [0.33333334 0.33333334 0.33333334]]
    <NDArray 2x3 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        data = merge_shapes(in_shapes[0], out_shapes[0])
        if data is not None and len(data) < 2:
            raise ShapeError(f"data has shape {data}, expected at least 2 axes")
        return [data], [data], []

    def kernel_params(self, in_shapes):
        shape = in_shapes[0]
        if self.mode == "channel":
            return softmax_params(shape[0], shape[1], prod(shape[2:]))
        return softmax_params(prod(shape[:-1]), shape[-1], 1)

    def cost_elements(self, in_shapes):
        return softmax_cost_elements(in_shapes[0], self.kernel_params(in_shapes))

    def gradients(self, F, g, x, y):
        """Gradients, computed by operators."""

        def gradient():
            axes = 1 if self.mode == "channel" else tuple(range(1, y[0].ndim))
            inner = F.sum(g[0] * y[0], axis=axes, keepdims=True)
            return y[0] * F.broadcast_sub(g[0], inner)

        return [gradient]

    second_order = Formula(gradients)
