"""Iterators that wrap iterators: ResizeIter sets an epoch's length, PrefetchingIter prefetches."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.saved_values import total_writes
from ..base.errors import (
    ArgumentError,
    FormatError,
    NotFoundError,
    ShapeError,
    StateError,
    describe_error,
    loop_error,
    shown,
)
from ..base.guard import guarded
from ..base.kinds import check_numbers
from ..ndarray import NDArray
from .base import DataBatch, DataDesc, DataIter
from .positions import read_position

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _check_resumable(iters, name):
    """Raise AttributeError for ``state_dict`` if iterators lack it: ``hasattr`` is False."""
    for each in iters:
        if not hasattr(each, "state_dict"):
            raise NotFoundError(f"{name}: {type(each).__name__} inside has no state_dict")


def _inner_state(state, index):
    """Return the state of an inner iterator, from the outer iterator's state."""
    begin = f"inner{index}."
    return {key[len(begin) :]: each for key, each in state.items() if key.startswith(begin)}


def _check_outer_state(state, caller, count, own=()):
    """Refuse anything but the state of an iterator that wraps `count` others."""
    begins = [f"inner{i}." for i in range(count)]
    good = isinstance(state, dict) and all(
        isinstance(key, str) and (key in own or key.startswith(tuple(begins))) for key in state
    )
    if (
        not good
        or not state.keys() >= {*own}
        or not all(_inner_state(state, i) for i in range(count))
    ):
        raise FormatError(f"expected a state of {caller} around {count}, got {shown(state)}")


def restart_iterator(iterator, who):
    """Reset an iterator that has ended; return its first batch."""
    try:
        iterator.reset()
    except StopIteration as error:  # StopIteration would end the caller's loop
        raise loop_error(error, f"{describe_error(error)} ({who}: in reset)") from error
    try:
        return iterator.next()
    except StopIteration:
        raise ArgumentError(f"{who}: the inner iterator has no batch") from None


def _flatten_states(states):
    """Join the states of inner iterators to one flat dict, which `fit` can write to a file."""
    return {
        f"inner{i}.{key}": each for i, state in enumerate(states) for key, each in state.items()
    }


@guarded(but=("next",))
class _WrapIter(DataIter):  # base of iterators over other iterators' batches
    """Base of iterators that pass on the batches of other iterators."""

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        return self.current_batch

    def getdata(self) -> list[NDArray]:
        return self.current_batch.data

    def getlabel(self) -> list[NDArray]:
        return self.current_batch.label

    def getindex(self) -> Any:
        return self.current_batch.index

    def getpad(self) -> int:
        return self.current_batch.pad


class ResizeIter(_WrapIter):
    """Yields `size` batches per epoch; restarts the inner iterator as often as needed.

    Parameters
    ----------
    data_iter : DataIter
        The inner iterator.
    size : int
        Number of batches in an epoch.
    reset_internal : bool
        Whether ``reset`` also resets the inner iterator.

    Examples
    --------
    >>> batches = mx.io.NDArrayIter(np.arange(4), batch_size=2)
    >>> [batch.data[0].asnumpy().tolist() for batch in mx.io.ResizeIter(batches, size=3)]
    [[0.0, 1.0], [2.0, 3.0], [0.0, 1.0]]
    """

    def __init__(self, data_iter: DataIter, size: int, reset_internal: bool = True) -> None:
        check_numbers("ResizeIter", size=size)
        super().__init__(data_iter.batch_size)
        self.data_iter = data_iter
        self.size = size
        self.reset_internal = reset_internal
        self.cur = 0
        self.current_batch = None
        self.provide_data = data_iter.provide_data
        self.provide_label = data_iter.provide_label
        if hasattr(data_iter, "default_bucket_key"):
            self.default_bucket_key = data_iter.default_bucket_key

    def reset(self) -> None:
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    @property
    def state_dict(self) -> Callable[[], dict[str, Any]]:
        """Return this and the inner iterator's position, if the latter has ``state_dict``.

        Examples
        --------
        >>> batches = mx.io.ResizeIter(mx.io.NDArrayIter(np.arange(4), batch_size=2), size=5)
        >>> _ = batches.next()
        >>> state = batches.state_dict()
        >>> state["cur"], state["inner0.cursor"]
        (1, 0)
        """
        _check_resumable([self.data_iter], "ResizeIter")
        return lambda: {"cur": self.cur, **_flatten_states([self.data_iter.state_dict()])}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue at the position from `state_dict`.

        Raises
        ------
        FormatError
            If that is not a state of it.
        NotFoundError
            If the iterator inside has no ``state_dict``.

        Examples
        --------
        >>> batches = mx.io.ResizeIter(mx.io.NDArrayIter(np.arange(4), batch_size=2), size=5)
        >>> state = batches.state_dict()
        >>> len(list(batches))
        5
        >>> batches.load_state_dict(state)
        >>> len(list(batches))
        5
        """
        _check_resumable([self.data_iter], "ResizeIter")
        _check_outer_state(state, "ResizeIter", 1, own=("cur",))
        cur = read_position(state, "cur", "ResizeIter", 0, self.size)
        self.data_iter.load_state_dict(_inner_state(state, 0))
        self.cur, self.current_batch = cur, None

    def iter_next(self) -> bool:
        if self.cur == self.size:
            return False
        try:
            self.current_batch = self.data_iter.next()
        except StopIteration:
            self.current_batch = restart_iterator(self.data_iter, "ResizeIter")
        self.cur += 1
        return True


_LIVE_BATCHES = 3  # batches alive at once: the returned one, the ready one, and the one being made


class _ProtectedBatches:  # copies batches that the iterator would overwrite
    """Protects the batches of a prefetched iterator from being overwritten by it.

    An iterator may fill one batch, one list or one memory (or two in turn) again and again. Arrays
    that it writes after it gave them are copied from then on, and so are the first few of all.
    NumPy's, of whose writes nobody tells, always are.
    """

    def __init__(self):
        self._given = deque(maxlen=_LIVE_BATCHES)  # (arrays, their write counts)
        self._unsure = _LIVE_BATCHES
        self._reused = False

    def detect_reuse(self):
        """Detect whether the iterator writes to batches that it has returned."""
        if not self._reused:
            self._reused = any(total_writes(arrays) != count for arrays, count in self._given)

    def protect_batch(self, batch):
        """Copy a batch to a new object with new lists and, if necessary, new arrays."""
        copies = self._reused or self._unsure > 0
        self._unsure -= self._unsure > 0
        arrays = [each for each in (*batch.data, *(batch.label or ())) if isinstance(each, NDArray)]
        self._given.append((arrays, total_writes(arrays)))

        def copy_if_needed(array):
            needed = copies if isinstance(array, NDArray) else isinstance(array, np.ndarray)
            return array.copy() if needed else array

        return DataBatch(
            [copy_if_needed(each) for each in batch.data],
            None if batch.label is None else [copy_if_needed(each) for each in batch.label],
            batch.pad,
            copy_if_needed(batch.index),
            getattr(batch, "bucket_key", None),
        )


_END_OF_DATA = object()  # in place of a batch, behind the last
_POLL_SECONDS = 1.0  # how often to check that the thread is alive


class PrefetchingIter(_WrapIter):
    """Prepares the next batch of one or more iterators in threads while the current one is used.

    With several iterators a batch holds the data of all of them, one after another.

    Parameters
    ----------
    iters : DataIter or list of DataIter
        They must give the same number of batches.
    rename_data, rename_label : list of dict, optional
        For each iterator a dict from old to new names of its data and of its labels.

    Raises
    ------
    ArgumentError
        `iters` is empty.

    Examples
    --------
    Two iterators as two inputs of a network:

    >>> images = mx.io.NDArrayIter(np.zeros((4, 3)), np.arange(4), batch_size=2)
    >>> sizes = mx.io.NDArrayIter(np.ones((4, 1)), batch_size=2)
    >>> both = mx.io.PrefetchingIter([images, sizes], [{"data": "image"}, {"data": "size"}])
    >>> both.provide_data, both.provide_label
    ([DataDesc[image,(2, 3),<class 'numpy.float32'>,NCHW], DataDesc[size,(2, 1),<class
     'numpy.float32'>,NCHW]], [DataDesc[softmax_label,(2,),<class 'numpy.float32'>,NCHW]])
    >>> [[array.shape for array in batch.data] for batch in both]
    [[(2, 3), (2, 1)], [(2, 3), (2, 1)]]
    """

    def __init__(
        self,
        iters: DataIter | Sequence[DataIter],
        rename_data: Sequence[dict[str, str]] | None = None,
        rename_label: Sequence[dict[str, str]] | None = None,
    ) -> None:
        self.iters = iters if isinstance(iters, list) else [iters]
        if not self.iters:
            raise ArgumentError("PrefetchingIter needs one or more iterators, got none")
        self.rename_data = rename_data
        self.rename_label = rename_label
        super().__init__(self.provide_data[0].shape[0])
        self.current_batch = None
        self._workers = []
        self._apart = [_ProtectedBatches() for _ in self.iters]
        self._start_threads()

    @property
    def provide_data(self) -> list[DataDesc]:
        """Return the DataDesc of all iterators' data, renamed."""
        return self._rename_descriptions(
            [each.provide_data for each in self.iters], self.rename_data
        )

    @property
    def provide_label(self) -> list[DataDesc]:
        """Return the DataDesc of all iterators' labels, renamed."""
        return self._rename_descriptions(
            [each.provide_label for each in self.iters], self.rename_label
        )

    @staticmethod
    def _rename_descriptions(provided, renames):
        out = []
        for descs, names in zip(provided, renames or [{}] * len(provided)):
            for desc in descs:
                if not isinstance(desc, DataDesc):
                    desc = DataDesc(*desc)
                out.append(
                    DataDesc(names.get(desc.name, desc.name), desc.shape, desc.dtype, desc.layout)
                )
        return out

    def _start_threads(self):
        self._states = [
            each.state_dict() if hasattr(each, "state_dict") else {} for each in self.iters
        ]
        self._workers = [_BatchThread(*each) for each in zip(self.iters, self._apart)]

    def _stop_threads(self):
        for worker in self._workers:
            worker.stop()
        self._workers = []

    def __del__(self) -> None:
        for worker in getattr(self, "_workers", ()):
            worker.stop(wait=False)

    def reset(self) -> None:
        self._stop_threads()
        for each in self.iters:
            each.reset()
        self._start_threads()

    @property
    def state_dict(self) -> Callable[[], dict[str, Any]]:
        """Return the inner iterators' positions after the last returned batch.

        Only if they can say.

        Examples
        --------
        >>> batches = mx.io.PrefetchingIter(mx.io.NDArrayIter(np.arange(6), batch_size=2))
        >>> _ = batches.next()
        >>> batches.state_dict()["inner0.cursor"]
        0
        """
        _check_resumable(self.iters, "PrefetchingIter")
        return lambda: _flatten_states(self._states)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue at the position from `state_dict`.

        Raises
        ------
        FormatError
            If that is not a state of it; it is where it was then.
        NotFoundError
            If an iterator inside has no ``state_dict``.

        Examples
        --------
        >>> batches = mx.io.PrefetchingIter(mx.io.NDArrayIter(np.arange(6), batch_size=2))
        >>> _ = batches.next()
        >>> state = batches.state_dict()
        >>> rest = [batch.data[0].asnumpy().tolist() for batch in batches]
        >>> batches.load_state_dict(state)
        >>> rest, rest == [batch.data[0].asnumpy().tolist() for batch in batches]
        ([[2.0, 3.0], [4.0, 5.0]], True)
        """
        _check_resumable(self.iters, "PrefetchingIter")
        _check_outer_state(state, "PrefetchingIter", len(self.iters))
        before = self._states
        self._stop_threads()
        try:
            for i, each in enumerate(self.iters):
                each.load_state_dict(_inner_state(state, i))
        except BaseException:
            for each, old in zip(self.iters, before):
                each.load_state_dict(old)
            raise
        finally:
            self._start_threads()
        self.current_batch = None

    def iter_next(self) -> bool:
        got = [worker.next() for worker in self._workers]
        for each in got:
            if isinstance(each, BaseException):
                raise each
        ended = [each is _END_OF_DATA for each in got]
        if any(ended):
            if not all(ended):
                raise ShapeError("PrefetchingIter: iterators give different numbers of batches")
            return False
        self._states = [state for _, state in got]
        got = [batch for batch, _ in got]
        pads = {batch.pad for batch in got}
        if len(pads) > 1:
            raise ShapeError(f"PrefetchingIter: iterators give batches of different pad {pads}")
        first = got[0]
        self.current_batch = DataBatch(
            [array for batch in got for array in batch.data],
            [array for batch in got for array in batch.label or ()],
            first.pad,
            first.index,
            first.bucket_key,
            self.provide_data,
            self.provide_label,
        )
        return True


class _BatchThread:  # prefetches one batch of an iterator
    """A thread that prefetches one batch of one iterator; it ends with the epoch."""

    def __init__(self, source, guard):
        self._ready = queue.Queue(maxsize=1)
        self._stopping = threading.Event()
        self._ended = False
        # the thread must not refer to the _BatchThread, or a PrefetchingIter would never be freed
        self._thread = threading.Thread(
            target=_prefetch_batches, args=(source, guard, self._ready, self._stopping), daemon=True
        )
        self._thread.start()

    def next(self):
        """Return (batch, iterator's position after it), _END_OF_DATA, or an exception."""
        if self._ended:
            return _END_OF_DATA
        item = self._wait_for_batch()
        self._ended = item is _END_OF_DATA or isinstance(item, BaseException)
        return item

    def _wait_for_batch(self):
        while True:
            alive = self._thread.is_alive()  # before get(): the thread may put a batch, then end
            try:
                return self._ready.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                if not alive:
                    return StateError(
                        "PrefetchingIter: its thread has ended, as behind a fork; reset begins anew"
                    )

    def stop(self, wait=True):
        """End the thread; with `wait`, return only when it no longer uses the iterator."""
        self._stopping.set()
        while wait and self._thread.is_alive():
            with contextlib.suppress(queue.Empty):
                self._ready.get_nowait()
            self._thread.join(0.01)


def _prefetch_batches(source, guard, ready, stopping):
    while not stopping.is_set():
        item = _next_batch_or_error(source, guard)
        while not stopping.is_set():
            try:
                ready.put(item, timeout=0.1)
                break
            except queue.Full:
                continue
        if item is _END_OF_DATA or isinstance(item, BaseException):
            return


def _next_batch_or_error(source, guard):
    """Return (batch, the iterator's position after it), _END_OF_DATA, or an exception, which the
    thread that waits for the batch raises."""
    try:
        batch = source.next()
    except StopIteration:
        return _END_OF_DATA
    except BaseException as error:
        return error
    try:
        guard.detect_reuse()
        batch = guard.protect_batch(batch)
    except Exception as error:
        return loop_error(error, f"{describe_error(error)} (PrefetchingIter: a batch)")
    try:
        return batch, source.state_dict() if hasattr(source, "state_dict") else {}
    except BaseException as error:
        return loop_error(error, f"{describe_error(error)} (PrefetchingIter: in a state_dict)")
