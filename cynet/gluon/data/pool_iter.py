"""MXNet's iterator over a pool of workers: packages' own loaders inherit from it.

``DataLoader`` itself does not use it: its workers answer by shared memory, and tell when they die.
"""

from __future__ import annotations

import pickle
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

from ...base.errors import StateError, describe_error, loop_error
from ...context import cpu_pinned
from .transport import load_pickled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_worker_dataset: Any = None  # dataset of this worker process


def _worker_initializer(
    dataset: Any, active_shape: bool | None = None, active_array: bool | None = None
) -> None:
    """Store the dataset when a process of the pool starts."""
    global _worker_dataset
    _worker_dataset = dataset


def _worker_fn(samples: Any, batchify_fn: Callable[[list[Any]], Any], dataset: Any = None) -> Any:
    """Make a batch, pickled unless the `dataset` is given."""
    if dataset is not None:
        return batchify_fn([dataset[i] for i in samples])
    batch = batchify_fn([_worker_dataset[i] for i in samples])
    return bytes(ForkingPickler.dumps(batch, pickle.HIGHEST_PROTOCOL))


def _thread_worker_initializer(active_shape: Any = None, active_array: Any = None) -> None:
    """Do nothing when a thread of the pool starts."""


def _thread_worker_fn(samples: Any, batchify_fn: Callable[[list[Any]], Any], dataset: Any) -> Any:
    """Make a batch of samples of a dataset in this process."""
    return batchify_fn([dataset[i] for i in samples])


class _MultiWorkerIter:  # batches that worker processes prefetch
    """Iterates over batches that a pool of workers prefetches, in order.

    batch_sampler: Gives lists of indices.
    worker_fn: ``worker_fn(indices, batchify_fn, dataset)`` gives a batch; without a `dataset`
        pickled.
    prefetch: Batches that are begun at once.
    dataset: Of threads.
    data_loader: Kept alive as long as this iterator.
    timeout: Seconds.
    """

    def __init__(
        self,
        worker_pool: Any,
        batchify_fn: Callable[[list[Any]], Any],
        batch_sampler: Iterable[Any],
        pin_memory: bool = False,
        pin_device_id: int = 0,
        worker_fn: Callable[..., Any] = _worker_fn,
        prefetch: int = 0,
        dataset: Any = None,
        data_loader: Any = None,
        timeout: float | None = 120,
    ) -> None:
        self._worker_pool = worker_pool
        self._batchify_fn = batchify_fn
        self._batch_sampler = batch_sampler
        self._data_buffer: dict[int, Any] = {}
        self._rcvd_idx = 0
        self._sent_idx = 0
        self._iter = iter(batch_sampler)
        self._worker_fn = worker_fn
        self._pin_memory = pin_memory
        self._pin_device_id = pin_device_id
        self._dataset = dataset
        self._data_loader = data_loader
        self._timeout = timeout
        for _ in range(prefetch):
            self._push_next()

    def __len__(self) -> int:
        return len(self._batch_sampler)  # type: ignore[arg-type]

    def _push_next(self) -> None:
        """Submit the next batch to the pool."""
        indices = next(self._iter, None)
        if indices is None:
            return
        begun = self._worker_pool.apply_async(
            self._worker_fn, (indices, self._batchify_fn, self._dataset)
        )
        self._data_buffer[self._sent_idx] = begun
        self._sent_idx += 1

    def __next__(self) -> Any:
        self._push_next()
        if self._rcvd_idx == self._sent_idx:
            if self._data_buffer:
                raise StateError(f"{len(self._data_buffer)} batches were begun and not counted")
            raise StopIteration
        try:
            answer = self._data_buffer.pop(self._rcvd_idx).get(self._timeout)
            batch = load_pickled(answer) if self._dataset is None else answer
        except StopIteration as error:  # from user code: not the epoch's end
            raise loop_error(error, f"{describe_error(error)} (DataLoader: in a worker)") from error
        if self._pin_memory:
            from .dataloader import _as_in_context

            batch = _as_in_context(batch, cpu_pinned(self._pin_device_id))
        self._rcvd_idx += 1
        return batch

    def next(self) -> Any:
        """The next batch."""
        return self.__next__()

    def __iter__(self) -> _MultiWorkerIter:
        return self
