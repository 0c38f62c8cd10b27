"""Data for language models: words as indices, and batches of sentences of similar length."""

from __future__ import annotations

import bisect
import random
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from ..base.errors import ArgumentError, FormatError, shown, warn_user
from ..base.guard import guarded
from ..io import DataBatch, DataDesc, DataIter
from ..io.positions import check_keys, read_position

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import DTypeLike

__all__ = ["BucketSentenceIter", "encode_sentences"]


@guarded
def encode_sentences(
    sentences: Sequence[Sequence[Any]],
    vocab: dict[Any, int] | None = None,
    invalid_label: int = -1,
    invalid_key: Any = "\n",
    start_label: int = 0,
    unknown_token: Any = None,
) -> tuple[list[list[int]], dict[Any, int]]:
    r"""Convert sentences to lists of word indices.

    Parameters
    ----------
    sentences : list of list of str
        The sentences, as lists of words.
    vocab : dict of str to int, optional
        Index of each word; by default made from the words.
    invalid_label : int
        Index that no word gets, for padding.
    invalid_key : str
        The key of `invalid_label` in a new vocabulary.
    start_label : int
        Number of the first word.
    unknown_token : str, optional
        Word whose number stands for words that are not in `vocab`.

    Returns
    -------
    (list of list of int, dict of str to int)
        The sentences, and the vocabulary.

    Raises
    ------
    ArgumentError
        A word is not in `vocab`, and there is no `unknown_token`.

    Examples
    --------
    >>> encode_sentences([["a", "b"], ["b", "c"]], start_label=1)
    ([[1, 2], [2, 3]], {'\n': -1, 'a': 1, 'b': 2, 'c': 3})
    """
    number = start_label
    grows = vocab is None
    if grows:
        vocab = {invalid_key: invalid_label}
    coded = []
    for sentence in sentences:
        numbers = []
        for word in sentence:
            if word not in vocab:
                if not (grows or unknown_token):
                    raise ArgumentError(
                        f"encode_sentences: {shown(word)} is not in vocab; unknown_token stands"
                        " for such words"
                    )
                if number == invalid_label:
                    number += 1
                if unknown_token:
                    word = unknown_token
                vocab[word] = number
                number += 1
            numbers.append(vocab[word])
        coded.append(numbers)
    return coded, vocab


@guarded
class BucketSentenceIter(DataIter):
    """Batches of sentences for a language model, each batch of one bucket.

    A sentence goes into the smallest bucket that is long enough and is padded; those too long for
    all are left out, with a warning. Labels are the next words. Each epoch has another order, from
    Python's and NumPy's global random states.

    Parameters
    ----------
    sentences : list of list of int
        Words as numbers, such as `encode_sentences` gives them.
    batch_size : int
        Number of sentences in a batch.
    buckets : list of int, optional
        Lengths of the buckets; by default those for which there is a whole batch of sentences.
    invalid_label : int
        Number that sentences are padded with.
    data_name, label_name : str
        Names in ``provide_data`` and ``provide_label``.
    dtype : str or numpy.dtype
        Type of data and labels.
    layout : str
        Order of the axes, ``'NT'`` or ``'TN'``: batch, time.

    Raises
    ------
    ArgumentError
        `layout` is another one, or no `buckets` are given and no length has a batch of sentences.

    Examples
    --------
    >>> batches = BucketSentenceIter([[1, 2], [3, 4, 5]], 1, buckets=[2, 4], invalid_label=0)
    >>> batches.default_bucket_key, sorted(batch.bucket_key for batch in batches)
    (4, [2, 4])

    Labels are the next words, then padding:

    >>> batches.reset()
    >>> long = next(batch for batch in batches if batch.bucket_key == 4)
    >>> long.data[0].asnumpy(), long.label[0].asnumpy()
    (array([[3., 4., 5., 0.]], dtype=float32), array([[4., 5., 0., 0.]], dtype=float32))

    An epoch goes on where another iterator stood:

    >>> batches.reset()
    >>> first = batches.next()
    >>> other = BucketSentenceIter([[1, 2], [3, 4, 5]], 1, buckets=[2, 4], invalid_label=0)
    >>> other.load_state_dict(batches.state_dict())
    >>> len(list(other))
    1
    """

    def __init__(
        self,
        sentences: Sequence[Sequence[int]],
        batch_size: int,
        buckets: Sequence[int] | None = None,
        invalid_label: int = -1,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: DTypeLike = "float32",
        layout: str = "NT",
    ) -> None:
        super().__init__(batch_size)
        if layout not in ("NT", "TN"):
            raise ArgumentError(
                f"BucketSentenceIter: layout must be 'NT' or 'TN', got {shown(layout)}"
            )
        if not buckets:
            counts = np.bincount([len(each) for each in sentences])
            buckets = [length for length, count in enumerate(counts) if count >= batch_size]
            if not buckets:
                raise ArgumentError(
                    f"BucketSentenceIter: no length has batch_size={batch_size} sentences; give"
                    " buckets"
                )
        self.buckets = sorted(buckets)
        self.data_name, self.label_name = data_name, label_name
        self.dtype = dtype
        self.invalid_label = invalid_label
        self.layout = layout
        self.major_axis = layout.find("N")
        self.default_bucket_key = max(self.buckets)
        self.data = self._fill_buckets(sentences)
        self.provide_data = [self._data_description(data_name, self.default_bucket_key)]
        self.provide_label = [self._data_description(label_name, self.default_bucket_key)]
        self.idx = [
            (i, row)
            for i, rows in enumerate(self.data)
            for row in range(0, len(rows) - batch_size + 1, batch_size)
        ]
        self.reset()

    def _fill_buckets(self, sentences):
        """Fill an array of padded sentences for each bucket."""
        found = [[] for _ in self.buckets]
        left_out = 0
        for sentence in sentences:
            i = bisect.bisect_left(self.buckets, len(sentence))
            if i == len(self.buckets):
                left_out += 1
                continue
            row = np.full(self.buckets[i], self.invalid_label, self.dtype)
            row[: len(sentence)] = sentence
            found[i].append(row)
        if left_out:
            warn_user(
                f"BucketSentenceIter: {left_out} sentences are longer than the largest bucket,"
                f" {self.buckets[-1]}, and are left out"
            )
        return [
            np.array(rows, self.dtype).reshape(len(rows), length)
            for rows, length in zip(found, self.buckets)
        ]

    def _data_description(self, name, length):
        shape = (self.batch_size, length) if self.major_axis == 0 else (length, self.batch_size)
        return DataDesc(name, shape, layout=self.layout)

    def reset(self) -> None:
        """Begin an epoch, in a new order."""
        self.curr_idx = 0
        random.shuffle(self.idx)
        for rows in self.data:
            np.random.shuffle(rows)

    def state_dict(self) -> dict[str, Any]:
        """Return the iterator's position, for `load_state_dict`.

        Returns
        -------
        dict
        """
        rows = {f"data{i}": each.copy() for i, each in enumerate(self.data)}  # `reset` shuffles
        return {"idx": np.array(self.idx), "position": self.curr_idx, **rows}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue at the position from `state_dict`, with the same sentences.

        Parameters
        ----------
        state : dict
            What `state_dict` returned.

        Raises
        ------
        FormatError
            That is not a state of it, or one of other sentences.
        """
        who, names = type(self).__name__, [f"data{i}" for i in range(len(self.data))]
        check_keys(state, who, ("idx", "position", *names))
        position = read_position(state, "position", who, 0, len(self.idx))
        arrays = [np.asarray(state[name]) for name in names]
        if [each.shape for each in arrays] != [each.shape for each in self.data] or not all(
            each.dtype.kind in "iuf" for each in arrays
        ):
            raise FormatError(f"{who}: this is a state of other sentences")
        idx = np.asarray(state["idx"])
        whole = idx.ndim == 2 and idx.dtype.kind in "iu" and sorted(map(tuple, idx.tolist()))
        if whole != sorted(self.idx) and (idx.size or self.idx):
            raise FormatError(
                f"expected a state of {who}, got one whose idx names other batches than its own"
            )
        self.data = [each.astype(self.dtype) for each in arrays]
        self.idx = [(int(i), int(row)) for i, row in idx]
        self.curr_idx = position

    def next(self) -> DataBatch:
        """The next batch."""
        if self.curr_idx == len(self.idx):
            raise StopIteration
        i, row = self.idx[self.curr_idx]
        self.curr_idx += 1
        words = self.data[i][row : row + self.batch_size]
        after = np.full_like(words, self.invalid_label)
        after[:, :-1] = words[:, 1:]
        if self.major_axis == 1:
            words, after = words.T, after.T
        length = self.buckets[i]
        return DataBatch(
            [nd.array(words, dtype=self.dtype)],
            [nd.array(after, dtype=self.dtype)],
            pad=0,
            bucket_key=length,
            provide_data=[self._data_description(self.data_name, length)],
            provide_label=[self._data_description(self.label_name, length)],
        )
