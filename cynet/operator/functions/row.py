"""Rows: everything about a mathematical function, from which its operators are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...base.errors import ArgumentTypeError
from ..precision import Precision

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..second_order import Flat, Linear
    from ..storage_types import SparseRule

# Dtypes of results for array classes that promote (NumPy's). `mx.nd` keeps the inputs' dtype.
SAME, BOOL, FLOAT, WIDE = "same", "bool", "float", "wide"  # dtypes of results
DEFAULT_PRECISION = Precision()  # float16 as it comes, bfloat16 in float32


class Gradient(NamedTuple):  # functors of a binary function's gradients
    """Gradient functors of one binary functor.

    lhs, rhs : str
        Names in functors.h, functions of both inputs; None where that input is always a number.
    reads : bool
        Whether they depend on the inputs at all.
    exists : bool
        False: the function is flat, its gradients are zero everywhere.
    """

    lhs: str
    rhs: str | None
    reads: bool = True
    exists: bool = True

    @property
    def backward_reads(self) -> tuple[str, ...]:
        """The names of the arrays that backward reads."""
        return BACKWARD_READS["x" if self.reads else ""]


# `reads` of a row -> the arrays that backward of a unary function reads.
BACKWARD_READS = {"": ("out_grad",), "x": ("out_grad", "in_data"), "y": ("out_grad", "out_data")}


class Row:  # a row of a table of functions
    """Base of rows: attributes by position, in the order of their declaration, or by name."""

    def __init__(self, *values: Any, **attributes: Any) -> None:
        fields = self.__annotations__
        self.__dict__.update(zip(fields, values), **attributes)
        if not attributes.keys() <= fields.keys():
            unknown = ", ".join(sorted(attributes.keys() - fields.keys()))
            raise ArgumentTypeError(f"{type(self).__name__} {values[0]!r} has no field {unknown}")


class Unary(Row):  # a function of one array: one operator
    """A unary function: one operator.

    name, doc: Of the operator; its sentence.
    example: Elements of an array, and what the operator prints of it; or the lines of an example.
    functor: Its name in functors.h, where that is not the operator's.
    aliases: Further names of the operator.
    gradient: The gradient's functor; None: no gradient flows through.
    reads: What that is a function of: ``'x'`` the data, ``'y'`` the output, ``''`` nothing.
    derivative: ``derivative(F, x, y)`` in operators of ``mx.nd``, for gradients of gradients;
        `Linear()` and `Flat()` where it is a constant.
    result: `SAME`, `BOOL` or `FLOAT`.
    simple, simple_gradient: Whether both functors, or that of the gradient, take about as long as
        an addition; others take some times as long.
    takes_bool: Whether the loops take arrays of bool.
    zero_stays: Whether it gives a sparse array for a sparse one, as ``f(0) = 0``.
    sparse: What else it does with sparse arrays.
    amp: What automatic mixed precision does.
    onnx: ONNX's word for it, or ``onnx(emit, x)``, which writes nodes: ``emit(word, *inputs)``.
    method: Whether arrays and symbols have it as a method.
    drawn_as: Kind of its nodes in pictures of networks.
    in_sparse: Whether ``mx.nd.sparse`` has it. None: where it gives sparse arrays.
    """

    name: str
    doc: str
    functor: str = ""
    aliases: tuple[str, ...] = ()
    gradient: str | None = None
    reads: str = ""
    derivative: Callable[..., Any] | Linear | Flat | None = None
    result: str = SAME
    simple: bool = False
    simple_gradient: bool = False
    takes_bool: bool = False
    zero_stays: bool = False
    sparse: SparseRule | None = None
    amp: Precision = DEFAULT_PRECISION
    onnx: str | Callable[..., Any] | None = None
    method: bool = True
    drawn_as: str = "other"
    in_sparse: bool | None = None
    example: str | tuple[str, str] = ""


class Form(Row):  # one operator of a binary function
    """One operator of a binary function.

    name, doc: Of the operator; its sentence.
    example: What the usual example of its kind prints (``examples.py``), or the lines of another
        one.
    aliases: Further names of the operator.
    derivative: Of an array and a number ``derivative(F, x, s)``, as of `Unary`. None: the
        function's.
    amp: What automatic mixed precision does. None: the function's.
    sparse: What it does with sparse arrays.
    at_zero: ``at_zero(s)``: the function of 0 and a number. Where it is 0, a sparse array stays
        sparse.
    in_sparse: As of `Unary`.
    bfloat16: Whether its loops take bfloat16; else they compute in float32 between conversions.
    """

    name: str
    doc: str
    example: str = ""
    aliases: tuple[str, ...] = ()
    derivative: Callable[..., Any] | Linear | Flat | None = None
    amp: Precision | None = None
    sparse: SparseRule | None = None
    at_zero: Callable[[float], float] | None = None
    in_sparse: bool | None = None
    bfloat16: bool = True


class Binary(Row):  # a function of two operands: four operators
    """A binary function: four operators, for arrays of one shape, for arrays that broadcast, for an
    array and a number, and for a number and an array.

    function: Its name in ``mx.nd``.
    functor: Its name in functors.h.
    gradient: Functors of the gradients.
    derivatives: ``derivative(F, a, b)`` by each operand, in operators of ``mx.nd``.
    same, broadcast, scalar, reflected: The operators. `reflected` may be another one's name, as
        ``2 > x`` is ``x < 2``; None where operands may change places.
    sign, method: How Python spells it; ``''`` where it does not.
    result: `SAME`, `BOOL` or `FLOAT`.
    simple: Whether the functors take about as long as an addition.
    amp: Of its operators. None: those of two arrays compute in the wider dtype.
    onnx: As of `Unary`.
    """

    function: str
    functor: str
    gradient: Gradient
    derivatives: tuple[Callable[..., Any], ...] = ()
    same: Form | None = None
    broadcast: Form | None = None
    scalar: Form | None = None
    reflected: Form | str | None = None
    sign: str = ""
    method: str = ""
    result: str = SAME
    simple: bool = False
    amp: Precision | None = None
    onnx: str | Callable[..., Any] | None = None

    def forms(self) -> dict[str, Form]:
        """Return the row's operators by kind."""
        kinds = ("same", "broadcast", "scalar", "reflected")
        return {kind: form for kind in kinds if isinstance(form := getattr(self, kind), Form)}


class Reduction(Row):  # a reduction over axes: one operator
    """A reduction over axes: one operator.

    name, doc, aliases, example, amp, result, onnx: As of `Unary`; `WIDE`: integers are summed as
        int64.
    reduction: The reducer's name.
    gradient: Functor of data and output.
    reads: Whether it is a function of them.
    mean: Whether the result is divided by the number of elements.
    of_nothing: Of no elements; None: that is refused.
    derivative: ``derivative(F, spread, g, x, y)``: the gradient from that of the output, in
        operators of ``mx.nd``; `spread` repeats what was reduced along the axes.
    sparse: What it does with sparse arrays.
    """

    name: str
    doc: str
    reduction: str
    gradient: str
    reads: bool = True
    mean: bool = False
    of_nothing: float | None = None
    aliases: tuple[str, ...] = ()
    derivative: Callable[..., Any] | Linear | None = None
    result: str = SAME
    amp: Precision = DEFAULT_PRECISION
    sparse: SparseRule | None = None
    onnx: str | None = None
    example: str | tuple[str, str] = ""
