"""Python functions of operators: argument names, signature, docstring.

Both faces (mx.nd, mx.sym) generate their functions from this, so that they agree.
"""

from __future__ import annotations

import inspect
import textwrap
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from .._ndarray import NDArrayBase
from ..base.errors import ArgumentTypeError, shown
from .parameters import REQUIRED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._base import OpEntry
    from .parameters import Field

_PARAMETER = inspect.Parameter  # short for inspect's class
_PYTHON_KINDS = {  # MXNet's word for a type -> Python's
    "Shape(tuple)": "tuple of int",
    "tuple of <float>": "tuple of float",
    "boolean": "bool",
    "double": "float",
    "dtype": "str or numpy.dtype",
    "string": "str",
}


class OpSignature(NamedTuple):  # names of an operator's inputs and parameters
    """The names of one operator.

    arguments : tuple of str
        Inputs in their widest form (`gamma` of LeakyReLU is there although only prelu has it);
        empty when `variable`.
    states : tuple of str
        Auxiliary states.
    variable : bool
        Takes any number of inputs (``*data``).
    fields : dict
        Parameter name to Field, in order, without the one that counts variable inputs.
    inputs : tuple of str
        Arguments and states in the order in which they are given.
    listed : int
        How many of `inputs` stand before the parameters; the rest have no position of their own.
    positional : tuple of str
        The parameters that are taken by position.
    """

    arguments: tuple[str, ...]
    states: tuple[str, ...]
    variable: bool
    fields: dict[str, Field]
    inputs: tuple[str, ...]
    listed: int
    positional: tuple[str, ...]


@cache
def describe_operator(entry: OpEntry) -> OpSignature:
    """Return the OpSignature of an OpEntry.

    The names are those of a property with every parameter at its default. Where parameters add
    inputs, the class attribute ``inputs_doc`` (argument name to sentence) lists them all, in order.
    """
    prop = entry.prop
    probe = prop.with_defaults()
    documented = tuple(prop.inputs_doc)
    variable = prop.key_var_num_args is not None or prop.many_inputs or prop.any_parameters
    fields = {k: f for k, f in prop.fields.items() if k != prop.key_var_num_args}
    if variable:
        return OpSignature((), (), True, fields, (), 0, ())
    states = tuple(probe.list_auxiliary_states())
    arguments = tuple(probe.list_arguments())
    if set(arguments) < set(documented) - set(states):
        arguments = tuple(name for name in documented if name not in states)
    inputs = tuple(probe.list_inputs())
    if set(inputs) != {*arguments, *states}:
        inputs = arguments + states
    unlisted = prop.unlisted
    inputs = tuple(sorted(inputs, key=lambda name: name in unlisted))
    listed = sum(name not in unlisted for name in inputs)
    positional = tuple(name for name in fields if name not in unlisted)
    return OpSignature(arguments, states, False, fields, inputs, listed, positional)


def example_of(entry: OpEntry) -> str:
    """Return the lines of an operator's example; empty for a user's operator."""
    own = entry.prop.example
    if own and isinstance(own, str):  # a user's parameter may have that name
        return inspect.cleandoc(own)
    return ""


def python_signature(entry: OpEntry, tail: Sequence[str] = ("out", "name")) -> inspect.Signature:
    """Return the ``inspect.Signature`` of the operator's function; all functions take `tail`."""
    what = describe_operator(entry)
    name_only = _PARAMETER.KEYWORD_ONLY
    place = name_only if what.variable else _PARAMETER.POSITIONAL_OR_KEYWORD
    parameters: dict[str, inspect.Parameter] = {}

    def add_parameter(name: str, kind: Any) -> None:
        default = what.fields[name].default if name in what.fields else None
        default = None if default is REQUIRED else default
        parameters.setdefault(name, _PARAMETER(name, kind, default=default))

    if what.variable:
        parameters["data"] = _PARAMETER("data", _PARAMETER.VAR_POSITIONAL)
    for name in (*what.inputs[: what.listed], *what.positional):
        add_parameter(name, place)
    if what.variable:
        for name in what.fields:
            add_parameter(name, place)
    for name in tail:
        add_parameter(name, place)
    for name in (*what.inputs, *what.fields):
        add_parameter(name, name_only)
    parameters["kwargs"] = _PARAMETER("kwargs", _PARAMETER.VAR_KEYWORD)
    return inspect.Signature(list(parameters.values()))


def make_docstring(entry: OpEntry, array: str = "NDArray") -> str:
    """Return the operator's documentation; `array` is the word for a tensor (NDArray, Symbol)."""
    arguments, states, variable, fields = describe_operator(entry)[:4]
    about = entry.prop.inputs_doc
    needed = set() if variable else set(entry.prop.with_defaults().list_arguments())
    needed -= {"bias"} if "no_bias" in fields else set()
    text = inspect.cleandoc(entry.prop.__doc__ or f"Operator {entry.name}.").splitlines()
    lines = [part for line in text for part in textwrap.wrap(line, 100) or [""]]
    lines += ["", "Parameters", "----------"]
    if variable:
        lines += [f"*data : {array}", f"    {about.get('data', 'The inputs.')}"]
    for name in arguments:
        kind = array if name in needed else f"{array}, optional"
        lines += [f"{name} : {kind}", *_wrap_lines(about.get(name, _input_doc(name)))]
    for name in states:
        lines += [f"{name} : {array}", *_wrap_lines(about.get(name, _state_doc(name)))]
    for name, field in fields.items():
        lines += [f"{name} : {_documented_type(field)}", *_wrap_lines(field.doc)]
    if array == "NDArray":
        lines += [
            "out : NDArray or list of NDArray, optional",
            "    Array, or arrays, that the result is written to.",
            "name : str, optional",
            "    Not used; only symbols have names.",
        ]
    else:
        lines += [
            "name : str, optional",
            "    Name of the node; made from the operator's name and a number by default.",
            "attr : dict of str to str, optional",
            "    Attributes of the node.",
        ]
    lines += ["", "Returns", "-------", f"{array} or list of {array}"]
    lines.append("    The output, or a list if there are several.")
    if example := example_of(entry):
        lines += ["", "Examples", "--------"]
        if array != "NDArray":
            lines += ["With arrays; a symbol gives the same once it is bound to them.", ""]
        lines.append(example)
    return "\n".join(lines)


def _wrap_lines(sentence: str) -> list[str]:
    """Wrap the description of a parameter to lines."""
    indent = "    "
    return textwrap.wrap(sentence, 100, initial_indent=indent, subsequent_indent=indent)


def _documented_type(field: Field) -> str:
    """Return the type of a parameter for a docstring, in Python's words instead of MXNet's."""
    kind, comma, rest = field_type_text(field).partition(", ")
    return _PYTHON_KINDS.get(kind, kind) + comma + rest


def _state_doc(name: str) -> str:
    return {
        "mom": "Momentum, read and written in place.",
        "mean": "Running mean of the gradient, read and written in place.",
        "var": "Running mean of the squared gradient, read and written in place.",
        "weight32": "Copy of the weight in float32, read and written in place.",
    }.get(name, "State, read and written in place.")


def _input_doc(name: str) -> str:
    return {
        "data": "The input.",
        "weight": "The weights.",
        "bias": "The bias.",
        "lhs": "Left operand.",
        "rhs": "Right operand.",
        "label": "The labels.",
    }.get(name, f"Input `{name}`.")


def field_type_text(field: Field) -> str:
    """Return the type of a parameter and its default, in MXNet's words."""
    choices = getattr(field, "choices", None)
    kind = "{" + ", ".join(map(repr, choices)) + "}" if choices else field.kind
    if field.default is REQUIRED:
        return f"{kind}, required"
    return f"{kind}, optional, default={field.default!r}"


def bind_positional(
    entry: OpEntry,
    args: Sequence[Any],
    is_array: Callable[[Any], bool],
    wanted: str,
    name: str | None = None,
    tail: Sequence[str] = ("out", "name"),
) -> tuple[list[Any], dict[str, Any]]:
    """Sort positional arguments of an operator's function.

    args: What the caller gave by position.
    is_array: True for what the function accepts as an input.
    wanted: Its name: ``"an NDArray"`` or ``"a Symbol"``.
    name: What the caller called the operator, for messages.
    tail: The function's arguments after the parameters.

    Returns (inputs, params), list and dict: `inputs` has one entry per position before the
    first parameter (None: left out); `params` maps the names of the parameters given by position,
    and those of `tail`. Raises ArgumentTypeError: an input that is no array, or more arguments than
    the operator takes.
    """
    what = describe_operator(entry)
    name = name or entry.name
    if what.variable:
        if len(args) == 1 and isinstance(args[0], (list, tuple)):
            args = args[0]
        for i, value in enumerate(args):
            if not is_array(value):
                raise input_error(name, f"input {i}", value, wanted)
        return list(args), {}
    first, names = what.listed, what.inputs
    while first < min(len(names), len(args)) and is_array(args[first]):
        first += 1
    inputs = list(args[:first])
    for given, value in zip(names, inputs):
        if value is not None and not is_array(value):
            raise input_error(name, f"argument '{given}'", value, wanted)
    rest, param_names = args[first:], (*what.positional, *tail)
    if len(rest) > len(param_names):
        maximum = len(names) + len(param_names)
        raise ArgumentTypeError(
            f"operator {name} takes at most {maximum} positional arguments, got {len(args)}"
        )
    return inputs, dict(zip(param_names, rest))


def too_many_text(where: str, entry: OpEntry, names: Sequence[str], count: int) -> str:
    """Return the message for `count` positional inputs if the parameters allow only `names`."""
    strange = [each for each in describe_operator(entry).inputs if each not in names]
    without = f"has no input '{strange[0]}' with these parameters: it " if strange else ""
    inputs = ", ".join(names) or "none"
    return f"{where} {without}takes {len(names)} inputs ({inputs}), got {count}"


def input_error(operator: str, argument: str, value: Any, wanted: str) -> ArgumentTypeError:
    """Return the error for a value that is given as an input and is not `wanted` ("a Symbol")."""
    advice = "; parameters are given by keyword"
    if isinstance(value, NDArrayBase):
        advice = (
            f"; mx.sym builds a graph of Symbols: call mx.nd.{operator} to compute at once, or "
            "give mx.sym.Variable('x') here and the array when the graph is bound"
        )
    elif _is_symbol(value):
        advice = (
            f"; mx.nd computes with NDArrays at once: call mx.sym.{operator} to build a graph, and "
            "bind that to arrays"
        )
    elif wanted == "an NDArray" and (isinstance(value, list) or hasattr(value, "__array__")):
        advice = "; mx.nd.array makes an NDArray of it"
    return ArgumentTypeError(
        f"operator {operator}: {argument} must be {wanted}, got {describe_value(value)}{advice}"
    )


def describe_value(value: Any) -> str:
    """Describe, for a message, a value that was given in place of an array or symbol."""
    if isinstance(value, NDArrayBase):
        return f"an NDArray of shape {value.shape}"
    if _is_symbol(value):
        return f"the Symbol {shown(value)}"
    return f"{type(value).__name__} {shown(value)}"


def _is_symbol(value: Any) -> bool:
    return hasattr(value, "list_arguments") and hasattr(value, "tojson")
