"""Makes one engine function of a program of collected calls (contract in the .pxd).

What is written and seen by nobody gets a register, as in the chains of the executor; what is left
of the lines runs a block of the arrays at a time.
"""

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free as c_free
from libc.stdlib cimport malloc as c_malloc
from libc.string cimport memcpy, memset

from ... cimport _engine
from ..._engine cimport VarHandle, kInline, kNormal
from ..._ndarray cimport Chunk
from ..._storage cimport alloc
from ..._typedefs cimport RunContext, dtype_size, kCPU
from ...engine.deferred cimport release_chunk
from ...engine.inline cimport MAX_INLINE_BYTES, MAX_INLINE_GIL_BYTES, MAX_INLINE_PASS_BYTES
from ...engine.native cimport PyEval_RestoreThread, PyEval_SaveThread, PyThreadState, holds_gil
from ...kernels.elementwise.fused cimport (
    FUSED_REGISTERS, FusedLoop, FusedLoops, FusedOperand, FusedStep, plan_chain, run_fused_blocks
)
from ...kernels.parallel cimport threads_for

from ...base.errors import OutOfMemoryError

cdef enum:
    MIN_FUSED_SIZE = 1024  # elements of an array from which on fusing lines pays
    WORK_DIVISOR = 6     # divisor of the work, so that threads pay as for separate loops

cdef long pushed_programs = 0  # count for tests
cdef long written_arrays = 0  # count for tests: arrays that the programs wrote

cdef struct BulkTask:  # fused loops that the engine runs
    FusedLoops chain
    int64_t nbytes
    int n_written, n_read
    bint simple
    bint last      # the last function of those that are pushed together
    void* data[MAX_ARRAYS]
    Chunk* written[MAX_ARRAYS]
    VarHandle vars[2 * MAX_ARRAYS]  # variables of written arrays, then of read arrays


# --- what the engine runs -------------------------------------------------------------------------
cdef int _run(void* arg, RunContext* run_ctx) except -1 nogil:  # arg: a BulkTask
    cdef BulkTask* task = <BulkTask*>arg
    cdef PyThreadState* state = NULL
    cdef int i
    # The pushing thread releases the GIL only for the last function, when all are queued.
    if task.last and task.nbytes > MAX_INLINE_GIL_BYTES and holds_gil():
        state = PyEval_SaveThread()
    run_fused_blocks(threads_for(task.chain.rows * task.chain.columns * task.chain.work),
                     &task.chain, task.data)
    if state != NULL:
        PyEval_RestoreThread(state)
    for i in range(task.n_written):
        task.written[i].written = True
    return 0


cdef void _free(void* arg) noexcept nogil:  # arg: a BulkTask
    c_free(arg)


# --- from lines to loops --------------------------------------------------------------------------
cdef int _find_live_lines(BulkProgram* program, int begin, int end, bint together) noexcept:
    # Find the arrays that are used outside, and the lines that compute them; others get no reads.
    cdef BulkArray* each
    cdef BulkLine* line
    cdef int i, k, n = 0
    for i in range(program.n_arrays):
        each = &program.arrays[i]
        each.used, each.written, each.place, each.last, each.cell = False, False, -1, -1, -1
        each.in_memory = not (together and each.fresh and each.chunk.references.load() == 1)
    for k in range(end - 1, begin - 1, -1):
        line = &program.lines[k]
        each = &program.arrays[line.target]
        if not each.in_memory and each.last < 0:
            line.reads = 0
            continue
        n += 1
        each.used, each.written, each.last = True, True, max(each.last, k)
        for i in range(line.reads):
            if line.operand[i] >= 0:
                each = &program.arrays[line.operand[i]]
                each.used, each.last = True, max(each.last, k)
    return n


cdef int _assign_registers(BulkProgram* program, int begin, int end) noexcept:
    # Assign registers and return how many are used; an array without one stays in memory.
    cdef BulkArray* each
    cdef BulkLine* line
    cdef bint taken[FUSED_REGISTERS]
    cdef int i, k, r, most = 1
    memset(taken, 0, sizeof(taken))
    for k in range(begin, end):
        line = &program.lines[k]
        if line.reads == 0:
            continue
        for i in range(line.reads):  # it may write to the register that it reads
            if line.operand[i] >= 0:
                each = &program.arrays[line.operand[i]]
                if each.cell >= 0 and each.last == k and line.operand[i] != line.target:
                    taken[each.cell] = False
        each = &program.arrays[line.target]
        if each.in_memory or each.cell >= 0:
            continue
        for r in range(FUSED_REGISTERS):
            if not taken[r]:
                each.cell, taken[r] = r, True
                most = max(most, r + 1)
                break
        else:
            each.in_memory = True
    return most


cdef int _allocate_arrays(BulkProgram* program, int element) except -1:
    # Give memory to arrays that nobody holds (note.pyx took their blocks) and that found no
    # register.
    cdef BulkArray* each
    cdef int i
    for i in range(program.n_arrays):
        each = &program.arrays[i]
        if each.used and each.cell < 0 and each.data == NULL:
            alloc(each.size * element, kCPU, 0, &each.chunk.handle)
            each.data = <char*>each.chunk.handle.ptr
    return 0


cdef int _fill_fused_operand(FusedOperand* operand, BulkArray* each, int64_t columns,
                             int element) noexcept:
    # Describe an operand; True if its rows are not contiguous.
    operand.bytes = element
    if each.cell >= 0:
        operand.array, operand.index = -1, each.cell
        return False
    operand.array = each.place
    operand.row = columns if each.kind == WHOLE_ARRAY else 1 if each.kind == ONE_COLUMN else 0
    operand.column = each.kind in (WHOLE_ARRAY, ONE_ROW)
    return each.kind in (ONE_ROW, ONE_COLUMN)


cdef BulkTask* _make_task(BulkProgram* program, int begin, int end, bint together) except? NULL:
    # The task of lines `begin` to `end`; NULL if nothing uses their results.
    cdef int element = <int>dtype_size(program.dtype)
    cdef int n = _find_live_lines(program, begin, end, together), steps = 0, most, i, k, j
    cdef BulkTask* task
    cdef FusedLoop* loop
    cdef FusedOperand* operand
    cdef BulkLine* line
    cdef FusedLoops* chain
    if n == 0:
        return NULL
    if program.count >= MIN_FUSED_SIZE:
        steps = 3 * n
    task = <BulkTask*>c_malloc(sizeof(BulkTask) + n * (sizeof(FusedLoop) + 4 * sizeof(FusedOperand))
                               + steps * sizeof(FusedStep))
    if task == NULL:
        raise OutOfMemoryError("no memory for a bulk of calls")
    loop = <FusedLoop*>(task + 1)
    operand = <FusedOperand*>(loop + n)
    memset(loop, 0, n * (sizeof(FusedLoop) + 4 * sizeof(FusedOperand)))
    most = _assign_registers(program, begin, end)
    try:
        _allocate_arrays(program, element)
    except BaseException:
        c_free(task)
        raise
    _list_task_arrays(program, task, element)
    chain = &task.chain
    chain.columns = program.columns if program.columns else program.count
    chain.rows = program.count // chain.columns
    chain.element, chain.work = element, 0
    chain.n_loops, chain.operands = n, operand
    task.simple = True
    j = 0
    for k in range(begin, end):
        line = &program.lines[k]
        if line.reads == 0:
            continue
        loop.kernel, loop.reads = line.kernel, line.reads
        for i in range(line.reads):
            loop.operand[i] = j
            if line.operand[i] < 0:
                operand[j].array, operand[j].bytes = -2, element
                memcpy(operand[j].number, line.number, 8)
            elif _fill_fused_operand(&operand[j], &program.arrays[line.operand[i]], chain.columns,
                                     element):
                loop.by_rows = chain.rows > 1
            j += 1
        loop.target = j
        _fill_fused_operand(&operand[j], &program.arrays[line.target], chain.columns, element)
        j += 1
        chain.work += line.work
        task.simple = task.simple and line.work <= 1
        loop += 1
    chain.work = max(chain.work // WORK_DIVISOR, 1)
    plan_chain(chain, <FusedLoop*>(task + 1),
               <FusedStep*>(operand + 4 * n) if steps else NULL, most)
    return task


cdef int _list_task_arrays(BulkProgram* program, BulkTask* task, int element) noexcept:
    # List the task's arrays and their variables, written arrays first.
    cdef BulkArray* each
    cdef int i, n = 0, n_vars = 0
    cdef bint writes
    task.nbytes = 0
    for writes in (True, False):
        for i in range(program.n_arrays):
            each = &program.arrays[i]
            if not each.used or each.cell >= 0 or each.written != writes:
                continue
            each.place, task.data[n] = n, each.data
            n += 1
            task.nbytes += each.size * element
            if writes:
                task.written[n_vars] = each.chunk
            elif program.shares and _is_var_listed(task.vars, n_vars, each.var):
                continue
            task.vars[n_vars] = each.var
            n_vars += 1
        if writes:
            task.n_written = n_vars
    task.n_read = n_vars - task.n_written
    return 0


cdef bint _is_var_listed(VarHandle* vars, int n, VarHandle var) noexcept:
    cdef int i
    for i in range(n):
        if vars[i] == var:
            return True
    return False


# --- pushing --------------------------------------------------------------------------------------
cdef bint _can_run_together(BulkProgram* program) noexcept:  # as one engine function
    # True if all results wait for the same inputs: a failure or a late input affects all outputs of
    # a function.
    cdef BulkArray* each
    cdef BulkLine* line
    cdef uint64_t all_of_them = 0, waits
    cdef int i, k
    for i in range(program.n_arrays):
        each = &program.arrays[i]
        each.waits = 0
        if not each.fresh and not _engine.is_readable(each.var):
            each.waits = <uint64_t>1 << i
            all_of_them |= each.waits
    if all_of_them == 0:
        return True
    for k in range(program.n_lines):
        line = &program.lines[k]
        waits = program.arrays[line.target].waits
        for i in range(line.reads):
            if line.operand[i] >= 0:
                waits |= program.arrays[line.operand[i]].waits
        program.arrays[line.target].waits = waits
        if waits != all_of_them:
            return False
    return True


cdef int push_program(BulkProgram* program) except -1:
    cdef BulkTask* tasks[MAX_LINES]
    cdef Chunk* held[MAX_ARRAYS]
    cdef int n_held = program.n_arrays, n_tasks = 0, n_lines = program.n_lines, begin, end, i, flags
    cdef BulkTask* task
    global pushed_programs, written_arrays
    if program.n_calls == 0:
        return 0
    for i in range(n_held):
        held[i] = program.arrays[i].chunk
    i = 0  # tasks that the engine owns now
    try:
        try:
            if _can_run_together(program):
                tasks[0] = _make_task(program, 0, n_lines, True)
                n_tasks = tasks[0] != NULL
            else:
                begin = 0
                while begin < n_lines:
                    end = begin + 1
                    while end < n_lines and program.lines[end].call == program.lines[begin].call:
                        end += 1
                    tasks[n_tasks] = _make_task(program, begin, end, False)
                    n_tasks += 1
                    begin = end
        finally:
            # Emptied now, as other threads add calls while the last function runs without the GIL.
            program.n_calls = program.n_arrays = program.n_lines = 0
        while i < n_tasks:
            task = tasks[i]
            i += 1
            task.last = i == n_tasks
            pushed_programs += 1
            written_arrays += task.n_written
            flags = kInline if task.nbytes <= (
                MAX_INLINE_PASS_BYTES if task.simple else MAX_INLINE_BYTES) else kNormal
            # The GIL is held: no thread may use a variable before this is in its queue.
            _engine.push_sync(_run, task, _free, kCPU, 0, task.vars + task.n_written, task.n_read,
                              task.vars, task.n_written, 0, flags, b"bulk")
    finally:
        while i < n_tasks:
            c_free(tasks[i])
            i += 1
        for i in range(n_held):
            release_chunk(held[i])
    return 0
