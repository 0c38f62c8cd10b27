"""AdamW's updates in mx.sym.contrib, whose factor of the gradient may be a number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..operator import OPERATORS
from ..operator.paragraphs import with_paragraphs
from .creation import full
from .register import function_of

if TYPE_CHECKING:
    from .symbol import Symbol


_with_shared_docs = with_paragraphs(  # decorator that adds shared docs
    rest="""rescale_grad : Symbol or float
    Factor of the gradient; if it is 0, infinite or NaN, nothing is changed.
lr, eta, beta1, beta2, epsilon, wd, clip_gradient : float
    Factors of the formula and of the running means; bound of the gradient's elements, none if
    it is negative.
out : None
    Not used; symbols have no arrays to write to.
name : str, optional
    Name of the node.
**kwargs
    ``attr`` of the node."""
)


@_with_shared_docs
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
    """AdamW's step: ``weight - eta * (lr * mean / (sqrt(var) + epsilon) + wd * weight)``.

    Parameters
    ----------
    weight, grad, mean, var : Symbol
        The weight, its gradient, and the running means of the gradient and of its square, which are
        states that are updated; all of one shape.
    {rest}

    Examples
    --------
    >>> inputs = [mx.sym.var(name) for name in ("weight", "grad", "mean", "var")]
    >>> step = mx.sym.contrib.adamw_update(*inputs, rescale_grad=1, lr=1, eta=0.1)
    >>> arrays = {"weight": mx.nd.ones(2), "grad": mx.nd.ones(2)}
    >>> states = {"mean": mx.nd.zeros(2), "var": mx.nd.zeros(2)}
    >>> executor = step.bind(mx.cpu(), arrays, aux_states=states)
    >>> executor.forward()[0].asnumpy().round(3)
    array([0.684, 0.684], dtype=float32)
    """
    betas = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon}
    params = {"lr": lr, "eta": eta, "wd": wd, "clip_gradient": clip_gradient, **betas}
    inputs = weight, grad, mean, var
    return _apply("_adamw_update", inputs, rescale_grad, out=out, name=name, **params, **kwargs)


@_with_shared_docs
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
    """AdamW's step of a float16 weight, computed on its float32 master.

    Parameters
    ----------
    weight, grad : Symbol
        The weight and its gradient, float16, of one shape.
    mean, var, weight32 : Symbol
        The running means of the gradient and of its square, and the float32 copy of the weight; all
        float32, of the same shape, and states that are updated.
    {rest}

    Examples
    --------
    >>> inputs = [mx.sym.var(name) for name in ("weight", "grad", "mean", "var", "weight32")]
    >>> step = mx.sym.contrib.mp_adamw_update(*inputs, rescale_grad=1, lr=1, eta=0.1, name="step")
    >>> step.infer_shape(weight=(2, 3))[1]
    [(2, 3)]
    """
    betas = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon}
    params = {"lr": lr, "eta": eta, "wd": wd, "clip_gradient": clip_gradient, **betas}
    inputs = weight, grad, mean, var, weight32
    return _apply("_mp_adamw_update", inputs, rescale_grad, out=out, name=name, **params, **kwargs)


def _apply(operator, inputs, rescale_grad, **kwargs):  # rescale_grad becomes a Symbol
    if not hasattr(rescale_grad, "list_arguments"):
        rescale_grad = full((1,), rescale_grad, dtype="float32")
    return function_of(operator, OPERATORS.get(operator))(*inputs, rescale_grad, **kwargs)
