"""The list of the process's engines: creation, release, fork, and stop at exit."""

from cpython.object cimport PyObject

from .records cimport Engine

# Create an engine; `workers` is the maximum of its native threads, 0 for half of the cores.
cdef Engine* create_engine(bint naive, int workers) except NULL nogil
# Wake sleeping workers of all engines that have ready functions.
cdef void wake_all_workers() noexcept nogil
# Return the oldest error that no wait has raised, owned by the caller; NULL for none.
cdef PyObject* next_unseen_error() noexcept nogil
# End all threads; wait at most `seconds` for running functions.
cdef void stop_all_engines(double seconds) noexcept nogil
