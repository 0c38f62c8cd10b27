"""Collective operations on arrays of all processes, under the names of ``horovod.mxnet``."""

from __future__ import annotations

import enum
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ndarray as nd
from ...base.dtype import NAMES
from ...base.errors import ArgumentError, shown
from ...base.guard import guarded
from ...base.kinds import read_json
from .sets import ProcessSet, store, world_of
from .sharing import broadcast_arrays

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...typing import NDArray


class ReduceOp(enum.Enum):
    """The operation that reduces the arrays of all processes to one.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.ReduceOp.Sum is hvd.Sum
    True
    """

    Average = 0
    Sum = 1
    Min = 2
    Max = 3
    Product = 4


Average, Sum = ReduceOp.Average, ReduceOp.Sum
Min, Max, Product = ReduceOp.Min, ReduceOp.Max, ReduceOp.Product
_UFUNC_BY_OP = {Min: np.minimum, Max: np.maximum, Product: np.multiply}


class Compression:
    """Compression of numbers for sending: none (`none`), or floats as float16 (`fp16`).

    Sums of float16 are computed in float32 on the way.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.allreduce(mx.nd.array([1, 3])).asnumpy().tolist()
    [1.0, 3.0]
    >>> hvd.Compression.fp16, hvd.Compression.none
    ('fp16', 'none')
    """

    none, fp16 = "none", "fp16"


def checked_compression(where, compression):
    """Return `compression` if it is one of `Compression`; None means `none`."""
    if compression not in (None, Compression.none, Compression.fp16):
        raise ArgumentError(
            f"{where}: compression is Compression.none or Compression.fp16, got"
            f" {shown(compression)}"
        )
    return compression or Compression.none


def sum_up(names, arrays, priority=0, process_set=None, **options):
    """Replace each array by its sum over the processes, in place."""
    store(process_set).sum_up(names, arrays, priority, **options)


def _checked_reduce_op(where, average, op):
    if op is None:
        return Average if average in (None, True) else Sum
    if average is not None and op is not None:
        raise ArgumentError(f"{where}: give op or average, not both")
    if not isinstance(op, ReduceOp):
        raise ArgumentError(f"{where}: op is Average, Sum, Min, Max or Product, got {shown(op)}")
    return op


@guarded
def allreduce(
    tensor: NDArray,
    average: bool | None = None,
    name: str | None = None,
    priority: int = 0,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet | None = None,
    op: ReduceOp | None = None,
) -> NDArray:
    """Compute the mean, or the sum, of an array over all processes.

    Parameters
    ----------
    average : bool, optional
        Whether to take the mean, the default; if False, the sum.
    name : str, optional
        Name of the array in errors.
    priority : int
        Arrays of higher priority are summed first.
    prescale_factor, postscale_factor : float
        Factors of the array before it is summed, and of the result.
    op : ReduceOp, optional
        `Average`, `Sum`, `Min`, `Max` or `Product`, in place of `average`. For the last three each
        process is sent what all have, so they are for small arrays.

    Returns
    -------
    NDArray
        A new array, on the context of `tensor`.

    Raises
    ------
    ArgumentError
        `op` is given beside `average`, or is another one.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.allreduce(mx.nd.array([1, 3]), op=hvd.Sum, prescale_factor=0.5).asnumpy().tolist()
    [0.5, 1.5]
    """
    options = prescale_factor, postscale_factor, process_set, op
    return allreduce_(tensor.copy(), average, name, priority, *options)


@guarded
def allreduce_(
    tensor: NDArray,
    average: bool | None = None,
    name: str | None = None,
    priority: int = 0,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet | None = None,
    op: ReduceOp | None = None,
) -> NDArray:
    """Reduce an array in place like `allreduce`; returns `tensor`.

    Parameters
    ----------
    average, name, priority, prescale_factor, postscale_factor, process_set, op : optional
        See `allreduce`.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> array = mx.nd.array([1, 3])
    >>> hvd.allreduce_(array, average=False) is array
    True
    """
    options = prescale_factor, postscale_factor, process_set, op
    return grouped_allreduce_([tensor], average, name, priority, *options)[0]


@guarded
def grouped_allreduce(
    tensors: Sequence[NDArray],
    average: bool | None = None,
    name: str | None = None,
    priority: int = 0,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet | None = None,
    op: ReduceOp | None = None,
) -> list[NDArray]:
    """Reduce several arrays at once like `allreduce`, into new arrays.

    Parameters
    ----------
    tensors : list of NDArray
        Arrays of the same shapes and dtypes in all processes.
    average, name, priority, prescale_factor, postscale_factor, process_set, op : optional
        See `allreduce`.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> [each.asnumpy().tolist() for each in hvd.grouped_allreduce([mx.nd.ones(1), mx.nd.ones(2)])]
    [[1.0], [1.0, 1.0]]
    """
    copies = [each.copy() for each in tensors]
    options = prescale_factor, postscale_factor, process_set, op
    return grouped_allreduce_(copies, average, name, priority, *options)


@guarded
def grouped_allreduce_(
    tensors: Sequence[NDArray],
    average: bool | None = None,
    name: str | None = None,
    priority: int = 0,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet | None = None,
    op: ReduceOp | None = None,
) -> list[NDArray]:
    """Reduce several arrays at once in place; returns the arrays.

    Parameters
    ----------
    tensors : list of NDArray
        Arrays of the same shapes and dtypes in all processes.
    average, name, priority, prescale_factor, postscale_factor, process_set, op : optional
        See `allreduce`.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> array = mx.nd.ones(2)
    >>> hvd.grouped_allreduce_([array])[0] is array
    True
    """
    op = _checked_reduce_op("allreduce", average, op)
    tensors = list(tensors)
    names = [name or "tensor"]
    if len(tensors) > 1:
        names = [f"{names[0]}.{i}" for i in range(len(tensors))]
    for each in tensors:
        if prescale_factor != 1:
            each *= prescale_factor
    if op in _UFUNC_BY_OP:
        for each, what in zip(tensors, names):
            each[:] = nd.array(_UFUNC_BY_OP[op].reduce(_gather_arrays(each, what, process_set)))
    else:
        sum_up(names, tensors, priority, process_set)
    size = world_of(process_set).size
    for each in tensors:
        if op is Average and size > 1:
            each /= size
        if postscale_factor != 1:
            each *= postscale_factor
    return tensors


@guarded
def reducescatter(
    tensor: NDArray,
    op: ReduceOp = Average,
    name: str | None = None,
    priority: int = 0,
    process_set: ProcessSet | None = None,
) -> NDArray:
    """Reduce an array like `allreduce`, and return this process's share of its rows: if they cannot
    be divided evenly, the first processes get one row more.

    Parameters
    ----------
    tensor : NDArray
        An array of the same shape and dtype in all processes, with at least one axis.
    op : ReduceOp
        See `allreduce`.
    name, priority, process_set : optional
        See `allreduce`.

    Raises
    ------
    ArgumentError
        `tensor` has no axis.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.reducescatter(mx.nd.array([1, 3])).asnumpy().tolist()
    [1.0, 3.0]
    """
    _require_first_axis("reducescatter", tensor)
    total = allreduce(tensor, None, name, priority, process_set=process_set, op=op)
    some = world_of(process_set)
    each, more = divmod(tensor.shape[0], some.size)
    begin = some.rank * each + min(some.rank, more)
    return total[begin : begin + each + (some.rank < more)].copy()


@guarded
def grouped_reducescatter(
    tensors: Sequence[NDArray],
    op: ReduceOp = Average,
    name: str | None = None,
    priority: int = 0,
    process_set: ProcessSet | None = None,
) -> list[NDArray]:
    """Apply `reducescatter` to several arrays at once: return this process's rows of each.

    Parameters
    ----------
    tensors : list of NDArray
        Arrays of the same shapes and dtypes in all processes, each with at least one axis.
    op, name, priority, process_set : optional
        See `reducescatter`.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> [each.shape for each in hvd.grouped_reducescatter([mx.nd.ones(1), mx.nd.ones(2)])]
    [(1,), (2,)]
    """
    names = [f"{name or 'tensor'}.{i}" for i in range(len(tensors))]
    return [reducescatter(t, op, n, priority, process_set) for t, n in zip(tensors, names)]


@guarded
def alltoall(
    tensor: NDArray,
    splits: Sequence[int] | NDArray | None = None,
    name: str | None = None,
    priority: int = 0,
    process_set: ProcessSet | None = None,
) -> Any:
    """Receive the rows that each process sends to this one, in order of the processes; waits.

    Each process is sent what all have, so it is for small arrays.

    Parameters
    ----------
    tensor : NDArray
        An array with at least one axis: rows for process 0, then for process 1, ...
    splits : list of int, optional
        How many rows are for each process; by default as many for all.
    name, priority, process_set : optional
        See `allreduce`.

    Returns
    -------
    NDArray, or pair of NDArray
        The rows for this process. With `splits` also how many came from each process, int32.

    Raises
    ------
    ArgumentError
        `splits` do not fit the array.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> rows, counts = hvd.alltoall(mx.nd.array([1, 3]), splits=[2])
    >>> rows.asnumpy().tolist(), counts.asnumpy().tolist()
    ([1.0, 3.0], [2])
    """
    _require_first_axis("alltoall", tensor)
    some = world_of(process_set)
    rows = tensor.shape[0]
    if splits is None:
        counts = [rows // some.size] * some.size
    else:
        given = splits.asnumpy() if isinstance(splits, nd.NDArray) else splits
        counts = [int(each) for each in given]
    if len(counts) != some.size or min(counts) < 0 or sum(counts) != rows:
        raise ArgumentError(
            f"alltoall: {rows} rows are shared out among {some.size} processes, got splits {counts}"
        )
    plans = [read_json(each) for each in some.gather(json.dumps(counts).encode(), "splits")]
    arrays = _gather_arrays(tensor, name, process_set)
    parts, start = [], some.rank
    for plan, array in zip(plans, arrays):
        begin = sum(plan[:start])
        parts.append(array[begin : begin + plan[start]])
    out = nd.array(np.concatenate(parts), ctx=tensor.context, dtype=tensor.dtype)
    if splits is None:
        return out
    return out, nd.array([plan[start] for plan in plans], dtype="int32")


def _require_first_axis(where, tensor):
    if not isinstance(tensor, nd.NDArray) or tensor.ndim < 1:
        raise ArgumentError(f"{where} takes an NDArray with an axis, got {shown(tensor)}")


def _gather_arrays(tensor, name, process_set):
    """Gather NumPy arrays from all processes; their first axes may have different lengths."""
    mine, rest = tensor.host_copy(), tensor.shape[1:]
    what = f"{name or 'tensor'} (n, {str(rest)[1:]} {NAMES[tensor.dtype_flag]}"
    if not np.prod(rest):  # rows have no bytes: the row count itself is sent
        counts = world_of(process_set).gather(str(len(mine)).encode(), what)
        return [np.zeros((int(each), *rest), mine.dtype) for each in counts]
    parts = world_of(process_set).gather(mine.tobytes(), what)
    return [np.frombuffer(part, mine.dtype).reshape(-1, *rest) for part in parts]


@guarded
def allgather(
    tensor: NDArray,
    name: str | None = None,
    priority: int = 0,
    process_set: ProcessSet | None = None,
) -> NDArray:
    """Concatenate the arrays of all processes along the first axis; waits.

    Parameters
    ----------
    tensor : NDArray
        An array with at least one axis. The first may have another length in each process; other
        axes and the dtype are the same.
    name, priority, process_set : optional
        See `allreduce`.

    Returns
    -------
    NDArray
        A new array, on the context of `tensor`.

    Raises
    ------
    ArgumentError
        `tensor` is not an NDArray with an axis.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.allgather(mx.nd.array([[1, 2], [3, 4]])).asnumpy()  # this process is alone
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    _require_first_axis("allgather", tensor)
    arrays = _gather_arrays(tensor, name, process_set)
    return nd.array(np.concatenate(arrays), ctx=tensor.context, dtype=tensor.dtype)


@guarded
def grouped_allgather(
    tensors: Sequence[NDArray],
    name: str | None = None,
    priority: int = 0,
    process_set: ProcessSet | None = None,
) -> list[NDArray]:
    """Apply `allgather` to several arrays, one after another, into new arrays.

    Parameters
    ----------
    tensors : list of NDArray
        Arrays as `allgather` takes them.
    name, priority, process_set : optional
        See `allreduce`.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> [each.shape for each in hvd.grouped_allgather([mx.nd.ones(1), mx.nd.ones((2, 3))])]
    [(1,), (2, 3)]
    """
    names = [f"{name or 'tensor'}.{i}" for i in range(len(tensors))]
    return [allgather(each, n, priority, process_set) for each, n in zip(tensors, names)]


@guarded
def broadcast(
    tensor: NDArray,
    root_rank: int,
    name: str | None = None,
    priority: int = 0,
    process_set: ProcessSet | None = None,
) -> NDArray:
    """Return a new array with the values that `tensor` has in one process.

    Parameters
    ----------
    name : str, optional
        Name of the array in errors.
    priority : int
        Part of Horovod's signature; not used.
    process_set : ProcessSet, optional
        The processes that take part; by default all. `root_rank` is a number among all.

    Raises
    ------
    ArgumentError
        There is no process `root_rank`.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.broadcast(mx.nd.array([1, 2]), root_rank=0).asnumpy()
    array([1., 2.], dtype=float32)
    """
    return broadcast_(tensor.copy(), root_rank, name, priority, process_set)


@guarded
def broadcast_(
    tensor: NDArray,
    root_rank: int,
    name: str | None = None,
    priority: int = 0,
    process_set: ProcessSet | None = None,
) -> NDArray:
    """Set `tensor` to the values that it has in one process; returns `tensor`.

    Parameters
    ----------
    name : str, optional
        Name of the array in errors.
    priority : int
        Part of Horovod's signature; not used.
    process_set : ProcessSet, optional
        The processes that take part; by default all. `root_rank` is a number among all.

    Raises
    ------
    ArgumentError
        There is no process `root_rank`.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> array = mx.nd.array([1, 2])
    >>> hvd.broadcast_(array, root_rank=0) is array
    True
    """
    broadcast_arrays({name or "tensor": [tensor]}, root_rank, process_set)
    return tensor
