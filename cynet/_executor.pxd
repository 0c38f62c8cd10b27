"""The loop that runs a plan: steps over fixed TBlobs, cut into segments that the engine schedules.

Promises:
- Between two steps of a segment no Python runs and nothing is allocated.
- A segment is one function of the engine. Segments that touch a common byte run in plan order;
others may
  run together.
- Runs already pushed finish on valid memory even when the Plan and its arrays are dropped
meanwhile.
"""

from libc.stdint cimport int64_t, uint64_t
from libcpp.atomic cimport atomic
from libcpp.vector cimport vector

from ._engine cimport VarHandle
from ._ndarray cimport Chunk, NDArrayBase
from ._resource cimport Resource
from ._typedefs cimport RunContext, TBlob
from .cuda.graphs cimport Recording
from .operator._base cimport OpContext

cdef struct NativeStep:
    void* op           # Operator, kept alive by the tables
    bint backward
    OpContext context  # the lengths; is_train, run_ctx and random streams are set by each run
    # where each list begins in the tables
    size_t out_grad, in_data, out_data, in_grad, aux, req, requested
    uint64_t random    # random streams drawn by the steps before this one
    Kept* kept         # the group of steps it belongs to that run when something changed, or NULL

cdef cppclass Kept:
    # Steps whose results stay until one of the arrays they are made from is written. Guarded by
    # the variable of their segment, in which they all lie.
    size_t first, last       # of its steps: where is decided, and where is completed
    bint fresh               # what was decided: this run leaves them out
    bint valid               # they were run to the end, and nothing failed on the way
    vector[Chunk*] sources
    vector[unsigned] seen    # writes of each source when they ran

cdef cppclass Segment:
    size_t first, last  # steps [first, last)
    int flags           # of the engine
    int dev_type, dev_id
    bint is_random      # a step takes random numbers
    VarHandle var       # orders this segment with itself and with those it shares memory with
    vector[VarHandle] const_vars
    vector[VarHandle] mutable_vars
    Recording recordings[2]  # on a GPU, predicting and training; guarded by `var`

cdef cppclass Tables:
    # Everything a run reads: shared by the Plan and the runs in flight. Fixed once built, but for
    # the steps' contexts, which are guarded by their segment's variable.
    atomic[long] references
    vector[NativeStep] steps
    vector[TBlob] blobs
    vector[int] reqs
    vector[Resource] resources
    vector[Segment*] segments
    vector[Kept*] kept
    atomic[bint] profiled
    vector[int64_t] spent   # nanoseconds of each step while `profiled`
    vector[int64_t] calls   # and how often it ran
    void* keep          # a Python list, owned: the operators, arrays, labels and origins

cdef struct Run:
    # One run of one segment, queued in the engine. Holds a reference to the tables.
    Tables* tables
    Segment* segment
    size_t current  # the step that runs, for the error message
    size_t origin   # who asked: index into the plan's origins
    bint is_train
    uint64_t seed
    uint64_t stream

cdef class Plan:
    cdef Tables* tables
    cdef size_t n_forward_segments
    cdef uint64_t n_random
    cdef int dev_type, dev_id
    cdef readonly list labels   # "operator Convolution (node 'conv0')", one a step
    cdef list _origins
    cdef dict _origin_index
    cdef int _add_steps(self, graph, dict operators, dict arrays, NDArrayBase arena) except -1
    cdef size_t _add_blobs(self, list values, dict arrays, NDArrayBase arena) except? 0
    cdef Kept* _kept_of(self, group, dict known, dict arrays) except? NULL
    cdef int _add_resources(self, step, NativeStep* native) except -1
    cdef int _add_segments(self, graph, dict operators, dict arrays, NDArrayBase guard) except -1
    cdef bint _recordable(self, dict operators, list steps, Segment* segment) except -1
    cdef int _add_variables(self, Segment* segment, tuple touched, list earlier,
                            dict arrays) except -1
    cdef int _push(self, size_t first, size_t last, bint is_train) except -1
    # Push one segment of a run whose first random stream is `stream`.
    cdef int push_segment(self, size_t i, bint is_train, uint64_t seed, uint64_t stream,
                          size_t origin) except -1 nogil
    # The number of the user's line that asks for a run.
    cdef size_t origin(self) except? 0

# A run that holds the tables until `end_run`.
cdef Run* new_run(Tables* tables, Segment* segment, bint is_train, uint64_t seed, uint64_t stream,
                  size_t origin) except NULL nogil
cdef void end_run(void* arg) noexcept nogil
# Put a Run's steps on the stream of a GPU (Put of cuda/graphs.pxd); `numbers` are the seed and the
# first stream of its random numbers, which a graph's kernels count from.
cdef int put_segment(void* arg, RunContext* run_ctx, void* numbers) except -1 nogil
