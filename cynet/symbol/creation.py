"""Functions of mx.sym written in Python: symbols from numbers, functions of symbols and numbers."""

from __future__ import annotations

import operator as python_operator
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import ArgumentTypeError
from ..base.guard import guarded
from ..base.kinds import is_single_int
from ..operator._base import get_operator
from ..operator.array_methods import BINARY
from ..operator.checks.shapes import require_shape_tuple
from ..operator.paragraphs import with_paragraphs
from .register import function_of
from .symbol import Symbol

if TYPE_CHECKING:
    from ..typing import DTypeLike, ShapeLike


_with_shared_docs = with_paragraphs(  # decorator that adds shared docs
    node="""dtype : str or numpy.dtype, optional
    Element type; float32 by default.
name : str, optional
    Name of the symbol.
**kwargs
    Name and attributes of the node: ``name``, ``attr``.""",
    named="""name : str, optional
    Name of the symbol.
dtype : str or numpy.dtype, optional
    Element type; float32 by default.""",
    operands="""left, right : Symbol or number
    The operands.

Returns
-------
Symbol
    A number when both are numbers.""",
)


def _apply(operator, *args, **kwargs):  # applies an operator by its name
    return function_of(operator, get_operator(operator))(*args, **kwargs)


def _dtype(dtype):  # float32 by default
    return "float32" if dtype is None else dtype


@guarded
@_with_shared_docs
def zeros(
    shape: ShapeLike, dtype: DTypeLike | None = None, name: str | None = None, **kwargs: Any
) -> Symbol:
    """A symbol of zeros.

    Parameters
    ----------
    {node}

    Examples
    --------
    >>> zeros((2, 3)).infer_shape()[1]
    [(2, 3)]
    """
    require_shape_tuple("zeros", shape, dtype, name)
    return _apply("_zeros", shape=shape, dtype=_dtype(dtype), name=name, **kwargs)


@guarded
@_with_shared_docs
def ones(
    shape: ShapeLike, dtype: DTypeLike | None = None, name: str | None = None, **kwargs: Any
) -> Symbol:
    """A symbol of ones; parameters as of `zeros`.

    Parameters
    ----------
    {node}

    Examples
    --------
    >>> mx.sym.ones((2, 3)).infer_shape()[1]
    [(2, 3)]
    """
    require_shape_tuple("ones", shape, dtype, name)
    return _apply("_ones", shape=shape, dtype=_dtype(dtype), name=name, **kwargs)


@guarded
@_with_shared_docs
def full(
    shape: ShapeLike,
    val: float,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    **kwargs: Any,
) -> Symbol:
    """A symbol filled with the number `val`; parameters else as of `zeros`.

    Parameters
    ----------
    val : number
        Value of all elements.
    {node}

    Examples
    --------
    >>> mx.sym.full((2, 2), 7).eval()[0]
    [[7. 7.]
     [7. 7.]]
    <NDArray 2x2 @cpu(0)>
    """
    if type(dtype) is int:
        require_shape_tuple("full", shape, val, dtype, name)
    return _apply("_full", shape=shape, dtype=_dtype(dtype), value=float(val), name=name, **kwargs)


@guarded
@_with_shared_docs
def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    name: str | None = None,
    dtype: DTypeLike | None = None,
) -> Symbol:
    """Evenly spaced numbers in ``[start, stop)``, or ``[0, start)`` without `stop`; each `repeat`
    times.

    Parameters
    ----------
    start, stop, step : float
        Start, end (not included) and distance of the numbers; `start` alone is the end, from 0.
    repeat : int
        How often each number is repeated.
    infer_range : bool
        Let inference find `stop` from the shape that is needed.
    {named}

    Examples
    --------
    >>> mx.sym.arange(1, 7, step=2).eval()[0]
    [1. 3. 5.]
    <NDArray 3 @cpu(0)>
    """
    numbers = {"start": start, "stop": stop, "step": step, "repeat": repeat}
    node = {"dtype": _dtype(dtype), "name": name}
    return _apply("_arange", **numbers, infer_range=infer_range, **node)


@guarded
@_with_shared_docs
def linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    name: str | None = None,
    dtype: DTypeLike | None = None,
) -> Symbol:
    """`num` evenly spaced numbers from `start` to `stop`, which is the last one unless `endpoint`
    is False.

    Parameters
    ----------
    start, stop : float
        The first and the last number.
    num : int
        Number of values.
    endpoint : bool
        Whether `stop` is the last value; if False, it is left out.
    {named}

    Examples
    --------
    >>> mx.sym.linspace(0, 1, 5).eval()[0]
    [0.   0.25 0.5  0.75 1.  ]
    <NDArray 5 @cpu(0)>
    """
    node = {"dtype": _dtype(dtype), "name": name}
    return _apply("_linspace", start=start, stop=stop, num=num, endpoint=endpoint, **node)


@guarded
@_with_shared_docs
def eye(
    N: int,
    M: int = 0,
    k: int = 0,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    **kwargs: Any,
) -> Symbol:
    """A matrix of N x M (N x N without `M`) with ones on the `k`-th diagonal.

    Parameters
    ----------
    N, M : int
        Number of rows and of columns; 0 columns means as many as rows.
    k : int
        Number of the diagonal: 0 is the main one, positive ones are above it.
    {node}

    Examples
    --------
    >>> mx.sym.eye(2, 3).infer_shape()[1]
    [(2, 3)]
    """
    return _apply("_eye", N=N, M=M, k=k, dtype=_dtype(dtype), name=name, **kwargs)


def _apply_binary(name, left, right, python):
    """Apply a function to two operands, each a Symbol or a number."""
    row = BINARY[name]
    if isinstance(left, Symbol):
        if isinstance(right, Symbol):
            return _apply_with_hint(row.same, row.name_hint, left, right)
        if isinstance(right, Number):
            return _apply_with_hint(row.scalar, row.scalar_hint, left, scalar=right)
    elif isinstance(left, Number):
        if isinstance(right, Symbol):
            return _apply_with_hint(row.reflected, row.reflected_hint, right, scalar=left)
        if isinstance(right, Number):
            return python(left, right)
    raise ArgumentTypeError(
        f"{name}: operands must be Symbols or numbers, got {type(left).__name__} and "
        f"{type(right).__name__}"
    )


def _apply_with_hint(operator, name_hint, *args, **kwargs):  # name_hint: start of an automatic name
    return function_of(operator, get_operator(operator), name_hint)(*args, **kwargs)


@guarded
def power(base: Symbol | Number, exp: Symbol | float) -> Any:
    """``base ** exp``; each may be a Symbol or a number.

    Parameters
    ----------
    base, exp : Symbol or number
        Base and exponent.

    Returns
    -------
    Symbol
        A number when both are numbers.

    Examples
    --------
    >>> mx.sym.pow(mx.sym.var("x"), 2).eval(x=mx.nd.array([3, 5]))[0]
    [ 9. 25.]
    <NDArray 2 @cpu(0)>
    """
    return _apply_binary("power", base, exp, python_operator.pow)


pow = power


@guarded
@_with_shared_docs
def maximum(left: Symbol | float, right: Symbol | float) -> Any:
    """The larger of two, element by element; each may be a Symbol or a number.

    Parameters
    ----------
    {operands}

    Examples
    --------
    >>> mx.sym.maximum(mx.sym.var("x"), 4).eval(x=mx.nd.array([3, 5]))[0]
    [4. 5.]
    <NDArray 2 @cpu(0)>
    """
    return _apply_binary("maximum", left, right, max)


@guarded
@_with_shared_docs
def minimum(left: Symbol | float, right: Symbol | float) -> Any:
    """The smaller of two, element by element; each may be a Symbol or a number.

    Parameters
    ----------
    {operands}

    Examples
    --------
    >>> mx.sym.minimum(mx.sym.var("x"), 4).eval(x=mx.nd.array([3, 5]))[0]
    [3. 4.]
    <NDArray 2 @cpu(0)>
    """
    return _apply_binary("minimum", left, right, min)


@guarded
@_with_shared_docs
def hypot(left: Symbol | float, right: Symbol | float) -> Any:
    """``sqrt(left**2 + right**2)``; each may be a Symbol or a number.

    Parameters
    ----------
    {operands}

    Examples
    --------
    >>> mx.sym.hypot(mx.sym.var("x"), 4).eval(x=mx.nd.array([3]))[0]
    [5.]
    <NDArray 1 @cpu(0)>
    """
    return _apply_binary("hypot", left, right, np.hypot)


@guarded
def split_v2(
    ary: Symbol, indices_or_sections: ShapeLike, axis: int = 0, squeeze_axis: bool = False
) -> Symbol:
    """Split into equal parts, or at indices: a symbol with one output for each part.

    Parameters
    ----------
    ary : Symbol
        The symbol to split.
    axis : int
        The axis to split along.
    squeeze_axis : bool
        Remove `axis` from the parts, which must have length 1 along it.

    Examples
    --------
    >>> mx.sym.split_v2(mx.sym.var("x"), (1, 3)).infer_shape(x=(5, 2))[1]
    [(1, 2), (2, 2), (2, 2)]
    """
    if is_single_int(indices_or_sections):
        indices, sections = [], indices_or_sections
    else:
        indices, sections = [0, *indices_or_sections], 0
    return _apply(
        "_split_v2", ary, indices=indices, sections=sections, axis=axis, squeeze_axis=squeeze_axis
    )
