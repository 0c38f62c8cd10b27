"""AdamW's updates in mx.sym.contrib, whose factor of the gradient may be a number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..operator import OPERATORS
from .creation import full
from .register import function_of

if TYPE_CHECKING:
    from .symbol import Symbol


def adamw_update(
    weight: Symbol,
    grad: Symbol,
    mean: Symbol,
    var: Symbol,
    rescale_grad: Symbol | float,
    lr: float,
    eta: float,
    **kwargs: Any,
) -> Symbol:
    """AdamW's step, see ``mx.nd.contrib.adamw_update``."""
    return _call("_adamw_update", (weight, grad, mean, var), rescale_grad, lr, eta, kwargs)


def mp_adamw_update(
    weight: Symbol,
    grad: Symbol,
    mean: Symbol,
    var: Symbol,
    weight32: Symbol,
    rescale_grad: Symbol | float,
    lr: float,
    eta: float,
    **kwargs: Any,
) -> Symbol:
    """AdamW's step on a float32 master, see ``mx.nd.contrib.mp_adamw_update``."""
    inputs = weight, grad, mean, var, weight32
    return _call("_mp_adamw_update", inputs, rescale_grad, lr, eta, kwargs)


def _call(name, inputs, rescale_grad, lr, eta, kwargs):
    if not hasattr(rescale_grad, "list_arguments"):
        rescale_grad = full((1,), rescale_grad, dtype="float32")
    function = function_of(name, OPERATORS.get(name))
    return function(*inputs, rescale_grad, lr=lr, eta=eta, **kwargs)
