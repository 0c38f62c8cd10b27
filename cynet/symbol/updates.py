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
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    out: None = None,
    name: str | None = None,
    **kwargs: Any,
) -> Symbol:
    """AdamW's step, see ``mx.nd.contrib.adamw_update``."""
    betas = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon}
    params = {"lr": lr, "eta": eta, "wd": wd, "clip_gradient": clip_gradient, **betas}
    inputs = weight, grad, mean, var
    return _call("_adamw_update", inputs, rescale_grad, out=out, name=name, **params, **kwargs)


def mp_adamw_update(
    weight: Symbol,
    grad: Symbol,
    mean: Symbol,
    var: Symbol,
    weight32: Symbol,
    rescale_grad: Symbol | float,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    out: None = None,
    name: str | None = None,
    **kwargs: Any,
) -> Symbol:
    """AdamW's step on a float32 master, see ``mx.nd.contrib.mp_adamw_update``."""
    betas = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon}
    params = {"lr": lr, "eta": eta, "wd": wd, "clip_gradient": clip_gradient, **betas}
    inputs = weight, grad, mean, var, weight32
    return _call("_mp_adamw_update", inputs, rescale_grad, out=out, name=name, **params, **kwargs)


def _call(operator, inputs, rescale_grad, **kwargs):
    if not hasattr(rescale_grad, "list_arguments"):
        rescale_grad = full((1,), rescale_grad, dtype="float32")
    return function_of(operator, OPERATORS.get(operator))(*inputs, rescale_grad, **kwargs)
