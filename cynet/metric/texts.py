"""Metrics of texts: word error rate, BLEU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import ArgumentError, ArgumentTypeError, ShapeError, shown
from .base import alias, register, to_numpy
from .summed import _SumMetric

if TYPE_CHECKING:
    from ..typing import Names

__all__ = ["BLEU", "WordErrorRate"]


def _token_lists(name, texts):
    """Return token lists: a str is split at blanks, an array's row ends at a negative number."""
    if isinstance(texts, str):
        raise ArgumentTypeError(f"{name}: expected a list of texts, got {shown(texts)}")
    found = []
    for each in [texts] if hasattr(texts, "shape") else texts:
        if isinstance(each, str):
            found.append(each.split())
        elif hasattr(each, "shape"):
            rows = to_numpy(each)
            if rows.ndim != 2 and rows.size:
                raise ShapeError(f"{name}: expected texts of shape (N, length), got {rows.shape}")
            found += [row[row >= 0].tolist() for row in rows]
        else:
            raise ArgumentTypeError(f"{name}: expected a str or an array, got {shown(each)}")
    return found


def _sentence_pairs(name, labels, preds):
    labels, preds = _token_lists(name, labels), _token_lists(name, preds)
    if len(labels) != len(preds):
        raise ShapeError(f"{name}: {len(labels)} reference texts, {len(preds)} predicted ones")
    return zip(labels, preds)


@register
@alias("wer")
class WordErrorRate(_SumMetric):
    """Word error rate: insertions, deletions and replacements, per word of the reference.

    Examples
    --------
    >>> metric = WordErrorRate()
    >>> metric.update(["the cat sat down"], ["a cat sat"])
    >>> metric.get()
    ('word_error_rate', 0.5)
    """

    _number_of_sums = 2

    def __init__(
        self,
        name: str = "word_error_rate",
        output_names: Names | None = None,
        label_names: Names | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch. labels: reference texts; preds: as many texts. A text is a str of words
        between blanks, or a row of an array of numbers, (N, length), whose negative ones are
        padding."""
        for label, pred in _sentence_pairs(self.name, labels, preds):
            self._add_sums(np.array([len(label), _edit_distance(label, pred)], np.float64))

    def _compute_value(self, sums):
        return float(sums[1] / sums[0])


def _edit_distance(one, other):
    """Compute Levenshtein's distance."""
    last = list(range(len(other) + 1))
    for i, word in enumerate(one, 1):
        row = [i]
        for j, each in enumerate(other, 1):
            row.append(min(last[j] + 1, row[-1] + 1, last[j - 1] + (word != each)))
        last = row
    return last[-1]


@register
class BLEU(_SumMetric):
    """BLEU score of translations: precision of runs of 1 to 4 words, over all texts.

    The geometric mean of the shares, times ``exp(1 - r / c)`` where the texts are shorter (c words)
    than the references (r). No share is smoothed; texts are not tokenized, but split at blanks.

    Parameters
    ----------
    longest : int
        Words of the longest runs.

    Raises
    ------
    ArgumentError
        `longest` is not a positive int.

    Examples
    --------
    >>> metric = BLEU()
    >>> metric.update(["the cat sat on the mat"], ["the cat sat on a mat"])
    >>> round(metric.get()[1], 4)
    0.5373
    """

    def __init__(
        self,
        longest: int = 4,
        name: str = "bleu",
        output_names: Names | None = None,
        label_names: Names | None = None,
    ) -> None:
        if type(longest) is not int or longest < 1:
            raise ArgumentError(f"{name}: longest must be a positive int, got {shown(longest)}")
        self.longest = longest
        super().__init__(name, output_names, label_names, longest=longest, has_global_stats=True)

    @property
    def _number_of_sums(self):
        return 3 + 2 * self.longest  # texts, words, reference words; n-grams and matches by length

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch. labels: reference texts; preds: as many texts. A text is a str of words
        between blanks, or a row of an array of numbers, (N, length), whose negative ones are
        padding."""
        for label, pred in _sentence_pairs(self.name, labels, preds):
            sums = [1, len(pred), len(label)]
            for length in range(1, self.longest + 1):
                wanted, found = _count_ngrams(label, length), _count_ngrams(pred, length)
                sums.append(sum(found.values()))
                sums.append(sum(min(n, wanted.get(run, 0)) for run, n in found.items()))
            self._add_sums(np.array(sums, np.float64))

    def _compute_value(self, sums):
        runs, right = sums[3::2], sums[4::2]
        if not right.all():
            return 0.0
        short = min(0.0, 1 - sums[2] / sums[1])
        return float(np.exp(short + np.log(right / runs).mean()))


def _count_ngrams(words, length):
    found: dict[Any, int] = {}
    for i in range(len(words) - length + 1):
        run = tuple(words[i : i + length])
        found[run] = found.get(run, 0) + 1
    return found
