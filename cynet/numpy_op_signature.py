"""The functions of operators whose names begin with ``_np_``."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from .base.errors import NotFoundError, shown
from .numpy._call import call
from .operator._base import get_operator
from .operator.signature import make_docstring, python_signature

if TYPE_CHECKING:
    from collections.abc import Callable

_PREFIX = "_np_"  # of the names of MXNet's internal NumPy operators


@cache
def _get_builtin_op(op_name: str) -> Callable:
    """Return the function of an operator, with a signature made from its parameters.

    Raises
    ------
    NotFoundError
        No operator has the name, or it begins with something else.
    """
    if not op_name.startswith(_PREFIX):
        raise NotFoundError(f"the operators of mx.np begin with {_PREFIX}, got {shown(op_name)}")
    entry = get_operator(op_name)

    def function(*args, **kwargs):
        return call(op_name, *args, **kwargs)

    function.__name__ = function.__qualname__ = op_name
    function.__doc__ = make_docstring(entry, "ndarray")
    function.__signature__ = python_signature(entry)
    return function
