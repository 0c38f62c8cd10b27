# distutils: extra_compile_args = -Os
"""GpuStep: forward, backward and weight update of an executor on a GPU, pushed as one function.

Where nobody looks between them, what can be recorded is one function of the engine and one graph;
what cannot (a Python operator, a check that waits for the GPU) is pushed as the plan pushes it, and
what lies before and behind it is put together.
"""

from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy
from libcpp.set cimport set as cpp_set
from libcpp.vector cimport vector

from .._engine cimport VarHandle, kInline, push_sync
from .._executor cimport Plan, free_run, new_run, enqueue_segment
from .._typedefs cimport RunContext, kGPU
from ..cuda.graphs cimport Recording, hold_recording, init_recording, release
from ..cuda.graphs cimport run as run_recorded
from .tables cimport PlanRun, Segment, Tables, is_timed
from .update_step cimport UpdateStep

from ..base.errors import OutOfMemoryError


cdef struct RandomStreams:  # seed and first stream: [0] of forward, [1] of backward
    uint64_t seed[2]
    uint64_t stream[2]


cdef cppclass StepPart:
    # Consecutive segments, perhaps followed by the update. Each run holds a reference to the
    # recording. Fixed, but for the recording, which the segments' own variables guard.
    size_t first, last       # segments [first, last)
    bint is_whole            # one function, recorded as a graph; else one segment
    bint is_random
    bint updates             # the update of the weights follows the segments
    int dev_id
    vector[VarHandle] const_vars
    vector[VarHandle] mutable_vars
    Recording recording


cdef struct StepPartRun:  # one run of a part of a step
    # One run of a part, queued in the engine. The data for its graph follow behind it: pairs of
    # seed and stream for forward and backward, and the numbers of the update.
    StepPart* part
    void* task       # the update's task, or NULL
    int (*queue_launches)(void* task, RunContext* run_ctx, void* numbers) except -1 nogil
    void (*free_task)(void* task) noexcept nogil
    int n_runs
    size_t nbytes    # bytes of `numbers`
    PlanRun** runs       # the PlanRun of each segment
    bint* backward   # whether the segment belongs to backward
    char* numbers


cdef enum:
    SEED_PAIR_BYTES = 16                # a seed and a stream
    UPDATE_OFFSET = 2 * SEED_PAIR_BYTES     # offset of the update's scalars in StepPartRun.numbers


cdef int _run_step_part(void* arg, RunContext* run_ctx) except -1 nogil:
    cdef StepPartRun* each = <StepPartRun*>arg
    if is_timed(each.runs[0].tables):
        return _enqueue_step_part(arg, run_ctx, NULL)
    return run_recorded(
        &each.part.recording, run_ctx, _enqueue_step_part, arg, each.numbers, each.nbytes)


cdef int _enqueue_step_part(void* arg, RunContext* run_ctx, void* numbers) except -1 nogil:
    cdef StepPartRun* each = <StepPartRun*>arg
    cdef char* at = <char*>numbers
    cdef int i
    for i in range(each.n_runs):
        if at == NULL or not each.part.is_random:
            enqueue_segment(each.runs[i], run_ctx, NULL)
        else:
            enqueue_segment(each.runs[i], run_ctx, at + SEED_PAIR_BYTES * each.backward[i])
    if each.task != NULL:
        each.queue_launches(each.task, run_ctx, NULL if at == NULL else at + UPDATE_OFFSET)
    return 0


cdef void _free_part_run(void* arg) noexcept nogil:
    cdef StepPartRun* each = <StepPartRun*>arg
    cdef int i
    for i in range(each.n_runs):
        free_run(each.runs[i])
    if each.task != NULL:
        each.free_task(each.task)
    _release_step_part(each.part)
    free(arg)


cdef void _release_step_part(StepPart* part) noexcept nogil:
    if release(&part.recording, part.dev_id):
        del part


cdef class GpuStep:  # runs forward, backward and update on a GPU
    """Runs a plan's forward and backward, and a weight update.

    plan (Plan): That of an executor with gradients, without gradients of its outputs.
    update (UpdateStep or None): The update of the weights.
    """

    cdef readonly Plan plan
    cdef readonly UpdateStep update
    cdef vector[StepPart*] parts
    cdef bint update_apart  # pushed by itself

    def __init__(self, Plan plan, UpdateStep update):
        cdef Tables* tables = plan.tables
        cdef size_t first = 0, last, n = tables.segments.size()
        cdef Segment* segment
        cdef StepPart* part
        self.plan, self.update = plan, update
        self.update_apart = update is not None
        while first < n:
            segment = tables.segments[first]
            last = first + 1
            while last < n and _can_share_graph(segment, tables.segments[last]):
                last += 1
            part = new StepPart()
            part.first, part.last, part.dev_id = first, last, segment.dev_id
            init_recording(&part.recording, False)
            self.parts.push_back(part)
            part.updates = (last == n and update is not None and _is_recordable(segment)
                            and update.dev_type == kGPU and update.dev_id == segment.dev_id)
            self.update_apart = self.update_apart and not part.updates
            part.is_whole = part.updates or last - first > 1
            part.is_random = False
            if part.is_whole:
                self._add_variables(part)
            first = last

    def __dealloc__(self):
        cdef size_t i
        with nogil:
            for i in range(self.parts.size()):
                _release_step_part(self.parts[i])

    cdef int _add_variables(self, StepPart* part) except -1:
        """Add the variables that a part's function reads and writes, each once."""
        cdef cpp_set[VarHandle] read
        cdef cpp_set[VarHandle] written
        cdef Segment* segment
        cdef size_t i
        cdef VarHandle var
        for i in range(part.first, part.last):
            segment = self.plan.tables.segments[i]
            part.is_random = part.is_random or segment.is_random
            for var in segment.const_vars:
                read.insert(var)
            for var in segment.mutable_vars:
                written.insert(var)
        if part.updates:
            for var in self.update.reads:
                read.insert(var)
            for var in self.update.writes:
                written.insert(var)
        for var in written:
            part.mutable_vars.push_back(var)
            read.erase(var)
        for var in read:
            part.const_vars.push_back(var)
        return 0

    def __call__(self, tuple numbers=()):
        """Push forward in training mode, backward, and the update with the arguments `numbers`;
        return at once."""
        cdef RandomStreams streams
        cdef size_t i, origin = self.plan.index_of_user_line()
        cdef StepPart* part
        cdef StepPartRun* each
        cdef bint backward
        self._draw_streams(&streams)
        for i in range(self.parts.size()):
            part = self.parts[i]
            if part.is_whole:
                each = self._new_run(part, &streams, origin, numbers)
                with nogil:
                    push_sync(_run_step_part, each, _free_part_run, kGPU, part.dev_id,
                              part.const_vars.data(), <int>part.const_vars.size(),
                              part.mutable_vars.data(), <int>part.mutable_vars.size(),
                              0, kInline, b"training step")
            else:
                backward = part.first >= self.plan.n_forward_segments
                with nogil:
                    self.plan.push_segment(part.first, True, streams.seed[backward],
                                           streams.stream[backward], origin)
        if self.update_apart:
            self.update(*numbers)

    cdef void _draw_streams(self, RandomStreams* streams) noexcept:
        """Draw the random streams that separate forward and backward runs would draw."""
        cdef int i
        for i in range(2):
            streams.seed[i] = 0
            streams.stream[i] = self.plan.draw_streams_of_run(i, &streams.seed[i])

    cdef StepPartRun* _new_run(self, StepPart* part, const RandomStreams* streams, size_t origin,
                               tuple numbers) except NULL:
        cdef Tables* tables = self.plan.tables
        cdef size_t n = part.last - part.first, n_update = 0, i
        cdef StepPartRun* each
        cdef void* task = NULL
        cdef void* params = NULL
        cdef uint64_t* pairs
        cdef bint backward
        if part.updates:
            task = self.update.new_task(numbers, &params, &n_update)
        each = <StepPartRun*>malloc(
            sizeof(StepPartRun) + n * (sizeof(void*) + sizeof(uint64_t)) + UPDATE_OFFSET
            + n_update)
        if each == NULL:
            if task != NULL:
                self.update.free_task(task)
            raise OutOfMemoryError("no memory to push a training step")
        hold_recording(&part.recording)
        each.part, each.task, each.n_runs = part, task, 0
        if task != NULL:
            each.queue_launches, each.free_task = self.update.queue_launches, self.update.free_task
        each.runs = <PlanRun**>(each + 1)
        each.backward = <bint*>(each.runs + n)
        each.numbers = <char*>(each.runs + n) + n * sizeof(uint64_t)
        pairs = <uint64_t*>each.numbers
        for i in range(2):
            pairs[2 * i], pairs[2 * i + 1] = streams.seed[i], streams.stream[i]
        if n_update:
            memcpy(each.numbers + UPDATE_OFFSET, params, n_update)
        each.nbytes = UPDATE_OFFSET + n_update if part.is_random or n_update else 0
        try:
            for i in range(n):
                backward = part.first + i >= self.plan.n_forward_segments
                each.runs[i] = new_run(tables, tables.segments[part.first + i], True,
                                       streams.seed[backward], streams.stream[backward], origin)
                each.backward[i] = backward
                each.n_runs += 1
        except BaseException:
            _free_part_run(each)
            raise
        return each


cdef bint _is_recordable(Segment* segment) noexcept nogil:  # as a CUDA graph
    return segment.dev_type == kGPU and not segment.recordings[1].never


cdef bint _can_share_graph(Segment* first, Segment* second) noexcept nogil:  # one CUDA graph
    return _is_recordable(first) and _is_recordable(second) and first.dev_id == second.dev_id


def joins_steps(Plan plan):  # whether one CUDA graph may hold segments
    """Return whether the plan has segments that one CUDA graph can contain."""
    cdef Segment* segment
    for segment in plan.tables.segments:
        if _is_recordable(segment):
            return True
    return False
