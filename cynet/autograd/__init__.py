"""``mx.autograd``: gradients of imperative computations.

Inside ``record()`` each operator on an array that has a gradient, or was computed from one, is
recorded; ``backward()`` of a result fills the gradients.

>>> x = mx.nd.array([1, 2])
>>> x.attach_grad()
>>> with mx.autograd.record():
...     y = (x * x).sum()
>>> y.backward()
>>> x.grad.asnumpy().tolist()
[2.0, 4.0]
"""

from .function import Function
from .graph import get_symbol
from .heads import backward, grad, mark_variables
from .mapping import vmap
from .scopes import (
    is_recording,
    is_training,
    pause,
    predict_mode,
    record,
    set_recording,
    set_training,
    train_mode,
)
from .transforms import hessian_vector_product, jacobian, jvp, value_and_grad, vjp

__all__ = [
    "Function",
    "backward",
    "get_symbol",
    "grad",
    "hessian_vector_product",
    "is_recording",
    "is_training",
    "jacobian",
    "jvp",
    "mark_variables",
    "pause",
    "predict_mode",
    "record",
    "set_recording",
    "set_training",
    "train_mode",
    "value_and_grad",
    "vjp",
    "vmap",
]
