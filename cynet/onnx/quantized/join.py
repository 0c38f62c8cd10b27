"""Int8 layers instead of float ones between DequantizeLinear and QuantizeLinear.

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
from ...operator.quantization.int8_form import int8_of
from ...operator.quantization.ranges import FINE_STEPS, LIMITS
from ...operator.tensor.creation import FullProperty
from ...operator.tensor.pad import PadProperty
from ...symbol import Symbol
from ...symbol.node import Node, topological_order

if TYPE_CHECKING:
    from ...symbol.node import Entry
    from ..importers import Reader

QUANTIZE, DEQUANTIZE = "_quantize_linear", "_dequantize_linear"
_MOVES = {
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


class Form(NamedTuple):
    """The meaning of integers as floats: ``(q - zero) * scale``."""

    dtype: str
    scale: float
    zero: int

    def range(self) -> tuple[float, float]:
        """The ends of the range that an int8 layer knows them by, as if 0 stood for 0."""
        maximum = self.scale * FINE_STEPS[self.dtype]
        return 0.0 if self.dtype == "uint8" else -maximum, maximum

    def ends(self, name: str) -> list[Entry]:
        """The entries of nodes that give the ends of the range."""
        pairs = zip(("min", "max"), self.range())
        return [
            (make_node(FullProperty, f"{name}_{n}", [], shape=(1,), value=v), 0) for n, v in pairs
        ]

    def integer(self, value: float) -> int:
        """The integer that QuantizeLinear makes of a number."""
        least, maximum = (end - self.zero for end in LIMITS[self.dtype])
        found = np.float32(value) / np.float32(self.scale)
        return int(np.rint(np.clip(found, least, maximum))) + self.zero

    def raised(self) -> Form:
        """Integers of int8 as uint8, 128 higher."""
        return Form("uint8", self.scale, self.zero + 128)


def join(found: Symbol, reader: Reader) -> Symbol:
    """The Symbol that computes the same by int8 layers, where it can.

    reader: With the parameters, to which those of the layers come.

    Returns Symbol.
    """
    if not any(_is_operator(node, DEQUANTIZE) for node in topological_order(found.entries)):
        return found
    lifted = _LiftQuantize(found.entries, reader)
    return Symbol(_Joined(lifted.run(), lifted.pooled, reader).run())


def _entry_dtypes(heads: list[Entry], reader: Reader) -> dict[Entry, Any]:
    """The dtype of each entry."""
    known = {name: reader.dtype(name) for name in Symbol(heads).list_inputs()}
    known |= {name: value.dtype.name for name, value in reader.params.items()}
    return infer_types(heads, {k: v for k, v in known.items() if v}, "float32")


def _is_operator(node: Node, *names: str) -> bool:
    return node.op is not None and node.op.name in names


def _rebuild_node(node: Node, inputs: list[Entry]) -> Node:
    if inputs == node.inputs:
        return node
    return Node(node.op, node.name, dict(node.attrs), dict(node.params), node.prop, inputs)


def _quantized_form(quantize: Node) -> Form:
    """The Form of a QuantizeLinear's output."""
    return Form(quantize.prop.out_type, quantize.prop.scale, quantize.prop.zero_point)


class _LiftQuantize:
    """One run of the pass that moves each QuantizeLinear before steps that only move or pool
    elements. `pooled` has the Form of the pooled integers, by the id of the node."""

    def __init__(self, heads: list[Entry], reader: Reader) -> None:
        self.heads, self.nodes = heads, topological_order(heads)
        self.uses, self.types = EntryReaders(self.nodes, heads), _entry_dtypes(heads, reader)
        self.new: dict[int, Entry] = {}
        self.pooled: dict[int, Form] = {}

    def run(self) -> list[Entry]:
        for node in self.nodes:
            inputs = [self._new_entry(each) for each in node.inputs]
            if _is_operator(node, QUANTIZE):
                self.new[id(node)] = self._quantized_input(node.inputs[0], node, node, node.name)
            elif node.op is None:
                self.new[id(node)] = node, 0
            else:
                self.new[id(node)] = _rebuild_node(node, inputs), 0
        return [self._new_entry(each) for each in self.heads]

    def _new_entry(self, old: Entry) -> Entry:
        node, index = self.new[id(old[0])]
        return node, index or old[1]

    def _quantized_input(self, old: Entry, quantize: Node, reader: Node, name: str) -> Entry:
        """Entry `old`, an input of `reader`, quantized as by `quantize`, whose copy is `name`."""
        node = old[0]
        if _is_operator(node, DEQUANTIZE) and self._dequantizes_same(node, quantize):
            return self._new_entry(node.inputs[0])
        pools = _is_operator(node, "Pooling") and self._can_pool_integers(node, quantize)
        pads = _is_operator(node, "Pad") and node.prop.mode == "constant"
        if self.uses.only_reader(node) is not reader or not (
            pools or pads or _is_operator(node, *_MOVES)
        ):
            return self._named_node(quantize, name, [self._new_entry(old)]), 0
        parts = [
            self._quantized_input(each, quantize, node, f"{name}_{i}_quantize")
            for i, each in enumerate(node.inputs)
        ]
        if pools:
            form = _quantized_form(quantize)
            prop = int8_of(node.op.prop)
            params = prop.int8_form.copied_params(node)
            made = make_node(prop, name, parts + form.ends(name), **params)
            self.pooled[id(made)] = form
        elif pads:
            value = _quantized_form(quantize).integer(node.prop.constant_value)
            params = node.prop.params() | {"constant_value": value}
            made = make_node(PadProperty, name, parts, **params)
        else:
            made = self._named_node(node, name, parts)
        return made, 0

    @staticmethod
    def _named_node(node: Node, name: str, inputs: list[Entry]) -> Node:
        return Node(node.op, name, dict(node.attrs), dict(node.params), node.prop, inputs)

    def _can_pool_integers(self, node: Node, quantize: Node) -> bool:
        """Return whether pooling the integers gives the same: for maxima always; for means if the
        steps are equal and pads (zeros) do not count. Means halfway between two integers are
        rounded to even, which an odd zero point would change."""
        if node.prop.pool_type == "max":
            return True
        source = node.inputs[0][0]
        if node.prop.pool_type != "avg" or not _is_operator(source, DEQUANTIZE):
            return False
        counted = any(node.prop.pad or ()) and node.prop.count_include_pad is not False
        zero = quantize.prop.zero_point
        return self._dequantizes_same(source, quantize) and zero % 2 == 0 and not (zero and counted)

    def _dequantizes_same(self, node: Node, quantize: Node) -> bool:
        """Return whether `node` dequantizes the output of `quantize`."""
        a, b = node.prop, quantize.prop
        dtype = self.types.get(node.inputs[0])
        return (a.scale, a.zero_point, dtype) == (b.scale, b.zero_point, b.out_type)


class _Joined:
    """One run of the pass that makes int8 layers."""

    def __init__(self, heads: list[Entry], pooled: dict[int, Form], reader: Reader) -> None:
        self.heads, self.pooled, self.reader = heads, pooled, reader
        self.nodes, self.types = topological_order(heads), _entry_dtypes(heads, reader)
        self.uses = EntryReaders(self.nodes, heads)
        self.new: dict[int, Node] = {}
        self.raised = self._uint8_node_ids()
        # id of the last node -> layer, its output's Form
        self.layers: dict[int, tuple[Layer, Form | None]] = {}
        self.inside: set[int] = set()
        place = {id(node): i for i, node in enumerate(self.nodes)}
        taken: set[int] = set()
        for node in self.nodes:
            if _is_operator(node, DEQUANTIZE):  # a layer adds the integers before it
                place[id(node)] = place[id(node.inputs[0][0])]
        for node in self.nodes:
            if node.op is not None and is_layer(node) and self._has_int8_operands(node):
                self._add(extend_layer(Layer(node), self.uses, {}, lambda _: False, taken, place))

    def run(self) -> list[Entry]:
        for node in self.nodes:
            if id(node) in self.layers:
                layer, form = self.layers[id(node)]
                self.new[id(node)] = self._int8_layer(layer, form, node.name)
            elif id(node) not in self.inside:
                self.new[id(node)] = self._copy_node(node)
        return [self._new_entry(each) for each in self.heads]

    def _new_entry(self, old: Entry) -> Entry:
        return self.new[id(old[0])], old[1]

    def _uint8_node_ids(self) -> set[int]:
        """The ids of nodes whose integers of int8 are to be uint8: all that read them can tell."""

        def gives(node: Node) -> bool:
            if _is_operator(node, QUANTIZE):
                return bool(node.prop.out_type == "int8" and node.prop.zero_point != 0)
            moves = _is_operator(node, *_MOVES, "Pad") or id(node) in self.pooled
            return moves and self.types.get((node, 0)) == "int8"

        found = {id(node): node for node in self.nodes if gives(node)}
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

    def _form_of(self, entry: Entry) -> Form | None:
        """The Form of the integers behind a dequantized entry, or None."""
        node = entry[0]
        if not _is_operator(node, DEQUANTIZE):
            return None
        form = Form(self.types[node.inputs[0]], node.prop.scale, node.prop.zero_point)
        return form.raised() if id(node.inputs[0][0]) in self.raised else form

    def _copy_node(self, node: Node) -> Node:
        inputs = [self._new_entry(each) for each in node.inputs]
        if node.op is None:
            return node
        if id(node) in self.raised and id(node) in self.pooled:
            inputs[1:] = self.pooled[id(node)].raised().ends(node.name)
        if id(node) in self.raised and _is_operator(node, "Pad"):
            params = node.prop.params()
            params["constant_value"] += 128
            return make_node(PadProperty, node.name, inputs, **params)
        raised = _is_operator(node, QUANTIZE) and id(node) in self.raised
        if not raised and not (
            _is_operator(node, DEQUANTIZE) and id(node.inputs[0][0]) in self.raised
        ):
            return _rebuild_node(node, inputs)
        params = {"scale": node.prop.scale, "zero_point": node.prop.zero_point + 128}
        if raised:
            params["out_type"] = "uint8"
        return make_node(node.op.prop, node.name, inputs, node.attrs, **params)

    def _int8_weight(
        self, node: Node
    ) -> tuple[str, np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
        """(name, integers of int8, a step for each filter) of a layer's weight, or None."""
        _, found = self.reader.integers.get(id(node.inputs[1][0]), (None, None))
        if found is None or (len(found.step) > 1 and found.axis != 0):
            return None
        values, n = found.values, len(found.values)
        zero = np.broadcast_to(found.zero, (n,)) if found.axis == 0 else found.zero[:1]
        whole = values.astype("int16") - zero.astype("int16").reshape(-1, *[1] * (values.ndim - 1))
        if whole.min() < -128 or whole.max() > 127:
            return None
        return found.name, whole.astype("int8"), np.broadcast_to(found.step, (n,))

    def _has_int8_operands(self, node: Node) -> bool:
        """Return whether a layer's operands are such as int8 layers have."""
        form, weight = self._form_of(node.inputs[0]), self._int8_weight(node)
        if form is None or weight is None:
            return False
        bias = node.inputs[2][0] if len(node.inputs) > 2 else None
        if bias is not None and (bias.op is not None or bias.name not in self.reader.params):
            return False
        return not form.zero or not self._data_padding(node) or len(node.prop.kernel) > 1

    @staticmethod
    def _data_padding(node: Node) -> tuple[int, ...]:
        """Elements of padding of a layer's data, for each axis; empty without padding."""
        pad = node.prop.window[2] if node.op.name == "Convolution" else ()
        return tuple(pad) if any(pad) else ()

    def _add(self, layer: Layer) -> None:
        """Note a layer; its last node returns integers if nothing else reads its inner values."""
        last, form, inside = layer.end, None, [layer.node, layer.end]
        if layer.residual is not None and layer.bounds != (None, None):
            inside.append(layer.end.inputs[0][0])
        reader = self.uses.only_reader(layer.end)
        if reader is not None and _is_operator(reader, QUANTIZE):
            found = _quantized_form(reader)
            found = found.raised() if id(reader) in self.raised else found
            if found.dtype == "uint8" or not found.zero:
                last, form = reader, found
        self.inside.update(id(node) for node in inside)
        self.layers[id(last)] = layer, form

    def _int8_layer(self, layer: Layer, form: Form | None, name: str) -> Node:
        """The int8 layer, of a name, whose output has a Form, or is of floats."""
        node = layer.node
        # _has_int8_operands has found both
        source: Any = self._form_of(node.inputs[0])
        operands: Any = self._int8_weight(node)
        stored, weight, step = operands
        bias = np.zeros(len(weight))
        if len(node.inputs) > 2:
            bias = self.reader.params[node.inputs[2][0].name].astype("float64")
        sums = weight.reshape(len(weight), -1).sum(1, dtype="int64")
        bias = bias - source.scale * source.zero * step.astype("float64") * sums
        prop = int8_of(node.op.prop)
        params = prop.int8_form.copied_params(node)
        data, pad = self._new_entry(node.inputs[0][0].inputs[0]), self._data_padding(node)
        if source.zero and pad:
            width = (0, 0, 0, 0, *(n for n in pad for _ in range(2)))
            more = {"mode": "constant", "pad_width": width, "constant_value": source.zero}
            data = make_node(PadProperty, f"{node.name}_pad", [data], **more), 0
            params["pad"] = (0,) * len(pad)
        residual = []
        if layer.residual is not None:
            other = self._form_of(layer.residual)
            if other is None:
                residual = [self._new_entry(layer.residual), *source.ends(f"{name}_residual")]
            else:
                bias = bias - other.scale * other.zero
                integers = self._new_entry(layer.residual[0].inputs[0])
                residual = [integers, *other.ends(f"{name}_residual")]
            params["with_residual"] = True
        shift = 0.0
        if form is not None:
            low, high = form.range()
            params |= {"out_type": form.dtype, "min_calib_range": low, "max_calib_range": high}
            shift = form.scale * form.zero
        for key, limit in zip(("a_min", "a_max"), layer.bounds):
            if limit is not None:
                params[key] = limit + shift
        variables = [
            self.reader.parameter(each, value).entries[0]
            for each, value in (
                (stored, weight),
                (f"{node.name}_scale", step.astype("float32")),
                (f"{node.name}_offset", (bias + shift).astype("float32")),
            )
        ]
        inputs = [data, *variables, *source.ends(name), *residual]
        return make_node(prop, name, inputs, **params)
