"""Automatic names of symbols: NameManager counts, Prefix adds a prefix."""

from __future__ import annotations

import threading
from typing import Any

from .base.errors import ArgumentTypeError, shown
from .base.guard import guarded

__all__ = ["NameManager", "Prefix"]

_local = threading.local()  # value: the innermost NameManager of this thread


class _CurrentName(type):  # metaclass: `current`, a value per thread
    """Metaclass of NameManager: gives it the attribute ``current``, a value per thread."""

    @property
    def current(cls) -> NameManager:
        """The innermost manager of this thread."""
        if not hasattr(_local, "value"):
            _local.value = NameManager()
        return _local.value

    @current.setter
    def current(cls, manager: NameManager) -> None:
        if not isinstance(manager, NameManager):
            raise ArgumentTypeError(f"NameManager.current is a NameManager, got {shown(manager)}")
        _local.value = manager


@guarded(but=("get",))
class NameManager(metaclass=_CurrentName):
    """Gives each unnamed symbol an automatic name: a hint and a counter for that hint.

    A ``with`` statement makes it the current one of this thread. Each manager counts for itself.

    Examples
    --------
    >>> with NameManager() as manager:
    ...     [manager.get(None, "fc"), manager.get("mine", "fc"), manager.get(None, "fc")]
    ['fc0', 'mine', 'fc1']
    """

    def __init__(self) -> None:
        self._counter = {}
        self._outer = []

    def get(self, name: str | None, hint: str) -> str:
        """Return the given name, or an automatic one.

        Parameters
        ----------
        name : str or None
            The name that the user gave; an empty one counts as None.
        hint : str
            Beginning of a name that is made up, before its number.

        Raises
        ------
        ArgumentTypeError
            If one of them is not a str.
        """
        if name is not None:
            if not isinstance(name, str):
                raise ArgumentTypeError(f"a name must be a str or None, got {shown(name)}")
            if name:
                return name
        if not isinstance(hint, str):
            raise ArgumentTypeError(f"a name's hint must be a str, got {shown(hint)}")
        number = self._counter.get(hint, 0)
        self._counter[hint] = number + 1
        return f"{hint}{number}"

    def __enter__(self) -> NameManager:
        self._outer.append(NameManager.current)
        _local.value = self
        return self

    def __exit__(self, *exc: Any) -> None:
        _local.value = self._outer.pop()


@guarded(but=("get",))
class Prefix(NameManager):
    """Puts a prefix before each name, automatic or not.

    Parameters
    ----------
    prefix : str
        Put before every name.

    Raises
    ------
    ArgumentTypeError
        If it is not a str.

    Examples
    --------
    >>> with Prefix("left_") as manager:
    ...     [manager.get(None, "fc"), manager.get("mine", "fc")]
    ['left_fc0', 'left_mine']
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        if not isinstance(prefix, str):
            raise ArgumentTypeError(f"Prefix: prefix must be a str, got {shown(prefix)}")
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        """Return the name with the prefix."""
        return self._prefix + super().get(name, hint)
