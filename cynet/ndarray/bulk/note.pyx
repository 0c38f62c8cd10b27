"""Bulks of elementwise calls: adding calls to the program (contract in the .pxd)."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from ... cimport _engine
from ..._ndarray cimport NDArrayBase
from ..._storage cimport free as storage_free
from ..._typedefs cimport TBlob, dtype_size, kBool, kCPU
from ...engine cimport deferred
from ...engine.deferred cimport deferred_call_limit, store_mask, variable_bit
from ...engine.trace cimport now_if_traced, IMPERATIVE
from ...kernels.elementwise.elementwise cimport Kernel
from ...kernels.table cimport find_unary
from ...operator._elementwise cimport IN_DATA, NUMBER, ElementwiseOperator, NativeLoop
from .program cimport (
    MAX_ARRAYS, MAX_LINES, MIN_COLUMNS, ONE_COLUMN, ONE_ELEMENT, ONE_ROW, WHOLE_ARRAY, BulkArray,
    BulkLine, BulkProgram, push_program, pushed_programs, written_arrays)
from .._resolve cimport Call

import os

cdef enum:
    MAX_INPUTS = 3  # maximum number of inputs of a noted call
    MIN_FREED_BYTES = 1 << 15  # bytes of a block from which on early freeing pays

cdef extern from *:
    "static thread_local bool cynet_pushes = false;"
    bint pushes_here "cynet_pushes"  # this thread pushes the noted program

cdef dict _copy_operators = {}           # dtype -> operator that copies
cdef BulkProgram program  # the noted calls
cdef bint _is_disabled = _engine.is_naive(_engine.default_engine())  # nothing is noted


# --- adding calls ---------------------------------------------------------------------------------
cdef bint defer_call(Call call, PyObject** arrays, NDArrayBase out) except -1:
    if (call.state == NULL or call.dev_type != kCPU or call.n_out != 1 or call.n_aux
            or call.n_in > MAX_INPUTS
            or not isinstance(<object>call.state.op, ElementwiseOperator)):
        return False
    return _defer_op(<ElementwiseOperator><object>call.state.op, arrays, call.n_in, out)


cdef bint defer_copy(NDArrayBase source, NDArrayBase out) except -1:
    cdef PyObject* arrays[1]
    if source.chunk == out.chunk or source.blob.size != out.blob.size:
        return False
    arrays[0] = <PyObject*>source
    return _defer_op(_copy_operator(out.blob.dtype), arrays, 1, out)


cdef ElementwiseOperator _copy_operator(int dtype):
    cdef ElementwiseOperator op = _copy_operators.get(dtype)
    cdef Kernel write
    if op is None:
        op = ElementwiseOperator()
        if dtype != kBool:
            write = find_unary(b"identity", dtype, False)
            op.set_loop(write, write, 1, -1, NULL, "identity")
        _copy_operators[dtype] = op
    return op


cdef bint _defer_op(ElementwiseOperator op, PyObject** arrays, int n, NDArrayBase out) except -1:
    cdef int64_t columns = 0
    cdef int kind[MAX_INPUTS]
    cdef int place[MAX_INPUTS]
    cdef int i, target
    if (deferred_call_limit() < 2 or _is_disabled or now_if_traced(IMPERATIVE)
            or op.forward_loops.empty() or not _is_deferrable(out, &out.blob)):
        return False
    for i in range(n):
        if not _is_deferrable(<NDArrayBase>arrays[i], &out.blob):
            return False
        kind[i] = _broadcast_kind(&(<NDArrayBase>arrays[i]).blob, &out.blob, &columns)
        if kind[i] < 0:
            return False
    if program.count * dtype_size(program.dtype) >= MIN_FREED_BYTES:
        _free_unused_blocks()
    # A flush may let other threads add calls, so the checks are repeated.
    while not (_fits_program(&out.blob, columns, op, n) and _share_no_bytes(arrays, kind, n, out)):
        flush_program()
    if program.n_calls == 0:
        program.count, program.dtype, program.columns = out.blob.size, out.blob.dtype, 0
        program.shares = False
    if columns:
        program.columns = columns
    for i in range(n):
        place[i] = _find_or_add_array(<NDArrayBase>arrays[i], kind[i], False)
    target = _find_or_add_array(out, WHOLE_ARRAY, True)
    _add_loop_lines(op, place, target)
    program.n_calls += 1
    if program.n_calls >= deferred_call_limit():
        flush_program()
    return True


cdef int _free_unused_blocks() noexcept:
    # Free blocks of arrays that nobody holds, which the next outputs reuse.
    cdef BulkArray* each
    cdef int i
    for i in range(program.n_arrays):
        each = &program.arrays[i]
        if each.fresh and each.data != NULL and each.chunk.references.load() == 1:
            storage_free(&each.chunk.handle)
            each.data = NULL
    return 0


cdef inline bint _is_deferrable(NDArrayBase array, const TBlob* out) noexcept:
    # False for an exposed array, whose memory others may write while the program waits.
    return (array.blob.dtype == out.dtype and out.dtype != kBool and array.blob.size > 0
            and array.blob.dev_type == kCPU and array.chunk.owner == NULL
            and not array.chunk.exposed.load())


cdef inline int _broadcast_kind(const TBlob* array, const TBlob* out, int64_t* columns) noexcept:
    # The Kind by which an array broadcasts to the output, whose rows have `columns` elements (0:
    # any length); -1 if there is none.
    cdef int64_t row
    cdef int i, own, changes = 0
    cdef bint same, before = False, first = True
    if array.size == out.size:
        return WHOLE_ARRAY
    if array.size == 1:
        return ONE_ELEMENT
    for i in range(out.ndim):
        if out.shape[i] == 1:
            continue
        own = i - (out.ndim - array.ndim)
        same = own >= 0 and array.shape[own] == out.shape[i]
        changes += not first and same != before
        before, first = same, False
    row = array.size if before else out.size // array.size
    if changes != 1 or row < MIN_COLUMNS or columns[0] not in (0, row):
        return -1
    columns[0] = row
    return ONE_ROW if before else ONE_COLUMN


cdef inline bint _fits_program(const TBlob* out, int64_t columns, ElementwiseOperator op,
                               int n) noexcept:
    return program.n_calls == 0 or (
        program.count == out.size and program.dtype == out.dtype
        and (columns == 0 or program.columns == 0 or program.columns == columns)
        and program.n_arrays + n + 1 <= MAX_ARRAYS
        and program.n_lines + <int>op.forward_loops.size() <= MAX_LINES)


cdef inline bint _share_no_bytes(PyObject** arrays, int* kind, int n, NDArrayBase out) noexcept:
    # True if no array of the program shares bytes with another array of which one is written.
    cdef int i
    for i in range(n):
        if not _is_free_of_overlap(<NDArrayBase>arrays[i], kind[i], False):
            return False
    return _is_free_of_overlap(out, WHOLE_ARRAY, True)


cdef inline bint _is_free_of_overlap(NDArrayBase array, int kind, bint writes) noexcept:
    cdef const BulkArray* each
    cdef int i
    if not variable_bit(array.chunk.var) & deferred.deferred_mask:
        return True
    for i in range(program.n_arrays):
        each = &program.arrays[i]
        if each.chunk == array.chunk:
            if _is_same_operand(each, array, kind):
                if writes and each.counted:  # the earlier write is relied on
                    return False
            elif writes or each.writes:
                return False
    return True


cdef inline bint _is_same_operand(const BulkArray* noted, NDArrayBase array, int kind) noexcept:
    return (noted.chunk == array.chunk and noted.data == array.blob.data
            and noted.size == array.blob.size and noted.kind == kind)


cdef int _find_or_add_array(NDArrayBase array, int kind, bint writes) noexcept:
    # The index of an array in the program, to which it is added if it is new.
    cdef BulkArray* each = NULL
    cdef uint64_t bit = variable_bit(array.chunk.var)
    cdef int i, found = -1
    if bit & deferred.deferred_mask:
        for i in range(program.n_arrays):
            if program.arrays[i].chunk == array.chunk:
                program.shares = True
            if _is_same_operand(&program.arrays[i], array, kind):
                found = i
                break
    if found < 0:
        found = program.n_arrays
        program.n_arrays += 1
        each = &program.arrays[found]
        each.chunk, each.var = array.chunk, array.chunk.var
        each.data, each.size, each.kind = <char*>array.blob.data, array.blob.size, kind
        each.writes, each.counted = 0, False
        each.fresh = writes and not array.chunk.written
        array.chunk.references.fetch_add(1)
        store_mask(&deferred.deferred_mask, deferred.deferred_mask | bit)
    if writes:
        program.arrays[found].writes += 1
        store_mask(&deferred.deferred_writes_mask, deferred.deferred_writes_mask | bit)
    return found


cdef int _add_loop_lines(ElementwiseOperator op, int* place, int target) noexcept:
    cdef const NativeLoop* loop
    cdef BulkLine* line
    cdef size_t k
    cdef int i
    for k in range(op.forward_loops.size()):
        loop = &op.forward_loops[k]
        line = &program.lines[program.n_lines]
        program.n_lines += 1
        line.kernel = loop.add if loop.more else loop.write
        line.reads, line.target, line.more = loop.reads, target, loop.more
        line.call, line.work = program.n_calls, op.work if k == 0 else 0
        memcpy(line.number, loop.number, 8)
        for i in range(loop.reads):
            if loop.source[i] == NUMBER:
                line.operand[i] = -1
            else:
                line.operand[i] = place[loop.index[i]] if loop.source[i] == IN_DATA else target
    return 0


# --- flushing -------------------------------------------------------------------------------------
cdef int flush_program() except -1:
    global pushes_here
    pushes_here = True
    try:
        return push_program(&program)
    finally:
        pushes_here = False
        _set_masks_of_noted_vars()


cdef int _set_masks_of_noted_vars() noexcept:
    # Compute the masks of variables in the program; a wait for one of them runs the program.
    cdef uint64_t noted = 0, writes = 0
    cdef int i
    for i in range(program.n_arrays):
        noted |= variable_bit(program.arrays[i].var)
        if program.arrays[i].writes:
            writes |= variable_bit(program.arrays[i].var)
    store_mask(&deferred.deferred_mask, noted)
    store_mask(&deferred.deferred_writes_mask, writes)
    return 0


cdef int _flush_if_var_noted(void* var, bint reads) except -1 nogil:
    cdef int i
    if pushes_here:
        return 0
    with gil:
        for i in range(program.n_arrays):
            if var == NULL or program.arrays[i].var == var and (
                    reads or program.arrays[i].writes):
                return flush_program()
    return 0


cdef int _count_noted_write(void* var) except -1:  # 1: the program's write is relied on
    cdef BulkArray* each
    cdef int i
    for i in range(program.n_arrays):
        each = &program.arrays[i]
        if each.var == var and each.writes:
            if each.writes > 1:  # a late input splits the writes
                flush_program()
                return 0
            each.counted = True
            return 1
    return 0


deferred.flush_deferred, deferred.count_deferred = _flush_if_var_noted, _count_noted_write


def waiting_and_pushed_counts():
    """For tests: (count of waiting calls, of pushed programs, of arrays that these wrote)."""
    return program.n_calls, pushed_programs, written_arrays


def flush_before_fork():
    """Push the noted calls before a fork, so that the child has their results."""
    flush_program()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=flush_before_fork)
