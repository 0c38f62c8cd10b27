"""The door of mx.nd's generated functions: sorts arguments into inputs, parameters and outputs."""

from .._ndarray cimport NDArrayBase
from ..operator._base cimport OpEntry
from ._imperative cimport resolve, run

from ..errors import ArgumentTypeError
from ..operator.signature import bind_positional, describe
from ._imperative import read_context


def is_array(value):
    """True for an NDArray."""
    return isinstance(value, NDArrayBase)


def invoke(OpEntry entry, tuple args, dict kwargs):
    """Call operator `entry` as ``mx.nd`` does: inputs and parameters in `args` and `kwargs`.

    Returns
    -------
    NDArray or list of NDArray
        The visible outputs; `out` itself where the caller gave one.
    """
    cdef list given, names = None, results
    cdef dict params = {}
    out = ctx = None
    signature = describe(entry)
    wanted = signature.arguments + signature.states
    if args:
        given = list(args)
        for value in given:
            if not isinstance(value, NDArrayBase):
                given = None
                break
        if given is None or (len(given) > len(wanted) and not signature.variable):
            given, params = bind_positional(entry, args, is_array)
            while given and given[len(given) - 1] is None:
                given.pop()
    else:
        given = []
    for name, value in kwargs.items():
        if name == "out":
            out = value
        elif name == "name":
            continue
        elif isinstance(value, NDArrayBase):
            if names is None:
                names, given = _named(entry, wanted, signature.variable, given)
            names.append(name)
            given.append(value)
        elif name == "ctx" and not given and not (names or ()):
            ctx = read_context(value)
            if name in entry.prop.fields:
                params[name] = str(ctx)
        elif value is None and name in wanted and name not in entry.prop.fields:
            continue
        elif name in params:
            raise ArgumentTypeError(f"operator {entry.name}: parameter '{name}' is given twice")
        else:
            params[name] = value
    if names is None and not signature.variable and (len(given) != len(wanted) or _has_gap(given)):
        names, given = _named(entry, wanted, False, given)
    outs = None
    if out is not None:
        outs = [out] if isinstance(out, NDArrayBase) else _out_list(entry, out)
        if ctx is None and not given and outs and isinstance(outs[0], NDArrayBase):
            ctx = outs[0].context
    named = tuple(names) if names is not None else ()
    results = run(resolve(entry, given, named, params, ctx), given, outs, False)
    if out is not None:
        return out
    return results[0] if len(results) == 1 else results


cdef list _out_list(OpEntry entry, object out):
    if not isinstance(out, (list, tuple)) or not all([is_array(each) for each in out]):
        raise ArgumentTypeError(
            f"operator {entry.name}: out must be an NDArray or a list of them, got {out!r}")
    return list(out)


cdef bint _has_gap(list given):
    for array in given:
        if array is None:
            return True
    return False


cdef tuple _named(OpEntry entry, tuple wanted, bint variable, list given):
    # The names of the arrays given by place, and those arrays, without the places left empty.
    if variable:
        if given:
            raise ArgumentTypeError(
                f"operator {entry.name}: give all inputs by place or all by name")
        return [], []
    names = [name for name, array in zip(wanted, given) if array is not None]
    return names, [array for array in given if array is not None]
