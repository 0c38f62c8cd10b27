"""The dependency engine's entry points (contract in _engine.pxd).

Behind them: rules in engine/queue, threads in engine/threads, waits in engine/wait, the engines
of a process in engine/process.
"""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdlib cimport malloc
from libcpp.atomic cimport memory_order_acquire

from .engine.records cimport (
    Engine, Failure, Operator, Run, RunFn, UnlockActions, Var, clear_actions, has_pending_write,
    kAsync, kDelete, kSync, lock, unlock
)
from .engine.deferred cimport (
    default_call_limit, deferred_mask, flush_all_deferred, flush_before, load_mask, may_be_deferred,
    set_call_limit
)
from .engine.native cimport PyGILState_GetThisThreadState
from .engine.process cimport create_engine, next_unseen_error, stop_all_engines, wake_all_workers
from .engine.queue cimport (
    are_distinct, enqueue_or_skip_run, enqueue_run, failure_of_var, finish_run, make_run, make_var,
    release_operator, release_writes
)
from .engine.threads cimport (
    add_failure, new_failure, plan_push_wakeups, plan_wakeups, retire_threads, run_on_this_thread,
    drain_ready_runs, run_unlock_actions, set_pushes_per_wakeup
)
from .engine.wait cimport wait_all, wait_var

from .base import config
from .base.errors import ArgumentError, OutOfMemoryError

cdef Engine* _default_engine = NULL


# ---- engines

cdef EngineHandle default_engine() noexcept nogil:
    return _default_engine


cdef EngineHandle make_engine(bint naive, int workers) except NULL nogil:
    return create_engine(naive, workers)


cdef void drop_engine(EngineHandle engine) noexcept nogil:
    retire_threads(<Engine*>engine)


cdef void stop_engines(double seconds) noexcept nogil:
    stop_all_engines(seconds)


cdef void* next_unraised_error() noexcept nogil:
    return next_unseen_error()


cdef bint is_naive(EngineHandle engine) noexcept nogil:
    return (<Engine*>engine).naive


cdef int set_bulk_size(int size) noexcept nogil:
    # while operators are bulked by default, each push still wakes workers
    if set_pushes_per_wakeup(0 if size == default_call_limit() else size) > 1:
        wake_all_workers()
    return set_call_limit(size)


cdef EngineCounts count_engine_work(EngineHandle engine) noexcept nogil:
    cdef Engine* e = <Engine*>engine
    cdef EngineCounts figures
    lock(e)
    figures.variables = e.n_vars
    figures.operators = e.n_operators
    figures.pending = e.pending
    figures.native_threads = e.native.threads
    figures.python_threads = e.python.threads
    figures.gpu_threads = 0
    for pool in e.gpus:
        if pool != NULL:
            figures.gpu_threads += pool.threads
    unlock(e)
    return figures


# ---- variables

cdef VarHandle new_variable() except NULL nogil:
    return new_variable_on(_default_engine)


cdef VarHandle new_variable_on(EngineHandle engine) except NULL nogil:
    cdef Engine* e = <Engine*>engine
    cdef Var* var
    lock(e)
    var = make_var(e)
    unlock(e)
    if var == NULL:
        with gil:
            raise OutOfMemoryError("no memory for an engine variable")
    return var


cdef int delete_variable(VarHandle handle, EngineDeleter on_delete, void* arg) except -1 nogil:
    cdef Var* var = <Var*>handle
    cdef Engine* e = var.engine
    cdef UnlockActions after
    cdef Run* run
    clear_actions(&after)
    lock(e)
    run = make_run(e, 1)
    if run != NULL:
        run.kind = kDelete
        run.flags = 0
        run.opr = NULL
        run.deleter = on_delete
        run.arg = arg
        if enqueue_run(e, run, NULL, 0, &var, 1):
            enqueue_or_skip_run(e, run, &after)
        plan_wakeups(e, &after)
    unlock(e)
    run_unlock_actions(e, &after)
    if run == NULL:
        with gil:
            raise OutOfMemoryError("no memory to delete an engine variable")
    return 0


cdef bint is_ready(VarHandle handle) noexcept nogil:
    return not may_be_deferred(handle, False) and not has_pending_write(<Var*>handle)


cdef bint is_readable(VarHandle handle) noexcept nogil:
    cdef Var* var = <Var*>handle
    cdef bint failed
    if has_pending_write(var):  # deferred calls are not looked for: the caller pushes them now
        return False
    if var.failure.load(memory_order_acquire) == NULL:
        return True
    lock(var.engine)
    failed = failure_of_var(var) != NULL
    unlock(var.engine)
    return not failed


# ---- operators

cdef OprHandle new_operator(
        EngineAsyncFn fn, void* arg, EngineDeleter deleter,
        const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
        int flags, const char* name) except NULL nogil:
    return _new_operator(
        _default_engine, kAsync, <RunFn>fn, arg, deleter, const_vars, n_const, mutable_vars,
        n_mutable, flags, name)


cdef OprHandle new_sync_operator(
        EngineFn fn, void* arg, EngineDeleter deleter,
        const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
        int flags, const char* name) except NULL nogil:
    return _new_operator(
        _default_engine, kSync, <RunFn>fn, arg, deleter, const_vars, n_const, mutable_vars,
        n_mutable, flags, name)


cdef OprHandle new_operator_on(
        EngineHandle engine, EngineAsyncFn fn, void* arg, EngineDeleter deleter,
        const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
        int flags, const char* name) except NULL nogil:
    return _new_operator(
        <Engine*>engine, kAsync, <RunFn>fn, arg, deleter, const_vars, n_const, mutable_vars,
        n_mutable, flags, name)


cdef OprHandle new_sync_operator_on(
        EngineHandle engine, EngineFn fn, void* arg, EngineDeleter deleter,
        const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
        int flags, const char* name) except NULL nogil:
    return _new_operator(
        <Engine*>engine, kSync, <RunFn>fn, arg, deleter, const_vars, n_const, mutable_vars,
        n_mutable, flags, name)


cdef OprHandle _new_operator(
        Engine* e, int kind, RunFn fn, void* arg, EngineDeleter deleter,
        const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
        int flags, const char* name) except NULL nogil:
    cdef Operator* opr
    cdef bint good
    cdef int i
    if not _vars_belong_to_engine(e, const_vars, n_const) or not _vars_belong_to_engine(
            e, mutable_vars, n_mutable):
        _refuse_foreign_var(name)
    lock(e)
    good = are_distinct(e, <Var**>const_vars, n_const, <Var**>mutable_vars, n_mutable)
    unlock(e)
    if not good:
        _refuse_duplicate_var(name)
    opr = <Operator*>malloc(sizeof(Operator) + (n_const + n_mutable) * sizeof(Var*))
    if opr == NULL:
        with gil:
            raise OutOfMemoryError("no memory for an engine operator")
    opr.engine = e
    opr.kind = kind
    opr.fn = fn
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
    _flush_deferred(opr.vars, opr.n_const, opr.vars + opr.n_const, opr.n_vars - opr.n_const)
    lock(e)
    run = make_run(e, opr.n_vars)
    if run == NULL:
        unlock(e)
        _raise_no_memory()
    run.kind = opr.kind
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
    _enqueue_or_run(e, run, opr.vars, opr.n_const, opr.vars + opr.n_const, opr.n_vars - opr.n_const)
    return 0


cdef int delete_operator(OprHandle handle) except -1 nogil:
    cdef Operator* opr = <Operator*>handle
    cdef Engine* e = opr.engine
    cdef UnlockActions after
    clear_actions(&after)
    lock(e)
    if opr.epoch != e.epoch:
        opr.epoch = e.epoch
        opr.uses = 0
    opr.deleted = True
    opr.uses += 1
    release_operator(e, opr, &after)
    unlock(e)
    run_unlock_actions(e, &after)
    return 0


# ---- pushing

cdef int push_sync(
        EngineFn fn, void* arg, EngineDeleter deleter, int dev_type, int dev_id,
        const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
        int priority, int flags, const char* name) except -1 nogil:
    return _push_run(
        _default_engine, kSync, <RunFn>fn, arg, deleter, dev_type, dev_id, <Var**>const_vars,
        n_const, <Var**>mutable_vars, n_mutable, priority, flags, name)


cdef int push_async(
        EngineAsyncFn fn, void* arg, EngineDeleter deleter, int dev_type, int dev_id,
        const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
        int priority, int flags, const char* name) except -1 nogil:
    return _push_run(
        _default_engine, kAsync, <RunFn>fn, arg, deleter, dev_type, dev_id, <Var**>const_vars,
        n_const, <Var**>mutable_vars, n_mutable, priority, flags, name)


cdef int push_sync_on(
        EngineHandle engine, EngineFn fn, void* arg, EngineDeleter deleter, int dev_type,
        int dev_id,
        const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
        int priority, int flags, const char* name) except -1 nogil:
    return _push_run(
        <Engine*>engine, kSync, <RunFn>fn, arg, deleter, dev_type, dev_id, <Var**>const_vars,
        n_const, <Var**>mutable_vars, n_mutable, priority, flags, name)


cdef int push_async_on(
        EngineHandle engine, EngineAsyncFn fn, void* arg, EngineDeleter deleter, int dev_type,
        int dev_id,
        const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
        int priority, int flags, const char* name) except -1 nogil:
    return _push_run(
        <Engine*>engine, kAsync, <RunFn>fn, arg, deleter, dev_type, dev_id, <Var**>const_vars,
        n_const, <Var**>mutable_vars, n_mutable, priority, flags, name)


cdef inline int _push_run(
        Engine* e, int kind, RunFn fn, void* arg, EngineDeleter deleter, int dev_type, int dev_id,
        Var** const_vars, int n_const, Var** mutable_vars, int n_mutable,
        int priority, int flags, const char* name) except -1 nogil:
    cdef Run* run
    if not (_vars_belong_to_engine(e, <VarHandle*>const_vars, n_const)
            and _vars_belong_to_engine(e, <VarHandle*>mutable_vars, n_mutable)):
        return _refuse_foreign_var(name)
    _flush_deferred(const_vars, n_const, mutable_vars, n_mutable)
    lock(e)
    if n_const + n_mutable > 1 and not are_distinct(
            e, const_vars, n_const, mutable_vars, n_mutable):
        unlock(e)
        return _refuse_duplicate_var(name)
    run = make_run(e, n_const + n_mutable)
    if run == NULL:
        unlock(e)
        return _raise_no_memory()
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
    _enqueue_or_run(e, run, const_vars, n_const, mutable_vars, n_mutable)
    return 0


cdef inline void _enqueue_or_run(
        Engine* e, Run* run, Var** const_vars, int n_const, Var** mutable_vars,
        int n_mutable) noexcept nogil:
    """Queue the run and release the lock; execute the run on this thread if its flags allow it."""
    cdef UnlockActions after
    cdef bint here
    clear_actions(&after)
    if enqueue_run(e, run, const_vars, n_const, mutable_vars, n_mutable):
        here = run.flags & kInline and e.failures.empty() and not e.closing
        if here and PyGILState_GetThisThreadState() != NULL:
            unlock(e)
            run_on_this_thread(e, run)
            return
        enqueue_or_skip_run(e, run, &after)
        plan_push_wakeups(e, &after)
    unlock(e)
    run_unlock_actions(e, &after)
    if e.naive:
        drain_ready_runs(e)


cdef inline int _flush_deferred(
        Var** const_vars, int n_const, Var** mutable_vars, int n_mutable) except -1 nogil:
    """Push the deferred calls that must run before a function of these variables."""
    cdef int i
    if load_mask(&deferred_mask) == 0:
        return 0
    for i in range(n_const):
        flush_before(const_vars[i], False)
    for i in range(n_mutable):
        flush_before(mutable_vars[i], True)
    return 0


cdef inline bint _vars_belong_to_engine(Engine* e, const VarHandle* vars, int n) noexcept nogil:
    cdef int i
    for i in range(n):
        if vars[i] == NULL or (<Var*>vars[i]).engine != e:
            return False
    return True


cdef int _refuse_foreign_var(const char* name) except -1 nogil:
    with gil:
        raise ArgumentError(
            f"{_label_text(name)}: a variable that is not alive in the engine it is pushed to")


cdef int _refuse_duplicate_var(const char* name) except -1 nogil:
    with gil:
        raise ArgumentError(
            f"{_label_text(name)}: a variable appears twice in const_vars and mutable_vars; "
            "each may appear once")


cdef int _raise_no_memory() except -1 nogil:
    with gil:
        raise OutOfMemoryError("no memory to push a function")


cdef str _label_text(const char* name):
    return "a function" if name == NULL else (<bytes>name).decode("utf-8", "replace")


cdef void complete(void* token, void* error) noexcept nogil:  # ends an asynchronous function
    cdef Run* run = <Run*>token
    cdef Engine* e = run.engine
    cdef UnlockActions after
    cdef Failure* failure = NULL
    cdef bint guest
    clear_actions(&after)
    if error != NULL:
        with gil:
            Py_INCREF(<object>error)
        failure = new_failure(<PyObject*>error)
    if run.deleter != NULL:
        run.deleter(run.arg)
    lock(e)
    if run.epoch == e.epoch:
        add_failure(e, failure)
        finish_run(e, run, failure, &after)
    guest = e.naive and e.native.ready > 0  # otherwise the engine may be freed once it is unlocked
    if guest:
        e.guests += 1
    plan_wakeups(e, &after)
    unlock(e)
    run_unlock_actions(e, &after)
    if guest:
        drain_ready_runs(e)
        lock(e)
        e.guests -= 1
        unlock(e)


cdef void publish_results(void* token) noexcept nogil:  # others may read them now
    cdef Run* run = <Run*>token
    cdef Engine* e = run.engine
    cdef UnlockActions after
    clear_actions(&after)
    lock(e)
    if run.epoch == e.epoch:
        release_writes(e, run, &after)
    plan_wakeups(e, &after)
    unlock(e)
    run_unlock_actions(e, &after)


# ---- waiting

cdef int wait_for_var(VarHandle handle) except -1 nogil:
    flush_before(handle, False)
    return wait_var(<Var*>handle, False)


cdef int wait_to_write(VarHandle handle) except -1 nogil:
    flush_before(handle, True)
    return wait_var(<Var*>handle, True)


cdef int wait_for_all() except -1 nogil:
    flush_all_deferred()
    return wait_all(_default_engine)


cdef int wait_for_all_on(EngineHandle engine) except -1 nogil:
    flush_all_deferred()
    return wait_all(<Engine*>engine)


# ---- the default engine

cdef int _create_default_engine() except -1:
    global _default_engine
    _default_engine = create_engine(
        config.get("CYNET_ENGINE_TYPE") == "NaiveEngine", config.get("CYNET_CPU_WORKERS"))
    return 0


_create_default_engine()
