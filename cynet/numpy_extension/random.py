"""mx.npx.random: Bernoulli draws, and draws with a batch shape."""

from ..numpy import random as _random
from ..numpy._call import array_of, fill_out, with_aliases
from ..numpy.random import seed as seed


def bernoulli(prob=None, logit=None, size=None, dtype=None, ctx=None, out=None):
    """1 with probability `prob`, or the logistic function of `logit`; else 0."""
    from ..numpy.elementwise import EXTENSION_FUNCTIONS

    if prob is None:
        prob = EXTENSION_FUNCTIONS["sigmoid"](array_of(logit, "npx.random.bernoulli"))
    shape = size if size is not None else getattr(prob, "shape", ())
    drawn = _random.uniform(0.0, 1.0, shape, ctx=ctx)
    return fill_out((drawn < prob).astype("float32" if dtype is None else dtype), out)


def _make_batched_sampler(draw, first, second):
    @with_aliases(**{first: "a", second: "b"})
    def function(a=0.0, b=1.0, batch_shape=None, dtype=None, ctx=None):
        batch = () if batch_shape is None else batch_shape
        batch = (batch,) if isinstance(batch, int) else tuple(batch)
        inner = _random._shape_of_draws(None, _random._array_param(a), _random._array_param(b))
        return draw(a, b, (*batch, *inner), dtype, ctx)

    function.__doc__ = (
        f"As ``mx.np.random.{draw.__name__}``, in the shape of a batch and that of the parameters."
    )
    return function


uniform_n = _make_batched_sampler(_random.uniform, "low", "high")
normal_n = _make_batched_sampler(_random.normal, "loc", "scale")

__all__ = ["bernoulli", "normal_n", "seed", "uniform_n"]
