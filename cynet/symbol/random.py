"""mx.sym.random: symbols of random arrays, from numbers (`_random_*`) or symbols (`_sample_*`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..base.guard import guarded
from ..operator import get_operator
from ..operator.checks.values import real_number
from ..operator.signature import with_paragraphs
from .register import function_of, namespace
from .symbol import Symbol

if TYPE_CHECKING:
    from ..typing import DTypeLike, ShapeLike

_shared = with_paragraphs(
    options="""dtype : str, optional
    Element type: ``'bfloat16'``, ``'float16'``, ``'float32'`` (the default) or ``'float64'``.
**kwargs
    Name and attributes of the node: ``name``, ``attr``.

Returns
-------
Symbol

Raises
------
ArgumentError, ArgumentTypeError
    If a parameter does not fit, or some are numbers and some Symbols.""",
    shape="""shape : int or tuple of int, optional
    Shape of the sample; by default that of what the output is used for.""",
)


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
@_shared
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
        The lower bound, and the upper bound, which is not included. Symbols of shape (s) give an
        output of shape (s, shape).
    {shape}
    dtype : str, optional
        Element type: ``'bfloat16'``, ``'float16'``, ``'float32'`` (the default) or ``'float64'``.
    **kwargs
        Name and attributes of the node: ``name``, ``attr``.

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
@_shared
def normal(
    loc: float | Symbol = 0,
    scale: float | Symbol = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    """Draw normally distributed numbers.

    Parameters
    ----------
    loc, scale : float or Symbol
        Mean and standard deviation. Symbols of shape (s) give an output of shape (s, shape).
    {shape}
    {options}

    Examples
    --------
    >>> noise = mx.sym.random.normal(10, 2, shape=(1000,))
    >>> drawn = noise.eval()[0].asnumpy()
    >>> bool(abs(drawn.mean() - 10) < 0.5), bool(abs(drawn.std() - 2) < 0.5)
    (True, True)
    """
    return _draw("normal", {"loc": loc, "scale": scale}, shape, dtype, kwargs)


@guarded
@_shared
def randn(
    *shape: int,
    loc: float | Symbol = 0,
    scale: float | Symbol = 1,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    """Draw normally distributed numbers; the lengths of the axes are given one by one.

    Parameters
    ----------
    *shape : int
        Lengths of the axes; if there are none, the shape is that of what the output is used for.
    loc, scale : float or Symbol
        Mean and standard deviation.
    {options}

    Examples
    --------
    >>> mx.sym.random.randn(2, 3, loc=5).eval()[0].shape
    (2, 3)
    """
    return normal(loc, scale, shape or None, dtype, **kwargs)


@guarded
@_shared
def exponential(
    scale: float | Symbol = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    """Draw exponentially distributed numbers.

    Parameters
    ----------
    scale : float or Symbol
        Mean, above 0.
    {shape}
    {options}

    Examples
    --------
    >>> drawn = mx.sym.random.exponential(2, shape=(1000,)).eval()[0].asnumpy()
    >>> bool(drawn.min() >= 0), bool(abs(drawn.mean() - 2) < 0.5)
    (True, True)
    """
    if not isinstance(scale, Symbol):
        number = real_number(scale)
        if number is None or number == 0:
            raise ArgumentError(f"random.exponential: scale must be positive, got {shown(scale)}")
        scale = number
    return _draw("exponential", {"lam": 1.0 / scale}, shape, dtype, kwargs)


@guarded
@_shared
def gamma(
    alpha: float | Symbol = 1,
    beta: float | Symbol = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    """Draw Gamma distributed numbers.

    Parameters
    ----------
    alpha, beta : float or Symbol
        Shape and scale: the mean is ``alpha * beta``.
    {shape}
    {options}

    Examples
    --------
    >>> drawn = mx.sym.random.gamma(2, 3, shape=(1000,)).eval()[0].asnumpy()
    >>> bool(drawn.min() >= 0), bool(abs(drawn.mean() - 6) < 1)
    (True, True)
    """
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, kwargs)


@guarded
@_shared
def poisson(
    lam: float | Symbol = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    """Draw Poisson distributed counts, in a float type.

    Parameters
    ----------
    lam : float or Symbol
        Mean.
    {shape}
    {options}

    Examples
    --------
    >>> drawn = mx.sym.random.poisson(4, shape=(1000,)).eval()[0].asnumpy()
    >>> bool((drawn == drawn.round()).all()), bool(abs(drawn.mean() - 4) < 0.5)
    (True, True)
    """
    return _draw("poisson", {"lam": lam}, shape, dtype, kwargs)


@guarded
@_shared
def negative_binomial(
    k: float | Symbol = 1,
    p: float | Symbol = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    """Draw counts, in a float type, of successes before the k-th failure.

    Parameters
    ----------
    k : float or Symbol
        The number of failures.
    p : float or Symbol
        The probability of a failure: the mean is ``k * (1 - p) / p``.
    {shape}
    {options}

    Examples
    --------
    >>> drawn = mx.sym.random.negative_binomial(3, 0.5, shape=(1000,)).eval()[0].asnumpy()
    >>> bool((drawn == drawn.round()).all()), bool(abs(drawn.mean() - 3) < 0.6)
    (True, True)
    """
    return _draw("negative_binomial", {"k": k, "p": p}, shape, dtype, kwargs)


@guarded
@_shared
def generalized_negative_binomial(
    mu: float | Symbol = 1,
    alpha: float | Symbol = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    """Draw negative binomial counts, in a float type, of a mean and a dispersion.

    Parameters
    ----------
    mu : float or Symbol
        Mean.
    alpha : float or Symbol
        Dispersion: the variance is ``mu + alpha * mu ** 2``.
    {shape}
    {options}

    Examples
    --------
    >>> draw = mx.sym.random.generalized_negative_binomial(2, 0.5, shape=(1000,))
    >>> bool(abs(draw.eval()[0].asnumpy().mean() - 2) < 0.5)
    True
    """
    return _draw("generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, kwargs)


@guarded
@_shared
def randint(
    low: float | Symbol,
    high: float | Symbol,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Symbol:
    """Draw integers from [low, high), each equally likely.

    Parameters
    ----------
    low, high : int
        The smallest value, and one more than the largest.
    {shape}
    dtype : str, optional
        Element type: ``'int32'`` (the default) or ``'int64'``.
    **kwargs
        Name and attributes of the node: ``name``, ``attr``.

    Returns
    -------
    Symbol

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If a parameter does not fit, or some are numbers and some Symbols.

    Examples
    --------
    >>> dice = mx.sym.random.randint(1, 7, shape=(200,)).eval()[0].asnumpy()
    >>> int(dice.min()), int(dice.max()), dice.dtype
    (1, 6, dtype('int32'))
    """
    return _draw("randint", {"low": low, "high": high}, shape, dtype, kwargs)


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

    Returns
    -------
    Symbol

    Examples
    --------
    >>> mixed = mx.sym.random.shuffle(mx.sym.var("x")).eval(x=mx.nd.arange(4))[0]
    >>> sorted(mixed.asnumpy().tolist())
    [0.0, 1.0, 2.0, 3.0]
    """
    return _apply("_shuffle", data, **kwargs)


__getattr__, __dir__ = namespace(__name__, "_random_")  # uniform_like and its kin
