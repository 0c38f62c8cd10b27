"""mx.nd.linalg: the operators whose names start with _linalg_, and functions of mx.np.linalg."""

from .functions import make_getattr
from .methods.numpy_functions import eigh as eigh
from .methods.numpy_functions import inv as inv
from .methods.numpy_functions import lstsq as lstsq
from .methods.numpy_functions import norm as norm
from .methods.numpy_functions import pinv as pinv
from .methods.numpy_functions import qr as qr

_find_operator, _list_operators = make_getattr(__name__, "_linalg_")


def __getattr__(name):
    if name == "__all__":
        return [each for each in __dir__() if not each.startswith("_")]
    return _find_operator(name)


def __dir__():
    return sorted({*_list_operators(), "eigh", "inv", "lstsq", "norm", "pinv", "qr"})
