"""The native tables of a plan, fixed after it is built, and the state of a run."""

from libc.stdint cimport int64_t, uint64_t
from libcpp.atomic cimport atomic
from libcpp.vector cimport vector

from .._engine cimport VarHandle, is_ready, kInline
from .._ndarray cimport Chunk
from .._resource cimport Resource
from .._typedefs cimport TBlob
from ..cuda.graphs cimport Recording, Recordings, find_recording
from ..engine.trace cimport SYMBOLIC, now_if_traced
from ..operator._base cimport OpContext, Operator

cdef struct NativeStep:  # one operator call of a plan
    void* op           # the Operator; the tables keep it alive
    bint backward
    OpContext context  # each run sets is_train, run_ctx and random streams
    # the first index of each list of arrays in the tables
    size_t out_grad, in_data, out_data, in_grad, aux, req, requested
    const char* name   # names of the operator and of its node; the tables own both
    const char* node
    uint64_t random    # number of random streams drawn by the earlier steps
    Chunk* watched     # memory of a gradient whose nonzero rows are recorded, or NULL
    CachedStepGroup* cached  # group of the step, if its results are cached; else NULL

cdef cppclass CachedState:
    # The validity of a CachedResult (cached_results.pxd). `valid` and `seen` are guarded by the
    # memory's variable.
    atomic[long] references
    bint valid               # the steps of the group have run to the end without a failure
    VarHandle var            # variable of the result's memory
    vector[Chunk*] sources
    vector[unsigned] seen    # version of each source when the steps ran

cdef cppclass CachedStepGroup:
    # Steps whose result is cached until one of its sources is written. Guarded by
    # the variable of their segment, in which they all lie.
    # Its first step, which decides whether to run, and its last, which completes it.
    size_t first, last
    bint fresh               # the result is current in this run: the steps are skipped
    CachedState* state         # a reference to the state; NULL until there are arrays (rebind.pyx)

cdef cppclass Segment:
    size_t first, last  # steps [first, last)
    # groups [cached_first, cached_last) of a segment of cached steps; it is skipped if all are
    # current
    size_t cached_first, cached_last
    int flags           # flags of the engine's push
    int dev_type, dev_id
    bint is_random      # a step takes random numbers
    VarHandle var       # written by this segment and by those that share memory with it
    vector[VarHandle] const_vars
    vector[VarHandle] mutable_vars
    vector[Chunk*] promised  # new arrays, marked as written after the segment (rebind.pyx)
    Recording recordings[2]  # CUDA graphs for prediction and training; guarded by `var`
    bint rebinds             # rebind.pyx exchanges arrays: use `by_address`
    Recordings by_address[2]  # recordings by the addresses of the exchanged arrays
    vector[size_t] slots     # slots that the segment's steps use

cdef inline bint would_run_now(Segment* segment) noexcept:
    """Return whether a segment pushed now would have run when push_sync returns."""
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
    # All data that runs read, shared by the Plan and its pending runs. Fixed once built, but for
    # the steps' contexts, which are guarded by their segment's variable.
    atomic[long] references
    vector[NativeStep] steps
    vector[TBlob] blobs
    vector[int] reqs
    vector[Resource] resources
    vector[Segment*] segments
    vector[CachedStepGroup*] cached
    vector[void*] slot_addresses     # present address of each slot (rebind.pyx)
    atomic[bint] stale      # an exchange of addresses failed (rebind.pyx)
    atomic[bint] profiled
    vector[int64_t] spent   # nanoseconds of each step while `profiled`
    vector[int64_t] calls   # runs of each step while `profiled`
    void* keep          # an owned Python list: operators, arrays, labels, origins

cdef inline bint is_timed(Tables* tables) noexcept nogil:
    """Return whether each step is measured, so that segments must not be replayed as graphs."""
    return tables.profiled.load() or now_if_traced(SYMBOLIC)

ctypedef int (*Uncaught)(NativeStep*, OpContext*, const TBlob*, TBlob*,
                         const int*) noexcept nogil

cdef inline int run_operator(NativeStep* step, OpContext* context, const TBlob* in_data,
                             TBlob* blobs, const int* req) except -1 nogil:
    if step.backward:
        return (<Operator>step.op).backward(
            context, blobs + step.out_grad, in_data, blobs + step.out_data, req,
            blobs + step.in_grad, blobs + step.aux)
    return (<Operator>step.op).forward(
        context, in_data, req, blobs + step.out_data, blobs + step.aux)

cdef inline int call_step(NativeStep* step, OpContext* context, const TBlob* in_data,
                          TBlob* blobs, const int* req) noexcept nogil:
    # Run a step's operator. -1: it failed; with the cast Cython does not raise its exception.
    return (<Uncaught>run_operator)(step, context, in_data, blobs, req)

cdef extern from *:
    const size_t HERE "SIZE_MAX"  # origin: the user's line is on this thread's stack

cdef struct PlanRun:  # one queued run of one segment of a plan
    # One run of one segment, queued in the engine. Holds a reference to the tables.
    Tables* tables
    Segment* segment
    size_t current  # index of the present step, for errors
    size_t origin   # the user's line that started the run: index into the plan's origins, or HERE
    bint is_train
    uint64_t seed
    uint64_t stream

cdef inline Recording* recording_of(PlanRun* run) noexcept nogil:  # the CUDA graph of a run
    # Return the CUDA graph of a run: if arrays are exchanged, the one for their addresses.
    cdef Segment* segment = run.segment
    cdef Recording* found = NULL
    cdef vector[void*] at
    cdef size_t slot
    if segment.rebinds and not run.tables.stale.load():
        for slot in segment.slots:
            at.push_back(run.tables.slot_addresses[slot])
        found = find_recording(&segment.by_address[run.is_train], &at, segment.dev_id)
    return found if found != NULL else &segment.recordings[run.is_train]

cdef inline void mark_written(Segment* segment) noexcept nogil:  # marks its new arrays
    cdef Chunk* chunk
    for chunk in segment.promised:
        chunk.written = True
