"""mx.nd.random: random arrays, from numbers (`_random_*`) or arrays (`_sample_*`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..base.guard import guarded
from ..operator.checks.values import real_number
from ..operator.random.drawing import with_docstring
from .functions import call_operator_first, function_of, make_getattr
from .ndarray import NDArray

if TYPE_CHECKING:
    from ..typing import ContextLike, DTypeLike, ShapeLike

_functions_by_name = {}  # name -> its operator's function
_with_shared_docs = with_docstring(
    "NDArray",
    by_default="one number, or one for each entry of the parameters, or that of `out`",
    options="""
ctx : Context, optional
    Device of the result; by default that of parameters that are arrays, otherwise the current
    context.
out : NDArray, optional
    Array that the result is written to; it also says the element type.""",
)


def _draw_numbers(name, params, shape, dtype, ctx, out):
    """Call `_sample_name` when the parameters are arrays, `_random_name` when they are numbers."""
    for value in params.values():
        if type(value) is not int and type(value) is not float:
            return _draw_for_arrays(name, params, shape, dtype, ctx, out)
    return _draw_for_numbers(name, params, shape, dtype, ctx, out)


def _draw_for_numbers(name, params, shape, dtype, ctx, out):
    if out is not None:
        if not isinstance(out, NDArray):
            raise ArgumentTypeError(
                f"random.{name}: out must be an NDArray, got {type(out).__name__}"
            )
        shape = out.shape if shape is None else shape
        dtype = out.dtype if dtype is None else dtype
        ctx = out.context if ctx is None else ctx
    shape = 1 if shape is None else shape
    sampler = _functions_by_name.get(name)
    if sampler is None:
        sampler = _functions_by_name[name] = function_of("_random_" + name)
    if ctx is None and out is None:
        return sampler(**params, shape=shape, dtype=dtype)
    return sampler(**params, shape=shape, dtype=dtype, ctx=ctx, out=out)


def _draw_for_arrays(name, params, shape, dtype, ctx, out):
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
    return _draw_for_numbers(name, params, shape, dtype, ctx, out)


@call_operator_first("_random_uniform")
@_with_shared_docs
def uniform(
    low: float | NDArray = 0,
    high: float | NDArray = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    return _draw_numbers("uniform", {"low": low, "high": high}, shape, dtype, ctx, out)


@call_operator_first("_random_normal")
@_with_shared_docs
def normal(
    loc: float | NDArray = 0,
    scale: float | NDArray = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    return _draw_numbers("normal", {"loc": loc, "scale": scale}, shape, dtype, ctx, out)


@_with_shared_docs
def randn(
    *shape: int,
    loc: float | NDArray = 0,
    scale: float | NDArray = 1,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    if shape and ctx is None and out is None:
        return normal(loc, scale, shape, dtype=dtype)
    return _draw_numbers("normal", {"loc": loc, "scale": scale}, shape or None, dtype, ctx, out)


@_with_shared_docs
def exponential(
    scale: float | NDArray = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    if not isinstance(scale, NDArray):
        number = real_number(scale)
        if number is None or number == 0:
            raise ArgumentError(f"random.exponential: scale must be positive, got {shown(scale)}")
        scale = number
    return _draw_numbers("exponential", {"lam": 1.0 / scale}, shape, dtype, ctx, out)


@_with_shared_docs
def gamma(
    alpha: float | NDArray = 1,
    beta: float | NDArray = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    return _draw_numbers("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, ctx, out)


@_with_shared_docs
def poisson(
    lam: float | NDArray = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    return _draw_numbers("poisson", {"lam": lam}, shape, dtype, ctx, out)


@_with_shared_docs
def negative_binomial(
    k: float | NDArray = 1,
    p: float | NDArray = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    return _draw_numbers("negative_binomial", {"k": k, "p": p}, shape, dtype, ctx, out)


@_with_shared_docs
def generalized_negative_binomial(
    mu: float | NDArray = 1,
    alpha: float | NDArray = 1,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    return _draw_numbers(
        "generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, ctx, out
    )


@_with_shared_docs
def randint(
    low: int,
    high: int,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    ctx: ContextLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    if isinstance(low, NDArray) or isinstance(high, NDArray):
        raise ArgumentTypeError("random.randint: low and high must be integers, got an NDArray")
    return _draw_numbers("randint", {"low": low, "high": high}, shape, dtype, ctx, out)


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
    >>> sorted(mx.nd.random.shuffle(mx.nd.arange(4)).asnumpy().tolist())
    [0.0, 1.0, 2.0, 3.0]
    """
    return function_of("_shuffle")(data, out=out)


__getattr__, __dir__ = make_getattr(__name__, "_random_")  # serves uniform_like and similar names
