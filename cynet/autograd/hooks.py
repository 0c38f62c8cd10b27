"""Hooks of arrays and Blocks: functions, each with a handle that removes it."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

from ..base.errors import ArgumentTypeError, GradientError, ShapeError, shown
from ..ndarray import NDArray
from ..ndarray._tape import hooks_and_index

_hook_ids = itertools.count()  # numbers of hooks, unique in the process


def require_callable(hook):
    """Raise ArgumentTypeError unless `hook` can be called."""
    if not callable(hook):
        raise ArgumentTypeError(f"a hook must be callable, got {shown(hook)}")


class HookHandle:
    """Handle of a registered hook: ``detach`` removes the hook; as a context manager it does so at
    the end of the block.

    Examples
    --------
    >>> net = mx.gluon.nn.Dense(2)
    >>> handle = net.register_forward_hook(lambda block, inputs, output: None)
    >>> handle.detach()
    """

    def __init__(self) -> None:
        self._hooks = None
        self._number = None

    def attach(self, hooks_dict: dict[int, Any], hook: Any) -> None:
        """Add a hook to a list; `detach` removes it.

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
        self._number = next(_hook_ids)
        hooks_dict[self._number] = hook

    def detach(self) -> None:
        """Remove the hook; a second call does nothing."""
        hooks = None if self._hooks is None else self._hooks()
        if hooks is not None:
            hooks.pop(self._number, None)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.detach()


class Hooks(dict):
    """Hooks by id, in the order in which they were registered."""

    __slots__ = ("__weakref__",)


def register_hook(array, hook):
    """Call `hook` with the gradient of an array in each backward; see `NDArray.register_hook`."""
    handle = HookHandle()
    require_callable(hook)
    tables, i = hooks_and_index(array)
    handle.attach(tables.setdefault(i, Hooks()), hook)
    return handle


def apply_hooks(hooks, grad, node):
    """The gradient of `node` after its hooks have changed it."""
    for hook in list(hooks.values()):
        grad = checked_hook_result(
            grad, hook(grad), f"a hook of {node.name}, recorded at {node.location()}"
        )
    return grad


def checked_hook_result(grad, given, hook):
    """The gradient that a hook returned, checked, with the dtype and on the device of `grad`."""
    if given is None:
        return grad
    if not isinstance(given, NDArray):
        raise GradientError(f"{hook}, returned {shown(given)}, expected an NDArray or None")
    if given.shape != grad.shape:
        raise ShapeError(
            f"{hook}, returned a gradient of shape {given.shape}, expected {grad.shape}"
        )
    return given.as_in_context(grad.context).astype(grad.dtype, copy=False)
