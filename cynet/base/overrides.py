"""Finds methods that users have overridden: in a subclass, on an object or in a class of cynet."""

from __future__ import annotations

from typing import Any

_OWN_PACKAGE = __name__.partition(".")[0]


def is_internal(function: Any) -> bool:
    """Return whether a method is defined in cynet, not by a user.

    >>> import json
    >>> is_internal(mx.optimizer.SGD.update), is_internal(json.dumps)
    (True, False)
    """
    if isinstance(function, property):
        function = function.fget
    function = getattr(function, "__func__", function)
    # functools.wraps copies __module__; the globals show the defining module
    place = getattr(function, "__globals__", None)
    name = getattr(function, "__module__", None) if place is None else place.get("__name__")
    return isinstance(name, str) and name.partition(".")[0] == _OWN_PACKAGE


def overridden_methods(kind: type, names: Any) -> frozenset[str]:
    """Return the methods among `names` that users have overridden, in a subclass or in cynet's
    class.

    >>> import json
    >>> class Mine(mx.optimizer.SGD):
    ...     pass
    >>> Mine.update = json.dumps
    >>> sorted(overridden_methods(Mine, ("update", "create_state")))
    ['update']
    """
    return frozenset(name for name in names if not is_internal(getattr(kind, name, is_internal)))
