"""Element types: the one table of MXNet type flags, names and NumPy dtypes."""

from typing import Any

import numpy as np

from .errors import ArgumentTypeError, shown

# NumPy has no bfloat16: this is MXNet's dtype for it, whose elements are the bits
BFLOAT16 = np.dtype([("bfloat16", np.uint16)])  # the 16 bits of each value
# MXNet's type flag, as in .params files and _typedefs.pxd -> name; FLAGS is the inverse
NAMES = {  # type flag -> name of the dtype
    0: "float32",
    1: "float64",
    2: "float16",
    3: "uint8",
    4: "int32",
    5: "int8",
    6: "int64",
    7: "bool",
    12: "bfloat16",
}
FLAGS = {name: flag for flag, name in NAMES.items()}  # name -> type flag
DTYPES: dict[int, Any] = {  # type flag -> NumPy's dtype
    flag: BFLOAT16 if name == "bfloat16" else np.dtype(name) for flag, name in NAMES.items()
}
ITEMSIZES = {name: DTYPES[flag].itemsize for flag, name in NAMES.items()}
# type flag -> the value of `NDArray.dtype`, NumPy's scalar type if there is one
SCALAR_TYPES: dict[int, Any] = {flag: d if d is BFLOAT16 else d.type for flag, d in DTYPES.items()}
_FLAG_OF_DTYPE = {dtype: flag for flag, dtype in DTYPES.items()}
# names and scalar types -> type flag, without a call of np.dtype
_FLAG_OF_SPELLING: dict[Any, int] = {
    **FLAGS,
    **{d.type: flag for flag, d in DTYPES.items() if d is not BFLOAT16},
}
_ML_DTYPES = {"bfloat16": BFLOAT16}  # dtypes of the package ml_dtypes, by name


def dtype_flag(dtype: Any) -> int:
    """Return the type flag of anything that NumPy accepts as a dtype (None means float32).

    ``bfloat16`` is a name, MXNet's ``np.dtype([('bfloat16', np.uint16)])``, or what the package
    ml_dtypes has by that name.

    >>> dtype_flag("float64"), dtype_flag(int), dtype_flag(None), dtype_flag("bfloat16")
    (1, 6, 0, 12)
    """
    if dtype is None:
        return 0
    if type(dtype) is str or type(dtype) is type:
        flag = _FLAG_OF_SPELLING.get(dtype)
        if flag is not None:
            return flag
    elif not isinstance(dtype, (np.dtype, type, str)) and hasattr(dtype, "dtype"):
        return dtype_flag(dtype.dtype)  # an array or scalar stands for its dtype
    try:
        dtype = np.dtype(dtype)
        flag = _FLAG_OF_DTYPE.get(dtype)
        return _FLAG_OF_DTYPE[_ML_DTYPES[dtype.name]] if flag is None else flag
    except Exception:  # np.dtype raises many classes of exceptions
        raise ArgumentTypeError(f"dtype {shown(dtype)} is not one of {', '.join(FLAGS)}") from None


def name_of(dtype: Any) -> str:
    """Return the name of a dtype, in any form that `dtype_flag` accepts.

    >>> name_of(np.float16), name_of(BFLOAT16)
    ('float16', 'bfloat16')
    """
    return NAMES[dtype_flag(dtype)]


def scalar_type(dtype: Any) -> Any:
    """Return the attribute ``dtype`` of arrays of a dtype: a NumPy scalar type, or `BFLOAT16`.

    >>> scalar_type("float32")
    <class 'numpy.float32'>
    """
    return SCALAR_TYPES[dtype_flag(dtype)]


def numpy_dtype(flag: int) -> Any:
    """Return the NumPy dtype of a type flag.

    >>> numpy_dtype(2)
    dtype('float16')
    """
    return DTYPES[flag]


def is_bfloat16(dtype: Any) -> bool:
    """Return whether a NumPy dtype is `BFLOAT16` or the bfloat16 of ml_dtypes.

    >>> is_bfloat16(BFLOAT16), is_bfloat16(np.dtype("V2"))
    (True, False)
    """
    return bool(dtype == BFLOAT16 or dtype.name == "bfloat16")


def is_narrow(dtype: Any) -> bool:
    """Return whether a dtype is float16 or bfloat16.

    >>> is_narrow("bfloat16"), is_narrow(np.float32)
    (True, False)
    """
    return dtype_flag(dtype) in (2, 12)


def is_floating(dtype: Any) -> bool:
    """Return whether elements of a dtype are real numbers.

    >>> is_floating("bfloat16"), is_floating("int32")
    (True, False)
    """
    return dtype_flag(dtype) in (0, 1, 2, 12)
