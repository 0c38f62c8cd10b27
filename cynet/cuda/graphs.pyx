"""Recording and replaying (contract in graphs.pxd)."""

from libcpp.atomic cimport atomic

from .._resource cimport keep_device_space
from .._storage cimport free
from .driver cimport Machine, check, driver, machines

from .. import config

cdef enum:
    PLAIN_RUNS = 1
    RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED: memory may be allocated meanwhile

cdef atomic[int] _held[64]  # the side stream of each GPU is somebody's
cdef bint _switched_on = config.get("CYNET_CUDA_GRAPHS")
cdef long long _recorded = 0
cdef long long _replayed = 0


cdef int begin(Recording* recording, int dev_id, void** stream) except -1 nogil:
    cdef Machine* machine = &machines[dev_id]
    cdef int how
    stream[0] = machine.stream
    if recording.executable != NULL:
        return kReplay
    if recording.never or not _switched_on:
        return kPlain
    if recording.runs < PLAIN_RUNS:
        recording.runs += 1
        return kPlain
    if _held[dev_id].exchange(1):
        return kPlain  # another one is being recorded: next time
    how = kWarm if recording.runs == PLAIN_RUNS else kRecord
    if how == kRecord:
        if driver.begin_capture(machine.side_stream, RELAXED) != 0:
            recording.never = True
            _held[dev_id].store(0)
            return kPlain
        keep_device_space(&recording.spaces)
    elif not _follow(dev_id, machine.stream, machine.side_stream):
        recording.never = True
        _held[dev_id].store(0)
        return kPlain
    stream[0] = machine.side_stream
    return how


cdef bint _follow(int dev_id, void* first, void* second) noexcept nogil:
    """What is put on `second` from now on waits for what is on `first`."""
    cdef void* event = NULL
    cdef bint good
    if driver.event_create(&event, 2) != 0:
        return False
    good = driver.event_record(event, first) == 0 and driver.stream_wait(second, event, 0) == 0
    driver.event_destroy(event)
    return good


cdef int finish(Recording* recording, int dev_id, int how, bint failed) noexcept nogil:
    global _recorded
    cdef Machine* machine = &machines[dev_id]
    cdef void* graph = NULL
    cdef int code
    if how == kWarm:
        recording.runs += 1
        if not _follow(dev_id, machine.side_stream, machine.stream):
            driver.stream_synchronize(machine.side_stream)
        if failed:
            recording.never = True
        _held[dev_id].store(0)
        return 0
    keep_device_space(NULL)
    code = driver.end_capture(machine.side_stream, &graph)
    if code == 0 and graph != NULL and not failed:
        code = driver.instantiate(&recording.executable, graph, 0)
        if code != 0:
            recording.executable = NULL
    if graph != NULL:
        driver.graph_destroy(graph)
    _held[dev_id].store(0)
    if recording.executable == NULL:
        recording.never = True
        _free_spaces(recording)
        return 1
    _recorded += 1
    return 0


cdef int replay(Recording* recording, int dev_id) except -1 nogil:
    global _replayed
    _replayed += 1
    return check(driver.graph_launch(recording.executable, machines[dev_id].stream), dev_id,
                 b"replaying a graph")


cdef void _free_spaces(Recording* recording) noexcept nogil:
    cdef size_t i
    for i in range(recording.spaces.size()):
        free(&recording.spaces[i])
    recording.spaces.clear()


cdef void discard(Recording* recording, int dev_id) noexcept nogil:
    if recording.executable != NULL:
        driver.set_current(machines[dev_id].context)
        driver.stream_synchronize(machines[dev_id].stream)
        driver.executable_destroy(recording.executable)
        recording.executable = NULL
    _free_spaces(recording)


def counts():
    """(graphs recorded, graphs replayed) so far, for tests."""
    return _recorded, _replayed


def switch(bint on):
    """Record graphs from now on, or do not; returns what it was."""
    global _switched_on
    before = _switched_on
    _switched_on = on
    return before
