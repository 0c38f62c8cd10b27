"""Typed parameter fields of an OperatorProperty, parsed from Python values and MXNet's strings."""

import ast

from ..dtype import NAMES, dtype_flag, numpy_dtype
from ..errors import ArgumentError, ArgumentTypeError, CynetError, shown

REQUIRED = object()  # the default of a field that must be given
MOST_ARRAYS = 1 << 16  # inputs or outputs of one operator: they are counted before they are listed


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

    def __get__(self, instance, owner=None):
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
        raise AttributeError(f"{type(self).__name__} defines no convert")

    def refuse(self, value, where, wrong_type=True, more=""):
        """Raise the error that says what this parameter takes."""
        error = ArgumentTypeError if wrong_type and not isinstance(value, str) else ArgumentError
        raise error(
            f"{where}: parameter '{self.name}' takes {self.expected()}{more}, got {shown(value)}"
        )

    def check_width(self, numbers, value, where):
        """Refuse `value` where one of the whole `numbers` in it does not fit 64 bits."""
        if any(n is not None and not -(1 << 63) <= n < 1 << 63 for n in numbers):
            self.refuse(value, where, wrong_type=False, more=" of at most 64 bits")

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
        if isinstance(value, bool):
            value = int(value)
        if isinstance(value, str):
            if value in ("True", "False"):
                value = int(value == "True")
            else:
                try:
                    value = int(value)
                except ValueError:
                    self.refuse(value, where)
        else:
            try:
                value = value.__index__()
            except AttributeError:
                if not (isinstance(value, float) and value.is_integer()):
                    self.refuse(value, where)
                value = int(value)
        if (self.low is not None and value < self.low) or (
            self.high is not None and value > self.high
        ):
            self.refuse(value, where, wrong_type=False)
        self.check_width((value,), value, where)
        return value

    def expected(self):
        if self.low is None and self.high is None:
            return "an int"
        low = "" if self.low is None else f" >= {self.low}"
        high = "" if self.high is None else f" <= {self.high}"
        return f"an int{low}{' and' if low and high else ''}{high}"


class IntOrNone(Int):
    """An integer, or None, which is not the default."""

    def parse(self, value, where):
        return None if value is None or value == "None" else super().parse(value, where)

    def expected(self):
        return f"{super().expected()} or None"


class Float(Field):
    """A real number, with optional bounds (inclusive)."""

    kind = "float"

    def __init__(self, default=REQUIRED, doc="", low=None, high=None):
        super().__init__(default, doc)
        self.low, self.high = low, high

    def convert(self, value, where):
        try:
            value = float(value)
        except (TypeError, ValueError):
            self.refuse(value, where)
        if (self.low is not None and value < self.low) or (
            self.high is not None and value > self.high
        ):
            self.refuse(value, where, wrong_type=False)
        return value

    def expected(self):
        low = "" if self.low is None else f" >= {self.low}"
        high = "" if self.high is None else f" <= {self.high}"
        return f"a float{low}{' and' if low and high else ''}{high}"


class Bool(Field):
    """True or False; also 1, 0, 'True', 'true', '1' and their opposites."""

    kind = "boolean"
    _WORDS = {"True": True, "true": True, "1": True, "False": False, "false": False, "0": False}

    def convert(self, value, where):
        if isinstance(value, str):
            if value not in self._WORDS:
                self.refuse(value, where)
            return self._WORDS[value]
        try:
            number = value.__index__()
        except AttributeError:
            if type(value).__name__ in ("bool_", "bool"):
                return bool(value)
            self.refuse(value, where)
        if number not in (0, 1):
            self.refuse(value, where, wrong_type=False)
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
        original = value
        if isinstance(value, str):
            try:
                value = ast.literal_eval(value.replace("L", "").strip() or "()")
            except (ValueError, SyntaxError):
                self.refuse(original, where)
        if hasattr(value, "__index__") and not getattr(value, "ndim", 0):
            value = (value,)
        try:
            value = tuple(None if v is None and self.allow_none else v.__index__() for v in value)
        except (TypeError, AttributeError):
            self.refuse(original, where)
        if self.length is not None and len(value) not in (
            self.length if isinstance(self.length, tuple) else (self.length,)
        ):
            self.refuse(original, where, wrong_type=False)
        if self.low is not None and any(v is not None and v < self.low for v in value):
            self.refuse(original, where, wrong_type=False)
        self.check_width(value, original, where)
        return value

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
        self.choices = tuple(choices)

    def convert(self, value, where):
        if value not in self.choices:
            self.refuse(value, where)
        return value

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
            return str(numpy_dtype(dtype_flag(value)))
        except TypeError:
            self.refuse(value, where)

    def expected(self):
        return "one of " + ", ".join(NAMES)


class FloatTuple(Field):
    """A tuple of real numbers: (0.1, 0.2), [0.1], 0.1 or '(0.1, 0.2)'."""

    kind = "tuple of <float>"

    def convert(self, value, where):
        original = value
        if isinstance(value, str):
            try:
                value = ast.literal_eval(value.strip() or "()")
            except (ValueError, SyntaxError):
                self.refuse(original, where)
        if isinstance(value, (int, float)):
            value = (value,)
        try:
            return tuple(float(v) for v in value)
        except (TypeError, ValueError):
            self.refuse(original, where)

    def expected(self):
        return "a tuple of floats"


class Any(Field):
    """Any value, kept as it is (a keyword a user-defined operator hands on)."""

    def convert(self, value, where):
        return value
