"""mx.nd.random: random arrays, from numbers (`_random_*`) or arrays (`_sample_*`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..operator.checks.values import real_number
from .functions import function_of, namespace
from .ndarray import NDArray

if TYPE_CHECKING:
    from ..typing import ContextLike, DTypeLike, ShapeLike

_samplers = {}  # name -> its operator's function
_PLAIN = (int, float)
_uniform, _normal = function_of("_random_uniform"), function_of("_random_normal")


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
        The ends. Arrays of shape (s) give an output of shape (s, shape).
    shape : int or tuple of int, optional
        Without it one number, or one for each pair of parameters, or as many as `out` holds.
    dtype : str, optional
        ``'bfloat16'``, ``'float16'``, ``'float32'`` or ``'float64'``; float32, or that of `out`,
        when not given.
    ctx : Context, optional
        The device, the current one when not given.
    out : NDArray, optional
        Where to write.

    Returns
    -------
    NDArray

    Raises
    ------
    MXNetError
        When a parameter does not fit; the message names it.

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


def normal(
    loc: float | NDArray = 0,
    scale: float | NDArray = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Normally distributed numbers of mean `loc` and standard deviation `scale`.

    The parameters, which may be arrays, the output and the errors are those of `uniform`.

    Parameters
    ----------
    loc : float or NDArray
        Mean.
    dtype : str or numpy.dtype
        Type of the elements.
    ctx : Context or list of Context, optional
        The device; the current one by default.
    out : NDArray, optional
        Where the result is written.

    Returns
    -------
    NDArray

    Examples
    --------
    >>> import cynet as mx
    >>> mx.random.seed(1)
    >>> mx.random.normal(0, 1, shape=(2, 3)).shape
    (2, 3)
    """
    if ctx is None and out is None and type(loc) in _PLAIN and type(scale) in _PLAIN:
        return _normal(loc=loc, scale=scale, shape=1 if shape is None else shape, dtype=dtype)
    return _draw("normal", {"loc": loc, "scale": scale}, shape, dtype, ctx, out)


def randn(
    *shape: int,
    loc: float | NDArray = 0,
    scale: float | NDArray = 1,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Normally distributed numbers; the sizes are given one by one.

    Parameters
    ----------
    loc : float or NDArray
        Mean.
    dtype : str or numpy.dtype
        Type of the elements.
    ctx : Context or list of Context, optional
        The device; the current one by default.
    out : NDArray, optional
        Where the result is written.

    Returns
    -------
    NDArray

    Examples
    --------
    >>> import cynet as mx
    >>> mx.nd.random.randn(2, 3, loc=5).shape
    (2, 3)
    """
    return normal(loc, scale, shape or None, dtype, ctx, out)


def exponential(
    scale: float | NDArray = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Exponentially distributed numbers of mean `scale`; the rest as for `uniform`.

    Parameters
    ----------
    dtype : str or numpy.dtype
        Type of the elements.
    ctx : Context or list of Context, optional
        The device; the current one by default.
    out : NDArray, optional
        Where the result is written.

    Returns
    -------
    NDArray

    Raises
    ------
    ArgumentError
        A value is not one of those allowed; the message names it.

    Examples
    --------
    >>> import cynet as mx
    >>> mx.random.exponential(2, shape=(2, 3)).shape
    (2, 3)
    """
    if not isinstance(scale, NDArray):
        number = real_number(scale)
        if number is None or number == 0:
            raise ArgumentError(f"random.exponential: scale must be positive, got {shown(scale)}")
        scale = number
    return _draw("exponential", {"lam": 1.0 / scale}, shape, dtype, ctx, out)


def gamma(
    alpha: float | NDArray = 1,
    beta: float | NDArray = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Gamma distributed numbers of shape `alpha` and scale `beta`; the rest as for `uniform`.

    Parameters
    ----------
    dtype : str or numpy.dtype
        Type of the elements.
    ctx : Context or list of Context, optional
        The device; the current one by default.
    out : NDArray, optional
        Where the result is written.

    Returns
    -------
    NDArray

    Examples
    --------
    >>> import cynet as mx
    >>> mx.random.gamma(2, 3, shape=(2, 3)).shape
    (2, 3)
    """
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, ctx, out)


def poisson(
    lam: float | NDArray = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Poisson distributed counts (in a float type) of mean `lam`; the rest as for `uniform`.

    Parameters
    ----------
    dtype : str or numpy.dtype
        Type of the elements.
    ctx : Context or list of Context, optional
        The device; the current one by default.
    out : NDArray, optional
        Where the result is written.

    Returns
    -------
    NDArray

    Examples
    --------
    >>> import cynet as mx
    >>> mx.random.poisson(4, shape=(2, 3)).shape
    (2, 3)
    """
    return _draw("poisson", {"lam": lam}, shape, dtype, ctx, out)


def negative_binomial(
    k: float | NDArray = 1,
    p: float | NDArray = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Counts (in a float type) of successes before the k-th failure, where p is that of a failure.

    The output and the errors are those of `uniform`.

    Parameters
    ----------
    dtype : str or numpy.dtype
        Type of the elements.
    ctx : Context or list of Context, optional
        The device; the current one by default.
    out : NDArray, optional
        Where the result is written.

    Returns
    -------
    NDArray

    Examples
    --------
    >>> import cynet as mx
    >>> mx.random.negative_binomial(3, 0.4, shape=(2, 3)).shape
    (2, 3)
    """
    return _draw("negative_binomial", {"k": k, "p": p}, shape, dtype, ctx, out)


def generalized_negative_binomial(
    mu: float | NDArray = 1,
    alpha: float | NDArray = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Negative binomial counts (in a float type) of mean `mu` and dispersion `alpha`.

    The output and the errors are those of `uniform`.

    Parameters
    ----------
    dtype : str or numpy.dtype
        Type of the elements.
    ctx : Context or list of Context, optional
        The device; the current one by default.
    out : NDArray, optional
        Where the result is written.

    Returns
    -------
    NDArray

    Examples
    --------
    >>> import cynet as mx
    >>> mx.random.generalized_negative_binomial(2, 0.3, shape=(2, 3)).shape
    (2, 3)
    """
    return _draw(
        "generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, ctx, out
    )


def randint(
    low: int,
    high: int,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Integers from [low, high), each equally likely, as ``'int32'`` (the default) or ``'int64'``.

    Parameters
    ----------
    low : int
        Smallest value.
    high : int
        One more than the largest value.
    dtype : str or numpy.dtype
        Type of the elements.
    ctx : Context or list of Context, optional
        The device; the current one by default.
    out : NDArray, optional
        Where the result is written.

    Returns
    -------
    NDArray

    Raises
    ------
    ArgumentTypeError
        A value has another type; the message names it.

    Examples
    --------
    >>> import cynet as mx
    >>> mx.nd.random.randint(7, 8, shape=3).asnumpy().tolist()
    [7, 7, 7]
    """
    if isinstance(low, NDArray) or isinstance(high, NDArray):
        raise ArgumentTypeError("random.randint: low and high must be integers, got an NDArray")
    return _draw("randint", {"low": low, "high": high}, shape, dtype, ctx, out)


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
        Numbers to draw from each row, one when not given.
    get_prob : bool
        Also return the logarithm of the probabilities of what was drawn; its gradient reaches
        `data`.
    dtype : str
        Type of the indices.
    out : NDArray, optional
        Where the result is written.

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


def shuffle(data: NDArray, out: NDArray | None = None) -> NDArray:
    """The rows of `data` (its first axis) in random order.

    Parameters
    ----------
    out : NDArray, optional
        Where the result is written.

    Returns
    -------
    NDArray

    Examples
    --------
    >>> import cynet as mx
    >>> sorted(mx.nd.random.shuffle(mx.nd.arange(4)).asnumpy().tolist())
    [0.0, 1.0, 2.0, 3.0]
    """
    return function_of("_shuffle")(data, out=out)


__getattr__, __dir__ = namespace(__name__, "_random_")  # uniform_like and its kin
