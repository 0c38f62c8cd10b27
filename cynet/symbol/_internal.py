"""mx.sym._internal: the operators whose names start with an underscore."""

from ..base.errors import NotFoundError
from ..operator._base import OPERATORS
from .register import function_of


def __getattr__(name):
    if name.startswith("__") or not name.startswith("_") or name not in OPERATORS:
        raise NotFoundError(f"module '{__name__}' has no attribute '{name}'")
    return function_of(name, OPERATORS.get(name))


def __dir__():
    return sorted(name for name in OPERATORS if name.startswith("_"))
