"""CachedResult: arrays in another form, made once by steps of a plan for all plans that need them.

Promises:
- Its memory is written by segments of cached steps alone (Segment.cached_first in tables.pxd),
  which name its variable as one they write; who reads it names it, too. So runs of several plans
  that read it run together, and nobody reads what is being made.
- It lives as long as a plan has it. Its sources live as long.
"""

from .._ndarray cimport NDArrayBase
from .tables cimport CachedState

cdef class CachedResult:
    cdef CachedState* state
    cdef readonly NDArrayBase array   # the memory
    cdef readonly list sources        # NDArrays that the result is computed from
    cdef readonly size_t nbytes
    cdef object __weakref__

# Whether, in a run that has the variables, nothing that it was made of has been written since.
cdef bint is_fresh(const CachedState* state) noexcept nogil
# Note the versions of its sources. The run reads them, so they cannot be written meanwhile.
cdef void complete(CachedState* state) noexcept nogil
# Like `is_fresh`, for a caller about to push a run: true if no queued function computes it or
# writes its sources.
cdef bint is_current(const CachedState* state) noexcept nogil
cdef void hold(CachedState* state) noexcept nogil
cdef void drop(CachedState* state) noexcept nogil
