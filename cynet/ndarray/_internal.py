"""mx.nd._internal: every operator under its own name, private ones too."""

from .functions import function_of, make_getattr

__getattr__, __dir__ = make_getattr(__name__, "")


def _square_sum(data, axis=None, keepdims=False, exclude=False, out=None, name=None):
    """``sum(square(data))`` over axes: of a row_sparse array its rows alone."""
    squares = function_of("square")(data)
    return function_of("sum")(squares, axis=axis, keepdims=keepdims, exclude=exclude, out=out)
