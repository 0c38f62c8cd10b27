"""Reads parameters of a call: an int, a float, a tuple, or the text of one."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

_INT_TEXT = re.compile(r"\s*([+-]?[0-9]{1,40})(?:\.0*|[lL])?\s*")  # Python 2 wrote 3L
_FLOAT_TEXT = re.compile(r"\s*[+-]?[0-9.a-zA-Z][0-9.a-zA-Z+-]{0,400}\s*")
_TUPLE_TEXT = re.compile(r"\s*(?:\(([^()\[\]]*)\)|\[([^()\[\]]*)\]|([^()\[\]]*))\s*")


def whole_number(value: Any) -> int | None:
    """The int of `value`: an int, a whole float, a bool, or the text of one; None for anything
    else.

    >>> whole_number(4.0), whole_number("4.0"), whole_number("3L"), whole_number(4.5)
    (4, 4, 3, None)
    """
    if isinstance(value, str):
        if value in ("True", "False"):
            return int(value == "True")
        found = _INT_TEXT.fullmatch(value)
        return int(found[1]) if found else None
    if isinstance(value, (float, np.floating)):
        return int(value) if float(value).is_integer() else None
    try:
        return int(value.__index__())
    except Exception:  # raised by the value's own method
        return None


def real_number(value: Any) -> float | None:
    """The float of `value`, or of its text; None for anything else, and for too large ints.

    >>> real_number("1e-3"), real_number(10**400), real_number("nan") != real_number("nan")
    (0.001, None, True)
    """
    if isinstance(value, str) and not _FLOAT_TEXT.fullmatch(value):
        return None
    if isinstance(value, (bytes, bytearray)) or getattr(value, "ndim", None):
        return None
    try:
        return float(value)
    except Exception:  # an int too large, a text, or an error of the value's own method
        return None


def read_list(value: Any) -> list[Any] | None:
    """The items of a tuple, list or array of one axis, or of the text of one, without a limit of
    nesting; None for anything else.

    >>> read_list("(2, 3)"), read_list([2]), read_list("7"), read_list("(2, (3,))"), read_list(7)
    (['2', '3'], [2], ['7'], None, None)
    """
    if isinstance(value, str):
        found = _TUPLE_TEXT.fullmatch(value)
        if not found:
            return None
        inner = next(part for part in found.groups() if part is not None)
        items = [item.strip() for item in inner.split(",")]
        return items if items[-1] else items[:-1]
    if isinstance(value, (tuple, list, range)):
        return list(value)
    return list(value) if isinstance(value, np.ndarray) and value.ndim == 1 else None


def read_shape(value: Any, allow_none: bool = False) -> tuple[Any, ...] | None:
    """Return the tuple of ints that `value` or its text is; None for anything else.

    One int counts as a tuple of it, whole floats do not count as ints.

    >>> read_shape([2, 3]), read_shape("(2, 3)"), read_shape("(2L,)"), read_shape("b'ab'")
    ((2, 3), (2, 3), (2,), None)
    """
    if type(value) is tuple and all(type(n) is int for n in value):
        return value
    items = read_list(value)
    if items is None:
        items = [value]
    out: list[int | None] = []
    for item in items:
        if allow_none and (item is None or (isinstance(item, str) and item == "None")):
            out.append(None)
            continue
        whole = isinstance(item, (float, np.floating)) or (isinstance(item, str) and "." in item)
        number = None if whole else whole_number(item)
        if number is None:
            return None
        out.append(number)
    return tuple(out)
