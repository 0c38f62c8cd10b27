# distutils: extra_compile_args = -Os
"""Copies through pinned memory, each GPU's thread that waits for them (contract in transfer.pxd).

A piece is taken, filled and given back; the event recorded behind its last use says when it may be
filled again. Large copies to a GPU land in memory beside the piece and are moved from there on the
GPU's stream, so they overlap with what it computes without asking what that reads. So do large
copies from memory of the caller's that is pinned; they land in one of two blocks that stay.
"""

from libc.stdlib cimport free, malloc
from libc.string cimport memcpy
from libcpp.mutex cimport mutex

from ..engine.native cimport (
    PyEval_SaveThread, PyGILState_Ensure, condition_variable, sleep_on, start_thread, thread_yield
)
from .._storage cimport Handle, alloc
from .._storage cimport free as storage_free
from .._typedefs cimport kCPU, kCPUPinned, kGPU
from ..kernels.movement.strided_copy cimport StridedCopy, copy_strided
from .driver cimport Machine, check, driver, enter, machines, new_event

from ..base.errors import CynetError, OutOfMemoryError

cdef extern from "Python.h":
    ctypedef struct PyObject:
        pass
    void PyErr_Fetch(PyObject** kind, PyObject** value, PyObject** trace)
    void PyErr_NormalizeException(PyObject** kind, PyObject** value, PyObject** trace)
    void Py_XDECREF(PyObject* o)

cdef enum:
    PIECES = 16
    PIECE_BYTES = 1 << 20
    DIRECT_BYTES = 1 << 16  # copies of at most this many bytes use the computing stream
    LANDINGS = 2
    LANDING_BYTES = 1 << 28  # larger copies use no landing

cdef struct StagingBuffer:
    bint taken
    bint used        # `done` has been recorded
    Handle pinned
    Handle landing   # memory on the GPU
    void* done       # event: the last copy is done
    void* arrived    # event: the bytes are in `landing`

cdef struct Landing:
    bint taken
    Handle memory    # memory on the GPU
    void* arrived    # event: the bytes are there
    void* left       # event: the bytes have been copied to their target

cdef struct Job:
    Job* next
    const void* source  # NULL: nothing to copy
    size_t nbytes
    StridedCopy what
    void* reached    # event: the stream has reached the job
    Finish finish
    void* arg

cdef cppclass Station:
    # `guard` guards all fields. It is never held while a thread waits for the GIL or for the GPU.
    mutex guard
    condition_variable wake
    StagingBuffer pieces[16]
    Landing landings[2]
    int turn         # the landing that was used last
    bint working     # the worker thread runs
    Job* first
    Job* last

cdef Station* _stations[64]
cdef mutex _stations_guard


cdef Station* _station_of(int dev_id) noexcept nogil:
    cdef Station* station
    cdef int i
    _stations_guard.lock()
    station = _stations[dev_id]
    if station == NULL:
        station = new Station()  # never freed: threads use the station until the process ends
        for i in range(PIECES):
            station.pieces[i].taken = station.pieces[i].used = False
            station.pieces[i].pinned.ptr = station.pieces[i].landing.ptr = NULL
            station.pieces[i].done = station.pieces[i].arrived = NULL
        for i in range(LANDINGS):
            station.landings[i].taken = False
            station.landings[i].memory.ptr = NULL
            station.landings[i].memory.capacity = 0
            station.landings[i].arrived = station.landings[i].left = NULL
        station.turn = 0
        station.working = False
        station.first = station.last = NULL
        _stations[dev_id] = station
    _stations_guard.unlock()
    return station


# ---- pieces

cdef StagingBuffer* _take_buffer(int dev_id) except NULL nogil:
    """Take a free buffer and wait until its last copy is done. The GPU's context is current."""
    cdef Station* station = _station_of(dev_id)
    cdef StagingBuffer* found = NULL
    cdef int i
    while found == NULL:
        station.guard.lock()
        for i in range(PIECES):
            if not station.pieces[i].taken:
                found = &station.pieces[i]
                found.taken = True
                break
        station.guard.unlock()
        if found == NULL:
            thread_yield()
    if _prepare_buffer(dev_id, found) == -1:
        _give_back(dev_id, found)
        return NULL
    return found


cdef int _prepare_checked(int dev_id, StagingBuffer* piece) except -1 nogil:
    if piece.done == NULL:
        piece.done = new_event(dev_id)
    if piece.arrived == NULL:
        piece.arrived = new_event(dev_id)
    if piece.landing.ptr == NULL:
        alloc(PIECE_BYTES, kGPU, dev_id, &piece.landing)
    if piece.pinned.ptr == NULL:
        alloc(PIECE_BYTES, kCPUPinned, 0, &piece.pinned)
    if piece.used:
        check(driver.event_synchronize(piece.done), dev_id, b"copying")
    return 0


cdef inline int _prepare_buffer(int dev_id, StagingBuffer* piece) noexcept nogil:
    # The cast keeps the pending exception pending.
    return (<int (*)(int, StagingBuffer*) noexcept nogil>_prepare_checked)(dev_id, piece)


cdef void _give_back(int dev_id, StagingBuffer* piece) noexcept nogil:
    cdef Station* station = _station_of(dev_id)
    station.guard.lock()
    piece.taken = False
    station.guard.unlock()


# ---- copies

cdef int upload(int dev_id, void* to, const void* source, size_t nbytes) except -1 nogil:
    cdef size_t at = 0, n
    cdef StagingBuffer* piece
    enter(dev_id, NULL)
    while at < nbytes:
        n = min(nbytes - at, <size_t>PIECE_BYTES)
        piece = _take_buffer(dev_id)
        memcpy(piece.pinned.ptr, <const char*>source + at, n)
        try:
            _send_piece(dev_id, piece, <size_t>to + at, n, nbytes <= DIRECT_BYTES)
        finally:
            _give_back(dev_id, piece)
        at += n
    return 0


cdef int _send_piece(int dev_id, StagingBuffer* piece, size_t to, size_t n,
                     bint direct) except -1 nogil:
    cdef Machine* machine = &machines[dev_id]
    if direct:
        check(driver.to_device(to, piece.pinned.ptr, n, machine.stream), dev_id, b"copying to it")
    else:
        check(driver.to_device(<size_t>piece.landing.ptr, piece.pinned.ptr, n, machine.in_stream),
              dev_id, b"copying to it")
        check(driver.event_record(piece.arrived, machine.in_stream), dev_id, b"copying to it")
        check(driver.stream_wait(machine.stream, piece.arrived, 0), dev_id, b"copying to it")
        check(driver.on_device(to, <size_t>piece.landing.ptr, n, machine.stream), dev_id,
              b"copying to it")
    check(driver.event_record(piece.done, machine.stream), dev_id, b"copying to it")
    piece.used = True
    return 0


cdef void* upload_pinned(int dev_id, void* to, const void* source,
                         size_t nbytes) except NULL nogil:
    cdef Machine* machine
    cdef Landing* landing
    enter(dev_id, NULL)
    machine = &machines[dev_id]
    if DIRECT_BYTES < nbytes <= LANDING_BYTES:
        landing = _take_landing(dev_id)
        try:
            if _ensure_capacity(dev_id, landing, nbytes):
                _land_piece(dev_id, landing, <size_t>to, source, nbytes)
                return _record_event(dev_id, machine.in_stream)
        finally:
            _leave_landing(dev_id, landing)
    check(driver.to_device(<size_t>to, source, nbytes, machine.stream), dev_id, b"copying to it")
    return _record_event(dev_id, machine.stream)


cdef Landing* _take_landing(int dev_id) noexcept nogil:
    """Take the least recently used landing; threads hold one only while they queue a copy."""
    cdef Station* station = _station_of(dev_id)
    cdef Landing* found = NULL
    while found == NULL:
        station.guard.lock()
        station.turn = (station.turn + 1) % LANDINGS
        if not station.landings[station.turn].taken:
            found = &station.landings[station.turn]
            found.taken = True
        station.guard.unlock()
        if found == NULL:
            thread_yield()
    return found


cdef void _leave_landing(int dev_id, Landing* landing) noexcept nogil:
    cdef Station* station = _station_of(dev_id)
    station.guard.lock()
    landing.taken = False
    station.guard.unlock()


cdef bint _ensure_capacity(int dev_id, Landing* landing, size_t nbytes) except -1 nogil:
    """Make a landing hold `nbytes`; False if the GPU has too little memory."""
    if landing.arrived == NULL:
        landing.arrived = new_event(dev_id)
    if landing.left == NULL:
        landing.left = new_event(dev_id)
    if landing.memory.ptr != NULL and landing.memory.capacity >= nbytes:
        return True
    storage_free(&landing.memory)  # its next owner's work runs after the event `left`
    if not _have_memory(dev_id, landing, nbytes):
        return False
    # Work queued before may still use the memory.
    check(driver.event_record(landing.left, machines[dev_id].stream), dev_id, b"copying to it")
    return True


cdef bint _have_memory(int dev_id, Landing* landing, size_t nbytes) except -1 with gil:
    try:
        alloc(nbytes, kGPU, dev_id, &landing.memory)
    except MemoryError:
        landing.memory.ptr = NULL
        return False
    return True


cdef int _land_piece(int dev_id, Landing* landing, size_t to, const void* source,
                     size_t nbytes) except -1 nogil:
    cdef Machine* machine = &machines[dev_id]
    cdef size_t there = <size_t>landing.memory.ptr
    check(driver.stream_wait(machine.in_stream, landing.left, 0), dev_id, b"copying to it")
    check(driver.to_device(there, source, nbytes, machine.in_stream), dev_id, b"copying to it")
    check(driver.event_record(landing.arrived, machine.in_stream), dev_id, b"copying to it")
    check(driver.stream_wait(machine.stream, landing.arrived, 0), dev_id, b"copying to it")
    check(driver.on_device(to, there, nbytes, machine.stream), dev_id, b"copying to it")
    check(driver.event_record(landing.left, machine.stream), dev_id, b"copying to it")
    return 0


cdef int download(int dev_id, void* to, const void* source, size_t nbytes) except -1 nogil:
    cdef void* reached
    enter(dev_id, NULL)
    reached = new_event(dev_id)
    try:
        check(driver.event_record(reached, machines[dev_id].stream), dev_id, b"copying from it")
        _fetch_data(dev_id, to, source, nbytes, reached)
    finally:
        driver.event_destroy(reached)
    return 0


cdef int _fetch_data(int dev_id, void* to, const void* source, size_t nbytes,
                     void* reached) except -1 nogil:
    """Copy data to the host after the event `reached`; two pieces are in flight at a time."""
    cdef Machine* machine = &machines[dev_id]
    cdef StagingBuffer* pieces[2]
    cdef size_t sent = 0, got = 0, n
    cdef int i = 0
    check(driver.stream_wait(machine.out_stream, reached, 0), dev_id, b"copying from it")
    pieces[0] = pieces[1] = NULL
    try:
        while got < nbytes:
            while sent < nbytes and pieces[i] == NULL:
                pieces[i] = _take_buffer(dev_id)
                n = min(nbytes - sent, <size_t>PIECE_BYTES)
                check(driver.to_host(pieces[i].pinned.ptr, <size_t>source + sent, n,
                                     machine.out_stream), dev_id, b"copying from it")
                check(driver.event_record(pieces[i].done, machine.out_stream), dev_id,
                      b"copying from it")
                pieces[i].used = True
                sent += n
                i ^= 1
            if pieces[i] == NULL:
                i ^= 1  # the last piece, if their count is odd
            check(driver.event_synchronize(pieces[i].done), dev_id, b"work on it")
            n = min(nbytes - got, <size_t>PIECE_BYTES)
            memcpy(<char*>to + got, pieces[i].pinned.ptr, n)
            got += n
            _give_back(dev_id, pieces[i])
            pieces[i] = NULL
    finally:
        for i in range(2):
            if pieces[i] != NULL:
                _give_back(dev_id, pieces[i])
    return 0


cdef int move(int dev_id, void* to, const void* source, size_t nbytes) except -1 nogil:
    enter(dev_id, NULL)
    check(driver.on_device(<size_t>to, <size_t>source, nbytes, machines[dev_id].stream), dev_id,
          b"a copy")
    return 0


cdef int copy_between_devices(int to_id, void* to, int from_id, const void* source,
                              size_t nbytes) except -1 nogil:
    cdef Machine* target
    cdef Machine* origin
    cdef void* ready = NULL
    cdef void* done = NULL
    enter(to_id, NULL)
    target = &machines[to_id]
    ready = new_event(to_id)
    try:
        check(driver.event_record(ready, target.stream), to_id, b"a copy to it")
        enter(from_id, NULL)
        origin = &machines[from_id]
        done = new_event(from_id)
        check(driver.stream_wait(origin.stream, ready, 0), from_id, b"a copy from it")
        check(driver.between(<size_t>to, target.context, <size_t>source, origin.context, nbytes,
                             origin.stream), from_id, b"a copy from it")
        check(driver.event_record(done, origin.stream), from_id, b"a copy from it")
        enter(to_id, NULL)
        check(driver.stream_wait(target.stream, done, 0), to_id, b"a copy to it")
    finally:
        driver.event_destroy(ready)
        if done != NULL:
            driver.event_destroy(done)
    return 0


cdef int fill(int dev_id, void* to, unsigned value, int width, size_t nbytes) except -1 nogil:
    cdef void* stream
    cdef int code
    enter(dev_id, &stream)
    if width == 4:
        code = driver.fill32(<size_t>to, value, nbytes // 4, stream)
    elif width == 2:
        code = driver.fill16(<size_t>to, <unsigned short>value, nbytes // 2, stream)
    else:
        code = driver.fill8(<size_t>to, <unsigned char>value, nbytes, stream)
    check(code, dev_id, b"filling an array")
    return 0


# ---- the thread that waits for downloads

cdef int download_later(int dev_id, const void* source, size_t nbytes, const StridedCopy* what,
                        Finish finish, void* arg) except -1 nogil:
    cdef void* reached
    cdef Job* job
    enter(dev_id, NULL)
    reached = _record_event(dev_id, machines[dev_id].stream)
    job = _make_job(reached, finish, arg)
    job.source, job.nbytes, job.what = source, nbytes, what[0]
    _queue_job(dev_id, job)
    return 0


cdef int download_pinned(int dev_id, void* to, const void* source, size_t nbytes, Finish finish,
                         void* arg) except -1 nogil:
    cdef Machine* machine
    cdef void* reached
    enter(dev_id, NULL)
    machine = &machines[dev_id]
    reached = _record_event(dev_id, machine.stream)
    try:
        check(driver.stream_wait(machine.out_stream, reached, 0), dev_id, b"copying from it")
        check(driver.to_host(to, <size_t>source, nbytes, machine.out_stream), dev_id,
              b"copying from it")
    finally:
        driver.event_destroy(reached)
    return call_later(dev_id, _record_event(dev_id, machine.out_stream), finish, arg)


cdef int call_later(int dev_id, void* reached, Finish finish, void* arg) except -1 nogil:
    cdef Job* job = _make_job(reached, finish, arg)
    job.source = NULL
    _queue_job(dev_id, job)
    return 0


cdef void* _record_event(int dev_id, void* stream) except NULL nogil:
    """A new event, recorded on the stream."""
    cdef void* event = new_event(dev_id)
    cdef int code = driver.event_record(event, stream)
    if code != 0:
        driver.event_destroy(event)
        check(code, dev_id, b"marking how far it has come")
    return event


cdef Job* _make_job(void* reached, Finish finish, void* arg) except NULL nogil:
    """Allocate a job. If memory is exhausted, wait for its event and destroy that."""
    cdef Job* job = <Job*>malloc(sizeof(Job))
    if job == NULL:
        driver.event_synchronize(reached)
        driver.event_destroy(reached)
        _no_memory()
    job.next = NULL
    job.reached, job.finish, job.arg = reached, finish, arg
    return job


cdef void _queue_job(int dev_id, Job* job) noexcept nogil:
    cdef Station* station = _station_of(dev_id)
    cdef bint start
    station.guard.lock()
    if station.last == NULL:
        station.first = job
    else:
        station.last.next = job
    station.last = job
    start = not station.working
    station.working = True
    station.wake.notify_one()
    station.guard.unlock()
    if start and not start_thread(_run_jobs, <void*><size_t>dev_id):
        _work_off(dev_id, False)  # no thread could be created: run the jobs here


cdef int _no_memory() except -1 with gil:
    raise OutOfMemoryError("no memory for a copy")


cdef void _run_jobs(void* arg) noexcept nogil:
    # The thread state lasts, so an exception set without the GIL stays.
    PyGILState_Ensure()
    PyEval_SaveThread()
    _work_off(<int><size_t>arg, True)


cdef void _work_off(int dev_id, bint stay) noexcept nogil:
    """Run the queued jobs in order: until none is left, or with `stay` for ever."""
    cdef Station* station = _station_of(dev_id)
    cdef Job* job
    while True:
        station.guard.lock()
        while station.first == NULL and stay:
            sleep_on(&station.wake, &station.guard, -1)
        job = station.first
        if job == NULL:
            station.working = False
            station.guard.unlock()
            return
        station.first = job.next
        if station.first == NULL:
            station.last = NULL
        station.guard.unlock()
        # a raised exception stays pending
        if (<int (*)(int, Job*) noexcept nogil>_run_job)(dev_id, job) == -1:
            _fail_job(job)
        else:
            job.finish(job.arg, NULL)
        free(job)


cdef int _run_job(int dev_id, Job* job) except -1 nogil:
    cdef Handle buffer
    buffer.ptr = NULL
    enter(dev_id, NULL)
    try:
        if job.source == NULL:
            return check(driver.event_synchronize(job.reached), dev_id, b"work on it")
        alloc(job.nbytes, kCPU, 0, &buffer)
        _fetch_data(dev_id, buffer.ptr, job.source, job.nbytes, job.reached)
        job.what.src = buffer.ptr
        copy_strided(&job.what, True)
    finally:
        storage_free(&buffer)
        driver.event_destroy(job.reached)
    return 0


cdef void _fail_job(Job* job) noexcept with gil:
    cdef PyObject* kind = NULL
    cdef PyObject* value = NULL
    cdef PyObject* trace = NULL
    PyErr_Fetch(&kind, &value, &trace)
    PyErr_NormalizeException(&kind, &value, &trace)
    error = <object>value if value != NULL else CynetError("a copy failed without saying why")
    Py_XDECREF(kind)
    Py_XDECREF(value)
    Py_XDECREF(trace)
    job.finish(job.arg, <void*>error)


# ---- from Python

def copy_in(int dev_id, size_t address, const unsigned char[::1] data):
    """Copy bytes to a GPU's memory, before all work queued on its stream from now on."""
    if data.shape[0]:
        with nogil:
            upload(dev_id, <void*>address, &data[0], data.shape[0])
