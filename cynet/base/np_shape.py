"""The switches of NumPy's semantics, of each thread: whether 0 is a size and -1 unknown, and
whether parameters, batches and losses are arrays of mx.np.

Without it 0 and -1 are unknown sizes in what is declared of symbols, () is an unknown shape, and an
index that leaves no axis gives an array of shape (1,). Arrays that exist may have no elements or no
axes either way.
"""

import threading


class _State(threading.local):
    on = arrays = False


_state = _State()
_everywhere = False  # True: NumPy shapes are on in all threads


def is_np_shape() -> bool:
    """Say whether 0 is a size and -1 unknown in this thread.

    Examples
    --------
    >>> is_np_shape()
    False
    """
    return _state.on or _everywhere


def switch(on: bool, everywhere: bool = False) -> bool:
    """Set the switch of this thread, and the global one; returns the old value. Off applies to all
    threads except those that have switched it on themselves."""
    global _everywhere
    before, _state.on = is_np_shape(), on
    if everywhere or not on:
        _everywhere = on
    return before


def np_arrays() -> bool:
    """Return whether parameters, batches and losses of this thread are arrays of mx.np."""
    return _state.arrays


def switch_arrays(on: bool) -> bool:
    """Set this thread's switch for arrays; returns the old value."""
    before, _state.arrays = _state.arrays, on
    return before
