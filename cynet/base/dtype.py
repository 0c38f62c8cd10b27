"""Element types: the one table of MXNet type flags, names and NumPy dtypes."""

import numpy as np

from .errors import ArgumentTypeError, shown

# position = MXNet's type flag, as .params files and _typedefs.pxd have it
NAMES = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool")
NUMPY = tuple(np.dtype(name) for name in NAMES)
ITEMSIZES = {name: dtype.itemsize for name, dtype in zip(NAMES, NUMPY)}
_FLAG = {dtype: flag for flag, dtype in enumerate(NUMPY)}
# what needs no np.dtype: names and scalar types
_DIRECT = {key: flag for flag, d in enumerate(NUMPY) for key in (d.name, d.type)}


def dtype_flag(dtype):
    """The type flag of anything NumPy takes as a dtype (None means float32).

    >>> dtype_flag("float64"), dtype_flag(int), dtype_flag(None)
    (1, 6, 0)
    """
    if dtype is None:
        return 0
    if type(dtype) is str or type(dtype) is type:
        flag = _DIRECT.get(dtype)
        if flag is not None:
            return flag
    try:
        return _FLAG[np.dtype(dtype)]
    except Exception:  # NumPy reads a dtype from much, and raises of many classes
        raise ArgumentTypeError(f"dtype {shown(dtype)} is not one of {', '.join(NAMES)}") from None


def numpy_dtype(flag):
    """The NumPy dtype of a type flag.

    >>> numpy_dtype(2)
    dtype('float16')
    """
    return NUMPY[flag]
