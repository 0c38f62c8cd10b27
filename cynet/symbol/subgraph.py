"""Subgraph: a graph that an operator holds, and how one is cut out of a larger graph.

Nodes that a function makes inside `subgraph_scope` carry the scope's name as an attribute.
`cut_subgraph` takes these nodes for the subgraph; a value that they read from outside becomes a
variable of the subgraph.
"""

import threading
from contextlib import contextmanager

from ..attribute import AttrScope
from .node import Node, auxiliary_node_ids, topological_order

SUBGRAPH_ATTR = "__subgraph_name__"  # attribute of nodes inside a subgraph
_lock = threading.Lock()  # guards the counters of names
_inner_results = threading.local()  # results of the running inference for inner graphs


class Subgraph:  # inner graph of a control-flow node
    """Outputs of a subgraph, and the sources of its inputs.

    heads: list of (Node, int)
    variables (list of Node): In topological order: the inputs.
    states (list of int): Which of them are auxiliary states of an operator inside.
    """

    def __init__(self, heads):
        self.heads = list(heads)
        order = topological_order(self.heads)
        self.variables = [node for node in order if node.op is None]
        states = auxiliary_node_ids(order)
        for node in order:
            for i in mutable_inputs(node):
                states.add(id(node.inputs[i][0]))
        self.states = [i for i, node in enumerate(self.variables) if id(node) in states]
        self.moves_in_forward = any(
            node.prop.graph.traits.moves_states
            for node in order
            if node.op is not None and len(node.inputs) > node.num_args
        )

    def _infer_cached(self, infer, ins, outs):
        """Infer the subgraph's shapes. Results are cached: outer graphs infer repeatedly, and
        without a cache the time doubles with each level."""
        noted = getattr(_inner_results, "answers", None)
        if noted is None:
            _inner_results.answers = {}
            try:
                return self._infer_uncached(infer, ins, outs)
            finally:
                del _inner_results.answers
        key = id(self), infer, tuple(ins), tuple(outs)
        if key not in noted:
            noted[key] = self._infer_uncached(infer, ins, outs)
        return tuple(map(list, noted[key]))

    def _infer_uncached(self, infer, ins, outs):
        known = {n.name: value for n, value in zip(self.variables, ins) if value is not None}
        heads = [(e, value) for e, value in zip(self.heads, outs) if value is not None]
        found = infer(self.heads, known, outputs=heads)
        return [found[node, 0] for node in self.variables], [found[entry] for entry in self.heads]

    def infer_shapes(self, ins, outs):
        """Complete the shapes of inputs and outputs."""
        from ..graph.infer import infer_shapes

        return self._infer_cached(infer_shapes, ins, outs)

    def infer_types(self, ins, outs):
        """Complete the dtypes of inputs and outputs."""
        from ..graph.infer import infer_types

        return self._infer_cached(infer_types, ins, outs)


def mutable_inputs(node):
    """The inputs of a node that inner operators use as auxiliary states."""
    held = getattr(node.prop, "subgraphs", ())
    return node.prop.mutable_inputs() if held else ()


@contextmanager
def subgraph_scope(name):
    """Put the nodes that are made inside the block into a subgraph; yields its name."""
    outer = AttrScope.current.get(None).get(SUBGRAPH_ATTR)
    name = f"{outer}${name}" if outer else name
    with _lock:
        number = AttrScope._subgraph_names[name]
        AttrScope._subgraph_names[name] += 1
    with AttrScope(**{SUBGRAPH_ATTR: f"{name}{number}"}):
        yield f"{name}{number}"


def cut_subgraph(heads, name):
    """Move the part of a graph that was made under `name` out of it.

    Returns (list of (Node, int), dict): the heads of that part, and for each variable (Node) that
    stands for something outside the entry that it is.
    """
    new, outside, stands = {}, {}, {}

    def is_inside(node):
        return node.attrs.get(SUBGRAPH_ATTR) == name

    def replace_entry(entry):
        node, index = entry
        if is_inside(node):
            return new[id(node)], index
        if entry not in outside:
            variable = outside[entry] = Node(None, node.output_name(index))
            stands[variable] = entry
        return outside[entry], 0

    for node in _order_inner_nodes(heads, is_inside):
        if node.op is None:
            new[id(node)] = node
        else:
            inputs = [replace_entry(entry) for entry in node.inputs]
            new[id(node)] = Node(node.op, node.name, node.attrs, node.params, node.prop, inputs)
    return [replace_entry(entry) for entry in heads], stands


def _order_inner_nodes(heads, is_inside):
    """The nodes of `heads` that are inside, inputs first; nodes outside are not visited."""
    seen, order = set(), []
    for head, _ in heads:
        stack = [(head, iter(head.inputs))] if is_inside(head) and id(head) not in seen else []
        seen.add(id(head))
        while stack:
            node, rest = stack[-1]
            for source, _ in rest:
                if id(source) not in seen and is_inside(source):
                    seen.add(id(source))
                    stack.append((source, iter(source.inputs)))
                    break
            else:
                order.append(node)
                stack.pop()
    return order
