"""The batch that a run reads where it lies, instead of copying it into the bound array before.

The step that reads that array first copies what it reads (graph/feed.py says which). Its segment
then reads the batch's variable and writes the bound array's: whoever writes the batch or reads the
bound array afterwards waits for it, as for a copy.

Backward the same operator reads the batch again instead of its copy, unless one of the two has been
written meanwhile: all cores have the batch in their caches, and half of the copy, or none, each.
"""

from libcpp.vector cimport vector

from ._engine cimport VarHandle
from ._ndarray cimport NDArrayBase
from ._plan_tables cimport Fed, Run, Tables
from ._typedefs cimport TBlob
from .operator._base cimport OpContext

cdef enum:
    FED_INPUTS = 4   # most inputs of a step that is fed
    FED_VARS = 128   # most variables that its segment reads

cdef cppclass Reader:
    # A step that may read the batch, and what its segment then reads, but for the batch, and
    # writes.
    size_t segment, step
    vector[VarHandle] const_vars, mutable_vars

cdef class Feed:
    # The bound array of a plan that one of its steps may fill with a batch that it reads, or None.
    cdef NDArrayBase bound
    cdef readonly size_t n_fed   # batches so far that were read where they lay
    cdef readonly size_t n_lent  # and of which a run backward may have read them again
    cdef Tables* tables
    cdef vector[Reader] readers  # forward, backward: Cython would not destroy an array of them
    cdef bint goes_back     # there is one backward
    cdef bint alone         # nothing else reads the bound array
    cdef NDArrayBase batch  # that the last run forward has read, until one backward; or None

    # Once `tables` has all segments.
    cdef int build(self, graph, dict arrays, Tables* tables, size_t n_segments) except -1
    # Push copies of `sources` into `targets`, but for what is told in `fed`. False, and nothing is
    # done, unless each source is an NDArray of its target's shape.
    cdef bint take(self, list sources, list targets, Fed* fed) except -1
    # Tell in `fed` whether the run backward may read `batch`, which was self.batch and is held by
    # the caller until the run is pushed.
    cdef int take_back(self, NDArrayBase batch, Fed* fed) except -1
    cdef bint is_fed(self, NDArrayBase source) except -1
    cdef bint _lends(self, NDArrayBase batch) noexcept
    cdef int _lend(self, NDArrayBase batch, const Reader* reader, Fed* fed) except -1

# Let the step that is fed read the batch: by copies of its context and inputs, so that the tables
# stay as they are.
cdef void put_batch(Run* run, OpContext** context, TBlob** in_data, OpContext* own,
                    TBlob* inputs) noexcept nogil
# The step has read the batch forward.
cdef void note_fed(Run* run) noexcept nogil
# Backward: whether batch and copy are what they were then.
cdef bint is_lent(const Run* run) noexcept nogil
# What the step would have done with the batch, when it is not reached or fails.
cdef void copy_fed(Run* run) noexcept nogil
