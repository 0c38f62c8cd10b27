"""Replaces loss operators without labels by their predictions, for inference."""

from ... import symbol as sym
from ...symbol import Symbol
from ...symbol.compose import copy_graph
from ...symbol.node import topological_order, variable_nodes


def _variables_of_outputs(heads):
    """Return the names of the variables that outputs depend on, apart from labels of losses."""
    seen, names, stack = set(), set(), [head for head, _ in heads]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.op is None:
            names.add(node.name)
            continue
        labels = node.prop.graph.traits.loss_labels
        stack += [source for i, (source, _) in enumerate(node.inputs) if i not in labels]
    return names


def remove_unlabeled_losses(symbol, given):
    """Replace each loss operator whose label is not `given` by the loss's prediction.

    symbol: Symbol
    given (iterable of str): Names of variables that have values, whatever reads them.

    Returns Symbol: `symbol` itself where every label is given.
    """
    heads, _ = copy_graph(symbol.entries)
    read = _variables_of_outputs(heads) | set(given)
    outputs = {}  # id of a loss's node -> the output that replaces it

    def replace_entry(entry):
        return outputs.get(id(entry[0]), entry)

    for node in topological_order(heads):
        node.inputs = [replace_entry(entry) for entry in node.inputs]
        make = None if node.op is None else node.prop.without_label
        if make is not None and any(
            each.name not in read for each in variable_nodes([node.inputs[1]])[2]
        ):
            (outputs[id(node)],) = make(sym, Symbol([node.inputs[0]]), node.name).entries
    return Symbol([replace_entry(entry) for entry in heads]) if outputs else symbol
