"""The loop that runs a plan (contract in _executor.pxd)."""

from cpython.bytes cimport PyBytes_AS_STRING
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from ._engine cimport delete_variable, kInline, kNormal, kPython, new_variable, push_sync
from .engine.native cimport now_ns
from .engine.trace cimport SYMBOLIC, now_if_traced, interned_text, note_operator
from .engine.inline cimport MAX_INLINE_SEGMENT_US
from .engine.live_objects cimport count_live, live_counter
from ._core.copy import copy_into
from ._ndarray cimport NDArrayBase, new_view, same_shape
from .executor.cached_results cimport (
    CachedResult, hold_state, is_current, is_fresh, record_source_versions, release_state
)
from .executor.tables cimport HERE, call_step, is_timed, mark_written, recording_of, would_run_now
from ._resource cimport Resource, draw_rng_streams, kRandom
from ._core.touched_rows cimport are_rows_known, note_rows_written, nonzero_row_set
from ._typedefs cimport RunContext, TBlob, kCPU, kGPU
from .cuda.graphs cimport init_recording, release, drop_graphs, run as run_recorded, set_random_base
from .operator._base cimport OpContext

from .base.dtype import NAMES, dtype_flag
from .base.errors import OperatorError, OutOfMemoryError, wrap_error, describe_error, user_frame
from .graph.cost import seconds
from .graph.cuts import backward_cut_indices
from .graph.ir import FORWARD, TEMP
from .graph.row_gradients import gradients_by_rows
from .graph.accesses import accesses_conflict, find_accesses

live_plans = live_counter()  # function: number of Tables alive, in debug builds

cdef enum:  # positions in Tables.keep
    LABELS_POSITION = 0  # the steps' names in messages
    ORIGINS_POSITION = 1  # the user's source lines
    OPERATORS_POSITION = 2  # the operators of the steps


cdef int _run_step(Tables* tables, size_t index, PlanRun* run, RunContext* run_ctx) noexcept nogil:
    cdef NativeStep* step = &tables.steps[index]
    cdef TBlob* blobs = tables.blobs.data()
    cdef OpContext* context = &step.context
    cdef uint64_t stream = run.stream + step.random
    cdef int i, code
    context.is_train = run.is_train
    context.run_ctx = run_ctx[0]
    context.requested = tables.resources.data() + step.requested
    for i in range(context.n_requested):
        if context.requested[i].type == kRandom:
            context.requested[i].seed = run.seed
            context.requested[i].stream = stream
            stream += 1
    if step.watched != NULL:
        context.rows.known = are_rows_known(step.watched)
    code = call_step(step, context, blobs + step.in_data, blobs, tables.reqs.data() + step.req)
    if step.watched != NULL:
        note_rows_written(step.watched, code == 0)
    return code


cdef int _run_device_segment(void* arg, RunContext* run_ctx) except -1 nogil:
    """Run a segment on a GPU: enqueue its steps on the stream, or replay them as a CUDA graph."""
    cdef PlanRun* run = <PlanRun*>arg
    cdef uint64_t words[2]
    if is_timed(run.tables):
        return _run_segment(arg, run_ctx)
    words[0], words[1] = run.seed, run.stream
    run_recorded(recording_of(run), run_ctx, enqueue_segment, arg, words,
                 sizeof(words) * run.segment.is_random)
    mark_written(run.segment)
    return 0


cdef int enqueue_segment(void* arg, RunContext* run_ctx, void* numbers) except -1 nogil:
    """Enqueue the steps; `numbers` are the seed and the first random stream."""
    cdef PlanRun* run = <PlanRun*>arg
    cdef uint64_t seed = run.seed, stream = run.stream
    cdef int code
    if numbers == NULL:
        return _run_segment(arg, run_ctx)
    run.seed = run.stream = 0
    set_random_base(numbers)
    code = (<Quiet>_run_segment)(arg, run_ctx)  # the cast keeps the exception set
    set_random_base(NULL)
    run.seed, run.stream = seed, stream
    return code


ctypedef int (*Quiet)(void* arg, RunContext* run_ctx) noexcept nogil


cdef inline void _record_step_time(Tables* tables, size_t index, int64_t begin, bint profiled,
                                   RunContext* run_ctx) noexcept nogil:
    """Record the time of a step that has run, for `Plan.profile` and for the profiler."""
    cdef NativeStep* step = &tables.steps[index]
    if profiled:
        tables.spent[index] += now_ns() - begin
        tables.calls[index] += 1
    if now_if_traced(SYMBOLIC):
        note_operator(interned_text(step.name), interned_text(step.node), step.backward, begin,
                      run_ctx)


cdef int run_step(Tables* tables, size_t index, PlanRun* run, RunContext* run_ctx) noexcept nogil:
    cdef bint profiled = tables.profiled.load()
    cdef int64_t begin = now_ns() if profiled else now_if_traced(SYMBOLIC)
    cdef int code = _run_step(tables, index, run, run_ctx)
    if begin and code == 0:
        _record_step_time(tables, index, begin, profiled, run_ctx)
    return code


cdef int _run_segment(void* arg, RunContext* run_ctx) except -1 nogil:
    cdef PlanRun* run = <PlanRun*>arg
    cdef size_t index = run.segment.first
    cdef CachedStepGroup* cached
    if run.tables.stale.load():
        with gil:
            raise OperatorError("this run did not get its arrays: a run before it failed")
    while index < run.segment.last:
        run.current = index
        index += 1
        cached = run.tables.steps[run.current].cached
        if cached != NULL:
            if cached.first == run.current:
                cached.fresh = cached.state.valid = is_fresh(cached.state)
            if cached.fresh:
                continue
        if run_step(run.tables, run.current, run, run_ctx) == -1:
            _raise_step_error(run)
        if cached != NULL and cached.last == run.current:
            record_source_versions(cached.state)
    mark_written(run.segment)
    return 0


cdef int _raise_step_error(PlanRun* run) except -1 nogil:
    """Raise the pending exception of step `current`, which has failed."""
    with gil:
        _raise_annotated_error(run)
    return 0


cdef int _raise_pending_error() except -1:
    """Raise the exception that is already set in this thread."""
    return -1


cdef int _raise_annotated_error(PlanRun* run) except -1:
    """Raise the pending exception, with the node that failed, its shapes and the user's line."""
    cdef list keep = <list>run.tables.keep
    try:
        _raise_pending_error()
    except BaseException as error:
        filename, line = _user_file_and_line(run, keep[ORIGINS_POSITION])
        raised = wrap_error(error, f"{failed_step_text(run.tables, run.current)}, "
                            f"run from {filename}:{line}: {describe_error(error)}")
    raise raised


cdef str failed_step_text(Tables* tables, size_t index):
    cdef NativeStep* step = &tables.steps[index]
    cdef list labels = (<list>tables.keep)[LABELS_POSITION]
    inputs = ", ".join([_describe_blob(&tables.blobs[step.in_data + i])
                        for i in range(step.context.n_in)])
    direction = "backward" if step.backward else "forward"
    return f"{labels[index]} failed in {direction} with inputs {inputs}"


cdef tuple _user_file_and_line(PlanRun* run, list origins):
    """Return (file, line) of the user's code that started the run."""
    if run.origin != HERE:
        return origins[run.origin]
    try:
        return user_frame()
    except ValueError:  # no Python code on this thread: a worker runs the segment
        return "an unknown line", 0


cdef str _describe_blob(const TBlob* blob):
    shape = tuple([blob.shape[i] for i in range(blob.ndim)])
    return f"{shape} {NAMES[blob.dtype]}"


cdef void free_run(void* arg) noexcept nogil:
    cdef PlanRun* run = <PlanRun*>arg
    release_tables(run.tables)
    free(run)


cdef void release_tables(Tables* tables) noexcept nogil:
    """Drop one reference; the last one frees the tables and their Python objects."""
    cdef size_t i
    cdef int k
    if tables.references.fetch_sub(1) != 1:
        return
    for i in range(tables.segments.size()):
        if tables.segments[i].var != NULL:
            delete_variable(tables.segments[i].var, NULL, NULL)
        for k in range(2):
            release(&tables.segments[i].recordings[k], tables.segments[i].dev_id)
            drop_graphs(&tables.segments[i].by_address[k], tables.segments[i].dev_id)
        del tables.segments[i]
    for i in range(tables.cached.size()):
        if tables.cached[i].state != NULL:
            release_state(tables.cached[i].state)
        del tables.cached[i]
    with gil:
        Py_DECREF(<object>tables.keep)
    del tables
    count_live(-1)


cdef class Plan:  # a graph as native tables that the engine runs
    """A Graph as native tables that the engine can run.

    graph (Graph): After the memory pass.
    operators (dict of Step to Operator): For every forward step, also those that became views.
    arrays (dict of Value to NDArray): Memory of every value that is not a temporary.
    arena (NDArray or None): Memory of the temporaries: a one-dimensional uint8 array of at least
        ``graph.memory.planned`` bytes.
    guard_arena (bool): Every segment writes the arena's own variable: needed when others read it or
        share it, and only then given, since it keeps independent segments apart.
    cached (list of CachedResult, optional): Results of its groups of cached steps, in order; None:
        `ArgumentSlots.bind_cached` gives it.
    """

    def __cinit__(self):
        self.tables = new Tables()
        self.tables.references.store(1)
        self.tables.keep = NULL
        self.tables.profiled.store(False)
        self.tables.stale.store(False)

    def __init__(self, graph, dict operators, dict arrays, NDArrayBase arena,
                 bint guard_arena=True, list cached=None):
        self.labels = []
        self.cached = [] if cached is None else cached
        self._origins, self._origin_index, self._texts = [], {}, []
        keep = [self.labels, self._origins, operators, arrays, arena, self._texts]
        Py_INCREF(keep)
        self.tables.keep = <void*>keep
        count_live(1)
        self._add_steps(graph, operators, arrays, arena)
        self._add_segments(graph, operators, arrays, arena if guard_arena else None)

    def __dealloc__(self):
        cdef Tables* tables = self.tables
        if tables.keep == NULL:  # never initialised
            del tables
            return
        with nogil:
            release_tables(tables)

    # --- building ---------------------------------------------------------------------------------
    cdef int _add_steps(self, graph, dict operators, dict arrays, NDArrayBase arena) except -1:
        cdef NativeStep native
        cached = {}
        by_rows = gradients_by_rows(graph, operators)
        shared = _shared_chunks(arrays) if by_rows else ()
        for i, step in enumerate(graph.steps):
            self.labels.append(f"operator {step.prop.op_name} (node '{step.name}')")
            memset(&native, 0, sizeof(native))
            operator = operators[step.origin or step]
            operator.memory_owner = (arena, arrays)
            native.op = <void*>operator
            native.backward = step.direction != FORWARD
            native.name = self._c_string(step.prop.op_name)
            native.node = self._c_string(step.name)
            native.in_data = self._add_value_blobs(step.in_data, arrays, arena)
            native.out_data = self._add_value_blobs(step.out_data, arrays, arena)
            native.aux = self._add_value_blobs(step.aux, arrays, arena)
            native.out_grad = self._add_value_blobs(step.out_grad, arrays, arena)
            native.in_grad = self._add_value_blobs(step.in_grad, arrays, arena)
            native.req = self.tables.reqs.size()
            for req in step.req:
                self.tables.reqs.push_back(req)
            native.context.n_in = len(step.in_data)
            native.context.n_out = len(step.out_data)
            native.context.n_aux = len(step.aux)
            if step in by_rows:
                _attach_row_set(arrays[by_rows[step]], shared, &native)
            self._add_step_resources(step, &native, i >= graph.n_forward)
            if step.cached is not None:
                native.cached = self._get_or_add_cached_group(step.cached, cached)
                native.cached.last = self.tables.steps.size()
            self.tables.steps.push_back(native)
        return 0

    cdef const char* _c_string(self, str text) except NULL:
        """Return `text` as a C string that lives as long as the tables."""
        cdef bytes encoded = text.encode()
        self._texts.append(encoded)
        return PyBytes_AS_STRING(encoded)

    cdef CachedStepGroup* _get_or_add_cached_group(self, group, dict known) except? NULL:
        """Return the CachedStepGroup of a group of steps; `known` has the records that exist."""
        cdef CachedStepGroup* cached
        index = known.get(group)
        if index is not None:
            return self.tables.cached[<size_t>index]
        known[group] = index = self.tables.cached.size()
        cached = new CachedStepGroup()
        cached.first = self.tables.steps.size()
        cached.state = NULL
        self.tables.cached.push_back(cached)
        if self.cached[index] is not None:
            cached.state = (<CachedResult>self.cached[index]).state
            hold_state(cached.state)
        return cached

    cdef size_t _add_value_blobs(self, list values, dict arrays, NDArrayBase arena) except? 0:
        cdef size_t first = self.tables.blobs.size()
        cdef NDArrayBase array
        cdef TBlob blob
        for value in values:
            memset(&blob, 0, sizeof(blob))
            if value is not None:
                blob.size = 1
                blob.ndim = len(value.shape)
                for i, n in enumerate(value.shape):
                    blob.shape[i] = n
                    blob.size *= n
                blob.dtype = dtype_flag(value.dtype)
                blob.dev_type, blob.dev_id = value.ctx.device_typeid, value.ctx.device_id
                root = value.root
                if root.kind == TEMP:
                    blob.data = <char*>arena.blob.data + <size_t>root.offset
                else:
                    array = arrays[root]
                    blob.data = array.blob.data
            self.tables.blobs.push_back(blob)
        return first

    cdef int _add_step_resources(self, step, NativeStep* native, bint in_backward) except -1:
        cdef Resource resource
        shapes = [v.shape for v in (step if step.origin is None else step.origin).in_data]
        prop = step.prop
        requests = (prop.backward_resource if native.backward else prop.forward_resource)(shapes)
        native.requested = self.tables.resources.size()
        native.context.n_requested = len(requests)
        native.random = self.n_random[0] + self.n_random[1]
        for index, kind in enumerate(requests):
            memset(&resource, 0, sizeof(resource))
            resource.type, resource.index = kind, index
            if kind == kRandom:
                self.n_random[in_backward] += 1
                self.draws_in_prediction |= prop.graph.draws_in_prediction(prop)
            self.tables.resources.push_back(resource)
        return 0

    cdef int _add_segments(self, graph, dict operators, dict arrays, NDArrayBase guard) except -1:
        """Cut the steps into segments: where Python runs or the host waits for a GPU, where the
        device changes, behind cached steps, between forward and backward, and where several
        processes need the first gradients early."""
        cdef Segment* segment
        cdef size_t n = len(graph.steps), first = 0, last, i, cached = 0
        spans, cuts = [], backward_cut_indices(graph)
        python = [operators[step.origin or step].runs_python for step in graph.steps]
        alone = [each or _waits_for_gpu(operators, step) for each, step in zip(python, graph.steps)]
        while first < n:
            last, is_plain = first + 1, graph.steps[first].cached is None
            if not alone[first]:
                while (last < n and last != <size_t>graph.n_forward and not alone[last]
                       and last - 1 not in cuts
                       and graph.steps[last].ctx == graph.steps[first].ctx
                       and (graph.steps[last].cached is None) == is_plain):
                    last += 1
            if first == <size_t>graph.n_forward:
                self.n_forward_segments = self.tables.segments.size()
            segment = new Segment()
            segment.first, segment.last, segment.cached_first = first, last, cached
            while cached < self.tables.cached.size() and self.tables.cached[cached].first < last:
                cached += 1
            segment.cached_last = cached
            segment.var, segment.rebinds = NULL, False
            for i in range(2):
                init_recording(&segment.recordings[i], True)
            self.tables.segments.push_back(segment)
            segment.var = new_variable()
            context = graph.steps[first].ctx
            segment.dev_type, segment.dev_id = context.device_typeid, context.device_id
            steps = graph.steps[first:last]
            segment.flags = kNormal
            recordable = not alone[first] and self._can_record_as_graph(operators, steps, segment)
            segment.recordings[0].never = segment.recordings[1].never = not recordable
            if python[first]:
                segment.flags = kPython
            elif segment.dev_type == kGPU:
                segment.flags = kInline  # the host only enqueues the work of a GPU
            elif 1e6 * sum([seconds(step) for step in steps]) <= MAX_INLINE_SEGMENT_US:
                segment.flags = kInline
            reached = find_accesses(steps)
            self._add_variables(segment, reached, spans, arrays)
            spans.append(reached)
            if guard is not None:
                segment.mutable_vars.push_back(guard.chunk.var)
            first = last
        if n == <size_t>graph.n_forward:
            self.n_forward_segments = self.tables.segments.size()
        return 0

    cdef bint _can_record_as_graph(self, dict operators, list steps, Segment* segment) except -1:
        """Return whether a CUDA graph of these steps does the same in each run: no step is skipped
        because its result is cached, and random steps read their numbers from memory that each
        replay sets."""
        cdef size_t i
        cdef int k
        cdef NativeStep* native
        segment.is_random = False
        for i in range(segment.first, segment.last):
            native = &self.tables.steps[i]
            if native.cached != NULL:
                return False
            for k in range(native.context.n_requested):
                if self.tables.resources[native.requested + k].type == kRandom:
                    segment.is_random = True
                    step = steps[i - segment.first]
                    if not operators[step.origin or step].replays_random:
                        return False
        return True

    cdef int _add_variables(self, Segment* segment, tuple reached, list earlier,
                            dict arrays) except -1:
        """Add the variables of the segment's arrays, and of earlier segments that share its
        memory."""
        cdef NDArrayBase array
        segment.mutable_vars.push_back(segment.var)
        seen = set()
        for value in reached[1]:
            array = arrays.get(value)
            if array is not None and <size_t>array.chunk.var not in seen:
                seen.add(<size_t>array.chunk.var)
                segment.mutable_vars.push_back(array.chunk.var)
        for value in reached[0]:
            array = arrays.get(value)
            if array is not None and <size_t>array.chunk.var not in seen:
                seen.add(<size_t>array.chunk.var)
                segment.const_vars.push_back(array.chunk.var)
        for i, other in enumerate(earlier):
            if accesses_conflict(other, reached):
                segment.const_vars.push_back(self.tables.segments[i].var)
        return 0

    def operator_of(self, step):
        """The Operator of a step."""
        return (<list>self.tables.keep)[OPERATORS_POSITION][step.origin or step]

    # --- profiling --------------------------------------------------------------------------------
    def set_profiled(self, bint on):
        """Measure each step of the runs pushed from now on, after earlier ones, from zero."""
        cdef size_t n = self.tables.steps.size()
        self.tables.spent.assign(n, 0)
        self.tables.calls.assign(n, 0)
        self.tables.profiled.store(on)

    def profile(self):  # nanoseconds and calls of each step
        """Return a list of (nanoseconds, calls) of every step since `set_profiled`."""
        return [(self.tables.spent[i], self.tables.calls[i])
                for i in range(self.tables.calls.size())]

    # --- running ----------------------------------------------------------------------------------
    def run_forward(self, bint is_train, sources=(), targets=()):
        """Push copies of the arrays `sources` into `targets`, and the forward segments; returns at
        once.

        Returns bool: False, and nothing is done, unless each source is an NDArray of its target's
        shape.
        """
        if not _copy_if_shapes_match(list(sources), list(targets)):
            return False
        self._push_segments(0, self.n_forward_segments, is_train)
        return True

    def run_backward(self, bint is_train=True):
        """Push the backward segments; returns at once."""
        self._push_segments(self.n_forward_segments, self.tables.segments.size(), is_train)

    cdef int _push_segments(self, size_t first, size_t last, bint is_train) except -1:
        cdef uint64_t seed = 0, stream = 0, left_out = 0  # left_out: a bit for each segment
        cdef bint here = True
        cdef size_t i, origin = HERE
        for i in range(first, last):
            if i < 64 and self._can_skip_segment(self.tables.segments[i]):
                left_out |= <uint64_t>1 << i
            else:
                here = here and would_run_now(self.tables.segments[i])
        if not here:
            origin = self.index_of_user_line()
        with nogil:
            if is_train or self.draws_in_prediction:
                stream = self.draw_streams_of_run(first >= self.n_forward_segments, &seed)
            for i in range(first, last):
                if i >= 64 or not left_out >> i & 1:
                    self.push_segment(i, is_train, seed, stream, origin)
        return 0

    cdef uint64_t draw_streams_of_run(self, bint backward, uint64_t* seed) noexcept nogil:
        cdef Segment* segment
        if self.n_random[backward] == 0:
            return 0
        segment = self.tables.segments[self.n_forward_segments if backward else 0]
        return draw_rng_streams(self.n_random[backward], segment.dev_type, segment.dev_id, seed) - (
            self.n_random[0] if backward else 0)

    cdef bint _can_skip_segment(self, const Segment* segment) noexcept:
        """Return whether a segment has only cached steps whose results are current."""
        cdef size_t i
        for i in range(segment.cached_first, segment.cached_last):
            if not is_current((<CachedResult>self.cached[i]).state):
                return False
        return segment.cached_first < segment.cached_last

    cdef int push_segment(self, size_t i, bint is_train, uint64_t seed, uint64_t stream,
                          size_t origin) except -1 nogil:
        cdef Segment* segment = self.tables.segments[i]
        cdef PlanRun* run = new_run(self.tables, segment, is_train, seed, stream, origin)
        return push_sync(_run_device_segment if segment.dev_type == kGPU else _run_segment, run,
                         free_run, segment.dev_type, segment.dev_id,
                         segment.const_vars.data(), <int>segment.const_vars.size(),
                         segment.mutable_vars.data(), <int>segment.mutable_vars.size(),
                         0, segment.flags, b"executor")

    cdef size_t index_of_user_line(self) except? 0:
        """Index, in `_origins`, of the user's source line that starts this run."""
        where = user_frame()
        index = self._origin_index.get(where)
        if index is None:
            index = self._origin_index[where] = len(self._origins)
            self._origins.append(where)
        return index


cdef PlanRun* new_run(Tables* tables, Segment* segment, bint is_train, uint64_t seed,
                      uint64_t stream, size_t origin) except NULL nogil:
    cdef PlanRun* run = <PlanRun*>malloc(sizeof(PlanRun))
    if run == NULL:
        with gil:
            raise OutOfMemoryError("no memory to push a run")
    tables.references.fetch_add(1)
    run.tables, run.segment, run.is_train, run.origin = tables, segment, is_train, origin
    run.seed, run.stream, run.current = seed, stream, segment.first
    return run


cdef bint _copy_if_shapes_match(list sources, list targets) except -1:
    """Push a copy of each source into its target. False, with nothing done, unless each source is
    an NDArray of its target's shape."""
    cdef NDArrayBase source, target
    if len(sources) != len(targets):
        return False
    for given, target in zip(sources, targets):
        if not isinstance(given, NDArrayBase):
            return False
        source = given
        if not same_shape(&source.blob, &target.blob):
            return False
    for source, target in zip(sources, targets):
        if source is not target:
            copy_into(source, target)
    return True


cdef set _shared_chunks(dict arrays):
    """Return the addresses of chunks that several of the arrays share."""
    cdef NDArrayBase array
    cdef set seen = set(), shared = set()
    for array in arrays.values():
        (shared if <size_t>array.chunk in seen else seen).add(<size_t>array.chunk)
    return shared


cdef int _attach_row_set(NDArrayBase array, shared, NativeStep* native) except -1:
    """Let a step that fills a gradient by rows record these, if no other array shares the
    memory."""
    if array.blob.dev_type == kCPU and <size_t>array.chunk not in shared:
        native.context.rows = nonzero_row_set(array)
        if native.context.rows != NULL:
            native.watched = array.chunk
    return 0


cdef bint _waits_for_gpu(dict operators, step) except -1:
    """Return whether the host waits for a GPU while it enqueues the step."""
    return operators[step.origin or step].waits(step.direction != FORWARD)


def arena_view(NDArrayBase arena, size_t offset, tuple shape, dtype):
    """The NDArray of `shape` and `dtype` that lies `offset` bytes into the arena."""
    cdef int64_t dims[8]
    cdef NDArrayBase view
    for i, n in enumerate(shape):
        dims[i] = n
    view = new_view(arena, dims, len(shape), offset)
    view.blob.dtype = dtype_flag(dtype)
    return view
