# distutils: extra_compile_args = -Os
"""Work: an engine function that reports when its arrays are free, and holds them until the
communication thread is done with them."""

from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.errno cimport EINTR, errno
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from posix.unistd cimport write

cimport numpy as cnp

from .._engine cimport VarHandle, complete, kInline, push_async
from .._ndarray cimport NDArrayBase
from .._typedefs cimport RunContext, kBfloat16, kCPU

from .._ndarray import move_to_own_memory
from ..base.errors import OutOfMemoryError

cnp.import_array()

cdef int* _NPY_TYPES = [cnp.NPY_FLOAT32, cnp.NPY_FLOAT64, cnp.NPY_FLOAT16, cnp.NPY_UINT8,
                        cnp.NPY_INT32, cnp.NPY_INT8, cnp.NPY_INT64, cnp.NPY_BOOL]


cdef struct Task:  # argument of the engine function of a Work
    int64_t number
    int pipe
    void* token    # the engine's completion token; NULL until the function runs
    void* work     # the Work; this holds a reference to it


cdef void _write_request_id(int pipe, int64_t number) noexcept nogil:
    # Writing eight bytes to a pipe is atomic. Its reader is gone when the process ends.
    while write(pipe, &number, sizeof(number)) < 0 and errno == EINTR:
        pass


cdef int _run_task(void* arg, RunContext* run_ctx, void* token) except -1 nogil:
    cdef Task* task = <Task*>arg
    task.token = token
    _write_request_id(task.pipe, task.number)
    return 0


cdef void _drop_task(void* arg) noexcept nogil:
    cdef Task* task = <Task*>arg
    if task.token == NULL:  # an earlier function has failed, so this one never ran
        _write_request_id(task.pipe, -1 - task.number)
    with gil:
        (<Work>task.work).task = NULL
        Py_DECREF(<object>task.work)
    free(task)


cdef class Work:  # an engine function that waits for a request's arrays
    """A function of the engine that writes the id `number` to `pipe` when its arrays are free, and
    is done when `complete` is called. If an earlier function failed, so that this one never runs,
    ``-1 - number`` is written.

    number, pipe (int): `pipe` is a file descriptor.
    reads, writes (list of NDArray): Of the host. No array stands in both.
    priority: int
    """

    cdef Task* task
    cdef list reads, writes
    cdef int64_t number
    cdef int pipe, priority

    def __init__(self, int64_t number, int pipe, reads, writes, int priority=0):
        self.task = NULL
        self.number, self.pipe, self.priority = number, pipe, priority
        self.reads, self.writes = list(reads), list(writes)

    def push(self):
        """Push the function to the engine; called once."""
        cdef Task* task = <Task*>malloc(sizeof(Task))
        cdef size_t n_reads, n_writes
        cdef VarHandle* variables
        cdef NDArrayBase array
        if task == NULL:
            raise OutOfMemoryError("no memory for a piece of communication")
        chunks = {<size_t>(<NDArrayBase>each).chunk.var: each for each in self.writes}
        n_writes = len(chunks)
        for each in self.reads:
            chunks.setdefault(<size_t>(<NDArrayBase>each).chunk.var, each)
        n_reads = len(chunks) - n_writes
        variables = <VarHandle*>malloc((len(chunks) + 1) * sizeof(VarHandle))
        if variables == NULL:
            free(task)
            raise OutOfMemoryError("no memory for a piece of communication")
        for i, each in enumerate(chunks.values()):
            array = each
            variables[i] = array.chunk.var
        task.token = NULL
        task.number, task.pipe, task.work = self.number, self.pipe, <void*>self
        self.task = task
        Py_INCREF(self)
        try:
            with nogil:
                push_async(_run_task, task, _drop_task, kCPU, 0, variables + n_writes, <int>n_reads,
                           variables, <int>n_writes, self.priority, kInline, b"communication")
        finally:
            free(variables)

    def complete(self, error=None):
        """End the function, whose communication is done or has failed with `error`; called once,
        after the id was written to `pipe`."""
        cdef Task* task = self.task
        cdef void* raised = NULL
        cdef void* token = task.token
        if error is None:
            for each in self.writes:
                (<NDArrayBase>each).chunk.written = True
        else:
            raised = <void*>error
        self.reads = self.writes = None
        with nogil:
            complete(token, raised)


def host_view(NDArrayBase array not None):
    """Return a NumPy array over the memory of a host array, without waiting: the caller is an
    engine function that reads or writes the array. bfloat16 becomes uint16."""
    cdef cnp.npy_intp size
    move_to_own_memory(array)
    size = array.blob.size
    number = cnp.NPY_UINT16 if array.blob.dtype == kBfloat16 else _NPY_TYPES[array.blob.dtype]
    out = cnp.PyArray_SimpleNewFromData(1, &size, number, array.blob.data)
    cnp.set_array_base(out, array)  # keeps the memory
    return out
