"""The repr of objects: class and settings, as text, and as an HTML table in notebooks."""

import inspect
from collections.abc import Iterable
from typing import Any

from .dtype import name_of
from .errors import shown

_MAX_ROWS, _MAX_COLUMNS = 20, 12  # maximum rows and columns of an HTML table


class ReprMixin:
    """Base class whose repr shows the class and the settings.

    A subclass defines `_repr_settings`, which gives the settings by name; None leaves one out.
    An object that is not complete yet is shown as Python shows it.
    """

    __slots__ = ()

    def _repr_settings(self) -> dict[str, Any]:
        return {}

    def _repr_pairs(self) -> list[tuple[str, str]] | None:
        """Return pairs (name, text) of the settings, or None if they cannot be read."""
        try:
            return [(k, shown(v)) for k, v in self._repr_settings().items() if v is not None]
        except Exception:  # __init__ has not run, or a user's method failed
            return None

    def __repr__(self) -> str:
        settings = self._repr_pairs()
        if settings is None:
            return object.__repr__(self)
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in settings)})"

    def _repr_html_(self) -> str:
        settings = self._repr_pairs()
        if settings is None or type(self).__repr__ is not ReprMixin.__repr__:
            return preformatted_html(repr(self))
        rows = [(f"<b>{escape_html(name)}</b>", escape_html(value)) for name, value in settings]
        return html_table(type(self).__name__, rows)


class SettingsRepr(ReprMixin):
    """Base class whose repr shows arguments of ``__init__``: numbers, flags and texts that differ
    from the defaults and are attributes of the same names."""

    __slots__ = ()

    def _repr_settings(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for owner in type(self).__mro__:
            if "__init__" not in vars(owner):
                continue
            for each in inspect.signature(vars(owner)["__init__"]).parameters.values():
                attributes = vars(self)
                value = attributes.get(each.name, attributes.get(f"_{each.name}", each.default))
                if isinstance(value, (int, float, str)) and value != each.default:
                    found.setdefault(each.name, value)
        return found


class LengthRepr(ReprMixin):
    """Base class whose repr shows the length, if there is one."""

    __slots__ = ()

    def _repr_settings(self) -> dict[str, Any]:
        return {"length": len(self) if hasattr(self, "__len__") else None}


def escape_html(text: object) -> str:
    """Escape a text for HTML.

    >>> escape_html("a < b")
    'a &lt; b'
    """
    from html import escape  # imported here, as it is rarely needed and takes 2 ms

    return escape(str(text))


def preformatted_html(text: object) -> str:
    """Return a text of several lines as preformatted_html HTML.

    >>> preformatted_html("a < b")
    '<pre>a &lt; b</pre>'
    """
    return f"<pre>{escape_html(text)}</pre>"


def html_table(caption: object, rows: Iterable[Iterable[str]]) -> str:
    """Return an HTML table; the cells of its rows are HTML.

    >>> html_table("of one", [["1"]])
    '<table><caption>of one</caption><tr><td>1</td></tr></table>'
    """
    body = ("".join(f"<td>{cell}</td>" for cell in row) for row in rows)
    lines = "".join(f"<tr>{row}</tr>" for row in body)
    return f"<table><caption>{escape_html(caption)}</caption>{lines}</table>"


def html_of_array(array: Any) -> str:
    """Return an array as HTML: one or two axes as a table, which omits the middle of large arrays;
    more axes as NumPy prints them."""
    if array.stype != "default" or not 1 <= array.ndim <= 2 or 0 in array.shape:
        return preformatted_html(repr(array).strip("\n"))
    values = array.asnumpy()
    values = values.reshape(1, -1) if array.ndim == 1 else values
    rows = []
    for i in _shown_indices(values.shape[0], _MAX_ROWS):
        columns = _shown_indices(values.shape[1], _MAX_COLUMNS)
        line = [None if None in (i, j) else values[i, j] for j in columns]
        rows.append(["&#8230;" if each is None else escape_html(f"{each:.6g}") for each in line])
    shape = " x ".join(map(str, array.shape))
    return html_table(f"NDArray {shape}, {name_of(array.dtype)}, {array.context}", rows)


def _shown_indices(count: int, maximum: int) -> list[int | None]:
    """Return the indices that are shown; None marks the gap."""
    if count <= maximum:
        return list(range(count))
    half = maximum // 2
    return [*range(half), None, *range(count - half, count)]
