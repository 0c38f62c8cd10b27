"""mx.contrib: experimental modules; operators of ``mx.nd.contrib`` under their older names."""

from typing import TYPE_CHECKING

from ..ndarray import contrib as nd
from ..ndarray import contrib as ndarray
from ..symbol import contrib as sym
from ..symbol import contrib as symbol
from . import amp

if TYPE_CHECKING:  # modules are imported at first use: see libinfo.py
    from . import autograd, explain, horovod, io, onnx, quantization, series, sklearn, tables
    from . import tensorboard, text

__all__ = ["amp", "nd", "ndarray", "sym", "symbol"]
