"""foreach, while_loop and cond of mx.nd.contrib: Python's loops over arrays, in MXNet's form.

Where a thread traces a Block and is given symbols, they are those of mx.sym.contrib.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, shown
from ..base.guard import guarded
from ..base.nested import flatten, regroup
from .functions import call_while_tracing
from .ndarray import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable


@guarded
def foreach(body: Callable[..., Any], data: Any, init_states: Any) -> tuple[Any, Any]:
    """Run `body` on each row of the data; states pass from one run to the next.

    Parameters
    ----------
    body : callable
        ``body(row, states)`` returns ``(outputs, new_states)``, NDArrays or nested lists of them.
    data : NDArray or nested list of NDArray
        Arrays of one length T; the body gets ``array[t]``.
    init_states : NDArray or nested list of NDArray
        States of the first call.

    Returns
    -------
    (outputs, states)
        Outputs of all runs, stacked along a new first axis of length T, and the last states.

    Raises
    ------
    AssertionError
        Data or states that are not NDArrays.
    ArgumentError
        Arrays of different lengths; outputs or states whose structure changes.

    Examples
    --------
    >>> outs, last = foreach(lambda row, total: (row * 2, total + row),
    ...                      mx.nd.array([[1, 2], [3, 4]]), mx.nd.zeros(2))
    >>> outs.asnumpy().tolist(), last.asnumpy().tolist()
    ([[2.0, 4.0], [6.0, 8.0]], [4.0, 6.0])
    """
    made = call_while_tracing("foreach", body, data, init_states)
    if made is not None:
        return made
    rows, row_form = flatten(data, NDArray, "foreach: data")
    state_form = flatten(init_states, NDArray, "foreach: init_states")[1]
    if not rows:
        raise ArgumentError("foreach: data has no array, so nothing says how often the body runs")
    length = rows[0].shape[0]
    for i, each in enumerate(rows):
        if each.shape[0] != length:
            raise ArgumentError(
                f"foreach: array {i} of data has {each.shape[0]} rows, array 0 has {length}"
            )
    states, stack = init_states, _OutputStack("foreach")
    for t in range(length):
        row = regroup([each[t] for each in rows], row_form)
        outs, states = _check_outs_states(body(row, states), "foreach: body")
        form = flatten(states, NDArray, "foreach: the states that body gives")[1]
        if form != state_form:
            raise ArgumentError(
                f"foreach: body gives states of the structure {form}, it was given {state_form}"
            )
        stack.add(outs)
    return stack.stack_outputs(length), states


@guarded
def while_loop(
    cond: Callable[..., Any],
    func: Callable[..., Any],
    loop_vars: Any,
    max_iterations: int | None = None,
) -> tuple[Any, Any]:
    """Run a body as long as a condition holds, `max_iterations` times at most.

    Parameters
    ----------
    cond : callable
        ``cond(*loop_vars)`` returns an array of one element, or a number.
    func : callable
        ``func(*loop_vars)`` returns ``(step_output, new_loop_vars)``; outputs may be None or an
        empty list.
    loop_vars : NDArray or list of NDArray
        Initial values of the loop variables, at least one.
    max_iterations : int
        Largest number of runs, at least 1; required.

    Returns
    -------
    (outputs, states)
        Outputs of all runs, stacked: `max_iterations` rows, of which those that were not computed
        are zeros (an empty list if nothing ran); and the last loop variables.

    Raises
    ------
    ArgumentError
        If `max_iterations` is missing or no int, there is no loop variable, or `func` gives another
        number of them.

    Examples
    --------
    >>> outs, (i, total) = while_loop(
    ...     lambda i, total: i < 3, lambda i, total: (i * i, [i + 1, total + i]),
    ...     [mx.nd.zeros(1), mx.nd.zeros(1)], max_iterations=5)
    >>> outs.asnumpy().ravel().tolist(), total.asnumpy().tolist()
    ([0.0, 1.0, 4.0, 0.0, 0.0], [3.0])
    """
    if max_iterations is None:
        raise ArgumentError("while_loop: max_iterations is not given; outputs have that many rows")
    made = call_while_tracing("while_loop", cond, func, loop_vars, max_iterations)
    if made is not None:
        return made
    try:
        maximum = int(max_iterations)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(
            f"while_loop: max_iterations must be an int, got {shown(max_iterations)}"
        ) from None
    flat, form = flatten(loop_vars, NDArray, "while_loop: loop_vars")
    if not flat:
        raise ArgumentError("while_loop: loop_vars has no element; it needs at least one")
    states, stack, runs = loop_vars, _OutputStack("while_loop"), 0
    while runs < maximum and _is_true(_call_with_unpacked(cond, states), "while_loop: cond"):
        outs, new = _check_outs_states(_call_with_unpacked(func, states), "while_loop: func")
        found = flatten([] if new is None else new, NDArray, "while_loop: new_loop_vars")[0]
        if len(found) != len(flat):
            raise ArgumentError(
                f"while_loop: func gives {len(found)} loop variables, it was given {len(flat)}"
            )
        states = regroup(found, form)
        stack.add([] if outs is None else outs)
        runs += 1
    return stack.stack_outputs(maximum), states


@guarded
def cond(pred: Any, then_func: Callable[[], Any], else_func: Callable[[], Any]) -> Any:
    """Call one of two functions.

    Parameters
    ----------
    pred : NDArray or number
        One number; 0 stands for False.
    then_func, else_func : callable
        Functions without arguments, of which one is called.

    Returns
    -------
    NDArray or nested list of NDArray
        What the function gives.

    Examples
    --------
    >>> a = mx.nd.array([3])
    >>> cond(a > 2, lambda: a * 2, lambda: a).asnumpy().tolist()
    [6.0]
    """
    made = call_while_tracing("cond", pred, then_func, else_func)
    if made is not None:
        return made
    return then_func() if _is_true(pred, "cond: pred") else else_func()


def _call_with_unpacked(function, given):
    return function(*given) if isinstance(given, (list, tuple)) else function(given)


def _is_true(value, what):
    """Return whether a number is not 0."""
    if isinstance(value, NDArray):
        if value.size != 1:
            raise ArgumentError(f"{what} must be one number, its shape is {value.shape}")
        return bool(value.asscalar())
    return bool(value)


def _check_outs_states(value, what):
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ArgumentError(f"{what} must give two things, outputs and states, got {shown(value)}")
    return value


class _OutputStack:  # outputs of a loop's runs, to be stacked
    """Outputs of a loop's runs, which are stacked when the loop ends."""

    def __init__(self, where):
        self.where, self.form, self.runs = where, None, []

    def add(self, outs):
        """Add the outputs of one run."""
        flat, form = flatten(outs, NDArray, f"{self.where}: outputs")
        if self.runs and form != self.form:
            raise ArgumentError(
                f"{self.where}: outputs change their structure from {self.form} to {form}"
            )
        for i, (new, old) in enumerate(zip(flat, self.runs[0] if self.runs else ())):
            if new.shape != old.shape:
                raise ArgumentError(
                    f"{self.where}: output {i} changes its shape from {old.shape} to {new.shape}"
                )
        self.form = form
        self.runs.append(flat)

    def stack_outputs(self, length):
        """The runs' outputs stacked to `length` rows, the missing rows zeros; [] without a run."""
        from . import concat, stack, zeros

        out = []
        for each in zip(*self.runs):
            whole = stack(*each, axis=0, num_args=len(each))
            if len(each) < length:
                rest = (length - len(each), *each[0].shape)
                filler = zeros(rest, ctx=each[0].context, dtype=each[0].dtype)
                whole = concat(whole, filler, dim=0)
            out.append(whole)
        return regroup(out, self.form) if self.runs else []
