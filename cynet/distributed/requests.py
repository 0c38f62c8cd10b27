"""Requests: collective operations, which all ranks start together."""

import hashlib
import threading
from functools import lru_cache

SAME_SIZE_HINT = "give step() the same number on all ranks (of fit: batches of the same size)"
_STEP_TERMS = " for a step with "  # stands before the settings of a step in a request's text
SUM_DTYPES = ("float32", "float64", "int64", "int32", "uint8", "int8")  # dtypes of sums over ranks


class Request:  # one collective operation of the ranks
    """One collective operation.

    what (str): In words, equal on all ranks: ``"sum of 'w' (3, 4) float32"``. Ranks compare it.
    priority (int): Of those that all ranks are ready for, higher ones begin first.
    nbytes (int): How much it moves, about.
    start (callable, list of callable, or None): ``start(comm)`` begins the operation and returns
        the library's request; several are parts of it. None where it is enough that all ranks have
        come here.
    finish (callable, optional): What is left to do on this rank afterwards.
    keep (object): Memory that the operation uses.
    """

    __slots__ = (
        *("begun", "error", "finish", "keep", "left", "mark", "nbytes", "number", "priority"),
        *("ready", "starts", "terms", "what", "work", "_done"),
    )

    def __init__(self, what, priority=0, nbytes=0, start=None, finish=None, keep=None):
        self.what, self.priority, self.nbytes, self.terms = what, priority, nbytes, ""
        self.starts = start if isinstance(start, list) else [] if start is None else [start]
        self.left = 0  # number of operations that are not done
        self.finish, self.keep = finish, keep
        self.mark = hash_text(what)
        self.number = self.work = self.error = self._done = None
        self.ready = self.begun = 0  # nanoseconds

    def add_settings(self, terms):
        """Add a text that ranks compare, such as the settings of the step that uses a sum."""
        self.terms = terms
        self.mark ^= hash_text.__wrapped__(terms)  # not cached: the text changes from step to step
        return self

    @property
    def description(self):
        """The text that ranks exchange if their requests differ."""
        return f"{self.terms}\n{self.what}" if self.terms else self.what

    def make_waitable(self):
        """Make `wait` usable, for a request that no engine function waits for."""
        self._done = threading.Event()
        return self

    def complete(self, error=None):
        """End the request; `error` is the exception with which it failed, or None."""
        self.error = error
        self.starts = self.finish = None
        if error is None:  # memory that an unfinished operation may write to stays alive
            self.keep = None
        if self.work is not None:
            self.work.complete(error)
            self.work = None
        if self._done is not None:
            self._done.set()

    def wait(self):
        """Wait until the request is done; raise the error it failed with."""
        self._done.wait()
        if self.error is not None:
            raise self.error


@lru_cache(4096)
def hash_text(what):
    """Return a 62-bit hash of a text."""
    digest = hashlib.blake2b(what.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 2


def shorten_text(what, maximum=100):
    """Shorten the text of a request to its beginning.

    >>> shorten_text("sum of 'a' (1,) float32, 'b' (2,) float32, 'c' (3,) float32", 30)
    "sum of 'a' (1,) float32 and 2 more"
    """
    parts = what.split(", '")
    if len(what) <= maximum or len(parts) == 1:
        return what if len(what) <= 2 * maximum else f"{what[:maximum]}..."
    return f"{parts[0]} and {len(parts) - 1} more"


def mismatch_advice(one, other):
    """Return advice on two different requests, given the results of `shorten_difference`.

    >>> mismatch_advice("barrier", "vote")
    'all ranks must make the same calls, of the same shapes and dtypes'
    """
    (calls, _, settings), (others, _, _) = (each.partition(_STEP_TERMS) for each in (one, other))
    if not settings or calls != others:
        return "all ranks must make the same calls, of the same shapes and dtypes"
    if settings.startswith("rescale_grad="):
        return SAME_SIZE_HINT
    return "all ranks must have the same optimizer, each of them updates its own weights"


def shorten_difference(one, other):
    r"""Shorten the texts of two requests to the surroundings of their first difference.

    >>> first = "sum of 'a' (1,) int8, 'b' (2,) int8"
    >>> shorten_difference(first, "sum of 'a' (1,) int8, 'b' (3,) int8")
    ("sum of ..., 'b' (2,) int8", "sum of ..., 'b' (3,) int8")
    >>> shorten_difference("lr=1; wd=0\nsum of 'a' (1,) int8", "lr=2; wd=0\nsum of 'a' (1,) int8")
    ("sum of 'a' (1,) int8 for a step with lr=1", "sum of 'a' (1,) int8 for a step with lr=2")
    """
    terms, _, one = one.rpartition("\n")
    others, _, other = other.rpartition("\n")
    if one == other:
        rows = [each.split("; ") if each else ["no optimizer"] for each in (terms, others)]
        return tuple(
            f"{shorten_text(one)}{_STEP_TERMS}{', '.join(each for each in mine if each not in his)}"
            for mine, his in (rows, rows[::-1])
        )
    parts, others = one.split(", '"), other.split(", '")
    same = next(
        (i for i, (a, b) in enumerate(zip(parts, others)) if a != b), min(len(parts), len(others))
    )
    if same == 0:
        return shorten_text(one), shorten_text(other)
    verb = one.partition(" '")[0]
    return tuple(
        f"{verb} ..., '{texts[same]}" if same < len(texts) else f"{verb} {len(texts)} arrays"
        for texts in (parts, others)
    )
