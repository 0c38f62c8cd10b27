"""mx.contrib.text.vocab: tokens and their indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.errors import ArgumentError, ArgumentTypeError, shown
from ...base.guard import guarded
from ...gluon.errors import MismatchError

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

__all__ = ["Vocabulary"]


@guarded
class Vocabulary:
    """Token indices: 0 is the unknown token, then come reserved tokens, then counted ones.

    The most frequent token comes first; among equally frequent ones the order is alphabetical.

    Parameters
    ----------
    counter : collections.Counter, optional
        How often each token occurs.
    most_freq_count : int, optional
        Largest number of them to keep.
    min_freq : int
        Tokens that occur less often are unknown.
    unknown_token : str
        Token that stands for tokens without a number.
    reserved_tokens : list of str, optional
        Tokens that get a number in any case, such as ``<pad>``.

    Raises
    ------
    MismatchError
        `min_freq` is less than 1, `reserved_tokens` have one token twice, or `unknown_token`.

    Examples
    --------
    >>> import collections
    >>> counts = collections.Counter(["b", "a", "b"])
    >>> vocabulary = mx.contrib.text.vocab.Vocabulary(counts, reserved_tokens=["<pad>"])
    >>> vocabulary.idx_to_token
    ['<unk>', '<pad>', 'b', 'a']
    >>> vocabulary.to_indices(["a", "c"]), vocabulary.to_tokens([2, 0])
    ([3, 0], ['b', '<unk>'])
    >>> vocabulary.token_to_idx["b"], vocabulary.unknown_token, vocabulary.reserved_tokens
    (2, '<unk>', ['<pad>'])
    """

    def __init__(
        self,
        counter: Counter[str] | None = None,
        most_freq_count: int | None = None,
        min_freq: int = 1,
        unknown_token: str = "<unk>",
        reserved_tokens: Sequence[str] | None = None,
    ) -> None:
        if min_freq < 1:
            raise MismatchError(f"Vocabulary: min_freq must be 1 or more, got {min_freq}")
        reserved = list(reserved_tokens or ())
        if unknown_token in reserved:
            raise MismatchError(
                f"Vocabulary: reserved_tokens have the unknown token {unknown_token!r}"
            )
        if len(set(reserved)) != len(reserved):
            raise MismatchError("Vocabulary: a token appears twice in reserved_tokens")
        self._unknown = unknown_token
        self._reserved = reserved or None
        self._tokens = [unknown_token, *reserved]
        if counter is not None:
            taken = set(self._tokens)
            rows = sorted((-n, token) for token, n in counter.items())
            rows = rows if most_freq_count is None else rows[:most_freq_count]
            self._tokens += [t for n, t in rows if -n >= min_freq and t not in taken]
        self._numbers = {token: i for i, token in enumerate(self._tokens)}

    def __len__(self) -> int:
        return len(self._tokens)

    @property
    def token_to_idx(self) -> dict[str, int]:
        """Index of each token."""
        return self._numbers

    @property
    def idx_to_token(self) -> list[str]:
        """Tokens in the order of their indices."""
        return self._tokens

    @property
    def unknown_token(self) -> str:
        """The token for all words without an index of their own."""
        return self._unknown

    @property
    def reserved_tokens(self) -> list[str] | None:
        """The list of reserved tokens, or None."""
        return self._reserved

    def to_indices(self, tokens: Any) -> Any:
        """Return the index of a token, or the indices of a list of tokens; 0 for unknown tokens.

        Parameters
        ----------
        tokens : str or list of str
            The tokens to look up.

        Returns
        -------
        int or list of int
            As `tokens` is one or a list.
        """
        if isinstance(tokens, str):
            return self._numbers.get(tokens, 0)
        return [self._numbers.get(each, 0) for each in tokens]

    def to_tokens(self, indices: Any) -> Any:
        """Return the token at an index, or the tokens at a list of indices.

        Parameters
        ----------
        indices : int or list of int
            Indices from 0.

        Returns
        -------
        str or list of str
            As `indices` is one or a list.

        Raises
        ------
        ArgumentError
            A number that no token has.
        ArgumentTypeError
            Something else than an int.
        """
        single = isinstance(indices, int)
        found = []
        for each in [indices] if single else indices:
            if not isinstance(each, int):
                raise ArgumentTypeError(f"to_tokens takes ints, got {shown(each)}")
            if not 0 <= each < len(self._tokens):
                raise ArgumentError(
                    f"to_tokens: there are numbers 0 to {len(self._tokens) - 1}, got {each}"
                )
            found.append(self._tokens[each])
        return found[0] if single else found
