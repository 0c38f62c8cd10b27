"""Elementwise functions of mx.np with the array API's signatures."""

import numpy as onp

from ...ndarray.ndarray import NDArray
from .. import selection
from .._call import NUMBERS, array_of
from ..elementwise import FUNCTIONS
from .creation import asarray
from .dtypes import isdtype, result_type

UNARY_NAMES = (  # functions of one array
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_invert", "ceil", "cos",
    "cosh", "exp", "expm1", "floor", "isfinite", "isinf", "isnan", "log", "log1p", "log2",
    "log10", "logical_not", "negative", "reciprocal", "round", "sign", "signbit", "sin", "sinh",
    "sqrt", "square", "tan", "tanh", "trunc",
)  # fmt: skip
BINARY_NAMES = (  # functions of two arrays
    "add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "copysign", "divide", "equal", "floor_divide", "greater", "greater_equal",
    "hypot", "less", "less_equal", "logaddexp", "logical_and", "logical_or", "logical_xor",
    "maximum", "minimum", "multiply", "nextafter", "not_equal", "pow", "remainder", "subtract",
)  # fmt: skip


def _unary_function(name):
    function = selection.round if name == "round" else FUNCTIONS[name]

    def apply(x, /):
        return function(array_of(x, name))

    return _set_name_and_doc(apply, name)


def _binary_function(name):
    function = FUNCTIONS[name]

    def apply(x1, x2, /):
        return function(x1, x2)

    return _set_name_and_doc(apply, name)


def _set_name_and_doc(function, name):
    function.__name__ = function.__qualname__ = name
    function.__module__ = "cynet.numpy.array_api"
    function.__doc__ = f"``{name}`` of the array API standard, element by element."
    return function


globals().update({name: _unary_function(name) for name in UNARY_NAMES})
globals().update({name: _binary_function(name) for name in BINARY_NAMES})


def positive(x, /):
    """The elements themselves, in a new array."""
    return array_of(x, "positive").copy()


def conj(x, /):
    """The elements themselves: they are real."""
    return array_of(x, "conj").copy()


def real(x, /):
    """The elements themselves: they are real."""
    return array_of(x, "real").copy()


def imag(x, /):
    """Zeros: the elements are real."""
    x = array_of(x, "imag")
    return x * 0


def clip(x, /, min=None, max=None):
    """The elements, at least `min` and at most `max`, in the dtype of `x`."""
    x = array_of(x, "clip")
    out = x
    for bound, function in ((min, FUNCTIONS["maximum"]), (max, FUNCTIONS["minimum"])):
        if bound is None:
            continue
        if isinstance(bound, NUMBERS) and isdtype(x.dtype, "integral"):
            bound = _fits_dtype(bound, x.dtype)
        elif isinstance(bound, NDArray):
            bound = bound.astype(x.dtype, copy=False)
        out = function(out, bound)
    return x.copy() if out is x else out


def _fits_dtype(number, dtype):
    limits = onp.iinfo(dtype)
    return int(onp.clip(number, limits.min, limits.max))


def where(condition, x1, x2, /):
    """Elements of `x1` where the condition holds, else of `x2`; one may be a Python number."""
    if isinstance(x1, (int, float)) and isinstance(x2, (int, float)):
        dtype = result_type(x1, x2)
        x1, x2 = asarray(x1, dtype=dtype), asarray(x2, dtype=dtype)
    return selection.where(condition, x1, x2)


__all__ = [*UNARY_NAMES, *BINARY_NAMES, "clip", "conj", "imag", "positive", "real", "where"]
