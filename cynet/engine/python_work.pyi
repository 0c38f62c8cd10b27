"""The engine's interface for Python functions."""

from collections.abc import Callable, Sequence

from ..context import Context
from .python_tasks import OnComplete, PyRunContext

class Variable:
    """A tag for something that functions read and write; made by `Engine.new_variable`."""

class OperatorHandle:
    """A function with its variables, pushed many times; made by `Engine.new_operator`."""

    engine: Engine

class Engine:
    """Runs functions when the variables they read and write are free."""

    def new_variable(self) -> Variable:
        """A variable of this engine."""
    def push_sync(
        self,
        fn: Callable[[PyRunContext], object],
        ctx: Context | None = None,
        const_vars: Sequence[Variable] = (),
        mutable_vars: Sequence[Variable] = (),
        priority: int = 0,
        name: str | None = None,
    ) -> None:
        """Run ``fn(run_ctx)`` when its variables are free; it is done when it returns."""
    def push_async(
        self,
        fn: Callable[[PyRunContext, OnComplete], object],
        ctx: Context | None = None,
        const_vars: Sequence[Variable] = (),
        mutable_vars: Sequence[Variable] = (),
        priority: int = 0,
        name: str | None = None,
    ) -> None:
        """As `push_sync`, for ``fn(run_ctx, on_complete)``: done when that is called."""
    def new_operator(
        self,
        fn: Callable[..., object],
        const_vars: Sequence[Variable] = (),
        mutable_vars: Sequence[Variable] = (),
        name: str | None = None,
        *,
        sync: bool = False,
    ) -> OperatorHandle:
        """A function with its variables, checked once, to `push` many times."""
    def push(self, op: OperatorHandle, ctx: Context | None = None, priority: int = 0) -> None:
        """Run the operator's function once more, when its variables are free."""
    def delete_operator(self, op: OperatorHandle) -> None:
        """Let the operator go once the runs pushed so far are done."""
    def delete_variable(self, var: Variable, on_delete: Callable[[], object] | None = None) -> None:
        """Let the variable go once everything pushed on it is done."""
    def wait_for_var(self, var: Variable) -> None:
        """Wait until everything pushed so far that writes `var` is done."""
    def wait_for_all(self) -> None:
        """Wait until everything pushed so far is done."""
    def census(self) -> dict[str, int]:
        """What is alive, for tests."""

class ThreadedEngine(Engine):
    """An engine of its own with `workers` threads for native functions (0: one a core)."""

    def __init__(self, workers: int = 0) -> None: ...

class NaiveEngine(Engine):
    """An engine that runs each function at once, on the thread that pushes it."""

    def __init__(self) -> None: ...

def get() -> Engine:
    """The engine that arrays and operators use."""
