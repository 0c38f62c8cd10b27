"""The pack pass: prepacks weights into the layout that the kernels read.

A convolution's kernels read weights in an order of their own, or transformed (Winograd). Where a
property supports it (GraphHooks.prepack), a step before it makes that layout and runs again only
after the weight was written. The same is done for weights that the network computes from arrays
alone, as weight normalization does. Only at prediction: training writes its weights in every step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir import (
    ARG,
    AUX,
    CACHED,
    CONST,
    FORWARD,
    TEMP,
    WRITE,
    CachedStepGroup,
    Step,
    Value,
    depends_on_inputs_only,
)

if TYPE_CHECKING:
    from ..ir import Graph


ARRAY_KINDS = (ARG, AUX, CONST)  # values that exist before a run


def pack_weights(graph: Graph) -> Graph:
    """Add steps that pack the weights of `graph`, and let its steps read the packed weights.

    graph: Forward steps only, after the layout and fuse passes.

    Returns Graph: the same graph. A weight that a cached step makes, for this reader alone, is no
    longer stored.
    """
    readers, writer = graph.readers_and_writers()
    moved = graph.updated_states()
    for step in graph.steps:
        if step.prop.graph.traits.linear_in_weight and len(step.in_data) > 1:
            _cache_weight_steps(step.in_data[1], readers, writer, moved)
    packed: dict[Step, Step] = {}  # the step that computes a weight -> the step that packs it
    # cached steps first, so that other runs wait for these steps only
    first: list[Step] = []
    for step in graph.steps:
        packing = _make_packing_step(graph, step, readers, writer, moved)
        if packing is None:
            continue
        (weight,) = packing.in_data
        if weight.kind == TEMP:
            packed[writer[weight]] = packing  # the unpacked weight lives only until it is packed
        else:
            first.append(packing)
    for step in graph.steps:
        if step.cached is not None:
            first += [step, packed[step]] if step in packed else [step]
    graph.set_forward_steps([*first, *(step for step in graph.steps if step.cached is None)])
    return graph


def _cache_weight_steps(
    weight: Value, readers: dict[Value, list[Step]], writer: dict[Value, Step], moved: set[Value]
) -> None:
    """Cache the steps that compute `weight` from arrays, if nothing else reads the values in
    between: they run again only after their sources were written."""
    steps: dict[Step, None] = {}
    sources: list[Value] = []
    values = [weight]
    while values:
        value = values.pop()
        if value.kind in ARRAY_KINDS and value not in moved:
            sources.append(value)
            continue
        made = writer.get(value)
        if value.kind != TEMP or made is None:
            return
        if made.cached or len(made.out_data) > 1 or not depends_on_inputs_only(made):
            return
        if made not in steps:
            steps[made] = None
            values += made.in_data
    between = [v for made in steps for v in made.out_data if v is not weight]
    if any(reader not in steps for value in between for reader in readers[value]):
        return
    if any(not made.prop.graph.traits.view for made in steps):  # views need no caching
        cached, weight.kind = CachedStepGroup(sources), CACHED
        for made in steps:
            made.cached = cached


def _make_packing_step(
    graph: Graph,
    step: Step,
    readers: dict[Value, list[Step]],
    writer: dict[Value, Step],
    moved: set[Value],
) -> Step | None:
    """Return a step that packs the weight of `step`, which then reads it; None if not possible."""
    if len(step.in_data) < 2:
        return None
    weight = step.in_data[1]
    replaces = weight.kind == CACHED and len(readers[weight]) == 1
    if not replaces and (weight.kind not in ARRAY_KINDS or weight in moved):
        return None
    form = graph.call_hook("prepack", step, replaces)
    if form is None:
        return None
    packer, step.prop, size = form
    packed = Value(f"{weight.name}_packed", (size,), weight.dtype, weight.ctx, CACHED)
    made = Step(f"{step.name}_pack", packer, step.ctx, FORWARD, [weight], [packed], [], [WRITE])
    step.in_data[1] = packed
    if replaces:
        made.cached, weight.kind = writer[weight].cached, TEMP
    else:
        made.cached = CachedStepGroup([weight])
    return made
