"""Activation: an elementwise nonlinearity; data and out have one shape."""

from collections.abc import Callable
from typing import NamedTuple

from .._elementwise import LoopsOperator
from ..checks.dtypes import FLOATS, require_float_cpu
from ..functions.row import BACKWARD_READS
from ..parameters import Enum
from ..precision import Precision
from ..second_order import Formula
from ..tensor.unary import UnaryHooks, UnaryProperty


class ActivationFunction(NamedTuple):  # an act_type's functors and derivative
    """Names in functors.h of an act_type and its gradient, the argument of the gradient, and the
    derivative ``(F, x, y)`` by operators."""

    functor: str
    gradient: str
    reads: str
    derivative: Callable


FUNCTIONS = {  # by act_type
    "relu": ActivationFunction("relu", "relu_grad_y", "y", lambda F, x, y: y > 0),
    "sigmoid": ActivationFunction("sigmoid", "sigmoid_grad_y", "y", lambda F, x, y: y * (1 - y)),
    "softrelu": ActivationFunction(
        "softrelu",
        "softrelu_grad_y",
        "y",
        lambda F, x, y: 1 - F.exp(-y) if y is not None else F.sigmoid(x),
    ),
    "softsign": ActivationFunction(
        "softsign", "softsign_grad", "x", lambda F, x, y: F.reciprocal(F.square(F.abs(x) + 1))
    ),
    "tanh": ActivationFunction("tanh", "tanh_grad_y", "y", lambda F, x, y: 1 - F.square(y)),
}


class ActivationHooks(UnaryHooks):
    """Graph hooks: the layer before an activation can apply the activation itself."""

    def activation(self, prop):
        return prop.act_type


class ActivationProperty(UnaryProperty, operator="Activation"):
    """Elementwise nonlinearity, by `act_type`.

    - relu: ``max(x, 0)``
    - sigmoid: ``1 / (1 + exp(-x))``
    - softrelu: ``log(1 + exp(x))``
    - softsign: ``x / (1 + |x|)``
    - tanh: ``tanh(x)``
    """

    graph = ActivationHooks(elementwise=True, float32_beside_half=())
    act_type = Enum(tuple(FUNCTIONS), doc="The function to apply.")

    inputs_doc = {"data": "Input of any shape."}
    amp = Precision(float32_where={"act_type": ("softrelu",)})
    drawn_as = "activation"
    example = """
    >>> mx.nd.Activation(mx.nd.array([-1, 0, 2]), act_type="relu")
    [0. 0. 2.]
    <NDArray 3 @cpu(0)>
    >>> mx.nd.Activation(mx.nd.array([-1, 0, 2]), act_type="tanh")
    [-0.7615942  0.         0.9640276]
    <NDArray 3 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.functor, self.gradient, self.reads, _ = FUNCTIONS[self.act_type]
        self.backward_reads = BACKWARD_READS[self.reads]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types, (*FLOATS, "bfloat16"))
        return LoopsOperator(self, in_types[0])

    def gradients(self, F, g, x, y):
        """Gradients, computed by operators."""
        derivative = FUNCTIONS[self.act_type].derivative
        return [lambda: g[0] * derivative(F, x[0], y[0])]

    second_order = Formula(gradients)
