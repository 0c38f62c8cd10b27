"""The functions of mx.nd: a closure for each operator of the registry, made at its first use."""

import functools
import inspect

from ..base.errors import ArgumentTypeError, CynetError
from ..base.tracing import state
from ..operator import OPERATORS, get_operator, namespaces
from ..operator.graph_hooks import GraphHooks
from ..operator.signature import bind_positional, make_docstring, python_signature
from ._call import invoke, is_array
from ._tape import set_state

_cached_functions = {}  # (OpEntry, name) -> function
MAX_CACHED_ARGUMENTS = 64  # maximum number of cached argument lists


def function_of(name):
    """The mx.nd function of operator `name`; NotFoundError offers near names."""
    entry = OPERATORS.get(name)
    function = _cached_functions.get((entry, name))
    if function is None:
        function = _cached_functions.setdefault((entry, name), _make_function(entry, name))
    return function


def call_operator_first(name):
    """A decorator: a call tries operator `name` first; the function runs if the operator refuses
    the arguments, or if random numbers are drawn in a trace.

    So a function that takes more than its operator costs no more than the operator's own.

    name (str): Its parameters are those of the function, as far as both have them.
    """
    entry = get_operator(name)

    def decorate(function):
        most = _count_common_parameters(python_signature(entry), inspect.signature(function))

        def call(*args, **kwargs):
            if len(args) <= most:
                try:
                    return invoke(entry, args, kwargs)
                except CynetError:
                    pass
            return function(*args, **kwargs)

        def draw_by_operator(*args, **kwargs):
            if len(args) <= most and state.trace is None and "out" not in kwargs:
                given = kwargs
                if len(args) < most and "shape" not in kwargs:
                    given = {**kwargs, "shape": 1}
                # the operator refuses an array as parameter, but takes 6 us for it
                if not is_array(args[0] if args else next(iter(given.values()))):
                    try:
                        return invoke(entry, args, given)
                    except CynetError:
                        pass
            return function(*args, **kwargs)

        return functools.wraps(function)(draw_by_operator if name.startswith("_random_") else call)

    return decorate


def _count_common_parameters(first, second):
    """The number of leading parameters that two signatures share; a method's `self` is an input."""
    pairs = list(zip(first.parameters, second.parameters))
    differing = (i for i, (one, other) in enumerate(pairs) if other not in (one, "self"))
    return next(differing, len(pairs))


def call_while_tracing(name, *args):
    """The result of a function of ``mx.sym.contrib``; None where this thread does not trace."""
    if state.trace is None:
        return None
    from ..gluon.block.traced import trace_control_flow

    return trace_control_flow(name, *args)


def call_binary_on_symbols(row, lhs, rhs):
    """The symbol of a function of two operands; None where none is one, or the thread does not
    trace.

    row: faces.BinaryOperators
    lhs, rhs: NDArray, Symbol or number
    """
    if state.trace is None:
        return None
    from ..gluon.block.traced import call_binary_operator

    return call_binary_operator(row, lhs, rhs)


def _make_function(entry, name):
    if entry is get_operator("cast_storage"):
        from .sparse.functions import cast_storage

        return cast_storage  # the function returns dense or sparse arrays

    def function(*args, **kwargs):
        try:
            return invoke(entry, args, kwargs)
        except ArgumentTypeError:
            if state.trace is None:
                raise
            from ..gluon.block.traced import call_on_symbols

            out = call_on_symbols(entry, name, args, kwargs)
            if out is NotImplemented:
                raise
            return out

    if name.startswith("_random_"):
        function = _random_function(entry, name)
    if type(entry.prop.graph).fixed_inputs is not GraphHooks.fixed_inputs:
        function = _with_fixed_inputs_filled(entry, function)
    function.__name__ = function.__qualname__ = name
    function.__module__ = "cynet.ndarray"
    function.__signature__ = python_signature(entry)
    function.__doc__ = make_docstring(entry)
    return function


def _random_function(entry, name):
    """A function that draws numbers: in a graph at each run, not once when it is traced."""

    def function(*args, **kwargs):
        if state.trace is not None:
            from ..gluon.block.traced import call_on_symbols

            out = call_on_symbols(entry, name, args, kwargs)
            if out is not NotImplemented:
                return out
        return invoke(entry, args, kwargs)

    return function


def _with_fixed_inputs_filled(entry, function):
    """Wrap `function` to fill inputs that it ignores with their constants (a BatchNorm's gamma)."""
    names = entry.prop.with_defaults().list_arguments()
    known = {}  # arguments that are no arrays -> pairs (input, number)

    def find_fixed_inputs(args, kwargs):
        _, params = bind_positional(entry, args, is_array, "an NDArray")
        fields = entry.prop.fields
        params.update(kwargs)
        prop = entry.prop(**{n: v for n, v in params.items() if n in fields})
        return [(names.index(n), number) for n, number in prop.graph.fixed_inputs(prop).items()]

    def call_and_fill(*args, **kwargs):
        result = function(*args, **kwargs)
        key = (
            tuple([None if is_array(v) else v for v in args]),
            tuple([(n, v) for n, v in kwargs.items() if not is_array(v) and n != "out"]),
        )
        try:
            fixed = known.get(key)
        except TypeError:  # a list as an argument
            key, fixed = None, None
        if fixed is None:
            fixed = find_fixed_inputs(args, kwargs)
            if key is not None and len(known) < MAX_CACHED_ARGUMENTS:
                known[key] = fixed
        if fixed:
            flags = set_state(0)  # autograd need not record a fixed number
            try:
                for i, number in fixed:
                    array = args[i] if i < len(args) else kwargs[names[i]]
                    array[:] = number
            finally:
                set_state(flags)
        return result

    return call_and_fill


def make_getattr(module_name, prefix, is_shown=namespaces.accept_any_name):
    """``__getattr__`` and ``__dir__`` of a module of mx.nd that shows the operators whose names
    start with `prefix`; `is_shown` as in ``operator/namespaces.py``."""

    def make(operator, _):
        return function_of(operator)

    return namespaces.make_namespace(module_name, prefix, make, is_shown)


__getattr__, __dir__ = make_getattr("cynet.ndarray", "")
