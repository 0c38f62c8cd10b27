"""Batches that a run reads where they lie, instead of copying them into the bound arrays before.

The step that reads such an array first copies what it reads (graph/lending.py says which may). Its
segment then reads the batch's variable and writes the bound array's: whoever writes the batch or
reads the bound array afterwards waits for it, as for a copy.
"""

from libcpp.vector cimport vector

from ._engine cimport VarHandle
from ._ndarray cimport NDArrayBase
from ._plan_tables cimport Lent, Run, Segment, Tables

cdef class Lending:
    # The arrays of a plan that may be filled so.
    cdef Tables* tables
    cdef list lendable  # (bound array, segment, step)
    cdef readonly size_t n_lent  # batches so far that were read where they lay

    # Once `tables` has all segments.
    cdef int build(self, graph, dict arrays, Tables* tables, size_t n_segments) except -1
    # Push copies of `sources` into `targets`, but for what is put into `lent`. False, and nothing
    # is done, unless each source is an NDArray of its target's shape.
    cdef bint take(self, sources, targets, vector[Lent]* lent) except -1
    cdef bint lend(self, NDArrayBase source, NDArrayBase target, Lent* lent) except -1
    cdef bint writes(self, VarHandle var, size_t last) noexcept

# What of `lent` the segment at position `at` uses, and the variables that it then reads and writes.
cdef void share_of(const Segment* segment, size_t at, const vector[Lent]* lent, vector[Lent]* own,
                   vector[VarHandle]* read, vector[VarHandle]* write) noexcept nogil
# Before the step at `index` of a run, and after all steps. Guarded by the segment's variable, as
# the steps' contexts are.
cdef void lend_to(Run* run, size_t index) noexcept nogil
cdef void take_back(Run* run) noexcept nogil
