"""Datasets without indices, whose samples can only be iterated."""

from __future__ import annotations

import copy
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import (
    ArgumentError,
    ArgumentTypeError,
    UndefinedError,
    describe_error,
    loop_error,
    shown,
)
from ...base.guard import Guarded
from ...base.reprs import LengthRepr
from ..errors import MismatchError
from .dataset import _TransformFirstArgument
from .seeding import new_shuffle_generator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class IterableDataset(Guarded, LengthRepr):
    """A dataset without indices: it yields samples, as from a log, a socket or large files.

    Give it a source, or define ``__iter__`` in a subclass. Each epoch iterates anew.

    A DataLoader reads the samples in its own process, one by one, so that their order and number
    do not depend on workers; functions of `transform` after all other changes run in the workers.
    ``DataLoader.state_dict`` resumes exactly: the samples that were given are read again and
    passed over, or, where the source has ``state_dict`` and ``load_state_dict``, it is put back.

    Parameters
    ----------
    source : iterable or callable, optional
        What can be iterated again and again, or a function that returns an iterator.

    Raises
    ------
    ArgumentTypeError
        The source is neither, or an iterator, which ends after one epoch.

    Examples
    --------
    >>> def lines():
    ...     yield from ("1 2", "3 4", "5 6")
    >>> stream = mx.gluon.data.IterableDataset(lines)
    >>> numbers = stream.transform(lambda line: np.array(line.split(), "float32"))
    >>> for batch in mx.gluon.data.DataLoader(numbers, batch_size=2):
    ...     print(batch.shape)
    (2, 2)
    (1, 2)
    """

    _unguarded = ("__iter__",)

    def __init__(self, source: Any = None) -> None:
        # a callable returns a new iterator each time
        made = isinstance(source, type) or not hasattr(source, "__iter__")
        if hasattr(source, "__next__") and not made:
            raise ArgumentTypeError(
                f"IterableDataset: {shown(source)} gives its samples once; give the function that"
                " makes it, which each epoch calls"
            )
        if source is not None and made and not callable(source):
            raise ArgumentTypeError(
                "IterableDataset takes what can be iterated, or a function that returns an"
                f" iterator, got {shown(source)}"
            )
        self._source, self._made = source, made

    def __iter__(self) -> Iterator[Any]:
        source = getattr(self, "_source", None)  # a subclass may not call __init__
        if source is None:
            raise UndefinedError(f"{type(self).__name__} has no source and defines no __iter__")
        return iter(source() if self._made else source)

    def transform(self, fn: Callable[..., Any]) -> IterableDataset:
        """Apply a function to each sample; the fields of a tuple are its arguments.

        Parameters
        ----------
        fn : callable
            Called with the sample, or with the fields of a tuple as arguments; returns the new
            sample.

        Examples
        --------
        >>> list(IterableDataset([1, 2, 3]).transform(lambda x: 10 * x))
        [10, 20, 30]
        """
        return _TransformedStream(self, fn)

    def transform_first(self, fn: Callable[..., Any]) -> IterableDataset:
        """Apply a function to the first field of each sample; other fields stay unchanged.

        Parameters
        ----------
        fn : callable
            Called with the first field of a sample; returns its new value.

        Examples
        --------
        >>> list(IterableDataset([(1, 0), (2, 1)]).transform_first(lambda x: 10 * x))
        [(10, 0), (20, 1)]
        """
        return _TransformedStream(self, _TransformFirstArgument(fn))

    def filter(self, fn: Callable[[Any], bool]) -> IterableDataset:
        """Keep only the samples for which ``fn(sample)`` is true.

        Parameters
        ----------
        fn : callable
            Called with a sample; returns whether to keep it.

        Examples
        --------
        >>> list(IterableDataset(range(6)).filter(lambda x: x % 2))
        [1, 3, 5]
        """
        return _IteratorTransform(self, _filter_samples, fn)

    def take(self, count: int) -> IterableDataset:
        """Return a stream of the first `count` samples.

        Parameters
        ----------
        count : int
            Number of samples, at most.

        Raises
        ------
        MismatchError
            `count` is below 0.

        Examples
        --------
        >>> list(IterableDataset(itertools.count).take(3))
        [0, 1, 2]
        """
        if count < 0:
            raise MismatchError(f"take: count must be 0 or more, got {shown(count)}")
        return _IteratorTransform(self, itertools.islice, count)

    def shard(self, num_shards: int, index: int) -> IterableDataset:
        """Return every n-th sample, the part of one of n ranks.

        Parameters
        ----------
        index : int
            The number of this part, from 0.

        Returns
        -------
        IterableDataset
            A stream of the samples `index`, `index` + `num_shards`, ...

        Raises
        ------
        MismatchError
            `index` is not from 0 to ``num_shards - 1``.

        Examples
        --------
        >>> list(IterableDataset(range(7)).shard(3, 1))
        [1, 4]
        """
        if not 0 <= index < num_shards:
            raise MismatchError(
                f"shard: there are {num_shards} parts, and none has index {shown(index)}"
            )
        return _IteratorTransform(self, itertools.islice, index, None, num_shards)

    def shuffle(self, size: int) -> IterableDataset:
        """Shuffle in a buffer: each sample is drawn from the next `size` samples.

        Parameters
        ----------
        size : int
            Number of samples that are held. ``mx.random.seed`` decides the order, which differs
            from epoch to epoch.

        Raises
        ------
        ArgumentError
            `size` is below 1.

        Examples
        --------
        >>> sorted(IterableDataset(range(5)).shuffle(3))
        [0, 1, 2, 3, 4]
        """
        if size < 1:
            raise ArgumentError(f"shuffle: size must be 1 or more, got {shown(size)}")
        return _IteratorTransform(self, _shuffle_samples, size)


class _IteratorTransform(IterableDataset):  # changes a stream's iterator
    """Applies a function to the iterator of another stream."""

    def __init__(self, source, change, *settings):
        super().__init__(source)
        self._change, self._settings = change, settings

    def __iter__(self):
        return iter(self._change(iter(self._source), *self._settings))


class _TransformedStream(IterableDataset):  # applies a function to samples
    """Applies a function to each sample of another stream."""

    def __init__(self, source, fn):
        super().__init__(source)
        if not callable(fn):
            raise ArgumentTypeError(f"transform takes a function, got {shown(fn)}")
        self._fn = fn

    def __iter__(self):
        return (call_with_sample(self._fn, sample) for sample in self._source)

    def __len__(self):
        return len(self._source)


def call_with_sample(fn, sample):
    """Call a function with a sample; the fields of a tuple are its arguments."""
    return fn(*sample) if isinstance(sample, tuple) else fn(sample)


def _filter_samples(samples, fn):
    return (sample for sample in samples if fn(sample))


def _shuffle_samples(samples, size):
    random = np.random.RandomState(new_shuffle_generator().randint(1 << 31))
    held = list(itertools.islice(samples, size))
    for sample in samples:
        i = random.randint(size)
        yield held[i]
        held[i] = sample
    random.shuffle(order := np.arange(len(held)))
    for i in order.tolist():
        yield held[i]


def is_stream(dataset: Any) -> bool:
    """Return whether a dataset can only be iterated; other packages' streams may define an index
    that only raises, but no length."""
    if isinstance(dataset, IterableDataset):
        return True
    has_indices = hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")
    return hasattr(dataset, "__iter__") and not has_indices


class NumberedSample:  # a stream's sample with its position
    """A sample of a stream with its number, which errors show in place of an index."""

    __slots__ = ("number", "value")

    def __init__(self, number, value):
        self.number, self.value = number, value

    def __repr__(self):
        return str(self.number)


class SampleTransforms:  # the transforms of a stream, in workers
    """Replaces a stream in workers: ``self[sample]`` applies the transforms to a NumberedSample."""

    def __init__(self, functions):
        self._functions = functions

    def __getitem__(self, sample):
        value = sample.value
        for fn in self._functions:
            value = call_with_sample(fn, value)
        return value


class StreamSampler:  # yields samples in place of indices
    """Yields the Samples of a stream, in place of a sampler's indices."""

    def __init__(self, stream):
        functions, given = [], stream
        if not isinstance(stream, IterableDataset):
            stream = IterableDataset(stream)
        while type(stream) is _TransformedStream:
            functions.append(stream._fn)
            stream = stream._source
        self.transforms = SampleTransforms(functions[::-1])
        self._stream, self.name, self._first = stream, type(given).__name__, 0
        self._origin = stream._source if type(stream) is IterableDataset else stream
        methods = "state_dict", "load_state_dict"
        self.can_seek = all(hasattr(self._origin, name) for name in methods)
        self._start, self._moved = self.position(), False

    def begin_iteration(self, epoch, place, number):
        """Prepare the next iteration: from the position `place`, whose first sample has the index
        `number`, or from the beginning."""
        if hasattr(self._origin, "set_epoch"):
            self._origin.set_epoch(epoch)
        if place is not None or self._moved:
            self._origin.load_state_dict(copy.deepcopy(self._start if place is None else place))
            self._moved = True
        self._first = number

    def position(self):
        """Return the stream's position, or None if it is not seekable."""
        return copy.deepcopy(self._origin.state_dict()) if self.can_seek else None

    def __iter__(self):
        number, samples = self._first, None
        while True:
            try:
                samples = iter(self._stream) if samples is None else samples
                value = next(samples)
            except StopIteration:
                return
            except Exception as error:
                where = f"DataLoader: in the stream, at sample {number}"
                raise loop_error(error, f"{describe_error(error)} ({where})") from error
            yield NumberedSample(number, value)
            number += 1

    def __len__(self):
        try:
            return len(self._stream if type(self._stream) is not IterableDataset else self._origin)
        except TypeError:
            raise ArgumentTypeError(f"{self.name} is a stream, whose length is not known") from None
