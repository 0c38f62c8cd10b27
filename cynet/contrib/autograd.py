"""mx.contrib.autograd: autograd under its names before MXNet 1.0; `mx.autograd` is newer."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from .. import autograd
from ..base.errors import ArgumentTypeError
from ..ndarray import NDArray, zeros_like

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "TrainingStateScope",
    "backward",
    "compute_gradient",
    "grad",
    "grad_and_loss",
    "mark_variables",
    "set_is_training",
    "test_section",
    "train_section",
]
mark_variables = autograd.mark_variables


def set_is_training(is_train: bool) -> bool:
    """Set recording and training mode together; returns the old value."""
    before = autograd.set_training(is_train)
    autograd.set_recording(is_train)
    return before


class TrainingStateScope:
    """A scope that turns recording of calls on or off.

    Examples
    --------
    >>> x = mx.nd.array([2.0])
    >>> x.attach_grad()
    >>> with mx.contrib.autograd.train_section():
    ...     y = x * x
    >>> mx.contrib.autograd.backward([y])
    >>> x.grad.asnumpy().tolist()
    [4.0]
    """

    def __init__(self, enter_state: bool) -> None:
        self._state = bool(enter_state)
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(set_is_training(self._state))

    def __exit__(self, *error: object) -> None:
        set_is_training(self._before.pop())


def train_section() -> TrainingStateScope:
    """Return a scope that records calls in training mode."""
    return TrainingStateScope(True)


def test_section() -> TrainingStateScope:
    """Return a scope that does not record, in prediction mode, for use inside `train_section`."""
    return TrainingStateScope(False)


def backward(outputs: Sequence[NDArray], out_grads: Any = None, retain_graph: bool = False) -> None:
    """Compute gradients of `outputs` for the arrays marked by `mark_variables` or `attach_grad`."""
    autograd.backward(outputs, out_grads, retain_graph)


def compute_gradient(outputs: Sequence[NDArray]) -> None:
    """Compute gradients like `backward`, under MXNet's first name for it."""
    backward(outputs)


def grad_and_loss(func: Callable[..., Any], argnum: Any = None) -> Callable[..., Any]:
    """Make a function that returns the gradients of `func` by its arguments, and its outputs.

    Parameters
    ----------
    func : callable
    argnum : int or list of int, optional
        Which arguments; all by default.

    Examples
    --------
    >>> f = mx.contrib.autograd.grad_and_loss(lambda x, y: x * y)
    >>> grads, out = f(mx.nd.array([2.0]), mx.nd.array([3.0]))
    >>> [float(g.asscalar()) for g in grads], float(out.asscalar())
    ([3.0, 2.0], 6.0)
    """

    @functools.wraps(func)
    def wrapped(*args: Any) -> Any:
        chosen = args
        if argnum is not None:
            numbers = argnum if isinstance(argnum, (list, tuple)) else [argnum]
            chosen = [args[i] for i in numbers]
        for each in chosen:
            if not isinstance(each, NDArray):
                raise ArgumentTypeError(
                    f"grad_and_loss: arguments must be NDArrays, got {type(each).__name__}"
                )
        grads = [zeros_like(each) for each in chosen]
        mark_variables(chosen, grads)
        with train_section():
            outputs = func(*args)
        backward([outputs] if isinstance(outputs, NDArray) else outputs)
        return grads, outputs

    return wrapped


def grad(func: Callable[..., Any], argnum: Any = None) -> Callable[..., Any]:
    """Make a function that returns the gradients of `func`; see `grad_and_loss`."""
    inner = grad_and_loss(func, argnum)

    @functools.wraps(func)
    def wrapped(*args: Any) -> Any:
        return inner(*args)[0]

    return wrapped
