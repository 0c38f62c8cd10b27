"""mx.nd.random: random arrays, from numbers (`_random_*`) or arrays (`_sample_*`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..base.guard import guarded
from ..operator.checks.values import real_number
from ..operator.signature import with_paragraphs
from .functions import function_of, namespace
from .ndarray import NDArray

if TYPE_CHECKING:
    from ..typing import ContextLike, DTypeLike, ShapeLike

_samplers = {}  # name -> its operator's function
_PLAIN = (int, float)
_uniform, _normal = function_of("_random_uniform"), function_of("_random_normal")
_shared = with_paragraphs(
    options="""dtype : str or numpy.dtype, optional
    Element type: ``'bfloat16'``, ``'float16'``, ``'float32'`` or ``'float64'``; by default
    float32, or that of `out`.
ctx : Context, optional
    Device of the result; by default that of parameters that are arrays, otherwise the current
    context.
out : NDArray, optional
    Array that the result is written to.

Returns
-------
NDArray

Raises
------
ArgumentError, ArgumentTypeError
    A parameter is not a number or an NDArray, or lies outside the distribution's range.""",
    shape="""shape : int or tuple of int, optional
    Shape of the sample; by default one number, or one for each entry of the parameters, or as
    many as `out` holds.""",
)


def _draw(name, params, shape, dtype, ctx, out):
    """Call `_sample_name` when the parameters are arrays, `_random_name` when they are numbers."""
    for value in params.values():
        if type(value) is not int and type(value) is not float:
            return _draw_unusual(name, params, shape, dtype, ctx, out)
    return _draw_of_numbers(name, params, shape, dtype, ctx, out)


def _draw_of_numbers(name, params, shape, dtype, ctx, out):
    if out is not None:
        if not isinstance(out, NDArray):
            raise ArgumentTypeError(
                f"random.{name}: out must be an NDArray, got {type(out).__name__}"
            )
        shape = out.shape if shape is None else shape
        dtype = out.dtype if dtype is None else dtype
        ctx = out.context if ctx is None else ctx
    shape = 1 if shape is None else shape
    sampler = _samplers.get(name)
    if sampler is None:
        sampler = _samplers[name] = function_of("_random_" + name)
    if ctx is None and out is None:
        return sampler(**params, shape=shape, dtype=dtype)
    return sampler(**params, shape=shape, dtype=dtype, ctx=ctx, out=out)


def _draw_unusual(name, params, shape, dtype, ctx, out):
    arrays = [isinstance(value, NDArray) for value in params.values()]
    if any(arrays):
        if not all(arrays):
            kinds = ", ".join(f"{k}: {type(v).__name__}" for k, v in params.items())
            raise ArgumentTypeError(
                f"random.{name}: parameters must be all numbers or all NDArray, got {kinds}"
            )
        sampler = function_of(f"_sample_{name}")
        return sampler(*params.values(), shape=() if shape is None else shape, dtype=dtype, out=out)
    for key, value in params.items():
        if isinstance(value, str):
            raise ArgumentError(
                f"random.{name}: {key} must be a number or an NDArray, got {shown(value)}"
            )
    return _draw_of_numbers(name, params, shape, dtype, ctx, out)


@guarded
def uniform(
    low: float | NDArray = 0,
    high: float | NDArray = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Numbers from [low, high), each equally likely.

    Parameters
    ----------
    low, high : float or NDArray
        The lower bound, and the upper bound, which is not included. Arrays of shape (s) give an
        output of shape (s, shape).
    shape : int or tuple of int, optional
        Shape of the sample; by default one number, or one for each pair of parameters, or as many
        as `out` holds.
    dtype : str or numpy.dtype, optional
        Element type: ``'bfloat16'``, ``'float16'``, ``'float32'`` or ``'float64'``; by default
        float32, or that of `out`.
    ctx : Context, optional
        Device of the result; by default that of parameters that are arrays, otherwise the current
        context.
    out : NDArray, optional
        Where to write.

    Returns
    -------
    NDArray

    Raises
    ------
    MXNetError
        A bound is not a finite number or an NDArray, `high` is below `low`, or the shape or dtype
        is not allowed.

    Examples
    --------
    >>> import cynet as mx
    >>> mx.random.seed(1)
    >>> sample = mx.nd.random.uniform(2, 3, shape=(2, 3)).asnumpy()
    >>> sample.shape, bool((sample >= 2).all() and (sample < 3).all())
    ((2, 3), True)
    """
    if ctx is None and out is None and type(low) in _PLAIN and type(high) in _PLAIN:
        return _uniform(low=low, high=high, shape=1 if shape is None else shape, dtype=dtype)
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, ctx, out)


@_shared
@guarded
def normal(
    loc: float | NDArray = 0,
    scale: float | NDArray = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draw normally distributed numbers.

    Parameters
    ----------
    loc, scale : float or NDArray
        Mean and standard deviation. Arrays of shape (s) give an output of shape (s, shape).
    {shape}
    {options}

    Examples
    --------
    >>> import cynet as mx
    >>> mx.random.seed(1)
    >>> drawn = mx.random.normal(10, 2, shape=(1000,)).asnumpy()
    >>> drawn.shape, bool(abs(drawn.mean() - 10) < 0.3), bool(abs(drawn.std() - 2) < 0.3)
    ((1000,), True, True)
    >>> mx.random.normal(mx.nd.array([0, 100]), mx.nd.array([1, 1]), shape=3).shape
    (2, 3)
    """
    if ctx is None and out is None and type(loc) in _PLAIN and type(scale) in _PLAIN:
        return _normal(loc=loc, scale=scale, shape=1 if shape is None else shape, dtype=dtype)
    return _draw("normal", {"loc": loc, "scale": scale}, shape, dtype, ctx, out)


@_shared
@guarded
def randn(
    *shape: int,
    loc: float | NDArray = 0,
    scale: float | NDArray = 1,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draw normally distributed numbers; the lengths of the axes are given one by one.

    Parameters
    ----------
    *shape : int
        Lengths of the axes; if there are none, one number is drawn.
    loc, scale : float or NDArray
        Mean and standard deviation.
    {options}

    Examples
    --------
    >>> import cynet as mx
    >>> mx.nd.random.randn(2, 3, loc=5).shape
    (2, 3)
    """
    return normal(loc, scale, shape or None, dtype, ctx, out)


@_shared
@guarded
def exponential(
    scale: float | NDArray = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draw exponentially distributed numbers.

    Parameters
    ----------
    scale : float or NDArray
        Mean, above 0. An array of shape (s) gives an output of shape (s, shape).
    {shape}
    {options}

    Examples
    --------
    >>> import cynet as mx
    >>> mx.random.seed(1)
    >>> drawn = mx.random.exponential(2, shape=(1000,)).asnumpy()
    >>> bool(drawn.min() >= 0), bool(abs(drawn.mean() - 2) < 0.3)
    (True, True)
    """
    if not isinstance(scale, NDArray):
        number = real_number(scale)
        if number is None or number == 0:
            raise ArgumentError(f"random.exponential: scale must be positive, got {shown(scale)}")
        scale = number
    return _draw("exponential", {"lam": 1.0 / scale}, shape, dtype, ctx, out)


@_shared
@guarded
def gamma(
    alpha: float | NDArray = 1,
    beta: float | NDArray = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draw Gamma distributed numbers.

    Parameters
    ----------
    alpha, beta : float or NDArray
        Shape and scale: the mean is ``alpha * beta``. Arrays of shape (s) give an output of shape
        (s, shape).
    {shape}
    {options}

    Examples
    --------
    >>> import cynet as mx
    >>> mx.random.seed(1)
    >>> drawn = mx.random.gamma(2, 3, shape=(1000,)).asnumpy()
    >>> bool(drawn.min() >= 0), bool(abs(drawn.mean() - 6) < 0.6)
    (True, True)
    """
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, ctx, out)


@_shared
@guarded
def poisson(
    lam: float | NDArray = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draw Poisson distributed counts, in a float type.

    Parameters
    ----------
    lam : float or NDArray
        Mean. An array of shape (s) gives an output of shape (s, shape).
    {shape}
    {options}

    Examples
    --------
    >>> import cynet as mx
    >>> mx.random.seed(1)
    >>> drawn = mx.random.poisson(4, shape=(1000,)).asnumpy()
    >>> bool((drawn == drawn.round()).all()), bool(abs(drawn.mean() - 4) < 0.3)
    (True, True)
    """
    return _draw("poisson", {"lam": lam}, shape, dtype, ctx, out)


@_shared
@guarded
def negative_binomial(
    k: float | NDArray = 1,
    p: float | NDArray = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draw counts, in a float type, of successes before the k-th failure.

    Parameters
    ----------
    k : float or NDArray
        The number of failures.
    p : float or NDArray
        The probability of a failure: the mean is ``k * (1 - p) / p``. Arrays of shape (s) give an
        output of shape (s, shape).
    {shape}
    {options}

    Examples
    --------
    >>> import cynet as mx
    >>> mx.random.seed(1)
    >>> drawn = mx.random.negative_binomial(3, 0.5, shape=(1000,)).asnumpy()
    >>> bool((drawn == drawn.round()).all()), bool(abs(drawn.mean() - 3) < 0.4)
    (True, True)
    """
    return _draw("negative_binomial", {"k": k, "p": p}, shape, dtype, ctx, out)


@_shared
@guarded
def generalized_negative_binomial(
    mu: float | NDArray = 1,
    alpha: float | NDArray = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draw negative binomial counts, in a float type, of a mean and a dispersion.

    Parameters
    ----------
    mu : float or NDArray
        Mean.
    alpha : float or NDArray
        Dispersion: the variance is ``mu + alpha * mu ** 2``. Arrays of shape (s) give an output of
        shape (s, shape).
    {shape}
    {options}

    Examples
    --------
    >>> import cynet as mx
    >>> mx.random.seed(1)
    >>> drawn = mx.random.generalized_negative_binomial(2, 0.5, shape=(1000,)).asnumpy()
    >>> bool(abs(drawn.mean() - 2) < 0.3), bool(abs(drawn.var() - 4) < 1)
    (True, True)
    """
    return _draw(
        "generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, ctx, out
    )


@guarded
def randint(
    low: int,
    high: int,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draw integers from [low, high), each equally likely.

    Parameters
    ----------
    low : int
        Smallest value.
    high : int
        One more than the largest value.
    shape : int or tuple of int, optional
        Shape of the sample; by default one number, or as many as `out` holds.
    dtype : str or numpy.dtype, optional
        Element type: ``'int32'`` (the default) or ``'int64'``.
    ctx : Context, optional
        Device of the result; the current context by default.
    out : NDArray, optional
        Array that the result is written to.

    Returns
    -------
    NDArray

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If a parameter does not fit: `low` and `high` are not NDArrays here.

    Examples
    --------
    >>> import cynet as mx
    >>> mx.nd.random.randint(7, 8, shape=3).asnumpy().tolist()
    [7, 7, 7]
    >>> dice = mx.nd.random.randint(1, 7, shape=(100,)).asnumpy()
    >>> int(dice.min()), int(dice.max()), dice.dtype
    (1, 6, dtype('int32'))
    """
    if isinstance(low, NDArray) or isinstance(high, NDArray):
        raise ArgumentTypeError("random.randint: low and high must be integers, got an NDArray")
    return _draw("randint", {"low": low, "high": high}, shape, dtype, ctx, out)


@guarded
def multinomial(
    data: NDArray,
    shape: ShapeLike | None = None,
    get_prob: bool = False,
    out: NDArray | None = None,
    dtype: DTypeLike = "int32",
) -> Any:
    """Indices drawn with the probabilities in each row of `data`.

    Parameters
    ----------
    data : NDArray
        Weights that are not negative, shape (s, k); each row is divided by its sum.
    shape : int or tuple of int, optional
        How many indices to draw from each row; one by default.
    get_prob : bool
        Also return the logarithm of the probabilities of what was drawn; its gradient reaches
        `data`.
    out : NDArray, optional
        Array that the result is written to.
    dtype : str
        Type of the indices.

    Returns
    -------
    NDArray of shape (s, shape), or a list of two

    Examples
    --------
    >>> import cynet as mx
    >>> mx.nd.random.multinomial(mx.nd.array([[0, 1], [1, 0]]), shape=3).asnumpy().tolist()
    [[1, 1, 1], [0, 0, 0]]
    """
    return function_of("_sample_multinomial")(
        data, shape=() if shape is None else shape, get_prob=get_prob, dtype=dtype, out=out
    )


@guarded
def shuffle(data: NDArray, out: NDArray | None = None) -> NDArray:
    """Put the rows of an array (its first axis) into random order.

    Parameters
    ----------
    data : NDArray
        The array.
    out : NDArray, optional
        Array that the result is written to.

    Returns
    -------
    NDArray
        Of the shape and dtype of `data`, which stays as it is.

    Examples
    --------
    >>> import cynet as mx
    >>> sorted(mx.nd.random.shuffle(mx.nd.arange(4)).asnumpy().tolist())
    [0.0, 1.0, 2.0, 3.0]
    """
    return function_of("_shuffle")(data, out=out)


__getattr__, __dir__ = namespace(__name__, "_random_")  # uniform_like and its kin
