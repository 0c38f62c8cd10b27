"""Functions that make a batch of samples: Stack, Pad, Group and the default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ndarray as nd
from ...base.errors import ArgumentError, ArgumentTypeError, ShapeError, shown
from ...base.guard import guarded
from ...ndarray import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...typing import DTypeLike

_NUMBER_TYPES = (bool, int, float, np.generic)  # Python's and NumPy's numbers

__all__ = ["AsList", "Group", "Pad", "Stack", "default_batchify_fn", "default_mp_batchify_fn"]


@guarded
def host_array(values):
    """Return an NDArray of the same dtype that shares a NumPy array's memory if possible.

    Raises ArgumentTypeError: no NDArray has the dtype of `values`.
    """
    _check_dtype(values)
    if values.size and values.flags.writeable and values.flags.c_contiguous and values.base is None:
        return nd.from_numpy(values)
    return nd.array(values, dtype=values.dtype)


def _check_dtype(values):
    if values.dtype.kind not in "biuf":
        raise ArgumentTypeError(f"no NDArray has dtype {values.dtype}")
    return values


@guarded
def default_batchify_fn(data: Sequence[Any]) -> Any:
    """Make a batch of samples: stack arrays; treat each field of tuples and dicts separately.

    Tuples become a list, named tuples and dicts stay what they are, str stay a list. A list of
    numbers is an array, a list of anything else is as a tuple. NumPy's dtype stays; Python's ints
    become int64, floats float64. The rows of csr matrices are those of one csr matrix.

    Parameters
    ----------
    data : list
        The samples.

    Returns
    -------
    NDArray or tuple of NDArray

    Raises
    ------
    ShapeError
        Samples of several shapes; the message names field, sample and shapes.

    Examples
    --------
    >>> batch = default_batchify_fn([(np.ones(3), 0), (np.ones(3), 1)])
    >>> [each.shape for each in batch]
    [(2, 3), (2,)]
    """
    return _batchify_field(data, "", nd_of=host_array)


default_mp_batchify_fn = default_batchify_fn


def numpy_batchify(data):
    """`default_batchify_fn` for worker processes: makes NumPy arrays, which can be sent."""
    return _batchify_field(data, "", nd_of=_check_dtype)


def _batchify_field(data, field, nd_of):
    first = data[0]
    if isinstance(first, NDArray):
        _check_shapes(data, field)
        return _stack_csr_rows(data, field) if first.stype == "csr" else nd.stack(*data)
    if isinstance(first, dict):
        for i, each in enumerate(data):
            if not isinstance(each, dict) or each.keys() != first.keys():
                raise ArgumentError(
                    f"batch: sample {i}{_field_error_text(field)} has other keys than the first:"
                    f" {shown(each)}, {shown(first)}"
                )
        return type(first)(
            (key, _batchify_field([each[key] for each in data], f"{field}[{key!r}]", nd_of))
            for key in first
        )
    if isinstance(first, list):
        values = _array_of_numbers(data)
        if values is not None:
            return nd_of(values)
    if isinstance(first, (tuple, list)):
        for i, each in enumerate(data):
            if not isinstance(each, (tuple, list)) or len(each) != len(first):
                raise ArgumentError(
                    f"batch: sample {i}{_field_error_text(field)} has"
                    f" {len(each) if hasattr(each, '__len__') else 'no'} fields, the first"
                    f" {len(first)}"
                    + ("; batchify.Pad joins lists of several lengths" * isinstance(first, list))
                )
        fields = [
            _batchify_field(each, f"{field}[{k}]", nd_of) for k, each in enumerate(zip(*data))
        ]
        return type(first)(*fields) if hasattr(first, "_fields") else fields
    if isinstance(first, (str, bytes)):
        return list(data)
    if isinstance(first, np.ndarray):
        _check_shapes(data, field)
        return nd_of(np.stack(data))
    values = np.asarray(data)
    if values.dtype.kind not in "biuf":
        raise ArgumentTypeError(
            f"batch: sample 0{_field_error_text(field)} is {shown(first)} of type"
            f" {type(first).__name__}; a batch is made of arrays, numbers, str,"
            " tuples and dicts. Give a batchify_fn"
        )
    return nd_of(values)


def _array_of_numbers(lists):
    """Convert nested lists of numbers or NumPy arrays to an array; None if that is impossible."""
    leaf = lists
    while isinstance(leaf, (list, tuple)) and leaf:
        leaf = leaf[0]
    if not isinstance(leaf, (np.ndarray, list, *_NUMBER_TYPES)):
        return None
    try:
        values = np.asarray(lists)
    except ValueError:  # the lists' lengths differ
        return None
    return values if values.dtype.kind in "biuf" else None


def _field_error_text(field):
    return f", field {field}," if field else ""


def _stack_csr_rows(data, field):
    """Stack csr matrices of one row each to one csr matrix."""
    for i, each in enumerate(data):
        if each.stype != "csr":
            raise ArgumentError(
                f"batch: sample {i}{_field_error_text(field)} is {each.stype}, the first is csr;"
                " a batch is of one storage type"
            )
    return nd.concat(*data, dim=0)


def _check_shapes(data, field):
    shape = data[0].shape
    for i, each in enumerate(data):
        if getattr(each, "shape", None) != shape:
            raise ShapeError(
                f"batch: sample {i}{_field_error_text(field)} has shape"
                f" {getattr(each, 'shape', shown(each))}, the first {shape};"
                " batchify.Pad joins arrays of several lengths"
            )


@guarded(but=("__call__",))
class Stack:
    """Stacks arrays or numbers of one shape along a new first axis.

    Parameters
    ----------
    dtype : str or numpy.dtype, optional
        Type of the batch; by default that of the samples.

    Examples
    --------
    >>> Stack("float32")([1, 2, 3]).asnumpy().tolist()
    [1.0, 2.0, 3.0]
    """

    def __init__(self, dtype: DTypeLike | None = None) -> None:
        self._dtype = dtype

    def __call__(self, data: Sequence[Any]) -> NDArray:
        """The batch."""
        out = default_batchify_fn([_sample_to_array(each) for each in data])
        return out if self._dtype is None else out.astype(self._dtype)


@guarded(but=("__call__",))
class Pad:
    """Pads arrays along one axis to the longest, then stacks them.

    Parameters
    ----------
    axis : int
        The axis along which lengths may differ.
    val : number
        Value of the padding.
    ret_length : bool
        Also return the original lengths, as int32.
    dtype : str or numpy.dtype, optional
        Type of the batch; by default that of the samples.
    round_to : int, optional
        Round the padded length up to a multiple of this.

    Examples
    --------
    >>> Pad()([[1, 2, 3], [4]]).asnumpy().tolist()
    [[1, 2, 3], [4, 0, 0]]
    """

    def __init__(
        self,
        axis: int = 0,
        val: float = 0,
        ret_length: bool = False,
        dtype: DTypeLike | None = None,
        round_to: int | None = None,
    ) -> None:
        self._axis, self._val, self._ret_length = axis, val, ret_length
        self._dtype, self._round_to = dtype, round_to

    def __call__(self, data: Sequence[Any]) -> NDArray | tuple[NDArray, NDArray]:
        """Return the batch; with `ret_length` a tuple (batch, lengths)."""
        arrays = [
            np.asarray(each.asnumpy() if isinstance(each, NDArray) else each) for each in data
        ]
        first, axis = arrays[0], self._axis
        for i, each in enumerate(arrays):
            others = [
                a == b
                for k, (a, b) in enumerate(zip(each.shape, first.shape))
                if k != axis % max(first.ndim, 1)
            ]
            if each.ndim != first.ndim or not all(others):
                raise ShapeError(
                    f"Pad: sample {i} has shape {each.shape}, the first {first.shape}: they may"
                    f" differ along axis {axis} alone"
                )
        lengths = [each.shape[axis] for each in arrays]
        longest = max(lengths)
        if self._round_to:
            longest = -(-longest // self._round_to) * self._round_to
        shape = list(first.shape)
        shape[axis] = longest
        dtype = (
            np.result_type(*[each.dtype for each in arrays]) if self._dtype is None else self._dtype
        )
        out = np.full((len(arrays), *shape), self._val, dtype)
        for row, each in zip(out, arrays):
            place = [slice(None)] * each.ndim
            place[axis] = slice(each.shape[axis])
            row[tuple(place)] = each
        batch = host_array(out)
        return (batch, host_array(np.asarray(lengths, np.int32))) if self._ret_length else batch


@guarded(but=("__call__",))
class Group:
    """Applies one batchify function to each field of samples that are tuples.

    Parameters
    ----------
    fn : callable, or a list of all
        The function of the first field, or a list of the functions of all fields.
    *args : callable
        The functions of the other fields.

    Raises
    ------
    ArgumentTypeError
        One of the entries is not callable.

    Examples
    --------
    >>> tokens, label = Group(Pad(), Stack())([([1, 2], 0), ([3], 1)])
    >>> tokens.asnumpy().tolist(), label.asnumpy().tolist()
    ([[1, 2], [3, 0]], [0, 1])
    """

    def __init__(
        self, fn: Callable[..., Any] | Sequence[Callable[..., Any]], *args: Callable[..., Any]
    ) -> None:
        self._fns = tuple(fn) if isinstance(fn, (list, tuple)) else (fn, *args)
        for each in self._fns:
            if not callable(each):
                raise ArgumentTypeError(f"Group takes functions, got {shown(each)}")

    def __call__(self, data: Sequence[Any]) -> tuple[Any, ...]:
        """Return a tuple with the batch of each field."""
        for i, each in enumerate(data):
            if len(each) != len(self._fns):
                raise ArgumentError(
                    f"Group: sample {i} has {len(each)} fields for {len(self._fns)} functions"
                )
        return tuple(fn(list(field)) for fn, field in zip(self._fns, zip(*data)))


@guarded(but=("__call__",))
class AsList:
    """Returns the samples of a field as a list, without stacking.

    Examples
    --------
    >>> AsList()(["a", "b"])
    ['a', 'b']
    """

    def __call__(self, data: Sequence[Any]) -> list[Any]:
        """The list."""
        return list(data)


def _sample_to_array(value):
    if isinstance(value, (NDArray, np.ndarray, *_NUMBER_TYPES)):
        return value
    return np.asarray(value)
