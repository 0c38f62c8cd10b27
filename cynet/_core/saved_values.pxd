"""Values that recorded steps read in backward: saved before a write that must not change them, and
compared by checksum where code outside of the engine can write to them (DLPack, buffers)."""

from .._ndarray cimport NDArrayBase

# Change the count of recorded steps that hold arrays for backward; `more` is 1 or -1.
cdef void add_recorded_steps(int more) noexcept
# Return the saved values that `array` had after `writes` writes of its variable; None if not saved.
cdef NDArrayBase find_older_copy(NDArrayBase array, unsigned writes)
# Drop all saved values and checksums if no recorded step is alive.
cdef int drop_unused_copies() except -1
# Add the checksum of a step's array i, whose memory is exposed, to `marks` (None: to a new dict).
cdef dict add_checksum(dict marks, Py_ssize_t i, NDArrayBase array)
# Return whether code outside of the engine has written array i since its checksum was computed.
cdef bint was_changed_outside(dict marks, Py_ssize_t i, NDArrayBase array) except -1
