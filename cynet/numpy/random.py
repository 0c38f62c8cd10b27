"""mx.np.random: random numbers, of the stream of mx.nd.random."""

from math import prod

import numpy as onp

from ..base.dtype import name_of
from ..base.errors import ArgumentError, ShapeError
from ..base.tracing import active_trace, has_trace
from ..context import read_context
from ..ndarray import random as legacy
from ..ndarray.ndarray import NDArray
from ._call import array_of, fill_out, is_traced, make_array, ops, refuse_other_than_floats
from .elementwise import FUNCTIONS
from .order import searchsorted
from .reductions import cumsum
from .selection import argsort, diff
from .shapes import broadcast_to, reshape_view, stack, take


def seed(seed, ctx="all"):
    """Restart the streams of random numbers: ``mx.random.seed``."""
    from ..random import seed as begin

    begin(seed, ctx)


def _shape_of_draws(size, *params):
    sizes = [p.shape for p in params if hasattr(p, "shape")]
    if size is None:
        return onp.broadcast_shapes(*sizes) if sizes else ()
    return (size,) if isinstance(size, int) else tuple(size)


def _draw_without_params(function, size, params, dtype, ctx):
    """Draw numbers of shape `size` by a function of mx.nd.random without array parameters."""
    shape = _shape_of_draws(size, *params)
    count, dtype = prod(shape), dtype or "float32"
    if not count:  # 0 stands for an unknown length
        return make_array(onp.zeros(shape), dtype, read_context(ctx), "random")
    return reshape_view(function(shape=(count,), dtype=dtype, ctx=ctx).as_np_ndarray(), shape)


def _to_device(array, ctx):
    """Move an array to the requested device; a graph has one device for all of its numbers."""
    if ctx is None:
        return array
    context = read_context(ctx)
    return array if is_traced(array) else array.as_in_ctx(context)


def _cast_numbers(array, dtype, who):
    """Cast numbers to the requested dtype."""
    if dtype is None:
        return array
    refuse_other_than_floats(dtype, f"mx.np.random.{who}")
    return array if name_of(array.dtype) == name_of(dtype) else array.astype(dtype)


def uniform(low=0.0, high=1.0, size=None, dtype=None, ctx=None, out=None, device=None):
    """Numbers that are evenly distributed over [low, high)."""
    low, high = _array_param(low), _array_param(high)
    made_of = _draw_without_params(
        lambda **k: legacy.uniform(0, 1, **k), size, (low, high), dtype, ctx or device
    )
    return fill_out(_cast_numbers(made_of * (high - low) + low, dtype, "uniform"), out)


def _array_param(value):  # a list becomes an array, a number stays
    return array_of(value, "random") if isinstance(value, (NDArray, onp.ndarray, list)) else value


def rand(*size):
    """Numbers that are evenly distributed over [0, 1)."""
    return uniform(size=size)


def random(size=None):
    """Numbers that are evenly distributed over [0, 1)."""
    return uniform(size=size)


random_sample = ranf = random


def normal(loc=0.0, scale=1.0, size=None, dtype=None, ctx=None, out=None, device=None):
    """Normally distributed numbers."""
    loc, scale = _array_param(loc), _array_param(scale)
    made_of = _draw_without_params(
        lambda **k: legacy.normal(0, 1, **k), size, (loc, scale), dtype, ctx or device
    )
    return fill_out(_cast_numbers(made_of * scale + loc, dtype, "normal"), out)


def randn(*size):
    """Normally distributed numbers of mean 0 and deviation 1."""
    return normal(size=size)


def standard_normal(size=None, dtype=None, ctx=None):
    """Normally distributed numbers of mean 0 and deviation 1."""
    return normal(0.0, 1.0, size, dtype, ctx)


def lognormal(mean=0.0, sigma=1.0, size=None, dtype=None, ctx=None, out=None):
    """Numbers whose logarithm is normally distributed."""
    return fill_out(FUNCTIONS["exp"](normal(mean, sigma, size, dtype, ctx)), out)


def _draw_unit_interval(size, *params, ctx=None):
    """Numbers in (0, 1], safe for a logarithm."""
    return 1.0 - _draw_without_params(
        lambda **k: legacy.uniform(0, 1, **k), size, params, None, ctx
    )


def exponential(scale=1.0, size=None, ctx=None, out=None):
    """Exponentially distributed numbers."""
    scale = _array_param(scale)
    return fill_out(-FUNCTIONS["log"](_draw_unit_interval(size, scale, ctx=ctx)) * scale, out)


def weibull(a, size=None, ctx=None, out=None):
    """Numbers of Weibull's distribution."""
    a = _array_param(a)
    return fill_out((-FUNCTIONS["log"](_draw_unit_interval(size, a, ctx=ctx))) ** (1.0 / a), out)


def pareto(a, size=None, ctx=None, out=None):
    """Numbers of Pareto's second distribution."""
    a = _array_param(a)
    return fill_out(
        FUNCTIONS["exp"](-FUNCTIONS["log"](_draw_unit_interval(size, a, ctx=ctx)) / a) - 1.0, out
    )


def power(a, size=None, ctx=None, out=None):
    """Numbers in [0, 1] from a power distribution."""
    a = _array_param(a)
    return fill_out(_draw_unit_interval(size, a, ctx=ctx) ** (1.0 / a), out)


def rayleigh(scale=1.0, size=None, ctx=None, out=None):
    """Numbers of Rayleigh's distribution."""
    scale = _array_param(scale)
    return fill_out(
        FUNCTIONS["sqrt"](-2.0 * FUNCTIONS["log"](_draw_unit_interval(size, scale, ctx=ctx)))
        * scale,
        out,
    )


def gumbel(loc=0.0, scale=1.0, size=None, ctx=None, out=None):
    """Numbers of Gumbel's distribution."""
    loc, scale = _array_param(loc), _array_param(scale)
    log = FUNCTIONS["log"]
    return fill_out(
        loc - scale * log(-log(_draw_unit_interval(size, loc, scale, ctx=ctx)) + 1e-30), out
    )


def logistic(loc=0.0, scale=1.0, size=None, ctx=None, out=None):
    """Numbers of the logistic distribution."""
    loc, scale = _array_param(loc), _array_param(scale)
    unit = _draw_unit_interval(size, loc, scale, ctx=ctx)
    return fill_out(
        loc + scale * (FUNCTIONS["log"](unit + 1e-30) - FUNCTIONS["log"](1.0 - unit + 1e-30)), out
    )


def laplace(loc=0.0, scale=1.0, size=None, dtype=None, ctx=None, out=None):
    """Numbers of Laplace's distribution."""
    loc, scale = _array_param(loc), _array_param(scale)
    centred = _draw_unit_interval(size, loc, scale, ctx=ctx) - 0.5
    size_of = FUNCTIONS["absolute"](centred)
    drawn = loc - scale * FUNCTIONS["sign"](centred) * FUNCTIONS["log"](1.0 - 2.0 * size_of + 1e-30)
    return fill_out(_cast_numbers(drawn, dtype, "laplace"), out)


def gamma(shape, scale=1.0, size=None, dtype=None, ctx=None, out=None):
    """Numbers of the gamma distribution."""
    shape, scale = _array_param(shape), _array_param(scale)
    sizes = _shape_of_draws(size, shape, scale)
    if hasattr(shape, "shape"):
        wide = reshape_view(broadcast_to(shape, sizes), (prod(sizes),))
        drawn = _to_device(reshape_view(ops._sample_gamma(wide, ops.ones_like(wide)), sizes), ctx)
    else:
        drawn = _draw_without_params(
            lambda **k: legacy.gamma(shape, 1.0, **k), sizes, (), None, ctx
        )
    return fill_out(_cast_numbers(drawn * scale, dtype, "gamma"), out)


def beta(a, b, size=None, dtype=None, ctx=None):
    """Numbers of the beta distribution."""
    sizes = _shape_of_draws(size, _array_param(a), _array_param(b))
    x, y = gamma(a, 1.0, sizes, ctx=ctx), gamma(b, 1.0, sizes, ctx=ctx)
    return _cast_numbers(x / (x + y), dtype, "beta")


def chisquare(df, size=None, dtype=None, ctx=None):
    """Numbers of the chi-square distribution."""
    df = _array_param(df)
    return _cast_numbers(gamma(df / 2.0, 2.0, size, ctx=ctx), dtype, "chisquare")


def f(dfnum, dfden, size=None, ctx=None):
    """Numbers of the F distribution."""
    sizes = _shape_of_draws(size, _array_param(dfnum), _array_param(dfden))
    above, below = chisquare(dfnum, sizes, ctx=ctx), chisquare(dfden, sizes, ctx=ctx)
    return above / dfnum / (below / dfden)


def randint(low, high=None, size=None, dtype=None, ctx=None, out=None, device=None):
    """Whole numbers in [low, high), int64 by default."""
    low, high = (0, low) if high is None else (low, high)
    kind = "int64" if dtype is None else onp.dtype(dtype).name
    wide = "int64" if kind != "int32" else kind
    drawn = _draw_without_params(
        lambda **k: legacy.randint(low, high, **k), size, (), wide, ctx or device
    )
    return fill_out(drawn if kind in ("int32", "int64") else drawn.astype(kind), out)


def shuffle(x):
    """Put the rows of an array into random order, in place."""
    x[...] = ops._shuffle(x)


def permutation(x):
    """The whole numbers below `x`, or the rows of an array, in random order."""
    if isinstance(x, int):
        numbers = make_array(onp.arange(x), "int64", None, "random.permutation")
        # a graph draws each time that it runs
        return ops._shuffle(active_trace().constant(numbers) if has_trace() else numbers)
    x = array_of(x, "random.permutation")
    return take(x, permutation(x.shape[0]), 0)


def choice(a, size=None, replace=True, p=None, ctx=None, out=None):
    """Elements of an array, or numbers below `a`, drawn with or without replacement.

    Raises
    ------
    ArgumentError, ShapeError
        More are drawn without putting them back than there are, or `p` has not one number each.
    """
    a = a if isinstance(a, int) else array_of(a, "random.choice")
    n = a if isinstance(a, int) else a.shape[0]
    shape = _shape_of_draws(size)
    count = prod(shape)
    if not replace and count > n:
        raise ArgumentError(f"mx.np.random.choice: {count} of {n} without putting them back")
    if p is not None:
        rows = _choose_by_weights(array_of(p, "random.choice").astype("float64"), n, count, replace)
    else:
        rows = randint(0, n, count) if replace else permutation(n)[:count]
    rows = reshape_view(rows.astype("int64"), shape)
    drawn = rows if isinstance(a, int) else take(a, rows, 0, "clip")
    return fill_out(_to_device(drawn, ctx), out)


def _choose_by_weights(p, n, count, replace):
    if p.shape != (n,):
        raise ShapeError(f"mx.np.random.choice: p has shape {p.shape}, expected ({n},)")
    if replace:
        edges = cumsum(p)
        points = uniform(size=count).astype("float64")
        return FUNCTIONS["minimum"](searchsorted(edges / edges[-1], points, "right"), n - 1)
    # the shortest exponential waiting times with the weights as rates
    times = -FUNCTIONS["log"](_draw_unit_interval(n)).astype("float64") / FUNCTIONS["maximum"](
        p, 1e-300
    )
    return argsort(times)[:count]


def multinomial(n, pvals, size=None):
    """Return how often each of several outcomes comes in n draws."""
    given = array_of(pvals, "random.multinomial").astype("float64")
    shape, kinds = _shape_of_draws(size), given.shape[0]
    count = prod(shape)
    edges = cumsum(given / FUNCTIONS["maximum"](given.sum(), 1e-30))
    points = uniform(size=(count, n)).astype("float64")
    ends = make_array(onp.array([[0], [n]]).repeat(count, 1), "int64", None, "random.multinomial")
    below = [(points < edges[i]).sum(axis=1) for i in range(kinds - 1)]
    totals = diff(stack([ends[0], *below, ends[1]], axis=1))
    return reshape_view(totals[:, :kinds], (*shape, kinds))


def multivariate_normal(mean, cov, size=None, check_valid=None, tol=None):
    """Vectors of the normal distribution with a mean and a covariance."""
    from . import linalg

    mean, cov = array_of(mean, "random"), array_of(cov, "random")
    shape = _shape_of_draws(size)
    drawn = normal(size=(*shape, *mean.shape))
    factor = linalg.cholesky(cov)
    return mean + (drawn.reshape((-1, mean.shape[-1])) @ factor.T).reshape(drawn.shape)
