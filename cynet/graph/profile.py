"""Times of the steps of a plan, measured inside the loop that runs them."""

from ..base.errors import ArgumentError
from ..base.kinds import to_index
from ..ndarray import waitall
from .describe import chosen


def step_times(plan, steps, run, n):
    """What :meth:`cynet.executor.Executor.profile` returns.

    Parameters
    ----------
    plan : Plan
    steps : list
        Of the plan's graph.
    run : callable
        Runs the plan once.
    n : int
        How often it is called, at least 1; once more before, to warm up.
    """
    n = to_index("profile: n", n)
    if n < 1:
        raise ArgumentError(f"profile: n is {n}, expected at least 1")
    run()
    waitall()
    plan.set_profiled(True)
    try:
        for _ in range(n):
            run()
        waitall()
        measured = plan.profile()
    finally:
        try:
            waitall()  # for what a run that failed has pushed
        finally:
            plan.set_profiled(False)
    return [
        (
            step.direction,
            f"{step.prop.op_name} {step.name}{chosen(step)}",
            spent / 1e3 / max(calls, 1),
        )
        for step, (spent, calls) in zip(steps, measured)
    ]
