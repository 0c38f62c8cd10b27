"""Classification of a network's nodes: layers, and inputs that belong to a layer."""

from ..base.errors import ArgumentError, ArgumentTypeError
from ..graph.infer import infer_shapes
from ..symbol import Symbol

WEIGHTS = {"weight", "bias", "gamma", "beta", "parameters"}  # names of inputs
SIDE_INPUTS = WEIGHTS | {"label"}  # no previous layers


def infer_checked_shapes(symbol, shape):
    """Infer the shapes of all entries; return an empty dict if `shape` is None."""
    if not isinstance(symbol, Symbol):
        raise ArgumentTypeError(f"symbol must be a Symbol, got {type(symbol).__name__}")
    if shape is None:
        return {}
    names = dict.fromkeys(symbol.list_inputs())
    for name in shape:
        if name not in names:
            raise ArgumentError(f"shape: no argument '{name}'; arguments: {', '.join(names)}")
    found = infer_shapes(symbol.entries, shape)
    unknown = [node.name for (node, _), value in found.items() if value is None or not all(value)]
    if unknown:
        raise ArgumentError(f"shape: input shapes are incomplete, '{unknown[0]}' stays unknown")
    return found


def input_layers(node):
    """Return the inputs of an operator that are layers: (node, output index)."""
    return [
        (source, i)
        for key, (source, i) in list(zip(node.input_names(), node.inputs))[: node.num_args]
        if source.op is not None or key not in SIDE_INPUTS
    ]


def weight_and_label_ids(order):
    """Return the ids of variables that are only weights, labels or states."""
    shown = {id(source) for node in order if node.op for source, _ in input_layers(node)}
    return {id(node) for node in order if node.op is None and id(node) not in shown}
