"""The commute pass: moves max pooling before a rising activation.

The maximum and a function that never falls commute: ``max(f(x)) = f(max(x))``. The activation and
its gradient then work on the result of the pooling, a quarter of the elements for a window of 2 x
2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir import FORWARD, OUTPUT, TEMP, WRITE, Step, Value

if TYPE_CHECKING:
    from ..ir import Graph


_MONOTONIC_ACTIVATIONS = frozenset(("relu", "sigmoid", "softrelu", "softsign", "tanh"))


def move_pooling_first(graph: Graph) -> Graph:
    """Exchange each rising activation and the max pooling after it.

    graph: Forward steps only.

    Returns Graph: the same graph.
    """
    readers, writer = graph.readers_and_writers()
    gone: set[Step] = set()
    steps: list[Step] = []
    for step in graph.steps:
        before = writer.get(step.in_data[0]) if step.in_data else None
        if before is None or not _can_pool_before(before, step, readers):
            steps.append(step)
            continue
        gone.add(before)
        out = step.out_data[0]
        pooled = Value(f"{step.name}_pooled", out.shape, out.dtype, out.ctx, TEMP)
        pool = Step(step.name, step.prop, step.ctx, FORWARD, before.in_data, [pooled], [], [WRITE])
        after = Step(before.name, before.prop, before.ctx, FORWARD, [pooled], [out], [], [WRITE])
        writer[out] = after
        steps += [pool, after]
    graph.set_forward_steps(step for step in steps if step not in gone)
    return graph


def _can_pool_before(activation: Step, pool: Step, readers: dict[Value, list[Step]]) -> bool:
    between = pool.in_data[0]
    return (
        activation.prop.graph.activation(activation.prop) in _MONOTONIC_ACTIVATIONS
        and pool.prop.graph.computes_maxima(pool.prop)
        and activation.ctx == pool.ctx
        and between.kind != OUTPUT
        and len(readers[between]) == 1
    )
