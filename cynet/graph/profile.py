"""Times of a plan's steps, measured inside of the loop that runs them."""

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

    TimeRow = tuple[str, str, float]  # direction, name, microseconds


def step_times(plan: Any, steps: list[Step], run: Callable[[], object], n: int) -> list[TimeRow]:
    """Measure the steps of a plan, for :meth:`cynet.executor.Executor.profile`.

    steps: The steps of the plan's graph.
    run: A function that runs the plan once.
    n: The number of measured calls of it, at least 1, after one to warm up.
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
            waitall()  # wait for the functions of a failed run
        finally:
            for each in plans:
                each.set_profiled(False)


def _inner_plans(plan: Any, steps: list[Step]) -> Iterator[tuple[Any, str]]:
    """Yield pairs (BodyPlan, name) of all inner graphs of the steps, recursively."""
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
) -> list[TimeRow]:
    """Return the rows of the steps; a control flow step is followed by its steps, per run."""
    rows: list[TimeRow] = []
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
