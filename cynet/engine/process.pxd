"""The engines of this process: made, freed, forked, stopped at its end."""

from cpython.object cimport PyObject

from .records cimport Engine

# workers: 0 means one a core.
cdef Engine* create(bint naive, int workers) except NULL nogil
# Wake sleeping workers of every engine where something is ready.
cdef void wake_all() noexcept nogil
# The oldest error of this process that nobody has waited for, now owned by the caller; or NULL.
cdef PyObject* next_unseen() noexcept nogil
# End all threads, waiting at most so long for functions that run.
cdef void stop_all(double seconds) noexcept nogil
