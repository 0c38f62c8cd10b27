"""Prefixes of Blocks: a hint and its count in the enclosing scope, such as ``dense0_``."""

import threading

from ...name import NameManager, Prefix
from ..parameter import ParameterDict

_thread_scope = threading.local()  # the current BlockScope of each thread


class BlockScope:
    """A scope in which the prefixes of new Blocks and symbols start with a Block's prefix.

    A ``with`` statement enters it, also several times at once. A Block of prefix ``''`` has none:
    what is made inside is counted in the scope around it.
    """

    def __init__(self, block):
        self._block = block
        self._counter = {}
        self._outer = []

    @staticmethod
    def create(prefix, params, hint):
        """Return (prefix, ParameterDict) of a new Block.

        prefix (str or None): As the user gave it; None makes one up from `hint` and a number.
        params (ParameterDict or None): Whose parameters the Block shares.
        hint: str
        """
        scope = getattr(_thread_scope, "value", None)
        outer = "" if scope is None else scope._block.prefix
        if prefix is None:
            if scope is None:
                prefix = f"{NameManager.current.get(None, hint)}_"
            else:
                number = scope._counter.get(hint, 0)
                scope._counter[hint] = number + 1
                prefix = f"{hint}{number}_"
        prefix = outer + prefix
        if params is not None:
            return prefix, ParameterDict(params.prefix, params)
        if scope is None:
            return prefix, ParameterDict(prefix)
        around = scope._block.params
        return prefix, ParameterDict(around.prefix + prefix[len(outer) :], around._shared)

    def __enter__(self):
        names = None
        if not self._block._empty_prefix:
            names = Prefix(self._block.prefix)
            names.__enter__()
        self._outer.append((getattr(_thread_scope, "value", None), names))
        if names is not None:
            _thread_scope.value = self
        return self

    def __exit__(self, *exc):
        before, names = self._outer.pop()
        if names is not None:
            names.__exit__(*exc)
            _thread_scope.value = before
