"""Common subexpressions: nodes that compute the same are computed once.

Two forward steps are equal if they have the same operator, parameters, device and inputs. Operators
that draw random numbers, keep states or run Python are never merged; nor are losses, because each
node's gradient counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ir import OUTPUT, depends_on_inputs_only

if TYPE_CHECKING:
    from ..ir import Graph, Step, Value


def share_subexpressions(graph: Graph) -> Graph:
    """Remove steps that compute the same as an earlier step; their readers read its outputs.

    graph: Forward steps only.

    Returns Graph: the same graph, without the repeated steps. An output of the graph keeps its
    step: it has memory of its own to fill.
    """
    first: dict[Any, Step] = {}
    same: dict[Value, Value] = {}
    steps: list[Step] = []
    for step in graph.steps:
        step.in_data = [same.get(value, value) for value in step.in_data]
        if not _is_mergeable(step):
            steps.append(step)
            continue
        key = _equivalence_key(step)
        earlier = first.setdefault(key, step)
        if earlier is step:
            steps.append(step)
        else:
            same.update(zip(step.out_data, earlier.out_data))
    graph.set_forward_steps(steps)
    return graph


def _is_mergeable(step: Step) -> bool:
    if not depends_on_inputs_only(step) or any(v.kind == OUTPUT for v in step.out_data):
        return False
    return not step.prop.differentiable or _reads_output_gradient(step)


def _reads_output_gradient(step: Step) -> bool:
    """Return False for a loss, whose backward ignores the gradient of its output."""
    n_out, n_in = len(step.out_data), len(step.in_data)
    ids = list(range(2 * n_out + n_in))
    out_grad = ids[:n_out]
    used = step.prop.declare_backward_dependency(
        out_grad, ids[n_out : n_out + n_in], ids[n_out + n_in :]
    )
    return any(i in out_grad for i in used)


def _equivalence_key(step: Step) -> tuple[Any, ...]:
    params = tuple((name, repr(value)) for name, value in sorted(step.prop.params().items()))
    outs = tuple((v.shape, v.dtype) for v in step.out_data)
    return type(step.prop), params, step.ctx, tuple(map(id, step.in_data)), outs
