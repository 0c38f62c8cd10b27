"""The engine's data structures, and their invariants while its lock is free.

One spin lock per engine (`Engine.locked`) guards all records below. It is held for a fraction of a
microsecond, never while a thread asks for the GIL and never while a callback runs. A push appends
itself to all its variables under one hold of the lock, so two pushes are in the same order in the
queue of every variable that they share.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t
from libcpp.atomic cimport atomic, memory_order_acquire, memory_order_relaxed, memory_order_release
from libcpp.mutex cimport mutex
from libcpp.vector cimport vector

from .deferred cimport count_deferred, flush_before, may_be_deferred
from .native cimport condition_variable, cpu_relax, thread_yield
from .._typedefs cimport RunContext

# EngineFn and EngineAsyncFn without Cython's check of -1: the error stays set in the thread until
# the engine fetches it.
ctypedef int (*RunFn)(void*, RunContext*) noexcept nogil
ctypedef int (*RunAsyncFn)(void*, RunContext*, void*) noexcept nogil
ctypedef void (*Callback)(void*) noexcept nogil

cdef enum RunKind:  # when a function of the engine is done
    kSync = 0
    kAsync = 1   # done when `complete` is called, not when the function returns
    kDelete = 2  # the last run on a variable, which deletes it

cdef enum:
    N_BINS = 30  # free lists of run blocks: bin i holds blocks of 1 << i links
    LINE_BYTES = 64  # size of a cache line
    MAX_GPUS = 64  # maximum number of GPUs of an engine
    MAX_WAITING = 1000  # maximum number of functions of a pool that block, each with a thread

ctypedef Failure* FailurePointer

cdef struct VarLink:  # a variable of a run, in the variable's queue
    # A variable of a run; it is in the variable's queue until it is granted.
    VarLink* next
    Run* run
    Var* var           # NULL if released before the end of the run
    bint write

cdef struct Run:  # one execution of a pushed function
    # A pushed function; its links follow it in memory. It is ready when `missing` is 0. With one
    # link it fills two cache lines: the cost of a push is mostly cache lines that change cores.
    Run* next          # next run in a ready queue, the granted list or a free list
    Engine* engine
    RunFn fn
    void* arg
    Callback deleter
    Operator* opr      # NULL for a single push
    const char* name   # borrowed until the deleter is called; may be NULL
    uint64_t seq       # order of pushes
    unsigned epoch     # epoch of the process that pushed the run (number of forks)
    int priority
    int dev_id
    int missing        # number of links that are not granted yet
    int n_links
    unsigned char dev_type
    unsigned char kind   # RunKind
    unsigned char flags  # PushFlag
    unsigned char bin

cdef cppclass Var:
    # One cache line. `pending_writes` and `failure` are read without the lock, written with it.
    # Queue of links not granted: starts with a write, or a read that waits for a running write.
    VarLink* head
    VarLink* tail
    Engine* engine
    Waiter* waiters
    atomic[FailurePointer] failure  # error of a failed run; while it is set, functions are skipped
    unsigned mark      # mark of the last push of this variable: finds duplicates
    unsigned writes    # number of ended writers, with those before a fork
    unsigned epoch     # if not the engine's: the state is from before a fork
    int readers        # number of granted reads; -1: a write is granted
    int pending_reads  # pushed and not done
    atomic[int] pending_writes

cdef struct Operator:  # a function with its variables, to be pushed often
    Engine* engine
    RunFn fn
    void* arg
    Callback deleter
    const char* name
    unsigned char kind  # kSync or kAsync
    int flags
    int n_const
    int n_vars
    int uses           # runs pushed and not done
    unsigned epoch
    bint deleted
    Var* vars[1]       # const ones first; the block is as long as needed

cdef struct Failure:  # an error, shared by the variables that it reached
    # An error, shared by its variables. Waiting on one of them raises it and so
    # clears all.
    PyObject* error    # an owned reference; NULL once raised
    int refs
    unsigned epoch     # epoch of the process in which the run failed

cdef enum WaitState:  # of a thread that waits
    kSpinning = 0
    kDone = 1      # set last by the signaller, unless the waiter slept
    kSleeping = 2

cdef cppclass Waiter:
    # A waiting thread; it is on that thread's stack and signalled under the engine's lock.
    Waiter* next
    uint64_t before    # only runs with a smaller `seq` are waited for
    int64_t remaining  # number of these runs that are not done
    bint reads         # reads matter too
    atomic[int] state  # WaitState
    mutex guard
    condition_variable wake

cdef cppclass Worker:
    Worker* next       # next worker in the idle list, or in the list to be woken
    Engine* engine
    Pool* pool
    int index
    bint idle          # the worker is in the idle list
    bint called        # guarded by `guard`: it was taken out of the idle list
    mutex guard
    condition_variable wake

cdef cppclass Pool:
    # Threads that serve one ready queue.
    Pool* next         # next pool in the list of pools that need a thread
    Run* first         # priority 0, in order
    Run* last
    vector[Run*] heap  # all other priorities
    int64_t ready      # runs in both
    atomic[int64_t] published  # copy of `ready` that is read without the lock
    int limit          # maximum of `active`
    int active         # threads that are neither idle nor blocked in a wait
    atomic[int] waiting  # threads that are blocked in a wait
    int threads        # alive
    int keep           # number of threads that stay, however long they are idle
    int coming         # active threads that look for a run
    bint starting      # a new thread of the pool has not begun yet
    int64_t spin_ns    # for this time a thread spins before it is idle
    int64_t linger_ns  # idle nanoseconds after which a thread beyond `keep` ends
    Worker* idle

cdef cppclass Engine:
    atomic[int] locked
    bint naive         # no threads: the thread that makes a run ready executes it
    bint closing       # threads end at once; pending runs never start
    bint retiring      # threads end when nothing is left to run
    unsigned epoch     # number of forks between the first process and this one
    uint64_t seq
    unsigned mark
    int64_t pending    # runs pushed and not done
    int guests         # number of foreign threads that execute ready runs
    int64_t n_vars
    int64_t n_operators
    Run* granted_first  # granted runs to be enqueued; empty when the lock is free
    Run* granted_last
    Waiter* waiters    # threads that wait in wait_for_all
    vector[Failure*] failures  # failures that no wait has raised, oldest first; one reference each
    Run* bins[N_BINS]
    Var* free_vars
    Pool native
    Pool python
    vector[Pool*] gpus  # GPU i: pool 2 i, and 2 i + 1 for copies; NULL until used
    vector[int] free_indices
    int next_index
    Engine* next       # next engine in the list of the process

cdef struct DeferredCallback:  # called once the lock is free
    # A callback for when the lock is free. The run of that seq is pending until it has returned.
    Callback callback
    void* arg
    uint64_t seq       # `seq` of the run that the callback belongs to; 0: none

cdef cppclass UnlockActions:
    # Actions to take once the lock is free.
    Worker* wake
    Pool* start
    vector[DeferredCallback] callbacks

cdef inline void clear_actions(UnlockActions* after) noexcept nogil:
    after.wake = NULL
    after.start = NULL

cdef inline void lock(Engine* e) noexcept nogil:
    cdef int spins = 0
    while e.locked.exchange(1, memory_order_acquire):
        while e.locked.load(memory_order_relaxed):
            spins += 1
            if spins < 100:
                cpu_relax()
            else:
                thread_yield()

cdef inline void unlock(Engine* e) noexcept nogil:
    e.locked.store(0, memory_order_release)

cdef inline bint has_pending_write(const Var* var) noexcept nogil:
    """True if a pushed function that writes the variable has not ended; deferred calls do not count
    (deferred.pxd)."""
    return var.epoch == var.engine.epoch and var.pending_writes.load(memory_order_acquire) != 0

cdef inline unsigned write_count(void* var) noexcept nogil:
    """The number of functions that have written the variable (or failed to), as a version number.
    Stands still while a function that reads or writes the variable runs, which alone may ask."""
    return (<Var*>var).writes

cdef inline unsigned queued_write_count(void* handle) noexcept nogil:
    """`pushed_write_count` without deferred calls: only functions in the variable's queue count."""
    cdef Var* var = <Var*>handle
    cdef unsigned count
    lock(var.engine)
    count = var.writes + <unsigned>var.pending_writes.load(memory_order_relaxed)
    unlock(var.engine)
    return count

cdef inline unsigned pushed_write_count(void* handle) except? 0xffffffff nogil:
    """The number of pushed functions that write the variable, as a version number."""
    flush_before(handle, False)
    return queued_write_count(handle)

cdef inline unsigned expected_write_count(void* handle) except? 0xffffffff:
    """`queued_write_count` plus the writes of deferred calls, which stay deferred."""
    cdef int noted = count_deferred(handle) if may_be_deferred(handle, False) else 0
    return queued_write_count(handle) + noted

cdef inline VarLink* links_of(Run* run) noexcept nogil:  # stored behind the run
    return <VarLink*>(run + 1)
