"""A batch that the first step of a plan reads in place, in the caller's memory.

Without this, `forward(batch)` copies the batch into the bound array first, one more pass over it.
Here the step that reads it first (chosen by graph/batch_alias.py) makes that copy on the way. For
the engine, its segment reads the batch's variable and writes the bound array's, as a copy would.

The backward of the same operator also reads the batch instead of the copy, if neither was written
meanwhile: the batch is still in the cache of every core, the copy is not.
"""

from libcpp.vector cimport vector

from .._engine cimport VarHandle
from .._ndarray cimport NDArrayBase
from .tables cimport Fed, Run, Tables
from .._typedefs cimport TBlob
from ..operator._base cimport OpContext

cdef enum:
    FED_INPUTS = 4   # maximum number of inputs of such a step
    FED_VARS = 128   # maximum number of variables that its segment reads

cdef cppclass Reader:
    # A step that may read the batch; the variables that its segment reads (besides the batch's)
    # and writes.
    size_t segment, step
    vector[VarHandle] const_vars, mutable_vars

cdef class Feed:
    # The bound array that such a step fills with the batch, or None if the plan has no such step.
    cdef NDArrayBase bound
    cdef readonly size_t n_fed   # how many batches forward has read in place
    cdef readonly size_t n_lent  # how many of them backward may have read, too
    cdef Tables* tables
    cdef vector[Reader] readers  # forward, backward: Cython would not destroy an array of them
    cdef bint goes_back     # backward has such a step
    cdef bint alone         # nothing else reads the bound array
    cdef NDArrayBase batch  # what the last forward has read, until backward runs; or None

    # Call it when `tables` has all segments.
    cdef int build(self, graph, dict arrays, Tables* tables, size_t n_segments) except -1
    # Pushes copies of `sources` into `targets`, except for the batch that is noted in `fed`. False,
    # with nothing done, unless every source is an NDArray of its target's shape.
    cdef bint take(self, list sources, list targets, Fed* fed) except -1
    # Notes in `fed` whether backward may read `batch`, which was self.batch; the caller keeps it
    # alive until the run is pushed.
    cdef int take_back(self, NDArrayBase batch, Fed* fed) except -1
    cdef bint is_fed(self, NDArrayBase source) except -1
    cdef bint _lends(self, NDArrayBase batch) noexcept
    cdef int _lend(self, NDArrayBase batch, const Reader* reader, Fed* fed) except -1

# Makes the step read the batch. It gets copies of its context and inputs, so the tables do not
# change.
cdef void put_batch(Run* run, OpContext** context, TBlob** in_data, OpContext* own,
                    TBlob* inputs) noexcept nogil
# Forward has read the batch.
cdef void note_fed(Run* run) noexcept nogil
# For backward: true when neither batch nor copy was written since.
cdef bint is_lent(const Run* run) noexcept nogil
# Makes the copy when the step is not reached or fails.
cdef void copy_fed(Run* run) noexcept nogil
