"""The engine's records, and what is true of them whenever its lock is free.

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

from .deferred cimport count_noted, flush_before, may_be_noted
from .native cimport condition_variable, cpu_relax, thread_yield
from .._typedefs cimport RunContext

# EngineFn and EngineAsyncFn without Cython's check of -1: the error stays set in the thread until
# the engine fetches it.
ctypedef int (*RunFn)(void*, RunContext*) noexcept nogil
ctypedef int (*RunAsyncFn)(void*, RunContext*, void*) noexcept nogil
ctypedef void (*Callback)(void*) noexcept nogil

cdef enum RunKind:
    kSync = 0
    kAsync = 1   # done when `complete` is called, not when the function returns
    kDelete = 2  # the last run on a variable: nothing to execute, the variable goes

cdef enum:
    N_BINS = 30  # free lists of run blocks: bin i holds blocks of 1 << i links
    LINE = 64    # bytes of a cache line
    MAX_GPUS = 64
    MAX_WAITING = 1000  # maximum number of functions of a pool that block, each with a thread

ctypedef Failure* FailurePointer

cdef struct Link:
    # One variable of one run; in the variable's queue until it is granted.
    Link* next
    Run* run
    Var* var           # NULL once given back before the run is done
    bint write

cdef struct Run:
    # One push; its links follow it in memory. It is ready when `missing` is 0. With one link it
    # fills two cache lines: the cost of a push is mostly cache lines that change cores.
    Run* next          # next run in a ready queue, the settle list or a free list
    Engine* engine
    RunFn fn
    void* arg
    Callback deleter
    Operator* opr      # NULL for a single push
    const char* name   # borrowed until the deleter is called; may be NULL
    uint64_t seq       # order of pushes
    unsigned epoch     # epoch of the process that pushed the run (a fork counts up)
    int priority
    int dev_id
    int missing        # links not granted yet
    int n_links
    unsigned char dev_type
    unsigned char kind   # RunKind
    unsigned char flags  # PushFlag
    unsigned char bin

cdef cppclass Var:
    # One cache line. `pending_writes` and `failure` are read without the lock, written with it.
    # Queue of links not granted: starts with a write, or a read that waits for a running write.
    Link* head
    Link* tail
    Engine* engine
    Waiter* waiters
    atomic[FailurePointer] failure  # error of a failed run; while it is set, functions are skipped
    unsigned mark      # last push that named this variable: finds duplicates
    unsigned writes    # ended functions that wrote it, a parent's before a fork included
    unsigned epoch     # other than the engine's: state left by a parent process, to be reset
    int readers        # granted reads; -1: a write is granted
    int pending_reads  # pushed and not done
    atomic[int] pending_writes

cdef struct Operator:
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

cdef struct Failure:
    # Shared by all variables it spread to. Waiting on one of them raises it and so clears all.
    PyObject* error    # owned; NULL once raised
    int refs
    unsigned epoch     # epoch of the process in which the run failed

cdef enum WaitState:
    kSpinning = 0
    kDone = 1      # the last touch of whoever signals, unless the waiter slept
    kSleeping = 2

cdef cppclass Waiter:
    # Stands on the stack of a thread that waits; signalled under the engine's lock.
    Waiter* next
    uint64_t before    # runs pushed later do not matter
    int64_t remaining  # runs pushed before that are not done yet
    bint reads         # reads matter too
    atomic[int] state  # WaitState
    mutex guard
    condition_variable wake

cdef cppclass Worker:
    Worker* next       # next worker in the idle list, or in a list to be woken
    Engine* engine
    Pool* pool
    int index
    bint idle          # the worker is in the idle list
    bint called        # guarded by `guard`: somebody took it out of the idle list
    mutex guard
    condition_variable wake

cdef cppclass Pool:
    # Threads that serve one ready queue.
    Pool* next         # next pool in a list of pools that are to get a thread
    Run* first         # priority 0, in order
    Run* last
    vector[Run*] heap  # all other priorities
    int64_t ready      # runs in both
    atomic[int64_t] published  # `ready`, for threads that look without the lock
    int limit          # maximum of `active`
    int active         # threads that are neither idle nor blocked in a wait
    atomic[int] waiting  # threads that are blocked in a wait
    int threads        # alive
    int keep           # number of threads that stay, however long they are idle
    int coming         # active, but without a run: on their way to look for one
    bint starting      # one of the pool's threads has not begun yet
    int64_t spin_ns    # nanoseconds in which a thread looks for a run before going idle
    int64_t linger_ns  # idle nanoseconds after which a thread beyond `keep` ends
    Worker* idle

cdef cppclass Engine:
    atomic[int] locked
    bint naive         # no threads: whoever makes a run ready executes it
    bint closing       # threads end at once; what has not started never does
    bint retiring      # threads end when nothing is left to run
    unsigned epoch     # number of forks between the first process and this one
    uint64_t seq
    unsigned mark
    int64_t pending    # runs pushed and not done
    int guests         # threads of others that execute what they have made ready
    int64_t n_vars
    int64_t n_operators
    Run* settle_first  # ready, but not looked at for failures yet; empty when the lock is free
    Run* settle_last
    Waiter* waiters    # threads that wait in wait_for_all
    vector[Failure*] failures  # failures not raised yet, oldest first; one reference each
    Run* bins[N_BINS]
    Var* free_vars
    Pool native
    Pool python
    vector[Pool*] gpus  # GPU i has pool 2 i, and 2 i + 1 for copies; NULL until needed
    vector[int] free_indices
    int next_index
    Engine* next       # all engines of the process

cdef struct Burial:
    # A callback due once the lock is free. The run of that seq is pending until it has returned.
    Callback callback
    void* arg
    uint64_t seq       # `seq` of the run that the callback belongs to; 0: none

cdef cppclass After:
    # Actions to take once the lock is free.
    Worker* wake
    Pool* start
    vector[Burial] burials

cdef inline void clear(After* after) noexcept nogil:
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

cdef inline bint is_free(const Var* var) noexcept nogil:
    """True where nothing is pushed that writes the variable and has not ended; of what is noted
    nothing is known here (deferred.pxd)."""
    return var.epoch != var.engine.epoch or var.pending_writes.load(memory_order_acquire) == 0

cdef inline unsigned writes_of(void* var) noexcept nogil:
    """The number of functions that have written the variable (or failed to): a change, not the
    number, says something. Stands still while a function that reads or writes the variable runs,
    which alone may ask."""
    return (<Var*>var).writes

cdef inline unsigned entered_writes(void* handle) noexcept nogil:
    """`pushed_writes` without noted functions: only those in the variable's queue count."""
    cdef Var* var = <Var*>handle
    cdef unsigned count
    lock(var.engine)
    count = var.writes + <unsigned>var.pending_writes.load(memory_order_relaxed)
    unlock(var.engine)
    return count

cdef inline unsigned pushed_writes(void* handle) except? 0xffffffff nogil:
    """The number of pushed functions that write the variable: a change, not the number, says
    something."""
    flush_before(handle, False)
    return entered_writes(handle)

cdef inline unsigned expected_writes(void* handle) except? 0xffffffff:
    """`entered_writes` plus the noted writes, which stay noted."""
    cdef int noted = count_noted(handle) if may_be_noted(handle, False) else 0
    return entered_writes(handle) + noted

cdef inline Link* links_of(Run* run) noexcept nogil:
    return <Link*>(run + 1)
