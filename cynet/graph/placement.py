"""The placement pass: assigns a context to each node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, CynetError, shown
from ..context import Context

if TYPE_CHECKING:
    from collections.abc import Mapping


def place_nodes(
    order: list[Any], ctx: Context, group2ctx: Mapping[str, Any] | None = None
) -> dict[Any, Context]:
    """Assign a context to every node.

    ctx: The context of nodes without a ``ctx_group`` attribute. As in MXNet they use the context of
        an input (a variable: of a user) that has one.
    group2ctx: Contexts of the groups. All of them must be on the device of `ctx`: one executor
        plans the memory of one device. (``cpu(0)`` and ``cpu(1)`` are the same memory.)

    Raises ArgumentError when a group's context is none. Raises CynetError when a node would be on
    another device.
    """
    if not group2ctx:
        return dict.fromkeys(order, ctx)
    contexts: dict[Any, Context] = {}
    for node in order:
        group = node.attrs.get("__ctx_group__", node.attrs.get("ctx_group"))
        found = group2ctx.get(group)
        if found is None:  # then the context of the first input that has one
            known = (contexts[source] for source, _ in node.inputs if source in contexts)
            found = next(known, None)
            if found is None:
                continue
        if isinstance(found, (list, tuple)):
            found = found[0]
        if not isinstance(found, Context):
            raise ArgumentError(
                f"group2ctx: group '{group}' of node '{node.name}' is {shown(found)}, not a Context"
            )
        if _memory_of_context(found) != _memory_of_context(ctx):
            raise CynetError(
                f"group2ctx: group '{group}' puts node '{node.name}' on {found}, the executor is "
                f"on {ctx}; a graph over several devices is bound in parts, one executor each "
                "(mx.mod.SequentialModule)"
            )
        contexts[node] = found
    for node in reversed(order):
        for source, _ in node.inputs:
            contexts.setdefault(source, contexts.get(node, ctx))
        contexts.setdefault(node, ctx)
    return contexts


def _memory_of_context(ctx: Context) -> tuple[str, int] | str:
    """Return the memory that a context uses; all CPU contexts share one."""
    return (ctx.device_type, ctx.device_id) if ctx.device_type == "gpu" else "host"
