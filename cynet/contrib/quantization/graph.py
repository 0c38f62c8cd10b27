"""Rewriting of a graph: float layers become int8 layers, with limits from calibration.

Without limits a layer reads what `quantize_v2` makes of floats, by their own range, and
gives floats. Limits make it give integers to whoever reads such.
"""

from typing import Any

from ... import ndarray as nd
from ...operator import OPERATORS
from ...operator.quantization.conversions import DequantizeProperty, QuantizeV2Property
from ...operator.quantization.int8_form import int8_class
from ...operator.tensor.concat import ConcatProperty
from ...symbol.node import Node, topological_order
from .layers import find_layers

CALIBRATION_ATTRIBUTE = "__calibrated_by__"  # its value: an output of the float graph


def make_node(prop: Any, name: str, inputs: Any, attrs: Any = None, **params: Any) -> Node:
    """Make a node of the operator with property class `prop`."""
    entry = OPERATORS.get(prop.op_name)
    words = {key: str(value) for key, value in params.items()}
    return Node(entry, name, dict(attrs or {}), words, entry.prop(**params), inputs)


class Quantizer:  # rewrites a float graph with int8 layers
    """Rewrites a float graph into a graph with int8 layers.

    `params` gets the quantized weights; `keys` are the outputs of the float graph whose ranges
    calibration is to find; `layers` the names of layers that are int8.
    """

    def __init__(self, heads, params, excluded, dtype="auto", tensor_wise=False, bits=8):
        self.heads, self.dtype, self.tensor_wise, self.bits = heads, dtype, tensor_wise, bits
        self.params, self.made = params, {}
        self.variables = {}  # variables of quantized weights, by `Layer.weight_key`
        self.nodes = topological_order(heads)
        self.found = find_layers(self.nodes, heads, params, excluded)
        self.excluded = excluded
        self.new, self.triples, self.keys = {}, {}, []
        self.inside = self._inner_node_ids()

    def _inner_node_ids(self):
        """Return the ids of nodes inside a layer that are not its last node."""
        inside = set()
        for layer in self.found.values():
            for node in (layer.node, layer.norm):
                if node is not None and node is not layer.end:
                    inside.add(id(node))
            if layer.residual is not None and layer.bounds != (None, None):
                inside.add(id(layer.end.inputs[0][0]))
        return inside

    def run(self):
        """Return the outputs of the new graph."""
        for node in self.nodes:
            if node.op is None:
                self.new[id(node)] = node
            elif id(node) in self.found:
                self.new[id(node)] = self._convert_layer(self.found[id(node)])
            elif id(node) not in self.inside:
                self.new[id(node)] = self._copy_node(node)
        return [self._float_entry(each) for each in self.heads]

    def weight_arrays(self, ctx):
        """Return the quantized weights by name, on a device."""
        return {n: nd.array(v, ctx=ctx, dtype=v.dtype) for n, v in self.made.items()}

    @property
    def layers(self):
        return [layer.node.name for layer in self.found.values()]

    def _float_entry(self, old_entry):
        """Return the float entry that replaces an old entry."""
        key = id(old_entry[0]), old_entry[1]
        if key in self.triples and id(old_entry[0]) not in self.new:
            triple = self.triples[key]
            node = make_node(DequantizeProperty, f"{old_entry[0].name}_dequantize", list(triple))
            self.new[id(old_entry[0])] = node
        return self.new[id(old_entry[0])], old_entry[1]

    def _quantized_entry(self, old_entry):
        """Return the 8-bit entries (data, min, max) that replace the float entry `old_entry`."""
        key = id(old_entry[0]), old_entry[1]
        if key not in self.triples:
            name = old_entry[0].output_name(old_entry[1])
            self.keys.append(name)
            node = make_node(
                QuantizeV2Property,
                f"{name}_quantize",
                [self._float_entry(old_entry)],
                {CALIBRATION_ATTRIBUTE: name},
                out_type=self.dtype,
            )
            self.triples[key] = tuple((node, i) for i in range(3))
        return self.triples[key]

    def _convert_layer(self, layer):
        node, prop = layer.node, int8_class(layer.node.op.prop)
        weight_key = layer.weight_key()
        if weight_key not in self.variables:
            self.variables[weight_key] = self._make_layer_variables(layer)
        variables = self.variables[weight_key]
        data, low, high = self._quantized_entry(node.inputs[0])
        inputs = [data, *variables, low, high]
        params = prop.int8_form.params_to_copy(node)
        for key, limit in zip(("a_min", "a_max"), layer.bounds):
            if limit is not None:
                params[key] = limit
        if layer.residual is not None:
            inputs += self._quantized_entry(layer.residual)
            params["with_residual"] = True
        attrs = {CALIBRATION_ATTRIBUTE: layer.end.output_name(0)}
        return make_node(prop, f"quantized_{node.name}", inputs, attrs, **params)

    def _make_layer_variables(self, layer):
        """Make the variables of a layer's weight, steps and bias; store their values in `made`. Of
        layers with one name (a Block called twice) the later ones get a number behind it."""
        values = layer.quantized_weights(self.params, self.tensor_wise, self.bits)
        name, found, number = layer.node.name, [], 0
        while f"{name}_weight_quantize" in self.made:
            number += 1
            name = f"{layer.node.name}_{number}"
        for suffix, value in zip(("weight", "scale", "bias"), values):
            self.made[f"{name}_{suffix}_quantize"] = value
            attrs = {"__shape__": str(value.shape), "__dtype__": "5" if suffix == "weight" else "0"}
            found.append((Node(None, f"{name}_{suffix}_quantize", attrs), 0))
        return found

    def _copy_node(self, node):
        """Copy a node that is not a quantized layer; it keeps 8-bit data where possible."""
        if self._has_quantized_output(node):
            prop = int8_class(node.op.prop)
            triples = [self._quantized_entry(each) for each in node.inputs]
            params = prop.int8_form.params_to_copy(node)
            if isinstance(node.prop, ConcatProperty):
                params = {"num_args": len(triples), "dim": node.prop.dim}
            given = [each[0] for each in triples] + [end for each in triples for end in each[1:]]
            made = make_node(prop, f"quantized_{node.name}", given, **params)
            self.triples[id(node), 0] = tuple((made, i) for i in range(3))
            dequantized = [(made, i) for i in range(3)]
            return make_node(DequantizeProperty, f"{node.name}_dequantize", dequantized)
        inputs = [self._float_entry(each) for each in node.inputs]
        return Node(node.op, node.name, dict(node.attrs), dict(node.params), node.prop, inputs)

    def _has_quantized_output(self, node):
        """Return whether a node maps the integers of int8 layers to integers."""
        found = int8_class(node.op.prop)
        if found is None or found.int8_form.is_layer or self.excluded(node):
            return False
        if not found.int8_form.fits(node.prop):
            return False
        return all(
            id(source[0]) in self.found or (id(source[0]), source[1]) in self.triples
            for source in node.inputs
        )


def _is_quantize_node(node):
    return isinstance(node.prop, QuantizeV2Property)


def _is_int8_layer(prop):
    return prop.int8_form is not None and prop.int8_form.is_layer


def apply_calibration(heads, limits, dtype="auto"):
    """Insert the limits of a calibration into a Quantizer's graph; return its outputs.

    heads: list of entries
    limits (dict): Output of the float graph to the least and largest value that it is to have.
    dtype (str): ``'int8'``, ``'uint8'`` or ``'auto'``.
    """
    nodes = topological_order(heads)
    wanted = {}  # id of an int8 layer whose output is read as 8-bit data -> its limits
    for node in nodes:
        if _is_quantize_node(node) and node.attrs.get(CALIBRATION_ATTRIBUTE) in limits:
            source, index = node.inputs[0]
            if source.op is not None and _is_int8_layer(source.op.prop) and index == 0:
                wanted[id(source)] = _ordered_limits(limits[node.attrs[CALIBRATION_ATTRIBUTE]])
    new, triples, floats = {}, {}, {}

    def new_entry(old):  # the entry that replaces `old`
        node, index = old
        if id(node) in triples:  # this node reads a layer's integers as floats or as 8-bit data
            if _is_quantize_node(node):
                return triples[id(node)][index]
            if id(node) not in floats:
                triple = list(triples[id(node)])
                floats[id(node)] = make_node(DequantizeProperty, f"{node.name}_dequantize", triple)
            return floats[id(node)], 0
        return new[id(node)], index

    for node in nodes:
        if node.op is None:
            new[id(node)] = node
            continue
        if _is_quantize_node(node) and id(node.inputs[0][0]) in wanted:
            triples[id(node)] = triples[id(node.inputs[0][0])]
            continue
        params = dict(node.params)
        if id(node) in wanted:
            low, high = wanted[id(node)]
            more = {"out_type": dtype, "min_calib_range": low, "max_calib_range": high}
            made = _rebuild_node(node, params | {k: str(v) for k, v in more.items()}, new_entry)
            triples[id(node)] = tuple((made, i) for i in range(3))
            continue
        if _is_quantize_node(node) and node.attrs.get(CALIBRATION_ATTRIBUTE) in limits:
            low, high = _ordered_limits(limits[node.attrs[CALIBRATION_ATTRIBUTE]])
            params |= {"min_calib_range": str(low), "max_calib_range": str(high)}
        new[id(node)] = _rebuild_node(node, params, new_entry)
    return [new_entry(each) for each in heads]


def _rebuild_node(node, params, entry):  # with other parameters and inputs
    inputs = [entry(each) for each in node.inputs]
    prop = node.prop if params == node.params else node.op.prop(**params)
    return Node(node.op, node.name, dict(node.attrs), params, prop, inputs)


def _ordered_limits(limits):
    low, high = (float(value) for value in limits)
    return min(low, high), max(low, high)
