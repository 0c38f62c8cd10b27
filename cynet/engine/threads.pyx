"""The worker threads that sleep, spin, grow and end (contract in threads.pxd).

While a worker waits for a variable inside of its function, another thread runs in its place. So the
number of threads that compute stays the same, and a wait never starves the pool.
"""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t
from libc.stdlib cimport malloc
from libcpp.atomic cimport atomic, memory_order_relaxed, memory_order_release
from libcpp.vector cimport vector

from .records cimport (
    DeferredCallback, Engine, Failure, VarLink, Pool, Run, RunAsyncFn, UnlockActions, Var, Worker,
    clear_actions, kAsync, links_of, lock, unlock, MAX_WAITING
)
from .native cimport (
    PyEval_RestoreThread, PyEval_SaveThread, PyGILState_Ensure, PyGILState_Release,
    PyGILState_STATE, PyThreadState, cpu_relax, holds_gil, now_ns, sleep_ns, sleep_on, start_thread,
    thread_yield
)
from .queue cimport count_run_end, finish_run, pop_ready_run
from .trace cimport now_if_function_traced, label_thread, note_function
from .._typedefs cimport RunContext, kGPU

from ..base.errors import OperatorError, describe_error, user_traceback, wrap_error


cdef extern from "Python.h":
    bint PyErr_Occurred() noexcept

cdef int64_t SPIN_BEFORE_YIELD_NS = 8 * 1000  # a thread spins so long before it yields
cdef int64_t LOST_CORE_NS = 100 * 1000  # a longer gap in a spin: the core was lost
cdef int64_t BRIEF_SPIN_FACTOR = 32  # for this multiple of the lost time spins stay brief
cdef int64_t MAX_BRIEF_NS = 500 * 1000 * 1000  # longest time that spins stay brief
cdef atomic[int64_t] _brief_until

cdef struct RunFrame:  # a function that this thread runs, and the outer ones
    # A function that runs on this thread. `run` is NULL if it is asynchronous: the Run may end
    # first.
    Run* run
    Engine* engine
    RunFrame* outer

cdef extern from *:
    """
    namespace {
    thread_local void* this_worker = nullptr;
    thread_local void* this_frame = nullptr;
    thread_local int bulk_size = 0;
    thread_local int bulk_count = 0;
    }
    """
    void* this_worker
    void* this_frame
    int bulk_size   # number of pushes between two wake-ups; 0: each push wakes
    int bulk_count


cdef EnterDevice _enter_device = NULL  # enters a GPU's context; NULL without GPUs


cdef void set_enter_device_fn(EnterDevice enter) noexcept nogil:
    global _enter_device
    _enter_device = enter


# ---- errors of functions

cdef int _raise_pending_error() except -1:
    return -1


cdef object _caught_exception(const char* name):  # name: of the failed function
    """Return the exception that is set in this thread, annotated with the function's name."""
    cdef str label
    if not PyErr_Occurred():
        error = OperatorError("a native function reported failure without an exception")
    else:
        try:
            _raise_pending_error()
        except BaseException as raised:
            error = raised
        error.__traceback__ = user_traceback(error.__traceback__) or error.__traceback__
    if name != NULL and isinstance(error, Exception) and not isinstance(error, OperatorError):
        label = (<bytes>name).decode("utf-8", "replace")
        return wrap_error(error, f"{label} failed: {describe_error(error)}")
    return error


cdef Failure* new_failure(PyObject* error) noexcept nogil:
    cdef Failure* failure = <Failure*>malloc(sizeof(Failure))
    if failure != NULL:
        failure.error = error
        failure.refs = 0
    return failure


cdef Failure* _catch_error(const char* name) noexcept with gil:
    error = _caught_exception(name)
    Py_INCREF(error)
    return new_failure(<PyObject*>error)


# ---- executing

cdef bint _execute_run(Run* run, int worker, Failure** failure) noexcept nogil:
    """Execute a run; return whether it is done. False: `complete` ends it, perhaps already."""
    cdef RunContext context
    cdef RunFrame frame
    cdef bint asynchronous = run.kind == kAsync
    cdef int64_t begin
    cdef int code = 0
    cdef const char* name = run.name
    context.dev_type = run.dev_type
    context.dev_id = run.dev_id
    context.stream = NULL
    context.worker = worker
    frame.engine = run.engine
    frame.outer = <RunFrame*>this_frame
    failure[0] = NULL
    if run.dev_type == kGPU and _enter_device != NULL:
        code = _enter_device(run.dev_id, &context.stream)
    if code == 0:
        frame.run = <Run*>NULL if asynchronous else run
        _set_this_frame(&frame)
        begin = now_if_function_traced(&name)
        if asynchronous:
            code = (<RunAsyncFn>run.fn)(run.arg, &context, run)
        else:
            code = run.fn(run.arg, &context)
        if begin:
            note_function(name, True, begin, &context)
        _set_this_frame(frame.outer)
        if asynchronous and code == 0:
            return False
    if code == -1:
        failure[0] = _catch_error(name)
    if run.deleter != NULL and run.opr == NULL:
        run.deleter(run.arg)
    return True


cdef inline void _set_this_frame(RunFrame* frame) noexcept nogil:
    global this_frame
    this_frame = frame


cdef void add_failure(Engine* e, Failure* failure) noexcept nogil:
    if failure != NULL:
        failure.refs += 1
        failure.epoch = e.epoch
        e.failures.push_back(failure)


cdef void run_on_this_thread(Engine* e, Run* run) noexcept nogil:
    _run_and_finish(e, run)
    if e.naive:
        drain_ready_runs(e)


cdef void drain_ready_runs(Engine* e) noexcept nogil:
    _drain_pool(e, &e.native)


cdef void _drain_pool(Engine* e, Pool* pool) noexcept nogil:
    cdef UnlockActions after
    cdef Run* run
    clear_actions(&after)
    while pool.published.load():
        lock(e)
        run = pop_ready_run(pool)
        plan_wakeups(e, &after)
        unlock(e)
        run_unlock_actions(e, &after)
        if run != NULL:
            _run_and_finish(e, run)


cdef void _run_and_finish(Engine* e, Run* run) noexcept nogil:
    cdef UnlockActions after
    cdef Failure* failure
    clear_actions(&after)
    if not _execute_run(run, 0, &failure):
        return
    lock(e)
    if run.epoch == e.epoch:
        add_failure(e, failure)
        finish_run(e, run, failure, &after)
    plan_wakeups(e, &after)
    unlock(e)
    run_unlock_actions(e, &after)


# ---- workers

cdef void plan_wakeups(Engine* e, UnlockActions* after) noexcept nogil:  # collects threads to wake
    _publish_ready_count(&e.native)
    if e.naive:
        return
    _publish_ready_count(&e.python)
    if e.native.ready > e.native.coming:
        _plan_pool_wakeups(e, &e.native, after)
    if e.python.ready > e.python.coming:
        _plan_pool_wakeups(e, &e.python, after)
    for pool in e.gpus:
        if pool != NULL:
            _publish_ready_count(pool)
            if pool.ready > pool.coming:
                _plan_pool_wakeups(e, pool, after)


cdef inline void _publish_ready_count(Pool* pool) noexcept nogil:  # for spinning workers
    if pool.published.load(memory_order_relaxed) != pool.ready:
        pool.published.store(pool.ready, memory_order_release)


cdef void plan_push_wakeups(Engine* e, UnlockActions* after) noexcept nogil:  # or delays them
    global bulk_count
    if bulk_size > 1:
        bulk_count += 1
        if bulk_count < bulk_size:
            _publish_ready_count(&e.native)
            _publish_ready_count(&e.python)
            for pool in e.gpus:
                if pool != NULL:
                    _publish_ready_count(pool)
            return
        bulk_count = 0
    plan_wakeups(e, after)


cdef int set_pushes_per_wakeup(int size) noexcept nogil:
    global bulk_size, bulk_count
    cdef int before = bulk_size
    bulk_size = size
    bulk_count = 0
    return before


cdef void _plan_pool_wakeups(Engine* e, Pool* pool, UnlockActions* after) noexcept nogil:
    cdef Worker* worker
    while pool.ready > pool.coming and pool.active < pool.limit and not e.closing:
        worker = pool.idle
        if worker != NULL:
            pool.idle = worker.next
            worker.idle = False
            worker.next = after.wake
            after.wake = worker
        elif pool.starting:
            return  # threads start one at a time: the new one starts the next
        else:
            pool.starting = True
            pool.threads += 1
            pool.next = after.start
            after.start = pool
        pool.active += 1
        pool.coming += 1


cdef void run_unlock_actions(Engine* e, UnlockActions* after) noexcept nogil:
    cdef Worker* worker
    cdef Worker* following
    cdef Pool* pool
    cdef vector[DeferredCallback] callbacks
    cdef UnlockActions more
    clear_actions(&more)
    worker = after.wake
    after.wake = NULL
    while worker != NULL:
        following = worker.next
        worker.guard.lock()
        worker.called = True
        worker.wake.notify_one()
        worker.guard.unlock()
        worker = following
    while after.start != NULL:
        pool = after.start
        after.start = pool.next  # read before the thread begins: it may change `next`
        _start_worker(e, pool)
    if not after.callbacks.empty():
        callbacks.swap(after.callbacks)
        for i in range(callbacks.size()):
            if callbacks[i].callback != NULL:
                callbacks[i].callback(callbacks[i].arg)
        lock(e)
        for i in range(callbacks.size()):
            if callbacks[i].seq:
                count_run_end(e, callbacks[i].seq)
        plan_wakeups(e, &more)
        unlock(e)
        run_unlock_actions(e, &more)


cdef void _start_worker(Engine* e, Pool* pool) noexcept nogil:
    cdef Worker* worker = new Worker()
    cdef bint alone
    worker.engine = e
    worker.pool = pool
    worker.idle = worker.called = False
    if start_thread(_run_worker, worker):
        return
    del worker
    lock(e)
    pool.threads -= 1
    pool.active -= 1
    pool.coming -= 1
    pool.starting = False
    # `active` is below 0 where a waiting thread runs functions that wait too.
    alone = pool.active <= 0 and (pool.threads == 0 or pool == &e.python)
    unlock(e)
    if alone:  # no thread can be created and all others wait: run on this one
        _drain_pool(e, pool)


cdef void _run_worker(void* arg) noexcept nogil:
    """The main function of a worker. Its thread state lasts, so an exception set without the GIL
    stays."""
    cdef Worker* worker = <Worker*>arg
    cdef Engine* e = worker.engine
    cdef Pool* pool = worker.pool
    cdef PyGILState_STATE state = PyGILState_Ensure()
    cdef PyThreadState* saved = PyEval_SaveThread()
    _set_this_worker(worker)
    lock(e)
    if e.free_indices.empty():
        e.next_index += 1
        worker.index = e.next_index
    else:
        worker.index = e.free_indices.back()
        e.free_indices.pop_back()
    label_thread(b"native worker" if pool == &e.native else b"worker", worker.index)
    pool.starting = False
    pool.coming -= 1
    if not _serve_pool(e, pool, worker):
        return  # forked while it ran a function: this is the child's only thread, and no worker
    e.free_indices.push_back(worker.index)
    pool.threads -= 1
    unlock(e)
    _set_this_worker(NULL)
    del worker
    PyEval_RestoreThread(saved)
    PyGILState_Release(state)


cdef inline void _set_this_worker(Worker* worker) noexcept nogil:
    global this_worker
    this_worker = worker


cdef bint _serve_pool(Engine* e, Pool* pool, Worker* worker) noexcept nogil:
    """Execute runs until it is time to end. The lock is held at the start and at the end."""
    cdef UnlockActions after
    cdef Failure* failure
    cdef Run* run
    clear_actions(&after)
    while True:
        run = NULL
        if pool.active <= pool.limit and not e.closing:
            run = pop_ready_run(pool)
        if run != NULL:
            plan_wakeups(e, &after)
            unlock(e)
            run_unlock_actions(e, &after)
            if _execute_run(run, worker.index, &failure):
                if this_worker != worker:
                    return False
                lock(e)
                add_failure(e, failure)
                finish_run(e, run, failure, &after)
            else:
                if this_worker != worker:
                    return False
                lock(e)
        elif e.closing or e.retiring:
            pool.active -= 1
            plan_wakeups(e, &after)
            return True
        elif pool.spin_ns and pool.active <= pool.limit and _spin_for_run(e, pool, &after):
            continue
        elif not _sleep_until_called(e, pool, worker, &after):
            return True


cdef bint _spin_for_run(Engine* e, Pool* pool, UnlockActions* after) noexcept nogil:
    """Spin until a run is ready; false after the spin time. The lock is held before and after."""
    cdef Spin spin
    cdef int spins = 0
    cdef bint found = True
    spin.until = 0
    pool.coming += 1
    plan_wakeups(e, after)
    unlock(e)
    run_unlock_actions(e, after)
    while not pool.published.load(memory_order_relaxed):
        cpu_relax()
        spins += 1
        if spins % 32 == 0 and not may_keep_spinning(&spin, pool.spin_ns):
            found = False
            break
    lock(e)
    pool.coming -= 1
    return found or pool.ready > 0


cdef bint _sleep_until_called(
        Engine* e, Pool* pool, Worker* worker, UnlockActions* after) noexcept nogil:
    """Sleep until called; false after a long idle time. The lock is held before and after."""
    cdef Worker** place
    cdef int64_t until = 0, left = -1
    cdef bint stays = pool.threads <= pool.keep
    pool.active -= 1
    worker.next = pool.idle
    worker.idle = True
    worker.called = False
    pool.idle = worker
    plan_wakeups(e, after)
    unlock(e)
    run_unlock_actions(e, after)
    if not stays:
        until = now_ns() + pool.linger_ns
    worker.guard.lock()
    while not worker.called:
        if until:
            left = until - now_ns()
            if left <= 0:
                worker.guard.unlock()
                lock(e)
                if worker.idle:
                    place = &pool.idle
                    while place[0] != worker:
                        place = &place[0].next
                    place[0] = worker.next
                    return False
                unlock(e)  # the worker was called just now and will come
                until = 0
                left = -1
                worker.guard.lock()
                continue
        sleep_on(&worker.wake, &worker.guard, left)
    worker.guard.unlock()
    lock(e)
    pool.coming -= 1
    return True


# ---- spinning

cdef bint may_keep_spinning(Spin* spin, int64_t spin_ns) noexcept nogil:  # False: time to sleep
    cdef int64_t now = now_ns()
    if spin.until == 0:
        spin.brief = now < _brief_until.load(memory_order_relaxed)
        spin.yields_at = now + SPIN_BEFORE_YIELD_NS
        spin.until = spin.yields_at if spin.brief else now + spin_ns
    elif now - spin.last > LOST_CORE_NS:
        _brief_until.store(
            now + min(BRIEF_SPIN_FACTOR * (now - spin.last), MAX_BRIEF_NS), memory_order_relaxed)
        return False
    elif now > spin.until:
        return False
    spin.last = now
    if now > spin.yields_at and not spin.brief:
        thread_yield()
    return True


# ---- state of this thread

cdef bint is_on_worker() noexcept nogil:
    return this_worker != NULL


cdef bint is_nested_too_deep() noexcept nogil:  # too many runs wait for others
    cdef Worker* worker = <Worker*>this_worker
    return worker != NULL and worker.pool.waiting.load() >= MAX_WAITING


cdef void set_worker_waiting(bint waits) noexcept nogil:
    cdef Worker* worker = <Worker*>this_worker
    cdef UnlockActions after
    cdef Engine* e = worker.engine
    clear_actions(&after)
    worker.pool.waiting.fetch_add(1 if waits else -1)
    lock(e)
    worker.pool.active += -1 if waits else 1
    plan_wakeups(e, &after)
    unlock(e)
    run_unlock_actions(e, &after)


cdef bint is_held_by_thread(Var* var, bint write) noexcept nogil:
    cdef RunFrame* frame = <RunFrame*>this_frame
    cdef VarLink* link
    cdef int _
    while frame != NULL:
        if frame.run != NULL:
            link = links_of(frame.run)
            for _ in range(frame.run.n_links):
                if link.var == var and (link.write or not write):
                    return True
                link += 1
        frame = frame.outer
    return False


cdef bint is_inside_engine(Engine* e) noexcept nogil:
    cdef RunFrame* frame = <RunFrame*>this_frame
    while frame != NULL:
        if frame.engine == e:
            return True
        frame = frame.outer
    return False


# ---- stop and fork

cdef void stop_threads(Engine* e, int64_t patience_ns) noexcept nogil:
    cdef UnlockActions after
    cdef PyThreadState* saved = NULL
    cdef int64_t until = now_ns() + patience_ns
    cdef bint ended = False
    clear_actions(&after)
    if holds_gil():
        saved = PyEval_SaveThread()
    lock(e)
    e.closing = True
    _dismiss_all_workers(e, &after)
    unlock(e)
    run_unlock_actions(e, &after)
    while True:
        lock(e)
        ended = count_threads(e) == 0
        unlock(e)
        if ended or now_ns() > until:
            break
        sleep_ns(200 * 1000)
    if saved != NULL:
        PyEval_RestoreThread(saved)


cdef void _dismiss_all_workers(Engine* e, UnlockActions* after) noexcept nogil:
    _dismiss_workers(&e.native, after)
    _dismiss_workers(&e.python, after)
    for pool in e.gpus:
        if pool != NULL:
            _dismiss_workers(pool, after)


cdef void _dismiss_workers(Pool* pool, UnlockActions* after) noexcept nogil:
    cdef Worker* worker = pool.idle
    while worker != NULL:
        pool.idle = worker.next
        worker.idle = False
        worker.next = after.wake
        after.wake = worker
        pool.active += 1
        pool.coming += 1
        worker = pool.idle


cdef int count_threads(Engine* e) noexcept nogil:
    cdef int n = e.native.threads + e.python.threads
    for pool in e.gpus:
        if pool != NULL:
            n += pool.threads
    return n


cdef void retire_threads(Engine* e) noexcept nogil:
    cdef UnlockActions after
    clear_actions(&after)
    lock(e)
    e.retiring = True
    _dismiss_all_workers(e, &after)
    unlock(e)
    run_unlock_actions(e, &after)


cdef void reset_pools(Engine* e) noexcept nogil:
    _set_this_worker(NULL)
    _set_this_frame(NULL)  # the function that forked runs on in the parent process
    e.epoch += 1
    e.pending = 0
    e.guests = 0
    e.granted_first = NULL
    e.waiters = NULL
    e.free_indices.clear()
    e.next_index = 0
    _reset_pool(&e.native)
    _reset_pool(&e.python)
    for pool in e.gpus:
        if pool != NULL:
            _reset_pool(pool)


cdef void _reset_pool(Pool* pool) noexcept nogil:
    pool.first = NULL
    pool.heap.clear()
    pool.ready = 0
    pool.published.store(0)
    pool.waiting.store(0)
    pool.active = pool.threads = pool.coming = 0
    pool.starting = False
    pool.idle = NULL
