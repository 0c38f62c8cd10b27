"""Making arrays: from Python and NumPy values, constants, ranges, other frameworks' memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.copy import copy_into
from .._ndarray import empty as empty_array
from ..base.dtype import DTYPES, NAMES, dtype_flag
from ..base.errors import ArgumentError, ArgumentTypeError, SizeError, listed, shown
from ..base.guard import guarded
from ..context import read_context
from ..operator.checks.shapes import check_elements, require_shape_tuple
from ..operator.paragraphs import with_paragraphs
from ._call import is_array
from ._fill import arithmetic_progression, diagonal, filled_array, filled_like
from ._indexing import from_host
from ._tape import record_copy_of
from .functions import function_of

if TYPE_CHECKING:
    from ..typing import ArrayLike, ContextLike, DTypeLike, NDArray, Number, ShapeLike

MAX_EXACT_INT = 1 << 53  # integers up to here are exact in float64


_with_shared_docs = with_paragraphs(
    placed="""ctx : Context, optional
    Device of the array; the current context by default.
dtype : str or numpy.dtype, optional
    Element type; float32 by default.""",
    stype="""stype : str, optional
    ``'csr'`` or ``'row_sparse'`` for a sparse array.""",
    out="""out : NDArray, optional
    Array that is filled instead of a new one.""",
    like="""data : NDArray
    Array whose shape, dtype and device are taken.
out : NDArray, optional
    Array that is filled instead of a new one.
name : str, optional
    Not used; only symbols have names.
**kwargs
    Ignored with a warning: the operator has no parameters.""",
)


def is_sparse_like(source):
    """Return whether an object is a sparse array, or a sparse matrix of SciPy."""
    if is_array(source):
        return source.stype != "default"
    return hasattr(source, "tocsr") and hasattr(source, "nnz")


def array(
    source_array: ArrayLike, ctx: ContextLike | None = None, dtype: DTypeLike | None = None
) -> NDArray:
    """An NDArray with the values of a list, a number, a NumPy array or another NDArray.

    Parameters
    ----------
    source_array : array_like or NDArray
        The values.
    ctx : Context, optional
        Device of the array; the current context by default.
    dtype : str or numpy.dtype or type, optional
        Element type; by default that of an NDArray, and float32 for anything else.

    Raises
    ------
    ArgumentTypeError
        When the source is nothing NumPy can make numbers of.

    Notes
    -----
    Integers beyond 2**24 that float32 rounds are told once, where no `dtype` is given.

    Examples
    --------
    >>> mx.nd.array([[1, 2], [3, 4]]).asnumpy().tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    context = read_context(ctx)
    if is_sparse_like(source_array):
        from .sparse.creation import array as sparse_array

        return sparse_array(source_array, ctx, dtype)
    if is_array(source_array):
        flag = source_array.dtype_flag if dtype is None else dtype_flag(dtype)
        out = empty_array(source_array.shape, flag, context.device_typeid, context.device_id, True)
        copy_into(source_array, out)
        record_copy_of(source_array, out)
        return out
    flag = -1 if dtype is None else dtype_flag(dtype)
    try:
        return from_host(source_array, flag, context.device_typeid, context.device_id)
    except ArgumentTypeError:
        what = _non_numeric_columns(source_array)
        if what is None:
            raise
        raise ArgumentTypeError(
            f"array: {what} no numbers; mx.contrib.tables.Columns makes numbers of words and gaps"
        ) from None


def _non_numeric_columns(frame):
    """A text about the non-numeric columns of a DataFrame, or a non-numeric Series; or None."""
    kind = type(frame).__name__
    if hasattr(frame, "columns") and hasattr(frame, "dtypes"):
        found = [name for name, of in zip(frame.columns, frame.dtypes) if _is_not_numeric(of)]
        one = len(found) == 1
        are = f"of a {kind} the column{'' if one else 's'} {listed(found)} {'is' if one else 'are'}"
        return are if found else None
    if hasattr(frame, "name") and _is_not_numeric(getattr(frame, "dtype", None)):
        return f"the {kind} {shown(frame.name)} has"
    return None


def _is_not_numeric(kind):
    """Return whether a dtype of pandas or polars is not numeric."""
    letter = getattr(kind, "kind", None)
    if letter is not None:
        return letter not in "biuf"
    return hasattr(kind, "is_numeric") and not kind.is_numeric()


@_with_shared_docs
def empty(
    shape: ShapeLike,
    ctx: ContextLike | None = None,
    dtype: DTypeLike | None = None,
    stype: str | None = None,
) -> NDArray:
    """An array whose values are whatever the memory holds.

    Parameters
    ----------
    shape : int or tuple of int
        Shape of the array.
    {placed}
    {stype}

    Examples
    --------
    >>> mx.nd.empty((2, 3)).shape
    (2, 3)
    """
    if type(ctx) is int:
        require_shape_tuple("empty", shape, ctx, dtype, stype)
    if _is_sparse(stype):
        from .sparse.creation import empty as sparse_empty

        return sparse_empty(stype, shape, ctx, dtype)
    context = read_context(ctx)
    return empty_array(shape, dtype_flag(dtype), context.device_typeid, context.device_id)


@_with_shared_docs
def full(
    shape: ShapeLike,
    val: Number,
    ctx: ContextLike | None = None,
    dtype: DTypeLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """An array filled with `val`; `out`, when given, is filled instead of a new one.

    Parameters
    ----------
    shape : int or tuple of int
        Shape of the array.
    val : number
        Value of all elements.
    {placed}
    {out}

    Raises
    ------
    ArgumentTypeError
        `val` is not a number.

    Examples
    --------
    >>> mx.nd.full((2,), 7, dtype="int32").asnumpy().tolist()
    [7, 7]
    """
    if type(ctx) is int:
        require_shape_tuple("full", shape, val, ctx, dtype)
    if out is None:
        if type(val) is float or (type(val) is int and -MAX_EXACT_INT <= val <= MAX_EXACT_INT):
            return filled_array(shape, val, ctx, dtype)
        out = empty(shape, ctx, dtype)
    elif not is_array(out):
        raise ArgumentTypeError(f"full: out must be an NDArray, got {shown(out)}")
    out[:] = val
    return out


@_with_shared_docs
def zeros(
    shape: ShapeLike,
    ctx: ContextLike | None = None,
    dtype: DTypeLike | None = None,
    stype: str | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """An array of zeros.

    Parameters
    ----------
    shape : int or tuple of int
        Shape of the array.
    {placed}
    {stype}
    {out}

    Examples
    --------
    >>> mx.nd.zeros((2, 3))
    [[0. 0. 0.]
     [0. 0. 0.]]
    <NDArray 2x3 @cpu(0)>
    """
    if type(ctx) is int:
        require_shape_tuple("zeros", shape, ctx, dtype, stype, out)
    if stype is not None and _is_sparse(stype):
        from .sparse.creation import zeros as sparse_zeros

        array = sparse_zeros(stype, shape, ctx, dtype)
        return array if out is None else array.copyto(out)
    return filled_array(shape, 0.0, ctx, dtype) if out is None else full(shape, 0, out=out)


@_with_shared_docs
def ones(
    shape: ShapeLike,
    ctx: ContextLike | None = None,
    dtype: DTypeLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """An array of ones.

    Parameters
    ----------
    shape : int or tuple of int
        Shape of the array.
    {placed}
    {out}

    Examples
    --------
    >>> mx.nd.ones((2, 2), dtype="int32")
    [[1 1]
     [1 1]]
    <NDArray 2x2 @cpu(0)>
    """
    if type(ctx) is int:
        require_shape_tuple("ones", shape, ctx, dtype, out)
    return filled_array(shape, 1.0, ctx, dtype) if out is None else full(shape, 1, out=out)


@guarded
def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool | None = None,
    ctx: ContextLike | None = None,
    dtype: DTypeLike = "float32",
) -> NDArray:
    """Evenly spaced values in [start, stop), each `repeat` times.

    Parameters
    ----------
    start, stop : number
        Start, and end (not included), of the values; `start` alone is the end, from 0.
    step : number
        Distance of the values, not 0.
    repeat : int
        How often each value is repeated.
    infer_range : bool, optional
        Part of MXNet's signature; only False or None, since only a symbol can have an end that
        inference finds.
    ctx : Context, optional
        Device of the array; the current context by default.
    dtype : str or numpy.dtype
        Element type.

    Raises
    ------
    ArgumentError
        If the range is empty, a step is 0, or `infer_range` is true.

    Examples
    --------
    >>> mx.nd.arange(2, 6, 2, repeat=2).asnumpy().tolist()
    [2.0, 2.0, 4.0, 4.0]
    """
    if infer_range:
        raise ArgumentError("arange: infer_range has no meaning without a symbol; give stop")
    if stop is None:
        start, stop = 0, start
    try:
        steps = (stop - start) / step if step else 0
    except OverflowError:  # an integer too large for a float
        steps = math.inf
    if not 0 < steps < math.inf:
        raise ArgumentError(
            f"arange: from {shown(start)} to {shown(stop)} by {shown(step)} is an empty or endless "
            "range"
        )
    if repeat < 1:
        raise ArgumentError(f"arange: repeat must be at least 1, got {shown(repeat)}")
    flag = dtype_flag(dtype)
    count = math.ceil(steps)
    check_elements((count, repeat), "arange")
    if repeat == 1 and _fits_dtype(start, flag) and _fits_dtype(step, flag):
        out = arithmetic_progression(count, start, step, ctx, dtype)
        if out is not None:
            return out
    kind = DTYPES[0 if NAMES[flag] == "bfloat16" else flag]
    # the steps are computed in the target's dtype, as in MXNet
    try:
        first, by = (_number_as_dtype(each, kind) for each in (start, step))
        values = (first + np.arange(count).astype(kind) * by).astype(kind)
        return array(np.repeat(values, repeat) if repeat != 1 else values, ctx, NAMES[flag])
    except MemoryError:
        raise SizeError(f"arange: there is no memory for {count} x {repeat} values") from None


def _number_as_dtype(value, kind):
    """Convert a number to a NumPy dtype; integers keep their low bits, as in MXNet."""
    whole = kind.kind in "iu" and (isinstance(value, int) or float(value).is_integer())
    return np.asarray(int(value) if whole else value).astype(kind)


def _fits_dtype(value, flag):
    """Return whether `arithmetic_progression` computes with a number in this dtype as NumPy."""
    if type(value) is int:
        return -(1 << 31) <= value < 1 << 31 and (flag < 2 or flag == 4)
    if type(value) is not float:
        return False
    return flag < 2 or (flag == 4 and value.is_integer() and _fits_dtype(int(value), flag))


@guarded
def linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    ctx: ContextLike | None = None,
    dtype: DTypeLike = "float32",
) -> NDArray:
    """`num` evenly spaced values from `start` to `stop`, with or without the end.

    Parameters
    ----------
    start, stop : float
        The first and the last value.
    num : int
        Number of values.
    endpoint : bool
        Whether `stop` is the last value; if False, it is left out.
    ctx : Context, optional
        Device of the array; the current context by default.
    dtype : str or numpy.dtype
        Element type.

    Raises
    ------
    ArgumentError
        `num` is negative.

    Examples
    --------
    >>> mx.nd.linspace(0, 1, 5)
    [0.   0.25 0.5  0.75 1.  ]
    <NDArray 5 @cpu(0)>
    >>> mx.nd.linspace(0, 1, 4, endpoint=False)
    [0.   0.25 0.5  0.75]
    <NDArray 4 @cpu(0)>
    """
    if num < 0:
        raise ArgumentError(f"linspace: num must be at least 0, got {shown(num)}")
    check_elements((num,), "linspace")
    try:
        values = np.linspace(start, stop, num, endpoint=endpoint)
    except MemoryError:
        raise SizeError(f"linspace: there is no memory for {num} values") from None
    return array(values, ctx, dtype_name(dtype))


@guarded
@_with_shared_docs
def eye(
    N: int, M: int = 0, k: int = 0, ctx: ContextLike | None = None, dtype: DTypeLike | None = None
) -> NDArray:
    """A matrix of `N` rows and `M` columns (0: as many as rows) with ones on diagonal `k`.

    Parameters
    ----------
    N, M : int
        Number of rows and of columns.
    k : int
        Number of the diagonal: 0 is the main one, positive ones are above it.
    {placed}

    Examples
    --------
    >>> mx.nd.eye(2, 3, k=1)
    [[0. 1. 0.]
     [0. 0. 1.]]
    <NDArray 2x3 @cpu(0)>
    """
    columns = M or N
    return diagonal(N, columns, max(-N, min(k, columns)), ctx, dtype)


def dtype_name(dtype):
    """Convert a dtype argument to NumPy's dtype; float32 for None."""
    return DTYPES[dtype_flag(dtype)]


@_with_shared_docs
def zeros_like(
    data: NDArray, out: NDArray | None = None, name: str | None = None, **kwargs: Any
) -> NDArray:
    """An array of zeros with the shape, dtype and device of `data`.

    Parameters
    ----------
    {like}

    Examples
    --------
    >>> mx.nd.zeros_like(mx.nd.array([[1, 2], [3, 4]]))
    [[0. 0.]
     [0. 0.]]
    <NDArray 2x2 @cpu(0)>
    """
    if kwargs or out is not None or not is_array(data):
        return function_of("zeros_like")(data, out=out, **kwargs)
    filled = filled_like(data, 0.0)
    return filled if filled is not None else function_of("zeros_like")(data)


@_with_shared_docs
def ones_like(
    data: NDArray, out: NDArray | None = None, name: str | None = None, **kwargs: Any
) -> NDArray:
    """An array of ones with the shape, dtype and device of `data`.

    Parameters
    ----------
    {like}

    Examples
    --------
    >>> mx.nd.ones_like(mx.nd.array([[1, 2], [3, 4]]))
    [[1. 1.]
     [1. 1.]]
    <NDArray 2x2 @cpu(0)>
    """
    if kwargs or out is not None or not is_array(data):
        return function_of("ones_like")(data, out=out, **kwargs)
    filled = filled_like(data, 1.0)
    return filled if filled is not None else function_of("ones_like")(data)


def _is_sparse(stype):
    """Return whether `stype` is a sparse storage type: mx.nd.sparse makes such arrays."""
    if stype is None or (isinstance(stype, str) and stype == "default"):
        return False
    from .sparse.arrays import check_stype

    check_stype(stype)
    return True
