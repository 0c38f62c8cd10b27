"""Making arrays: from Python and NumPy values, constants, ranges, other frameworks' memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.copy import copy_into
from .._core.sparse_kind import is_dense
from .._ndarray import empty as empty_array
from ..base.dtype import NAMES, NUMPY, dtype_flag
from ..base.errors import ArgumentError, ArgumentTypeError, SizeError, shown
from ..base.guard import guarded
from ..context import read_context
from ..operator import get_operator
from ..operator.checks.shapes import check_elements
from . import _dlpack
from ._call import invoke, is_array
from ._fill import diagonal, filled, filled_like, progression
from ._indexing import from_host
from ._tape import note_copy
from .functions import function_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import (
        ArrayLike,
        ContextLike,
        DTypeLike,
        NDArray,
        Number,
        NumpyArray,
        ShapeLike,
    )

EXACT = 1 << 53  # up to here an int is a float64


def is_sparse_like(source):
    """Whether it is a sparse array, or a sparse matrix of SciPy."""
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
    ctx : Context, optional
        The device; the current one when not given.
    dtype : str or numpy.dtype or type, optional
        By default an NDArray's own dtype, and float32 for anything else.

    Returns
    -------
    NDArray

    Raises
    ------
    ArgumentTypeError
        When the source is nothing NumPy can make numbers of.

    Examples
    --------
    >>> import cynet as mx
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
        note_copy(source_array, out)
        return out
    return from_host(source_array, dtype_flag(dtype), context.device_typeid, context.device_id)


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
    ctx : Context, optional
    dtype : optional
        float32 when not given.
    """
    if _sparse(stype):
        from .sparse.creation import empty as sparse_empty

        return sparse_empty(stype, shape, ctx, dtype)
    context = read_context(ctx)
    return empty_array(shape, dtype_flag(dtype), context.device_typeid, context.device_id)


def full(
    shape: ShapeLike,
    val: Number,
    ctx: ContextLike | None = None,
    dtype: DTypeLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """An array filled with `val`; `out`, when given, is filled instead of a new one.

    Examples
    --------
    >>> import cynet as mx
    >>> mx.nd.full((2,), 7, dtype="int32").asnumpy().tolist()
    [7, 7]
    """
    if out is None:
        if type(val) is float or (type(val) is int and -EXACT <= val <= EXACT):
            return filled(shape, val, ctx, dtype)
        out = empty(shape, ctx, dtype)
    elif not is_array(out):
        raise ArgumentTypeError(f"full: out must be an NDArray, got {shown(out)}")
    out[:] = val
    return out


def zeros(
    shape: ShapeLike,
    ctx: ContextLike | None = None,
    dtype: DTypeLike | None = None,
    stype: str | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """An array of zeros."""
    if stype is not None and _sparse(stype):
        from .sparse.creation import zeros as sparse_zeros

        array = sparse_zeros(stype, shape, ctx, dtype)
        return array if out is None else array.copyto(out)
    return filled(shape, 0.0, ctx, dtype) if out is None else full(shape, 0, out=out)


def ones(
    shape: ShapeLike,
    ctx: ContextLike | None = None,
    dtype: DTypeLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """An array of ones."""
    return filled(shape, 1.0, ctx, dtype) if out is None else full(shape, 1, out=out)


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
        One number alone is the stop, from 0 on.
    step : number
        Not 0.
    repeat : int
    infer_range : None
        Only the default: the size is never inferred here.

    Raises
    ------
    ArgumentError
        When the range is empty or a step is 0.

    Examples
    --------
    >>> import cynet as mx
    >>> mx.nd.arange(2, 6, 2, repeat=2).asnumpy().tolist()
    [2.0, 2.0, 4.0, 4.0]
    """
    if infer_range:
        raise ArgumentError("arange: infer_range has no meaning without a symbol; give stop")
    if stop is None:
        start, stop = 0, start
    try:
        steps = (stop - start) / step if step else 0
    except OverflowError:  # of integers
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
    if repeat == 1 and _fits(start, flag) and _fits(step, flag):
        out = progression(count, start, step, ctx, dtype)
        if out is not None:
            return out
    kind = NUMPY[0 if NAMES[flag] == "bfloat16" else flag]
    # In the target's own arithmetic, as MXNet computes it.
    try:
        values = (kind.type(start) + np.arange(count).astype(kind) * kind.type(step)).astype(kind)
        return array(np.repeat(values, repeat) if repeat != 1 else values, ctx, NAMES[flag])
    except MemoryError:
        raise SizeError(f"arange: there is no memory for {count} x {repeat} values") from None


def _fits(value, flag):
    """Whether `progression` takes a number for this dtype as NumPy would."""
    if type(value) is int:
        return -(1 << 31) <= value < 1 << 31 and (flag < 2 or flag == 4)
    if type(value) is not float:
        return False
    return flag < 2 or (flag == 4 and value.is_integer() and _fits(int(value), flag))


@guarded
def linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    ctx: ContextLike | None = None,
    dtype: DTypeLike = "float32",
) -> NDArray:
    """`num` evenly spaced values from `start` to `stop`, with or without the end."""
    if num < 0:
        raise ArgumentError(f"linspace: num must be at least 0, got {shown(num)}")
    check_elements((num,), "linspace")
    try:
        values = np.linspace(start, stop, num, endpoint=endpoint)
    except MemoryError:
        raise SizeError(f"linspace: there is no memory for {num} values") from None
    return array(values, ctx, dtype_name(dtype))


@guarded
def eye(
    N: int, M: int = 0, k: int = 0, ctx: ContextLike | None = None, dtype: DTypeLike | None = None
) -> NDArray:
    """A matrix of `N` rows and `M` columns (0: as many as rows) with ones on diagonal `k`."""
    columns = M or N
    return diagonal(N, columns, max(-N, min(k, columns)), ctx, dtype)


def dtype_name(dtype):
    """The NumPy dtype of what a caller gave; float32 for None."""
    return NUMPY[dtype_flag(dtype)]


def zeros_like(
    data: NDArray, out: NDArray | None = None, name: str | None = None, **kwargs: Any
) -> NDArray:
    """An array of zeros with the shape, dtype and device of `data`."""
    if kwargs or out is not None or not is_array(data):
        return function_of("zeros_like")(data, out=out, **kwargs)
    filled = filled_like(data, 0.0)
    return filled if filled is not None else function_of("zeros_like")(data)


def ones_like(
    data: NDArray, out: NDArray | None = None, name: str | None = None, **kwargs: Any
) -> NDArray:
    """An array of ones with the shape, dtype and device of `data`."""
    if kwargs or out is not None or not is_array(data):
        return function_of("ones_like")(data, out=out, **kwargs)
    filled = filled_like(data, 1.0)
    return filled if filled is not None else function_of("ones_like")(data)


@guarded
def concatenate(arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """The arrays joined along an axis.

    Parameters
    ----------
    arrays : list of NDArray
        Same dtype, same sizes but for `axis`.
    axis : int
    always_copy : bool
        False returns a single array as it is.
    """
    arrays = list(arrays)
    if not arrays:
        raise ArgumentError("concatenate: no arrays are given")
    if len(arrays) == 1 and is_array(arrays[0]):
        return arrays[0].copy() if always_copy else arrays[0]
    return function_of("Concat")(*arrays, dim=axis)


@guarded
def moveaxis(tensor: NDArray, source: ShapeLike, destination: ShapeLike) -> NDArray:
    """A copy with axis `source` (an int or several) moved to place `destination`."""
    source, destination = np.atleast_1d(source), np.atleast_1d(destination)
    ndim = tensor.ndim
    if len(source) != len(destination):
        raise ArgumentError("moveaxis: source and destination must have the same number of axes")
    if any(not -ndim <= a < ndim for a in (*source, *destination)):
        raise ArgumentError(
            f"moveaxis: axes must be in [-{ndim}, {ndim}), got {source} and {destination}"
        )
    source, destination = [int(a) % ndim for a in source], [int(a) % ndim for a in destination]
    if len(set(source)) < len(source) or len(set(destination)) < len(destination):
        raise ArgumentError("moveaxis: an axis is named twice")
    order = [a for a in range(ndim) if a not in source]
    for to, axis in sorted(zip(destination, source)):
        order.insert(to, axis)
    return tensor.transpose(order)


@guarded
def split_v2(
    ary: NDArray, indices_or_sections: ShapeLike, axis: int = 0, squeeze_axis: bool = False
) -> list[NDArray]:
    """Split into equal parts, or at indices.

    Parameters
    ----------
    ary : NDArray
    indices_or_sections : int or tuple of int
        A number of equal parts, or where the parts after the first begin.
    axis : int
    squeeze_axis : bool
        Drop `axis` from the parts; each must be of length 1 there.

    Returns
    -------
    list of NDArray

    Examples
    --------
    >>> import cynet as mx
    >>> [part.shape for part in mx.nd.split_v2(mx.nd.ones((5, 2)), (2, 3))]
    [(2, 2), (1, 2), (2, 2)]
    """
    if hasattr(indices_or_sections, "__index__"):
        indices, sections = (), indices_or_sections
    else:
        indices, sections = (0, *indices_or_sections), 0
    params = {"axis": axis, "squeeze_axis": squeeze_axis}
    return function_of("_split_v2")(ary, indices=indices, sections=sections, **params)


@guarded
def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Write one row for each index into `out`, of shape (len(indices), classes): 1 there, else
    0."""
    return invoke(
        get_operator("one_hot"), (indices,), {"depth": out.shape[1], "dtype": out.dtype, "out": out}
    )


@guarded
def from_numpy(
    ndarray: NumpyArray, zero_copy: bool = True, array_cls: type[NDArray] | None = None
) -> NDArray:
    """An NDArray over a NumPy array's memory, or with a copy of its values.

    With `zero_copy` the NumPy array becomes read-only: the engine may read and write its memory at
    any time. Of an array that is read-only already its values are copied. `array_cls` is the class
    of the result: mx.nd.NDArray, the default, as there is no other.

    Raises
    ------
    ArgumentError
        When `zero_copy` is asked for an array that is not C-contiguous.
    ArgumentTypeError
        When `ndarray` is no NumPy array, or `array_cls` another class.
    """
    if not isinstance(ndarray, np.ndarray):
        raise ArgumentTypeError(f"from_numpy takes a NumPy array, got {type(ndarray).__name__}")
    shared = zero_copy and ndarray.flags.writeable
    if shared and not ndarray.flags.c_contiguous:
        raise ArgumentError(
            "from_numpy: this array is not C-contiguous, so its memory cannot be shared; copy its "
            "values with zero_copy=False"
        )
    out = from_dlpack(ndarray) if shared else array(ndarray, dtype=ndarray.dtype)
    if array_cls not in (None, type(out)):
        raise ArgumentTypeError(
            f"from_numpy: array_cls must be mx.nd.NDArray, got {shown(array_cls)}"
        )
    if shared:
        ndarray.flags.writeable = False
    return out


@guarded
def from_dlpack(dlpack: Any) -> NDArray:
    """An NDArray over the memory of a DLPack capsule or of an object with ``__dlpack__``; nothing
    is copied.

    Examples
    --------
    >>> import cynet as mx, numpy as np
    >>> values = np.zeros(2, "float32")
    >>> mx.nd.from_dlpack(values)[:] = 3
    >>> mx.nd.waitall(); values.tolist()
    [3.0, 3.0]
    """
    return _dlpack.take(dlpack)


@guarded
def to_dlpack_for_read(data: NDArray) -> Any:
    """A DLPack capsule over the array's memory, after waiting for it."""
    return _exported("to_dlpack_for_read", data)


@guarded
def to_dlpack_for_write(data: NDArray) -> Any:
    """A DLPack capsule over the array's memory, after waiting for everything that uses it."""
    return _exported("to_dlpack_for_write", data)


def _exported(where, data):
    if not is_array(data):
        raise ArgumentTypeError(f"{where} takes an NDArray, got {shown(data)}")
    if not is_dense(data):
        raise ArgumentError(f"{where} takes no sparse array ({data.stype})")
    return _dlpack.export(data)


def _sparse(stype):
    """Whether `stype` is a sparse storage type: mx.nd.sparse makes such arrays."""
    if stype is None or (isinstance(stype, str) and stype == "default"):
        return False
    from .sparse.arrays import check_stype

    check_stype(stype)
    return True
