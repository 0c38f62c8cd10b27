"""Datasets: sequences of samples, and views of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import ArgumentError, ArgumentTypeError, BoundsError, UndefinedError, shown
from ...base.files import file_name
from ...base.guard import Guarded, guarded
from ...base.reprs import LengthRepr
from ...ndarray import NDArray
from ..errors import MismatchError
from .sampler import Sampler
from .seeding import permutation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class Dataset(Guarded, LengthRepr):
    """Base of indexed datasets: a subclass defines ``__getitem__`` and ``__len__``.

    Examples
    --------
    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 10
    ...     def __getitem__(self, index):
    ...         return index ** 2
    >>> [x for x in Squares().filter(lambda x: x % 2).take(3)]
    [1, 9, 25]
    """

    _unguarded = ("__getitem__", "__len__", "__iter__")

    def __getitem__(self, idx: int) -> Any:
        raise UndefinedError(f"{type(self).__name__} defines no __getitem__")

    def __len__(self) -> int:
        raise UndefinedError(f"{type(self).__name__} defines no __len__")

    def __iter__(self) -> Iterator[Any]:
        # Python's default iteration would end at a sample's IndexError or StopIteration
        try:
            length = len(self)
        except UndefinedError:
            yield from iter(_IndexOnlyDataset(self))
            return
        for index in range(length):
            yield self[index]

    def filter(self, fn: Callable[[Any], bool]) -> Dataset:
        """Return the samples for which ``fn(sample)`` is true, checked at once.

        Parameters
        ----------
        fn : callable
            Called with a sample; returns whether to keep it.
        """
        from .sampler import FilterSampler

        return _IndexSubset(self, FilterSampler(fn, self))

    def shard(self, num_shards: int, index: int) -> Dataset:
        """Return one of `num_shards` consecutive parts, whose sizes differ by at most one.

        Parameters
        ----------
        index : int
            Which part, from 0.

        Raises
        ------
        MismatchError
            `index` is not from 0 to ``num_shards - 1``.

        Examples
        --------
        >>> data = mx.gluon.data.SimpleDataset([1, 2, 3, 4, 5])
        >>> list(data.shard(2, 0)), list(data.shard(2, 1))
        ([1, 2, 3], [4, 5])
        """
        if not 0 <= index < num_shards:
            raise MismatchError(
                f"shard: there are {num_shards} parts, and none has index {shown(index)}"
            )
        each, more = divmod(len(self), num_shards)
        start = each * index + min(index, more)
        return _IndexSubset(self, range(start, start + each + (index < more)))

    def take(self, count: int | None) -> Dataset:
        """Return the first `count` samples, or all if there are fewer.

        Parameters
        ----------
        count : int or None
            Number of samples; None takes all.

        Raises
        ------
        MismatchError
            `count` is below 0.
        """
        if count is not None and count < 0:
            raise MismatchError(f"take: count must be 0 or more, got {count}")
        length = len(self)
        return _IndexSubset(self, range(length if count is None else min(count, length)))

    def sample(self, sampler: Sampler) -> Dataset:
        """Return the samples that a Sampler selects, in its order.

        Parameters
        ----------
        sampler : Sampler
            Gives the indices.

        Raises
        ------
        ArgumentTypeError
            `sampler` is not a Sampler.

        Examples
        --------
        >>> data = mx.gluon.data.SimpleDataset([1, 2, 3])
        >>> list(data.sample(mx.gluon.data.SequentialSampler(2)))
        [1, 2]
        """
        if not isinstance(sampler, Sampler):
            raise ArgumentTypeError(f"sample takes a Sampler, got {shown(sampler)}")
        return _IndexSubset(self, sampler)

    def transform(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """Apply ``fn`` to each sample; the fields of a tuple are its arguments.

        Parameters
        ----------
        fn : callable
            Called with the sample, or with the fields of a tuple as arguments; returns the new
            sample.

        Examples
        --------
        >>> data = mx.gluon.data.SimpleDataset([1, 2, 3])
        >>> list(data.transform(lambda x: 10 * x))
        [10, 20, 30]
        """
        out = _LazyTransformDataset(self, fn)
        return out if lazy else SimpleDataset(list(out))

    def transform_first(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """Apply ``fn`` to the first field of each sample; the other fields stay unchanged.

        Parameters
        ----------
        fn : callable
            Called with the first field of a sample; returns its new value.

        Examples
        --------
        >>> data = mx.gluon.data.ArrayDataset([1, 2], [0, 1])
        >>> list(data.transform_first(lambda x: 10 * x))
        [(10, 0), (20, 1)]
        """
        return self.transform(_TransformFirstArgument(fn), lazy)


def pandas_to_numpy(data):
    """Convert objects of pandas to NumPy arrays, so that ``data[i]`` is the i-th sample."""
    return data.to_numpy() if hasattr(data, "iloc") and hasattr(data, "to_numpy") else data


class SimpleDataset(Dataset):
    """Makes a dataset of a list or any other indexable object.

    Parameters
    ----------
    data : sequence
        The samples; those of pandas are taken by position.

    Examples
    --------
    >>> SimpleDataset([1, 2, 3])[2]
    3
    """

    def __init__(self, data: Sequence[Any]) -> None:
        self._data = pandas_to_numpy(data)

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        return self._data[idx]

    def _array_fields(self):
        """Return arrays of all samples, one per field, and whether a sample is a tuple."""
        if type(self).__getitem__ is not SimpleDataset.__getitem__:  # a subclass's own
            return None
        return ([self._data], False) if isinstance(self._data, (np.ndarray, NDArray)) else None


class ArrayDataset(Dataset):
    """Makes a dataset of arrays of equal length; a sample of several arrays is a tuple.

    Parameters
    ----------
    *args : array_like
        Arrays or lists of one length. NDArrays with one axis are converted to NumPy arrays, so that
        a label is a number; so are arrays of other packages, as DataFrames, whose samples are their
        rows.

    Raises
    ------
    MismatchError
        No array is given, or they have different lengths.

    Examples
    --------
    >>> ArrayDataset(np.arange(4.0), [5, 6, 7, 8])[1][1]
    6
    """

    def __init__(self, *args: Any) -> None:
        if not args:
            raise MismatchError("ArrayDataset: no array was given")
        self._length = len(args[0])
        self._data = []
        for i, each in enumerate(args):
            if len(each) != self._length:
                raise MismatchError(
                    f"ArrayDataset: array {i} has {len(each)} samples, array 0 has {self._length}"
                )
            if isinstance(each, Mapping):
                raise ArgumentTypeError(
                    f"ArrayDataset: array {i} is a {type(each).__name__}, which has keys and no"
                    " order of samples; expected arrays, lists or what pandas has"
                )
            if isinstance(each, NDArray):
                each = each.asnumpy() if each.ndim == 1 else each
            elif hasattr(each, "__array__") and not isinstance(each, np.ndarray):
                each = np.asarray(each)  # pandas would index by label
            self._data.append(each)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, idx: int) -> Any:
        if len(self._data) == 1:
            return self._data[0][idx]
        return tuple(each[idx] for each in self._data)

    def _array_fields(self):
        """Return arrays of all samples, one per field, and whether a sample is a tuple."""
        if type(self).__getitem__ is not ArrayDataset.__getitem__:  # a subclass's own
            return None
        if all(isinstance(each, (np.ndarray, NDArray)) for each in self._data):
            return self._data, len(self._data) > 1
        return None


class _IndexOnlyDataset:  # hides all of a dataset but dataset[i]
    """A dataset that only supports ``dataset[i]``."""

    def __init__(self, dataset):
        self._dataset = dataset

    def __getitem__(self, index):
        return self._dataset[index]


class _IndexSubset(Dataset):
    """The samples of another dataset at a list of indices."""

    def __init__(self, dataset, indices):
        self._dataset = dataset
        self._indices = indices if isinstance(indices, range) else list(indices)

    def __len__(self):
        return len(self._indices)

    def __getitem__(self, idx):
        try:
            index = self._indices[idx]
        except IndexError:
            raise BoundsError(f"index {idx} of a dataset of {len(self)} samples") from None
        return self._dataset[index]


class _LazyTransformDataset(Dataset):
    """Applies a function to the samples of another dataset when they are read."""

    def __init__(self, dataset, fn):
        if not callable(fn):
            raise ArgumentTypeError(f"transform takes a function, got {shown(fn)}")
        self._dataset, self._fn = dataset, fn

    def __len__(self):
        return len(self._dataset)

    def __getitem__(self, idx):
        sample = self._dataset[idx]
        return self._fn(*sample) if isinstance(sample, tuple) else self._fn(sample)


class _TransformFirstArgument:  # changes the first argument only
    """Applies a function to the first of several arguments; a class, so that it can be pickled."""

    def __init__(self, fn):
        self._fn = fn

    def __call__(self, first, *others):
        return (self._fn(first), *others) if others else self._fn(first)


class _DownloadedDataset(Dataset):
    """Base of data sets in memory; a subclass reads samples and labels in `_get_data`.

    root (str): Folder of its files.
    transform (callable or None): A function of a sample and its label.
    """

    def __init__(self, root, transform):
        self._root = os.path.expanduser(file_name(root, "root: a folder"))
        self._transform = transform
        self._data = self._label = None
        self._get_data()

    def _get_data(self):
        """Set ``self._data``, an NDArray or sequence, and ``self._label``, of equal length."""
        raise UndefinedError(f"{type(self).__name__} defines no _get_data")

    def __getitem__(self, idx):
        if self._transform is not None:
            return self._transform(self._data[idx], self._label[idx])
        return self._data[idx], self._label[idx]

    def __len__(self):
        return len(self._label)


@guarded
def random_split(dataset: Dataset, lengths: Sequence[float]) -> list[Dataset]:
    """Split a dataset at random into disjoint parts of the given lengths.

    ``mx.random.seed`` decides it, or ``numpy.random.seed`` if that was not called.

    Parameters
    ----------
    dataset : Dataset
        Anything that has a length and indices.
    lengths : list of int or of float
        Number of samples in each part; or shares that add up to 1. What remains after rounding the
        shares down goes to the first parts, one sample each.

    Raises
    ------
    ArgumentError
        The lengths do not add up to that of `dataset`, nor the shares to 1.

    Examples
    --------
    >>> train, test = random_split(SimpleDataset([0, 1, 2, 3, 4]), [0.8, 0.2])
    >>> len(train), len(test), sorted([*train, *test])
    (4, 1, [0, 1, 2, 3, 4])
    """
    total, lengths = len(dataset), list(lengths)
    if any(isinstance(n, float) for n in lengths):
        if any(not 0 <= n <= 1 for n in lengths) or abs(sum(lengths) - 1) > 1e-9:
            raise ArgumentError(f"random_split: shares must add up to 1, got {shown(lengths)}")
        counts = [int(total * n + 1e-9) for n in lengths]
        for i in range(total - sum(counts)):
            counts[i % len(counts)] += 1
    else:
        counts = lengths
        if any(not isinstance(n, int) or n < 0 for n in counts) or sum(counts) != total:
            raise ArgumentError(
                f"random_split: lengths must add up to {total}, got {shown(lengths)}"
            )
    order, ends = permutation(total).tolist(), np.cumsum([0, *counts]).tolist()
    return [_IndexSubset(dataset, order[a:b]) for a, b in pairwise(ends)]
