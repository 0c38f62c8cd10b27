"""Finds the nodes that form one int8 layer: a convolution or FullyConnected, then optionally a
BatchNorm, an addition, and clipping."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import ArgumentError
from ...operator.nn.batch_norm import BatchNormProperty
from ...operator.nn.spatial_window import is_channels_last
from ...operator.quantization.int8_form import int8_class
from ...operator.tensor.broadcast import BroadcastProperty
from ...operator.tensor.unary import UnaryProperty
from ...operator.tensor.where_clip import ClipProperty
from .fake import max_weight_level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...symbol.node import Entry, Node


def is_layer(node: Node) -> bool:
    """Return whether an int8 layer can replace the operator of a node."""
    found = int8_class(node.op.prop)
    return found is not None and found.int8_form.is_layer


class Layer:  # nodes of the float graph that one int8 layer replaces
    """A layer of the float graph: the nodes that one int8 layer replaces.

    node (Node): The convolution or FullyConnected.
    norm (Node or None): The BatchNorm that is folded into it.
    residual (entry or None): What is added after it.
    bounds ((float or None, float or None)): The least and largest value of its output.
    end (Node): The last of its nodes, whose output 0 is the layer's.
    """

    def __init__(self, node: Node) -> None:
        self.node = self.end = node
        self.norm: Node | None = None
        self.residual: Entry | None = None
        self.bounds: tuple[float | None, float | None] = None, None

    def weight_key(self):
        """Return the key of the quantized weight and bias; layers with equal keys share them."""
        layout = is_channels_last(getattr(self.node.prop, "layout", None))
        names = [entry[0].name for entry in self.node.inputs[1:]]
        if self.norm is None:
            return (layout, *names), ()
        folded = [entry[0].name for entry in self.norm.inputs[1:5]]
        return (layout, *names), (self.norm.prop.fix_gamma, self.norm.prop.eps, *folded)

    def quantized_weights(self, params, tensor_wise, bits=8):
        """Return the int8 weight, the step of each filter, and the float bias; with fewer bits the
        weight has fewer steps."""
        names = [entry[0].name for entry in self.node.inputs]
        weight = params[names[1]].asnumpy().astype(np.float64)
        if is_channels_last(getattr(self.node.prop, "layout", None)):  # int8: (F, C, *kernel)
            weight = np.moveaxis(weight, -1, 1)
        bias = params[names[2]].asnumpy() if len(names) > 2 else np.zeros(len(weight))
        bias = bias.astype(np.float64)
        if self.norm is not None:
            found = (params[entry[0].name].asnumpy() for entry in self.norm.inputs[1:5])
            gamma, beta, mean, var = (each.astype(np.float64) for each in found)
            prop = self.norm.prop
            with np.errstate(all="ignore"):  # NaN raises an error below
                gain = (1.0 if prop.fix_gamma else gamma) / np.sqrt(var + prop.eps)
                weight = weight * gain.reshape(-1, *(1,) * (weight.ndim - 1))
                bias = (bias - mean) * gain + beta
        if not np.isfinite(weight).all():
            given = names[1:2] + [entry[0].name for entry in (self.norm or self.node).inputs[1:5]]
            raise ArgumentError(
                f"quantization: the weight of layer '{self.node.name}', of the parameters "
                f"{', '.join(dict.fromkeys(given))}, has values that are NaN or infinite, of which "
                "integers of 8 bits have none"
            )
        maximum = np.abs(weight).reshape(len(weight), -1).max(1)
        if tensor_wise:
            maximum[:] = maximum.max()
        step = np.where(maximum > 0, maximum / max_weight_level(bits), 1.0)
        quantized = np.rint(weight / step.reshape(-1, *(1,) * (weight.ndim - 1)))
        return quantized.astype("int8"), step.astype("float32"), bias.astype("float32")


class EntryReaders:  # the nodes that read each entry of a graph
    """Table of the nodes that read each entry of a graph."""

    def __init__(self, nodes: Iterable[Node], heads: Iterable[Entry]) -> None:
        self.readers: dict[tuple[int, int], list[Node | None]] = {}
        for node in nodes:
            for entry in node.inputs:
                self.readers.setdefault((id(entry[0]), entry[1]), []).append(node)
        for entry in heads:
            self.readers.setdefault((id(entry[0]), entry[1]), []).append(None)

    def single_reader(self, node: Node) -> Node | None:
        """Return the single reader of output 0 of `node` if no other output is read, else None."""
        others = any(self.readers.get((id(node), i)) for i in range(1, node.num_outputs))
        readers = self.readers.get((id(node), 0), [])
        return readers[0] if len(readers) == 1 and not others else None


def find_layers(nodes, heads, params, excluded):
    """Find the layers to quantize: a dict of the last node's id to the Layer.

    nodes (list of Node): In topological order.
    heads: list of entries
    params (dict): Name of a parameter or state to its array.
    excluded (callable): Whether a node is to stay as it is.
    """
    uses, taken, found = EntryReaders(nodes, heads), set(), {}
    place = {id(node): i for i, node in enumerate(nodes)}
    for node in nodes:
        if node.op is None or not is_layer(node) or excluded(node):
            continue
        if not _has_weights(node, params):
            continue
        layer = extend_layer(Layer(node), uses, params, excluded, taken, place)
        found[id(layer.end)] = layer
    return found


def _has_weights(node, params):
    return all(
        entry[0].op is None
        and entry[0].name in params
        and str(np.dtype(params[entry[0].name].dtype)) == "float32"
        for entry in node.inputs[1:]
    )


def extend_layer(
    layer: Layer,
    uses: EntryReaders,
    params: dict[str, Any],
    excluded: Callable[[Node], bool],
    taken_ids: set[int],
    position_by_id: dict[int, int],
) -> Layer:
    """Extend a layer by the following nodes that can be part of it."""

    def next_node():
        node = uses.single_reader(layer.end)
        return node if node is not None and not excluded(node) else None

    node = next_node()
    if (
        node is not None
        and type(node.prop) is BatchNormProperty
        and _can_fold_batch_norm(node, layer, params)
    ):
        layer.norm = layer.end = node
        node = next_node()
    if node is not None and _is_addition(node) and id(node) not in taken_ids:
        one, other = node.inputs
        residual = other if one[0] is layer.end else one
        # of two summed layers the later one adds, since the other result exists then
        later = position_by_id[id(residual[0])] < position_by_id[id(layer.end)]
        broadcasts = isinstance(node.prop, BroadcastProperty)
        if residual[0] is not layer.end and not broadcasts and later:
            taken_ids.add(id(node))
            layer.residual, layer.end = residual, node
            node = next_node()
    bounds = None if node is None else _clip_bounds(node)
    if bounds is not None:
        layer.bounds, layer.end = bounds, node
    return layer


def _is_addition(node):
    row = getattr(node.prop, "function", None)
    return len(node.inputs) == 2 and getattr(row, "function", None) == "add"


def _can_fold_batch_norm(node, layer, params):
    known = all(entry[0].op is None and entry[0].name in params for entry in node.inputs[1:5])
    last = is_channels_last(getattr(layer.node.prop, "layout", None))
    axes = (-1, len(layer.node.prop.kernel) + 1) if last else (1,)
    return known and node.prop.axis in axes and node.inputs[0][0] is layer.end


def _clip_bounds(node):
    """Return the bounds that a node clips its input to, or None if it does more than clip."""
    if isinstance(node.prop, UnaryProperty) and node.prop.functor == "relu":
        return 0.0, None
    if isinstance(node.prop, ClipProperty) and node.prop.a_min <= node.prop.a_max:
        return float(node.prop.a_min), float(node.prop.a_max)
    return None
