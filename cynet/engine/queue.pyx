"""The dependency rules: variables, their queues, failures that spread (contract in queue.pxd)."""

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from libc.stdlib cimport free
from libcpp.algorithm cimport pop_heap, push_heap
from libcpp.atomic cimport atomic, memory_order_relaxed, memory_order_release

from .._engine cimport kCopy, kPython
from .records cimport (
    After, Burial, Callback, Engine, Failure, Link, Operator, Pool, Run, Var, Waiter, kDelete,
    kDone, kSpinning, links_of, LINE, MAX_GPUS, N_BINS
)
from .native cimport aligned_block, free_aligned_block
from .._typedefs cimport kGPU


cdef Var* make_var(Engine* e) noexcept nogil:
    cdef Var* var = e.free_vars
    if var != NULL:
        e.free_vars = <Var*>var.head
    else:
        var = <Var*>aligned_block(LINE, sizeof(Var))
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


cdef void drop_var(Engine* e, Var* var) noexcept nogil:
    _set_failure(var, NULL)
    var.engine = NULL
    var.head = <Link*>e.free_vars
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
        size = sizeof(Run) + (<size_t>1 << bin) * sizeof(Link)
        run = <Run*>aligned_block(LINE, (size + LINE - 1) // LINE * LINE)
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


cdef void drop_run(Engine* e, Run* run) noexcept nogil:
    run.next = e.bins[run.bin]
    e.bins[run.bin] = run


cdef void free_blocks(Engine* e) noexcept nogil:
    cdef Run* run
    cdef Var* var
    cdef int i
    for i in range(N_BINS):
        while e.bins[i] != NULL:
            run = e.bins[i]
            e.bins[i] = run.next
            free_aligned_block(run, LINE)
    while e.free_vars != NULL:
        var = e.free_vars
        e.free_vars = <Var*>var.head
        free_aligned_block(var, LINE)
    for pool in e.gpus:
        del pool


cdef void refresh(Engine* e, Var* var) noexcept nogil:
    if var.epoch == e.epoch:
        return
    var.epoch = e.epoch
    var.writes += 1  # the fork may have come in the middle of a write
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
        # Marks come again after 4 billion pushes: an equal one is a reason to look, no more.
        if const_vars[i].mark == mark and _contains(const_vars, i, const_vars[i]):
            return False
        const_vars[i].mark = mark
    for i in range(n_mutable):
        if mutable_vars[i].mark == mark and (
                _contains(const_vars, n_const, mutable_vars[i])
                or _contains(mutable_vars, i, mutable_vars[i])):
            return False
        mutable_vars[i].mark = mark
    return True


cdef bint _contains(Var* const* vars, int n, const Var* var) noexcept nogil:
    cdef int i
    for i in range(n):
        if vars[i] == var:
            return True
    return False


cdef bint enqueue_run(
        Engine* e, Run* run, Var* const* const_vars, int n_const, Var* const* mutable_vars,
        int n_mutable) noexcept nogil:
    cdef Link* link = links_of(run)
    cdef Var* var
    cdef int i, missing = 0
    for i in range(n_const):
        var = const_vars[i]
        refresh(e, var)
        link.run = run
        link.var = var
        link.write = False
        var.pending_reads += 1
        if var.readers < 0 or var.head != NULL:
            append(var, link)
            missing += 1
        else:
            var.readers += 1
        link += 1
    for i in range(n_mutable):
        var = mutable_vars[i]
        refresh(e, var)
        link.run = run
        link.var = var
        link.write = True
        _add_unlocked(&var.pending_writes, 1)
        if var.readers or var.head != NULL:
            append(var, link)
            missing += 1
        else:
            var.readers = -1
        link += 1
    run.missing = missing
    return missing == 0


cdef inline void _add_unlocked(atomic[int]* number, int change) noexcept nogil:
    """Only whoever holds the lock writes: no need of a locked instruction."""
    number.store(number.load(memory_order_relaxed) + change, memory_order_release)


cdef inline void append(Var* var, Link* link) noexcept nogil:
    link.next = NULL
    if var.head == NULL:
        var.head = link
    else:
        var.tail.next = link
    var.tail = link


cdef inline void grant(Engine* e, Var* var) noexcept nogil:
    """Let in whoever stands first: one writer, or all readers before the next writer."""
    cdef Link* link = var.head
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
            if e.settle_first == NULL:
                e.settle_first = link.run
            else:
                e.settle_last.next = link.run
            e.settle_last = link.run
        link = var.head


cdef void signal(Waiter* waiter) noexcept nogil:
    cdef int expected = kSpinning
    if waiter.state.compare_exchange_strong(expected, kDone):
        return  # the waiter may be gone already
    waiter.guard.lock()
    waiter.state.store(kDone)
    waiter.wake.notify_one()
    waiter.guard.unlock()


cdef void tell(Waiter** waiters, uint64_t seq, bint write) noexcept nogil:
    """Count the end of run `seq` for each waiter it matters to; who has waited enough leaves."""
    cdef Waiter* waiter = waiters[0]
    while waiter != NULL:
        if seq < waiter.before and (write or waiter.reads):
            waiter.remaining -= 1
            if waiter.remaining == 0:
                waiters[0] = waiter.next
                signal(waiter)
                waiter = waiters[0]
                continue
        waiters = &waiter.next
        waiter = waiter.next


cdef void count_down(Engine* e, uint64_t seq) noexcept nogil:
    e.pending -= 1
    if e.waiters != NULL:
        tell(&e.waiters, seq, True)


cdef void leave(Engine* e, Run* run, Failure* failure) noexcept nogil:
    cdef Link* link = links_of(run)
    cdef int _
    for _ in range(run.n_links):
        if link.var != NULL:
            give_back(e, run, link, failure)
        link += 1


cdef inline void give_back(Engine* e, Run* run, Link* link, Failure* failure) noexcept nogil:
    cdef Var* var = link.var
    if link.write:
        var.readers = 0
        if failure != NULL:
            _set_failure(var, failure)
        var.writes += 1
        _add_unlocked(&var.pending_writes, -1)
    else:
        var.readers -= 1
        var.pending_reads -= 1
    if var.waiters != NULL:
        tell(&var.waiters, run.seq, link.write)
    if var.head != NULL:
        grant(e, var)


cdef void leave_writes(Engine* e, Run* run, After* after) noexcept nogil:
    cdef Link* link = links_of(run)
    cdef int _
    for _ in range(run.n_links):
        if link.write:
            give_back(e, run, link, NULL)
            link.var = NULL
        link += 1
    settle_all(e, after)


cdef void finish(Engine* e, Run* run, Failure* failure, After* after) noexcept nogil:
    leave(e, run, failure)
    if run.opr != NULL:
        release_operator(e, run.opr, after)
    count_down(e, run.seq)
    drop_run(e, run)
    settle_all(e, after)


cdef void settle(Engine* e, Run* run, After* after) noexcept nogil:
    run.next = NULL
    e.settle_first = e.settle_last = run
    settle_all(e, after)


cdef void settle_all(Engine* e, After* after) noexcept nogil:
    """A loop, not a recursion: a failure may run through a chain of any length."""
    cdef Run* run = e.settle_first
    cdef Failure* failure
    while run != NULL:
        e.settle_first = run.next
        failure = NULL
        if run.kind == kDelete:
            drop_var(e, links_of(run).var)
            bury(run.deleter, run.arg, run.seq, after)
            drop_run(e, run)
        else:
            if not e.failures.empty():
                failure = inherited_failure(e, run)
            if failure == NULL:
                enqueue(pool_of(e, run), run)
            else:
                leave(e, run, failure)
                if run.opr != NULL:
                    release_operator(e, run.opr, after)
                bury(run.deleter, run.arg, run.seq, after)
                drop_run(e, run)
        run = e.settle_first


cdef void bury(Callback callback, void* arg, uint64_t seq, After* after) noexcept nogil:
    cdef Burial burial
    burial.callback = callback
    burial.arg = arg
    burial.seq = seq
    after.burials.push_back(burial)


cdef void release_operator(Engine* e, Operator* opr, After* after) noexcept nogil:
    opr.uses -= 1
    if opr.deleted and opr.uses == 0:
        bury(opr.deleter, opr.arg, 0, after)
        e.n_operators -= 1
        free(opr)


cdef bint is_run_later(Run* a, Run* b) noexcept nogil:
    if a.priority != b.priority:
        return a.priority < b.priority
    return a.seq > b.seq


cdef inline Pool* pool_of(Engine* e, Run* run) noexcept nogil:
    if e.naive:
        return &e.native
    if run.flags & kPython:
        return &e.python
    if run.dev_type == kGPU and 0 <= run.dev_id < MAX_GPUS:
        return gpu_pool(e, 2 * run.dev_id + (1 if run.flags & kCopy else 0))
    return &e.native


cdef Pool* gpu_pool(Engine* e, size_t i) noexcept nogil:
    """One thread, which stays once it has begun."""
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


cdef void enqueue(Pool* pool, Run* run) noexcept nogil:
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


cdef Run* take(Pool* pool) noexcept nogil:
    """The ready run of highest priority, the oldest of equals."""
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
    cdef Link* link = links_of(run)
    cdef Failure* failure
    cdef int _
    for _ in range(run.n_links):
        failure = failure_on(link.var)
        if failure != NULL:
            return failure
        link += 1
    return NULL


cdef Failure* failure_on(Var* var) noexcept nogil:
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


cdef PyObject* take_error(Engine* e, Var* var) noexcept nogil:
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


cdef PyObject* take_oldest(Engine* e) noexcept nogil:
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
