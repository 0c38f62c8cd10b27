"""DataLoader: batches of a dataset, made by this thread, worker threads or processes."""

from __future__ import annotations

import itertools
import warnings
from collections import deque
from contextlib import nullcontext
from multiprocessing.pool import Pool, ThreadPool
from multiprocessing.reduction import ForkingPickler as ForkingPickler  # for other packages
from typing import TYPE_CHECKING, Any

from ...base.errors import (
    ArgumentError,
    ArgumentTypeError,
    FormatError,
    UndefinedError,
    describe_error,
    loop_error,
    shown,
)
from ...base.guard import guarded
from ...base.kinds import to_index
from ...base.np_shape import uses_np_arrays
from ...base.numpy_state import numpy_state, set_numpy_state
from ...base.reprs import ReprMixin
from ...context import Context, cpu_pinned
from ...engine.trace import Span
from ...ndarray import NDArray
from ...random import set_shuffle_state, shuffle_state
from ..errors import MismatchError
from .batchify import default_batchify_fn, default_mp_batchify_fn
from .dataset import pandas_to_numpy
from .fetch import fetch_samples, is_free_of_user_code
from .pool_iter import _MultiWorkerIter as _MultiWorkerIter
from .pool_iter import _thread_worker_fn as _thread_worker_fn
from .pool_iter import _thread_worker_initializer, _worker_initializer
from .pool_iter import _worker_fn as _worker_fn
from .sampler import BatchSampler, RandomSampler, SequentialSampler
from .seeding import batch_seed, epoch_seed, seed_all_streams
from .stream import StreamSampler, is_stream
from .workers import BatchTask, WorkerProcesses, WorkerThreads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .sampler import Sampler

__all__ = ["DataLoader", "default_batchify_fn", "default_mp_batchify_fn"]
_DATA_SPAN = Span("data", "training")  # time range in the profiler's trace
_END_OF_EPOCH = object()  # in place of indices or a batch
_STATE_KEYS = {"epoch", "batch", "begin", "now"}  # keys of `DataLoader.state_dict`
_STREAM_KEYS = {"samples", "stream"}  # further keys if the dataset is a stream


@guarded(but=("__iter__",))
class DataLoader(ReprMixin):
    """Loads batches of a dataset; each iteration is one epoch.

    One seed (``mx.random.seed``, or ``numpy.random.seed``) gives the same batches whatever the
    number of workers. A worker that dies, a sample that fails and samples that do not fit together
    are errors at once, which name the sample.

    Parameters
    ----------
    dataset : Dataset, IterableDataset, or anything with a length and indices, or to iterate
        The samples. What has no indices is a stream, see :class:`IterableDataset`.
    batch_size : int, optional
        Number of samples in a batch; needed unless there is a `batch_sampler`.
    shuffle : bool
        Whether to draw the order of the samples anew in each epoch.
    sampler : Sampler, optional
        The order of samples, instead of `shuffle`.
    last_batch : str, optional
        ``'keep'``, ``'discard'`` or ``'rollover'``; see :class:`BatchSampler`.
    batch_sampler : Sampler, optional
        Gives lists of indices, in place of `batch_size`, `shuffle`, `sampler` and `last_batch`.
    batchify_fn : callable, optional
        Makes a batch from a list of samples; see ``mx.gluon.data.batchify``.
    num_workers : int
        Number of processes that make batches; 0 makes them in this one.
    pin_memory : bool
        Put batches on ``cpu_pinned``.
    pin_device_id : int
        Device number of that context.
    prefetch : int, optional
        Number of batches made ahead; by default twice the number of workers.
    thread_pool : bool
        Use threads instead of processes.
    timeout : float, optional
        Seconds to wait for a batch before an error; None waits without limit.
    auto_reload : bool
        Begin the next epoch's batches as soon as an epoch ends.

    Raises
    ------
    ArgumentError
        Neither `batch_size` nor `batch_sampler` is given; a `batch_sampler` comes with
        `batch_size`, `shuffle`, `sampler` or `last_batch`; or a `sampler` with `shuffle`; or a
        stream with what needs indices: a sampler, `shuffle` or ``last_batch='rollover'``.
    ArgumentTypeError
        `batchify_fn` cannot be called.
    MismatchError
        `timeout` is not above 0.

    Examples
    --------
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.arange(6).reshape((3, 2)), [0, 1, 0])
    >>> loader = mx.gluon.data.DataLoader(data, batch_size=2, last_batch="keep")
    >>> for x, y in loader:
    ...     print(x.shape, y.asnumpy())
    (2, 2) [0 1]
    (1, 2) [0]
    >>> state = loader.state_dict()  # state from which to go on later
    >>> loader.load_state_dict(state)
    >>> loader.refresh()
    >>> loader.clean()
    >>> loader.close()
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Sampler | Iterable[int] | None = None,
        last_batch: str | None = None,
        batch_sampler: Sampler | Iterable[Any] | None = None,
        batchify_fn: Callable[[list[Any]], Any] | None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        prefetch: int | None = None,
        thread_pool: bool = False,
        timeout: float | None = None,
        auto_reload: bool = False,
    ) -> None:
        if timeout is not None and not timeout > 0:
            raise MismatchError(f"timeout must be greater than 0, got {shown(timeout)}")
        indexed = hasattr(dataset, "__getitem__") and (sampler or batch_sampler) is not None
        self._source = StreamSampler(dataset) if is_stream(dataset) and not indexed else None
        if self._source is not None:
            if shuffle or sampler is not None or batch_sampler is not None:
                raise ArgumentError(
                    "DataLoader: a stream has no indices for a sampler or shuffle; its own"
                    " shuffle(size) mixes samples"
                )
            if last_batch == "rollover":
                raise ArgumentError(
                    "DataLoader: last_batch='rollover' keeps indices, which a stream has not"
                )
            dataset, sampler = self._source.transforms, self._source
        if batch_sampler is None:
            if batch_size is None:
                raise ArgumentError("DataLoader: give a batch_size, or a batch_sampler")
            if sampler is None:
                kind = RandomSampler if shuffle else SequentialSampler
                sampler = kind(len(dataset))
            elif shuffle:
                raise ArgumentError("DataLoader: a sampler decides the order, so shuffle cannot")
            batch_sampler = BatchSampler(sampler, batch_size, last_batch or "keep")
        elif batch_size is not None or shuffle or sampler is not None or last_batch is not None:
            raise ArgumentError(
                "DataLoader: with a batch_sampler there is no batch_size, shuffle, sampler or"
                " last_batch"
            )
        if batchify_fn is not None and not callable(batchify_fn):
            raise ArgumentTypeError(f"batchify_fn must be a function, got {shown(batchify_fn)}")
        self._dataset = pandas_to_numpy(dataset)
        self._batch_sampler = batch_sampler
        self._batchify_fn = default_batchify_fn if batchify_fn is None else batchify_fn
        self._num_workers = max(0, num_workers)
        self._pin_memory, self._pin_device_id = pin_memory, pin_device_id
        self._prefetch = max(0, 2 * self._num_workers if prefetch is None else int(prefetch))
        self._thread_pool = thread_pool
        self._timeout = timeout
        self._auto_reload = auto_reload
        self._pool: WorkerProcesses | WorkerThreads | None = None
        self._own_pool: Any = None  # see _worker_pool
        self._epoch = 0
        self._waiting: _EpochIterator | None  # the prefetched next epoch
        self.clean()
        self._position: dict[str, Any] | None = None  # the state behind the epoch's last batch
        self._resume: dict[str, Any] | None = None

    def __getstate__(self):
        """Return the state for copies and pickles, without workers and prefetched batches."""
        return {**vars(self), "_pool": None, "_own_pool": None, "_waiting": None}

    def _repr_settings(self):
        if self._source is not None:
            dataset = {"dataset": f"<stream {self._source.name}>"}
        else:
            dataset = {
                "dataset": f"<{type(self._dataset).__name__} of {len(self._dataset)}>",
                "batches": len(self),
            }
        return {
            **dataset,
            "batch_size": getattr(self._batch_sampler, "_batch_size", None),
            "num_workers": self._num_workers,
        }

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        if self._waiting is None:
            self.refresh()
        epoch, self._waiting = self._waiting, None
        self._position = epoch.position()
        return epoch

    def _new_epoch_iterator(self):
        if self._resume is not None:
            saved, self._resume = self._resume, None
            return _EpochIterator(self, saved["epoch"], saved)
        number, self._epoch = self._epoch, self._epoch + 1
        return _EpochIterator(self, number)

    def _end_epoch(self):
        if self._auto_reload and self._waiting is None:
            self.refresh()

    def refresh(self) -> None:
        """Start prefetching the next epoch."""
        self._waiting = self._new_epoch_iterator()

    def clean(self) -> None:
        """Drop the batches that were prefetched for the next epoch."""
        self._waiting = None

    def close(self) -> None:
        """Stop the workers; the next epoch starts new workers."""
        pool, self._pool = self._pool, None
        self._waiting = self._position = None
        if pool is not None:
            pool.close()
        self._end_own_pool()

    def _end_own_pool(self):
        own, self._own_pool = self._own_pool, None
        if own is not None:
            own.terminate()

    def __del__(self):
        if getattr(self, "_own_pool", None) is not None:
            self._end_own_pool()

    @property
    def _worker_pool(self):
        """A multiprocessing pool as in MXNet's loaders, for loaders of other packages; created at
        its first use, or set by a subclass."""
        if self._own_pool is None and self._num_workers:
            if self._thread_pool:
                self._own_pool = ThreadPool(self._num_workers, _thread_worker_initializer)
            else:
                with warnings.catch_warnings():
                    # the warning is about forks beside threads, which engine and pools support
                    warnings.simplefilter("ignore", DeprecationWarning)
                    self._own_pool = Pool(
                        self._num_workers, _worker_initializer, [self._dataset, False, False]
                    )
        return self._own_pool

    @_worker_pool.setter
    def _worker_pool(self, pool):
        self._own_pool = pool

    def _usable_workers(self):
        if self._pool is None or not self._pool.is_usable():
            if self._pool is not None:
                self._pool.close()
            kind = WorkerThreads if self._thread_pool else WorkerProcesses
            self._pool = kind(self._num_workers, self._dataset, self._batchify_fn)
        return self._pool

    def _pin_batch(self, batch):
        return (
            _copy_to_context(batch, cpu_pinned(self._pin_device_id)) if self._pin_memory else batch
        )

    # --- resuming ---------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """Return the loader's position as numbers and lists that JSON can hold: the epoch, the
        count of its batches so far, the random state at its begin and the present one.

        Returns
        -------
        dict
        """
        now = _random_state(self)
        if self._resume is not None:
            names = ("epoch", "batch", "begin", "stream")
            where = {name: self._resume[name] for name in names if name in self._resume}
        elif self._position is not None:
            where = self._position
        elif self._waiting is not None and self._waiting.may_have_drawn_order:
            where = self._waiting.position()
        else:
            epoch = self._epoch - (self._waiting is not None)
            where = {"epoch": epoch, "batch": 0, "begin": None}
        return {**where, "now": now, "samples": _length_or_none(self._dataset)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue at the position of `state_dict`: the next ``iter`` yields the epoch's remaining
        batches. The generators of the sample order (NumPy's global state, the count of shuffles)
        are restored, too.

        Parameters
        ----------
        state : dict
            What `state_dict` returned.

        Raises
        ------
        FormatError
            The file is damaged, or of another kind.
        """
        if (
            not isinstance(state, dict)
            or not _STATE_KEYS <= state.keys() <= _STATE_KEYS | _STREAM_KEYS
        ):
            raise FormatError(f"expected a state of a DataLoader, got {shown(state)}")
        samples, saved = _length_or_none(self._dataset), state.get("samples")
        if saved is not None and saved != samples:
            raise FormatError(
                f"DataLoader: a state of a dataset of {shown(saved)} samples, for one of {samples}"
            )
        if "stream" in state and not (self._source is not None and self._source.can_seek):
            raise FormatError(
                "DataLoader: a state of a stream with load_state_dict, which this dataset has not"
            )
        before = _random_state(self)
        try:
            epoch, batch = (to_index(name, state[name]) for name in ("epoch", "batch"))
            if min(epoch, batch) < 0 or (batch and state["begin"] is None):
                raise FormatError("there is no such place")
            if state["begin"] is not None:  # restores the epoch's order
                _set_random_state(self, state["begin"])
                self._check_batch_index(batch)
            _set_random_state(self, state["now"])
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
            _set_random_state(self, before)
            raise FormatError(
                f"expected a state of this DataLoader, got {shown(state)}: {error}"
            ) from error
        self._waiting = self._position = None
        self._resume = None if state["begin"] is None else dict(state)
        self._epoch = epoch + (self._resume is not None)

    def _check_batch_index(self, batch):
        """Raise an error if the restored epoch has fewer than `batch` batches."""
        if type(self._batch_sampler) is BatchSampler:  # a user's sampler may have no length
            maximum = _length_or_none(self._batch_sampler)
            if maximum is not None and batch > maximum:
                raise FormatError(f"batch {batch} of {maximum}")


class _EpochIterator:  # the batches of one epoch
    """Iterates over the batches of one epoch."""

    def __init__(self, loader, number, saved=None):
        self._loader = loader
        self._number = number
        now = _random_state(loader)
        self._begin_state = now if saved is None else saved["begin"]
        if saved is not None:
            _set_random_state(loader, self._begin_state)
        self._seed = epoch_seed(number)
        place = None if saved is None else saved.get("stream")
        # position of a seekable stream after the last batch
        self._place = place
        if loader._source is not None:
            first = 0 if place is None else saved["batch"] * _batch_size_of(loader)
            loader._source.begin_iteration(number, place, first)
        self._indices = iter(loader._batch_sampler)
        self._given = 0
        self._counter = itertools.count()
        self._tasks = deque()
        self.over = False
        self._pool = loader._usable_workers() if loader._num_workers else None
        self._draws = not is_free_of_user_code(loader._dataset, loader._batchify_fn)
        self._resumed = saved is not None
        if saved is not None:
            given = saved["batch"]
            if place is None:
                given = sum(1 for _ in itertools.islice(self._indices, given))
            if given == 0:  # taking the first list of indices draws the order
                self._indices = itertools.chain(
                    [*itertools.islice(self._indices, 1)], self._indices
                )
            if given < saved["batch"]:
                raise FormatError(
                    f"DataLoader: a state behind {saved['batch']} batches of an epoch that has"
                    f" {given}"
                )
            self._counter = itertools.count(given)
            self._given = given
        if self._pool is not None:
            for _ in range(max(1, loader._prefetch)):
                self._push_next_task()
        if saved is not None:
            _set_random_state(loader, now, rollover=False)

    @property
    def may_have_drawn_order(self):
        """Return whether the random order of the epoch may have been drawn."""
        return self._given > 0 or self._pool is not None or self._resumed

    def position(self):
        """Return the position in the epoch, for `DataLoader.state_dict`."""
        begin = self._begin_state if self.may_have_drawn_order else None  # the order is drawn later
        found = {"epoch": self._number, "batch": self._given, "begin": begin}
        return found if self._place is None else {**found, "stream": self._place}

    def _push_next_task(self):
        number = next(self._counter)
        task = BatchTask(number, batch_seed(self._seed, number), ())
        try:
            task.indices, task.place = self._next_indices()
        except Exception as error:  # wait() raises it
            task.store(None, error)
        if task.indices is _END_OF_EPOCH:
            return
        self._tasks.append(task)
        if not task.is_done:
            self._pool.push(task)

    def _next_indices(self):
        """Return the next list of indices, or the end mark, and the stream's next position."""
        indices, source = next(self._indices, _END_OF_EPOCH), self._loader._source
        place = None if source is None else source.position()
        return (indices if indices is _END_OF_EPOCH else list(indices)), place

    def __iter__(self):
        return self

    def __next__(self):
        with _DATA_SPAN:
            try:
                batch = self._next_batch()
            except StopIteration as error:  # from user code: not the epoch's end
                raise loop_error(error, f"{describe_error(error)} (DataLoader)") from error
        if batch is _END_OF_EPOCH:
            raise StopIteration
        return _to_np_arrays(batch) if uses_np_arrays() else batch

    def _next_batch(self):
        if self.over:
            return _END_OF_EPOCH
        loader = self._loader
        if self._pool is None:
            indices, place = self._next_indices()
            if indices is _END_OF_EPOCH:
                return self._stop_epoch()
            seed = batch_seed(self._seed, next(self._counter))
            with seed_all_streams(seed) if self._draws else nullcontext():
                batch = fetch_samples(loader._dataset, indices, loader._batchify_fn)
        else:
            if not self._tasks:
                return self._stop_epoch()
            task = self._tasks[0]
            self._pool.wait(task, loader._timeout)
            self._tasks.popleft()
            try:
                batch = task.result_or_raise()
            except BaseException:
                self.over = True
                self._tasks.clear()
                raise
            place = task.place
            self._push_next_task()
        self._given, self._place = self._given + 1, place
        loader._position = self.position()
        return loader._pin_batch(batch)

    def _stop_epoch(self):
        self.over = True
        self._loader._position = None
        self._loader._end_epoch()
        return _END_OF_EPOCH

    def __len__(self):
        return len(self._loader)


def _length_or_none(source):
    """Return the length of a dataset or sampler, or None."""
    try:
        return len(source)
    except (TypeError, UndefinedError):
        return None


def _random_state(loader):
    """Return the state of the generator that draws the order of an epoch."""
    left = getattr(loader._batch_sampler, "_prev", [])
    return {"numpy": numpy_state(), "shuffles": shuffle_state(), "rollover": list(left)}


def _set_random_state(loader, saved, rollover=True):
    left = saved["rollover"]
    if not isinstance(left, list) or len(left) >= max(1, _batch_size_of(loader)):
        raise FormatError(f"rollover is a list of samples that fill no batch, got {shown(left)}")
    set_numpy_state(saved["numpy"])
    set_shuffle_state(saved["shuffles"])
    if rollover and hasattr(loader._batch_sampler, "_prev"):
        loader._batch_sampler._prev = list(left)


def _batch_size_of(loader):
    """Return the batch size, or infinity if a user's sampler decides it."""
    known = type(loader._batch_sampler) is BatchSampler
    return loader._batch_sampler._batch_size if known else float("inf")


def _to_np_arrays(batch):
    """Convert the arrays of a batch to arrays of mx.np."""
    if isinstance(batch, (list, tuple)):
        return type(batch)(map(_to_np_arrays, batch))
    if isinstance(batch, dict):
        return {name: _to_np_arrays(each) for name, each in batch.items()}
    return batch.as_np_ndarray() if isinstance(batch, NDArray) else batch


def _copy_to_context(batch, context):
    """Return a batch with its arrays on `context`."""
    if isinstance(batch, NDArray):
        return batch.as_in_context(context)
    if isinstance(batch, dict):
        return type(batch)((key, _copy_to_context(each, context)) for key, each in batch.items())
    if isinstance(batch, tuple):
        parts = [_copy_to_context(each, context) for each in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else tuple(parts)
    if isinstance(batch, list):
        return [_copy_to_context(each, context) for each in batch]
    return batch


def _as_in_context(data: Any, ctx: Context) -> Any:
    """Return `data` with its arrays on `ctx`."""
    return _copy_to_context(data, ctx)
