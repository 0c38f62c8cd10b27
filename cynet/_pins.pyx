"""Pins: arguments that hold one number whatever is written into them.

What an operator does not read (gamma of ``BatchNorm(fix_gamma=True)``) nobody corrects either:
weight decay would shrink it without end. A forward puts the number back, as in MXNet, when
something was written since the last one; where nothing was, it asks for a count and pushes nothing.
"""

from libcpp.atomic cimport memory_order_relaxed
from libcpp.vector cimport vector

from ._engine_core cimport Var, lock, unlock
from ._ndarray cimport NDArrayBase


cdef unsigned pushed_writes(void* handle) noexcept nogil:
    """How many functions that write a variable have been pushed: a change, not the number, says
    something."""
    cdef Var* var = <Var*>handle
    cdef unsigned count
    lock(var.engine)
    count = var.writes + <unsigned>var.pending_writes.load(memory_order_relaxed)
    unlock(var.engine)
    return count


cdef class Pins:
    """Arrays and the number that each is to hold.

    Parameters
    ----------
    pairs : list of (NDArray, float)
    """

    cdef list arrays, numbers
    cdef vector[bint] held      # by an earlier call of `hold`
    cdef vector[unsigned] seen  # functions that were pushed to write the array by then

    def __init__(self, list pairs):
        self.arrays = [array for array, _ in pairs]
        self.numbers = [number for _, number in pairs]
        self.held.resize(len(pairs), False)
        self.seen.resize(len(pairs), 0)

    def hold(self):
        """Put the numbers back into the arrays that may have others."""
        cdef NDArrayBase array
        cdef Py_ssize_t i
        for i in range(len(self.arrays)):
            array = self.arrays[i]
            if (self.held[i] and pushed_writes(array.chunk.var) == self.seen[i]
                    and not array.chunk.exposed.load()):
                continue
            array[:] = self.numbers[i]
            self.seen[i] = pushed_writes(array.chunk.var)
            self.held[i] = True
