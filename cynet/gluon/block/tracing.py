"""Whether this thread is tracing a Block: hooks rest, and hybridized Blocks inside run as they
are written."""

import threading
from contextlib import contextmanager


class _Depth(threading.local):
    value = 0


_depth = _Depth()


def is_tracing():
    """Whether this thread traces."""
    return _depth.value > 0


@contextmanager
def tracing():
    """This thread traces as long as the block runs."""
    _depth.value += 1
    try:
        yield
    finally:
        _depth.value -= 1
