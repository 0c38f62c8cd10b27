"""mx.engine.bulk: how many elementwise calls a thread defers (deferred.pxd)."""

from libcpp.vector cimport vector

from .deferred cimport flush_all_deferred
from .._engine cimport set_bulk_size as _set_bulk_size

from ..base.errors import ArgumentError
from ..base.kinds import to_index


def set_bulk_size(size):
    """Set how many elementwise calls this thread defers before they run together (`bulk`).

    Sleeping workers are woken once in so many pushes. Calls that were deferred before run now.

    Parameters
    ----------
    size : int
        Number of calls; 0 or 1: each call runs by itself. A wait in any thread runs deferred calls.

    Returns
    -------
    int
        What it was.

    Raises
    ------
    ArgumentError
        If it is negative, or above 2**31 - 1.

    Examples
    --------
    >>> before = mx.engine.set_bulk_size(16)
    >>> mx.engine.set_bulk_size(before)
    16
    """
    cdef int checked = _check_bulk_size(size)
    flush_all_deferred()
    return _set_bulk_size(checked)


cdef int _check_bulk_size(size) except -1:
    size = to_index("a bulk's size", size)
    if not 0 <= size < 2**31:
        raise ArgumentError(f"size must not be negative, nor above 2**31 - 1, got {size}")
    return size


cdef class Bulk:  # context manager: defers so many calls
    """What `bulk` gives."""

    cdef int size
    cdef vector[int] before  # the sizes to restore; the context may be nested

    def __enter__(self):
        flush_all_deferred()
        self.before.push_back(_set_bulk_size(self.size))

    def __exit__(self, kind, error, trace):
        cdef int before = self.before.back()
        self.before.pop_back()
        try:
            flush_all_deferred()
        finally:
            _set_bulk_size(before)


def bulk(size):
    """Defer elementwise calls of this thread and run up to `size` of them together, within a
    ``with`` statement.

    Together they pass over memory once, and results that are not used afterwards are never written.
    The results are the same, byte by byte. Deferred calls run when their results are read or
    written, when their inputs are written, at a wait, at a call that does not fit (another number
    of elements, another dtype), when there are `size` of them, and when the statement ends.

    Parameters
    ----------
    size : int
        Number of calls; 0 or 1: each call runs by itself. Sleeping workers of the engine are woken
        once every `size` pushes.

    Returns
    -------
    Bulk
        A context manager.

    Raises
    ------
    ArgumentError
        If it is negative, or above 2**31 - 1.

    See Also
    --------
    set_bulk_size : The same without a statement.

    Examples
    --------
    >>> w, g = mx.nd.ones((2, 3)), mx.nd.ones((2, 3)) * 4
    >>> with mx.engine.bulk(15):
    ...     step = g / (mx.nd.sqrt(g * g) + 1e-8)
    ...     w -= 0.5 * step
    >>> w.asnumpy()[0].tolist()
    [0.5, 0.5, 0.5]
    """
    cdef Bulk scope = Bulk()
    scope.size = _check_bulk_size(size)
    return scope
