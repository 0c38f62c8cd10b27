"""Calls of operators by mx.np: with arrays, or with symbols while a Block is traced."""

import functools

import numpy as onp

from .._core.face import Face
from ..base.dtype import dtype_flag, is_bfloat16, name_of
from ..base.errors import ArgumentTypeError, ShapeError, shown
from ..base.tracing import state
from ..context import current_context
from ..ndarray._call import invoke
from ..ndarray._indexing import from_host
from ..ndarray.ndarray import NDArray
from ..operator._base import get_operator
from ..operator.numpy.promotion import check_int_ranges

NP = Face("mx.np")  # of all mx.np arrays
NUMBERS = (bool, int, float, onp.generic)  # types of scalars


def is_traced(value):
    """Return whether a value represents an array in a graph that is being traced."""
    return state.trace is not None and hasattr(value, "entries")


def is_np(value):
    """Return whether a value is an array of mx.np, or represents one in a graph that is being
    traced."""
    return (isinstance(value, NDArray) and value._face is NP) or is_traced(value)


def call(operator, *arrays, **params):
    """Call an operator on mx.np arrays; the results are mx.np arrays.

    Parameters
    ----------
    operator : str
    *arrays : mx.np.ndarray
    **params
        Of the operator; `out` is an array to write.
    """
    return getattr(ops, operator)(*arrays, **params)


class _OperatorFunctions:  # operators as attributes: ``ops.dot(a, b)``
    """The operators as functions of arrays of mx.np, by name: ``ops.dot(a, b)``."""

    def __getattr__(self, name):
        entry = get_operator(name)

        def function(*arrays, **params):
            if "out" in params:
                params["out"] = unwrap_out(params["out"])
            if state.trace is not None and any(is_traced(each) for each in arrays):
                from ..gluon.block.traced import call_on_symbols

                return call_on_symbols(entry, name, arrays, params)
            return invoke(entry, arrays, params, NP)

        vars(self)[name] = function
        return function


ops = _OperatorFunctions()  # operators called on mx.np arrays


def refuse_traced(name, what, *arrays):
    """Raise ArgumentTypeError in a trace: `what` of the result depends on values."""
    if any(map(is_traced, arrays)):
        raise ArgumentTypeError(
            f"mx.np.{name} in a graph: {what} depends on values, which a graph that is made has "
            "none of: call it outside of the hybridized Block, or leave this Block as it is"
        )


def unwrap_out(out):
    """`out`, or the only item of a tuple."""
    return out[0] if isinstance(out, tuple) and len(out) == 1 else out


def array_of(value, where, dtype=None):
    """An operand as an array of mx.np; anything that NumPy accepts as an array is converted.

    Raises
    ------
    ArgumentTypeError
        It is an array of mx.nd.
    """
    if is_np(value):
        return value
    if hasattr(value, "entries"):
        raise ArgumentTypeError(
            f"mx.np.{where} takes arrays of mx.np, got the symbol {shown(value)}: the functions of "
            "mx.sym.np and mx.sym.npx (F.np, F.npx) take symbols"
        )
    if isinstance(value, NDArray):
        raise ArgumentTypeError(
            f"mx.np.{where} takes arrays of mx.np, got one of {value._face.name}: as_np_ndarray() "
            "makes one of it, of the same memory"
        )
    return make_array(value, dtype, None, where)


def make_array(value, dtype, ctx, where):
    """A new array of mx.np from anything that NumPy accepts as an array.

    Numbers and lists of them are float32 where no `dtype` is given, bools stay bools.
    """
    try:
        host = onp.asarray(value)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(f"mx.np.{where}: {shown(value)} is no array ({error})") from None
    if not isinstance(value, (onp.ndarray, onp.generic)):
        if dtype is None:
            dtype = "bool" if host.dtype == bool and host.size else "float32"
        check_int_ranges(host, name_of(dtype), f"mx.np.{where}")
    flag = dtype_flag(host.dtype if dtype is None else dtype)
    context = current_context() if ctx is None else ctx
    return from_host(host, flag, context.device_typeid, context.device_id, NP)


def fill_out(value, out):
    """`value`, or the given `out` after `value` is copied to it."""
    out = unwrap_out(out)
    if out is None:
        return value
    if isinstance(value, NDArray):
        refuse_unsafe_cast(value.dtype, out.dtype, "out is of")
        if value.shape != out.shape:
            raise ShapeError(f"out has shape {out.shape}, the result {value.shape}")
    out[...] = value
    return out


def with_aliases(**words):
    """Let a function accept arguments under MXNet 1.9's names: ``array="v"`` if its parameter is
    called v; None for an argument that is ignored."""

    def decorate(function):
        @functools.wraps(function)
        def run(*args, **kwargs):
            for word in words.keys() & kwargs.keys():
                value = kwargs.pop(word)
                if words[word] is not None:
                    kwargs[words[word]] = value
            return function(*args, **kwargs)

        run.aliases = words
        return run

    return decorate


def split_out_keepdims(out, keepdims):
    """(out, keepdims) of a reduction; MXNet 1.9 has `keepdims` at the position of `out`."""
    return (None, out) if isinstance(out, bool) else (out, keepdims)


def refuse_order(order, who):
    """Raise ArgumentTypeError unless `order` allows row-major memory, which all arrays have."""
    if order not in ("C", "K", "A", None):
        raise ArgumentTypeError(f"{who}: order is 'C' alone, got {shown(order)}")


def refuse_field_order(order, who):
    """Raise ArgumentTypeError for the names of fields to sort by; no dtype has fields."""
    if order is not None:
        raise ArgumentTypeError(f"{who}: order is None, as no dtype has fields, got {shown(order)}")


def refuse_other_than_floats(dtype, who):
    """Raise ArgumentTypeError for a result dtype that does not hold floats."""
    if dtype is not None and _promotion_rank(dtype) != 3:
        raise ArgumentTypeError(f"{who}: dtype is one of floats, got {name_of(dtype)}")


def refuse_cast(given, dtype, casting, who):
    """Raise ArgumentTypeError if NumPy's rule `casting` forbids to convert `given` to `dtype`."""
    if casting == "same_kind":
        refuse_unsafe_cast(given, dtype, f"{who} is of")
        return
    if casting not in ("no", "equiv", "safe", "unsafe"):
        raise ArgumentTypeError(
            f"{who}: casting is 'no', 'equiv', 'safe', 'same_kind' or 'unsafe', "
            f"got {shown(casting)}"
        )
    if not onp.can_cast(given, dtype, casting):
        raise ArgumentTypeError(
            f"{who} is of {name_of(dtype)}, which casting {shown(casting)} does not make of "
            f"{name_of(given)}"
        )


def refuse_unknown_cast(casting, who):
    """Raise ArgumentTypeError for a casting rule in a graph, whose dtypes are unknown."""
    if casting != "unsafe":
        raise ArgumentTypeError(
            f"{who}: casting is 'unsafe' alone, as dtypes are not known yet, got {shown(casting)}"
        )


def refuse_unsafe_cast(given, dtype, who):
    """Raise ArgumentTypeError where NumPy's casting "same_kind" does: a conversion must not lose a
    fraction or a sign, or give bools."""
    if _promotion_rank(given) > _promotion_rank(dtype):
        raise ArgumentTypeError(
            f"{who} {name_of(dtype)}, which does not hold {name_of(given)}: astype() converts it"
        )


def _promotion_rank(dtype):
    dtype = onp.dtype(dtype)
    return 3 if is_bfloat16(dtype) else "buif".index(dtype.kind)
