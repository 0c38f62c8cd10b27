"""Attributes of symbols: AttrScope, and the spellings of the framework's own attributes."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import Any

from .base.errors import ArgumentError, ArgumentTypeError, shown
from .base.guard import guarded

__all__ = ["AttrScope"]

_local = threading.local()  # value: the innermost AttrScope of this thread

# users write these keys without underscores, nodes store them with; both spellings can be read
_OWN_KEYS = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage", "profiler_scope")
_STORED_KEYS = {key: f"__{key}__" for key in _OWN_KEYS}
_KEY_OF_STORED = {stored: key for key, stored in _STORED_KEYS.items()}


def stored_key(key):
    """Return the key under which a node stores an attribute.

    >>> stored_key("lr_mult"), stored_key("__mood__")
    ('__lr_mult__', '__mood__')
    """
    return _STORED_KEYS.get(key, key)


def is_attribute_key(key):
    """Return whether `key` can only be an attribute, never an operator's parameter."""
    return key in _STORED_KEYS or (len(key) > 4 and key.startswith("__") and key.endswith("__"))


def split_suffixed_key(key):
    """Split a key such as ``weight_lr_mult``, the oldest spelling, into name and attribute.

    >>> split_suffixed_key("weight_lr_mult"), split_suffixed_key("lr_mult")
    (('weight', '__lr_mult__'), None)
    """
    for own, stored in _STORED_KEYS.items():
        if key.endswith("_" + own) and len(key) > len(own) + 1:
            return key[: -len(own) - 1], stored
    return None


def add_plain_keys(attrs):
    """Return a copy of `attrs` that has ``lr_mult`` in addition to ``__lr_mult__``, and so on."""
    out = dict(attrs)
    for stored, spoken in _KEY_OF_STORED.items():
        if stored in attrs:
            out[spoken] = attrs[stored]
    return out


class _CurrentScope(type):
    """Metaclass of AttrScope: gives it the attribute ``current``, a value per thread."""

    @property
    def current(cls) -> AttrScope:
        """The innermost scope of this thread."""
        if not hasattr(_local, "value"):
            _local.value = AttrScope()
        return _local.value

    @current.setter
    def current(cls, scope: AttrScope) -> None:
        if not isinstance(scope, AttrScope):
            raise ArgumentTypeError(f"AttrScope.current is an AttrScope, got {shown(scope)}")
        _local.value = scope


@guarded(but=("get",))
class AttrScope(metaclass=_CurrentScope):
    """Attributes for every symbol made inside a ``with`` statement; inner scopes add to outer ones.

    Parameters
    ----------
    **attrs : str
        Attributes: ``ctx_group``, ``lr_mult``, ... or names that start and end with two
        underscores.

    Raises
    ------
    ArgumentError
        If a value is not a str.

    Examples
    --------
    >>> with mx.AttrScope(ctx_group="dev1"), mx.AttrScope(__mood__="calm"):
    ...     x = mx.sym.var("x", lr_mult=2)
    >>> x.attr("ctx_group"), x.attr("__mood__"), x.attr("lr_mult")
    ('dev1', 'calm', '2')
    """

    # the number of subgraphs of each name; scripts written for MXNet read and reset it
    _subgraph_names: defaultdict[str, int] = defaultdict(int)

    def __init__(self, **attrs: str) -> None:
        for key, value in attrs.items():
            if not isinstance(value, str):
                raise ArgumentError(
                    f"AttrScope: attribute '{key}' must be a str, got {shown(value)}"
                )
        self._own = attrs
        self._attrs = attrs
        self._outer = []

    def get(self, attr: dict[str, str] | None = None) -> dict[str, str]:
        """Return a new dict of the scope's attributes, updated with `attr`.

        Parameters
        ----------
        attr : dict of str to str, optional
            Attributes that take precedence over those of the scope.

        Raises
        ------
        ArgumentTypeError
            If `attr` is not a dict.

        Examples
        --------
        >>> with mx.AttrScope(ctx_group="dev1"):
        ...     AttrScope.current.get({"lr_mult": "2"})
        {'ctx_group': 'dev1', 'lr_mult': '2'}
        """
        if attr is not None and not isinstance(attr, dict):
            raise ArgumentTypeError(f"attr must be a dict of str, got {type(attr).__name__}")
        return {**self._attrs, **(attr or {})}

    def __enter__(self) -> AttrScope:
        outer = AttrScope.current
        self._outer.append((outer, self._attrs))
        self._attrs = {**outer._attrs, **self._own}
        _local.value = self
        return self

    def __exit__(self, *exc: Any) -> None:
        _local.value, self._attrs = self._outer.pop()
