"""The values of all operators for monitors, and the times of steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._executor import arena_view
from ..base.errors import ArgumentTypeError, shown
from ..base.guard import guarded
from ..base.observers import executor_observers
from ..graph.ir import BACKWARD, TEMP
from ..graph.profile import step_times

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..graph.ir import Graph, Value
    from ..ndarray import NDArray


@guarded
class Monitoring:  # base of Executor: monitors, times of steps
    """Base class of Executor: monitors and observers of its values, and times of its steps."""

    _monitor: Callable[[str, NDArray], Any] | None
    _monitor_all: bool
    _watched: bool
    _graph: Graph
    _plan: Any
    _arena: Any
    _arrays: dict[Value, NDArray]
    _build_plan: Callable[[], None]

    def set_monitor_callback(
        self, callback: Callable[[str, NDArray], Any] | None, monitor_all: bool = False
    ) -> None:
        """Call ``callback(name, array)`` for the output of every operator.

        That is after each `forward` and `backward`. The plan is built anew without shared memory,
        so that every intermediate value can be read.

        Parameters
        ----------
        callback : callable or None
            Takes the name and an NDArray that is valid until the next `forward`. Names are
            ``'fc1_output'`` and, of the gradients that an operator gives to its inputs, those of
            MXNet: ``'fc1_backward_output0'`` to ``'fc1_backward_output2'`` where there are several
            inputs, ``'relu1_backward_output'`` where there is one. None stops watching.
        monitor_all : bool
            Whether to pass the operators' inputs, too (``'fc1_data'``, ``'fc1_weight'``).

        Raises
        ------
        ArgumentTypeError
            If `callback` is neither None nor callable.

        Examples
        --------
        >>> x = mx.sym.var("x")
        >>> exe = mx.sym.exp(x, name="exp").bind(mx.cpu(), {"x": mx.nd.zeros(2)})
        >>> exe.set_monitor_callback(lambda name, array: print(name, array.shape))
        >>> _ = exe.forward()
        exp_output (2,)
        """
        if callback is not None and not callable(callback):
            raise ArgumentTypeError(f"set_monitor_callback: {shown(callback)} is not callable")
        self._monitor, self._monitor_all = callback, monitor_all
        self._rebuild_for_monitor()

    def _rebuild_for_monitor(self) -> None:
        """Rebuild the plan if values of all nodes are needed now, or are no longer needed."""
        if self._watched != (self._monitor is not None or bool(executor_observers)):
            self._build_plan()

    def _install_callbacks(self, monitor: Callable[[str, NDArray], Any]) -> None:
        for step in self._graph.steps[: self._graph.n_forward]:
            if self._monitor_all:
                names = [*step.prop.list_arguments(), *step.prop.list_auxiliary_states()]
                for name, value in zip(names, [*step.in_data, *step.aux]):
                    monitor(f"{step.name}_{name}", self._array_of(value))
            for value in step.out_data[: step.prop.num_visible_outputs()]:
                monitor(value.name, self._array_of(value))

    def _watch_backward(self, monitor: Callable[[str, NDArray], Any]) -> None:
        for step in self._graph.steps[self._graph.n_forward :]:
            if step.direction != BACKWARD:
                continue
            several = len(step.in_grad) > 1
            for i, value in enumerate(step.in_grad):
                if value is not None:
                    name = f"{step.name}_backward_output{i if several else ''}"
                    monitor(name, self._array_of(value))

    def _array_of(self, value: Value) -> NDArray:
        if value.root.kind != TEMP:
            return self._arrays[value.root]
        view: NDArray = arena_view(self._arena, value.root.offset, value.shape, value.dtype)
        return view

    def profile(self, run: Callable[[], Any], n: int = 10) -> list[tuple[str, str, float]]:
        """Measure the time of each step of the plan, inside of the loop that runs it.

        Parameters
        ----------
        run : callable
            Runs this executor once, e.g. ``lambda: (exe.forward(True), exe.backward())``; it is
            called once more before, to warm up.
        n : int
            Number of calls, at least 1.

        Returns
        -------
        list of (str, str, float)
            Direction, ``"operator node"`` and mean microseconds a call, in the order of the plan.
            After the node stands which algorithm was chosen where there are several.
        """
        return step_times(self._plan, self._graph.steps, run, n)
