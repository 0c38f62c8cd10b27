"""Scopes that set whether a thread records, and whether operators behave as in training."""

from __future__ import annotations

from typing import Any

from ..base.kinds import check_flag
from ..ndarray._tape import begin_record_scope, get_state, resume_scope, set_state

__all__ = ["is_recording", "is_training", "pause", "predict_mode", "record", "set_recording"]
__all__ += ["set_training", "train_mode"]

_RECORDS_FLAG, _TRAINS_FLAG = 1, 2  # bits of autograd's state


def is_recording() -> bool:
    """Return whether this thread records operators.

    Examples
    --------
    >>> with mx.autograd.record():
    ...     mx.autograd.is_recording()
    ...
    True
    """
    return bool(get_state() & _RECORDS_FLAG)


def is_training() -> bool:
    """Return whether operators of this thread behave as in training (Dropout, BatchNorm).

    Examples
    --------
    >>> with mx.autograd.record(train_mode=False):
    ...     mx.autograd.is_training()
    ...
    False
    """
    return bool(get_state() & _TRAINS_FLAG)


def set_recording(is_recording: bool) -> bool:
    """Start or stop recording in this thread; returns whether it recorded before.

    Parameters
    ----------
    is_recording : bool
        Whether to record from now on.

    Examples
    --------
    >>> before = mx.autograd.set_recording(True)
    >>> mx.autograd.is_recording(), mx.autograd.set_recording(before)
    (True, True)
    """
    return _set_flag(_RECORDS_FLAG, "set_recording", is_recording)


def set_training(train_mode: bool) -> bool:
    """Set whether operators of this thread behave as in training; returns the old value.

    Parameters
    ----------
    train_mode : bool
        Whether operators behave as in training from now on.

    Examples
    --------
    >>> before = mx.autograd.set_training(True)
    >>> mx.autograd.is_training(), mx.autograd.set_training(before)
    (True, True)
    """
    return _set_flag(_TRAINS_FLAG, "set_training", train_mode)


def _set_flag(bit: int, name: str, value: bool) -> bool:
    check_flag(name, "value", value)
    old = get_state()
    if value and bit == _RECORDS_FLAG and not old & bit:
        begin_record_scope()
    set_state(old | bit if value else old & ~bit)
    return bool(old & bit)


class _Scope:
    """Sets flags on entry and restores them on exit; may be entered again, and inside itself."""

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        if training is not None:
            check_flag("autograd", "train_mode", training)
        self._mask = (0 if recording is None else _RECORDS_FLAG) | (
            0 if training is None else _TRAINS_FLAG
        )
        self._flags = (_RECORDS_FLAG if recording else 0) | (_TRAINS_FLAG if training else 0)
        self._before: list[tuple[int, int | None]] = []

    def __enter__(self) -> _Scope:
        old = get_state()
        begins = self._flags & ~old & _RECORDS_FLAG
        self._before.append((old, begin_record_scope() if begins else None))
        set_state((old & ~self._mask) | self._flags)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        now = get_state()
        old, scope = self._before.pop()
        set_state((now & ~self._mask) | (old & self._mask))
        if scope is not None:
            resume_scope(scope)


def record(train_mode: bool | None = True) -> _Scope:
    """A scope in which this thread records.

    Parameters
    ----------
    train_mode : bool or None
        Whether operators behave as in training in the scope; None leaves that as it is.

    Returns
    -------
    context manager

    Examples
    --------
    >>> with mx.autograd.record():
    ...     mx.autograd.is_recording(), mx.autograd.is_training()
    (True, True)
    """
    return _Scope(True, train_mode)


def pause(train_mode: bool | None = False) -> _Scope:
    """A scope in which this thread does not record.

    Parameters
    ----------
    train_mode : bool or None
        Whether operators behave as in training in the scope; None leaves that as it is.

    Returns
    -------
    context manager

    Examples
    --------
    >>> x = mx.nd.array([3])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = x * x
    ...     with mx.autograd.pause():
    ...         seen = y * 100  # paused: no gradient goes through y * 100
    ...
    >>> y.backward()
    >>> x.grad
    [6.]
    <NDArray 1 @cpu(0)>
    """
    return _Scope(False, train_mode)


def train_mode() -> _Scope:
    """A scope in which operators behave as in training; whether the thread records stays.

    Returns
    -------
    context manager

    Examples
    --------
    >>> with mx.autograd.train_mode():
    ...     mx.autograd.is_training(), mx.autograd.is_recording()
    ...
    (True, False)
    """
    return _Scope(None, True)


def predict_mode() -> _Scope:
    """A scope in which operators behave as in prediction; whether the thread records stays.

    Returns
    -------
    context manager

    Examples
    --------
    >>> with mx.autograd.record():
    ...     with mx.autograd.predict_mode():
    ...         mx.autograd.is_training(), mx.autograd.is_recording()
    ...
    (False, True)
    """
    return _Scope(None, False)
