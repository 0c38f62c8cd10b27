# distutils: extra_compile_args = -Os
"""Native functions for the engine's tests and benchmark: empty ones, and arithmetic on cells."""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libcpp.atomic cimport atomic

from .._engine cimport (
    EngineHandle, VarHandle, complete, delete_variable, is_ready, new_variable_on, publish_results,
    push_async_on, push_sync_on, wait_for_all_on, wait_for_var, wait_to_write, kCopy, kInline,
    kNormal
)
from .native cimport now_ns, sleep_ns, start_thread
from .python_work cimport Engine
from .._typedefs cimport RunContext, kCPU, kGPU

from ..base.errors import ArgumentError

cdef enum:
    MAX_VARIABLES = 64  # maximum number of variables of one function

cdef enum Action:  # what a job does with its cells
    kMix = 0    # written cells become a mixture of themselves, the cells read and the salt
    kStamp = 1  # written cells become the number of stamps so far
    kGate = 2   # return when the gate opens
    kWait = 3   # wait for the writers of cell `salt`, then mix, without reading the cell
    kFail = 4   # raise ValueError
    kLend = 5   # mix and publish the results; done when the gate opens

cdef cppclass Shared:
    # State that the functions of one row of cells share.
    atomic[int64_t] stamps
    atomic[int] gate
    atomic[int] alive     # number of jobs that are not freed yet
    int64_t* cells
    VarHandle* vars

cdef struct CellJob:  # a function of the engine that mixes cells, for tests
    Shared* shared
    int action
    int64_t salt
    int n_reads
    int n_writes
    void* token
    int at[MAX_VARIABLES]  # cells: first those read, then those written


cdef void _free_job(void* arg) noexcept nogil:
    (<CellJob*>arg).shared.alive.fetch_sub(1)
    free(arg)


cdef int _run_job(void* arg, RunContext* context) except -1 nogil:
    cdef CellJob* job = <CellJob*>arg
    cdef int64_t* cells = job.shared.cells
    cdef uint64_t mixed = <uint64_t>job.salt
    cdef int i
    if job.action == kGate:
        while not job.shared.gate.load():
            sleep_ns(100 * 1000)
        return 0
    if job.action == kFail:
        with gil:
            raise ValueError(f"salt {job.salt}")
    if job.action == kWait:
        wait_for_var(job.shared.vars[job.salt])
    for i in range(job.n_reads):
        mixed = mixed * 6364136223846793005u + <uint64_t>cells[job.at[i]]
    for i in range(job.n_reads, job.n_reads + job.n_writes):
        if job.action == kStamp:
            cells[job.at[i]] = job.shared.stamps.fetch_add(1) + 1
        else:
            mixed = mixed * 6364136223846793005u + <uint64_t>cells[job.at[i]]
            cells[job.at[i]] = <int64_t>mixed
    return 0


cdef int _run_job_and_publish(void* arg, RunContext* context, void* token) except -1 nogil:
    (<CellJob*>arg).token = token
    _run_job(arg, context)
    publish_results(token)
    if not start_thread(_complete_at_gate, arg):
        with gil:
            raise MemoryError("no thread could be created")
    return 0


cdef void _complete_at_gate(void* arg) noexcept nogil:  # once `open_gate` was called
    cdef CellJob* job = <CellJob*>arg
    while not job.shared.gate.load():
        sleep_ns(100 * 1000)
    complete(job.token, NULL)


cdef class Cells:  # numbers that functions of the engine mix, for tests
    """A row of int64 cells, each with a variable of an engine.

    A mixing function computes, modulo 2**64: m = salt; for each cell read,
    m = m * 6364136223846793005 + cell; for each cell written, the same, and the cell becomes m.
    """

    cdef Engine engine
    cdef Shared* shared
    cdef int n

    def __cinit__(self, Engine engine not None, int n):
        cdef int i
        self.engine = engine
        self.n = n
        self.shared = new Shared()
        self.shared.stamps.store(0)
        self.shared.gate.store(0)
        self.shared.alive.store(0)
        self.shared.cells = <int64_t*>calloc(n, sizeof(int64_t))
        self.shared.vars = <VarHandle*>malloc(n * sizeof(VarHandle))
        for i in range(n):
            self.shared.vars[i] = new_variable_on(engine.handle)

    def close(self):
        """Delete the variables and free the cells, once everything is done."""
        cdef int i
        if self.shared == NULL:
            return
        try:
            with nogil:
                wait_for_all_on(self.engine.handle)
        finally:
            for i in range(self.n):
                delete_variable(self.shared.vars[i], NULL, NULL)
            free(self.shared.cells)
            free(self.shared.vars)
            del self.shared
            self.shared = NULL

    def values(self):
        """The cells as a list."""
        return [self.shared.cells[i] for i in range(self.n)]

    def live_job_count(self):
        """Return the number of function arguments that are not freed yet."""
        return self.shared.alive.load()

    def open_gate(self):
        """Open the gate, on which "gate" and "lend" functions wait."""
        self.shared.gate.store(1)

    def wait(self, int i):
        """Wait for the writers of cell `i`."""
        with nogil:
            wait_for_var(self.shared.vars[i])

    def wait_to_write(self, int i):
        """Wait for the readers and writers of cell `i`."""
        with nogil:
            wait_to_write(self.shared.vars[i])

    def is_ready(self, int i):
        """Return whether no writer of cell `i` is pending."""
        return is_ready(self.shared.vars[i])

    def push(
            self, reads, writes, int64_t salt=0, str action="mix", int priority=0,
            bint inline=False, int gpu=-1, bint copies=False):
        """Push one function; action: mix, stamp, gate, wait, fail or lend. With `gpu` it runs as a
        function of that GPU, with `copies` as a copy to it; it touches host memory alone.
        """
        cdef CellJob* job
        cdef VarHandle handles[MAX_VARIABLES]
        cdef int i, n_reads = len(reads), n_writes = len(writes)
        cdef int flags = (kInline if inline else kNormal) | (kCopy if copies else kNormal)
        cdef int kind = ("mix", "stamp", "gate", "wait", "fail", "lend").index(action)
        if n_reads + n_writes > MAX_VARIABLES:
            raise ArgumentError(f"at most {MAX_VARIABLES} cells, got {n_reads + n_writes}")
        job = <CellJob*>malloc(sizeof(CellJob))
        job.shared = self.shared
        job.action = kind
        job.salt = salt
        job.n_reads = n_reads
        job.n_writes = n_writes
        for i, cell in enumerate((*reads, *writes)):
            job.at[i] = cell
            handles[i] = self.shared.vars[job.at[i]]
        self.shared.alive.fetch_add(1)
        try:
            with nogil:
                if kind == kLend:
                    push_async_on(
                        self.engine.handle, _run_job_and_publish, job, _free_job, kCPU, 0, handles,
                        n_reads, handles + n_reads, n_writes, priority, flags, b"a job")
                else:
                    push_sync_on(
                        self.engine.handle, _run_job, job, _free_job, kCPU if gpu < 0 else kGPU,
                        max(gpu, 0), handles, n_reads, handles + n_reads, n_writes, priority,
                        flags, b"a job")
        except BaseException:
            _free_job(job)
            raise


# ---- speed

cdef int _do_nothing(void* arg, RunContext* context) except -1 nogil:
    return 0


cdef inline uint32_t _next_random(uint64_t* state) noexcept nogil:
    state[0] = state[0] * 6364136223846793005u + 1442695040888963407u
    return <uint32_t>(state[0] >> 33)


def microseconds_per_push(
        Engine engine not None, str pattern, int n, int n_vars=100, bint inline=False):
    """Return the microseconds of an empty function, from `n` that are pushed and waited for.

    Parameters
    ----------
    engine : Engine
    pattern : str
        'chain' (all write one variable), 'independent' (write `n_vars` variables in turn), 'random'
        (1 to 20 of `n_vars` variables, 10.8 in the mean, up to two of them written), 'wait' (each
        is waited for).
    n : int
        How many.
    inline : bool
        Let them run at once on this thread where nothing stands in the way.
    """
    cdef EngineHandle e = engine.handle
    cdef int kind = ("chain", "independent", "random", "wait").index(pattern)
    cdef int flags = kInline if inline else kNormal
    cdef VarHandle* vars = <VarHandle*>malloc(n_vars * sizeof(VarHandle))
    cdef VarHandle* picked = <VarHandle*>malloc(MAX_VARIABLES * 1024 * sizeof(VarHandle))
    cdef int* counts = <int*>malloc(1024 * sizeof(int))
    cdef uint64_t state = 12345
    cdef int i, j, k, count, writes
    cdef VarHandle swapped
    cdef int64_t start
    if n_vars < 20:
        raise ArgumentError(f"n_vars must be 20 or more, got {n_vars}")
    for i in range(n_vars):
        vars[i] = new_variable_on(e)
    for i in range(1024):
        counts[i] = 1 + _next_random(&state) % 20 if i % 32 else 20
        for j in range(counts[i]):
            k = j + _next_random(&state) % (n_vars - j)
            swapped = vars[j]
            vars[j] = vars[k]
            vars[k] = swapped
            picked[i * MAX_VARIABLES + j] = vars[j]
    start = now_ns()
    with nogil:
        for i in range(n):
            if kind == 2:
                j = i % 1024
                count = counts[j]
                writes = min(count, 2)
                push_sync_on(
                    e, _do_nothing, NULL, NULL, 1, 0, picked + j * MAX_VARIABLES + writes,
                    count - writes, picked + j * MAX_VARIABLES, writes, 0, flags, NULL)
            else:
                j = i % n_vars if kind == 1 else 0
                push_sync_on(
                    e, _do_nothing, NULL, NULL, 1, 0, NULL, 0, vars + j, 1, 0, flags, NULL)
                if kind == 3:
                    wait_for_var(vars[0])
        wait_for_all_on(e)
    start = now_ns() - start
    for i in range(n_vars):
        delete_variable(vars[i], NULL, NULL)
    free(vars)
    free(picked)
    free(counts)
    return start / 1000.0 / n
