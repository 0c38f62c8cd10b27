"""WikiText2, WikiText103: data sets of language models, from local files."""

from __future__ import annotations

import collections
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import ndarray as nd
from ....base.errors import ArgumentError, FormatError, MissingFileError, shown
from ....base.files import file_name, read_file
from ....base.kinds import to_index
from ....contrib.text.vocab import Vocabulary
from ...data import SimpleDataset

if TYPE_CHECKING:
    from ....typing import FileName

__all__ = ["WikiText2", "WikiText103"]

_SEGMENTS = {"train": "train", "validation": "valid", "test": "test"}  # -> file names
_END_OF_LINE = "<eos>"  # word in place of a line's end
_ROOT2, _ROOT103 = (os.path.join("~", ".mxnet", "datasets", f"wikitext-{n}") for n in (2, 103))


class _WikiText(SimpleDataset):
    """Sequences of word indices; the label of each word is the next word."""

    _name = ""

    def __init__(self, root, segment, vocab, seq_len):
        if segment not in _SEGMENTS:
            raise ArgumentError(
                f"{type(self).__name__}: segment must be one of {', '.join(_SEGMENTS)}, got"
                f" {shown(segment)}"
            )
        length = to_index(f"{type(self).__name__}: seq_len", seq_len)
        if length < 1:
            raise ArgumentError(f"{type(self).__name__}: seq_len must be at least 1, got {length}")
        words = self._read_words(root, _SEGMENTS[segment])
        self._counter = collections.Counter(words)
        self._vocab = vocab
        if vocab is None:
            self._vocab = Vocabulary(self._counter, reserved_tokens=[_END_OF_LINE])
        numbers = np.array(self._vocab.to_indices(words), dtype=np.int32)
        count = (len(numbers) - 1) // length * length
        if count == 0:
            raise FormatError(
                f"{type(self).__name__}: {len(numbers)} words are too few for sequences of {length}"
            )
        rows, following = numbers[:count], numbers[1 : count + 1]
        super().__init__(
            [
                (nd.array(row, dtype="int32"), nd.array(target, dtype="int32"))
                for row, target in zip(rows.reshape(-1, length), following.reshape(-1, length))
            ]
        )

    def _read_words(self, root, part):
        """Return all words of a file; `_END_OF_LINE` follows each line, empty lines are skipped."""
        folder = os.path.expanduser(file_name(root, f"{type(self).__name__}: root"))
        path = os.path.join(folder, f"wiki.{part}.tokens")
        if not os.path.exists(path):
            raise MissingFileError(
                f"{type(self).__name__}: there is no file {path}; unpack the archive"
                f" {self._name}-v1.zip there, nothing is downloaded"
            )
        try:
            text = read_file(path).decode("utf-8")
        except UnicodeDecodeError as error:
            raise FormatError(f"{path}: {error}") from None
        lines = (line.split() for line in text.splitlines())
        return [word for line in lines if line for word in (*line, _END_OF_LINE)]

    @property
    def vocabulary(self) -> Vocabulary:
        """The Vocabulary, which maps words to indices."""
        return self._vocab

    @property
    def frequencies(self) -> collections.Counter[str]:
        """The count of each word."""
        return self._counter


class WikiText2(_WikiText):
    """WikiText-2: two million words of Wikipedia's "good" articles.

    A sample is a pair of int32 arrays (seq_len,): the numbers of words, and those of the words that
    follow each. The end of a line is the word ``<eos>``.

    Parameters
    ----------
    root : str
        Folder of the files ``wiki.train.tokens``, ``wiki.valid.tokens``, ``wiki.test.tokens``.
    segment : str
        ``'train'``, ``'validation'`` or ``'test'``.
    vocab : mx.contrib.text.vocab.Vocabulary, optional
        Made of the words of this segment by default.
    seq_len : int

    Raises
    ------
    MissingFileError
        There is no such file.
    """

    _name = "wikitext-2"

    def __init__(
        self, root: FileName = _ROOT2, segment: str = "train", vocab: Any = None, seq_len: int = 35
    ) -> None:
        super().__init__(root, segment, vocab, seq_len)


class WikiText103(_WikiText):
    """WikiText-103: a hundred million words. See :class:`WikiText2`.

    Parameters
    ----------
    root, segment, vocab, seq_len
        As there.
    """

    _name = "wikitext-103"

    def __init__(
        self,
        root: FileName = _ROOT103,
        segment: str = "train",
        vocab: Any = None,
        seq_len: int = 35,
    ) -> None:
        super().__init__(root, segment, vocab, seq_len)
