"""Updates of optimizers in mx.nd.contrib that are written in Python: lists of arrays for the
operators, and numbers where these take an array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, ArgumentTypeError
from ..operator.paragraphs import with_paragraphs
from .creation import full
from .functions import function_of
from .ndarray import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

_with_shared_docs = with_paragraphs(
    one="""rescale_grad : NDArray or float
    Factor of the gradient; if it is 0, infinite or NaN, nothing is changed.
lr, eta, beta1, beta2, epsilon, wd, clip_gradient : float
    Factors of the formula and of the running means; bound of the gradient's elements, none if
    it is negative.
out : NDArray, optional
    Array that the new weight is written to, usually `weight`.
name : str, optional
    Not used; only symbols have names.
**kwargs
    Further parameters of the operator.""",
    arrays="""weights, grads, mean, var : list of NDArray
    The weights, their gradients, and the running means of the gradients and of their squares,
    which are updated.""",
    masters="""weights, grads : list of NDArray
    The weights and their gradients, float16.
mean, var, weights32 : list of NDArray
    The running means of the gradients and of their squares, and the float32 copies of the
    weights; all are updated.""",
    several="""rescale_grad : NDArray or float
    Factor of all gradients; if it is 0, infinite or NaN, nothing is changed.
lrs, wds, etas : list of float
    Learning rate, weight decay and schedule multiplier of each weight.
out : list of NDArray, optional
    Arrays that the new weights are written to, usually `weights`.
name : str, optional
    Not used; only symbols have names.
size : int
    Number of weights; 0 takes it from the list.
**kwargs
    Further parameters: ``beta1``, ``beta2``, ``epsilon``, ``clip_gradient``.""",
    lamb="""step_count : list of int
    Number of the update of each weight, from 1.
lrs, wds : list of float
    Learning rate and weight decay of each weight.
out : list of NDArray, optional
    Arrays that the new weights are written to, usually `weights`.
num_tensors : int
    Number of weights; 0 takes it from the list.
**kwargs
    Further parameters: ``beta1``, ``beta2``, ``epsilon``, ``rescale_grad``, ``lower_bound``,
    ``upper_bound``, ``clip_gradient``, ``bias_correction``.""",
    result="""Returns
-------
list of NDArray
    Of the weights' dtype; of one weight the array.

Raises
------
ArgumentError, ArgumentTypeError
    If the lists are empty or not equally long, or hold something else.""",
)


def _as_array(rescale_grad, like):
    """A number as an array (1,) on the device of `like`; an array is copied there."""
    if isinstance(rescale_grad, NDArray):
        return rescale_grad.as_in_context(like.context)
    return full((1,), rescale_grad, ctx=like.context, dtype="float32")


def _group_by_weight(operator, lists):
    """Return the arrays of several lists in order: all of weight 0, all of weight 1, ..."""
    lengths = {name: len(arrays) for name, arrays in lists.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{n} {name}" for name, n in lengths.items())
        raise ArgumentError(f"{operator}: the lists must be equally long, got {counts}")
    if not lengths["weights"]:
        raise ArgumentError(f"{operator}: the list of weights is empty")
    for name, arrays in lists.items():
        for each in arrays:
            if not isinstance(each, NDArray):
                raise ArgumentTypeError(
                    f"{operator}: {name} must be a list of NDArray, it holds {type(each).__name__}"
                )
    return [each for arrays in zip(*lists.values()) for each in arrays]


@_with_shared_docs
def adamw_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    rescale_grad: NDArray | float,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    out: NDArray | None = None,
    name: str | None = None,
    **kwargs: Any,
) -> NDArray:
    """AdamW's step: ``weight - eta * (lr * mean / (sqrt(var) + epsilon) + wd * weight)``.

    Parameters
    ----------
    weight, grad, mean, var : NDArray
        The weight, its gradient, and the running means of the gradient and of its square, which are
        updated; all of one shape.
    {one}

    Examples
    --------
    >>> weight, mean, var = mx.nd.ones(2), mx.nd.zeros(2), mx.nd.zeros(2)
    >>> grad = mx.nd.array([1, -1])
    >>> mx.nd.contrib.adamw_update(weight, grad, mean, var, 1, lr=1, eta=0.1).asnumpy().round(3)
    array([0.684, 1.316], dtype=float32)
    """
    params = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "clip_gradient": clip_gradient}
    rescale = _as_array(rescale_grad, weight)
    return function_of("_adamw_update")(
        weight, grad, mean, var, rescale, lr=lr, eta=eta, wd=wd, out=out, **params, **kwargs
    )


@_with_shared_docs
def mp_adamw_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    weight32: NDArray,
    rescale_grad: NDArray | float,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    out: NDArray | None = None,
    name: str | None = None,
    **kwargs: Any,
) -> NDArray:
    """`adamw_update` of a float16 weight, computed on its float32 master.

    Parameters
    ----------
    weight, grad : NDArray
        The weight and its gradient, float16, of one shape.
    mean, var, weight32 : NDArray
        The running means of the gradient and of its square, and the float32 copy of the weight; all
        float32, of the same shape, and updated.
    {one}

    Examples
    --------
    >>> master, mean, var = mx.nd.ones(2), mx.nd.zeros(2), mx.nd.zeros(2)
    >>> weight, grad = master.astype("float16"), mx.nd.array([1, -1], dtype="float16")
    >>> _ = mx.nd.contrib.mp_adamw_update(weight, grad, mean, var, master, 1, 1, 0.1, out=weight)
    >>> weight.asnumpy().round(2), master.asnumpy().round(3)
    (array([0.68, 1.32], dtype=float16), array([0.684, 1.316], dtype=float32))
    """
    params = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "clip_gradient": clip_gradient}
    rescale = _as_array(rescale_grad, weight)
    return function_of("_mp_adamw_update")(
        weight,
        grad,
        mean,
        var,
        weight32,
        rescale,
        lr=lr,
        eta=eta,
        wd=wd,
        out=out,
        **params,
        **kwargs,
    )


@_with_shared_docs
def multi_adamw_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    rescale_grad: NDArray | float,
    lrs: Sequence[float],
    wds: Sequence[float],
    etas: Sequence[float],
    out: Sequence[NDArray] | None = None,
    name: str | None = None,
    size: int = 0,
    **kwargs: Any,
) -> list[NDArray]:
    """`adamw_update` of several weights, all of one dtype.

    Parameters
    ----------
    {arrays}
    {several}

    {result}

    Examples
    --------
    >>> weights, grads = [mx.nd.ones(2), mx.nd.ones(3)], [mx.nd.ones(2), mx.nd.ones(3)]
    >>> mean, var = [mx.nd.zeros(2), mx.nd.zeros(3)], [mx.nd.zeros(2), mx.nd.zeros(3)]
    >>> rates = {"lrs": [1, 1], "wds": [0, 0], "etas": [0.1, 0]}
    >>> found = mx.nd.contrib.multi_adamw_update(weights, grads, mean, var, 1, **rates)
    >>> [each.asnumpy().round(3) for each in found]
    [array([0.684, 0.684], dtype=float32), array([1., 1., 1.], dtype=float32)]
    """
    lists = {"weights": weights, "grads": grads, "mean": mean, "var": var}
    arrays = _group_by_weight("multi_adamw_update", lists)
    rescale, count = _as_array(rescale_grad, arrays[0]), size or len(weights)
    return function_of("_multi_adamw_update")(
        *arrays, rescale, lrs=lrs, wds=wds, etas=etas, num_weights=count, out=out, **kwargs
    )


@_with_shared_docs
def multi_mp_adamw_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    weights32: Sequence[NDArray],
    rescale_grad: NDArray | float,
    lrs: Sequence[float],
    wds: Sequence[float],
    etas: Sequence[float],
    out: Sequence[NDArray] | None = None,
    name: str | None = None,
    size: int = 0,
    **kwargs: Any,
) -> list[NDArray]:
    """`multi_adamw_update` of float16 weights, computed on their float32 masters.

    Parameters
    ----------
    {masters}
    {several}

    {result}

    Examples
    --------
    >>> half, zeros, master = mx.nd.ones(2, dtype="float16"), mx.nd.zeros(2), mx.nd.ones(2)
    >>> states = {"mean": [zeros], "var": [zeros.copy()], "weights32": [master]}
    >>> rates = {"lrs": [1], "wds": [0], "etas": [0.1]}
    >>> step = mx.nd.contrib.multi_mp_adamw_update
    >>> out = step([half], [half], **states, rescale_grad=1, **rates)
    >>> out.dtype, master.asnumpy().round(3)
    (<class 'numpy.float16'>, array([0.684, 0.684], dtype=float32))
    """
    lists = {"weights": weights, "grads": grads, "mean": mean, "var": var, "weights32": weights32}
    arrays = _group_by_weight("multi_mp_adamw_update", lists)
    rescale, count = _as_array(rescale_grad, arrays[0]), size or len(weights)
    return function_of("_multi_mp_adamw_update")(
        *arrays, rescale, lrs=lrs, wds=wds, etas=etas, num_weights=count, out=out, **kwargs
    )


@_with_shared_docs
def multi_lamb_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    step_count: Sequence[int],
    lrs: Sequence[float],
    wds: Sequence[float],
    out: Sequence[NDArray] | None = None,
    num_tensors: int = 0,
    **kwargs: Any,
) -> list[NDArray]:
    """LAMB's step of several weights, all of one dtype.

    Parameters
    ----------
    {arrays}
    {lamb}

    {result}

    Examples
    --------
    >>> weights, grads = [mx.nd.ones(2), mx.nd.ones(3)], [mx.nd.ones(2), mx.nd.ones(3)]
    >>> mean, var = [mx.nd.zeros(2), mx.nd.zeros(3)], [mx.nd.zeros(2), mx.nd.zeros(3)]
    >>> rates = {"step_count": [1, 1], "lrs": [0.1, 0], "wds": [0, 0]}
    >>> found = mx.nd.contrib.multi_lamb_update(weights, grads, mean, var, **rates)
    >>> [each.asnumpy().round(3) for each in found]
    [array([0.9, 0.9], dtype=float32), array([1., 1., 1.], dtype=float32)]
    """
    lists = {"weights": weights, "grads": grads, "mean": mean, "var": var}
    arrays = _group_by_weight("multi_lamb_update", lists)
    kwargs.update(step_count=tuple(step_count), num_tensors=num_tensors or len(weights))
    return function_of("_multi_lamb_update")(
        *arrays, learning_rates=lrs, wds=wds, out=out, **kwargs
    )


@_with_shared_docs
def multi_mp_lamb_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    weights32: Sequence[NDArray],
    step_count: Sequence[int],
    lrs: Sequence[float],
    wds: Sequence[float],
    out: Sequence[NDArray] | None = None,
    num_tensors: int = 0,
    **kwargs: Any,
) -> list[NDArray]:
    """`multi_lamb_update` of float16 weights, computed on their float32 masters.

    Parameters
    ----------
    {masters}
    {lamb}

    {result}

    Examples
    --------
    >>> half, zeros, master = mx.nd.ones(2, dtype="float16"), mx.nd.zeros(2), mx.nd.ones(2)
    >>> states = {"mean": [zeros], "var": [zeros.copy()], "weights32": [master]}
    >>> rates = {"step_count": [1], "lrs": [0.1], "wds": [0]}
    >>> out = mx.nd.contrib.multi_mp_lamb_update([half], [half], **states, **rates)
    >>> out.dtype, master.asnumpy().round(3)
    (<class 'numpy.float16'>, array([0.9, 0.9], dtype=float32))
    """
    lists = {"weights": weights, "grads": grads, "mean": mean, "var": var, "weights32": weights32}
    arrays = _group_by_weight("multi_mp_lamb_update", lists)
    kwargs.update(step_count=tuple(step_count), num_tensors=num_tensors or len(weights))
    return function_of("_multi_mp_lamb_update")(
        *arrays, learning_rates=lrs, wds=wds, out=out, **kwargs
    )
