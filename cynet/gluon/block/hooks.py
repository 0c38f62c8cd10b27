"""Hooks of Blocks: functions by number, each taken away again through its handle."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

from ...base.errors import ArgumentTypeError, shown

_numbers = itertools.count()


def require_callable(hook):
    """Raise ArgumentTypeError unless `hook` can be called."""
    if not callable(hook):
        raise ArgumentTypeError(f"a hook must be callable, got {shown(hook)}")


class HookHandle:
    """What registering a hook gives: ``detach`` takes the hook away; as a context manager it does
    so at the end of the block.

    Examples
    --------
    >>> import cynet as mx
    >>> net = mx.gluon.nn.Dense(2)
    >>> handle = net.register_forward_hook(lambda block, inputs, output: None)
    >>> handle.detach()
    """

    def __init__(self) -> None:
        self._hooks = None
        self._number = None

    def attach(self, hooks_dict: dict[int, Any], hook: Any) -> None:
        """Put a hook among others; `detach` takes it away.

        Parameters
        ----------
        hooks_dict : dict
            The hooks by number.
        hook : callable
            The hook to add.

        Raises
        ------
        ArgumentTypeError
            `hook` cannot be called.

        Examples
        --------
        >>> hooks = Hooks()
        >>> handle = HookHandle()
        >>> handle.attach(hooks, print)
        >>> len(hooks)
        1
        >>> handle.detach()
        >>> len(hooks)
        0
        """
        require_callable(hook)
        self._hooks = weakref.ref(hooks_dict)
        self._number = next(_numbers)
        hooks_dict[self._number] = hook

    def detach(self) -> None:
        """Take the hook away; a second time does nothing."""
        hooks = None if self._hooks is None else self._hooks()
        if hooks is not None:
            hooks.pop(self._number, None)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.detach()


class Hooks(dict):
    """Hooks by number, in the order in which they were registered."""

    __slots__ = ("__weakref__",)
