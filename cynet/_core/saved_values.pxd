"""Values that recorded steps read: saved where an array is written that they know, and compared
where somebody outside of the engine has its memory to write in (DLPack, buffers)."""

from .._ndarray cimport NDArrayBase

# Count the steps that keep arrays for their backward: `more` is 1 or -1.
cdef void count_reader(int more) noexcept
# The values of `array` after `writes` writes of its variable were pushed; None if unknown.
cdef NDArrayBase older_values(NDArrayBase array, unsigned writes)
# Drop saved values that no recorded step reads any more.
cdef int forget_older() except -1
# `marks` (or a new dict), with an entry for array i of a step, whose memory is exposed.
cdef dict with_checksum(dict marks, Py_ssize_t i, NDArrayBase array)
# Somebody outside has written array i since it was marked, or since it was exposed.
cdef bint was_changed_outside(dict marks, Py_ssize_t i, NDArrayBase array) except -1
