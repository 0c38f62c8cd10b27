"""mx.contrib: the operators of ``mx.nd.contrib`` and ``mx.sym.contrib`` under their first names."""

from ..ndarray import contrib as nd
from ..ndarray import contrib as ndarray
from ..symbol import contrib as sym
from ..symbol import contrib as symbol
from . import amp
from . import missing

__all__ = ["amp", "nd", "ndarray", "sym", "symbol"]
