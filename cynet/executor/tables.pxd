"""The native tables of a plan, fixed once it is built, and the state of one run."""

from libc.stdint cimport int64_t, uint64_t
from libcpp.atomic cimport atomic
from libcpp.vector cimport vector

from .._engine cimport VarHandle, is_ready, kInline
from .._ndarray cimport Chunk
from .._resource cimport Resource
from .._typedefs cimport TBlob
from ..cuda.graphs cimport Recording, Recordings, recording_at
from ..engine.trace cimport SYMBOLIC, begun
from ..operator._base cimport OpContext, Operator

cdef struct NativeStep:
    void* op           # Operator, kept alive by the tables
    bint backward
    OpContext context  # the lengths; is_train, run_ctx and random streams are set by each run
    # begin of each list of arrays in the tables
    size_t out_grad, in_data, out_data, in_grad, aux, req, requested
    const char* name   # names of the operator and of its node; the tables own both
    const char* node
    uint64_t random    # number of random streams drawn by the earlier steps
    Chunk* watched     # memory of a gradient whose nonzero rows backward notes, or NULL
    CachedGroup* cached  # group of the step, if its results are cached; else NULL

cdef cppclass CachedState:
    # Whether cached results still hold (cached_results.pxd). `valid` and `seen` are guarded by the
    # memory's variable.
    atomic[long] references
    bint valid               # the steps of the group have run to the end without a failure
    VarHandle var            # variable of the memory that holds the cached results
    vector[Chunk*] sources
    vector[unsigned] seen    # writes of each source when the steps ran

cdef cppclass CachedGroup:
    # Steps whose results stay until one of the arrays they are made from is written. Guarded by
    # the variable of their segment, in which they all lie.
    # Its first step, which decides whether to run, and its last, which completes it.
    size_t first, last
    bint fresh               # the results are fresh in this run: the steps are skipped
    CachedState* state         # a reference to the state; NULL until there are arrays (rebind.pyx)

cdef cppclass Segment:
    size_t first, last  # steps [first, last)
    # a segment of cached steps has the groups [cached_first, cached_last); it is pushed if one is
    # not fresh
    size_t cached_first, cached_last
    int flags           # flags of the engine's push
    int dev_type, dev_id
    bint is_random      # a step takes random numbers
    VarHandle var       # orders this segment with itself and with those it shares memory with
    vector[VarHandle] const_vars
    vector[VarHandle] mutable_vars
    vector[Chunk*] promised  # arrays that count as written when the segment has run (rebind.pyx)
    Recording recordings[2]  # graphs of a GPU, for predicting and training; guarded by `var`
    bint rebinds             # rebind.pyx exchanges the arrays: `by_address` is used
    Recordings by_address[2]  # recordings by the addresses of the exchanged arrays
    vector[size_t] slots     # slots of the exchanged arrays

cdef inline bint runs_at_once(Segment* segment) noexcept:
    """True if a segment, if pushed now, has run when push_sync returns."""
    cdef VarHandle var
    if segment.flags != kInline:
        return False
    for var in segment.const_vars:
        if not is_ready(var):
            return False
    for var in segment.mutable_vars:
        if not is_ready(var):
            return False
    return True

cdef cppclass Tables:
    # Everything a run reads: shared by the Plan and the runs in flight. Fixed once built, but for
    # the steps' contexts, which are guarded by their segment's variable.
    atomic[long] references
    vector[NativeStep] steps
    vector[TBlob] blobs
    vector[int] reqs
    vector[Resource] resources
    vector[Segment*] segments
    vector[CachedGroup*] cached
    vector[void*] slot_addresses     # present address of each slot (rebind.pyx)
    atomic[bint] stale      # the addresses are not those of the arrays given last (rebind.pyx)
    atomic[bint] profiled
    vector[int64_t] spent   # nanoseconds of each step while `profiled`
    vector[int64_t] calls   # runs of each step while `profiled`
    void* keep          # a Python list, owned: the operators, arrays, labels and origins

cdef inline bint is_timed(Tables* tables) noexcept nogil:
    """True if each step is to be measured, so that nothing is replayed as a whole."""
    return tables.profiled.load() or begun(SYMBOLIC)

ctypedef int (*Uncaught)(NativeStep*, OpContext*, const TBlob*, TBlob*,
                         const int*) noexcept nogil

cdef inline int call_checked(NativeStep* step, OpContext* context, const TBlob* in_data,
                             TBlob* blobs, const int* req) except -1 nogil:
    if step.backward:
        return (<Operator>step.op).backward(
            context, blobs + step.out_grad, in_data, blobs + step.out_data, req,
            blobs + step.in_grad, blobs + step.aux)
    return (<Operator>step.op).forward(
        context, in_data, req, blobs + step.out_data, blobs + step.aux)

cdef inline int call_step(NativeStep* step, OpContext* context, const TBlob* in_data,
                          TBlob* blobs, const int* req) noexcept nogil:
    # Run a step's operator. -1: it failed, and its exception is still pending: hence the cast.
    return (<Uncaught>call_checked)(step, context, in_data, blobs, req)

cdef extern from *:
    const size_t HERE "SIZE_MAX"  # the user's line is on the stack of the thread that runs

cdef struct PlanRun:
    # One run of one segment, queued in the engine. Holds a reference to the tables.
    Tables* tables
    Segment* segment
    size_t current  # the step that runs, for the error message
    size_t origin   # the line that started it: index into the plan's origins, or HERE
    bint is_train
    uint64_t seed
    uint64_t stream

cdef inline Recording* recording_of(PlanRun* run) noexcept nogil:
    # The recording of a run on a GPU; with exchanged arrays, the one for their addresses.
    cdef Segment* segment = run.segment
    cdef Recording* found = NULL
    cdef vector[void*] at
    cdef size_t slot
    if segment.rebinds and not run.tables.stale.load():
        for slot in segment.slots:
            at.push_back(run.tables.slot_addresses[slot])
        found = recording_at(&segment.by_address[run.is_train], &at, segment.dev_id)
    return found if found != NULL else &segment.recordings[run.is_train]

cdef inline void note_written(Segment* segment) noexcept nogil:
    cdef Chunk* chunk
    for chunk in segment.promised:
        chunk.written = True
