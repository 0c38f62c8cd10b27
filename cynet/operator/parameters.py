"""Typed parameter fields of an OperatorProperty, parsed from Python values and MXNet's strings."""

import math
import re
import typing

import numpy as np

from ..base.dtype import FLAGS, name_of
from ..base.errors import ArgumentError, ArgumentTypeError, CynetError, UndefinedError, shown

REQUIRED = object()  # the default of a field that must be given
INT64 = -(1 << 63), (1 << 63) - 1  # the least and the largest int that a parameter holds
MOST_ARRAYS = 1 << 16  # inputs or outputs of one operator: they are counted before they are listed

_INT_TEXT = re.compile(r"\s*([+-]?[0-9]{1,40})(?:\.0*|[lL])?\s*")  # Python 2 wrote 3L
_FLOAT_TEXT = re.compile(r"\s*[+-]?[0-9.a-zA-Z][0-9.a-zA-Z+-]{0,400}\s*")
_TUPLE_TEXT = re.compile(r"\s*(?:\(([^()\[\]]*)\)|\[([^()\[\]]*)\]|([^()\[\]]*))\s*")


def whole_number(value):
    """The int that `value` is: an int, a whole float, a bool, or the text of one; None of others.

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
    except Exception:  # whatever the value's own method raises
        return None


def real_number(value):
    """The float that `value` is, or the text of one; None of others, and of ints too large.

    >>> real_number("1e-3"), real_number(10**400), real_number("nan") != real_number("nan")
    (0.001, None, True)
    """
    if isinstance(value, str) and not _FLOAT_TEXT.fullmatch(value):
        return None
    if isinstance(value, (bytes, bytearray)) or getattr(value, "ndim", 0):
        return None
    try:
        return float(value)
    except Exception:  # an int too large, a text, whatever the value's own method raises
        return None


def items_of(value):
    """The items of a tuple, list or array of one axis, or of the text of one, without limit of
    nesting; None of anything else.

    >>> items_of("(2, 3)"), items_of([2]), items_of("7"), items_of("(2, (3,))"), items_of(7)
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


def read_shape(value, allow_none=False):
    """The tuple of ints that `value` is, or the text of one; None of anything else.

    One int counts as a tuple of it, whole floats do not count as ints.

    >>> read_shape([2, 3]), read_shape("(2, 3)"), read_shape("(2L,)"), read_shape("b'ab'")
    ((2, 3), (2, 3), (2,), None)
    """
    if type(value) is tuple and all(type(n) is int for n in value):
        return value
    items = items_of(value)
    if items is None:
        items = [value]
    out = []
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


class MissingParameter(CynetError, AttributeError):
    """A required parameter was read of a property made without it, to ask for names."""


class Field:
    """One parameter: a descriptor that a property class declares and its instances read.

    Parameters
    ----------
    default : optional
        Value when the caller gives none; without it the parameter is required. ``None`` makes it
        optional and unset.
    doc : str
        One sentence for the operator's docstring.
    """

    kind = "value"

    def __init__(self, default=REQUIRED, doc=""):
        self.default = default
        self.doc = doc
        self.name = None

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance: object, owner: object = None) -> typing.Any:
        if instance is None:
            return self
        value = instance.__dict__.get(self.name, self.default)
        if value is REQUIRED:
            raise MissingParameter(f"the required parameter '{self.name}' is not given")
        return value

    def parse(self, value, where):
        """The typed value, or ArgumentError / ArgumentTypeError that names `where` and this."""
        if value is None or (isinstance(value, str) and value == "None"):
            if self.default is None:
                return None
            self.refuse(value, where)
        return self.convert(value, where)

    def convert(self, value, where):
        """What a subclass does with a value that is not None."""
        raise UndefinedError(f"{type(self).__name__} defines no convert")

    def refuse(self, value, where, wrong_type=True):
        """Raise the error that says what this parameter takes."""
        error = ArgumentTypeError if wrong_type and not isinstance(value, str) else ArgumentError
        raise error(f"{where}: parameter '{self.name}' takes {self.expected()}, got {shown(value)}")

    def expected(self):
        """What values fit, in words."""
        return self.kind

    def text(self, value):
        """The string MXNet's JSON has for `value`."""
        return str(value)


class Int(Field):
    """An integer, with optional bounds (inclusive)."""

    kind = "int"

    def __init__(self, default=REQUIRED, doc="", low=None, high=None):
        super().__init__(default, doc)
        self.low, self.high = low, high

    def convert(self, value, where):
        number = whole_number(value)
        if number is None:
            self.refuse(value, where)
        low, high = INT64
        if (
            not (low if self.low is None else self.low)
            <= number
            <= (high if self.high is None else self.high)
        ):
            self.refuse(value, where, wrong_type=False)
        return number

    def expected(self):
        if self.low is None and self.high is None:
            return "an int of 64 bits"
        low = "" if self.low is None else f" >= {self.low}"
        high = "" if self.high is None else f" <= {self.high}"
        return f"an int{low}{' and' if low and high else ''}{high}"


class IntOrNone(Int):
    """An integer, or None, which is not the default."""

    def parse(self, value, where):
        none = value is None or (isinstance(value, str) and value == "None")
        return None if none else super().parse(value, where)

    def expected(self):
        return f"{super().expected()} or None"


# From here on a number is infinity in float32
BEYOND_FLOAT32 = 3.4028235677973366e38


class Float(Field):
    """A real number within float32's range, or infinity or NaN; with optional bounds
    (inclusive)."""

    kind = "float"
    beyond = BEYOND_FLOAT32

    def __init__(self, default=REQUIRED, doc="", low=None, high=None):
        super().__init__(default, doc)
        self.low, self.high = low, high

    def convert(self, value, where):
        number = real_number(value)
        if number is None:
            self.refuse(value, where)
        if (self.low is not None and not number >= self.low) or (
            self.high is not None and not number <= self.high
        ):
            self.refuse(value, where, wrong_type=False)
        if self.beyond <= abs(number) < math.inf:
            raise ArgumentError(
                f"{where}: parameter '{self.name}' takes {self.expected()} within float32's "
                f"range, got {shown(value)}"
            )
        return number

    def expected(self):
        low = "" if self.low is None else f" >= {self.low}"
        high = "" if self.high is None else f" <= {self.high}"
        return f"a float{low}{' and' if low and high else ''}{high}"


class Double(Float):
    """A real number of any size."""

    kind = "double"
    beyond = math.inf


class LargeInt(float):
    """An integer that no float is; `exact` is its value."""

    def __new__(cls, value):
        self = super().__new__(cls, value)
        self.exact = value
        return self


class Number(Double):
    """A real number of any size; an integer of 64 bits stays exact, as a `LargeInt` if need be."""

    def convert(self, value, where):
        number = super().convert(value, where)
        exact = whole_number(value)
        if exact is not None and exact != number and INT64[0] <= exact <= INT64[1]:
            return LargeInt(exact)
        return number

    def text(self, value):
        return str(value.exact) if isinstance(value, LargeInt) else super().text(value)


class Bool(Field):
    """True or False; also 1, 0, 'True', 'true', '1' and their opposites."""

    kind = "boolean"
    _WORDS = {"True": True, "true": True, "1": True, "False": False, "false": False, "0": False}

    def convert(self, value, where):
        if isinstance(value, str):
            if value not in self._WORDS:
                self.refuse(value, where)
            return self._WORDS[value]
        number = int(value) if isinstance(value, np.bool_) else whole_number(value)
        if number not in (0, 1):
            self.refuse(value, where, wrong_type=number is None)
        return bool(number)

    def expected(self):
        return "a bool"


class Shape(Field):
    """A tuple of ints: (2, 2), [2, 2], 2, '(2, 2)' or '[2,2]'."""

    kind = "Shape(tuple)"

    def __init__(self, default=REQUIRED, doc="", low=None, length=None, allow_none=False):
        super().__init__(default, doc)
        self.low, self.length, self.allow_none = low, length, allow_none

    def convert(self, value, where):
        shape = read_shape(value, self.allow_none)
        if shape is None:
            self.refuse(value, where)
        if self.length is not None and len(shape) not in (
            self.length if isinstance(self.length, tuple) else (self.length,)
        ):
            self.refuse(value, where, wrong_type=False)
        low, high = INT64
        low = low if self.low is None else self.low
        if not all(n is None or low <= n <= high for n in shape):
            self.refuse(value, where, wrong_type=False)
        return shape

    def expected(self):
        low = "" if self.low is None else f" >= {self.low}"
        size = "" if self.length is None else f" of length {self.length}"
        return f"a tuple of ints{low}{size}"

    def text(self, value):
        return "(" + ",".join(map(str, value)) + ("," if len(value) == 1 else "") + ")"


class Enum(Field):
    """One of a few words."""

    kind = "enum"

    def __init__(self, choices, default=REQUIRED, doc=""):
        super().__init__(default, doc)
        if not isinstance(choices, (list, tuple)):
            raise ArgumentTypeError(f"Enum: choices must be a list of str, got {shown(choices)}")
        self.choices = tuple(choices)

    def convert(self, value, where):
        if not isinstance(value, str) or value not in self.choices:
            self.refuse(value, where)
        return str(value)

    def expected(self):
        return "one of " + ", ".join(map(repr, self.choices))


class Str(Field):
    """A string."""

    kind = "string"

    def convert(self, value, where):
        if not isinstance(value, str):
            self.refuse(value, where)
        return value

    def expected(self):
        return "a str"


class DType(Field):
    """An element type: a name or anything NumPy takes as a dtype; kept as its name."""

    kind = "dtype"

    def convert(self, value, where):
        try:
            return name_of(value)
        except Exception:  # NumPy reads a dtype from much, and raises of many classes
            self.refuse(value, where)

    def expected(self):
        return "one of " + ", ".join(FLAGS)


class FloatTuple(Field):
    """A tuple of real numbers: (0.1, 0.2), [0.1], 0.1 or '(0.1, 0.2)'."""

    kind = "tuple of <float>"

    def convert(self, value, where):
        items = items_of(value)
        numbers = tuple(real_number(item) for item in ([value] if items is None else items))
        if None in numbers:
            self.refuse(value, where)
        return numbers

    def expected(self):
        return "a tuple of floats"


class Any(Field):
    """Any value, kept as it is (a keyword a user-defined operator hands on)."""

    def convert(self, value, where):
        return value
