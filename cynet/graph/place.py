"""The placement pass: which device every node runs on, and copies where an edge crosses between
devices."""

from ..context import Context
from ..errors import ArgumentError
from ..operator import get_operator
from ..symbol.node import Node


def place(heads, order, ctx, group2ctx=None):
    """Assign a context to every node.

    Parameters
    ----------
    heads : list of (Node, int)
    order : list of Node
        All nodes, inputs first.
    ctx : Context
        For nodes without a ``ctx_group`` attribute.
    group2ctx : dict of str to Context, optional
        Contexts of the groups.

    Returns
    -------
    (heads, order, contexts)
        The graph, with ``_copy`` nodes inserted where the device type changes (memory of ``cpu(0)``
        and ``cpu(1)`` is the same, so no copy is needed there), and a dict of Node to Context.
    """
    group2ctx = group2ctx or {}
    contexts = {node: _context_of(node, ctx, group2ctx) for node in order}
    if len({c.device_type for c in contexts.values()}) < 2:
        return heads, order, contexts
    placed, replaced, copies = [], {}, {}
    for node in order:
        inputs = [
            _on_device(entry, contexts[node], contexts, replaced, copies, placed)
            for entry in node.inputs
        ]
        fresh = node
        if inputs != node.inputs:
            fresh = Node(node.op, node.name, node.attrs, node.params, node.prop, inputs)
            contexts[fresh] = contexts[node]
        replaced[node] = fresh
        placed.append(fresh)
    return [(replaced[node], index) for node, index in heads], placed, contexts


def _context_of(node, ctx, group2ctx):
    group = node.attrs.get("__ctx_group__", node.attrs.get("ctx_group"))
    found = group2ctx.get(group, ctx)
    if isinstance(found, (list, tuple)):
        found = found[0]
    if not isinstance(found, Context):
        raise ArgumentError(
            f"group2ctx: group '{group}' of node '{node.name}' is {found!r}, not a Context"
        )
    return found


def _on_device(entry, ctx, contexts, replaced, copies, placed):
    node, index = replaced[entry[0]], entry[1]
    if contexts[node].device_type == ctx.device_type:
        return node, index
    key = node, index, ctx
    if key not in copies:
        op = get_operator("_copy")
        copies[key] = Node(
            op, f"{node.name}_to_{ctx.device_type}", prop=op.prop(), inputs=[(node, index)]
        )
        contexts[copies[key]] = ctx
        placed.append(copies[key])
    return copies[key], 0
