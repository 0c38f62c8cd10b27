"""mx.nd._internal: every operator under its own name, private ones too."""

from .functions import function_of, namespace

__getattr__, __dir__ = namespace(__name__, "")


def _square_sum(data, axis=None, keepdims=False, exclude=False, out=None, name=None):
    """``sum(square(data))`` over axes: of a row_sparse array its rows alone."""
    squares = function_of("square")(data)
    return function_of("sum")(squares, axis=axis, keepdims=keepdims, exclude=exclude, out=out)
