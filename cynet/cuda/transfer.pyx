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
from .driver cimport OpenGpu, check, driver, enter_gpu, gpus, new_event

from ..base.errors import CynetError, OutOfMemoryError

cdef extern from "Python.h":
    ctypedef struct PyObject:
        pass
    void PyErr_Fetch(PyObject** kind, PyObject** value, PyObject** trace)
    void PyErr_NormalizeException(PyObject** kind, PyObject** value, PyObject** trace)
    void Py_XDECREF(PyObject* o)

cdef enum:
    STAGING_BUFFERS = 16  # number of staging buffers of a GPU
    STAGING_BYTES = 1 << 20  # size of a staging buffer
    DIRECT_BYTES = 1 << 16  # copies of at most this many bytes use the computing stream
    UPLOAD_BUFFERS = 2  # number of upload buffers of a GPU
    MAX_UPLOAD_BYTES = 1 << 28  # larger copies use no buffer

cdef struct StagingBuffer:  # pinned and GPU memory for one piece of a copy
    bint taken
    bint used        # `done` has been recorded
    Handle pinned
    Handle on_gpu    # memory on the GPU
    void* done       # event: the last copy is done
    void* arrived    # event: the bytes are in `on_gpu`

cdef struct UploadBuffer:  # GPU memory that an upload passes through
    bint taken
    Handle memory    # memory on the GPU
    void* arrived    # event: the bytes are there
    void* left       # event: the bytes have been copied to their target

cdef struct GpuJob:  # a copy to the host or a callback, after an event
    GpuJob* next
    const void* source  # NULL: nothing to copy
    size_t nbytes
    StridedCopy what
    void* reached    # event: the stream has reached the job
    Finish finish
    void* arg

cdef cppclass TransferState:
    # `guard` guards all fields. It is never held while a thread waits for the GIL or for the GPU.
    mutex guard
    condition_variable wake
    StagingBuffer pieces[16]
    UploadBuffer buffers[2]
    int turn         # the buffer that was used last
    bint working     # the worker thread runs
    GpuJob* first
    GpuJob* last

cdef TransferState* _states[64]
cdef mutex _states_guard


cdef TransferState* _transfer_state(int dev_id) noexcept nogil:
    cdef TransferState* state
    cdef int i
    _states_guard.lock()
    state = _states[dev_id]
    if state == NULL:
        state = new TransferState()  # never freed: threads use the state until the process ends
        for i in range(STAGING_BUFFERS):
            state.pieces[i].taken = state.pieces[i].used = False
            state.pieces[i].pinned.ptr = state.pieces[i].on_gpu.ptr = NULL
            state.pieces[i].done = state.pieces[i].arrived = NULL
        for i in range(UPLOAD_BUFFERS):
            state.buffers[i].taken = False
            state.buffers[i].memory.ptr = NULL
            state.buffers[i].memory.capacity = 0
            state.buffers[i].arrived = state.buffers[i].left = NULL
        state.turn = 0
        state.working = False
        state.first = state.last = NULL
        _states[dev_id] = state
    _states_guard.unlock()
    return state


# ---- pieces

cdef StagingBuffer* _take_staging_buffer(int dev_id) except NULL nogil:
    """Take a free buffer and wait until its last copy is done. The GPU's context is current."""
    cdef TransferState* state = _transfer_state(dev_id)
    cdef StagingBuffer* found = NULL
    cdef int i
    while found == NULL:
        state.guard.lock()
        for i in range(STAGING_BUFFERS):
            if not state.pieces[i].taken:
                found = &state.pieces[i]
                found.taken = True
                break
        state.guard.unlock()
        if found == NULL:
            thread_yield()
    if _try_prepare_staging(dev_id, found) == -1:
        _free_staging_buffer(dev_id, found)
        return NULL
    return found


cdef int _prepare_staging(int dev_id, StagingBuffer* piece) except -1 nogil:
    if piece.done == NULL:
        piece.done = new_event(dev_id)
    if piece.arrived == NULL:
        piece.arrived = new_event(dev_id)
    if piece.on_gpu.ptr == NULL:
        alloc(STAGING_BYTES, kGPU, dev_id, &piece.on_gpu)
    if piece.pinned.ptr == NULL:
        alloc(STAGING_BYTES, kCPUPinned, 0, &piece.pinned)
    if piece.used:
        check(driver.event_synchronize(piece.done), dev_id, b"copying")
    return 0


cdef inline int _try_prepare_staging(int dev_id, StagingBuffer* piece) noexcept nogil:
    # The cast keeps the pending exception pending.
    return (<int (*)(int, StagingBuffer*) noexcept nogil>_prepare_staging)(dev_id, piece)


cdef void _free_staging_buffer(int dev_id, StagingBuffer* piece) noexcept nogil:
    cdef TransferState* state = _transfer_state(dev_id)
    state.guard.lock()
    piece.taken = False
    state.guard.unlock()


# ---- copies

cdef int upload(int dev_id, void* to, const void* source, size_t nbytes) except -1 nogil:
    cdef size_t at = 0, n
    cdef StagingBuffer* piece
    enter_gpu(dev_id, NULL)
    while at < nbytes:
        n = min(nbytes - at, <size_t>STAGING_BYTES)
        piece = _take_staging_buffer(dev_id)
        memcpy(piece.pinned.ptr, <const char*>source + at, n)
        try:
            _send_staging_buffer(dev_id, piece, <size_t>to + at, n, nbytes <= DIRECT_BYTES)
        finally:
            _free_staging_buffer(dev_id, piece)
        at += n
    return 0


cdef int _send_staging_buffer(int dev_id, StagingBuffer* piece, size_t to, size_t n,
                              bint direct) except -1 nogil:
    cdef OpenGpu* gpu = &gpus[dev_id]
    if direct:
        check(driver.to_device(to, piece.pinned.ptr, n, gpu.stream), dev_id, b"copying to it")
    else:
        check(driver.to_device(<size_t>piece.on_gpu.ptr, piece.pinned.ptr, n, gpu.in_stream),
              dev_id, b"copying to it")
        check(driver.event_record(piece.arrived, gpu.in_stream), dev_id, b"copying to it")
        check(driver.stream_wait(gpu.stream, piece.arrived, 0), dev_id, b"copying to it")
        check(driver.on_device(to, <size_t>piece.on_gpu.ptr, n, gpu.stream), dev_id,
              b"copying to it")
    check(driver.event_record(piece.done, gpu.stream), dev_id, b"copying to it")
    piece.used = True
    return 0


cdef void* upload_pinned(int dev_id, void* to, const void* source,
                         size_t nbytes) except NULL nogil:
    cdef OpenGpu* gpu
    cdef UploadBuffer* buffer
    enter_gpu(dev_id, NULL)
    gpu = &gpus[dev_id]
    if DIRECT_BYTES < nbytes <= MAX_UPLOAD_BYTES:
        buffer = _take_upload_buffer(dev_id)
        try:
            if _ensure_capacity(dev_id, buffer, nbytes):
                _upload_via_buffer(dev_id, buffer, <size_t>to, source, nbytes)
                return _record_event(dev_id, gpu.in_stream)
        finally:
            _return_upload_buffer(dev_id, buffer)
    check(driver.to_device(<size_t>to, source, nbytes, gpu.stream), dev_id, b"copying to it")
    return _record_event(dev_id, gpu.stream)


cdef UploadBuffer* _take_upload_buffer(int dev_id) noexcept nogil:
    """Take the least recently used buffer; threads hold one only while they queue a copy."""
    cdef TransferState* state = _transfer_state(dev_id)
    cdef UploadBuffer* found = NULL
    while found == NULL:
        state.guard.lock()
        state.turn = (state.turn + 1) % UPLOAD_BUFFERS
        if not state.buffers[state.turn].taken:
            found = &state.buffers[state.turn]
            found.taken = True
        state.guard.unlock()
        if found == NULL:
            thread_yield()
    return found


cdef void _return_upload_buffer(int dev_id, UploadBuffer* buffer) noexcept nogil:
    cdef TransferState* state = _transfer_state(dev_id)
    state.guard.lock()
    buffer.taken = False
    state.guard.unlock()


cdef bint _ensure_capacity(int dev_id, UploadBuffer* buffer, size_t nbytes) except -1 nogil:
    """Make a buffer hold `nbytes`; False if the GPU has too little memory."""
    if buffer.arrived == NULL:
        buffer.arrived = new_event(dev_id)
    if buffer.left == NULL:
        buffer.left = new_event(dev_id)
    if buffer.memory.ptr != NULL and buffer.memory.capacity >= nbytes:
        return True
    storage_free(&buffer.memory)  # its next owner's work runs after the event `left`
    if not _try_alloc_buffer(dev_id, buffer, nbytes):
        return False
    # Work queued before may still use the memory.
    check(driver.event_record(buffer.left, gpus[dev_id].stream), dev_id, b"copying to it")
    return True


cdef bint _try_alloc_buffer(int dev_id, UploadBuffer* buffer, size_t nbytes) except -1 with gil:
    try:
        alloc(nbytes, kGPU, dev_id, &buffer.memory)
    except MemoryError:
        buffer.memory.ptr = NULL
        return False
    return True


cdef int _upload_via_buffer(int dev_id, UploadBuffer* buffer, size_t to, const void* source,
                            size_t nbytes) except -1 nogil:
    cdef OpenGpu* gpu = &gpus[dev_id]
    cdef size_t there = <size_t>buffer.memory.ptr
    check(driver.stream_wait(gpu.in_stream, buffer.left, 0), dev_id, b"copying to it")
    check(driver.to_device(there, source, nbytes, gpu.in_stream), dev_id, b"copying to it")
    check(driver.event_record(buffer.arrived, gpu.in_stream), dev_id, b"copying to it")
    check(driver.stream_wait(gpu.stream, buffer.arrived, 0), dev_id, b"copying to it")
    check(driver.on_device(to, there, nbytes, gpu.stream), dev_id, b"copying to it")
    check(driver.event_record(buffer.left, gpu.stream), dev_id, b"copying to it")
    return 0


cdef int download(int dev_id, void* to, const void* source, size_t nbytes) except -1 nogil:
    cdef void* reached
    enter_gpu(dev_id, NULL)
    reached = new_event(dev_id)
    try:
        check(driver.event_record(reached, gpus[dev_id].stream), dev_id, b"copying from it")
        _download_pieces(dev_id, to, source, nbytes, reached)
    finally:
        driver.event_destroy(reached)
    return 0


cdef int _download_pieces(int dev_id, void* to, const void* source, size_t nbytes,
                          void* reached) except -1 nogil:
    """Copy data to the host after the event `reached`; two pieces are in flight at a time."""
    cdef OpenGpu* gpu = &gpus[dev_id]
    cdef StagingBuffer* pieces[2]
    cdef size_t sent = 0, got = 0, n
    cdef int i = 0
    check(driver.stream_wait(gpu.out_stream, reached, 0), dev_id, b"copying from it")
    pieces[0] = pieces[1] = NULL
    try:
        while got < nbytes:
            while sent < nbytes and pieces[i] == NULL:
                pieces[i] = _take_staging_buffer(dev_id)
                n = min(nbytes - sent, <size_t>STAGING_BYTES)
                check(driver.to_host(pieces[i].pinned.ptr, <size_t>source + sent, n,
                                     gpu.out_stream), dev_id, b"copying from it")
                check(driver.event_record(pieces[i].done, gpu.out_stream), dev_id,
                      b"copying from it")
                pieces[i].used = True
                sent += n
                i ^= 1
            if pieces[i] == NULL:
                i ^= 1  # the last piece, if their count is odd
            check(driver.event_synchronize(pieces[i].done), dev_id, b"work on it")
            n = min(nbytes - got, <size_t>STAGING_BYTES)
            memcpy(<char*>to + got, pieces[i].pinned.ptr, n)
            got += n
            _free_staging_buffer(dev_id, pieces[i])
            pieces[i] = NULL
    finally:
        for i in range(2):
            if pieces[i] != NULL:
                _free_staging_buffer(dev_id, pieces[i])
    return 0


cdef int copy_on_gpu(int dev_id, void* to, const void* source, size_t nbytes) except -1 nogil:
    enter_gpu(dev_id, NULL)
    check(driver.on_device(<size_t>to, <size_t>source, nbytes, gpus[dev_id].stream), dev_id,
          b"a copy")
    return 0


cdef int copy_between_devices(int to_id, void* to, int from_id, const void* source,
                              size_t nbytes) except -1 nogil:
    cdef OpenGpu* target
    cdef OpenGpu* origin
    cdef void* ready = NULL
    cdef void* done = NULL
    enter_gpu(to_id, NULL)
    target = &gpus[to_id]
    ready = new_event(to_id)
    try:
        check(driver.event_record(ready, target.stream), to_id, b"a copy to it")
        enter_gpu(from_id, NULL)
        origin = &gpus[from_id]
        done = new_event(from_id)
        check(driver.stream_wait(origin.stream, ready, 0), from_id, b"a copy from it")
        check(driver.between(<size_t>to, target.context, <size_t>source, origin.context, nbytes,
                             origin.stream), from_id, b"a copy from it")
        check(driver.event_record(done, origin.stream), from_id, b"a copy from it")
        enter_gpu(to_id, NULL)
        check(driver.stream_wait(target.stream, done, 0), to_id, b"a copy to it")
    finally:
        driver.event_destroy(ready)
        if done != NULL:
            driver.event_destroy(done)
    return 0


cdef int fill(int dev_id, void* to, unsigned value, int width, size_t nbytes) except -1 nogil:
    cdef void* stream
    cdef int code
    enter_gpu(dev_id, &stream)
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
    cdef GpuJob* job
    enter_gpu(dev_id, NULL)
    reached = _record_event(dev_id, gpus[dev_id].stream)
    job = _make_job(reached, finish, arg)
    job.source, job.nbytes, job.what = source, nbytes, what[0]
    _queue_job(dev_id, job)
    return 0


cdef int download_pinned(int dev_id, void* to, const void* source, size_t nbytes, Finish finish,
                         void* arg) except -1 nogil:
    cdef OpenGpu* gpu
    cdef void* reached
    enter_gpu(dev_id, NULL)
    gpu = &gpus[dev_id]
    reached = _record_event(dev_id, gpu.stream)
    try:
        check(driver.stream_wait(gpu.out_stream, reached, 0), dev_id, b"copying from it")
        check(driver.to_host(to, <size_t>source, nbytes, gpu.out_stream), dev_id,
              b"copying from it")
    finally:
        driver.event_destroy(reached)
    return call_after(dev_id, _record_event(dev_id, gpu.out_stream), finish, arg)


cdef int call_after(int dev_id, void* reached, Finish finish, void* arg) except -1 nogil:
    cdef GpuJob* job = _make_job(reached, finish, arg)
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


cdef GpuJob* _make_job(void* reached, Finish finish, void* arg) except NULL nogil:
    """Allocate a job. If memory is exhausted, wait for its event and destroy that."""
    cdef GpuJob* job = <GpuJob*>malloc(sizeof(GpuJob))
    if job == NULL:
        driver.event_synchronize(reached)
        driver.event_destroy(reached)
        _raise_no_memory()
    job.next = NULL
    job.reached, job.finish, job.arg = reached, finish, arg
    return job


cdef void _queue_job(int dev_id, GpuJob* job) noexcept nogil:
    cdef TransferState* state = _transfer_state(dev_id)
    cdef bint start
    state.guard.lock()
    if state.last == NULL:
        state.first = job
    else:
        state.last.next = job
    state.last = job
    start = not state.working
    state.working = True
    state.wake.notify_one()
    state.guard.unlock()
    if start and not start_thread(_run_jobs_forever, <void*><size_t>dev_id):
        _run_queued_jobs(dev_id, False)  # no thread could be created: run the jobs here


cdef int _raise_no_memory() except -1 with gil:
    raise OutOfMemoryError("no memory for a copy")


cdef void _run_jobs_forever(void* arg) noexcept nogil:
    # The thread state lasts, so an exception set without the GIL stays.
    PyGILState_Ensure()
    PyEval_SaveThread()
    _run_queued_jobs(<int><size_t>arg, True)


cdef void _run_queued_jobs(int dev_id, bint stay) noexcept nogil:
    """Run the queued jobs in order: until none is left, or with `stay` for ever."""
    cdef TransferState* state = _transfer_state(dev_id)
    cdef GpuJob* job
    while True:
        state.guard.lock()
        while state.first == NULL and stay:
            sleep_on(&state.wake, &state.guard, -1)
        job = state.first
        if job == NULL:
            state.working = False
            state.guard.unlock()
            return
        state.first = job.next
        if state.first == NULL:
            state.last = NULL
        state.guard.unlock()
        # a raised exception stays pending
        if (<int (*)(int, GpuJob*) noexcept nogil>_run_job)(dev_id, job) == -1:
            _fail_job(job)
        else:
            job.finish(job.arg, NULL)
        free(job)


cdef int _run_job(int dev_id, GpuJob* job) except -1 nogil:
    cdef Handle buffer
    buffer.ptr = NULL
    enter_gpu(dev_id, NULL)
    try:
        if job.source == NULL:
            return check(driver.event_synchronize(job.reached), dev_id, b"work on it")
        alloc(job.nbytes, kCPU, 0, &buffer)
        _download_pieces(dev_id, buffer.ptr, job.source, job.nbytes, job.reached)
        job.what.src = buffer.ptr
        copy_strided(&job.what, True)
    finally:
        storage_free(&buffer)
        driver.event_destroy(job.reached)
    return 0


cdef void _fail_job(GpuJob* job) noexcept with gil:
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

def copy_to_gpu(int dev_id, size_t address, const unsigned char[::1] data):
    """Copy bytes to a GPU's memory, before all work queued on its stream from now on."""
    if data.shape[0]:
        with nogil:
            upload(dev_id, <void*>address, &data[0], data.shape[0])
