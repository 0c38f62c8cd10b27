# distutils: extra_compile_args = -O3
"""An update rule on those rows of a weight that have a gradient: lazy updates."""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libcpp.set cimport set as cpp_set
from libcpp.vector cimport vector

from ... cimport _engine
from ..._engine cimport VarHandle, kInline, kNormal
from ..._ndarray cimport NDArrayBase, is_on_host
from ..._typedefs cimport RunContext, dtype_size, kBfloat16, kFloat16, kFloat32
from ..._core.sparse_kind cimport is_sparse
from ...engine.inline cimport MAX_INLINE_UPDATE_ELEMENTS
from ...kernels.parallel cimport parallel_ranges, threads_for
from ...kernels.table cimport find_update
from ...kernels.update.update cimport UpdateArrays, UpdateLoop, UpdateParams, run_update

from ...base.dtype import NAMES
from ...base.errors import ArgumentError, ArgumentTypeError, OutOfMemoryError, ShapeError
from ...kernels.table import update_rules

cdef dict _STATE_COUNTS = {rule: states for rule, (states, _, _) in update_rules().items()}


cdef extern from "common/row_prefetch.h" namespace "cynet" nogil:
    const int64_t ROWS_AHEAD
    void prefetch_row "cynet::prefetch_row<true>"(const void* row, int64_t n_bytes) noexcept


cdef struct RowUpdateTask:  # update of some rows of a weight
    UpdateLoop loop
    UpdateParams params
    UpdateArrays arrays
    int64_t length      # elements of a row
    int64_t width       # bytes of an element of weight and gradient
    int64_t state_width[4]
    int64_t n
    int64_t rows[1]


cdef int _run(void* arg, RunContext* run_ctx) except -1 nogil:  # updates the task's rows
    cdef RowUpdateTask* task = <RowUpdateTask*>arg
    parallel_ranges(threads_for(task.n * task.length), task.n, _update_row_range, task)
    return 0


cdef void _update_row_range(void* arg, int64_t begin, int64_t end) noexcept nogil:
    """Rows `begin` to `end` of the gradient; adjacent rows form one run."""
    cdef RowUpdateTask* task = <RowUpdateTask*>arg
    cdef UpdateArrays part
    cdef int64_t i = begin, ahead = begin, n, first
    cdef int64_t row_bytes = task.length * task.width
    cdef int k
    while i < end:
        n = 1
        while i + n < end and task.rows[i + n] == task.rows[i] + n:
            n += 1
        while ahead < end and ahead < i + n + ROWS_AHEAD:
            prefetch_row(<const char*>task.arrays.weight + task.rows[ahead] * row_bytes, row_bytes)
            for k in range(4):
                if task.arrays.state[k] != NULL:
                    first = task.rows[ahead] * task.length * task.state_width[k]
                    prefetch_row(<const char*>task.arrays.state[k] + first,
                                 task.length * task.state_width[k])
            ahead += 1
        part.grad = <const char*>task.arrays.grad + i * row_bytes
        part.weight = <const char*>task.arrays.weight + task.rows[i] * row_bytes
        part.out = <char*>task.arrays.out + task.rows[i] * row_bytes
        for k in range(4):
            part.state[k] = NULL
            if task.arrays.state[k] != NULL:
                first = task.rows[i] * task.length * task.state_width[k]
                part.state[k] = <char*>task.arrays.state[k] + first
        run_update(task.loop, &task.params, &part, n * task.length)
        i += n


cdef void _free(void* arg) noexcept nogil:  # frees the task
    free(arg)


def any_sparse(arrays):
    """True if one of the arrays is sparse."""
    for each in arrays:
        if isinstance(each, NDArrayBase) and is_sparse(&(<NDArrayBase>each).blob):
            return True
    return False


def update_rows(str rule, NDArrayBase weight not None, NDArrayBase values not None,
                const int64_t[::1] rows, tuple states, NDArrayBase master, double lr, double wd,
                double rescale, double clip, tuple numbers):
    """Push one step of `rule` on the rows of `weight`, its states and its float32 copy.

    Parameters
    ----------
    rule : str
        Name in kernels/update/update.h.
    weight : NDArray
        Of the host.
    values : NDArray
        The gradient's rows.
    rows : numpy.ndarray
        Their numbers, int64, which rise.
    states : tuple of NDArray
        Of the weight's shape.
    master : NDArray or None
        A float32 copy of a narrow weight.
    lr, wd, rescale, clip : float
        As `JoinedUpdate` takes them.
    numbers : tuple of float
        The rule's own.
    """
    cdef int64_t n = rows.shape[0], i, height = weight.blob.shape[0] if weight.blob.ndim else 0
    cdef int64_t before = -1
    cdef cpp_set[VarHandle] written
    cdef vector[VarHandle] writes
    cdef VarHandle read = values.chunk.var
    cdef NDArrayBase array
    cdef RowUpdateTask* task
    cdef double own[5]
    cdef int k, flags
    cdef int exact = kFloat32 if master is not None else weight.blob.dtype
    if rule not in _STATE_COUNTS or len(states) != _STATE_COUNTS[rule]:
        raise ArgumentError(f"update rule '{rule}' of rows: got {len(states)} states")
    if values.shape != (n, *weight.shape[1:]):
        raise ShapeError(f"update: a weight has shape {weight.shape}, {n} rows of its gradient have"
                         f" shape {values.shape}")
    if values.blob.dtype != weight.blob.dtype:
        raise ArgumentTypeError(f"update: a weight has dtype {NAMES[weight.blob.dtype]}, its "
                                f"gradient {NAMES[values.blob.dtype]}")
    if master is not None and weight.blob.dtype not in (kFloat16, kBfloat16):
        raise ArgumentTypeError("update: only float16 and bfloat16 have a float32 copy")
    arrays = [weight, *states, *([] if master is None else [master])]
    for i, array in enumerate(arrays):
        if not is_on_host(&array.blob) or not is_on_host(&values.blob):
            raise ArgumentError("update of rows: all arrays are in the memory of the host")
        if array.shape != weight.shape:
            raise ShapeError(f"update: a weight has shape {weight.shape}, its state {array.shape}")
        if i and array.blob.dtype != exact:
            raise ArgumentTypeError(f"update: a state is {NAMES[array.blob.dtype]}, expected "
                                    f"{NAMES[exact]}")
        written.insert(array.chunk.var)
    if written.size() < <size_t>len(arrays) or written.count(read):
        raise ArgumentError("update of rows: weight, gradient and states share memory")
    if weight.blob.size == 0 or n == 0:
        return
    task = <RowUpdateTask*>malloc(sizeof(RowUpdateTask) + n * sizeof(int64_t))
    if task == NULL:
        raise OutOfMemoryError("no memory for the rows of an update")
    task.loop = find_update(rule.encode(), weight.blob.dtype, master is not None, False)
    task.params.lr, task.params.wd, task.params.rescale, task.params.clip = lr, wd, rescale, clip
    own[:] = [0.0, 0.0, 0.0, 0.0, 0.0]
    for k in range(len(numbers)):
        own[k] = numbers[k]
    task.params.a, task.params.b, task.params.c = own[0], own[1], own[2]
    task.params.d, task.params.e = own[3], own[4]
    task.arrays.weight = task.arrays.out = weight.blob.data
    task.arrays.grad = values.blob.data
    for k in range(4):
        task.arrays.state[k], task.state_width[k] = NULL, 0
    for k in range(1, len(arrays)):
        array = arrays[k]
        task.arrays.state[k - 1] = array.blob.data
        task.state_width[k - 1] = dtype_size(array.blob.dtype)
    task.length, task.width = weight.blob.size // height, dtype_size(weight.blob.dtype)
    task.n = n
    for i in range(n):
        if not before < rows[i] < height:
            free(task)
            raise ArgumentError(f"update of rows: row {rows[i]} after {before}, of {height}")
        before = task.rows[i] = rows[i]
    for var in written:
        writes.push_back(var)
    flags = kInline if n * task.length <= MAX_INLINE_UPDATE_ELEMENTS else kNormal
    with nogil:
        _engine.push_sync(_run, task, _free, weight.blob.dev_type, weight.blob.dev_id, &read, 1,
                          writes.data(), <int>writes.size(), 0, flags, b"update_rows")
