"""Typed parameter fields of an OperatorProperty, parsed from Python values and MXNet's strings."""

from __future__ import annotations

import math
import typing

import numpy as np

from ..base.dtype import FLAGS, name_of
from ..base.errors import ArgumentError, ArgumentTypeError, CynetError, UndefinedError, shown
from ..context import Context
from .checks.values import read_list, read_shape, real_number, whole_number

REQUIRED = object()  # the default of a field that must be given
INT64_RANGE = -(1 << 63), (1 << 63) - 1  # the least and the largest int of a parameter
MAX_ARRAYS = 1 << 16  # maximum of inputs or outputs of one operator, checked before they are listed


class MissingParameter(CynetError, AttributeError):
    """A required parameter was read of a property that was created without it for its names."""


class Field:  # an operator's parameter, as a descriptor
    """A parameter of an operator: a descriptor that a property class declares and instances read.

    Subclass it for a kind of parameter that cynet does not have: `convert` makes the value,
    `expected` says in words what fits.

    Parameters
    ----------
    default : optional
        Value when the caller gives none; without it the parameter is required. ``None`` makes it
        optional and unset.
    doc : str
        Description in the operator's docstring, one sentence.

    Examples
    --------
    >>> class Even(mx.operator.Field):
    ...     def convert(self, value, where):
    ...         if not isinstance(value, int) or value % 2:
    ...             self.refuse(value, where)
    ...         return value
    ...     def expected(self):
    ...         return "an even int"
    >>> class Window(mx.operator.OperatorProperty):
    ...     size = Even(4, doc="How wide the window is.")
    >>> Window().size, Window(size=6).size
    (4, 6)
    >>> Window(size=3)
    Traceback (most recent call last):
        ...
    cynet.errors.ArgumentTypeError: operator Window: parameter 'size' takes an even int, got 3
    """

    kind = "value"

    def __init__(self, default: typing.Any = REQUIRED, doc: str = "") -> None:
        self.default, self.doc = default, doc
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: object = None) -> typing.Any:
        if instance is None:
            return self
        value = instance.__dict__.get(self.name, self.default)
        if value is REQUIRED:
            raise MissingParameter(f"the required parameter '{self.name}' is not given")
        return value

    def parse(self, value: typing.Any, where: str) -> typing.Any:
        """Convert a caller's value, an object or its text, to the typed value.

        Parameters
        ----------
        value : object
            ``None`` and ``'None'`` are taken only if the default is ``None``.
        where : str
            Beginning of the error message, which names the operator: ``'operator Pooling'``.

        Returns
        -------
        object
            What `convert` makes of the value, or None.

        Raises
        ------
        ArgumentError
            If the value, a string or a number out of bounds, does not fit.
        ArgumentTypeError
            If its type does not fit.

        Examples
        --------
        >>> from cynet.operator import get_operator
        >>> kernel = get_operator("Pooling").prop.fields["kernel"]
        >>> kernel.parse("(3, 3)", "operator Pooling")
        (3, 3)
        """
        if value is None or (isinstance(value, str) and value == "None"):
            if self.default is None:
                return None
            self.refuse(value, where)
        return self.convert(value, where)

    def convert(self, value: typing.Any, where: str) -> typing.Any:
        """Convert a value other than None: each kind of parameter defines it.

        Parameters
        ----------
        value : object
            What the caller gave, possibly as a string.
        where : str
            Beginning of the error message, which names the operator: ``'operator Pooling'``.

        Returns
        -------
        object
            The value as forward and the graph's passes read it.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            If it does not fit (see `refuse`).
        UndefinedError
            If the class of the parameter defines no ``convert``.

        Examples
        --------
        >>> mx.operator.Int().convert("7", "operator f"), mx.operator.Bool().convert(0, "f")
        (7, False)
        """
        raise UndefinedError(f"{type(self).__name__} defines no convert")

    def refuse(self, value: object, where: str, wrong_type: bool = True) -> typing.NoReturn:
        """Raise the error with the accepted values and the given value.

        Parameters
        ----------
        value : object
            The value that does not fit.
        where : str
            Beginning of the error message, which names the operator: ``'operator Pooling'``.
        wrong_type : bool
            False if a value of this type could have fitted, as for a number out of bounds.

        Raises
        ------
        ArgumentError
            If the value is a string, or `wrong_type` is false.
        ArgumentTypeError
            Otherwise; it is also a ``TypeError``.

        Examples
        --------
        >>> mx.nd.Pooling(mx.nd.ones((1, 1, 4, 4)), kernel=(2, 2), pool_type="mean")
        Traceback (most recent call last):
            ...
        cynet.errors.ArgumentError: operator Pooling: parameter 'pool_type' takes one of 'max',
            'avg', 'sum', 'lp', got 'mean'
        """
        error = ArgumentTypeError if wrong_type and not isinstance(value, str) else ArgumentError
        raise error(f"{where}: parameter '{self.name}' takes {self.expected()}, got {shown(value)}")

    def expected(self) -> str:
        """Describe the accepted values, for messages and docstrings.

        Examples
        --------
        >>> mx.operator.Int(low=1).expected(), mx.operator.Enum(["max", "avg"]).expected()
        ('an int >= 1', "one of 'max', 'avg'")
        """
        return self.kind

    def text(self, value: typing.Any) -> str:
        """Write a value as the JSON file of a network has it.

        Parameters
        ----------
        value : object
            A value that `convert` made.

        Returns
        -------
        str
            What `parse` makes the value of again.

        Examples
        --------
        >>> mx.operator.Shape().text((2, 2)), mx.operator.Bool().text(True)
        ('(2,2)', 'True')
        """
        return str(value)


class _BoundedField(Field):  # base of numbers with optional bounds
    """Base of numbers with optional bounds."""

    def __init__(
        self,
        default: object = REQUIRED,
        doc: str = "",
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        super().__init__(default, doc)
        self.low, self.high = low, high

    def _bounds(self) -> str:
        low = "" if self.low is None else f" >= {self.low}"
        high = "" if self.high is None else f" <= {self.high}"
        return f"{low}{' and' if low and high else ''}{high}"


class Int(_BoundedField):  # a parameter: an integer of 64 bits
    """An integer of 64 bits, with optional bounds.

    It takes ints, whole floats, bools, and the text of these.

    Parameters
    ----------
    default : int or None, optional
        Value if the caller does not give one; a parameter without a default is required.
    doc : str
        Description in the operator's docstring, one sentence.
    low, high : int, optional
        Smallest and largest value that is allowed.

    Examples
    --------
    >>> class Repeat(mx.operator.OperatorProperty):
    ...     times = mx.operator.Int(1, doc="How often.", low=1)
    >>> Repeat(times="3").times, Repeat().times
    (3, 1)
    >>> Repeat(times=0)
    Traceback (most recent call last):
        ...
    cynet.errors.ArgumentError: operator Repeat: parameter 'times' takes an int >= 1, got 0
    """

    kind = "int"

    def convert(self, value: typing.Any, where: str) -> typing.Any:
        number = whole_number(value)
        if number is None:
            self.refuse(value, where)
        low = INT64_RANGE[0] if self.low is None else self.low
        high = INT64_RANGE[1] if self.high is None else self.high
        if not low <= number <= high:
            self.refuse(value, where, wrong_type=False)
        return number

    def expected(self) -> str:
        return f"an int{self._bounds() or ' of 64 bits'}"


class IntOrNone(Int):
    """An integer, or None even if the default is not None."""

    def parse(self, value: typing.Any, where: str) -> typing.Any:
        none = value is None or (isinstance(value, str) and value == "None")
        return None if none else super().parse(value, where)

    def expected(self) -> str:
        return f"{super().expected()} or None"


BEYOND_FLOAT32 = 3.4028235677973366e38  # the smallest number that becomes infinity in float32


class Float(_BoundedField):  # a parameter: a number in float32's range
    """A real number within float32's range, or infinity or NaN, with optional bounds.

    Parameters
    ----------
    default : float or None, optional
        Value if the caller does not give one; a parameter without a default is required.
    doc : str
        Description in the operator's docstring, one sentence.
    low, high : float, optional
        Smallest and largest value that is allowed; with a bound NaN is refused.

    Examples
    --------
    >>> class Leaky(mx.operator.OperatorProperty):
    ...     slope = mx.operator.Float(0.25, doc="Slope of the negative part.", low=0)
    >>> Leaky(slope="1e-2").slope
    0.01
    >>> Leaky(slope=1e39)
    Traceback (most recent call last):
        ...
    cynet.errors.ArgumentError: operator Leaky: parameter 'slope' takes a float >= 0 within
        float32's range, got 1e+39
    """

    kind = "float"
    beyond = BEYOND_FLOAT32

    def convert(self, value: typing.Any, where: str) -> typing.Any:
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

    def expected(self) -> str:
        return "a float" + self._bounds()


class Double(Float):
    """A real number of any size."""

    kind = "double"
    beyond = math.inf


class LargeInt(float):  # an integer that no float represents; `exact` has it
    """An integer that no float represents exactly; `exact` is its value."""

    exact: int

    def __new__(cls, value: int) -> LargeInt:
        self = super().__new__(cls, value)
        self.exact = value
        return self


class Number(Double):  # a real; 64-bit integers stay exact
    """A real number of any size; an integer of 64 bits stays exact, as a `LargeInt` if need be."""

    def convert(self, value: typing.Any, where: str) -> typing.Any:
        number = super().convert(value, where)
        exact = whole_number(value)
        if exact is not None and exact != number and INT64_RANGE[0] <= exact <= INT64_RANGE[1]:
            return LargeInt(exact)
        return number

    def text(self, value: typing.Any) -> str:
        return str(value.exact) if isinstance(value, LargeInt) else super().text(value)


class Bool(Field):
    """True or False; also 1, 0, 'True', 'true', '1' and their opposites.

    Parameters
    ----------
    default : bool or None, optional
        Value if the caller does not give one; a parameter without a default is required.
    doc : str
        Description in the operator's docstring, one sentence.

    Examples
    --------
    >>> class Sum(mx.operator.OperatorProperty):
    ...     keepdims = mx.operator.Bool(False, doc="Keep the axis with length 1.")
    >>> Sum(keepdims="true").keepdims, Sum(keepdims=0).keepdims
    (True, False)
    """

    kind = "boolean"
    _WORDS = {"True": True, "true": True, "1": True, "False": False, "false": False, "0": False}

    def convert(self, value: typing.Any, where: str) -> typing.Any:
        if isinstance(value, str):
            if value not in self._WORDS:
                self.refuse(value, where)
            return self._WORDS[value]
        number = int(value) if isinstance(value, np.bool_) else whole_number(value)
        if number not in (0, 1):
            self.refuse(value, where, wrong_type=number is None)
        return bool(number)

    def expected(self) -> str:
        return "a bool"


class Shape(Field):  # a parameter: a tuple of integers
    """A tuple of ints: (2, 2), [2, 2], 2, '(2, 2)' or '[2,2]'.

    Parameters
    ----------
    default : tuple of int or None, optional
        Value if the caller does not give one; a parameter without a default is required.
    doc : str
        Description in the operator's docstring, one sentence.
    low : int, optional
        Smallest number that is allowed in the tuple; by default any of 64 bits.
    length : int or tuple of int, optional
        Length of the tuple, or the lengths that it may have.
    allow_none : bool
        Whether numbers may be None, as the ends of ``slice``.

    Examples
    --------
    >>> class Crop(mx.operator.OperatorProperty):
    ...     size = mx.operator.Shape(doc="Height and width.", low=1, length=2)
    >>> Crop(size="(4, 6)").size
    (4, 6)
    >>> Crop(size=(4, 6, 3))
    Traceback (most recent call last):
        ...
    cynet.errors.ArgumentError: operator Crop: parameter 'size' takes a tuple of ints >= 1 of length
        2, got (4, 6, 3)
    """

    kind = "Shape(tuple)"

    def __init__(
        self,
        default: object = REQUIRED,
        doc: str = "",
        low: int | None = None,
        length: int | tuple[int, ...] | None = None,
        allow_none: bool = False,
    ) -> None:
        super().__init__(default, doc)
        self.low, self.length, self.allow_none = low, length, allow_none

    def convert(self, value: typing.Any, where: str) -> typing.Any:
        shape = read_shape(value, self.allow_none)
        if shape is None:
            self.refuse(value, where)
        lengths = self.length if isinstance(self.length, tuple) else (self.length,)
        if self.length is not None and len(shape) not in lengths:
            self.refuse(value, where, wrong_type=False)
        low, high = INT64_RANGE
        low = low if self.low is None else self.low
        if not all(n is None or low <= n <= high for n in shape):
            self.refuse(value, where, wrong_type=False)
        return shape

    def expected(self) -> str:
        low = "" if self.low is None else f" >= {self.low}"
        size = "" if self.length is None else f" of length {self.length}"
        return f"a tuple of ints{low}{size}"

    def text(self, value: typing.Any) -> str:
        return "(" + ",".join(map(str, value)) + ("," if len(value) == 1 else "") + ")"


class Enum(Field):  # a parameter: one of some strings
    """A str out of several choices.

    Parameters
    ----------
    choices : list or tuple of str
        The words; case matters.
    default : str or None, optional
        Value if the caller does not give one; a parameter without a default is required.
    doc : str
        Description in the operator's docstring, one sentence.

    Raises
    ------
    ArgumentTypeError
        If `choices` is neither a list nor a tuple.

    Examples
    --------
    >>> class Pad(mx.operator.OperatorProperty):
    ...     mode = mx.operator.Enum(["edge", "reflect"], "edge", doc="What the border holds.")
    >>> Pad().mode
    'edge'
    >>> Pad(mode="wrap")
    Traceback (most recent call last):
        ...
    cynet.errors.ArgumentError: operator Pad: parameter 'mode' takes one of 'edge', 'reflect', got
        'wrap'
    """

    kind = "enum"

    def __init__(
        self, choices: list[str] | tuple[str, ...], default: object = REQUIRED, doc: str = ""
    ) -> None:
        super().__init__(default, doc)
        if not isinstance(choices, (list, tuple)):
            raise ArgumentTypeError(f"Enum: choices must be a list of str, got {shown(choices)}")
        self.choices = tuple(choices)

    def convert(self, value: typing.Any, where: str) -> typing.Any:
        if not isinstance(value, str) or value not in self.choices:
            self.refuse(value, where)
        return str(value)

    def expected(self) -> str:
        return "one of " + ", ".join(map(repr, self.choices))


class Str(Field):
    """A string, unchanged.

    Parameters
    ----------
    default : str or None, optional
        Value if the caller does not give one; a parameter without a default is required.
    doc : str
        Description in the operator's docstring, one sentence.

    Examples
    --------
    >>> class Einsum(mx.operator.OperatorProperty):
    ...     subscripts = mx.operator.Str(doc="Which axes are summed: 'ij,jk->ik'.")
    >>> Einsum(subscripts="ij->ji").subscripts
    'ij->ji'
    """

    kind = "string"

    def convert(self, value: typing.Any, where: str) -> typing.Any:
        if isinstance(value, Context):  # an operator's device
            return str(value)
        if not isinstance(value, str):
            self.refuse(value, where)
        return value

    def expected(self) -> str:
        return "a str"


class DType(Field):
    """An element type: a name or anything that NumPy accepts as a dtype; stored as its name.

    Parameters
    ----------
    default : str or None, optional
        Value if the caller does not give one; a parameter without a default is required.
    doc : str
        Description in the operator's docstring, one sentence.

    Examples
    --------
    >>> class To(mx.operator.OperatorProperty):
    ...     dtype = mx.operator.DType("float32", doc="Type of the output.")
    >>> To(dtype=np.float16).dtype, To(dtype="bfloat16").dtype
    ('float16', 'bfloat16')
    """

    kind = "dtype"

    def convert(self, value: typing.Any, where: str) -> typing.Any:
        try:
            return name_of(value)
        except Exception:  # NumPy accepts much as a dtype, and raises exceptions of many classes
            self.refuse(value, where)

    def expected(self) -> str:
        return "one of " + ", ".join(FLAGS)


class FloatTuple(Field):
    """A tuple of real numbers: (0.1, 0.2), [0.1], 0.1 or '(0.1, 0.2)'.

    Parameters
    ----------
    default : tuple of float or None, optional
        Value if the caller does not give one; a parameter without a default is required.
    doc : str
        Description in the operator's docstring, one sentence.

    Examples
    --------
    >>> class Anchors(mx.operator.OperatorProperty):
    ...     sizes = mx.operator.FloatTuple((1.0,), doc="Edges of the boxes.")
    >>> Anchors(sizes="(0.2, 0.5)").sizes, Anchors(sizes=1).sizes
    ((0.2, 0.5), (1.0,))
    """

    kind = "tuple of <float>"

    def convert(self, value: typing.Any, where: str) -> typing.Any:
        items = read_list(value)
        numbers = tuple(real_number(item) for item in ([value] if items is None else items))
        if None in numbers:
            self.refuse(value, where)
        return numbers

    def expected(self) -> str:
        return "a tuple of floats"


class Any(Field):  # a parameter: any value
    """Any value, unchanged (a keyword that a user-defined operator passes on)."""

    def convert(self, value: typing.Any, where: str) -> typing.Any:
        return value
