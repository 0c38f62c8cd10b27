"""Operator hooks: a function is called with the output of every operator of a graph."""

from ...symbol import Symbol
from ...symbol.node import topological_order


class HookedGraph:
    """A graph with the outputs of all its operators, and the hook to call with them.

    Parameters
    ----------
    symbol : Symbol
    callback : callable
        ``callback(name, operator, array)``.
    monitor_all : bool
        Tell of the inputs, too.

    Attributes
    ----------
    symbol : Symbol
        All outputs of all operators, then those of the graph.
    """

    def __init__(self, symbol, callback, monitor_all):
        self._callback, self._monitor_all = callback, monitor_all
        self._nodes = [n for n in topological_order(symbol.entries) if n.op is not None]
        self._entries = [(n, i) for n in self._nodes for i in range(n.num_visible_outputs)]
        self.symbol = Symbol(self._entries + symbol.entries)

    def __call__(self, outputs, variables):
        """Call the hook with all outputs; return those of the graph."""
        count = len(self._entries)
        values = dict(zip(self._entries, outputs))
        for node in self._nodes:
            if self._monitor_all:
                for name, (source, i) in zip(node.input_names(), node.inputs):
                    array = values.get((source, i)) if source.op else variables[source.name]
                    if array is not None:  # else it is an unused output
                        self._callback(f"{node.name}_{name}", node.op.name, array)
            for i in range(node.num_visible_outputs):
                self._callback(node.output_name(i), node.op.name, values[node, i])
        return outputs[count:]
