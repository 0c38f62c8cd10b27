"""A graph with int8 layers in place of float ones, and the limits that calibration gave them.

Without limits a layer reads what `_contrib_quantize_v2` makes of floats, by their own range, and
gives floats. Limits make it give integers to whoever reads such.
"""

from ...operator import OPERATORS
from ...symbol.node import Node, topological_order
from .layers import find_layers

KEY = "__calibrated_by__"  # attribute: the output of the float graph that a range is of
QUANTIZE = "_contrib_quantize_v2"
INT8 = {"Convolution": "_int8_convolution", "FullyConnected": "_int8_fully_connected"}
KEPT = {
    "Convolution": ("kernel", "stride", "dilate", "pad", "num_filter", "num_group", "layout"),
    "FullyConnected": ("num_hidden", "flatten"),
}
POOLING = (
    "kernel", "pool_type", "global_pool", "pooling_convention", "stride", "pad", "layout",
    "count_include_pad",
)  # fmt: skip


def make(op, name, inputs, attrs=None, **params):
    """A node of an operator, by its parameters."""
    entry = OPERATORS.get(op)
    words = {key: str(value) for key, value in params.items()}
    return Node(entry, name, dict(attrs or {}), words, entry.prop(**params), inputs)


class Quantizer:
    """One run of the rewriting.

    `params` gets the quantized weights; `keys` are the outputs of the float graph whose ranges
    calibration is to find; `layers` the names of layers that are int8.
    """

    def __init__(self, heads, params, excluded, dtype="auto", tensor_wise=False):
        self.heads, self.dtype, self.tensor_wise = heads, dtype, tensor_wise
        self.params, self.made = params, {}
        self.variables = {}  # of the quantized weights, by what they are made of
        self.nodes = topological_order(heads)
        self.found = find_layers(self.nodes, heads, params, excluded)
        self.excluded = excluded
        self.new, self.triples, self.keys = {}, {}, []
        self.inside = self._inside()

    def _inside(self):
        """The ids of nodes that are part of a layer and not its end."""
        inside = set()
        for layer in self.found.values():
            for node in (layer.node, layer.norm):
                if node is not None and node is not layer.end:
                    inside.add(id(node))
            if layer.residual is not None and layer.bounds != (None, None):
                inside.add(id(layer.end.inputs[0][0]))
        return inside

    def run(self):
        """The new heads."""
        for node in self.nodes:
            if node.op is None:
                self.new[id(node)] = node
            elif id(node) in self.found:
                self.new[id(node)] = self._layer(self.found[id(node)])
            elif id(node) not in self.inside:
                self.new[id(node)] = self._passed(node)
        return [self._entry(each) for each in self.heads]

    @property
    def layers(self):
        return [layer.node.name for layer in self.found.values()]

    def _entry(self, old):
        """The float entry that stands for an old one."""
        key = id(old[0]), old[1]
        if key in self.triples and id(old[0]) not in self.new:
            triple = self.triples[key]
            node = make("_contrib_dequantize", f"{old[0].name}_dequantize", list(triple))
            self.new[id(old[0])] = node
        return self.new[id(old[0])], old[1]

    def _quantized(self, old):
        """The entries (data, min, max) of an old one in 8 bits."""
        key = id(old[0]), old[1]
        if key not in self.triples:
            name = old[0].output_name(old[1])
            self.keys.append(name)
            node = make(
                QUANTIZE, f"{name}_quantize", [self._entry(old)], {KEY: name}, out_type=self.dtype
            )
            self.triples[key] = tuple((node, i) for i in range(3))
        return self.triples[key]

    def _layer(self, layer):
        node, op = layer.node, layer.node.op.name
        made_of = layer.made_of()
        if made_of not in self.variables:
            self.variables[made_of] = self._variables(layer)
        variables = self.variables[made_of]
        data, low, high = self._quantized(node.inputs[0])
        inputs = [data, *variables, low, high]
        params = {k: getattr(node.prop, k) for k in KEPT[op] if k in node.params}
        for key, bound in zip(("a_min", "a_max"), layer.bounds):
            if bound is not None:
                params[key] = bound
        if layer.residual is not None:
            inputs += self._quantized(layer.residual)
            params["with_residual"] = True
        attrs = {KEY: layer.end.output_name(0)}
        return make(INT8[op], f"quantized_{node.name}", inputs, attrs, **params)

    def _variables(self, layer):
        """The variables of a layer's weight, its steps and the bias, whose values `made` gets. Of
        two layers of one name, as those of a Block that is called twice, the second is numbered."""
        values = layer.weights(self.params, self.tensor_wise)
        name, found, number = layer.node.name, [], 0
        while f"{name}_weight_quantize" in self.made:
            number += 1
            name = f"{layer.node.name}_{number}"
        for suffix, value in zip(("weight", "scale", "bias"), values):
            self.made[f"{name}_{suffix}_quantize"] = value
            attrs = {"__shape__": str(value.shape), "__dtype__": "5" if suffix == "weight" else "0"}
            found.append((Node(None, f"{name}_{suffix}_quantize", attrs), 0))
        return found

    def _passed(self, node):
        """Any other node; one whose input is of 8 bits, and which can, stays so."""
        if self._stays_quantized(node):
            op, params = "_contrib_quantized_flatten", {}
            triples = [self._quantized(each) for each in node.inputs]
            if node.op.name == "Pooling":
                op = "_contrib_quantized_pooling"
                params = {k: getattr(node.prop, k) for k in POOLING if k in node.params}
            elif node.op.name == "Concat":
                op = "_contrib_quantized_concat"
                params = {"num_args": len(triples), "dim": node.prop.dim}
            given = [each[0] for each in triples] + [end for each in triples for end in each[1:]]
            made = make(op, f"quantized_{node.name}", given, **params)
            self.triples[id(node), 0] = tuple((made, i) for i in range(3))
            dequantized = [(made, i) for i in range(3)]
            return make("_contrib_dequantize", f"{node.name}_dequantize", dequantized)
        inputs = [self._entry(each) for each in node.inputs]
        return Node(node.op, node.name, dict(node.attrs), dict(node.params), node.prop, inputs)

    def _stays_quantized(self, node):
        """Maxima and other shapes of what an int8 layer gives lose nothing, means of small windows
        half a step. The mean of a whole image, whose range is far less than that of its pixels,
        would lose more, and costs little in float."""
        name, can = node.op.name, node.op.name in ("Flatten", "Concat")
        if name == "Pooling":
            kind = node.prop.pool_type
            can = kind == "max" or (kind == "avg" and not node.prop.global_pool)
        if not can or self.excluded(node):
            return False
        return all(
            id(source[0]) in self.found or (id(source[0]), source[1]) in self.triples
            for source in node.inputs
        )


def calibrated(heads, limits, dtype="auto"):
    """The heads of a graph of a Quantizer with the limits of a calibration.

    Parameters
    ----------
    heads : list of entries
    limits : dict
        Output of the float graph to the least and largest value that it is to have.
    dtype : str
        ``'int8'``, ``'uint8'`` or ``'auto'``.
    """
    nodes = topological_order(heads)
    wanted = {}  # id of an int8 layer -> its limits, where its output is read in 8 bits
    for node in nodes:
        if node.op is not None and node.op.name == QUANTIZE and node.attrs.get(KEY) in limits:
            source, index = node.inputs[0]
            if source.op is not None and source.op.name in INT8.values() and index == 0:
                wanted[id(source)] = _ordered(limits[node.attrs[KEY]])
    new, triples, floats = {}, {}, {}

    def entry(old):
        node, index = old
        if id(node) in triples:  # a float reader of a layer that gives integers, or 8 bits
            if node.op.name == QUANTIZE:
                return triples[id(node)][index]
            if id(node) not in floats:
                triple = list(triples[id(node)])
                floats[id(node)] = make("_contrib_dequantize", f"{node.name}_dequantize", triple)
            return floats[id(node)], 0
        return new[id(node)], index

    for node in nodes:
        if node.op is None:
            new[id(node)] = node
            continue
        if node.op.name == QUANTIZE and id(node.inputs[0][0]) in wanted:
            triples[id(node)] = triples[id(node.inputs[0][0])]
            continue
        params = dict(node.params)
        if id(node) in wanted:
            low, high = wanted[id(node)]
            more = {"out_type": dtype, "min_calib_range": low, "max_calib_range": high}
            made = _again(node, params | {k: str(v) for k, v in more.items()}, entry)
            triples[id(node)] = tuple((made, i) for i in range(3))
            continue
        if node.op.name == QUANTIZE and node.attrs.get(KEY) in limits:
            low, high = _ordered(limits[node.attrs[KEY]])
            params |= {"min_calib_range": str(low), "max_calib_range": str(high)}
        new[id(node)] = _again(node, params, entry)
    return [entry(each) for each in heads]


def _again(node, params, entry):
    inputs = [entry(each) for each in node.inputs]
    prop = node.prop if params == node.params else node.op.prop(**params)
    return Node(node.op, node.name, dict(node.attrs), params, prop, inputs)


def _ordered(limits):
    low, high = (float(value) for value in limits)
    return min(low, high), max(low, high)
