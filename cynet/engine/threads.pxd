"""The worker threads: they run functions, wait, and do what is due once the lock is free."""

from libc.stdint cimport int64_t
from cpython.object cimport PyObject

from .records cimport After, Engine, Failure, Run, Var

# Makes a GPU the calling thread's own and gives its stream; -1 with an exception left in the
# thread.
ctypedef int (*EnterDevice)(int dev_id, void** stream) noexcept nogil

cdef struct Spin:
    int64_t until      # 0 before the first turn
    int64_t last       # reading of the clock
    int64_t yields_at
    bint brief         # beside threads of others

# A turn of a thread that looks for something: false when it is time to sleep, after `spin_ns` or,
# beside programs that take the cores away, some microseconds. `spin.until` is 0 at first.
cdef bint spin_on(Spin* spin, int64_t spin_ns) noexcept nogil
# Set a function that is called before each function of a GPU (the backend sets it).
cdef void set_enter_device(EnterDevice enter) noexcept nogil
# Decide which threads to wake or start for the ready runs. The last act before `unlock`.
cdef void plan(Engine* e, After* after) noexcept nogil
# `plan` where functions are pushed: between two wake-ups a bulk lets some pushes pass.
cdef void plan_push(Engine* e, After* after) noexcept nogil
# Pushes of this thread between two wake-ups from now on; returns what it was.
cdef int set_bulk(int size) noexcept nogil
# Do what `after` holds; the lock must be free. May take it again for a moment.
cdef void settle_after(Engine* e, After* after) noexcept nogil
# Execute a run that holds its variables on this thread, then give them back.
cdef void run_here(Engine* e, Run* run) noexcept nogil
# Naive engine: execute whatever is ready on this thread.
cdef void drain(Engine* e) noexcept nogil
# Make the record of an error that the caller owns a reference of; NULL without memory.
cdef Failure* new_failure(PyObject* error) noexcept nogil
# Add a failure to those that nobody has waited for yet. The engine's lock is held.
cdef void note(Engine* e, Failure* failure) noexcept nogil
# Whether this thread is a worker of some engine.
cdef bint is_on_worker() noexcept nogil
# The worker that this thread is begins (or ends) a wait: meanwhile another thread may run instead.
cdef void leave_place(bint leave) noexcept nogil
# Whether the maximum number of functions of this worker's pool wait inside others already.
cdef bint nests_too_deep() noexcept nogil
# True when a function that runs on this thread now holds `var` (for writing, if `write`).
cdef bint is_held_by_thread(Var* var, bint write) noexcept nogil
# True when a function of this engine runs on this thread.
cdef bint is_inside_engine(Engine* e) noexcept nogil
# End all threads: wait for the functions that run, at most so long. What did not start never does.
cdef void stop(Engine* e, int64_t patience_ns) noexcept nogil
# Threads alive. The engine's lock is held.
cdef int threads_of(Engine* e) noexcept nogil
# Let threads end once nothing is left to run; does not wait.
cdef void retire(Engine* e) noexcept nogil
# Reset the threads in a child process: this thread is no worker any more, the pools are empty.
cdef void after_fork(Engine* e) noexcept nogil
