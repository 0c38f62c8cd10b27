"""The worker threads: they run functions, wait, and run the actions due once the lock is free."""

from libc.stdint cimport int64_t
from cpython.object cimport PyObject

from .records cimport UnlockActions, Engine, Failure, Run, Var

# A function that makes a GPU current in this thread and returns its stream; -1 with an exception
# set in the thread.
ctypedef int (*EnterDevice)(int dev_id, void** stream) noexcept nogil

cdef struct Spin:  # times of one spinning wait
    int64_t until      # 0 before the first call of `may_keep_spinning`
    int64_t last       # time of the last call
    int64_t yields_at
    bint brief         # other programs use the cores

# Called by a spinning thread; returns false when it should sleep: after `spin_ns`, or after some
# microseconds if other programs use the cores. `spin.until` is 0 at first.
cdef bint may_keep_spinning(Spin* spin, int64_t spin_ns) noexcept nogil  # False: time to sleep
# Set the function that is called before each function of a GPU (the backend sets it).
cdef void set_enter_device_fn(EnterDevice enter) noexcept nogil
# Decide which threads to wake or start for the ready runs. The last act before `unlock`.
cdef void plan_wakeups(Engine* e, UnlockActions* after) noexcept nogil  # of workers for ready runs
# `plan_wakeups` for a push: inside of `bulk` only every n-th push wakes workers.
cdef void plan_push_wakeups(Engine* e, UnlockActions* after) noexcept nogil
# Set the number of pushes of this thread between two wake-ups; returns the old number.
cdef int set_pushes_per_wakeup(int size) noexcept nogil
# Run the actions of `after`; the lock must be free. May take it again for a moment.
cdef void run_unlock_actions(Engine* e, UnlockActions* after) noexcept nogil
# Execute a run whose variables are granted on this thread, then release them.
cdef void run_on_this_thread(Engine* e, Run* run) noexcept nogil
# Execute all ready runs on this thread (naive engine).
cdef void drain_ready_runs(Engine* e) noexcept nogil
# Return a new Failure that takes over the caller's reference to `error`; NULL without memory.
cdef Failure* new_failure(PyObject* error) noexcept nogil
# Add a failure to those that no wait has raised. The engine's lock is held.
cdef void add_failure(Engine* e, Failure* failure) noexcept nogil  # that no wait has raised yet
# Return whether this thread is a worker of an engine.
cdef bint is_on_worker() noexcept nogil
# Begin (or end) a wait of this worker thread; meanwhile another thread runs in its place.
cdef void set_worker_waiting(bint waits) noexcept nogil
# Return whether the maximum number of functions of this worker's pool already wait for others.
cdef bint is_nested_too_deep() noexcept nogil
# Return whether a function on this thread reads or writes `var` (with `write`: writes it).
cdef bint is_held_by_thread(Var* var, bint write) noexcept nogil
# Return whether a function of this engine runs on this thread.
cdef bint is_inside_engine(Engine* e) noexcept nogil
# End all threads; wait at most `patience_ns` for running functions. What did not start never does.
cdef void stop_threads(Engine* e, int64_t patience_ns) noexcept nogil
# Threads alive. The engine's lock is held.
cdef int count_threads(Engine* e) noexcept nogil
# Let threads end once nothing is left to run; does not wait.
cdef void retire_threads(Engine* e) noexcept nogil  # they end when idle
# Reset the pools in a forked child process; its only thread is no worker.
cdef void reset_pools(Engine* e) noexcept nogil
