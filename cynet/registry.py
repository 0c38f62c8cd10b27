"""Registry: names -> classes or entries, for operators, optimizers, metrics, ..."""

from __future__ import annotations

import importlib
import sys
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .base.errors import ArgumentError, ArgumentTypeError, FormatError, NotFoundError, shown
from .base.kinds import call_with_settings, read_json

if TYPE_CHECKING:
    from collections.abc import ItemsView, Iterable, Iterator, Sequence

__all__ = ["get_alias_func", "get_create_func", "get_register_func", "get_registry"]

_MAX_NAME_CHARS = 100  # characters


def import_all(package: str) -> None:
    """Import the modules of a package, which register their objects."""
    import pkgutil

    folders = importlib.import_module(package).__path__
    for name in sorted(each.name for each in pkgutil.iter_modules(folders)):
        importlib.import_module(f"{package}.{name}")


class Registry:
    """A table of names (and aliases) -> objects of one kind.

    Parameters
    ----------
    kind : str
        What is registered, for messages: ``"operator"``, ``"optimizer"``, ...
    ignore_case : bool
        Look names up in lower case, as MXNet does for everything but operators.

    Examples
    --------
    >>> shapes = Registry("shape", ignore_case=True)
    >>> shapes.register("Round", int)
    <class 'int'>
    >>> shapes.get("round")
    <class 'int'>
    """

    def __init__(self, kind: str, ignore_case: bool = False) -> None:
        self.kind = kind
        self.ignore_case = ignore_case
        self._table: dict[str, Any] = {}
        self._later: dict[str, str] = {}  # name -> module that registers the class

    def _normalized_name(self, name: str) -> str:
        return name.lower() if self.ignore_case else name

    def register(
        self, name: str, value: Any, aliases: Sequence[str] = (), override: bool = False
    ) -> Any:
        """Register `value` under its names; an existing name is an error unless `override`."""
        for each in (name, *aliases):
            self._import_owning_module(self._normalized_name(each))
            taken = self._table.get(self._normalized_name(each))
            if taken is not None and taken is not value and not override:
                raise ArgumentError(
                    f"{self.kind} name {shown(each)} is already taken by {shown(taken)}"
                )
        for each in (name, *aliases):
            self._table[self._normalized_name(each)] = value
            self._later.pop(self._normalized_name(each), None)
        return value

    def register_later(self, module: str, names: Iterable[str]) -> None:
        """Declare names that `module` registers; it is imported when one is first looked up."""
        self._later.update(dict.fromkeys(map(self._normalized_name, names), module))

    def _import_owning_module(self, key: str) -> None:
        # A module that is being imported is in sys.modules: it registers its names itself.
        owner = self._later.get(key)
        if owner is not None and owner not in sys.modules:
            importlib.import_module(owner)

    def _import_pending_modules(self) -> None:
        for owner in {*self._later.values()}:
            importlib.import_module(owner)

    @property
    def table(self) -> MappingProxyType[str, Any]:
        """A dict of all registered names -> objects, which shows later registrations too."""
        self._import_pending_modules()
        return MappingProxyType(self._table)

    def remove(self, name: str) -> None:
        """Remove a name if it is registered; the object stays valid."""
        self._table.pop(self._normalized_name(name), None)

    def get(self, name: str) -> Any:
        """Return the object registered as `name`; NotFoundError lists similar names."""
        if not isinstance(name, str):
            raise ArgumentTypeError(f"{self.kind} name must be a str, got {shown(name)}")
        try:
            return self._table[self._normalized_name(name)]
        except KeyError:
            owner = self._later.get(self._normalized_name(name))
            if owner is not None:
                importlib.import_module(owner)
            if self._normalized_name(name) in self._table:  # the import has registered the name
                return self._table[self._normalized_name(name)]
            from difflib import get_close_matches

            # long texts are slow to compare and similar to no name
            near = get_close_matches(self._normalized_name(name)[:_MAX_NAME_CHARS], [*self], 3)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise NotFoundError(f"no {self.kind} is named {shown(name)}{hint}") from None

    def create(self, spec: Any, *args: Any, **kwargs: Any) -> Any:
        """Return an instance of the class that `spec` names; `spec` itself if it is no name."""
        return self.get(spec)(*args, **kwargs) if isinstance(spec, str) else spec

    def __contains__(self, name: str) -> bool:
        return (
            self._normalized_name(name) in self._table or self._normalized_name(name) in self._later
        )

    def __iter__(self) -> Iterator[str]:
        return iter([*self._table, *self._later])

    def items(self) -> ItemsView[str, Any]:
        """Return pairs (name, object), with aliases."""
        self._import_pending_modules()
        return self._table.items()

    def loaded_items(self) -> ItemsView[str, Any]:
        """Like `items`, without modules that were not imported yet."""
        return self._table.items()


_REGISTRY_OF_CLASS = {}  # base class -> Registry of its subclasses


def _get_or_make_registry(base_class, nickname=None):
    if not isinstance(base_class, type):
        raise ArgumentTypeError(f"a registry is of a base class, got {shown(base_class)}")
    nickname = base_class.__name__ if nickname is None else nickname
    if not isinstance(nickname, str):
        raise ArgumentTypeError(f"what a registry has is named by a str, got {shown(nickname)}")
    if base_class not in _REGISTRY_OF_CLASS:
        _REGISTRY_OF_CLASS[base_class] = Registry(nickname, ignore_case=True)
    return _REGISTRY_OF_CLASS[base_class]


def get_registry(base_class):
    """Return the registry of a base class.

    Parameters
    ----------
    base_class : type
        Class whose subclasses are registered.

    Returns
    -------
    dict of str to type
        Names in lower case.

    Raises
    ------
    ArgumentTypeError
        If it is not a class.

    Examples
    --------
    >>> class Shape: pass
    >>> get_registry(Shape)
    {}
    """
    return dict(_get_or_make_registry(base_class).items())


def get_register_func(base_class, nickname):
    """Make the function that registers subclasses of a base class, also as a decorator.

    Parameters
    ----------
    base_class : type
        Class whose subclasses are registered.
    nickname : str
        What such a class is called in messages.

    Returns
    -------
    callable
        ``register(klass, name=None)``, which returns the class.

    Raises
    ------
    ArgumentTypeError
        If `base_class` is not a class, or `nickname` no str; by ``register``, if it is not a
        subclass.

    Examples
    --------
    >>> class Shape: pass
    >>> @get_register_func(Shape, "shape")
    ... class Round(Shape): pass
    >>> get_registry(Shape)["round"] is Round
    True
    """
    registry = _get_or_make_registry(base_class, nickname)

    def register(klass, name=None):
        if not (isinstance(klass, type) and issubclass(klass, base_class)):
            raise ArgumentTypeError(
                f"a {nickname} is a subclass of {base_class.__name__}, got {shown(klass)}"
            )
        return registry.register(klass.__name__ if name is None else name, klass, override=True)

    return register


def get_alias_func(base_class, nickname):
    """Make the function that registers subclasses of a base class under further names.

    Parameters
    ----------
    base_class : type
        Class whose subclasses are registered.
    nickname : str
        What such a class is called in messages.

    Returns
    -------
    callable
        ``alias(*names)``, a decorator.

    Examples
    --------
    >>> class Shape: pass
    >>> @get_alias_func(Shape, "shape")("circle", "disc")
    ... class Round(Shape): pass
    >>> sorted(get_registry(Shape))
    ['circle', 'disc']
    """
    register = get_register_func(base_class, nickname)

    def alias(*names):
        def register_class(klass):
            for name in names:
                register(klass, name)
            return klass

        return register_class

    return alias


def get_create_func(base_class, nickname):
    """Make the function that makes an instance from a name and arguments, or from a description.

    Parameters
    ----------
    base_class : type
        Class whose subclasses are registered.
    nickname : str
        What such a class is called in messages; also the keyword that holds the name.

    Returns
    -------
    callable
        It takes an instance as it is; a name; a dict or its JSON, ``{"shape": "round", ...}``; or
        the JSON of a list, ``["round", {...}]``.

    Raises
    ------
    ArgumentTypeError
        If `base_class` is not a class, or `nickname` no str.

    Examples
    --------
    >>> class Shape:
    ...     def __init__(self, size=1): self.size = size
    >>> _ = get_register_func(Shape, "shape")(Shape)
    >>> get_create_func(Shape, "shape")('["shape", {"size": 3}]').size
    3
    """
    registry = _get_or_make_registry(base_class, nickname)

    def create(*args, **kwargs):
        if args:
            name, *args = args
        elif nickname in kwargs:
            name = kwargs.pop(nickname)
        else:
            raise ArgumentTypeError(f"create: give the name of a {nickname}")
        if isinstance(name, base_class):
            if args or kwargs:
                raise ArgumentError(
                    f"create: expected no arguments beside an instance of {nickname}"
                )
            return name
        if isinstance(name, str) and name[:1] in ("[", "{"):
            name = _parse_json_description(nickname, name)
        if isinstance(name, dict):
            name = [name.get(nickname), {k: v for k, v in name.items() if k != nickname}]
            if name[0] is None:
                raise ArgumentTypeError(f"create: give the name of a {nickname}")
        if isinstance(name, list):
            name, settings = name
            kwargs = {**settings, **kwargs}
        return call_with_settings(nickname, registry.get(name), args, kwargs)

    return create


def _parse_json_description(nickname, text):
    try:
        found = read_json(text)
    except ValueError as error:
        raise FormatError(f"{nickname}: expected JSON, got {shown(text)}: {error}") from None
    pair = isinstance(found, list) and len(found) == 2 and isinstance(found[1], dict)
    if not (pair or isinstance(found, dict)):
        raise FormatError(f"{nickname} {shown(text)} is neither [name, settings] nor a dict")
    return found
