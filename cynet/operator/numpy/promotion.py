"""Dtypes of results under NumPy's semantics, with float32 where NumPy has float64.

Two arrays give the dtype that holds both: of integers the wider one, a float beside an integer or a
bool, anything beside a bool. A Python number is weak: it gives way to the array's dtype, unless it
is of a higher kind (a float beside integers).
"""

import numpy as np

from ...base.errors import ArgumentTypeError, NumberError
from ..functions.row import BOOL, FLOAT

FLOATS = ("float16", "bfloat16", "float32", "float64")  # from narrow to wide
SIGNED_INTEGERS = ("int8", "int32", "int64")  # dtypes from narrow to wide
INTEGERS = ("uint8", *SIGNED_INTEGERS)  # from narrow to wide
DEFAULT_FLOAT = "float32"  # where NumPy has float64


def promote_dtypes(a: str, b: str) -> str:
    """Return the dtype of arithmetic on arrays of two dtypes.

    >>> promote_dtypes("int32", "float16"), promote_dtypes("uint8", "int8")
    ('float16', 'int32')
    >>> promote_dtypes("bool", "int64")
    'int64'
    """
    if a == b or b == "bool":
        return a
    if a == "bool":
        return b
    if a in FLOATS and b in FLOATS:
        if {a, b} == {"float16", "bfloat16"}:
            return "float32"
        return max(a, b, key=FLOATS.index)
    if a in FLOATS or b in FLOATS:
        return a if a in FLOATS else b
    wider = max(a, b, key=INTEGERS.index)
    return "int32" if wider == "int8" else wider  # int16 is not supported here


def scalar_dtype(dtype, whole):
    """Return the dtype of arithmetic on an array and a Python number, an int if `whole`.

    >>> scalar_dtype("int32", False), scalar_dtype("float16", True), scalar_dtype("bool", True)
    ('float32', 'float16', 'int64')
    """
    if dtype in FLOATS:
        return dtype
    if not whole:
        return DEFAULT_FLOAT
    return "int64" if dtype == "bool" else dtype


def check_int_range(number, dtype, who):
    """Raise if a Python int is outside of the range of an integer dtype.

    Raises
    ------
    NumberError
        It is an OverflowError, as NumPy's.
    """
    if dtype in _INTEGER_RANGES:
        low, high = _INTEGER_RANGES[dtype]
        if not low <= number <= high:
            raise NumberError(
                f"{who}: {number} is out of bounds for {dtype}, which holds {low} to {high}; "
                "astype() makes a wider array"
            )


def check_int_ranges(host, dtype, who):
    """Call `check_int_range` for the ints of a list that NumPy has converted to an array."""
    if dtype not in _INTEGER_RANGES or not host.size:
        return
    if host.dtype.kind in "iu":
        ints = host.min(), host.max()
    else:
        ints = [each for each in host.flat if type(each) is int] if host.dtype == object else ()
    for each in ints:
        check_int_range(int(each), dtype, who)


_INTEGER_RANGES = {each: (int(np.iinfo(each).min), int(np.iinfo(each).max)) for each in INTEGERS}


def result_dtype(kind, common):
    """Return the output's dtype for a function's `kind` of result and the operands' common dtype.

    >>> result_dtype("float", "int64"), result_dtype("same", "int64"), result_dtype("bool", "int8")
    ('float32', 'int64', 'bool')
    """
    if kind == BOOL:
        return "bool"
    if kind == FLOAT:
        return common if common in FLOATS else DEFAULT_FLOAT
    return common


def comparison_dtype(a: str, b: str) -> str:
    """Return the dtype in which elements of two dtypes are compared: one that represents both.

    >>> comparison_dtype("int64", "float32"), comparison_dtype("uint8", "float32")
    ('float64', 'float32')
    """
    common = promote_dtypes(a, b)
    wide = ("int32", "int64")
    return "float64" if common in FLOATS and (a in wide or b in wide) else common


def refuse_floats(name, types):
    """Raise an error if a function of integers and bools gets floats.

    Raises
    ------
    ArgumentTypeError
    """
    for each in types:
        if each in FLOATS:
            raise ArgumentTypeError(f"operator {name} takes integers and bools, got {each}")
