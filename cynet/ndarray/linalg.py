"""mx.nd.linalg: the operators whose names start with _linalg_, and functions of mx.np.linalg."""

from .functions import namespace
from .methods.numpy_functions import inv, lstsq, norm, qr

__all__ = ["inv", "lstsq", "norm", "qr"]
__getattr__, _operators = namespace(__name__, "_linalg_")


def __dir__():
    return sorted({*_operators(), *__all__})
