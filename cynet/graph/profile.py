"""Times of the steps of a plan, measured inside the loop that runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError
from ..base.kinds import to_index
from ..ndarray import waitall
from .describe import algorithm_text
from .ir import FORWARD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .ir import Step

    Row = tuple[str, str, float]  # direction, name, microseconds


def step_times(plan: Any, steps: list[Step], run: Callable[[], object], n: int) -> list[Row]:
    """The result of :meth:`cynet.executor.Executor.profile`.

    steps: Of the plan's graph.
    run: Runs the plan once.
    n: How often it is called, at least 1; once more before, to warm up.
    """
    n = to_index("profile: n", n)
    if n < 1:
        raise ArgumentError(f"profile: n is {n}, expected at least 1")
    run()
    waitall()
    plans = [plan, *(inner.plan for inner, _ in _inner_plans(plan, steps))]
    for each in plans:
        each.set_profiled(True)
    try:
        for _ in range(n):
            run()
        waitall()
        return _step_times(plan, steps, "", None)
    finally:
        try:
            waitall()  # waits for functions that a failed run pushed
        finally:
            for each in plans:
                each.set_profiled(False)


def _inner_plans(plan: Any, steps: list[Step]) -> Iterator[tuple[Any, str]]:
    """Pairs (BodyPlan, word) of all inner graphs of the steps, recursively."""
    for step in steps:
        for word, inner in getattr(plan.operator_of(step), "plans", ()):
            if step.direction == FORWARD:
                yield inner, word
                yield from _inner_plans(inner.plan, inner.body.graph.steps)


def _step_times(
    plan: Any,
    steps: list[Step],
    margin: str,
    runs: int | None,
    measured: list[tuple[int, int]] | None = None,
) -> list[Row]:
    """Rows of the steps; a step that runs graphs is followed by their steps, timed for one run."""
    rows: list[Row] = []
    for step, (spent, calls) in zip(steps, measured or plan.profile()):
        name = f"{margin}{step.prop.op_name} {step.name}{algorithm_text(step)}"
        rows.append((step.direction, name, spent / 1e3 / max(runs or calls, 1)))
        for word, inner in getattr(plan.operator_of(step), "plans", ()):
            graph, found = inner.body.graph, inner.plan.profile()
            part = (
                slice(graph.n_forward)
                if step.direction == FORWARD
                else slice(graph.n_forward, None)
            )
            if found[part]:
                margin_inside = f"{margin}{step.name} / {word} / "
                rows += _step_times(
                    inner.plan, graph.steps[part], margin_inside, runs or calls, found[part]
                )
    return rows
