"""Element types: the one table of MXNet type flags, names and NumPy dtypes."""

from typing import Any

import numpy as np

from .errors import ArgumentTypeError, shown

# NumPy has no bfloat16: this is MXNet's dtype for it, whose elements are the bits
BFLOAT16 = np.dtype([("bfloat16", np.uint16)])
# MXNet's type flag, as .params files and _typedefs.pxd have it, and the name; and the other way
NAMES = {
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
FLAGS = {name: flag for flag, name in NAMES.items()}
NUMPY: dict[int, Any] = {
    flag: BFLOAT16 if name == "bfloat16" else np.dtype(name) for flag, name in NAMES.items()
}
ITEMSIZES = {name: NUMPY[flag].itemsize for flag, name in NAMES.items()}
# the values of `NDArray.dtype`: NumPy's scalar type, if there is one
SCALAR_TYPES: dict[int, Any] = {flag: d if d is BFLOAT16 else d.type for flag, d in NUMPY.items()}
_FLAG = {dtype: flag for flag, dtype in NUMPY.items()}
# the spellings that need no np.dtype: names and scalar types
_DIRECT: dict[Any, int] = {
    **FLAGS,
    **{d.type: flag for flag, d in NUMPY.items() if d is not BFLOAT16},
}
_OTHERS = {"bfloat16": BFLOAT16}  # dtypes that ml_dtypes adds to NumPy's, by name


def dtype_flag(dtype: Any) -> int:
    """The type flag of anything that NumPy accepts as a dtype (None means float32).

    ``bfloat16`` is a name, MXNet's ``np.dtype([('bfloat16', np.uint16)])``, or what the package
    ml_dtypes has by that name.

    >>> dtype_flag("float64"), dtype_flag(int), dtype_flag(None), dtype_flag("bfloat16")
    (1, 6, 0, 12)
    """
    if dtype is None:
        return 0
    if type(dtype) is str or type(dtype) is type:
        flag = _DIRECT.get(dtype)
        if flag is not None:
            return flag
    elif not isinstance(dtype, (np.dtype, type, str)) and hasattr(dtype, "dtype"):
        return dtype_flag(dtype.dtype)  # an array or scalar given in place of its dtype
    try:
        dtype = np.dtype(dtype)
        flag = _FLAG.get(dtype)
        return _FLAG[_OTHERS[dtype.name]] if flag is None else flag  # NumPy takes 2 us for a name
    except Exception:  # NumPy reads a dtype from much, and raises of many classes
        raise ArgumentTypeError(f"dtype {shown(dtype)} is not one of {', '.join(FLAGS)}") from None


def name_of(dtype: Any) -> str:
    """The name of anything `dtype_flag` takes.

    >>> name_of(np.float16), name_of(BFLOAT16)
    ('float16', 'bfloat16')
    """
    return NAMES[dtype_flag(dtype)]


def scalar_type(dtype: Any) -> Any:
    """The ``dtype`` of an array of this dtype: a NumPy scalar type, or `BFLOAT16`.

    >>> scalar_type("float32")
    <class 'numpy.float32'>
    """
    return SCALAR_TYPES[dtype_flag(dtype)]


def numpy_dtype(flag: int) -> Any:
    """The NumPy dtype of a type flag.

    >>> numpy_dtype(2)
    dtype('float16')
    """
    return NUMPY[flag]


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
