"""Two switches of each thread: whether shapes follow NumPy (0 is a size, -1 an unknown size), and
whether parameters, batches and losses are arrays of mx.np.

Without it 0 and -1 are unknown sizes in what is declared of symbols, () is an unknown shape, and an
index that leaves no axis gives an array of shape (1,). Arrays that exist may have no elements or no
axes either way.
"""

import threading


class _ThreadSwitches(threading.local):  # NumPy's shapes and arrays are on
    on = arrays = False


_thread_switches = _ThreadSwitches()
_is_on_in_all_threads = False  # True: NumPy shapes are on in all threads


def is_np_shape() -> bool:
    """Return whether shapes follow NumPy in this thread: 0 is a size and -1 an unknown size.

    Examples
    --------
    >>> is_np_shape()
    False
    """
    return _thread_switches.on or _is_on_in_all_threads


def switch_np_shape(on: bool, everywhere: bool = False) -> bool:
    """Switch NumPy's shapes on or off in this thread, or in all threads; returns the old value. Off
    applies to all threads except those that have switched it on themselves."""
    global _is_on_in_all_threads
    before, _thread_switches.on = is_np_shape(), on
    if everywhere or not on:
        _is_on_in_all_threads = on
    return before


def uses_np_arrays() -> bool:
    """Return whether parameters, batches and losses of this thread are arrays of mx.np."""
    return _thread_switches.arrays


def switch_np_arrays(on: bool) -> bool:
    """Switch mx.np's arrays on or off in this thread; returns the old value."""
    before, _thread_switches.arrays = _thread_switches.arrays, on
    return before
