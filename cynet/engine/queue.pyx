"""The dependency rules: queues of variables, and how failures spread (contract in queue.pxd)."""

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from libc.stdlib cimport free
from libcpp.algorithm cimport pop_heap, push_heap
from libcpp.atomic cimport atomic, memory_order_relaxed, memory_order_release

from .._engine cimport kCopy, kPython
from .records cimport (
    Callback, DeferredCallback, Engine, Failure, VarLink, Operator, Pool, Run, UnlockActions, Var,
    Waiter, kDelete, kDone, kSpinning, links_of, LINE_BYTES, MAX_GPUS, N_BINS
)
from .native cimport aligned_block, free_aligned_block
from .._typedefs cimport kGPU


cdef Var* make_var(Engine* e) noexcept nogil:
    cdef Var* var = e.free_vars
    if var != NULL:
        e.free_vars = <Var*>var.head
    else:
        var = <Var*>aligned_block(LINE_BYTES, sizeof(Var))
        if var == NULL:
            return NULL
    var.head = var.tail = NULL
    var.engine = e
    var.waiters = NULL
    var.failure.store(NULL)
    var.mark = var.writes = 0
    var.epoch = e.epoch
    var.readers = var.pending_reads = 0
    var.pending_writes.store(0)
    e.n_vars += 1
    return var


cdef void recycle_var(Engine* e, Var* var) noexcept nogil:
    _set_failure(var, NULL)
    var.engine = NULL
    var.head = <VarLink*>e.free_vars
    e.free_vars = var
    e.n_vars -= 1


cdef Run* make_run(Engine* e, int n_links) noexcept nogil:
    cdef int bin = 0
    cdef size_t size
    cdef Run* run
    while (1 << bin) < n_links:
        bin += 1
    run = e.bins[bin]
    if run != NULL:
        e.bins[bin] = run.next
    else:
        size = sizeof(Run) + (<size_t>1 << bin) * sizeof(VarLink)
        size = (size + LINE_BYTES - 1) // LINE_BYTES * LINE_BYTES
        run = <Run*>aligned_block(LINE_BYTES, size)
        if run == NULL:
            return NULL
        run.bin = bin
        run.engine = e
    e.seq += 1
    run.seq = e.seq
    run.epoch = e.epoch
    run.n_links = n_links
    e.pending += 1
    return run


cdef void recycle_run(Engine* e, Run* run) noexcept nogil:
    run.next = e.bins[run.bin]
    e.bins[run.bin] = run


cdef void free_recycled_blocks(Engine* e) noexcept nogil:
    cdef Run* run
    cdef Var* var
    cdef int i
    for i in range(N_BINS):
        while e.bins[i] != NULL:
            run = e.bins[i]
            e.bins[i] = run.next
            free_aligned_block(run, LINE_BYTES)
    while e.free_vars != NULL:
        var = e.free_vars
        e.free_vars = <Var*>var.head
        free_aligned_block(var, LINE_BYTES)
    for pool in e.gpus:
        del pool


cdef void reset_var_after_fork(Engine* e, Var* var) noexcept nogil:
    if var.epoch == e.epoch:
        return
    var.epoch = e.epoch
    var.writes += 1  # the fork may have interrupted a write
    var.head = var.tail = NULL
    var.waiters = NULL
    var.readers = var.pending_reads = 0
    var.pending_writes.store(0)


cdef bint are_distinct(
        Engine* e, Var* const* const_vars, int n_const, Var* const* mutable_vars,
        int n_mutable) noexcept nogil:
    cdef int i
    cdef unsigned mark
    e.mark += 1
    mark = e.mark
    for i in range(n_const):
        # Marks repeat after 4 billion pushes, so an equal mark proves nothing.
        if const_vars[i].mark == mark and _contains_var(const_vars, i, const_vars[i]):
            return False
        const_vars[i].mark = mark
    for i in range(n_mutable):
        if mutable_vars[i].mark == mark and (
                _contains_var(const_vars, n_const, mutable_vars[i])
                or _contains_var(mutable_vars, i, mutable_vars[i])):
            return False
        mutable_vars[i].mark = mark
    return True


cdef bint _contains_var(Var* const* vars, int n, const Var* var) noexcept nogil:
    cdef int i
    for i in range(n):
        if vars[i] == var:
            return True
    return False


cdef bint enqueue_run(
        Engine* e, Run* run, Var* const* const_vars, int n_const, Var* const* mutable_vars,
        int n_mutable) noexcept nogil:
    cdef VarLink* link = links_of(run)
    cdef Var* var
    cdef int i, missing = 0
    for i in range(n_const):
        var = const_vars[i]
        reset_var_after_fork(e, var)
        link.run = run
        link.var = var
        link.write = False
        var.pending_reads += 1
        if var.readers < 0 or var.head != NULL:
            append_link(var, link)
            missing += 1
        else:
            var.readers += 1
        link += 1
    for i in range(n_mutable):
        var = mutable_vars[i]
        reset_var_after_fork(e, var)
        link.run = run
        link.var = var
        link.write = True
        _add_under_lock(&var.pending_writes, 1)
        if var.readers or var.head != NULL:
            append_link(var, link)
            missing += 1
        else:
            var.readers = -1
        link += 1
    run.missing = missing
    return missing == 0


cdef inline void _add_under_lock(atomic[int]* number, int change) noexcept nogil:
    """Add without an atomic instruction: only the holder of the lock writes."""
    number.store(number.load(memory_order_relaxed) + change, memory_order_release)


cdef inline void append_link(Var* var, VarLink* link) noexcept nogil:
    link.next = NULL
    if var.head == NULL:
        var.head = link
    else:
        var.tail.next = link
    var.tail = link


cdef inline void grant_var_access(Engine* e, Var* var) noexcept nogil:
    """Grant the variable to the first of its queue: one writer, or all readers before the next."""
    cdef VarLink* link = var.head
    while link != NULL:
        if link.write:
            if var.readers:
                return
            var.readers = -1
        else:
            if var.readers < 0:
                return
            var.readers += 1
        var.head = link.next
        link.run.missing -= 1
        if link.run.missing == 0:
            link.run.next = NULL
            if e.granted_first == NULL:
                e.granted_first = link.run
            else:
                e.granted_last.next = link.run
            e.granted_last = link.run
        link = var.head


cdef void signal_waiter(Waiter* waiter) noexcept nogil:
    cdef int expected = kSpinning
    if waiter.state.compare_exchange_strong(expected, kDone):
        return  # the waiter may have returned already
    waiter.guard.lock()
    waiter.state.store(kDone)
    waiter.wake.notify_one()
    waiter.guard.unlock()


cdef void signal_waiters(Waiter** waiters, uint64_t seq, bint write) noexcept nogil:
    """Count the end of run `seq` for its waiters; signal and remove those with none left."""
    cdef Waiter* waiter = waiters[0]
    while waiter != NULL:
        if seq < waiter.before and (write or waiter.reads):
            waiter.remaining -= 1
            if waiter.remaining == 0:
                waiters[0] = waiter.next
                signal_waiter(waiter)
                waiter = waiters[0]
                continue
        waiters = &waiter.next
        waiter = waiter.next


cdef void count_run_end(Engine* e, uint64_t seq) noexcept nogil:
    e.pending -= 1
    if e.waiters != NULL:
        signal_waiters(&e.waiters, seq, True)


cdef void release_variables(Engine* e, Run* run, Failure* failure) noexcept nogil:
    cdef VarLink* link = links_of(run)
    cdef int _
    for _ in range(run.n_links):
        if link.var != NULL:
            release_link(e, run, link, failure)
        link += 1


cdef inline void release_link(Engine* e, Run* run, VarLink* link, Failure* failure) noexcept nogil:
    cdef Var* var = link.var
    if link.write:
        var.readers = 0
        if failure != NULL:
            _set_failure(var, failure)
        var.writes += 1
        _add_under_lock(&var.pending_writes, -1)
    else:
        var.readers -= 1
        var.pending_reads -= 1
    if var.waiters != NULL:
        signal_waiters(&var.waiters, run.seq, link.write)
    if var.head != NULL:
        grant_var_access(e, var)


cdef void release_writes(Engine* e, Run* run, UnlockActions* after) noexcept nogil:
    cdef VarLink* link = links_of(run)
    cdef int _
    for _ in range(run.n_links):
        if link.write:
            release_link(e, run, link, NULL)
            link.var = NULL
        link += 1
    enqueue_granted_runs(e, after)


cdef void finish_run(Engine* e, Run* run, Failure* failure, UnlockActions* after) noexcept nogil:
    release_variables(e, run, failure)
    if run.opr != NULL:
        release_operator(e, run.opr, after)
    count_run_end(e, run.seq)
    recycle_run(e, run)
    enqueue_granted_runs(e, after)


cdef void enqueue_or_skip_run(Engine* e, Run* run, UnlockActions* after) noexcept nogil:
    run.next = NULL
    e.granted_first = e.granted_last = run
    enqueue_granted_runs(e, after)


cdef void enqueue_granted_runs(Engine* e, UnlockActions* after) noexcept nogil:
    """Enqueue all granted runs. A loop, as the chain of runs that a failure skips may be long."""
    cdef Run* run = e.granted_first
    cdef Failure* failure
    while run != NULL:
        e.granted_first = run.next
        failure = NULL
        if run.kind == kDelete:
            recycle_var(e, links_of(run).var)
            defer_callback(run.deleter, run.arg, run.seq, after)
            recycle_run(e, run)
        else:
            if not e.failures.empty():
                failure = inherited_failure(e, run)
            if failure == NULL:
                enqueue_ready_run(pool_for_run(e, run), run)
            else:
                release_variables(e, run, failure)
                if run.opr != NULL:
                    release_operator(e, run.opr, after)
                defer_callback(run.deleter, run.arg, run.seq, after)
                recycle_run(e, run)
        run = e.granted_first


cdef void defer_callback(
        Callback callback, void* arg, uint64_t seq, UnlockActions* after) noexcept nogil:
    cdef DeferredCallback deferred
    deferred.callback = callback
    deferred.arg = arg
    deferred.seq = seq
    after.callbacks.push_back(deferred)


cdef void release_operator(Engine* e, Operator* opr, UnlockActions* after) noexcept nogil:
    opr.uses -= 1
    if opr.deleted and opr.uses == 0:
        defer_callback(opr.deleter, opr.arg, 0, after)
        e.n_operators -= 1
        free(opr)


cdef bint is_run_later(Run* a, Run* b) noexcept nogil:
    if a.priority != b.priority:
        return a.priority < b.priority
    return a.seq > b.seq


cdef inline Pool* pool_for_run(Engine* e, Run* run) noexcept nogil:
    if e.naive:
        return &e.native
    if run.flags & kPython:
        return &e.python
    if run.dev_type == kGPU and 0 <= run.dev_id < MAX_GPUS:
        return gpu_pool(e, 2 * run.dev_id + (1 if run.flags & kCopy else 0))
    return &e.native


cdef Pool* gpu_pool(Engine* e, size_t i) noexcept nogil:
    """Return pool `i` of the GPUs, which has one thread."""
    cdef Pool* pool
    if i >= e.gpus.size():
        e.gpus.resize(i + 1)
    pool = e.gpus[i]
    if pool == NULL:
        pool = e.gpus[i] = new Pool()
        pool.limit = pool.keep = 1
        pool.spin_ns = e.native.spin_ns
        pool.linger_ns = e.native.linger_ns
    return pool


cdef void enqueue_ready_run(Pool* pool, Run* run) noexcept nogil:
    if run.priority == 0:
        run.next = NULL
        if pool.first == NULL:
            pool.first = run
        else:
            pool.last.next = run
        pool.last = run
    else:
        pool.heap.push_back(run)
        push_heap(pool.heap.begin(), pool.heap.end(), is_run_later)
    pool.ready += 1


cdef Run* pop_ready_run(Pool* pool) noexcept nogil:
    """Take the ready run of highest priority, the oldest of equals."""
    cdef Run* run
    if pool.ready == 0:
        return NULL
    pool.ready -= 1
    if not pool.heap.empty() and (pool.first == NULL or pool.heap.front().priority > 0):
        pop_heap(pool.heap.begin(), pool.heap.end(), is_run_later)
        run = pool.heap.back()
        pool.heap.pop_back()
        return run
    run = pool.first
    pool.first = run.next
    return run


cdef Failure* inherited_failure(Engine* e, Run* run) noexcept nogil:
    cdef VarLink* link = links_of(run)
    cdef Failure* failure
    cdef int _
    for _ in range(run.n_links):
        failure = failure_of_var(link.var)
        if failure != NULL:
            return failure
        link += 1
    return NULL


cdef Failure* failure_of_var(Var* var) noexcept nogil:
    cdef Failure* failure = var.failure.load(memory_order_relaxed)
    if failure != NULL and failure.error == NULL:
        _set_failure(var, NULL)
        return NULL
    return failure


cdef void _set_failure(Var* var, Failure* failure) noexcept nogil:
    cdef Failure* before = var.failure.load(memory_order_relaxed)
    if failure != NULL:
        failure.refs += 1
    if before != NULL:
        drop_failure(before)
    var.failure.store(failure, memory_order_release)


cdef void drop_failure(Failure* failure) noexcept nogil:
    failure.refs -= 1
    if failure.refs == 0:
        free(failure)


cdef PyObject* take_var_error(Engine* e, Var* var) noexcept nogil:
    cdef Failure* failure = var.failure.load(memory_order_relaxed)
    cdef PyObject* error
    cdef size_t i
    if failure == NULL:
        return NULL
    error = failure.error
    if error != NULL:
        failure.error = NULL
        for i in range(e.failures.size()):
            if e.failures[i] == failure:
                e.failures.erase(e.failures.begin() + i)
                failure.refs -= 1
                break
    _set_failure(var, NULL)
    return error


cdef PyObject* take_oldest_error(Engine* e) noexcept nogil:
    cdef PyObject* error = NULL
    cdef size_t i
    for i in range(e.failures.size()):
        if e.failures[i].epoch == e.epoch and e.failures[i].error != NULL:
            error = e.failures[i].error
            e.failures[i].error = NULL
            drop_failure(e.failures[i])
            e.failures.erase(e.failures.begin() + i)
            break
    return error
