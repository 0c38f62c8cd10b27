"""The list of the process's engines (contract in process.pxd).

An engine dropped by its owner is freed when another one is made and its last thread has left.
"""

from cpython.object cimport PyObject
from libc.limits cimport INT_MAX
from libc.stdint cimport int64_t
from libcpp.atomic cimport atomic

from .records cimport UnlockActions, Engine, clear_actions, lock, unlock
from .native cimport at_fork, now_ns, thread_yield
from .queue cimport free_recycled_blocks, take_oldest_error
from .threads cimport reset_pools, plan_wakeups, run_unlock_actions, stop_threads, count_threads

from ..base.cores import usable_cores

cdef int64_t SECOND_NS = 1000 * 1000 * 1000  # nanoseconds of a second
cdef int64_t SPIN_NS = 30 * 1000    # for this time a worker spins before it sleeps
cdef int64_t LINGER_NS = 5 * SECOND_NS  # a surplus thread ends after this idle time

cdef Engine* _engines = NULL  # linked by `next`
cdef atomic[int] _registry    # lock of _engines (1: held); taken before any engine's lock


cdef Engine* create_engine(bint naive, int workers) except NULL nogil:
    cdef Engine* e = new Engine()
    cdef int cores
    with gil:
        cores = usable_cores()
    e.naive = naive
    # Each operator splits its loops over all cores. So half as many operators as cores run at once.
    e.native.limit = e.native.keep = workers if workers > 0 else max(1, cores // 2)
    e.native.spin_ns = SPIN_NS if cores > 1 else 0
    e.native.linger_ns = e.python.linger_ns = LINGER_NS
    e.python.limit = INT_MAX
    _lock_registry()
    _free_idle_engines()
    _register_engine(e)
    _registry.store(0)
    return e


cdef void _lock_registry() noexcept nogil:
    while _registry.exchange(1):
        thread_yield()


cdef void _register_engine(Engine* e) noexcept nogil:
    global _engines
    e.next = _engines
    _engines = e


cdef void _free_idle_engines() noexcept nogil:
    """Free released engines that have no threads, runs and variables left. The registry is held."""
    cdef Engine** place = &_engines
    cdef Engine* e = _engines
    cdef bint over
    while e != NULL:
        lock(e)
        over = (e.retiring and e.pending == 0 and e.guests == 0 and e.n_vars == 0
                and e.n_operators == 0 and count_threads(e) == 0)
        unlock(e)
        if over:
            place[0] = e.next
            free_recycled_blocks(e)
            del e
        else:
            place = &e.next
        e = place[0]


cdef void wake_all_workers() noexcept nogil:
    cdef Engine* e
    cdef UnlockActions after
    clear_actions(&after)
    _lock_registry()
    e = _engines
    while e != NULL:
        lock(e)
        plan_wakeups(e, &after)
        unlock(e)
        run_unlock_actions(e, &after)
        e = e.next
    _registry.store(0)


cdef PyObject* next_unseen_error() noexcept nogil:
    cdef Engine* e
    cdef PyObject* error = NULL
    _lock_registry()
    e = _engines
    while e != NULL and error == NULL:
        lock(e)
        error = take_oldest_error(e)
        unlock(e)
        e = e.next
    _registry.store(0)
    return error


cdef void stop_all_engines(double seconds) noexcept nogil:
    cdef Engine* e
    cdef int64_t until = now_ns() + <int64_t>(seconds * SECOND_NS)
    _lock_registry()
    e = _engines
    _registry.store(0)
    while e != NULL:
        stop_threads(e, until - now_ns())
        e = e.next


# ---- fork: the child gets every engine with its lock free, no threads and nothing in flight

cdef void _lock_before_fork() noexcept nogil:
    cdef Engine* e
    _lock_registry()
    e = _engines
    while e != NULL:
        lock(e)
        e = e.next


cdef void _unlock_in_parent() noexcept nogil:
    cdef Engine* e = _engines
    while e != NULL:
        unlock(e)
        e = e.next
    _registry.store(0)


cdef void _reset_in_child() noexcept nogil:
    cdef Engine* e = _engines
    while e != NULL:
        reset_pools(e)
        unlock(e)
        e = e.next
    _registry.store(0)


if at_fork(_lock_before_fork, _unlock_in_parent, _reset_in_child):
    raise MemoryError("no memory to register what runs at a fork")
