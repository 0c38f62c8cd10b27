"""CachedResult: an array computed from weights (such as their packed layout), shared by all plans.

Promises:
- Only segments of cached steps write its memory (Segment.cached_first in tables.pxd). They write
its variable, and its readers read the variable. So readers of several plans run at the same time,
and no reader sees a partial result.
- It is freed with the last plan that uses it. It keeps its sources alive.
"""

from .._ndarray cimport NDArrayBase
from .tables cimport CachedState

cdef class CachedResult:  # the stored result of cached steps
    cdef CachedState* state
    cdef readonly NDArrayBase array   # the memory
    cdef readonly list sources        # NDArrays that the result is computed from
    cdef readonly size_t nbytes
    cdef object __weakref__

# Return whether no source was written since the result was computed, in a run of its variables.
cdef bint is_fresh(const CachedState* state) noexcept nogil  # no source was written since
# Record the versions of the sources. The run reads them, so they cannot be written meanwhile.
cdef void record_source_versions(CachedState* state) noexcept nogil
# Like `is_fresh`, before a run is pushed: false if a queued function writes result or source.
cdef bint is_current(const CachedState* state) noexcept nogil  # no source was or will be written
cdef void hold_state(CachedState* state) noexcept nogil  # adds a reference
cdef void release_state(CachedState* state) noexcept nogil
