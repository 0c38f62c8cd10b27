"""mx.sym._internal: the operators whose names start with an underscore."""

from ..base.errors import NotFoundError
from ..operator._base import OPERATORS
from .register import function_of


def _square_sum(data, axis=None, keepdims=False, exclude=False, name=None, attr=None):
    """``sum(square(data))`` over axes: of a row_sparse array its rows alone."""
    squares = function_of("square", OPERATORS.get("square"))(data)
    total = function_of("sum", OPERATORS.get("sum"))
    return total(squares, axis=axis, keepdims=keepdims, exclude=exclude, name=name, attr=attr)


def __getattr__(name):
    if name.startswith("__") or not name.startswith("_") or name not in OPERATORS:
        raise NotFoundError(f"module '{__name__}' has no attribute '{name}'")
    return function_of(name, OPERATORS.get(name))


def __dir__():
    return sorted(name for name in OPERATORS if name.startswith("_"))
