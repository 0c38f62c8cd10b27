"""The state of a thread that traces a Block: hooks rest, and hybridized Blocks inside run as they
are written. A count of changes of Blocks and parameters, after which graphs are looked at again.
And whether every operator is watched."""

from contextlib import contextmanager

from ..base.tracing import state as _thread

changes = [0]  # how often any Block or parameter was changed


def note_change():
    """Note that a Block was changed, or where a parameter is."""
    changes[0] += 1


_watch = [None]


def set_watch(hook):
    """Make Blocks run operator by operator, and graphs without Blocks call ``hook(node_name,
    operator_name, array)``; None ends that."""
    _watch[0] = hook
    note_change()


def watch():
    """The hook that watches the tracing, or None."""
    return _watch[0]


def is_tracing():
    """Return whether this thread traces, or lets Blocks infer their shapes."""
    return _thread.depth > 0


@contextmanager
def tracing(trace=None):
    """This thread traces as long as the block runs."""
    before, _thread.trace = _thread.trace, trace
    _thread.depth += 1
    try:
        yield trace
    finally:
        _thread.depth -= 1
        _thread.trace = before


@contextmanager
def not_tracing():
    """Blocks run as at other times, within a run by which Blocks around them infer their shapes."""
    depth, _thread.depth = _thread.depth, 0
    try:
        yield
    finally:
        _thread.depth = depth
