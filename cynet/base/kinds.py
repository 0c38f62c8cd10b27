"""Checks of values: the kinds of settings that optimizers and schedules store in files; JSON from
files; and numbers and flags that many functions accept.

A class declares its settings in a table, ``serialized_fields``: name -> kind. Those of its bases
count, too.
"""

from __future__ import annotations

import inspect
import itertools
import json
import math
import operator
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .errors import ArgumentError, ArgumentTypeError, CynetError, FormatError, shown
from .files import read_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_MAX_COUNT = 2**63 - 1  # largest count
_MAX_FLOAT = np.finfo(np.float64).max.item()  # largest finite float
_PLAIN_TYPES = (bool, int, float, str, type(None))  # types of values that settings may have


class Kind(NamedTuple):  # test of a setting's value, and its description
    """A test of a value, and a description of the values that pass it."""

    fits: Callable[[Any], bool]
    expected: str

    def or_none(self) -> Kind:
        """A Kind that accepts None as well."""
        return Kind(lambda value: value is None or self.fits(value), f"{self.expected} or None")


def _is_number(value: Any) -> bool:
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    return good and -_MAX_FLOAT <= value <= _MAX_FLOAT


def number(low: float = -math.inf, below: float = math.inf) -> Kind:
    """A finite number of at least `low` and less than `below`."""
    bounds = "" if low == -math.inf else f" >= {low}"
    bounds += "" if below == math.inf else f" and < {below}"
    return Kind(lambda v: _is_number(v) and low <= v < below, f"a finite number{bounds}")


def _is_count(value: Any, low: int = 0) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= _MAX_COUNT


def count(low: int = 0) -> Kind:
    """An int from `low` to 2**63 - 1."""
    return Kind(lambda value: _is_count(value, low), f"an int from {low} to 2**63 - 1")


def word(*words: str) -> Kind:
    """A Kind of str: one of `words`."""
    return Kind(
        lambda v: isinstance(v, str) and v in words, "one of " + ", ".join(map(repr, words))
    )


FLAG = Kind(lambda value: isinstance(value, bool), "True or False")  # Kind of a bool


def check_flag(where: str, name: str, value: Any) -> None:
    """Refuse values other than True and False (1 and 0 count)."""
    if not isinstance(value, (bool, int, np.bool_)):
        raise ArgumentTypeError(f"{where}: {name} must be True or False, got {shown(value)}")


def to_count(what: str, value: Any) -> int:
    """Return `value` as an int of at least 1.

    >>> to_count("n", np.int64(3))
    3
    """
    count = to_index(what, value, "an int from 1 on")
    if count < 1:
        raise ArgumentError(f"{what} must be an int from 1 on, got {shown(value)}")
    return count


def to_index(what: str, value: Any, wanted: str = "an int") -> int:
    """Return `value` as an int; a bool, a float and an array of several elements are refused.

    >>> to_index("n", np.int64(3))
    3
    """
    if not isinstance(value, bool):
        try:
            return operator.index(value)
        except Exception:  # raised by the value's own method
            pass
    raise ArgumentTypeError(f"{what} must be {wanted}, got {shown(value)} ({type(value).__name__})")


def is_single_int(value: Any) -> bool:
    """Return whether `value` is a single int: arrays of NumPy also have ``__index__``.

    >>> is_single_int(np.int64(3)), is_single_int(np.array([3, 4])), is_single_int((3,))
    (True, False, False)
    """
    return hasattr(value, "__index__") and not getattr(value, "ndim", 0)


def check_numbers(where: str, **numbers: Any) -> None:
    """Refuse values that are not whole numbers."""
    for name, number in numbers.items():
        to_index(f"{where}: {name}", number, "a whole number")


RISING_INTS = Kind(
    lambda value: (
        isinstance(value, list)
        and bool(value)
        and all(_is_count(each, 1) for each in value)
        and all(a < b for a, b in itertools.pairwise(value))
    ),
    "a list of rising ints from 1 on",
)


def _declared_kinds(klass: type) -> dict[str, Kind]:
    kinds = {}
    for base in reversed(klass.__mro__):
        kinds.update(vars(base).get("serialized_fields", {}))
    return kinds


def settings_of(instance: object) -> dict[str, Any]:
    """Return an object's declared settings, and other plain attributes of a user's class."""
    klass = type(instance)
    kinds = _declared_kinds(klass)
    found = {}
    for name, value in vars(instance).items():
        if isinstance(value, np.generic):
            value = value.item()
        plain = isinstance(value, _PLAIN_TYPES) or (
            isinstance(value, list) and all(isinstance(each, _PLAIN_TYPES) for each in value)
        )
        if name in kinds and not plain:
            raise ArgumentTypeError(
                f"{klass.__name__}.{name} cannot be kept in a file: it must be"
                f" {kinds[name].expected}, got {shown(value)}"
            )
        if plain and name != "lr_scheduler" and (name in kinds or not _is_cynet_class(klass)):
            found[name] = value
    return found


def _is_cynet_class(klass: type) -> bool:
    return klass.__module__.partition(".")[0] == __name__.partition(".")[0]


def checked_settings(klass: type, settings: Any) -> dict[str, Any]:
    """Check settings that `settings_of` returned for an object of `klass`; returns them.

    Raises FormatError: naming the setting, what was expected and what was found.
    """
    kinds = _declared_kinds(klass)
    if not isinstance(settings, dict):
        raise FormatError(f"the settings of {klass.__name__} are {shown(settings)}, no dict")
    missing = [name for name in kinds if name not in settings]
    if missing:
        raise FormatError(f"{klass.__name__} has no {', '.join(missing)}")
    for name, value in settings.items():
        kind = kinds.get(name)
        if kind is None:
            known = getattr(klass, name, None)
            hidden = callable(known) or hasattr(type(known), "__get__")
            if _is_cynet_class(klass) or hidden or not name.isidentifier() or name.startswith("__"):
                raise FormatError(f"{klass.__name__} has no setting {shown(name)}")
        elif not kind.fits(value):
            raise FormatError(
                f"{klass.__name__}.{name} must be {kind.expected}, got {shown(value)}"
            )
    return settings


def read_json(text: str | bytes, **settings: Any) -> Any:
    """Return the value of a JSON text; `settings` are those of ``json.loads``.

    Raises FormatError: Whatever is wrong with the text, too deep a nesting included.

    Examples
    --------
    >>> read_json('{"a": [1, 2]}')
    {'a': [1, 2]}
    >>> read_json("[" * 100000)
    Traceback (most recent call last):
        ...
    cynet.errors.FormatError: it is nested too deep
    """
    try:
        return json.loads(text, **settings)
    except RecursionError:
        raise FormatError("it is nested too deep") from None
    except ValueError as error:
        maximum = getattr(sys, "get_int_max_str_digits", int)()
        # replaces Python's message, which tells how to raise the limit
        if f"({maximum} digits)" in str(error):
            raise FormatError(f"it has an integer of more than {maximum} digits") from None
        raise FormatError(str(error)) from None


@contextmanager
def open_json(path: str, form: str, what: str) -> Iterator[dict[str, Any]]:
    """Give the value of a JSON file inside of a block; errors of the block become a FormatError.

    Raises FormatError: the file has no such value, or what stands in the ``with`` failed on it:
    names the file.
    """
    data = read_file(path)
    try:
        found = read_json(data)
        if found["form"] != form:
            raise FormatError(f"it has the form {shown(found['form'])}")
        yield found
    except (CynetError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FormatError(f"{shown(path)} is no file of {what} ({error!r})") from None


def call_with_settings(
    where: str, function: Callable[..., Any], args: Sequence[Any], settings: dict[str, Any]
) -> Any:
    """Return ``function(*args, **settings)``; the names of `settings` come from outside.

    where: The begin of messages.

    Raises ArgumentTypeError: a name that is no str, or that `function` does not take; among them
    ``self``.

    Examples
    --------
    >>> call_with_settings("shape", dict, [], {"size": 3})
    {'size': 3}
    >>> call_with_settings("part", slice, [], {"self": 3})
    Traceback (most recent call last):
        ...
    cynet.errors.ArgumentTypeError: part: there is no setting 'self'
    """
    for name in settings:
        if not isinstance(name, str):
            raise ArgumentTypeError(f"{where}: names of settings must be str, got {name!r}")
    if "self" in settings:
        raise ArgumentTypeError(f"{where}: there is no setting 'self'")
    try:
        inspect.signature(function).bind(*args, **settings)
    except TypeError as error:
        raise ArgumentTypeError(f"{where}: {error}") from None
    except ValueError:  # a C function without a signature reports wrong arguments itself
        pass
    return function(*args, **settings)
