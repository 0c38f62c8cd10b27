"""The dependency engine's doors (contract in _engine.pxd); rules in _engine_queue, threads in _engine_threads."""

from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF
from libc.limits cimport INT_MAX
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libcpp.atomic cimport atomic
from libcpp.vector cimport vector

from ._engine_core cimport (
    After, Engine, Failure, Operator, Run, RunFn, Var, Waiter, kAsync, kDelete, kSync, clear, lock, unlock
)
from ._engine_native cimport PyGILState_GetThisThreadState, at_fork, now_ns, thread_yield
from ._engine_queue cimport (
    distinct, enter, finish, free_blocks, make_run, make_var, refresh, release_operator, settle, take_error
)
from ._engine_threads cimport (
    after_fork, drain, held_here, inside, new_failure, plan, plan_push, retire, run_here, set_bulk, settle_after,
    stop, wait_on
)

import os

from . import config
from .errors import ArgumentError, CynetError

cdef int64_t NS = 1000 * 1000 * 1000


# ---- engines

cdef Engine* _default = NULL
cdef Engine* _engines = NULL  # all of this process, linked by `next`
cdef atomic[int] _registry    # 1 while somebody holds _engines; taken before any engine's lock


cdef EngineHandle make_engine(bint naive, int workers) except NULL nogil:
    cdef Engine* e = new Engine()
    cdef int cores
    with gil:
        cores = _cores()
    e.naive = naive
    e.native.limit = e.native.keep = workers if workers > 0 else cores
    e.native.spin_ns = 30 * 1000 if cores > 1 else 0
    e.native.linger_ns = e.python.linger_ns = 5 * NS
    e.python.limit = INT_MAX
    _lock_registry()
    _sweep()
    _adopt(e)
    _registry.store(0)
    return e


cdef int _cores() except -1:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


cdef void _lock_registry() noexcept nogil:
    while _registry.exchange(1):
        thread_yield()


cdef void _adopt(Engine* e) noexcept nogil:
    global _engines
    e.next = _engines
    _engines = e


cdef void _sweep() noexcept nogil:
    """Free the engines that were dropped and have come to rest since. The registry is held."""
    cdef Engine** place = &_engines
    cdef Engine* e = _engines
    cdef bint over
    while e != NULL:
        lock(e)
        over = (e.retiring and e.pending == 0 and e.n_vars == 0 and e.n_operators == 0
                and e.native.threads == 0 and e.python.threads == 0)
        unlock(e)
        if over:
            place[0] = e.next
            free_blocks(e)
            del e
        else:
            place = &e.next
        e = place[0]


cdef EngineHandle default_engine() noexcept nogil:
    return _default


cdef bint is_naive(EngineHandle engine) noexcept nogil:
    return (<Engine*>engine).naive


cdef void drop_engine(EngineHandle engine) noexcept nogil:
    retire(<Engine*>engine)


cdef void stop_engines(double seconds) noexcept nogil:
    cdef Engine* e
    cdef int64_t until = now_ns() + <int64_t>(seconds * NS)
    _lock_registry()
    e = _engines
    _registry.store(0)
    while e != NULL:  # engines made meanwhile stand before this one: none is missed that had work
        stop(e, until - now_ns())
        e = e.next


cdef int set_bulk_size(int size) noexcept nogil:
    cdef int before = set_bulk(size)
    cdef Engine* e
    cdef After after
    if before > 1:  # wake for what was pushed since the last time
        clear(&after)
        _lock_registry()
        e = _engines
        while e != NULL:
            lock(e)
            plan(e, &after)
            unlock(e)
            settle_after(e, &after)
            e = e.next
        _registry.store(0)
    return before


cdef Census census(EngineHandle engine) noexcept nogil:
    cdef Engine* e = <Engine*>engine
    cdef Census figures
    lock(e)
    figures.variables = e.n_vars
    figures.operators = e.n_operators
    figures.pending = e.pending
    figures.native_threads = e.native.threads
    figures.python_threads = e.python.threads
    unlock(e)
    return figures


# ---- fork: the child gets every engine with its lock free, no threads and nothing in flight

cdef void _before_fork() noexcept nogil:
    cdef Engine* e
    _lock_registry()
    e = _engines
    while e != NULL:
        lock(e)
        e = e.next


cdef void _after_fork_parent() noexcept nogil:
    cdef Engine* e = _engines
    while e != NULL:
        unlock(e)
        e = e.next
    _registry.store(0)


cdef void _after_fork_child() noexcept nogil:
    cdef Engine* e = _engines
    while e != NULL:
        after_fork(e)
        unlock(e)
        e = e.next
    _registry.store(0)


# ---- variables

cdef VarHandle new_variable() except NULL nogil:
    return new_variable_on(_default)


cdef VarHandle new_variable_on(EngineHandle engine) except NULL nogil:
    cdef Engine* e = <Engine*>engine
    cdef Var* var
    lock(e)
    var = make_var(e)
    unlock(e)
    if var == NULL:
        with gil:
            raise MemoryError("no memory for an engine variable")
    return var


cdef int delete_variable(VarHandle handle, EngineDeleter on_delete, void* arg) except -1 nogil:
    cdef Var* var = <Var*>handle
    cdef Engine* e = var.engine
    cdef After after
    cdef Run* run
    clear(&after)
    lock(e)
    run = make_run(e, 1)
    if run != NULL:
        run.kind = kDelete
        run.flags = 0
        run.opr = NULL
        run.deleter = on_delete
        run.arg = arg
        if enter(e, run, NULL, 0, &var, 1):
            settle(e, run, &after)
        plan(e, &after)
    unlock(e)
    settle_after(e, &after)
    if run == NULL:
        with gil:
            raise MemoryError("no memory to delete an engine variable")
    return 0


cdef bint is_ready(VarHandle handle) noexcept nogil:
    cdef Var* var = <Var*>handle
    cdef Engine* e = var.engine
    cdef bint ready
    lock(e)
    refresh(e, var)
    ready = var.pending_writes == 0
    unlock(e)
    return ready


# ---- operators

cdef OprHandle new_operator(
        EngineFn fn, void* arg, EngineDeleter deleter,
        const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
        int flags, const char* name) except NULL nogil:
    return new_operator_on(_default, fn, arg, deleter, const_vars, n_const, mutable_vars, n_mutable, flags, name)


cdef OprHandle new_operator_on(
        EngineHandle engine, EngineFn fn, void* arg, EngineDeleter deleter,
        const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
        int flags, const char* name) except NULL nogil:
    cdef Engine* e = <Engine*>engine
    cdef Operator* opr
    cdef bint good
    cdef int i
    if not _belong(e, const_vars, n_const) or not _belong(e, mutable_vars, n_mutable):
        _refuse_foreign(name)
    lock(e)
    good = distinct(e, <Var**>const_vars, n_const, <Var**>mutable_vars, n_mutable)
    unlock(e)
    if not good:
        _refuse_duplicate(name)
    opr = <Operator*>malloc(sizeof(Operator) + (n_const + n_mutable) * sizeof(Var*))
    if opr == NULL:
        with gil:
            raise MemoryError("no memory for an engine operator")
    opr.engine = e
    opr.fn = <RunFn>fn
    opr.arg = arg
    opr.deleter = deleter
    opr.name = name
    opr.flags = flags
    opr.n_const = n_const
    opr.n_vars = n_const + n_mutable
    opr.uses = 0
    opr.epoch = e.epoch
    opr.deleted = False
    for i in range(n_const):
        opr.vars[i] = <Var*>const_vars[i]
    for i in range(n_mutable):
        opr.vars[n_const + i] = <Var*>mutable_vars[i]
    lock(e)
    e.n_operators += 1
    unlock(e)
    return opr


cdef int push(OprHandle handle, int dev_type, int dev_id, int priority) except -1 nogil:
    cdef Operator* opr = <Operator*>handle
    cdef Engine* e = opr.engine
    cdef Run* run
    lock(e)
    run = make_run(e, opr.n_vars)
    if run == NULL:
        unlock(e)
        _no_memory()
    run.kind = kSync
    run.fn = opr.fn
    run.arg = opr.arg
    run.deleter = NULL
    run.opr = opr
    run.name = opr.name
    run.flags = opr.flags
    run.priority = priority
    run.dev_type = dev_type
    run.dev_id = dev_id
    if opr.epoch != e.epoch:
        opr.epoch = e.epoch
        opr.uses = 0
    opr.uses += 1
    _enter_and_go(e, run, opr.vars, opr.n_const, opr.vars + opr.n_const, opr.n_vars - opr.n_const)
    return 0


cdef int delete_operator(OprHandle handle) except -1 nogil:
    cdef Operator* opr = <Operator*>handle
    cdef Engine* e = opr.engine
    cdef After after
    clear(&after)
    lock(e)
    if opr.epoch != e.epoch:
        opr.epoch = e.epoch
        opr.uses = 0
    opr.deleted = True
    opr.uses += 1
    release_operator(e, opr, &after)
    unlock(e)
    settle_after(e, &after)
    return 0


# ---- pushing

cdef int push_sync(
        EngineFn fn, void* arg, EngineDeleter deleter, int dev_type, int dev_id,
        const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
        int priority, int flags, const char* name) except -1 nogil:
    return _push(_default, kSync, <RunFn>fn, arg, deleter, dev_type, dev_id, <Var**>const_vars, n_const,
                 <Var**>mutable_vars, n_mutable, priority, flags, name)


cdef int push_async(
        EngineAsyncFn fn, void* arg, EngineDeleter deleter, int dev_type, int dev_id,
        const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
        int priority, int flags, const char* name) except -1 nogil:
    return _push(_default, kAsync, <RunFn>fn, arg, deleter, dev_type, dev_id, <Var**>const_vars, n_const,
                 <Var**>mutable_vars, n_mutable, priority, flags, name)


cdef int push_sync_on(
        EngineHandle engine, EngineFn fn, void* arg, EngineDeleter deleter, int dev_type, int dev_id,
        const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
        int priority, int flags, const char* name) except -1 nogil:
    return _push(<Engine*>engine, kSync, <RunFn>fn, arg, deleter, dev_type, dev_id, <Var**>const_vars, n_const,
                 <Var**>mutable_vars, n_mutable, priority, flags, name)


cdef int push_async_on(
        EngineHandle engine, EngineAsyncFn fn, void* arg, EngineDeleter deleter, int dev_type, int dev_id,
        const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
        int priority, int flags, const char* name) except -1 nogil:
    return _push(<Engine*>engine, kAsync, <RunFn>fn, arg, deleter, dev_type, dev_id, <Var**>const_vars,
                 n_const, <Var**>mutable_vars, n_mutable, priority, flags, name)


cdef inline int _push(
        Engine* e, int kind, RunFn fn, void* arg, EngineDeleter deleter, int dev_type, int dev_id,
        Var** const_vars, int n_const, Var** mutable_vars, int n_mutable,
        int priority, int flags, const char* name) except -1 nogil:
    cdef Run* run
    if not _belong(e, <VarHandle*>const_vars, n_const) or not _belong(e, <VarHandle*>mutable_vars, n_mutable):
        return _refuse_foreign(name)
    lock(e)
    if n_const + n_mutable > 1 and not distinct(e, const_vars, n_const, mutable_vars, n_mutable):
        unlock(e)
        return _refuse_duplicate(name)
    run = make_run(e, n_const + n_mutable)
    if run == NULL:
        unlock(e)
        return _no_memory()
    run.kind = kind
    run.fn = fn
    run.arg = arg
    run.deleter = deleter
    run.opr = NULL
    run.name = name
    run.flags = flags
    run.priority = priority
    run.dev_type = dev_type
    run.dev_id = dev_id
    _enter_and_go(e, run, const_vars, n_const, mutable_vars, n_mutable)
    return 0


cdef inline void _enter_and_go(
        Engine* e, Run* run, Var** const_vars, int n_const, Var** mutable_vars, int n_mutable) noexcept nogil:
    """Queue the run and let go of the lock; execute it here when that is allowed."""
    cdef After after
    cdef bint here
    clear(&after)
    if enter(e, run, const_vars, n_const, mutable_vars, n_mutable):
        here = run.kind == kSync and run.flags & kInline and e.failures.empty() and not e.closing
        if here and PyGILState_GetThisThreadState() != NULL:
            unlock(e)
            run_here(e, run)
            return
        settle(e, run, &after)
        plan_push(e, &after)
    unlock(e)
    settle_after(e, &after)
    if e.naive:
        drain(e)


cdef inline bint _belong(Engine* e, const VarHandle* vars, int n) noexcept nogil:
    cdef int i
    for i in range(n):
        if vars[i] == NULL or (<Var*>vars[i]).engine != e:
            return False
    return True


cdef int _refuse_foreign(const char* name) except -1 nogil:
    with gil:
        raise ArgumentError(
            f"{_label(name)}: a variable that is not alive in the engine it is pushed to")


cdef int _refuse_duplicate(const char* name) except -1 nogil:
    with gil:
        raise ArgumentError(
            f"{_label(name)}: a variable stands twice in const_vars and mutable_vars; each may stand once")


cdef int _no_memory() except -1 nogil:
    with gil:
        raise MemoryError("no memory to push a function")


cdef str _label(const char* name):
    return "a function" if name == NULL else (<bytes>name).decode("utf-8", "replace")


cdef void complete(void* token, void* error) noexcept nogil:
    cdef Run* run = <Run*>token
    cdef Engine* e = run.engine
    cdef After after
    cdef Failure* failure = NULL
    clear(&after)
    if error != NULL:
        with gil:
            Py_INCREF(<object>error)
        failure = new_failure(<PyObject*>error)
    if run.deleter != NULL:
        run.deleter(run.arg)
    lock(e)
    if run.epoch == e.epoch:
        if failure != NULL:
            failure.refs += 1
            e.failures.push_back(failure)
        finish(e, run, failure, &after)
    plan(e, &after)
    unlock(e)
    settle_after(e, &after)
    if e.naive:
        drain(e)


# ---- waiting

cdef int wait_for_var(VarHandle handle) except -1 nogil:
    return _wait(<Var*>handle, False)


cdef int wait_to_write(VarHandle handle) except -1 nogil:
    return _wait(<Var*>handle, True)


cdef int _wait(Var* var, bint reads) except -1 nogil:
    cdef Engine* e = var.engine
    cdef PyObject* error
    cdef int64_t remaining
    cdef bint stopped
    cdef Waiter* waiter
    lock(e)
    refresh(e, var)
    remaining = var.pending_writes
    if reads:
        remaining += var.pending_reads
    if remaining and held_here(var, reads):
        unlock(e)  # whatever was pushed before the function that waits is done
        return 0
    if remaining:
        if reads and held_here(var, False):
            unlock(e)
            _refuse_wait("write to a variable it reads")
        waiter = new Waiter()
        waiter.reads = reads
        _wait_in(e, &var.waiters, waiter, remaining)
        lock(e)
    error = take_error(e, var)
    unlock(e)
    if error != NULL:
        return _raise(error)
    return 0


cdef int _wait_in(Engine* e, Waiter** waiters, Waiter* waiter, int64_t remaining) except -1 nogil:
    """Wait as one of `waiters`. The lock is held at the start, free at the end; frees `waiter`."""
    cdef After after
    cdef int code
    if e.closing:
        unlock(e)
        del waiter
        return _refuse_stopped()
    clear(&after)
    waiter.before = e.seq + 1
    waiter.remaining = remaining
    waiter.done.store(0)
    waiter.next = waiters[0]
    waiters[0] = waiter
    plan(e, &after)  # a bulk may have left workers asleep
    unlock(e)
    settle_after(e, &after)
    code = (<int (*)(Waiter*) noexcept nogil>wait_on)(waiter)
    lock(e)
    if not waiter.done.load():
        while waiters[0] != waiter:
            waiters = &waiters[0].next
        waiters[0] = waiter.next
    unlock(e)
    del waiter
    return code


cdef int wait_for_all() except -1 nogil:
    return wait_for_all_on(_default)


cdef int wait_for_all_on(EngineHandle engine) except -1 nogil:
    cdef Engine* e = <Engine*>engine
    cdef Waiter* waiter
    cdef vector[PyObject*] errors
    if inside(e):
        _refuse_wait("all functions")
    lock(e)
    if e.pending:
        waiter = new Waiter()
        waiter.reads = True
        _wait_in(e, &e.waiters, waiter, e.pending)
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
    return _raise(errors[0])


cdef int _raise(PyObject* error) except -1 nogil:
    with gil:
        raised = <object>error
        Py_DECREF(raised)
        raise raised


cdef int _refuse_wait(const char* what) except -1 nogil:
    with gil:
        raise CynetError(
            f"a function that the engine runs waits for {what.decode()}: it would wait for itself")


cdef int _refuse_stopped() except -1 nogil:
    with gil:
        raise CynetError("the engine has stopped: what is still pending will not run")


# ---- the default engine

cdef int _set_up() except -1:
    global _default
    kind = config.get("CYNET_ENGINE_TYPE")
    if kind not in ("ThreadedEngine", "NaiveEngine"):
        raise ArgumentError(
            f"environment variable CYNET_ENGINE_TYPE={kind!r}: expected ThreadedEngine or NaiveEngine")
    _default = <Engine*>make_engine(kind == "NaiveEngine", config.get("CYNET_CPU_WORKERS"))
    at_fork(_before_fork, _after_fork_parent, _after_fork_child)
    return 0


_set_up()
