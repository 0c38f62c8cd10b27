"""softmax, log_softmax, softmin along an axis, and SoftmaxActivation; out has data's shape."""

from math import prod

from ...base.errors import ArgumentError, ArgumentTypeError, ShapeError
from .._base import register_operator
from ..checks.shapes import agree
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..out_dtype import OutDType
from ..parameters import Bool, Double, Enum, Int
from ..property import merge_shapes
from ..tensor.axes import data_axis, split_at

LINE_COST = 8  # of a line, however short, in elements


def softmax_params(outer, n, inner, temperature=1.0, log_of=False):
    """Of the kernels, for lines along the middle of (outer, n, inner)."""
    return {
        "outer": outer, "n": n, "inner": inner, "temperature": temperature, "log_of": log_of
    }  # fmt: skip


def softmax_work(shape, params):
    return prod(shape) + LINE_COST * params["outer"] * params["inner"]


class SoftmaxProperty(OutDType, KernelProperty):
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
            axis = self.position(data)
            if self.use_length:
                shapes[1] = agree("length", in_shapes[1], data[:axis] + data[axis + 1 :])
        return shapes, [data], []

    def position(self, shape):
        """The axis counted from the front."""
        return data_axis(self.axis, shape)

    def infer_type(self, in_types, out_types):
        ins, outs, _ = super().infer_type(in_types, out_types)
        return [ins[0], *(t or "int32" for t in in_types[1:])], outs, []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        # of another dtype than the output, data says that of its gradient
        read = super().declare_backward_dependency(out_grad, in_data, out_data)
        return read if self.dtype is None else [*read, in_data[0]]

    def forward_inplace_option(self, in_data, out_data):
        return [] if self.dtype else super().forward_inplace_option(in_data, out_data)

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        if self.dtype:
            return []
        return super().backward_inplace_option(out_grad, in_data, out_data, in_grad)

    def create_alike(self, ctx, in_shapes, in_types):
        if self.use_length and in_types[1] not in ("int32", "int64"):
            raise ArgumentTypeError(
                f"operator {self.op_name}: length is {in_types[1]}, expected int32 or int64"
            )
        return KernelProperty.create_operator(self, ctx, in_shapes, in_types)

    def kernel_params(self, in_shapes):
        sizes = split_at(in_shapes[0], self.position(in_shapes[0]))
        return softmax_params(*sizes, self.sign * (self.temperature or 1.0), self.log_of)

    def work(self, in_shapes):
        return softmax_work(in_shapes[0], self.kernel_params(in_shapes))


class LogSoftmaxProperty(SoftmaxProperty):
    """Logarithm of the softmax along `axis`, computed without losing small numbers."""

    log_of = True
    unlisted = ("length",)


class SoftminProperty(SoftmaxProperty):
    """Softmax of ``-data`` along `axis`: the smallest entry gets the most."""

    sign = -1.0
    unlisted = ("length",)


class SoftmaxActivationProperty(KernelProperty):
    """Softmax along the last axis ('instance') or along axis 1 ('channel')."""

    mode = Enum(("channel", "instance"), "instance", doc="Which entries sum to 1.")

    graph = GraphHooks(float32_beside_half=("length",))
    inputs_doc = {"data": "Input, at least 2-d."}
    forward = Kernel("softmax", in_place=(("data", "output"),))
    backward = Kernel(
        "softmax_grad", ("d_output", "output"), ("d_data",), in_place=(("d_output", "d_data"),)
    )

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

    def work(self, in_shapes):
        return softmax_work(in_shapes[0], self.kernel_params(in_shapes))


register_operator("softmax", SoftmaxProperty)
register_operator("log_softmax", LogSoftmaxProperty)
register_operator("softmin", SoftminProperty)
register_operator("SoftmaxActivation", SoftmaxActivationProperty)
