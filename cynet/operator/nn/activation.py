"""Activation: an elementwise nonlinearity; data and out have one shape."""

from typing import NamedTuple

from .._base import register_operator
from .._elementwise import LoopsOperator
from ..checks.dtypes import FLOATS, require_float_cpu
from ..parameters import Enum
from ..tensor.unary import UnaryHooks, UnaryProperty


class Function(NamedTuple):
    """Names in functors.h of an act_type and its gradient, and what that is a function of."""

    functor: str
    gradient: str
    reads: str


FUNCTIONS = {
    "relu": Function("relu", "relu_grad_y", "y"),
    "sigmoid": Function("sigmoid", "sigmoid_grad_y", "y"),
    "softrelu": Function("softrelu", "softrelu_grad_y", "y"),
    "softsign": Function("softsign", "softsign_grad", "x"),
    "tanh": Function("tanh", "tanh_grad_y", "y"),
}


class ActivationHooks(UnaryHooks):
    """The layer in front of it may compute it."""

    def activation(self, prop):
        return prop.act_type


class ActivationProperty(UnaryProperty):
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

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.functor, self.gradient, self.reads = FUNCTIONS[self.act_type]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types, (*FLOATS, "bfloat16"))
        return LoopsOperator(self, in_types[0])


register_operator("Activation", ActivationProperty)
