"""Waits for variables (contract in wait.pxd).

A waiter has the number of runs that it waits for: the end of each run decrements the number, and
the last one signals. While a worker waits, another thread runs in its place.
"""

from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_XDECREF
from libc.stdint cimport int64_t
from libc.stdlib cimport free
from libcpp.atomic cimport memory_order_acquire, memory_order_relaxed
from libcpp.vector cimport vector

from .records cimport (
    Engine, UnlockActions, Var, Waiter, clear_actions, kDone, kSleeping, kSpinning, lock, unlock,
    MAX_WAITING
)
from .native cimport (
    PyEval_RestoreThread, PyEval_SaveThread, PyGILState_Ensure, PyGILState_Release,
    PyGILState_STATE, PyThreadState, cpu_relax, holds_gil, sleep_on
)
from .queue cimport reset_var_after_fork, take_var_error
from .threads cimport (
    Spin, is_held_by_thread, is_inside_engine, is_on_worker, is_nested_too_deep, plan_wakeups,
    run_unlock_actions, set_worker_waiting, may_keep_spinning
)
from .trace cimport SPANS, now_if_traced, note_wait

from ..base.errors import CynetError, NestingError

cdef extern from "Python.h" nogil:
    int PyErr_CheckSignals() noexcept

cdef int64_t SIGNAL_CHECK_NS = 50 * 1000 * 1000  # a waiting thread checks for Ctrl-C so often
cdef int64_t SPIN_NS = 30 * 1000  # for this time a waiting thread spins before it sleeps
cdef int SOON_SPINS = 256  # spins before a wait takes the lock


cdef int wait_var(Var* var, bint reads) except -1 nogil:
    cdef Engine* e = var.engine
    cdef PyObject* error
    cdef int64_t remaining
    if not reads and _is_done_after_spin(e, var):
        return 0
    lock(e)
    reset_var_after_fork(e, var)
    remaining = var.pending_writes.load(memory_order_relaxed)
    if reads:
        remaining += var.pending_reads
    if remaining and is_held_by_thread(var, reads):
        unlock(e)  # the function that waits holds the variable: earlier writers are done
        return 0
    if remaining:
        if reads and is_held_by_thread(var, False):
            unlock(e)
            _refuse_wait("write to a variable it reads")
        _wait_in_list(e, &var.waiters, reads, remaining)
        lock(e)
    error = take_var_error(e, var)
    unlock(e)
    if error != NULL:
        return _raise_error(error)
    return 0


cdef bint _is_done_after_spin(Engine* e, Var* var) noexcept nogil:
    """Return whether all writers end within a short spin and none has failed; takes no lock."""
    cdef int spins = 0
    if var.epoch != e.epoch:
        return False
    while var.pending_writes.load(memory_order_acquire):
        if spins == SOON_SPINS or holds_gil():
            return False
        cpu_relax()
        spins += 1
    return var.failure.load(memory_order_acquire) == NULL


cdef int _wait_in_list(Engine* e, Waiter** waiters, bint reads, int64_t remaining) except -1 nogil:
    """Append a waiter to the list and wait. The lock is held at the start and free at the end."""
    cdef UnlockActions after
    cdef Waiter waiter
    cdef int code
    if e.closing:
        unlock(e)
        return _refuse_stopped_engine()
    if is_nested_too_deep():
        unlock(e)
        return _refuse_deep_nesting()
    clear_actions(&after)
    waiter.before = e.seq + 1
    waiter.remaining = remaining
    waiter.reads = reads
    waiter.state.store(kSpinning)
    waiter.next = waiters[0]
    waiters[0] = &waiter
    plan_wakeups(e, &after)  # workers may still sleep inside of `bulk`
    unlock(e)
    run_unlock_actions(e, &after)
    code = _spin_or_sleep(&waiter)
    if code:
        lock(e)  # a signalling thread no longer uses the waiter once the lock is free
        if waiter.state.load() != kDone:
            while waiters[0] != &waiter:
                waiters = &waiters[0].next
            waiters[0] = waiter.next
        unlock(e)
    return -1 if code < 0 else 0


cdef int wait_all(Engine* e) except -1 nogil:
    cdef vector[PyObject*] errors
    if is_inside_engine(e):
        _refuse_wait("all functions")
    lock(e)
    if e.pending:
        _wait_in_list(e, &e.waiters, True, e.pending)
        lock(e)
    for failure in e.failures:
        errors.push_back(failure.error)
        failure.error = NULL
        failure.refs -= 1
        if failure.refs == 0:
            free(failure)
    e.failures.clear()
    unlock(e)
    if errors.empty():
        return 0
    with gil:
        for i in range(1, errors.size()):
            Py_XDECREF(errors[i])
    return _raise_error(errors[0])


cdef int _raise_error(PyObject* error) except -1 nogil:
    with gil:
        raised = <object>error
        Py_DECREF(raised)
        raise raised


cdef int _refuse_wait(const char* what) except -1 nogil:
    with gil:
        raise CynetError(
            f"a function that the engine runs waits for {what.decode()}: it would wait for itself")


cdef int _refuse_stopped_engine() except -1 nogil:
    with gil:
        raise CynetError("the engine has stopped: what is still pending will not run")


cdef int _refuse_deep_nesting() except -1 nogil:
    with gil:
        raise NestingError(
            f"{MAX_WAITING} functions of the engine wait for others: does an operator use itself?")


# ---- sleeping

cdef int _spin_or_sleep(Waiter* waiter) noexcept nogil:
    """Return 0 if done in the spin, 1 if done after a sleep, -1 if a signal handler raised."""
    cdef bint worker = is_on_worker()
    cdef PyThreadState* saved = NULL
    cdef int64_t begin = now_if_traced(SPANS)
    cdef int code = 0
    if holds_gil():
        saved = PyEval_SaveThread()
    if worker:
        set_worker_waiting(True)
    if not _spin_on_waiter(waiter):
        code = _sleep_on_waiter(waiter, not worker)
    if worker:
        set_worker_waiting(False)
    if begin:
        note_wait(begin)
    if saved != NULL:
        PyEval_RestoreThread(saved)
    return code


cdef bint _spin_on_waiter(Waiter* waiter) noexcept nogil:
    cdef Spin spin
    cdef int spins = 0
    spin.until = 0
    while waiter.state.load(memory_order_acquire) != kDone:
        cpu_relax()
        spins += 1
        if spins % 32 == 0 and not may_keep_spinning(&spin, SPIN_NS):
            return False
    return True


cdef int _sleep_on_waiter(Waiter* waiter, bint interruptible) noexcept nogil:
    cdef int expected = kSpinning
    cdef int64_t slice_ns = SIGNAL_CHECK_NS if interruptible else -1
    if not waiter.state.compare_exchange_strong(expected, kSleeping):
        return 0  # done just now
    while True:
        waiter.guard.lock()
        if waiter.state.load() != kDone:
            sleep_on(&waiter.wake, &waiter.guard, slice_ns)
        waiter.guard.unlock()
        if waiter.state.load() == kDone:
            return 1
        if interruptible and _has_signal_raised():
            return -1


cdef bint _has_signal_raised() noexcept nogil:
    cdef PyGILState_STATE state = PyGILState_Ensure()
    cdef int code = PyErr_CheckSignals()
    PyGILState_Release(state)
    return code != 0
