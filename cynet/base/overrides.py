"""Methods that users override: in a subclass, on an object or in a class of cynet."""

from __future__ import annotations

from typing import Any

_OWN_PACKAGE = __name__.partition(".")[0]


def is_ours(function: Any) -> bool:
    """Return whether a method is cynet's own, not a user's.

    >>> import json
    >>> is_ours(mx.optimizer.SGD.update), is_ours(json.dumps)
    (True, False)
    """
    if isinstance(function, property):
        function = function.fget
    function = getattr(function, "__func__", function)
    # functools.wraps copies __module__, but not the globals: these show the defining module
    place = getattr(function, "__globals__", None)
    name = getattr(function, "__module__", None) if place is None else place.get("__name__")
    return isinstance(name, str) and name.partition(".")[0] == _OWN_PACKAGE


def overridden_methods(kind: type, names: Any) -> frozenset[str]:
    """The methods among `names` that users have defined, in a subclass or in a class of cynet.

    >>> import json
    >>> class Mine(mx.optimizer.SGD):
    ...     pass
    >>> Mine.update = json.dumps
    >>> sorted(overridden_methods(Mine, ("update", "create_state")))
    ['update']
    """
    return frozenset(name for name in names if not is_ours(getattr(kind, name, is_ours)))
