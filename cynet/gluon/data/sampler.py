"""Samplers: the order of samples, and batches of indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import ArgumentError, UndefinedError, shown
from ...base.guard import Guarded
from ...base.reprs import LengthRepr
from ...distributed import world
from ...io.rows_iter import check_part
from .seeding import new_shuffle_generator, permutation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Sampler(Guarded, LengthRepr):
    """Base of samplers: a subclass defines ``__iter__`` and ``__len__``.

    Examples
    --------
    >>> class EverySecond(mx.gluon.data.Sampler):
    ...     def __init__(self, length):
    ...         self.length = length
    ...     def __iter__(self):
    ...         return iter(range(0, self.length, 2))
    ...     def __len__(self):
    ...         return (self.length + 1) // 2
    ...
    >>> data = mx.gluon.data.SimpleDataset([10, 11, 12, 13])
    >>> loader = mx.gluon.data.DataLoader(data, batch_size=2, sampler=EverySecond(4))
    >>> [batch.asnumpy().tolist() for batch in loader]
    [[10, 12]]
    """

    def __iter__(self) -> Iterator[Any]:
        raise UndefinedError(f"{type(self).__name__} defines no __iter__")

    def __len__(self) -> int:
        raise UndefinedError(f"{type(self).__name__} defines no __len__")


class SequentialSampler(Sampler):
    """Yields `length` indices from `start` on, in order.

    Parameters
    ----------
    length : int
        Number of indices.
    start : int
        The first index.

    Examples
    --------
    >>> list(SequentialSampler(3, 5))
    [5, 6, 7]
    """

    def __init__(self, length: int, start: int = 0) -> None:
        self._length = length
        self._start = start

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._start, self._start + self._length))

    def __len__(self) -> int:
        return self._length


class RandomSampler(Sampler):
    """Yields the indices below `length` in a new random order each time.

    ``mx.random.seed`` decides it, or ``numpy.random.seed`` where that was not called.

    Parameters
    ----------
    length : int
        Number of indices.

    Examples
    --------
    >>> sorted(RandomSampler(4))
    [0, 1, 2, 3]
    """

    def __init__(self, length: int) -> None:
        self._length = length

    def __iter__(self) -> Iterator[int]:
        return iter(permutation(self._length).tolist())

    def __len__(self) -> int:
        return self._length


class WeightedSampler(Sampler):
    """Draws indices with probabilities in proportion to weights, for rare classes.

    ``mx.random.seed`` decides them, or ``numpy.random.seed`` if that was not called.

    Parameters
    ----------
    weights : list of float
        A weight for each sample, at least 0.
    num_samples : int, optional
        Number of indices in an epoch; by default the number of weights.
    replacement : bool
        Whether a sample may be drawn again.

    Raises
    ------
    ArgumentError
        A weight is negative or not finite, all are 0, or without replacement too few are not 0.

    Examples
    --------
    >>> sampler = WeightedSampler([0, 1, 3], num_samples=5)
    >>> len(sampler), 0 in list(sampler)
    (5, False)
    """

    def __init__(
        self, weights: Any, num_samples: int | None = None, replacement: bool = True
    ) -> None:
        weights = np.asarray(weights, np.float64).ravel()
        if not weights.size or not np.isfinite(weights).all() or (weights < 0).any():
            raise ArgumentError("WeightedSampler: weights are finite numbers of 0 or more")
        num_samples = weights.size if num_samples is None else num_samples
        maximum = None if replacement else int(np.count_nonzero(weights))
        if not weights.any() or num_samples < 1 or (maximum is not None and num_samples > maximum):
            raise ArgumentError(
                f"WeightedSampler: num_samples {num_samples}, of which"
                f" {np.count_nonzero(weights)} weights are not 0"
            )
        self._weights, self._length = weights / weights.sum(), num_samples
        self._replacement = replacement

    def __iter__(self) -> Iterator[int]:
        drawn = new_shuffle_generator().choice(
            self._weights.size, self._length, replace=self._replacement, p=self._weights
        )
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self._length


class PartSampler(Sampler):
    """Yields one rank's part of the indices below `length`; all parts have equal lengths.

    Parameters
    ----------
    length : int
        Number of samples in all. Those that remain after an even split are left out; with
        `shuffle`, other ones in each epoch.
    num_parts, part_index : int, optional
        Number of parts, and which of them; by default one part for each rank.
    shuffle : bool
        Whether to draw an order, the same for all parts, in each epoch.
    seed : int
        Decides the orders, together with the number of the epoch.

    Raises
    ------
    ArgumentError
        `part_index` is not below `num_parts`, or there are fewer samples than parts.

    Examples
    --------
    >>> list(PartSampler(7, num_parts=3, part_index=1, shuffle=False))
    [2, 3]
    """

    def __init__(
        self,
        length: int,
        num_parts: int | None = None,
        part_index: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
    ) -> None:
        parts = world().size if num_parts is None else num_parts
        index = world().rank if part_index is None else part_index
        check_part(index, parts, "PartSampler")
        if length < parts:
            raise ArgumentError(f"PartSampler: {length} samples are too few for {parts} parts")
        self._total, self._length, self._start = length, length // parts, index * (length // parts)
        self._shuffle, self._seed, self._epoch = shuffle, seed, 0

    def __iter__(self) -> Iterator[int]:
        if self._shuffle:
            order = np.random.RandomState((self._seed, self._epoch)).permutation(self._total)
            self._epoch += 1
        else:
            order = np.arange(self._total)
        return iter(order[self._start : self._start + self._length].tolist())

    def __len__(self) -> int:
        return self._length


class FilterSampler(Sampler):
    """Yields the indices of the samples for which ``fn(sample)`` is true, checked once.

    Parameters
    ----------
    fn : callable
        Called with a sample; returns whether to keep it.
    dataset : Dataset
        The samples.

    Examples
    --------
    >>> list(FilterSampler(lambda x: x > 1, [0, 1, 2, 3]))
    [2, 3]
    """

    def __init__(self, fn: Callable[[Any], bool], dataset: Any) -> None:
        self._indices = [i for i in range(len(dataset)) if fn(dataset[i])]

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)


class BatchSampler(Sampler):
    """Yields lists of `batch_size` indices.

    Parameters
    ----------
    sampler : Sampler
        Gives the indices.
    batch_size : int
        Number of indices in a batch.
    last_batch : str
        What to do with a smaller last batch: ``'keep'`` it, ``'discard'`` it, or ``'rollover'``:
        begin the next epoch with it.

    Raises
    ------
    ArgumentError
        `batch_size` is not an int of 1 or more, or `last_batch` not one of the three names.

    Examples
    --------
    >>> list(BatchSampler(SequentialSampler(5), 2, "discard"))
    [[0, 1], [2, 3]]
    """

    def __init__(self, sampler: Sampler, batch_size: int, last_batch: str = "keep") -> None:
        if not isinstance(batch_size, int) or batch_size < 1:
            raise ArgumentError(f"batch_size must be an int from 1 on, got {shown(batch_size)}")
        if last_batch not in ("keep", "discard", "rollover"):
            raise ArgumentError(
                f"last_batch is 'keep', 'discard' or 'rollover', got {shown(last_batch)}"
            )
        self._sampler = sampler
        self._batch_size = batch_size
        self._last_batch = last_batch
        self._prev: list[int] = []

    def __iter__(self) -> Iterator[list[int]]:
        batch, self._prev = self._prev, []
        for index in self._sampler:
            batch.append(index)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if batch and self._last_batch == "keep":
            yield batch
        elif batch and self._last_batch == "rollover":
            self._prev = batch

    def __len__(self) -> int:
        if self._last_batch == "keep":
            return -(-len(self._sampler) // self._batch_size)
        if self._last_batch == "discard":
            return len(self._sampler) // self._batch_size
        return (len(self._prev) + len(self._sampler)) // self._batch_size
