"""The dependency engine's entry points (contract in _engine.pxd).

Behind them: rules in engine/queue, threads in engine/threads, waits in engine/wait, the engines
of a process in engine/process.
"""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdlib cimport malloc
from libcpp.atomic cimport memory_order_acquire

from .engine.records cimport (
    After, Engine, Failure, Operator, Run, RunFn, Var, is_free, kAsync, kDelete, kSync, clear, lock,
    unlock
)
from .engine.deferred cimport (
    default_limit, flush_all, flush_before, load_mask, may_be_noted, noted_mask, set_limit
)
from .engine.native cimport PyGILState_GetThisThreadState
from .engine.process cimport create, next_unseen, stop_all, wake_all
from .engine.queue cimport (
    are_distinct, enqueue_run, failure_on, finish, leave_writes, make_run, make_var,
    release_operator, settle
)
from .engine.threads cimport (
    drain, new_failure, note, plan, plan_push, retire, run_here, set_bulk, settle_after
)
from .engine.wait cimport wait_all, wait_var

from .base import config
from .base.errors import ArgumentError, OutOfMemoryError

cdef Engine* _default = NULL


# ---- engines

cdef EngineHandle default_engine() noexcept nogil:
    return _default


cdef EngineHandle make_engine(bint naive, int workers) except NULL nogil:
    return create(naive, workers)


cdef void drop_engine(EngineHandle engine) noexcept nogil:
    retire(<Engine*>engine)


cdef void stop_engines(double seconds) noexcept nogil:
    stop_all(seconds)


cdef void* next_failure() noexcept nogil:
    return next_unseen()


cdef bint is_naive(EngineHandle engine) noexcept nogil:
    return (<Engine*>engine).naive


cdef int set_bulk_size(int size) noexcept nogil:
    # while operators are bulked by default, each push still wakes workers
    if set_bulk(0 if size == default_limit() else size) > 1:  # wake for what was pushed meanwhile
        wake_all()
    return set_limit(size)


cdef Census census(EngineHandle engine) noexcept nogil:
    cdef Engine* e = <Engine*>engine
    cdef Census figures
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
    return new_variable_on(_default)


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
        if enqueue_run(e, run, NULL, 0, &var, 1):
            settle(e, run, &after)
        plan(e, &after)
    unlock(e)
    settle_after(e, &after)
    if run == NULL:
        with gil:
            raise OutOfMemoryError("no memory to delete an engine variable")
    return 0


cdef bint is_ready(VarHandle handle) noexcept nogil:
    return not may_be_noted(handle, False) and is_free(<Var*>handle)


cdef bint is_settled(VarHandle handle) noexcept nogil:
    cdef Var* var = <Var*>handle
    cdef bint failed
    if not is_free(var):  # whoever pushes what is noted asks: its marks are there still
        return False
    if var.failure.load(memory_order_acquire) == NULL:
        return True
    lock(var.engine)
    failed = failure_on(var) != NULL
    unlock(var.engine)
    return not failed


# ---- operators

cdef OprHandle new_operator(
        EngineAsyncFn fn, void* arg, EngineDeleter deleter,
        const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
        int flags, const char* name) except NULL nogil:
    return _new_operator(
        _default, kAsync, <RunFn>fn, arg, deleter, const_vars, n_const, mutable_vars, n_mutable,
        flags, name)


cdef OprHandle new_sync_operator(
        EngineFn fn, void* arg, EngineDeleter deleter,
        const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
        int flags, const char* name) except NULL nogil:
    return _new_operator(
        _default, kSync, <RunFn>fn, arg, deleter, const_vars, n_const, mutable_vars, n_mutable,
        flags, name)


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
    if not _belong_to_engine(e, const_vars, n_const) or not _belong_to_engine(
            e, mutable_vars, n_mutable):
        _refuse_foreign(name)
    lock(e)
    good = are_distinct(e, <Var**>const_vars, n_const, <Var**>mutable_vars, n_mutable)
    unlock(e)
    if not good:
        _refuse_duplicate(name)
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
    _flush_noted(opr.vars, opr.n_const, opr.vars + opr.n_const, opr.n_vars - opr.n_const)
    lock(e)
    run = make_run(e, opr.n_vars)
    if run == NULL:
        unlock(e)
        _no_memory()
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
    return _push_run(
        _default, kSync, <RunFn>fn, arg, deleter, dev_type, dev_id, <Var**>const_vars, n_const,
        <Var**>mutable_vars, n_mutable, priority, flags, name)


cdef int push_async(
        EngineAsyncFn fn, void* arg, EngineDeleter deleter, int dev_type, int dev_id,
        const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
        int priority, int flags, const char* name) except -1 nogil:
    return _push_run(
        _default, kAsync, <RunFn>fn, arg, deleter, dev_type, dev_id, <Var**>const_vars, n_const,
        <Var**>mutable_vars, n_mutable, priority, flags, name)


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
    if not (_belong_to_engine(e, <VarHandle*>const_vars, n_const)
            and _belong_to_engine(e, <VarHandle*>mutable_vars, n_mutable)):
        return _refuse_foreign(name)
    _flush_noted(const_vars, n_const, mutable_vars, n_mutable)
    lock(e)
    if n_const + n_mutable > 1 and not are_distinct(
            e, const_vars, n_const, mutable_vars, n_mutable):
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
        Engine* e, Run* run, Var** const_vars, int n_const, Var** mutable_vars,
        int n_mutable) noexcept nogil:
    """Queue the run and let go of the lock; execute it here when that is allowed."""
    cdef After after
    cdef bint here
    clear(&after)
    if enqueue_run(e, run, const_vars, n_const, mutable_vars, n_mutable):
        here = run.flags & kInline and e.failures.empty() and not e.closing
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


cdef inline int _flush_noted(
        Var** const_vars, int n_const, Var** mutable_vars, int n_mutable) except -1 nogil:
    """Push the noted calls that have to come first."""
    cdef int i
    if load_mask(&noted_mask) == 0:
        return 0
    for i in range(n_const):
        flush_before(const_vars[i], False)
    for i in range(n_mutable):
        flush_before(mutable_vars[i], True)
    return 0


cdef inline bint _belong_to_engine(Engine* e, const VarHandle* vars, int n) noexcept nogil:
    cdef int i
    for i in range(n):
        if vars[i] == NULL or (<Var*>vars[i]).engine != e:
            return False
    return True


cdef int _refuse_foreign(const char* name) except -1 nogil:
    with gil:
        raise ArgumentError(
            f"{_label_text(name)}: a variable that is not alive in the engine it is pushed to")


cdef int _refuse_duplicate(const char* name) except -1 nogil:
    with gil:
        raise ArgumentError(
            f"{_label_text(name)}: a variable appears twice in const_vars and mutable_vars; "
            "each may appear once")


cdef int _no_memory() except -1 nogil:
    with gil:
        raise OutOfMemoryError("no memory to push a function")


cdef str _label_text(const char* name):
    return "a function" if name == NULL else (<bytes>name).decode("utf-8", "replace")


cdef void complete(void* token, void* error) noexcept nogil:
    cdef Run* run = <Run*>token
    cdef Engine* e = run.engine
    cdef After after
    cdef Failure* failure = NULL
    cdef bint guest
    clear(&after)
    if error != NULL:
        with gil:
            Py_INCREF(<object>error)
        failure = new_failure(<PyObject*>error)
    if run.deleter != NULL:
        run.deleter(run.arg)
    lock(e)
    if run.epoch == e.epoch:
        note(e, failure)
        finish(e, run, failure, &after)
    guest = e.naive and e.native.ready > 0  # else the engine may be freed after its lock
    if guest:
        e.guests += 1
    plan(e, &after)
    unlock(e)
    settle_after(e, &after)
    if guest:
        drain(e)
        lock(e)
        e.guests -= 1
        unlock(e)


cdef void publish_results(void* token) noexcept nogil:
    cdef Run* run = <Run*>token
    cdef Engine* e = run.engine
    cdef After after
    clear(&after)
    lock(e)
    if run.epoch == e.epoch:
        leave_writes(e, run, &after)
    plan(e, &after)
    unlock(e)
    settle_after(e, &after)


# ---- waiting

cdef int wait_for_var(VarHandle handle) except -1 nogil:
    flush_before(handle, False)
    return wait_var(<Var*>handle, False)


cdef int wait_to_write(VarHandle handle) except -1 nogil:
    flush_before(handle, True)
    return wait_var(<Var*>handle, True)


cdef int wait_for_all() except -1 nogil:
    flush_all()
    return wait_all(_default)


cdef int wait_for_all_on(EngineHandle engine) except -1 nogil:
    flush_all()
    return wait_all(<Engine*>engine)


# ---- the default engine

cdef int _set_up() except -1:
    global _default
    _default = create(
        config.get("CYNET_ENGINE_TYPE") == "NaiveEngine", config.get("CYNET_CPU_WORKERS"))
    return 0


_set_up()
