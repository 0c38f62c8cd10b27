"""Forming of int8 layers: they replace float layers between DequantizeLinear and QuantizeLinear.

A layer's sums are of integers as they are, so an integer that stands for 0 and is not 0 is no
property of the layer: ``(q - z) s`` is ``q s`` less a constant, which becomes part of the bias, of
the bounds and of what pads the data. Integers of int8 with such a zero are taken as uint8, 128
higher, whose sums are faster.

What only moves elements moves integers: QuantizeLinear after it is as well before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...contrib.quantization.graph import make_node
from ...contrib.quantization.layers import EntryReaders, Layer, extend_layer, is_layer
from ...graph.infer import infer_types
from ...operator.quantization.int8_form import int8_class
from ...operator.quantization.ranges import BYTE_LIMITS, FINE_STEPS
from ...operator.tensor.creation import FullProperty
from ...operator.tensor.pad import PadProperty
from ...symbol import Symbol
from ...symbol.node import Node, topological_order

if TYPE_CHECKING:
    from ...symbol.node import Entry
    from ..importers import Reader

QUANTIZE, DEQUANTIZE = "_quantize_linear", "_dequantize_linear"  # names of operators
_MOVE_OPERATORS = {  # operators that only move elements
    "Reshape",
    "Flatten",
    "transpose",
    "expand_dims",
    "squeeze",
    "SwapAxis",
    "slice",
    "slice_axis",
    "Concat",
    "_copy",
}


class Encoding(NamedTuple):  # floats as integers: q means (q - zero) * scale
    """Encoding of floats as integers: an integer q means ``(q - zero) * scale``."""

    dtype: str
    scale: float
    zero: int

    def range(self) -> tuple[float, float]:
        """Return the range (low, high) that an int8 layer uses, as if `zero` were 0."""
        maximum = self.scale * FINE_STEPS[self.dtype]
        return 0.0 if self.dtype == "uint8" else -maximum, maximum

    def range_ends(self, name: str) -> list[Entry]:
        """Make nodes for both ends of the range; return their entries."""
        pairs = zip(("min", "max"), self.range())
        return [
            (make_node(FullProperty, f"{name}_{n}", [], shape=(1,), value=v), 0) for n, v in pairs
        ]

    def quantize(self, value: float) -> int:
        """Return the integer that QuantizeLinear gives for a number."""
        least, maximum = (end - self.zero for end in BYTE_LIMITS[self.dtype])
        found = np.float32(value) / np.float32(self.scale)
        return int(np.rint(np.clip(found, least, maximum))) + self.zero

    def to_uint8(self) -> Encoding:
        """Return the encoding of int8 integers as uint8, 128 higher."""
        return Encoding("uint8", self.scale, self.zero + 128)


def join_int8_layers(found: Symbol, reader: Reader) -> Symbol:
    """Replace float layers between dequantized and quantized values by int8 layers where possible.

    reader: With the parameters, to which those of the layers come.

    Returns Symbol.
    """
    if not any(_is_operator(node, DEQUANTIZE) for node in topological_order(found.entries)):
        return found
    lifted = _QuantizeLifter(found.entries, reader)
    return Symbol(_Int8Joiner(lifted.rebuild_graph(), lifted.pooled, reader).rebuild_graph())


def _entry_dtypes(heads: list[Entry], reader: Reader) -> dict[Entry, Any]:
    """Infer the dtype of each entry."""
    known = {name: reader.dtype(name) for name in Symbol(heads).list_inputs()}
    known |= {name: value.dtype.name for name, value in reader.params.items()}
    return infer_types(heads, {k: v for k, v in known.items() if v}, "float32")


def _is_operator(node: Node, *names: str) -> bool:
    return node.op is not None and node.op.name in names


def _rebuild_node(node: Node, inputs: list[Entry]) -> Node:
    if inputs == node.inputs:
        return node
    return Node(node.op, node.name, dict(node.attrs), dict(node.params), node.prop, inputs)


def _output_encoding(quantize: Node) -> Encoding:
    """Return the Encoding of a QuantizeLinear's output."""
    return Encoding(quantize.prop.out_type, quantize.prop.scale, quantize.prop.zero_point)


class _QuantizeLifter:  # pass that moves QuantizeLinear forward
    """Pass that moves each QuantizeLinear before operators that only move or pool elements.
    `pooled` has the Encoding of the pooled integers, by the id of the node."""

    def __init__(self, heads: list[Entry], reader: Reader) -> None:
        self.heads, self.nodes = heads, topological_order(heads)
        self.uses, self.types = EntryReaders(self.nodes, heads), _entry_dtypes(heads, reader)
        self.new: dict[int, Entry] = {}
        self.pooled: dict[int, Encoding] = {}

    def rebuild_graph(self) -> list[Entry]:
        for node in self.nodes:
            inputs = [self._new_entry(each) for each in node.inputs]
            if _is_operator(node, QUANTIZE):
                self.new[id(node)] = self._quantize_input(node.inputs[0], node, node, node.name)
            elif node.op is None:
                self.new[id(node)] = node, 0
            else:
                self.new[id(node)] = _rebuild_node(node, inputs), 0
        return [self._new_entry(each) for each in self.heads]

    def _new_entry(self, old: Entry) -> Entry:
        node, index = self.new[id(old[0])]
        return node, index or old[1]

    def _quantize_input(self, old: Entry, quantize: Node, reader: Node, name: str) -> Entry:
        """Quantize entry `old`, an input of `reader`, by a copy of node `quantize` named `name`."""
        node = old[0]
        if _is_operator(node, DEQUANTIZE) and self._is_inverse(node, quantize):
            return self._new_entry(node.inputs[0])
        pools = _is_operator(node, "Pooling") and self._can_pool_integers(node, quantize)
        pads = _is_operator(node, "Pad") and node.prop.mode == "constant"
        if self.uses.single_reader(node) is not reader or not (
            pools or pads or _is_operator(node, *_MOVE_OPERATORS)
        ):
            return self._copy_with_name(quantize, name, [self._new_entry(old)]), 0
        parts = [
            self._quantize_input(each, quantize, node, f"{name}_{i}_quantize")
            for i, each in enumerate(node.inputs)
        ]
        if pools:
            encoding = _output_encoding(quantize)
            prop = int8_class(node.op.prop)
            params = prop.int8_form.params_to_copy(node)
            made = make_node(prop, name, parts + encoding.range_ends(name), **params)
            self.pooled[id(made)] = encoding
        elif pads:
            value = _output_encoding(quantize).quantize(node.prop.constant_value)
            params = node.prop.params() | {"constant_value": value}
            made = make_node(PadProperty, name, parts, **params)
        else:
            made = self._copy_with_name(node, name, parts)
        return made, 0

    @staticmethod
    def _copy_with_name(node: Node, name: str, inputs: list[Entry]) -> Node:
        return Node(node.op, name, dict(node.attrs), dict(node.params), node.prop, inputs)

    def _can_pool_integers(self, node: Node, quantize: Node) -> bool:
        """Return whether pooling the integers gives the same result: for maxima always; for means
        if the steps are equal and pads (zeros) do not count. Means halfway between two integers are
        rounded to even, which an odd zero point would change."""
        if node.prop.pool_type == "max":
            return True
        source = node.inputs[0][0]
        if node.prop.pool_type != "avg" or not _is_operator(source, DEQUANTIZE):
            return False
        counted = any(node.prop.pad or ()) and node.prop.count_include_pad is not False
        zero = quantize.prop.zero_point
        return self._is_inverse(source, quantize) and zero % 2 == 0 and not (zero and counted)

    def _is_inverse(self, node: Node, quantize: Node) -> bool:
        """Return whether `node` dequantizes the output of `quantize`."""
        a, b = node.prop, quantize.prop
        dtype = self.types.get(node.inputs[0])
        return (a.scale, a.zero_point, dtype) == (b.scale, b.zero_point, b.out_type)


class _Int8Joiner:  # pass that forms int8 layers
    """Pass that forms int8 layers."""

    def __init__(self, heads: list[Entry], pooled: dict[int, Encoding], reader: Reader) -> None:
        self.heads, self.pooled, self.reader = heads, pooled, reader
        self.nodes, self.types = topological_order(heads), _entry_dtypes(heads, reader)
        self.uses = EntryReaders(self.nodes, heads)
        self.new: dict[int, Node] = {}
        self.uint8_ids = self._uint8_node_ids()
        # id of a layer's last node -> (layer, Encoding of its output)
        self.layers: dict[int, tuple[Layer, Encoding | None]] = {}
        self.inside: set[int] = set()
        place = {id(node): i for i, node in enumerate(self.nodes)}
        taken: set[int] = set()
        for node in self.nodes:
            if _is_operator(node, DEQUANTIZE):  # an addition uses the integers before it
                place[id(node)] = place[id(node.inputs[0][0])]
        for node in self.nodes:
            if node.op is not None and is_layer(node) and self._has_int8_operands(node):
                layer = extend_layer(Layer(node), self.uses, {}, lambda _: False, taken, place)
                self._add_layer(layer)

    def rebuild_graph(self) -> list[Entry]:
        for node in self.nodes:
            if id(node) in self.layers:
                layer, encoding = self.layers[id(node)]
                self.new[id(node)] = self._int8_layer(layer, encoding, node.name)
            elif id(node) not in self.inside:
                self.new[id(node)] = self._copy_node(node)
        return [self._new_entry(each) for each in self.heads]

    def _new_entry(self, old: Entry) -> Entry:
        return self.new[id(old[0])], old[1]

    def _uint8_node_ids(self) -> set[int]:
        """Return the ids of nodes whose int8 results can become uint8 for all of their readers."""

        def is_int8_source(node: Node) -> bool:
            if _is_operator(node, QUANTIZE):
                return bool(node.prop.out_type == "int8" and node.prop.zero_point != 0)
            moves = _is_operator(node, *_MOVE_OPERATORS, "Pad") or id(node) in self.pooled
            return moves and self.types.get((node, 0)) == "int8"

        found = {id(node): node for node in self.nodes if is_int8_source(node)}
        shown = {id(node) for node, _ in self.heads}
        readers: dict[int, list[Node]] = {key: [] for key in found}
        for node in self.nodes:
            for source, _ in node.inputs:
                if id(source) in readers:
                    readers[id(source)].append(node)
        size = None
        while size != len(found):
            size = len(found)
            for key, node in list(found.items()):
                all_uint8 = all(
                    _is_operator(each, DEQUANTIZE) or id(each) in found for each in readers[key]
                )
                sources = node.inputs[:1] if key in self.pooled else node.inputs
                if _is_operator(node, QUANTIZE):
                    sources = []
                if key in shown or not all_uint8 or any(id(s) not in found for s, _ in sources):
                    del found[key]
        return set(found)

    def _encoding_of(self, entry: Entry) -> Encoding | None:
        """Return the Encoding of the integers that a dequantized entry comes from, or None."""
        node = entry[0]
        if not _is_operator(node, DEQUANTIZE):
            return None
        encoding = Encoding(self.types[node.inputs[0]], node.prop.scale, node.prop.zero_point)
        return encoding.to_uint8() if id(node.inputs[0][0]) in self.uint8_ids else encoding

    def _copy_node(self, node: Node) -> Node:
        inputs = [self._new_entry(each) for each in node.inputs]
        if node.op is None:
            return node
        if id(node) in self.uint8_ids and id(node) in self.pooled:
            inputs[1:] = self.pooled[id(node)].to_uint8().range_ends(node.name)
        if id(node) in self.uint8_ids and _is_operator(node, "Pad"):
            params = node.prop.params()
            params["constant_value"] += 128
            return make_node(PadProperty, node.name, inputs, **params)
        becomes_uint8 = _is_operator(node, QUANTIZE) and id(node) in self.uint8_ids
        if not becomes_uint8 and not (
            _is_operator(node, DEQUANTIZE) and id(node.inputs[0][0]) in self.uint8_ids
        ):
            return _rebuild_node(node, inputs)
        params = {"scale": node.prop.scale, "zero_point": node.prop.zero_point + 128}
        if becomes_uint8:
            params["out_type"] = "uint8"
        return make_node(node.op.prop, node.name, inputs, node.attrs, **params)

    def _int8_weight(
        self, node: Node
    ) -> tuple[str, np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
        """Return (name, int8 values, step of each filter) of a layer's weight, or None."""
        _, found = self.reader.quantized_weights.get(id(node.inputs[1][0]), (None, None))
        if found is None or (len(found.step) > 1 and found.axis != 0):
            return None
        values, n = found.values, len(found.values)
        zero = np.broadcast_to(found.zero, (n,)) if found.axis == 0 else found.zero[:1]
        whole = values.astype("int16") - zero.astype("int16").reshape(-1, *[1] * (values.ndim - 1))
        if whole.min() < -128 or whole.max() > 127:
            return None
        return found.name, whole.astype("int8"), np.broadcast_to(found.step, (n,))

    def _has_int8_operands(self, node: Node) -> bool:
        """Return whether an int8 layer supports the layer's operands."""
        encoding, weight = self._encoding_of(node.inputs[0]), self._int8_weight(node)
        if encoding is None or weight is None:
            return False
        bias = node.inputs[2][0] if len(node.inputs) > 2 else None
        if bias is not None and (bias.op is not None or bias.name not in self.reader.params):
            return False
        return not encoding.zero or not self._data_padding(node) or len(node.prop.kernel) > 1

    @staticmethod
    def _data_padding(node: Node) -> tuple[int, ...]:
        """Return the padding of a layer's data for each axis; empty without padding."""
        pad = node.prop.window[2] if node.op.name == "Convolution" else ()
        return tuple(pad) if any(pad) else ()

    def _add_layer(self, layer: Layer) -> None:
        """Store a layer; its last node returns integers if its only reader quantizes them."""
        last, encoding, inside = layer.end, None, [layer.node, layer.end]
        if layer.residual is not None and layer.bounds != (None, None):
            inside.append(layer.end.inputs[0][0])
        reader = self.uses.single_reader(layer.end)
        if reader is not None and _is_operator(reader, QUANTIZE):
            found = _output_encoding(reader)
            found = found.to_uint8() if id(reader) in self.uint8_ids else found
            if found.dtype == "uint8" or not found.zero:
                last, encoding = reader, found
        self.inside.update(id(node) for node in inside)
        self.layers[id(last)] = layer, encoding

    def _int8_layer(self, layer: Layer, encoding: Encoding | None, name: str) -> Node:
        """Make an int8 layer; its output has an Encoding, or is float if that is None."""
        node = layer.node
        # neither is None: see _has_int8_operands
        source: Any = self._encoding_of(node.inputs[0])
        operands: Any = self._int8_weight(node)
        stored, weight, step = operands
        bias = np.zeros(len(weight))
        if len(node.inputs) > 2:
            bias = self.reader.params[node.inputs[2][0].name].astype("float64")
        sums = weight.reshape(len(weight), -1).sum(1, dtype="int64")
        bias = bias - source.scale * source.zero * step.astype("float64") * sums
        prop = int8_class(node.op.prop)
        params = prop.int8_form.params_to_copy(node)
        data, pad = self._new_entry(node.inputs[0][0].inputs[0]), self._data_padding(node)
        if source.zero and pad:
            width = (0, 0, 0, 0, *(n for n in pad for _ in range(2)))
            more = {"mode": "constant", "pad_width": width, "constant_value": source.zero}
            data = make_node(PadProperty, f"{node.name}_pad", [data], **more), 0
            params["pad"] = (0,) * len(pad)
        residual = []
        if layer.residual is not None:
            other = self._encoding_of(layer.residual)
            if other is None:
                residual = [self._new_entry(layer.residual), *source.range_ends(f"{name}_residual")]
            else:
                bias = bias - other.scale * other.zero
                integers = self._new_entry(layer.residual[0].inputs[0])
                residual = [integers, *other.range_ends(f"{name}_residual")]
            params["with_residual"] = True
        shift = 0.0
        if encoding is not None:
            low, high = encoding.range()
            params |= {"out_type": encoding.dtype, "min_calib_range": low, "max_calib_range": high}
            shift = encoding.scale * encoding.zero
        for key, limit in zip(("a_min", "a_max"), layer.bounds):
            if limit is not None:
                params[key] = limit + shift
        variables = [
            self.reader.add_parameter(each, value).entries[0]
            for each, value in (
                (stored, weight),
                (f"{node.name}_scale", step.astype("float32")),
                (f"{node.name}_offset", (bias + shift).astype("float32")),
            )
        ]
        inputs = [data, *variables, *source.range_ends(name), *residual]
        return make_node(prop, name, inputs, **params)
