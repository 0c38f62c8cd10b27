"""The functions of mx.sym, made from the registry at first use."""

from ..base.errors import ArgumentTypeError, shown
from ..operator import namespaces
from ..operator._base import OPERATORS
from ..operator.signature import (
    bind_positional,
    describe_operator,
    input_error,
    make_docstring,
    python_signature,
)
from .compose import apply_operator

_functions = {}  # looked-up name -> (OpEntry, function)
_types = set()  # subclasses, whose functions return the same class


def add_symbol_class(cls):
    """Make operators return symbols of subclass `cls` for inputs of that class."""
    _types.add(cls)


def function_of(name, entry, hint=None):
    """The function of operator `entry` under the name `name`.

    name (str): The function's name; what the user wrote.
    entry: OpEntry
    hint (str, optional): What automatic names start with; `name` in lower case when not given.
    """
    known = _functions.get((name, hint))
    if known is not None and known[0] is entry:
        return known[1]
    function = _make_function(name, entry, name.lower() if hint is None else hint)
    _functions[name, hint] = entry, function
    return function


def _make_function(public, entry, hint):  # the function of an operator
    from .symbol import Symbol  # imported late: Symbol's methods are made here

    def operator_function(*args, name=None, attr=None, out=None, **kwargs):
        if out is not None:
            raise ArgumentTypeError(f"operator {public}: expected no 'out' in the call of a symbol")

        def sole_entry(value, argument):  # entry of a symbol with one output
            if len(value.entries) != 1:
                raise ArgumentTypeError(
                    f"operator {public}: argument '{argument}' must have a single output, "
                    f"but {shown(value)} has "
                    f"{len(value.entries)}; choose one by indexing"
                )
            return value.entries[0]

        variable, fields, names = describe_operator(entry)[2:5]
        positional, params = bind_positional(
            entry, args, lambda v: isinstance(v, Symbol), "a Symbol", public, ("name", "attr")
        )
        for key in params:
            if key in kwargs or (key == "name" and name) or (key == "attr" and attr):
                raise ArgumentTypeError(f"operator {public}: argument '{key}' is given twice")
        name, attr = params.pop("name", name), params.pop("attr", attr)
        while positional and positional[-1] is None:
            positional.pop()
        by_name = any(isinstance(value, Symbol) for value in kwargs.values())
        if entry.prop.any_parameters and positional:
            inputs = [sole_entry(value, f"input {i}") for i, value in enumerate(positional)]
        elif variable and not by_name:
            inputs = [sole_entry(value, f"arg{i}") for i, value in enumerate(positional)]
        elif variable:
            inputs = {f"arg{i}": sole_entry(value, f"arg{i}") for i, value in enumerate(positional)}
        elif positional and not by_name and all(value is not None for value in positional):
            inputs = [sole_entry(value, key) for key, value in zip(names, positional)]
        else:
            inputs = {
                key: sole_entry(value, key)
                for key, value in zip(names, positional)
                if value is not None
            }
        for key, value in kwargs.items():
            if isinstance(value, Symbol):
                if isinstance(inputs, list):
                    raise ArgumentTypeError(
                        f"operator {public}: give all inputs by position or all by name"
                    )
                if key in inputs:
                    raise ArgumentTypeError(f"operator {public}: argument '{key}' is given twice")
                inputs[key] = sole_entry(value, key)
            elif key in names and key not in fields:
                if value is not None:
                    raise input_error(public, f"argument '{key}'", value, "a Symbol")
            else:
                params[key] = value
        node = apply_operator(entry, hint, inputs, params, name, attr)
        kind = next((type(v) for v in (*positional, *kwargs.values()) if type(v) in _types), Symbol)
        return kind([(node, i) for i in range(node.num_visible_outputs)])

    operator_function.__name__ = operator_function.__qualname__ = public
    operator_function.__module__ = "cynet.symbol"
    operator_function.__doc__ = make_docstring(entry, "Symbol")
    operator_function.__signature__ = python_signature(entry, ("name", "attr"))
    return operator_function


def module_hooks(module_name, prefix, is_shown=namespaces.accept_any_name):
    """``__getattr__`` and ``__dir__`` of a module of mx.sym that shows the operators whose names
    start with `prefix`; `is_shown` as in ``operator/namespaces.py``."""

    def make_function(operator, name):
        return function_of(name, OPERATORS.get(operator), hint=name.lower())

    return namespaces.make_namespace(module_name, prefix, make_function, is_shown)


# names of mx.sym: a function for each public operator
package_getattr, package_dir = module_hooks("cynet.symbol", "", lambda name: name[0] != "_")
