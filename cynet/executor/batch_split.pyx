"""The loop over parts (contract in batch_split.pxd)."""

from libc.stdint cimport int64_t
from libc.string cimport memset
from libcpp.algorithm cimport sort
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from .._ndarray cimport NDArrayBase
from .tables cimport NativeStep, PartSum, Run, SplitSteps, Tables, call_step, nanoseconds
from .._typedefs cimport RunContext, TBlob, dtype_size, kFloat32
from ..kernels.elementwise.binary cimport find_binary
from ..kernels.elementwise.elementwise cimport Kernel, run_binary
from ..kernels.parallel cimport parallel_ranges, threads_for

from ..graph.ir import ADD, WRITE
from ..graph.passes.batch_split import row_positions

cdef extern from "Python.h":
    ctypedef struct PyObject
    void PyErr_Fetch(PyObject** kind, PyObject** value, PyObject** trace)
    void PyErr_Restore(PyObject* kind, PyObject* value, PyObject* trace)
    void PyErr_SetString(object kind, const char* text)
    void Py_XDECREF(PyObject* o)

cdef Kernel _sum = find_binary(b"plus", kFloat32, False)

cdef cppclass Parts:
    Run* run
    RunContext* run_ctx
    const SplitSteps* split
    size_t first         # of the tables' steps
    size_t size          # steps of a part
    int64_t noted        # nanoseconds of the first part's steps, while they are profiled
    size_t failed, part  # the first step that failed in any part, and that part; size: none
    PyObject* error[3]   # its exception as PyErr_Fetch gives it: nothing from a helper


# --- building -------------------------------------------------------------------------------------
cdef int add_parts(Tables* tables, split, list steps, dict operators, dict arrays) except -1:
    cdef SplitSteps* native = &tables.steps[<size_t>split.first].split
    cdef NDArrayBase array
    cdef PartSum sum
    cdef int64_t row = 0
    native.last, native.parts, native.work = split.last, len(split.rows), split.work
    native.begin, native.sums = tables.part_steps.size(), tables.sums.size()
    for part, rows in enumerate(split.rows):
        begun = set()  # sums over the rows of this part
        for i in range(split.first, split.last):
            _add_step(tables, steps[i], i, operators, row, rows)
            if part:
                _sum_apart(tables, steps[i], split.sums, part, arrays, begun)
        row += rows
    seen = set()
    for i in range(split.first, split.last):
        for k, value in steps[i].written():
            if value in seen:
                continue
            seen.add(value)
            for partial in split.sums.get(value, ()):
                array = arrays[partial]
                sum.sum = tables.blobs[tables.steps[<size_t>i].in_grad + <size_t>k].data
                sum.part, sum.size = array.blob.data, array.blob.size
                tables.sums.push_back(sum)
    native.sums_end = tables.sums.size()
    return 0


cdef int _add_step(Tables* tables, step, size_t index, dict operators, int64_t row,
                   int64_t rows) except -1:
    """What runs rows [row, row + rows) of a step; `index` is its own in the tables."""
    cdef NativeStep native = tables.steps[index]
    cdef size_t k, begin = native.req
    positions = row_positions(step)
    native.op = <void*>operators[step.origin or step, rows]
    memset(&native.split, 0, sizeof(native.split))
    native.in_data = _cut(tables, native.in_data, len(step.in_data), positions, row, rows)
    native.out_data = _cut(tables, native.out_data, len(step.out_data), None, row, rows)
    native.out_grad = _cut(tables, native.out_grad, len(step.out_grad), None, row, rows)
    native.in_grad = _cut(tables, native.in_grad, len(step.in_grad), positions, row, rows)
    native.req = tables.reqs.size()
    for k in range(len(step.req)):
        tables.reqs.push_back(tables.reqs[begin + k])
    tables.part_steps.push_back(native)
    return 0


cdef size_t _cut(Tables* tables, size_t begin, size_t n, positions, int64_t row,
                 int64_t rows) except? 0:
    """The n blobs from `begin` on again, those at `positions`, or all, cut to some rows."""
    cdef size_t k, first = tables.blobs.size()
    cdef TBlob blob
    cdef int64_t each
    for k in range(n):
        blob = tables.blobs[begin + k]
        if blob.data != NULL and (positions is None or k in positions):
            each = blob.size // blob.shape[0]
            blob.data = <char*>blob.data + row * each * dtype_size(blob.dtype)
            blob.shape[0], blob.size = rows, rows * each
        tables.blobs.push_back(blob)
    return first


cdef int _sum_apart(Tables* tables, step, dict sums, size_t part, dict arrays,
                    set begun) except -1:
    """Let the step that was added last put its sums over the rows into arrays of this part."""
    cdef NativeStep* native = &tables.part_steps.back()
    cdef NDArrayBase array
    for k, value in step.written():
        if value in sums:
            array = arrays[sums[value][part - 1]]
            tables.blobs[native.in_grad + <size_t>k].data = array.blob.data
            tables.reqs[native.req + <size_t>k] = ADD if value in begun else WRITE
            begun.add(value)
    return 0


def share_memory(list written, list others):
    """Whether one of the arrays `written` has a byte in common with another, or one of `others`."""
    cdef vector[pair[size_t, pair[size_t, bint]]] spans  # begin, end, whether it is written
    cdef NDArrayBase array
    cdef size_t i, begin, end, size, end_of_all = 0, end_of_written = 0
    for i, array in enumerate([*written, *others]):
        begin, size = <size_t>array.blob.data, array.blob.size * dtype_size(array.blob.dtype)
        if size:
            spans.push_back((begin, (begin + size, i < <size_t>len(written))))
    sort(spans.begin(), spans.end())
    for i in range(spans.size()):
        begin, end = spans[i].first, spans[i].second.first
        if begin < end_of_written or (spans[i].second.second and begin < end_of_all):
            return True
        end_of_all = max(end_of_all, end)
        if spans[i].second.second:
            end_of_written = max(end_of_written, end)
    return False


# --- running --------------------------------------------------------------------------------------
cdef int run_parts(Run* run, RunContext* run_ctx) noexcept nogil:
    cdef Tables* tables = run.tables
    cdef size_t i, first = run.current
    cdef const SplitSteps* split = &tables.steps[first].split
    cdef bint profiled = tables.profiled.load()
    cdef int64_t begin = nanoseconds() if profiled else 0
    cdef const PartSum* sum
    cdef Parts parts
    parts.run, parts.run_ctx, parts.split, parts.first = run, run_ctx, split, first
    parts.size = split.last - first
    parts.noted = 0
    parts.failed, parts.part = parts.size, 0
    memset(parts.error, 0, sizeof(parts.error))
    parallel_ranges(threads_for(split.work), split.parts, _run_range, &parts)
    if parts.failed < parts.size:
        return _fail(&parts)
    for i in range(split.sums, split.sums_end):
        sum = &tables.sums[i]
        run_binary(&_sum, sum.sum, 1, sum.part, 1, sum.sum, sum.size)
    if profiled:  # of all but the last, what the first part took
        tables.spent[split.last - 1] += nanoseconds() - begin - parts.noted
        for i in range(first, split.last):
            tables.calls[i] += 1
    return 0


cdef void _run_range(void* arg, int64_t begin, int64_t end) noexcept nogil:
    cdef Parts* parts = <Parts*>arg
    cdef bint noting
    cdef int64_t part, started = 0, spent
    cdef size_t i, at
    for part in range(begin, end):
        noting = part == 0 and parts.run.tables.profiled.load()
        for i in range(parts.size):
            at = parts.split.begin + <size_t>part * parts.size + i
            if noting:
                started = nanoseconds()
            if _run_step(parts, at) == -1:
                _note_failure(parts, i, <size_t>part)
                break  # in another part an earlier step may fail
            if noting and i + 1 < parts.size:
                spent = nanoseconds() - started
                parts.run.tables.spent[parts.first + i] += spent
                parts.noted += spent


cdef int _run_step(Parts* parts, size_t at) noexcept nogil:
    cdef Tables* tables = parts.run.tables
    cdef NativeStep* step = &tables.part_steps[at]
    step.context.is_train = parts.run.is_train
    step.context.run_ctx = parts.run_ctx[0]
    step.context.requested = tables.resources.data() + step.requested
    return call_step(step, &step.context, tables.blobs.data() + step.in_data, tables.blobs.data(),
                     tables.reqs.data() + step.req)


cdef void _note_failure(Parts* parts, size_t i, size_t part) noexcept with gil:
    cdef PyObject* error[3]
    cdef size_t k
    memset(error, 0, sizeof(error))
    PyErr_Fetch(&error[0], &error[1], &error[2])
    first = i < parts.failed or (i == parts.failed and part < parts.part)
    if first:
        parts.failed, parts.part = i, part
    for k in range(3):
        if first:
            parts.error[k], error[k] = error[k], parts.error[k]
        Py_XDECREF(error[k])


cdef int _fail(Parts* parts) noexcept nogil:
    """Leave the exception of the step that failed pending here. On a helper it went with
    the GIL: then the step runs again here."""
    cdef size_t at = parts.split.begin + parts.part * parts.size + parts.failed
    parts.run.current = parts.first + parts.failed
    if parts.error[0] != NULL:
        with gil:
            PyErr_Restore(parts.error[0], parts.error[1], parts.error[2])
    elif _run_step(parts, at) == 0:
        with gil:
            PyErr_SetString(MemoryError, b"failed on another thread, and did not when it ran again")
    return -1
