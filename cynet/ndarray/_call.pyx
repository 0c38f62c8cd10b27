"""The entry point of mx.nd's functions: it sorts arguments into inputs, parameters and outputs."""

from cpython.dict cimport PyDict_GetItem, PyDict_Next
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM
from libc.string cimport memcmp

from .._core.face cimport ND, Face
from .._core.sparse_kind cimport is_sparse
from .._ndarray cimport NDArrayBase
from ..operator._base cimport OpEntry
from ._dispatch cimport MAX_ARRAYS, run, run_arrays
from ._resolve cimport Call, any_sparse, matches, resolve_call, sparse_call

from ..context import current_context, read_context
from ..base.errors import ArgumentTypeError, CynetError, with_message, shown
from ..operator.signature import bind_positional, describe_operator, input_error


def is_array(value):
    """True for an NDArray."""
    return isinstance(value, NDArrayBase)


# --- cached calls ---------------------------------------------------------------------------------
cdef enum:
    MAX_CACHED_CALLS = 12   # calls that a CallSite caches
    MAX_CACHED_VALUES = 12  # parameters of a cached call


cdef class CachedCall:  # a Call with the arguments that it was made for
    """A Call with its arguments: positional arrays, other positional values, then keywords."""

    cdef Call call
    cdef int n_arrays, n_rest
    cdef tuple rest, names, values
    cdef object context  # context of a call without arrays


cdef class CallSite:  # a cache of an operator's last calls
    """A cache of an operator's last calls, which are found again by equal arguments."""

    cdef list calls
    cdef int oldest


cdef Face _face_of(tuple args, dict kwargs):
    # The Face (mx.nd or mx.np) of the first array.
    for value in args:
        if isinstance(value, NDArrayBase):
            return (<NDArrayBase>value).face
    for value in kwargs.values():
        if isinstance(value, NDArrayBase):
            return (<NDArrayBase>value).face
    return ND


cdef bint _is_constant(object value):
    # True if the value is immutable and `_is_same_value` can compare it.
    if type(value) is tuple:
        for each in <tuple>value:
            if type(each) is not int:
                return False
        return True
    return (value is None or type(value) is int or type(value) is float or type(value) is bool
            or type(value) is str or type(value) is type)


cdef inline bint _is_same_value(object a, object b):
    cdef double x, y
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is float:
        x, y = a, b
        return memcmp(&x, &y, sizeof(double)) == 0
    if type(a) is tuple:
        if len(<tuple>a) != len(<tuple>b):
            return False
        for each in <tuple>a:
            if type(each) is not int:
                return False
        return a == b
    return (type(a) is int or type(a) is str) and a == b


cdef CachedCall _find_cached_call(CallSite site, tuple args, dict kwargs, PyObject** arrays):
    # The cached call with these arguments, `out` aside, or None.
    cdef CachedCall cached
    cdef NDArrayBase array
    cdef PyObject* key
    cdef PyObject* value
    cdef Py_ssize_t n_args = len(args), at
    cdef int n = 0, i
    cdef bint fit
    while n < n_args and n < MAX_ARRAYS and isinstance(args[n], NDArrayBase):
        arrays[n] = <PyObject*>PyTuple_GET_ITEM(args, n)
        n += 1
    for cached in site.calls:
        if cached.n_arrays != n or cached.n_rest != n_args - n:
            continue
        fit = True
        for i in range(n):
            array = <NDArrayBase>arrays[i]
            fit = fit and matches(&cached.call.arrays[i], &array.blob)
        for i in range(cached.n_rest):
            fit = fit and _is_same_value(cached.rest[i], args[n + i])
        if not fit:
            continue
        i = 0
        at = 0
        while PyDict_Next(kwargs, &at, &key, &value):
            if <object>key == "out":
                continue
            if (
                i >= len(cached.names)
                or not _is_same_value(cached.names[i], <object>key)
                or not _is_same_value(cached.values[i], <object>value)
            ):
                fit = False
                break
            i += 1
        if fit and i == len(cached.names) and (
                n > 0 or cached.context is current_context()):
            return cached
    return None


cdef int _remember_call(CallSite site, Call call, tuple args, dict kwargs) except -1:
    # Cache a call, if `_find_cached_call` can find it again.
    cdef CachedCall cached
    cdef int n = 0
    while n < len(args) and isinstance(args[n], NDArrayBase):
        n += 1
    if n > MAX_ARRAYS or n != call.n_in + call.n_aux or call.order is not None:
        return 0
    if call.python or call.prop.reads_out:  # users may redefine it; it reads `out`
        return 0
    if len(args) - n + len(kwargs) > MAX_CACHED_VALUES or "name" in kwargs:
        return 0
    if not n and (kwargs.get("ctx") is not None or kwargs.get("out") is not None):
        return 0
    rest = args[n:]
    named = {name: value for name, value in kwargs.items() if name != "out"}
    for value in (*rest, *named.values()):
        if not _is_constant(value):
            return 0
    cached = CachedCall()
    cached.call, cached.n_arrays, cached.n_rest = call, n, len(rest)
    cached.rest, cached.names, cached.values = rest, tuple(named), tuple(named.values())
    cached.context = None if n else current_context()
    if len(site.calls) < MAX_CACHED_CALLS:
        site.calls.append(cached)
    else:
        site.calls[site.oldest] = cached
        site.oldest = (site.oldest + 1) % MAX_CACHED_CALLS
    return 0


def invoke(OpEntry entry, tuple args, dict kwargs, Face face=None):
    """Call operator `entry` as ``mx.nd`` does: inputs and parameters in `args` and `kwargs`.

    The outputs are arrays of `face`, by default that of the first array given.

    Returns
    -------
    NDArray or list of NDArray
        The visible outputs; `out` itself where the caller gave one.
    """
    cdef list given, names = None, results
    cdef dict params = {}
    cdef PyObject* arrays[MAX_ARRAYS]
    cdef PyObject* wished
    cdef CachedCall cached
    cdef Call call
    cdef CallSite site
    if face is None:
        if len(args) and isinstance(<object>PyTuple_GET_ITEM(args, 0), NDArrayBase):
            face = (<NDArrayBase>PyTuple_GET_ITEM(args, 0)).face
        else:
            face = _face_of(args, kwargs)
    site = face.sites.get(entry)
    if site is None:
        site = CallSite()
        site.calls = []
        face.sites[entry] = site
    elif len(site.calls):
        cached = _find_cached_call(site, args, kwargs, arrays)
        if cached is not None:
            wished = PyDict_GetItem(kwargs, "out")
            if wished == NULL or <object>wished is None:
                return run_arrays(cached.call, arrays, cached.n_arrays, None)
            if isinstance(<object>wished, NDArrayBase) and cached.call.n_visible == 1 and (
                    cached.n_arrays > 0) and not is_sparse(&(<NDArrayBase>wished).blob):
                return run_arrays(cached.call, arrays, cached.n_arrays, <NDArrayBase>wished)
    out = ctx = None
    signature = describe_operator(entry)
    wanted = signature.inputs
    if args:
        given = list(args)
        for value in given:
            if not isinstance(value, NDArrayBase):
                given = None
                break
        if given is None or (len(given) > len(wanted) and not signature.variable):
            given, params = bind_positional(entry, args, is_array, "an NDArray")
            while given and given[len(given) - 1] is None:
                given.pop()
            out = params.pop("out", None)
            params.pop("name", None)
    else:
        given = []
    for name, value in kwargs.items():
        if name == "out":
            if out is not None:
                raise ArgumentTypeError(f"operator {entry.name}: 'out' is given twice")
            out = value
        elif name == "name":
            continue
        elif isinstance(value, NDArrayBase):
            if names is None:
                names, given = _names_by_position(entry, wanted, signature.variable, given)
            names.append(name)
            given.append(value)
        elif name == "ctx" and not given and not (names or ()):
            ctx = _checked_context(entry, value)
            if name in entry.prop.fields:
                params[name] = str(ctx)
        elif name in wanted and name not in entry.prop.fields:
            if value is not None:
                raise input_error(entry.name, f"argument '{name}'", value,
                                  "an NDArray")
        elif name in params:
            raise ArgumentTypeError(f"operator {entry.name}: parameter '{name}' is given twice")
        else:
            params[name] = value
    if names is None and not signature.variable and _any_is_none(given):
        names, given = _names_by_position(entry, wanted, False, given)
    outs = None
    if out is not None:
        outs = [out] if isinstance(out, NDArrayBase) else _checked_out_list(entry, out)
        if ctx is None and not given and outs and isinstance(outs[0], NDArrayBase):
            ctx = outs[0].context
    named = tuple(names) if names is not None else ()
    if any_sparse(given) or (outs is not None and any_sparse(outs)):
        return sparse_call(entry, given, named, params, out)
    call = resolve_call(face, entry, given, named, params, ctx)
    results = run(call, given, outs)
    _remember_call(site, call, args, kwargs)
    if out is not None:
        return out
    return results[0] if len(results) == 1 else results


cdef object _checked_context(OpEntry entry, object ctx):
    try:
        return read_context(ctx)
    except CynetError as error:
        raise with_message(error, f"operator {entry.name}: {error}") from None


cdef list _checked_out_list(OpEntry entry, object out):
    if not isinstance(out, (list, tuple)) or not all([is_array(each) for each in out]):
        meant = "; ints that belong together are one tuple" if isinstance(out, int) else ""
        raise ArgumentTypeError(f"operator {entry.name}: out must be an NDArray or a list of them, "
                                f"got {shown(out)}{meant}")
    return list(out)


cdef bint _any_is_none(list given):
    for array in given:
        if array is None:
            return True
    return False


cdef tuple _names_by_position(OpEntry entry, tuple wanted, bint variable, list given):
    # The names of the positional arrays, and the arrays; both without None.
    if variable:
        if given:
            raise ArgumentTypeError(
                f"operator {entry.name}: give all inputs by place or all by name")
        return [], []
    names = [name for name, array in zip(wanted, given) if array is not None]
    return names, [array for array in given if array is not None]
