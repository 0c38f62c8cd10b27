"""Recording and replaying of CUDA graphs (contract in graphs.pxd)."""

from libc.string cimport memcmp, memset
from libcpp.atomic cimport atomic
from libcpp.mutex cimport mutex
from libcpp.vector cimport vector

from .._resource cimport RetainedSpace, retain_device_workspace
from .._storage cimport Handle, alloc, free
from .._typedefs cimport RunContext, kGPU
from .driver cimport OpenGpu, check, driver, gpus
from .transfer cimport upload

import atexit

from ..base import config

cdef extern from "Python.h":
    void PyErr_Clear()

cdef extern from *:
    """
    static thread_local void* cynet_random_base = nullptr;
    """
    void* _random_base "cynet_random_base"

cdef enum Action:  # what a run of a Recording does
    kPlain = 0     # run the function on the computing stream
    kWarm = 1      # run the function on the side stream
    kRecord = 2    # record the function on the side stream; the GPU runs nothing yet
    kReplay = 3    # launch the graph instead

cdef enum:
    PLAIN_RUNS = 1  # runs before the warm-up run that precedes recording
    MAX_ADDRESSES = 64  # most recordings of one function
    MAX_UNUSED_RUNS = 256          # runs for which an unused recording is not evicted
    CAPTURE_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED: memory may be allocated meanwhile

ctypedef int (*QuietPut)(void* arg, RunContext* run_ctx, void* numbers) noexcept nogil
ctypedef int (*QuietRecord)(Recording* recording, RunContext* run_ctx, QueueFn put, void* arg,
                            size_t nbytes) noexcept nogil

cdef atomic[bint] _is_exiting  # pycuda destroys the streams at exit, the driver the rest
cdef atomic[int] _side_stream_taken[64]  # 1: the side stream of the GPU is in use
# buffers shared by all Recordings of each GPU; only a recording thread adds to it
cdef RetainedSpace _shared[64]
cdef long _users[64]          # count of nonempty Recordings of each GPU
cdef mutex _users_lock
cdef bint _is_enabled = config.get("CYNET_CUDA_GRAPHS")  # whether functions become CUDA graphs
cdef long long _recorded_graphs = 0  # number since the start, for tests
cdef long long _replay_count = 0  # number since the start, for tests


cdef void init_recording(Recording* recording, bint never) noexcept nogil:
    recording.holders.store(1)
    recording.runs, recording.never = 0, never
    recording.executable = recording.numbers = NULL
    recording.spaces = &recording.own
    memset(recording.own.newest, 0, sizeof(recording.own.newest))


cdef Recording* find_recording(Recordings* recordings, vector[void*]* at,
                               int dev_id) noexcept nogil:
    """May evict the least recently used recording."""
    cdef AddressedRecording* each
    cdef size_t i, oldest = 0
    if recordings.known.empty():
        recordings.runs = 0
        _count_memory_user(dev_id, 1)
    recordings.runs += 1
    for i in range(recordings.known.size()):
        each = recordings.known[i]
        if each.at == at[0]:
            each.used = recordings.runs
            return &each.recording
        if each.used < recordings.known[oldest].used:
            oldest = i
    if recordings.known.size() < MAX_ADDRESSES:
        oldest = recordings.known.size()
        recordings.known.push_back(new AddressedRecording())
    else:
        each = recordings.known[oldest]
        if each.used + MAX_UNUSED_RUNS > recordings.runs:  # else long cycles never hit
            return NULL
        release(&each.recording, dev_id)
    each = recordings.known[oldest]
    init_recording(&each.recording, False)
    each.recording.spaces = &_shared[dev_id]
    each.at, each.used = at[0], recordings.runs
    return &each.recording


cdef void drop_graphs(Recordings* recordings, int dev_id) noexcept nogil:
    cdef size_t i
    if recordings.known.empty():
        return
    for i in range(recordings.known.size()):
        release(&recordings.known[i].recording, dev_id)
        del recordings.known[i]
    recordings.known.clear()
    _count_memory_user(dev_id, -1)


cdef void _count_memory_user(int dev_id, int change) noexcept nogil:
    """Change the count of a GPU's users of shared memory, which is freed at 0."""
    _users_lock.lock()
    _users[dev_id] += change
    if _users[dev_id] == 0:
        _free_spaces(&_shared[dev_id])
    _users_lock.unlock()


cdef int run(Recording* recording, RunContext* run_ctx, QueueFn put, void* arg, const void* numbers,
             size_t nbytes) except -1 nogil:
    cdef int dev_id = run_ctx.dev_id
    cdef int action = _choose_action(recording, dev_id, &run_ctx.stream)
    cdef bint failed
    if action == kPlain:
        return put(arg, run_ctx, NULL)
    if action == kReplay:
        return _replay_graph(recording, dev_id, numbers, nbytes)
    # the casts keep a pending exception pending
    if action == kWarm:
        failed = (<QuietPut>put)(arg, run_ctx, NULL) == -1
        _finish_warm_run(recording, dev_id, failed)
        return -1 if failed else 0
    failed = (<QuietRecord>_record_graph)(recording, run_ctx, put, arg, nbytes) == -1
    if failed:
        # work that cannot be recorded may still run directly; if not, that call reports it
        with gil:
            PyErr_Clear()
    if _finish_recording(recording, dev_id, failed):
        return _replay_graph(recording, dev_id, numbers, nbytes)
    run_ctx.stream = gpus[dev_id].stream
    return put(arg, run_ctx, NULL)


cdef int _choose_action(Recording* recording, int dev_id, void** stream) noexcept nogil:
    """Return the Action for this run of the function, and store its stream in `stream`. kWarm and
    kRecord hold the GPU's side stream until they are finished."""
    cdef OpenGpu* gpu = &gpus[dev_id]
    cdef int action
    stream[0] = gpu.stream
    if recording.executable != NULL:
        return kReplay
    if recording.never or not _is_enabled:
        return kPlain
    if recording.runs < PLAIN_RUNS:
        recording.runs += 1
        return kPlain
    if _side_stream_taken[dev_id].exchange(1):
        return kPlain  # another function is being recorded: try next time
    action = kWarm if recording.runs == PLAIN_RUNS else kRecord
    if action == kRecord:
        if driver.begin_capture(gpu.side_stream, CAPTURE_RELAXED) != 0:
            recording.never = True
            _side_stream_taken[dev_id].store(0)
            return kPlain
        retain_device_workspace(recording.spaces)
    elif not _make_stream_wait(dev_id, gpu.stream, gpu.side_stream):
        recording.never = True
        _side_stream_taken[dev_id].store(0)
        return kPlain
    stream[0] = gpu.side_stream
    return action


cdef bint _make_stream_wait(int dev_id, void* first, void* second) noexcept nogil:
    """Make later work on stream `second` wait for the work queued on `first`."""
    cdef void* event = NULL
    cdef bint good
    if driver.event_create(&event, 2) != 0:
        return False
    good = driver.event_record(event, first) == 0 and driver.stream_wait(second, event, 0) == 0
    driver.event_destroy(event)
    return good


cdef void _finish_warm_run(Recording* recording, int dev_id, bint failed) noexcept nogil:
    cdef OpenGpu* gpu = &gpus[dev_id]
    recording.runs += 1
    if not _make_stream_wait(dev_id, gpu.side_stream, gpu.stream):
        driver.stream_synchronize(gpu.side_stream)
    if failed:
        recording.never = True
    _side_stream_taken[dev_id].store(0)


cdef int _record_graph(Recording* recording, RunContext* run_ctx, QueueFn put, void* arg,
                       size_t nbytes) except -1 nogil:
    cdef Handle handle
    if nbytes:
        alloc(nbytes, kGPU, run_ctx.dev_id, &handle)
        recording.own.handles.push_back(handle)
        recording.numbers = handle.ptr
        recording.sent.clear()
    return put(arg, run_ctx, recording.numbers)


cdef bint _finish_recording(Recording* recording, int dev_id, bint failed) noexcept nogil:
    """End a recording; False if the function cannot become a graph."""
    global _recorded_graphs
    cdef OpenGpu* gpu = &gpus[dev_id]
    cdef void* graph = NULL
    cdef int code
    retain_device_workspace(NULL)
    code = driver.end_capture(gpu.side_stream, &graph)
    if code == 0 and graph != NULL and not failed:
        code = driver.instantiate(&recording.executable, graph, 0)
        if code != 0:
            recording.executable = NULL
    if graph != NULL:
        driver.graph_destroy(graph)
    _side_stream_taken[dev_id].store(0)
    if recording.executable == NULL:
        recording.never = True
        _free_spaces(&recording.own)
        recording.numbers = NULL
        return False
    _recorded_graphs += 1
    return True


cdef int _replay_graph(Recording* recording, int dev_id, const void* numbers,
                       size_t nbytes) except -1 nogil:
    """Queue a replay behind a copy of `numbers`, which earlier replays thus do not read."""
    global _replay_count
    cdef const char* given = <const char*>numbers
    if nbytes and (recording.sent.size() != nbytes
                   or memcmp(recording.sent.data(), given, nbytes) != 0):
        recording.sent.clear()
        upload(dev_id, recording.numbers, given, nbytes)
        recording.sent.assign(given, given + nbytes)
    _replay_count += 1
    return check(driver.graph_launch(recording.executable, gpus[dev_id].stream), dev_id,
                 b"replaying a graph")


cdef void _free_spaces(RetainedSpace* spaces) noexcept nogil:
    cdef size_t i
    for i in range(spaces.handles.size()):
        free(&spaces.handles[i])
    spaces.handles.clear()
    memset(spaces.newest, 0, sizeof(spaces.newest))


cdef void hold_recording(Recording* recording) noexcept nogil:
    recording.holders.fetch_add(1)


cdef bint release(Recording* recording, int dev_id) noexcept nogil:
    if recording.holders.fetch_sub(1) != 1:
        return False
    if recording.executable != NULL and not _is_exiting.load():
        driver.set_current(gpus[dev_id].context)
        driver.stream_synchronize(gpus[dev_id].stream)
        driver.executable_destroy(recording.executable)
    recording.executable = NULL
    _free_spaces(&recording.own)
    recording.numbers = NULL
    return True


cdef void* random_base() noexcept nogil:  # address of a replay's seed and first stream
    return _random_base


cdef void set_random_base(void* base) noexcept nogil:  # of this thread's launches
    global _random_base
    _random_base = base


def _note_process_exit():
    _is_exiting.store(True)


def graph_counts():
    """Return the counts of graphs recorded and of replays, for tests."""
    return _recorded_graphs, _replay_count


def switch_recording(bint on):
    """Turn recording of graphs on or off; returns the old value."""
    global _is_enabled
    before = _is_enabled
    _is_enabled = on
    return before


_is_exiting.store(False)
atexit.register(_note_process_exit)
