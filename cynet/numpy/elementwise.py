"""Elementwise functions of mx.np: one row each of operator/numpy/rows.py."""

import functools
import inspect

import numpy as onp

from ..base.dtype import name_of
from ..base.errors import ArgumentTypeError, NotFoundError, shown
from ..ndarray._arithmetic import UNARY, OpSlot, set_operators
from ..ndarray.ndarray import NDArray
from ..operator.functions.numpy_rows import (
    BINARIES,
    NPX_UNARIES,
    NUMPY_NAMES,
    NUMPY_ONLY_UNARIES,
    UNARIES,
    operators_of,
)
from ..operator.functions.row import BOOL
from ._call import (
    NP,
    NUMBERS,
    array_of,
    call,
    fill_out,
    is_traced,
    ops,
    refuse_cast,
    refuse_order,
    unwrap_out,
    with_aliases,
)

_OPERATOR_SIGNS = {  # operator -> its sign in errors
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "true_divide": "/",
    "mod": "%",
    "power": "**",
    "equal": "==",
    "not_equal": "!=",
    "greater": ">",
    "greater_equal": ">=",
    "less": "<",
    "less_equal": "<=",
    "floor_divide": "//",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "bitwise_left_shift": "<<",
    "bitwise_right_shift": ">>",
}
# mx.nd's names for Python's operators where NumPy has another name.
_SLOT_NAMES = {numpys: own for own, numpys in NUMPY_NAMES.items()}  # NumPy's name -> mx.nd's
_SLOT_NAMES |= {f"bitwise_{name}": name for name in ("left_shift", "right_shift")}

SLOTS = {n: OpSlot(NP, _OPERATOR_SIGNS.get(n, n), *operators_of(n)) for n, *_ in BINARIES}
set_operators(
    NP, {_SLOT_NAMES.get(name, name): slot for name, slot in SLOTS.items()}, dict(zip(UNARY, UNARY))
)


# Defaults of arguments, which are compared by identity.
_KEEP_ORDER, _SAME_KIND_CASTING = "K", "same_kind"  # defaults, compared by identity


def _call_with_dtype_casting(function, inputs, out, where, dtype, casting, order):
    """Call `function` on inputs that are converted to ``dtype=`` by the rule `casting`. Outside of
    ``where=`` `out` is unchanged, and a new result is zero."""
    from .selection import where as choose

    name, out = f"mx.np.{function.__name__}", unwrap_out(out)
    refuse_order(order, name)
    refuse_cast("bool", "bool", casting, name)  # raises for an unknown `casting`
    if dtype is not None and function.__name__ not in _BOOLEAN_FUNCTIONS:
        arrays = [array_of(each, function.__name__) for each in inputs]
        for given, each in zip(inputs, arrays):
            if not isinstance(given, NUMBERS):
                refuse_cast(each.dtype, dtype, casting, f"{name}: dtype")
        inputs = [each.astype(dtype) for each in arrays]
    value = function(*inputs)
    if dtype is not None and name_of(value.dtype) != name_of(dtype):
        raise ArgumentTypeError(
            f"{name}: dtype {name_of(dtype)} is not one of its results, which is "
            f"{name_of(value.dtype)} here"
        )
    if out is not None:
        refuse_cast(value.dtype, out.dtype, casting, f"{name}: out")
        value = value.astype(out.dtype)
    if where is not True:
        value = choose(where, value, onp.dtype(value.dtype).type(0) if out is None else out)
    return fill_out(value, out)


_BOOLEAN_FUNCTIONS = {name for name, _, _, result, *_ in BINARIES if result == BOOL}
_BOOLEAN_FUNCTIONS |= {name for name, result in NUMPY_ONLY_UNARIES if result == BOOL}
_BOOLEAN_FUNCTIONS |= {
    name for name, (_, row) in UNARIES.items() if row is not None and row.result == BOOL
}


def _has_float_dtype_of(out, *operands):
    """True if all arrays have the float dtype of `out`, so that the result has it; others may be
    converted when they are written."""
    return onp.dtype(out.dtype).kind == "f" and not any(
        each.dtype != out.dtype for each in operands if not isinstance(each, NUMBERS)
    )


def with_ufunc_arguments(function):
    """Make a function of one or two arrays and `out` accept ``where=`` and ``dtype=``."""

    signature = inspect.signature(function)
    *names, _ = signature.parameters

    @functools.wraps(function)
    def run(*args, where=True, dtype=None, casting="same_kind", order="K", subok=True, **more):
        usual = casting is _SAME_KIND_CASTING and order is _KEEP_ORDER
        if usual and where is True and dtype is None:
            return function(*args, **more)
        given = signature.bind(*args, **more).arguments
        operands = [given[n] for n in names]
        return _call_with_dtype_casting(
            function, operands, given.get("out"), where, dtype, casting, order
        )

    return run


def _numpy_function(name):
    """Return NumPy's function; NumPy 1.26 has those of the array API under their older names."""
    return getattr(onp, name, None) or getattr(onp, name.removeprefix("bitwise_"))


def _binary_function(name):
    slot, operators, host = SLOTS[name], operators_of(name), _numpy_function(name)
    truth = name in _BOOLEAN_FUNCTIONS

    def function(
        x1, x2, out=None, where=True, dtype=None, casting="same_kind", order="K", subok=True
    ):
        usual = casting is _SAME_KIND_CASTING and order is _KEEP_ORDER
        if not usual or where is not True or dtype is not None:
            return _call_with_dtype_casting(function, (x1, x2), out, where, dtype, casting, order)
        if out is None and hasattr(x1, "_face") and hasattr(x2, "_face"):
            return slot.apply_or_none(x1, x2)
        if is_traced(x1) or is_traced(x2):
            return call_traced_binary(operators, x1, x2, out)
        if isinstance(x1, NUMBERS) and isinstance(x2, NUMBERS):
            return host(x1, x2)
        if not isinstance(x1, NUMBERS) or isinstance(x1, (bool, onp.bool_)):
            x1 = array_of(x1, name)
        if not isinstance(x2, NUMBERS) or isinstance(x2, (bool, onp.bool_)):
            x2 = array_of(x2, name)
        if out is None:
            return slot.apply_or_none(x1, x2)
        out = unwrap_out(out)
        if isinstance(x1, NUMBERS):
            x1 = array_of(x1, name, x2.dtype)
        if truth or not _has_float_dtype_of(out, x1, x2):
            return fill_out(slot.apply_or_none(x1, x2), out)
        return slot.apply_or_none(x1, x2, out)

    return _set_name_and_doc(function, name, host)


def call_traced_binary(operators, lhs, rhs, out=None):
    """Apply a binary operator to two operands, one of them traced."""
    if isinstance(rhs, NUMBERS):
        return call(operators[2], lhs, scalar=rhs, is_int=_is_integer(rhs), out=out)
    if isinstance(lhs, NUMBERS):
        return call(operators[3], rhs, scalar=lhs, is_int=_is_integer(lhs), out=out)
    return call(operators[0], array_of(lhs, "add"), array_of(rhs, "add"), out=out)


def _is_integer(number):
    return not isinstance(number, (float, onp.floating))


_BOOL_KEEPING_NAMES = ("absolute", "square", "floor", "ceil", "trunc", "fix")  # bools stay bools


def _unary_function(name, operator):
    host, run, stays = getattr(onp, name, None), getattr(ops, operator), name in _BOOL_KEEPING_NAMES
    truth = name in _BOOLEAN_FUNCTIONS
    if name == "sign":
        run = _propagate_nan(run)

    def function(x, out=None, where=True, dtype=None, casting="same_kind", order="K", subok=True):
        usual = casting is _SAME_KIND_CASTING and order is _KEEP_ORDER
        if not usual or where is not True or dtype is not None:
            return _call_with_dtype_casting(function, (x,), out, where, dtype, casting, order)
        if isinstance(x, NUMBERS) and host is not None:
            return host(x)
        x = array_of(x, name)
        if out is None and not stays:
            return run(x)
        if stays and onp.dtype(x.dtype).kind == "b":
            return fill_out(x.copy(), out)
        if out is not None and (truth or not _has_float_dtype_of(unwrap_out(out), x)):
            return fill_out(run(x), out)
        return run(x, out=out)

    return _set_name_and_doc(function, name, host)


def _propagate_nan(run):
    """Wrap `run` to return NaN for NaN, for which mx.nd's function returns a number."""

    def function(x, out=None):
        from .selection import where

        result = run(x)
        if onp.dtype(x.dtype).kind == "f":
            result = where(FUNCTIONS["isnan"](x), x, result)
        return fill_out(result, out)

    return function


def _set_name_and_doc(function, name, host):
    function.__name__ = function.__qualname__ = name
    function.__module__ = "cynet.numpy"
    function.__doc__ = f"``numpy.{name}`` of arrays, element by element; they broadcast."
    return function


FUNCTIONS = {name: _binary_function(name) for name, *_ in BINARIES}  # name -> function of mx.np
FUNCTIONS |= {name: _unary_function(name, operator) for name, (operator, _) in UNARIES.items()}
EXTENSION_FUNCTIONS = {  # name -> function of mx.npx
    n: with_aliases(data="x", name=None)(_unary_function(n, operator))
    for n, (operator, _) in NPX_UNARIES.items()
}
_ALIASES = {  # further name -> NumPy's name
    "divide": "true_divide",
    "remainder": "mod",
    "abs": "absolute",
    "pow": "power",
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atanh": "arctanh",
    "rad2deg": "degrees",
    "deg2rad": "radians",
    "arctan2": "arctan2",
    "atan2": "arctan2",
    "bitwise_invert": "bitwise_not",
    "invert": "bitwise_not",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
}
FUNCTIONS |= {alias: FUNCTIONS[name] for alias, name in _ALIASES.items() if name in FUNCTIONS}
globals().update(FUNCTIONS | EXTENSION_FUNCTIONS)


class NumpyDtypeMethods:  # methods with NumPy's result dtypes
    """Methods whose results have NumPy's dtypes, unlike mx.nd's methods of the same names."""

    __slots__ = ()

    def rint(self, out=None):
        """See ``mx.np.rint``."""
        from . import selection

        return selection.rint(self, out)

    def norm(self, ord=2, axis=None, keepdims=False):
        """The norm over axes; without `axis` that of the flattened array."""
        from . import linalg

        if axis is None and ord == 1:
            return FUNCTIONS["abs"](self).sum(keepdims=keepdims)
        return linalg.norm(self, None if axis is None else ord, axis, keepdims=keepdims)

    def nansum(self, axis=None, keepdims=False):
        """See ``mx.np.nansum``."""
        from . import nans

        return nans.nansum(self, axis, keepdims=keepdims)

    def nanprod(self, axis=None, keepdims=False):
        """See ``mx.np.nanprod``."""
        from . import nans

        return nans.nanprod(self, axis, keepdims=keepdims)


def _make_method(name, function):
    def method(self, out=None):
        return function(self, out=out)

    method.__name__, method.__doc__ = name, f"See ``mx.np.{name}``."
    return method


for _name, _function in (FUNCTIONS | EXTENSION_FUNCTIONS).items():
    if hasattr(NDArray, _name) and _name not in (*vars(NumpyDtypeMethods), "abs", "round"):
        setattr(NumpyDtypeMethods, _name, _make_method(_name, _function))


def __getattr__(name):
    raise NotFoundError(f"mx.np has no elementwise function {shown(name)}")


__all__ = list(FUNCTIONS)
