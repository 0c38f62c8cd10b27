"""The list of NumPy's functions that call mx.np's functions for its arrays, as in MXNet 1.9.1.

NumPy asks ``__array_function__`` and ``__array_ufunc__`` of ``mx.np.ndarray``; nothing has to be
switched on.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as onp

from .base.errors import ArgumentTypeError, shown

if TYPE_CHECKING:
    from collections.abc import Callable

_FUNCTION_NAMES = """
all any sometrue argmin argmax around round round_ argsort sort append broadcast_arrays
broadcast_to clip concatenate copy cumsum diag diagonal diagflat dot expand_dims fix flip flipud
fliplr inner insert max amax mean min amin nonzero ones_like atleast_1d atleast_2d atleast_3d prod
product ravel repeat reshape roll split array_split hsplit vsplit dsplit squeeze stack std sum
swapaxes take tensordot tile transpose unique unravel_index diag_indices_from delete var vdot
vstack column_stack hstack dstack zeros_like linalg.norm linalg.cholesky linalg.inv linalg.solve
linalg.tensorinv linalg.tensorsolve linalg.pinv linalg.eigvals linalg.eig linalg.eigvalsh
linalg.eigh shape trace tril meshgrid outer einsum polyval shares_memory may_share_memory quantile
percentile diff ediff1d resize where full_like bincount empty_like nan_to_num isnan isfinite
isposinf isneginf isinf pad
"""
_UFUNC_NAMES = """
abs fabs add arctan2 copysign degrees hypot lcm subtract multiply true_divide negative power mod
matmul absolute rint sign exp log log2 log10 expm1 sqrt square cbrt reciprocal invert bitwise_not
remainder sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh maximum minimum
ceil trunc floor bitwise_and bitwise_xor bitwise_or logical_not equal not_equal less less_equal
greater greater_equal
"""


def _names_in_numpy(names):
    """Return the names that the installed NumPy has."""

    def exists(name):
        return hasattr(functools.reduce(getattr, name.split(".")[:-1], onp), name.split(".")[-1])

    return list(filter(exists, names.split()))


_NUMPY_ARRAY_FUNCTION_LIST = _names_in_numpy(_FUNCTION_NAMES)
_NUMPY_ARRAY_UFUNC_LIST = _names_in_numpy(_UFUNC_NAMES)


def with_array_function_protocol(func: Callable) -> Callable:
    """Return the function unchanged: NumPy's functions always accept arrays of mx.np.

    Parameters
    ----------
    func : callable
        The function to decorate.

    Returns
    -------
    callable
        The function itself.

    Raises
    ------
    ArgumentTypeError
        It is no function.
    """
    if not callable(func):
        raise ArgumentTypeError(f"a function is decorated, got {shown(func)}")
    return func


with_array_ufunc_protocol = with_array_function_protocol
