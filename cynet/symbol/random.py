"""mx.sym.random: symbols of random arrays, from numbers (`_random_*`) or symbols (`_sample_*`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..base.guard import guarded
from ..operator import get_operator
from ..operator.checks.values import real_number
from .register import function_of, namespace
from .symbol import Symbol

if TYPE_CHECKING:
    from ..typing import DTypeLike, ShapeLike


def _apply(operator, /, *args, **kwargs):
    given = {key: value for key, value in kwargs.items() if value is not None}
    return function_of(operator, get_operator(operator))(*args, **given)


def _draw(name, params, shape, dtype, kwargs):
    """`_sample_name` when the parameters are symbols, `_random_name` when they are numbers."""
    symbols = [isinstance(value, Symbol) for value in params.values()]
    if any(symbols):
        if not all(symbols):
            kinds = ", ".join(f"{k}: {type(v).__name__}" for k, v in params.items())
            raise ArgumentTypeError(
                f"random.{name}: parameters must be all numbers or all Symbol, got {kinds}"
            )
        return _apply(f"_sample_{name}", *params.values(), shape=shape, dtype=dtype, **kwargs)
    for key, value in params.items():
        if isinstance(value, str):
            raise ArgumentError(
                f"random.{name}: {key} must be a number or a Symbol, got {shown(value)}"
            )
    return _apply(f"_random_{name}", **params, shape=shape, dtype=dtype, **kwargs)


@guarded
def uniform(
    low: float | Symbol = 0,
    high: float | Symbol = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    """Numbers from [low, high), each equally likely.

    Parameters
    ----------
    low, high : float or Symbol
        The ends. Symbols of shape (s) give an output of shape (s, shape).
    shape : int or tuple of int, optional
        Without it the shape is that of what the output is used for.
    dtype : str, optional
        ``'bfloat16'``, ``'float16'``, ``'float32'`` (the default) or ``'float64'``.
    **kwargs
        ``name`` and ``attr`` of the node.

    Returns
    -------
    Symbol

    Examples
    --------
    >>> import cynet as mx
    >>> noise = mx.sym.random.uniform(0, 1, shape=(2, 3), name="noise")
    >>> noise.list_outputs(), noise.infer_shape()[1]
    (['noise_output'], [(2, 3)])
    """
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, kwargs)


@guarded
def normal(
    loc: float | Symbol = 0,
    scale: float | Symbol = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    """Normally distributed numbers, mean `loc`, standard deviation `scale`; else as `uniform`."""
    return _draw("normal", {"loc": loc, "scale": scale}, shape, dtype, kwargs)


@guarded
def randn(
    *shape: int,
    loc: float | Symbol = 0,
    scale: float | Symbol = 1,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    """Normally distributed numbers; the sizes are given one by one."""
    return normal(loc, scale, shape or None, dtype, **kwargs)


@guarded
def exponential(
    scale: float | Symbol = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    """Exponentially distributed numbers of mean `scale`; else as `uniform`."""
    if not isinstance(scale, Symbol):
        number = real_number(scale)
        if number is None or number == 0:
            raise ArgumentError(f"random.exponential: scale must be positive, got {shown(scale)}")
        scale = number
    return _draw("exponential", {"lam": 1.0 / scale}, shape, dtype, kwargs)


@guarded
def gamma(
    alpha: float | Symbol = 1,
    beta: float | Symbol = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    """Gamma distributed numbers of shape `alpha` and scale `beta`; else as `uniform`."""
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, kwargs)


@guarded
def poisson(
    lam: float | Symbol = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    """Poisson distributed counts (in a float type) of mean `lam`; else as `uniform`."""
    return _draw("poisson", {"lam": lam}, shape, dtype, kwargs)


@guarded
def negative_binomial(
    k: float | Symbol = 1,
    p: float | Symbol = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    """Counts of successes before the k-th failure, whose probability is `p`; else as `uniform`."""
    return _draw("negative_binomial", {"k": k, "p": p}, shape, dtype, kwargs)


@guarded
def generalized_negative_binomial(
    mu: float | Symbol = 1,
    alpha: float | Symbol = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    """Negative binomial counts of mean `mu` and dispersion `alpha`; else as `uniform`."""
    return _draw("generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, kwargs)


@guarded
def randint(
    low: float | Symbol,
    high: float | Symbol,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    """Integers from [low, high), each equally likely: ``'int32'`` (the default) or ``'int64'``."""
    return _draw("randint", {"low": low, "high": high}, shape, dtype, kwargs)


@guarded
def multinomial(
    data: Symbol,
    shape: ShapeLike | None = None,
    get_prob: bool = True,
    dtype: DTypeLike = "int32",
    **kwargs: Any,
) -> Symbol:
    """Indices drawn with the probabilities in each row of `data`; also their logarithms."""
    return _apply(
        "_sample_multinomial", data, shape=shape, get_prob=get_prob, dtype=dtype, **kwargs
    )


@guarded
def shuffle(data: Symbol, **kwargs: Any) -> Symbol:
    """The rows of `data` (its first axis) in random order."""
    return _apply("_shuffle", data, **kwargs)


__getattr__, __dir__ = namespace(__name__, "_random_")  # uniform_like and its kin
