"""The one registry: names to classes or entries, for operators, optimizers, metrics, ..."""

import difflib

from .base.errors import ArgumentError, ArgumentTypeError, NotFoundError, shown

_LONGEST = 100  # characters


class Registry:
    """Names (and aliases) to objects of one kind.

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

    def __init__(self, kind, ignore_case=False):
        self.kind = kind
        self.ignore_case = ignore_case
        self._table = {}

    def _key(self, name):
        return name.lower() if self.ignore_case else name

    def register(self, name, value, aliases=(), override=False):
        """Add `value` under `name` and `aliases`; a taken name is refused unless `override`."""
        for each in (name, *aliases):
            taken = self._table.get(self._key(each))
            if taken is not None and taken is not value and not override:
                raise ArgumentError(
                    f"{self.kind} name {shown(each)} is already taken by {shown(taken)}"
                )
        for each in (name, *aliases):
            self._table[self._key(each)] = value
        return value

    def remove(self, name):
        """Forget a name, if it is there; who has the object keeps it."""
        self._table.pop(self._key(name), None)

    def get(self, name):
        """The object registered as `name`, or NotFoundError that offers near names."""
        if not isinstance(name, str):
            raise ArgumentTypeError(f"{self.kind} name must be a str, got {shown(name)}")
        try:
            return self._table[self._key(name)]
        except KeyError:
            # what is much longer than any name is near to none, and takes long to compare
            near = difflib.get_close_matches(self._key(name)[:_LONGEST], self._table, 3)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise NotFoundError(f"no {self.kind} is named {shown(name)}{hint}") from None

    def create(self, spec, *args, **kwargs):
        """`spec` itself when it is no name, else an instance of the class it names."""
        return self.get(spec)(*args, **kwargs) if isinstance(spec, str) else spec

    def __contains__(self, name):
        return self._key(name) in self._table

    def __iter__(self):
        return iter(self._table)

    def items(self):
        """Pairs (name, object), aliases included."""
        return self._table.items()
