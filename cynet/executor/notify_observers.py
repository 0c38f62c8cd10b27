"""Notifies an observer of every value that an executor has computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.observers import executor_steps

if TYPE_CHECKING:
    from ..graph.ir import Value


def notify_forward(executor: Any) -> None:
    """Notify of the values of the last forward."""
    graph = executor._graph
    for step in graph.steps[: graph.n_forward]:
        names = [*step.prop.list_arguments(), *step.prop.list_auxiliary_states()]
        inputs = _named_arrays(executor, names, [*step.in_data, *step.aux])
        values = step.out_data[: step.prop.num_visible_outputs()]
        executor_steps[0](step, inputs, [executor._array_of(value) for value in values], False)


def notify_backward(executor: Any) -> None:
    """Notify of the gradients that the last backward has computed."""
    graph = executor._graph
    for step in graph.steps[graph.n_forward :]:
        if step.in_grad:
            inputs = _named_arrays(executor, step.prop.list_outputs(), step.out_grad)
            grads = [None if v is None else executor._array_of(v) for v in step.in_grad]
            executor_steps[0](step, inputs, grads, True)


def _named_arrays(executor: Any, names: list[str], values: list[Value]) -> list[tuple[str, Any]]:
    return [(n, executor._array_of(v)) for n, v in zip(names, values) if v is not None]
