"""NumPy's own functions on arrays of mx.np: they call the functions of the same name in mx.np."""

import numpy as onp

from ..base.errors import ArgumentTypeError
from ..ndarray._tape import is_tracked
from ..ndarray.ndarray import NDArray
from ._call import array_of, make_array, refuse_traced, unwrap_out

_NAME_OF_UFUNC = {"divide": "true_divide", "remainder": "mod", "invert": "bitwise_not"}  # in mx.np
_REDUCTION_OF_UFUNC = {  # ufunc -> function that its `reduce` is
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}


def _find_np_function(name):
    from .. import numpy as face

    for part in name.split("."):
        face = getattr(face, part, None)
    return face


def call_ufunc(ufunc, method, inputs, out, kwargs):
    """The result of ``ufunc.method(*inputs)``."""
    name = ufunc.__name__
    if out is not None:
        (kwargs["out"],) = out
    if method == "__call__":
        function = _find_np_function(_NAME_OF_UFUNC.get(name, name))
        if function is not None and ufunc.nout == 1:
            return function(*map(_from_numpy, inputs), **kwargs)
        return call_numpy(ufunc, inputs, kwargs)
    if (
        method == "reduce"
        and name in _REDUCTION_OF_UFUNC
        and not (name.startswith("logical") and kwargs.get("initial") is not None)
    ):
        kwargs.setdefault("axis", 0)
        return _find_np_function(_REDUCTION_OF_UFUNC[name])(*inputs, **kwargs)
    if method == "accumulate" and name in ("add", "multiply"):
        kwargs.setdefault("axis", 0)
        return _find_np_function("cumsum" if name == "add" else "cumprod")(*inputs, **kwargs)
    if method == "at":
        return _apply_ufunc_at(ufunc, *inputs)
    if method == "outer" and ufunc.nin == 2 and not kwargs:
        a, b = (array_of(each, name) for each in inputs)
        return call_ufunc(ufunc, "__call__", (a.reshape(a.shape + (1,) * b.ndim), b), None, {})
    return call_numpy(getattr(ufunc, method), inputs, kwargs)


def _apply_ufunc_at(ufunc, array, indices, *values):
    # NumPy changes its first operand in place.
    if not isinstance(array, NDArray):
        ufunc.at(array, _to_numpy(indices), *map(_to_numpy, values))
        return
    host = array.asnumpy()
    ufunc.at(host, _to_numpy(indices), *map(_to_numpy, values))
    array[...] = array_of(host, ufunc.__name__)


def _to_numpy(value):
    if isinstance(value, (list, tuple)):
        return type(value)(map(_to_numpy, value))
    return value.asnumpy() if isinstance(value, NDArray) else value


def _from_numpy(value):
    return (
        make_array(value, value.dtype, None, "array") if isinstance(value, onp.ndarray) else value
    )


def call_function(function, args, kwargs):
    """The result of ``numpy.function(*args)``."""
    module = function.__module__.removeprefix("numpy").lstrip(".")
    own = _find_np_function(
        f"{module}.{function.__name__}" if module == "linalg" else function.__name__
    )
    if callable(own) and module in ("", "linalg"):  # NumPy's fft returns complex arrays
        return own(*args, **kwargs)
    return call_numpy(function, args, kwargs)


# Functions of NumPy that write their first operand.
_WRITING_FUNCTIONS = ("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask")


def _write_on_host(function, array, args, kwargs):
    host = array.asnumpy()
    function(
        host, *map(_to_numpy, args), **{name: _to_numpy(each) for name, each in kwargs.items()}
    )
    array[...] = array_of(host, function.__name__)


def call_numpy(function, args, kwargs):
    """Call a NumPy function on the values; the results are mx.np arrays.

    Raises
    ------
    ArgumentTypeError
        The thread records, an array belongs to the graph and the result has floats: no gradient
        would flow.
    """
    if function.__name__ in _WRITING_FUNCTIONS and args and isinstance(args[0], NDArray):
        return _write_on_host(function, args[0], args[1:], kwargs)
    out = unwrap_out(kwargs.get("out"))
    if isinstance(out, NDArray):
        host = out.asnumpy()  # elements that `where` leaves out keep their values
        call_numpy(function, args, kwargs | {"out": host})
        out[...] = array_of(host, function.__name__)
        return out

    follow = False

    def to_host(value):
        nonlocal follow
        refuse_traced(function.__name__, "what NumPy computes on the host", value)
        if isinstance(value, NDArray):
            follow = follow or is_tracked(value)
            return value.asnumpy()
        if isinstance(value, (list, tuple)):
            return type(value)(map(to_host, value))
        return value

    result = function(*map(to_host, args), **{k: to_host(v) for k, v in kwargs.items()})
    if follow and _has_floats(result):
        raise ArgumentTypeError(
            f"mx.np: {function.__name__} is computed by NumPy, and no gradient flows through it: "
            "call it outside of record(), or of x.detach()"
        )
    return _result_to_np_arrays(result)


def _has_floats(value):
    if isinstance(value, (list, tuple)):
        return any(map(_has_floats, value))
    return isinstance(value, (onp.ndarray, onp.floating)) and value.dtype.kind == "f"


def _result_to_np_arrays(value):
    if isinstance(value, (onp.ndarray, onp.generic)) and value.dtype.kind in "fiub":
        return make_array(value, value.dtype, None, "array")
    if isinstance(value, (list, tuple)):
        found = map(_result_to_np_arrays, value)
        return type(value)(*found) if hasattr(value, "_fields") else type(value)(found)
    return value


# Functions of mx.np that NumPy computes on the host, as MXNet has it.
HOST_NAMES = ("array_repr", "fill_diagonal", "genfromtxt", "tril_indices", "triu_indices")


def _make_host_function(name):
    host = getattr(onp, name)

    def function(*args, **kwargs):
        return call_numpy(host, args, kwargs)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "cynet.numpy"
    function.__doc__ = f"``numpy.{name}``, computed by NumPy on the host; no gradient flows."
    return function


HOST_FUNCTIONS = {name: _make_host_function(name) for name in HOST_NAMES if hasattr(onp, name)}
globals().update(HOST_FUNCTIONS)
__all__ = list(HOST_FUNCTIONS)
