"""The operator modules that hybrid_forward gets as F: mx.nd and mx.sym."""

import sys
from types import ModuleType

from ... import ndarray, symbol
from ...base.mxnet_globals import MXNetModule, as_mxnet_module

_PACKAGE = __name__.partition(".")[0]  # name of this package


def imported_operator_modules(kind):
    """Return (``mx.nd``, ``mx.sym``) as the module with `kind`'s ``hybrid_forward`` imports them,
    so that ``F is mx.nd`` holds there: from the package mxnet if it imports nothing of cynet."""
    namespace = getattr(kind.hybrid_forward, "__globals__", None)
    if namespace is None:
        namespace = vars(sys.modules.get(kind.__module__, sys))
    if not isinstance(sys.modules.get("mxnet"), MXNetModule) or any(
        _is_cynet_module(each) for each in list(namespace.values())
    ):
        return ndarray, symbol
    return as_mxnet_module(ndarray), as_mxnet_module(symbol)


def _is_cynet_module(value):
    return isinstance(value, ModuleType) and value.__name__.partition(".")[0] == _PACKAGE
