"""mx.sym.random: symbols of random arrays, from numbers (`_random_*`) or symbols (`_sample_*`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..base.guard import guarded
from ..operator import get_operator
from ..operator.checks.values import real_number
from ..operator.random.drawing import with_docstring
from .register import function_of, module_hooks
from .symbol import Symbol

if TYPE_CHECKING:
    from ..typing import DTypeLike, ShapeLike

_with_shared_docs = with_docstring(  # decorator that adds shared docs
    "Symbol",
    by_default="that of what the output is used for",
    options="""
**kwargs
    Name and attributes of the node: ``name``, ``attr``.""",
    first="With arrays; a symbol draws likewise when it is run.\n\n",
)


def _apply(operator, /, *args, **kwargs):  # applies an operator by its name
    given = {key: value for key, value in kwargs.items() if value is not None}
    return function_of(operator, get_operator(operator))(*args, **given)


def _draw_numbers(name, params, shape, dtype, kwargs):
    """Apply `_sample_name` when the parameters are symbols, `_random_name` for numbers."""
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


@_with_shared_docs
def uniform(
    low: float | Symbol = 0,
    high: float | Symbol = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    return _draw_numbers("uniform", {"low": low, "high": high}, shape, dtype, kwargs)


@_with_shared_docs
def normal(
    loc: float | Symbol = 0,
    scale: float | Symbol = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    return _draw_numbers("normal", {"loc": loc, "scale": scale}, shape, dtype, kwargs)


@_with_shared_docs
def randn(
    *shape: int,
    loc: float | Symbol = 0,
    scale: float | Symbol = 1,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    return normal(loc, scale, shape or None, dtype, **kwargs)


@_with_shared_docs
def exponential(
    scale: float | Symbol = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    if not isinstance(scale, Symbol):
        number = real_number(scale)
        if number is None or number == 0:
            raise ArgumentError(f"random.exponential: scale must be positive, got {shown(scale)}")
        scale = number
    return _draw_numbers("exponential", {"lam": 1.0 / scale}, shape, dtype, kwargs)


@_with_shared_docs
def gamma(
    alpha: float | Symbol = 1,
    beta: float | Symbol = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    return _draw_numbers("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, kwargs)


@_with_shared_docs
def poisson(
    lam: float | Symbol = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    return _draw_numbers("poisson", {"lam": lam}, shape, dtype, kwargs)


@_with_shared_docs
def negative_binomial(
    k: float | Symbol = 1,
    p: float | Symbol = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    return _draw_numbers("negative_binomial", {"k": k, "p": p}, shape, dtype, kwargs)


@_with_shared_docs
def generalized_negative_binomial(
    mu: float | Symbol = 1,
    alpha: float | Symbol = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    return _draw_numbers(
        "generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, kwargs
    )


@_with_shared_docs
def randint(
    low: float | Symbol,
    high: float | Symbol,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    return _draw_numbers("randint", {"low": low, "high": high}, shape, dtype, kwargs)


@guarded
def multinomial(
    data: Symbol,
    shape: ShapeLike | None = None,
    get_prob: bool = True,
    dtype: DTypeLike = "int32",
    **kwargs: Any,
) -> Symbol:
    """Draw indices with the probabilities in each row of a matrix.

    Parameters
    ----------
    data : Symbol
        Weights that are not negative, shape (s, k); each row is divided by its sum.
    shape : int or tuple of int, optional
        How many indices to draw from each row; one by default.
    get_prob : bool
        Also give the logarithms of the probabilities of what was drawn.
    dtype : str
        Type of the indices.
    **kwargs
        Name and attributes of the node: ``name``, ``attr``.

    Returns
    -------
    Symbol
        Of shape (s, shape); of two outputs with `get_prob`.

    Examples
    --------
    >>> drawn = mx.sym.random.multinomial(mx.sym.var("p"), shape=3)
    >>> indices, logarithms = drawn.eval(p=mx.nd.array([[0, 1], [1, 0]]))
    >>> indices.asnumpy(), logarithms.asnumpy() + 0
    (array([[1, 1, 1],
           [0, 0, 0]], dtype=int32), array([[0., 0., 0.],
           [0., 0., 0.]], dtype=float32))
    """
    return _apply(
        "_sample_multinomial", data, shape=shape, get_prob=get_prob, dtype=dtype, **kwargs
    )


@guarded
def shuffle(data: Symbol, **kwargs: Any) -> Symbol:
    """Put the rows of an array (its first axis) into random order.

    Parameters
    ----------
    data : Symbol
        The array.
    **kwargs
        Name and attributes of the node: ``name``, ``attr``.

    Examples
    --------
    >>> mixed = mx.sym.random.shuffle(mx.sym.var("x")).eval(x=mx.nd.arange(4))[0]
    >>> sorted(mixed.asnumpy().tolist())
    [0.0, 1.0, 2.0, 3.0]
    """
    return _apply("_shuffle", data, **kwargs)


__getattr__, __dir__ = module_hooks(__name__, "_random_")  # serves uniform_like and similar names
