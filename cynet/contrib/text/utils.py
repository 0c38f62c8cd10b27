"""mx.contrib.text.utils: counting tokens."""

from __future__ import annotations

import re
from collections import Counter

__all__ = ["count_tokens_from_str"]


from ...base.guard import guarded


@guarded
def count_tokens_from_str(
    source_str: str,
    token_delim: str = " ",
    seq_delim: str = "\n",
    to_lower: bool = False,
    counter_to_update: Counter[str] | None = None,
) -> Counter[str]:
    """Count the tokens of a text, in a ``collections.Counter``.

    Parameters
    ----------
    source_str : str
        The text.
    token_delim, seq_delim : str
        Regular expressions of what separates tokens and sequences.
    to_lower : bool
        Whether to convert tokens to lower case first.
    counter_to_update : collections.Counter, optional
        Counter that counts are added to; a new one by default.

    Examples
    --------
    >>> counts = mx.contrib.text.utils.count_tokens_from_str("to be or not to be")
    >>> counts["to"], counts["or"]
    (2, 1)
    """
    text = source_str.lower() if to_lower else source_str
    found = Counter() if counter_to_update is None else counter_to_update
    found.update(word for word in re.split(f"{token_delim}|{seq_delim}", text) if word)
    return found
