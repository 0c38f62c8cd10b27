"""mx.sym.np: functions of mx.np that make nodes of graphs."""

from .functions import module_getattr
from .numpy_symbol import NumpySymbol as NumpySymbol
from .numpy_symbol import NumpySymbol as _Symbol

__getattr__ = module_getattr("np")
