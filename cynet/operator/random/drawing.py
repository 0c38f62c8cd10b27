"""The docstrings of the functions of mx.nd.random and mx.sym.random: one row for both."""

from ...base.guard import guarded

# Name: distribution, parameters, and an example.
_DISTRIBUTION_DOCS = {  # name -> distribution, parameters, example
    "uniform": (
        "Numbers from [low, high), each equally likely.",
        """low, high : float or {array}
    The lower bound, and the upper bound, which is not included.""",
        """>>> sample = mx.nd.random.uniform(2, 3, shape=(2, 3)).asnumpy()
>>> sample.shape, bool((sample >= 2).all() and (sample < 3).all())
((2, 3), True)""",
    ),
    "normal": (
        "Draw normally distributed numbers.",
        """loc, scale : float or {array}
    Mean and standard deviation.""",
        """>>> drawn = mx.nd.random.normal(10, 2, shape=(1000,)).asnumpy()
>>> drawn.shape, bool(abs(drawn.mean() - 10) < 0.3), bool(abs(drawn.std() - 2) < 0.3)
((1000,), True, True)
>>> mx.nd.random.normal(mx.nd.array([0, 100]), mx.nd.array([1, 1]), shape=3).shape
(2, 3)""",
    ),
    "randn": (
        "Draw normally distributed numbers; the lengths of the axes are given one by one.",
        """*shape : int
    Lengths of the axes; without them `normal` is called without a shape.
loc, scale : float or {array}
    Mean and standard deviation.""",
        """>>> mx.nd.random.randn(2, 3, loc=5).shape
(2, 3)""",
    ),
    "exponential": (
        "Draw exponentially distributed numbers.",
        """scale : float or {array}
    Mean, above 0.""",
        """>>> drawn = mx.nd.random.exponential(2, shape=(1000,)).asnumpy()
>>> bool(drawn.min() >= 0), bool(abs(drawn.mean() - 2) < 0.3)
(True, True)""",
    ),
    "gamma": (
        "Draw Gamma distributed numbers.",
        """alpha, beta : float or {array}
    Shape and scale: the mean is ``alpha * beta``.""",
        """>>> drawn = mx.nd.random.gamma(2, 3, shape=(1000,)).asnumpy()
>>> bool(drawn.min() >= 0), bool(abs(drawn.mean() - 6) < 0.6)
(True, True)""",
    ),
    "poisson": (
        "Draw Poisson distributed counts, in a float type.",
        """lam : float or {array}
    Mean.""",
        """>>> drawn = mx.nd.random.poisson(4, shape=(1000,)).asnumpy()
>>> bool((drawn == drawn.round()).all()), bool(abs(drawn.mean() - 4) < 0.3)
(True, True)""",
    ),
    "negative_binomial": (
        "Draw counts, in a float type, of successes before the k-th failure.",
        """k : float or {array}
    The number of failures.
p : float or {array}
    The probability of a failure: the mean is ``k * (1 - p) / p``.""",
        """>>> drawn = mx.nd.random.negative_binomial(3, 0.5, shape=(1000,)).asnumpy()
>>> bool((drawn == drawn.round()).all()), bool(abs(drawn.mean() - 3) < 0.4)
(True, True)""",
    ),
    "generalized_negative_binomial": (
        "Draw negative binomial counts, in a float type, of a mean and a dispersion.",
        """mu : float or {array}
    Mean.
alpha : float or {array}
    Dispersion: the variance is ``mu + alpha * mu ** 2``.""",
        """>>> drawn = mx.nd.random.generalized_negative_binomial(2, 0.5, shape=(1000,)).asnumpy()
>>> bool(abs(drawn.mean() - 2) < 0.3), bool(abs(drawn.var() - 4) < 1)
(True, True)""",
    ),
    "randint": (
        "Draw integers from [low, high), each equally likely.",
        """low, high : int
    The smallest value, and one more than the largest.""",
        """>>> dice = mx.nd.random.randint(1, 7, shape=(100,)).asnumpy()
>>> int(dice.min()), int(dice.max()), dice.dtype
(1, 6, dtype('int32'))""",
    ),
}
_SHAPE_TEXT = """
shape : int or tuple of int, optional
    Shape of the sample; by default {}.
    Parameters of shape (s) give an output of shape (s, shape)."""
_TYPE_TEXT = """
dtype : str or numpy.dtype, optional
    Element type: {}."""
_FLOAT_DTYPES_TEXT = "``'float32'`` (the default), ``'bfloat16'``, ``'float16'`` or ``'float64'``"
_INTEGER_DTYPES_TEXT = "``'int32'`` (the default) or ``'int64'``"
_RAISES_TEXT = """

Raises
------
ArgumentError, ArgumentTypeError
    A parameter is not a number or of type {array}, or lies outside the distribution's range.

Examples
--------
"""
_SEED_LINE = ">>> mx.random.seed(1)\n"


def with_docstring(array, by_default, options, first=""):
    """Make a decorator that guards a random function of mx.nd or mx.sym, and documents it.

    Parameters
    ----------
    array : str
        The class that the face computes with: NDArray, or Symbol.
    by_default : str
        Words that tell the shape of a sample where none is given.
    options : str
        What the docstring says of the parameters that only this face has.
    first : str
        Words before the example, which shows arrays.
    """

    def insert_paragraphs(function):
        sentence, parameters, example = _DISTRIBUTION_DOCS[function.__name__]
        if not parameters.startswith("*shape"):
            parameters += _SHAPE_TEXT.format(by_default)
        dtype = _TYPE_TEXT.format(
            _INTEGER_DTYPES_TEXT if function.__name__ == "randint" else _FLOAT_DTYPES_TEXT
        )
        text = f"{sentence}\n\nParameters\n----------\n{parameters}{dtype}{options}{_RAISES_TEXT}"
        function.__doc__ = text.format(array=array) + first + _SEED_LINE + example
        return guarded(function)

    return insert_paragraphs
