"""Import of ONNX nodes: the table of importers, and the classes Node and Reader."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

import numpy as np

from .. import symbol as sym
from ..base.compat import optional
from ..base.dtype import NAMES
from ..base.errors import FormatError, UndefinedError, shown
from .shapes import Shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..symbol import Symbol
    from ..symbol.node import Entry
    from ..typing import Shape

_Function = TypeVar("_Function", bound="Callable[..., Any]")  # an importer
SUPPORTED_DTYPES = frozenset(NAMES.values())  # dtypes that arrays can have
FLOATS = ("float32", "float64", "float16", "bfloat16")  # names of floating dtypes
# kind of a node -> function(reader, node) that returns its outputs as symbols
IMPORTERS: dict[str, Callable[..., Any]] = {}  # kind of a node -> importer
_MAX_FOLDED_ELEMENTS = 1 << 20  # limit of a node that is computed at import
# random numbers, and 8-bit weights, which stay 8-bit
_UNFOLDED_KINDS = (  # nodes that are not computed at import
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Bernoulli",
    "Multinomial",
    "Dropout",
    "DequantizeLinear",
)


class IntWeight(NamedTuple):  # integers of a dequantized weight
    """The integers of a dequantized weight in a file, with a step and a zero point for each index
    of `axis`, or one for all."""

    name: str
    values: np.ndarray
    step: np.ndarray
    zero: np.ndarray
    axis: int

    def transposed(self) -> IntWeight:
        """Return the integers of the transposed matrix."""
        return self._replace(values=np.ascontiguousarray(self.values.T), axis=1 - self.axis)


def opset_of(model: Any, default: int = 1) -> int:
    """Return the opset version of ONNX's own operators that a model or function imports."""
    found = (o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    return max(found, default=default)


def imports(*kinds: str) -> Callable[[_Function], _Function]:
    """Decorator: register an importer for nodes of these kinds."""

    def register(function: _Function) -> _Function:
        IMPORTERS.update(dict.fromkeys(kinds, function))
        return function

    return register


class Node:  # a node of an ONNX file, as importers get it
    """A node of an ONNX file: kind, inputs, attributes.

    An attribute or input that the importer does not read is an error.
    """

    def __init__(self, reader: Reader, proto: Any, opset: int | None = None) -> None:
        self._reader, self.proto = reader, proto
        self.opset = reader.opset if opset is None else opset
        self.kind, self.domain = proto.op_type, proto.domain
        self.inputs, self.outputs = list(proto.input), list(proto.output)
        self.name = proto.name or next(filter(None, self.outputs), self.kind)
        helper = reader.library.helper
        self.attributes = {each.name: helper.get_attribute_value(each) for each in proto.attribute}
        self._known_attributes: set[str] = set()
        self._used: set[int] = set()

    def get(self, name: str, default: Any = None) -> Any:
        """Return an attribute; bytes become str."""
        self._known_attributes.add(name)
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def choice(self, name: str, *known: str) -> Any:
        """Return a string attribute that must be one of `known`; the first is the default."""
        value = self.get(name, known[0])
        if value not in known:
            self.refuse(f"{name}={value}; only {', '.join(map(str, known))} can be read")
        return value

    def require_value(self, name: str, value: Any) -> None:
        """Refuse an attribute that has another value than `value`."""
        found = self.get(name, value)
        if found != value:
            self.refuse(f"{name}={shown(found)}; only {value} can be read")

    def ignore(self, *names: str) -> None:
        """Mark attributes as read that do not affect the result."""
        self._known_attributes.update(names)

    def check_all_read(self) -> None:
        """Refuse the node if it has attributes that the importer did not read."""
        for name in self.attributes:
            if name not in self._known_attributes:
                self.refuse(f"its attribute {name}={shown(self.get(name))} is not read by cynet")
        for i, name in enumerate(self.inputs):
            if name and i not in self._used:
                self.refuse(f"its input {i} ({name}) is not read by cynet")

    def refuse(self, why: str) -> NoReturn:
        """Raise the error for a feature that cynet does not support."""
        raise UndefinedError(f"import_model: {self.kind} '{self.name}': {why}")

    def mark_unused(self, i: int) -> None:
        """Mark input i as read although its values are not used."""
        self._used.add(i)

    def has_input(self, i: int) -> bool:
        """Return whether the node has input i."""
        return i < len(self.inputs) and self.inputs[i] != ""

    def value(self, i: int) -> Any:
        """Return the value of input i if it is a constant, else None."""
        if not self.has_input(i):
            return None
        found = self._reader.constant(self.inputs[i])
        if found is not None:
            self._used.add(i)
        return found

    def constant(self, i: int, default: Any = None) -> Any:
        """Return the value of input i, which must be a constant."""
        if not self.has_input(i):
            return default
        found = self.value(i)
        if found is None:
            self.refuse(f"its input {self.inputs[i]} must be a constant")
        return found

    def number(self, i: int, default: Any) -> Any:
        """Return input i as a number; it must be a constant of one element."""
        found = np.ravel(self.constant(i, default))
        if len(found) != 1:
            self.refuse(f"its input {i} must be one number, found {len(found)}")
        return found[0].item()

    def int_list(self, i: int, attribute: str) -> Any:
        """Return a list of ints: input i of newer files, an attribute of older ones."""
        found = self.constant(i)
        found = self.get(attribute) if found is None else found
        return None if found is None else [int(v) for v in np.ravel(found)]

    def symbol(self, i: int) -> Symbol:
        """Return input i as a Symbol."""
        self._used.add(i)
        return self._reader.symbol(self.inputs[i])

    def quantized_weight(self, i: int) -> IntWeight | None:
        """Return the IntWeight of input i if it is a dequantized constant, or None."""
        made = self._reader.computed_symbol(self.inputs[i]) if self.has_input(i) else None
        if made is None:
            return None
        found = self._reader.quantized_weights.get(id(made.entries[0][0]))
        return None if found is None else found[1]

    def input_symbols(self) -> Sequence[Symbol]:
        """Return all inputs as Symbols."""
        return [self.symbol(i) for i in range(len(self.inputs)) if self.has_input(i)]

    def aligned_inputs(self, *which: int) -> Sequence[Symbol]:
        """Return inputs as Symbols of equal rank; missing axes come in front, as in NumPy."""
        which = which or tuple(i for i in range(len(self.inputs)) if self.has_input(i))
        values = [self.symbol(i) for i in which]
        ranks = [max(self.rank(i), 1) for i in which]
        for k, rank in enumerate(ranks):
            for _ in range(max(ranks) - rank):
                values[k] = sym.expand_dims(values[k], axis=0)
        return values

    def dtype(self, i: int) -> str:
        """Return the dtype of input i, which the file must declare."""
        found = self._reader.dtype(self.inputs[i])
        if found is None:
            self.refuse(f"the file does not tell the dtype of its input {self.inputs[i]}")
        return found

    def out_dtype(self, i: int = 0) -> str | None:
        """Return the dtype of output i, or None."""
        return self._reader.dtype(self.outputs[i])

    def is_float(self, i: int = 0) -> bool:
        """Return whether input i holds floating-point numbers."""
        return self.dtype(i) in FLOATS

    def lengths(self, i: int) -> tuple[Any, ...]:
        """Return the shape of input i with None for open lengths; its rank must be known."""
        found = self._reader.lengths(self.inputs[i])
        if found is None:
            self.refuse(f"the file does not tell the axes of its input {self.inputs[i]}")
        return found

    def has_equal_lengths(self, i: int, j: int, skip: int) -> bool:
        """Return whether inputs i and j have the same lengths before the last `skip` axes."""
        return self._reader.has_equal_lengths(self.inputs[i], self.inputs[j], skip)

    def shape(self, i: int) -> Any:
        """Return the complete shape of input i, or None if the file leaves a length open."""
        return self._reader.shape(self.inputs[i])

    def known_shape(self, i: int) -> Shape:
        """Return the complete shape of input i, which the file must declare."""
        found = self.shape(i)
        if found is None:
            self.refuse(f"the file does not tell the shape of its input {self.inputs[i]}")
        return tuple(found)

    def out_shape(self, i: int = 0) -> Any:
        """Return the complete shape of output i, or None if it is not known."""
        return self._reader.shape(self.outputs[i])

    def rank(self, i: int) -> int:
        """Return the number of axes of input i."""
        return len(self.lengths(i))

    def axis(self, name: str = "axis", default: int | None = None, extra: int = 0) -> int:
        """Return an attribute that is an axis of input 0, as a non-negative index."""
        rank, value = self.rank(0) + extra, self.get(name, default)
        if value is None or not -rank <= value < max(rank, 1):
            self.refuse(f"{name}={value} of {rank} axes")
        found: int = value % max(rank, 1)
        return found


class Reader:  # state while a file is read
    """State while an ONNX graph is read: symbols, constants, shapes of its values by name.

    params: What the symbols' variables hold.
    integers: By the id of a node: weights in floats that are made of integers of 8 bits.
    """

    def __init__(self, library: Any, model: Any) -> None:
        self.library, graph = library, model.graph
        self.opset = opset_of(model)
        self.ir_version = model.ir_version
        self.opsets = {each.domain: each.version for each in model.opset_import}
        self.functions = {(each.domain, each.name): each for each in model.functions}
        to_array = library.numpy_helper.to_array
        self._constants: dict[str, Any] = {each.name: to_array(each) for each in graph.initializer}
        self.params: dict[str, np.ndarray[Any, Any]] = {}
        self._variables: dict[str, Symbol] = {}
        self._symbols: dict[str, Symbol | None] = {}
        self._others: set[str] = set()
        self._values = {each.name for each in graph.input}
        self._values.update(name for each in graph.node for name in each.output)
        self.quantized_weights: dict[int, tuple[Symbol, IntWeight]] = {}
        self._made: set[int] = set()
        self._shapes = Shapes(library, model)
        for each in graph.input:
            if each.name not in self._constants:
                self._symbols[each.name] = None
                if 0 in (self._shapes.lengths(each.name) or ()):
                    dtype = self._shapes.numpy_dtype(each.name)
                    self._constants[each.name] = np.zeros(self._shapes.lengths(each.name), dtype)
                if not each.type.HasField("tensor_type"):
                    self._others.add(each.name)

    def constant(self, name: str) -> Any:
        """Return the constant of this name, or None."""
        return self._constants.get(name)

    def computed_symbol(self, name: str) -> Symbol | None:
        """Return the Symbol of this name if a node has computed it, or None."""
        return self._symbols.get(name)

    def set_constant(self, name: str, value: np.ndarray[Any, Any]) -> None:
        """Store a constant under a name."""
        self._constants[name] = value

    def lengths(self, name: str) -> tuple[int | None, ...] | None:
        """Return the shape of a value with None for open lengths, or None."""
        if name in self._constants:
            shape: Shape = self._constants[name].shape
            return shape
        return self._shapes.lengths(name)

    def has_equal_lengths(self, name: str, other: str, skip: int) -> bool:
        """Return the result of `Shapes.has_equal_lengths`."""
        return self._shapes.has_equal_lengths(name, other, skip)

    def shape(self, name: str) -> Any:
        """Return the complete shape of a value, or None."""
        found = self.lengths(name)
        return None if found is None or None in found else found

    def type_proto(self, name: str) -> Any:
        """Return the onnx package's TypeProto of a value, or None."""
        return self._shapes.type_proto(name, self._constants)

    def dtype(self, name: str) -> str | None:
        """Return the name of a value's dtype, or None; refuse dtypes that cynet lacks."""
        if name in self._constants:
            found: str | None = self._constants[name].dtype.name
        else:
            found = self._shapes.dtype(name)
        if found is not None and found not in SUPPORTED_DTYPES:
            raise UndefinedError(
                f"import_model: '{name}' is of type {found}, which cynet lacks; it has "
                f"{', '.join(sorted(SUPPORTED_DTYPES))}"
            )
        return found

    def iter_values(self) -> Iterator[tuple[str, Entry, str | None, tuple[int | None, ...] | None]]:
        """Yield (name, entry, dtype, lengths) of each value; None for what the file leaves open."""
        for name, symbol in self._symbols.items():
            if symbol is not None and name not in self._constants:
                yield name, symbol.entries[0], self._shapes.dtype(name), self._shapes.lengths(name)

    def symbol(self, name: str) -> Symbol:
        """Return the value of this name as a Symbol; a constant becomes a parameter."""
        found = self._symbols.get(name)
        if found is not None:
            return found
        if name in self._others:
            raise UndefinedError(
                f"import_model: expected arrays as inputs, '{name}' has another type"
            )
        if name in self._symbols:
            dtype = self.dtype(name)
            more: dict[str, Any] = {} if dtype in (None, "float32") else {"dtype": dtype}
            found = self._symbols[name] = sym.Variable(name, **more)
            return found
        if name not in self._constants:
            raise FormatError(f"import_model: the file uses '{name}' before it is computed")
        found = self._symbols[name] = self.add_parameter(name, self._constants[name])
        return found

    def add_parameter(self, name: str, values: Any) -> Symbol:
        """Make a variable with `values`, under this name, or a similar one if it is taken."""
        values = np.asarray(values)
        if values.dtype.name not in SUPPORTED_DTYPES:
            raise UndefinedError(
                f"import_model: '{name}' is of type {values.dtype.name}, which cynet lacks"
            )
        if values.size == 0:
            raise UndefinedError(f"import_model: '{name}' has no elements, shape {values.shape}")
        if values.ndim == 0:
            values = values.reshape(1)
        if not self._can_use_name(name, values):
            tries = (f"{name}_{i}" for i in itertools.count())
            name = next(made for made in tries if self._can_use_name(made, values))
        if name not in self.params:
            self.params[name] = values
            self._variables[name] = sym.Variable(name, shape=values.shape, dtype=values.dtype)
        return self._variables[name]

    def _can_use_name(self, name: str, values: np.ndarray[Any, Any]) -> bool:
        """Return whether a variable of this name can have these values."""
        held = self.params.get(name, self._constants.get(name))
        if held is None:
            return name not in self._values
        held = held.reshape(values.shape) if held.size == values.size == 1 else held
        return held.dtype == values.dtype and np.array_equal(held, values)

    def frozen_var(self, name: str, values: Any) -> Symbol:
        """Make a variable with constant values, which training does not change."""
        made = self.add_parameter(name, values)
        made._set_attr(lr_mult="0", wd_mult="0")
        return sym.BlockGrad(made)

    def infer_node_outputs(self, node: Node) -> None:
        """Infer the shapes and types of a node's outputs."""
        self._shapes.infer_node_outputs(node, self._constants)

    def try_fold_empty(self, node: Node) -> bool:
        """Store outputs without elements as constants; return whether that covers all outputs."""
        names = [each for each in node.outputs if each]
        for name in names:
            shape = self.shape(name)
            if shape is not None and 0 in shape:
                self._constants[name] = np.zeros(shape, self._shapes.numpy_dtype(name))
        return bool(names) and all(name in self._constants for name in names)

    def add_weight(self, symbol: Symbol, integers: IntWeight) -> None:
        """Store the integers of a dequantized weight."""
        self.quantized_weights[id(symbol.entries[0][0])] = symbol, integers

    def store_outputs(self, node: Node, made: Sequence[Symbol | None]) -> None:
        """Store the outputs of a node; the symbol of the first output gets the node's name."""
        first = next(each for each in made if each is not None).entries[0][0]
        if first.op is not None and id(first) not in self._made:
            first.name = node.name
        made = [*made, *[None] * (len(node.outputs) - len(made))]
        for name, symbol in zip(node.outputs, made):
            if name in self._constants:
                continue
            if name and symbol is None:
                node.refuse(f"its output {name} is not computed by cynet")
            if name and symbol is not None:
                self._symbols[name] = symbol
                self._made.add(id(symbol.entries[0][0]))

    def try_fold_node(self, node: Node) -> bool:
        """Compute a node of constants, or a declared shape; return whether that was possible."""
        if node.domain not in ("", "ai.onnx") or node.kind in _UNFOLDED_KINDS:
            return False
        if node.kind == "Constant":
            self._constants[node.outputs[0]] = self._constant_value(node)
            return True
        if node.kind in ("Shape", "Size"):
            shape = self.shape(node.inputs[0])
            if shape is None:
                return False
            found = np.array(shape[slice(node.get("start"), node.get("end"))], "int64")
            found = found if node.kind == "Shape" else np.array(math.prod(shape), "int64")
            self._constants[node.outputs[0]] = found
            return True
        if node.kind == "CastLike" and node.value(0) is not None:
            dtype = self.dtype(node.inputs[1])  # this input gives only its dtype
            if dtype is not None and dtype != "bfloat16":
                self._constants[node.outputs[0]] = node.value(0).astype(dtype)
                return True
        names = [each for each in node.inputs if each]
        if not names or any(each not in self._constants for each in names):
            return False
        if sum(self._constants[each].size for each in names) > _MAX_FOLDED_ELEMENTS:
            return False
        if any(each.HasField("g") or each.graphs for each in node.proto.attribute):
            return False
        reference = optional("onnx.reference", "mx.onnx.import_model")
        helper = self.library.helper
        values = {each: self._constants[each] for each in names}
        kinds = {k: helper.np_dtype_to_tensor_dtype(v.dtype) for k, v in values.items()}
        inputs = [helper.make_tensor_value_info(k, kinds[k], v.shape) for k, v in values.items()]
        outputs = [helper.make_empty_tensor_value_info(each) for each in node.outputs if each]
        graph = helper.make_graph([node.proto], "constant", inputs, outputs)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", node.opset)])
        results = reference.ReferenceEvaluator(made).run(None, values)
        if not all(isinstance(each, (np.ndarray, np.generic)) for each in results):
            node.refuse("it gives no array")
        arrays = [np.asarray(each) for each in results]
        self._constants.update(zip([each for each in node.outputs if each], arrays))
        return True

    def _constant_value(self, node: Node) -> Any:
        """Return the value of a Constant node."""
        name, value = next(iter(node.attributes.items()))
        if name == "sparse_value":
            node.refuse("sparse_value")
        if name != "value":
            dtype = {
                "value_int": "int64",
                "value_ints": "int64",
                "value_float": "float32",
                "value_floats": "float32",
            }.get(name, object)
            return np.array(value, dtype)
        if any(n < 0 for n in value.dims):  # NumPy would infer a length for -1
            node_shape = shown(list(value.dims))
            raise FormatError(f"import_model: '{node.name}' has the shape {node_shape}")
        return self.library.numpy_helper.to_array(value)
