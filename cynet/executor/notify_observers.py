"""Calls an observer with all values that an executor has computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.observers import executor_observers

if TYPE_CHECKING:
    from ..graph.ir import Value


def notify_forward(executor: Any) -> None:
    """Call the observer with the values of the last forward."""
    graph = executor._graph
    for step in graph.steps[: graph.n_forward]:
        names = [*step.prop.list_arguments(), *step.prop.list_auxiliary_states()]
        inputs = _named_arrays(executor, names, [*step.in_data, *step.aux])
        values = step.out_data[: step.prop.num_visible_outputs()]
        executor_observers[0](step, inputs, [executor._array_of(value) for value in values], False)


def notify_backward(executor: Any) -> None:
    """Call the observer with the gradients of the last backward."""
    graph = executor._graph
    for step in graph.steps[graph.n_forward :]:
        if step.in_grad:
            inputs = _named_arrays(executor, step.prop.list_outputs(), step.out_grad)
            grads = [None if v is None else executor._array_of(v) for v in step.in_grad]
            executor_observers[0](step, inputs, grads, True)


def _named_arrays(executor: Any, names: list[str], values: list[Value]) -> list[tuple[str, Any]]:
    return [(n, executor._array_of(v)) for n, v in zip(names, values) if v is not None]
