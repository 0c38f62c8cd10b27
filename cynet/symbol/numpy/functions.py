"""mx.np's and mx.npx's functions for symbols: nodes with MXNet's operator names and parameters.

What MXNet has no name for is a node ``_np_call``, which says function and arguments.
"""

import inspect
from functools import cache
from types import ModuleType
from typing import Any

import numpy as onp

from ...attribute import AttrScope, stored_key
from ...base.dtype import name_of
from ...base.errors import ArgumentTypeError, NotFoundError, shown
from ...base.tracing import state
from ...name import NameManager
from ...ndarray import NDArray
from ...numpy.elementwise import EXTENSION_FUNCTIONS, FUNCTIONS
from ...operator._base import OPERATORS, get_operator
from ...operator.functions.numpy_rows import BINARIES, NPX_UNARIES, UNARIES, operators_of
from ...operator.numpy.named import find_operator, function_of_path
from ...operator.numpy.named_rows import ROWS
from ...operator.parameters import REQUIRED
from ..compose import parameter_text
from ..node import Node
from ..register import function_of
from ..symbol import Symbol
from .loops import LOOPS
from .numpy_symbol import NUMBERS, NumpySymbol, apply_binary
from .spelled import CALL_CONVERTERS

_NAME_BY_PATH = {row.path: name for name, row in reversed(ROWS.items())}  # path -> operator
_ELEMENTWISE = {name for name, *_ in BINARIES}  # names of binary functions
_UNARY_ROWS = {**UNARIES, **NPX_UNARIES}  # name -> row of a unary function


def module_getattr(path):
    """``__getattr__`` of a module of functions."""

    def find_member(name) -> Any:
        try:
            found = getattr(function_of_path(path), name) if path in ("np", "npx") else None
        except AttributeError:
            found = None
        if found is None or name.startswith("__"):
            raise NotFoundError(f"module 'mx.sym.{path}' has no attribute {shown(name)}")
        if isinstance(found, ModuleType):
            return _Submodule(f"{path}.{name}")
        return symbol_function(f"{path}.{name}") if inspect.isroutine(found) else found

    return find_member


class _Submodule:  # such as mx.sym.np.linalg
    """A submodule, such as mx.sym.np.linalg."""

    def __init__(self, path):
        self._path = path

    def __getattr__(self, name):
        path = f"{self._path}.{name}"
        try:
            found = function_of_path(path)
        except AttributeError:
            raise NotFoundError(
                f"module 'mx.sym.{self._path}' has no attribute {shown(name)}"
            ) from None
        return symbol_function(path) if inspect.isroutine(found) else found


@cache
def symbol_function(path):
    """The function for symbols; while a Block is traced, it calls that of mx.np."""
    imperative = function_of_path(path)

    def call_with_symbols(*args, **kwargs):
        if state.trace is not None:
            return imperative(*args, **kwargs)
        kwargs = {k: v for k, v in kwargs.items() if k != "out" or v is not None}
        if "out" in kwargs:
            raise ArgumentTypeError(f"mx.sym.{path}: a symbol has no 'out'")
        if path in LOOPS:
            return LOOPS[path](*args, **kwargs)
        return _apply_to_symbols(path, imperative, args, kwargs)

    call_with_symbols.__name__ = call_with_symbols.__qualname__ = path.rpartition(".")[2]
    call_with_symbols.__module__ = "cynet.symbol.numpy"
    call_with_symbols.__doc__ = f"``mx.{path}`` as a node of a graph."
    return call_with_symbols


def _apply_to_symbols(path, imperative, args, kwargs):
    label, attr = kwargs.pop("name", None), kwargs.pop("attr", None)
    word = imperative.__name__.lower()
    if word in _ELEMENTWISE and imperative is FUNCTIONS[word]:
        return apply_binary(operators_of(word), *args[:2], *kwargs.values())
    own = (FUNCTIONS | EXTENSION_FUNCTIONS).get(word)
    make_unary_rule = word in _UNARY_ROWS and f"_npi_{word}" not in ROWS and imperative is own
    if make_unary_rule and len(args) == 1 and not kwargs:
        operator = get_operator(_UNARY_ROWS[word][0])
        made = function_of(word, operator)(args[0], name=label, attr=attr)
        return NumpySymbol(made.entries)
    given = _bind_arguments(path, args, kwargs)
    for make in (CALL_CONVERTERS.get(path), _find_registered_operator, _find_legacy_call):
        made = make and make(path, given)
        if made:
            operator, inputs, params = made
            return _operator_node(
                operator, inputs, params, word, label, attr, path in _LIST_FUNCTIONS
            )
    if path in _HINT_FOR_UNCOUNTED:
        raise ArgumentTypeError(
            f"mx.sym.{path}: how many arrays it gives depends on a shape, which a symbol does not "
            f"have; {_HINT_FOR_UNCOUNTED[path]}"
        )
    count = _OUTPUT_COUNTS.get(path)
    return _operator_node(
        *_call_text(path, args, kwargs, count and count(given)), word, label, attr, bool(count)
    )


_LIST_FUNCTIONS = {f"np.{name}" for name in ("split", "array_split", "hsplit", "vsplit", "dsplit")}


def _count_given_axes(shape):
    return 1 if hasattr(shape, "__index__") else len(shape)


# Output counts, from the arguments, of functions that MXNet has no operator for.
_OUTPUT_COUNTS = dict.fromkeys(  # path -> function that counts outputs
    [f"np.{n}" for n in ("modf", "frexp", "divmod", "histogram")]
    + ["np.tril_indices_from", "np.triu_indices_from", "np.linalg.slogdet"],
    lambda given: 2,
) | {
    "np.histogram2d": lambda given: 3,
    "np.linalg.qr": lambda given: 1 if given["mode"] == "r" else 2,
    "np.meshgrid": lambda given: len(given["xi"]),
    "np.broadcast_arrays": lambda given: len(given["args"]),
    "np.ix_": lambda given: len(given["args"]),
    "np.unravel_index": lambda given: _count_given_axes(given["shape"]),
}
_HINT_FOR_UNCOUNTED = {  # function without a known output count -> advice
    "np.unstack": "np.split(x, count, axis) is told it",
    "np.histogramdd": "np.histogram2d has two axes",
}


@cache
def _function_signature(path):
    """The signature of a function of mx.np; NumPy's signature, where NumPy computes it."""
    found = inspect.signature(function_of_path(path))
    if [each.kind for each in found.parameters.values()] == _VARIADIC_KINDS:
        host = onp
        for word in path.split(".")[1:]:
            host = getattr(host, word)
        return inspect.signature(host)
    return found


_VARIADIC_KINDS = [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD]


def _bind_arguments(path, args, kwargs):
    """Arguments by name; ``**kwargs`` are separate items."""
    signature, words = (_function_signature(path), getattr(function_of_path(path), "aliases", {}))
    kwargs = {words.get(key, key): value for key, value in kwargs.items()}
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise ArgumentTypeError(f"mx.sym.{path}: {error}") from None
    bound.apply_defaults()
    found = {}
    for name, value in bound.arguments.items():
        many = signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
        found.update(value if many else {name: value})
    return found


def _find_registered_operator(path, given):
    """The operator with the function's name, if it has parameters for all given arguments."""
    space, _, word = path.rpartition(".")
    if space not in ("np", "np.linalg", "npx", "npx.random") or path in _MAKES_SYMBOLS:
        return None
    names = [f"_np{end}_{word}" for end in ("", "i", "x")]
    if space == "npx":
        names = names[-1:]
    name = next((each for each in names if each in OPERATORS), None)
    if name is None and path.startswith("npx.") and names[-1] not in ROWS:
        try:
            name = find_operator(names[-1]).name
        except NotFoundError:
            return None
    if name is None:
        return None
    inputs, params = [], {}
    fields = get_operator(name).prop.fields
    for key, value in given.items():
        if isinstance(value, Symbol):
            inputs.append(value)
        elif key in fields:
            if value is not None:
                params[key] = value
        elif not _is_default_value(path, key, value):
            return None
    if "no_bias" in fields and "bias" in given:
        params["no_bias"] = given["bias"] is None
    if any(field.default is REQUIRED and key not in params for key, field in fields.items()):
        return None
    return name, inputs, params


_MAKES_SYMBOLS = {"npx.group_norm"}  # functions that make symbols themselves


def _is_default_value(path, key, value):
    parameter = _function_signature(path).parameters.get(key)
    return value is None or (parameter is not None and value is parameter.default)


def _find_legacy_call(path, given):
    """The MXNet operator's name, inputs and parameters; None if an argument has no equivalent."""
    name = _NAME_BY_PATH.get(path) or _NAME_BY_PATH.get(f"np.{function_of_path(path).__name__}")
    if name is None or function_of_path(ROWS[name].path) is not function_of_path(path):
        return None
    row, inputs, params = ROWS[name], [], {}
    words = {value: key for key, value in row.words.items()}
    arrays = [each.rstrip("?") for each in row.arrays]
    if arrays in (["*"], ["**"]):
        inputs = list(given.pop(next(iter(given))))
        params["num_args"] = len(inputs)
        arrays = []
    inputs += [given[key] for key in arrays if isinstance(given.get(key), Symbol)]
    for key, value in given.items():
        if isinstance(value, Symbol) and key in arrays:
            continue
        if key in words and not isinstance(value, (Symbol, onp.ndarray, list)):
            if value is not None or not _is_default_value(path, key, value) or key == "axis":
                params[words[key]] = value
        elif not _is_default_value(path, key, value):
            return None
    if not all(isinstance(each, Symbol) for each in inputs):
        return None
    return name, inputs, params


def _call_text(path, args, kwargs, count):
    """A call as text, in which symbols are ``{"input": index}``."""
    inputs = []

    def encode(value):
        if isinstance(value, Symbol):
            inputs.append(value)
            return {"input": len(inputs) - 1}
        if isinstance(value, (list, tuple)):
            return type(value)(map(encode, value))
        if isinstance(value, NDArray):
            value = value.asnumpy()
        if isinstance(value, onp.ndarray):
            return {"array": value.tolist(), "dtype": value.dtype.name}
        if isinstance(value, (*NUMBERS, str, type(None))):
            return value.item() if isinstance(value, onp.generic) else value
        try:
            return name_of(value)
        except TypeError:
            raise ArgumentTypeError(
                f"mx.sym.{path} takes symbols, numbers, lists and NumPy arrays, got {shown(value)}"
            ) from None

    given = [encode(each) for each in args], {key: encode(each) for key, each in kwargs.items()}
    params = {"function": path, "arguments": repr(given)}
    return "_np_call", inputs, params | ({} if count is None else {"num_outputs": count})


def _operator_node(operator, inputs, params, hint, label, attr, is_list):
    entry = find_operator(operator)
    label = NameManager.current.get(label, hint)
    attrs = {stored_key(key): value for key, value in AttrScope.current.get(attr).items()}
    heads = []
    for each in inputs:
        if not isinstance(each, Symbol) or len(each.entries) != 1:
            raise ArgumentTypeError(
                f"operator {operator} (node {label}): expected a symbol of one output, got "
                f"{shown(each)}"
            )
        heads.append(each.entries[0])
    params = {key: _param_text(value) for key, value in params.items()}
    prop = entry.prop(**params)
    if hasattr(prop, "n_inputs"):
        prop.n_inputs = len(heads)
    if prop.no_axes:
        prop = prop.changed(no_axes=())
    node = Node(entry, label, attrs, params, prop, heads)
    names = node.input_names()
    for key, (source, _) in list(zip(names, heads))[len(prop.list_arguments()) :]:
        if source.op is not None:
            raise ArgumentTypeError(
                f"operator {operator} (node {label}): '{key}' is written, so that it must be a "
                f"variable, got what node {source.name} computes"
            )
    for key in names[len(heads) :]:
        node.inputs.append((Node(None, f"{label}_{key}"), 0))
    made = [NumpySymbol([(node, i)]) for i in range(node.num_visible_outputs)]
    return made if is_list or len(made) > 1 else made[0]


def _param_text(value):
    if value is None or isinstance(value, (*NUMBERS, str, tuple, list)):
        return parameter_text(None, value)
    return name_of(value)
