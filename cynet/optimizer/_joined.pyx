"""JoinedUpdate: implementation; see _joined.pxd."""

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free as c_free
from libc.stdlib cimport malloc as c_malloc
from libcpp.set cimport set as cpp_set

from .. cimport _engine
from .._engine cimport VarHandle, kInline, kNormal
from ..engine.inline cimport MAX_INLINE_UPDATE_ELEMENTS
from .._ndarray cimport NDArrayBase, RowSet, blob_shape, is_on_host
from .._core.touched_rows cimport are_rows_known
from .._typedefs cimport (
    RunContext, dtype_size, kBfloat16, kFloat16, kFloat32, kFloat64, kGPU
)
from ..cuda.driver cimport check, launch
from ..cuda.graphs cimport hold_recording, init_recording, release
from ..cuda.graphs cimport run as run_recorded
from ..kernels.parallel cimport parallel_ranges, threads_for
from ..kernels.update.update cimport (
    UPDATE_BLOCK, UpdateArrays, UpdateParams, can_skip_zero_gradients, run_update
)
from ..kernels.table cimport find_update, skips_zero_gradients

from ..cuda.device import device
from ..kernels.table import update_rules
from ..base.dtype import NAMES
from ..base.errors import ArgumentError, ArgumentTypeError, OutOfMemoryError, ShapeError

# Number of states of each rule: of all rules, and of the rules that also run on GPUs.
_STATE_COUNTS = {rule: n for rule, (n, _, _) in update_rules().items()}  # rule -> number of states
_GPU_STATE_COUNTS = {rule: n for rule, (n, on_gpus, _) in update_rules().items() if on_gpus}


# names of the dtypes in cuda/kernels/update.cu
cdef dict _CUDA_TYPES = {kFloat32: "float", kFloat64: "double", kFloat16: "cynet::half",
                         kBfloat16: "cynet::bfloat16"}

cdef enum:
    THREADS = 256  # of a GPU's block
    MAX_BLOCKS = 1 << 16  # maximum number of blocks of a launch
    NORM_GROUP_SIZE = 1 << 16  # maximum of elements whose norms are computed before the update


cdef extern from "update/norms.h" namespace "cynet" nogil:
    const int64_t NORM_BLOCK  # elements of a partial sum
    double sum_of_squares(int dtype, const void* x, int64_t n) noexcept  # sum of x[i]^2
    NormRate find_norm_rate(const char* name, const char** first) noexcept  # may return NULL


cdef extern from "common/row_prefetch.h" namespace "cynet" nogil:
    const int64_t ROWS_AHEAD, ROWS_TOGETHER
    int64_t next_marked_row(const uint64_t* bits, int64_t row, int64_t last) noexcept
    void prefetch_row "cynet::prefetch_row<true>"(const void* row, int64_t n_bytes) noexcept


cdef struct ItemPartition:  # a group of items, updated in parts by threads
    UpdateTask* task
    size_t first, last  # items
    int64_t parts


cdef struct NormSumTask:  # norms to compute, from a block on
    UpdateTask* task
    int64_t first  # block


cdef struct KernelArgs:  # arguments of kernels/update.cu
    UpdateParams values
    const UpdateParams* now


KERNEL_ARGS_BYTES = sizeof(KernelArgs)


cdef int _update_on_host(void* arg, RunContext* run_ctx) except -1 nogil:
    cdef UpdateTask* task = <UpdateTask*>arg
    cdef FusedUpdate* joined = task.joined
    cdef UpdateItem* item
    cdef ItemPartition shares
    cdef size_t i
    if joined.apart:
        for i in range(joined.items.size()):
            item = &joined.items[i]
            _apply_norm_rates(task, i, i + 1)
            run_update(item.loop, &task.params[i], &item.arrays, item.size)
    else:
        shares.task, shares.last = task, 0
        while shares.last < joined.items.size():
            shares.first, shares.last = shares.last, _end_of_update_group(joined, shares.last)
            _apply_norm_rates(task, shares.first, shares.last)
            shares.parts = threads_for(_estimate_n_changed(task, shares.first, shares.last))
            parallel_ranges(<int>shares.parts, shares.parts, _update_weight_parts, &shares)
    return 0


cdef size_t _end_of_update_group(const FusedUpdate* joined, size_t first) noexcept nogil:
    """Return the end of a group of items that are updated together: all, or, where norms are needed
    first, as many as fit a core's cache."""
    cdef size_t last = first + 1
    cdef int64_t size = joined.items[first].size
    if joined.rate == NULL:
        return joined.items.size()
    while last < joined.items.size() and size + joined.items[last].size <= NORM_GROUP_SIZE:
        size += joined.items[last].size
        last += 1
    return last


cdef void _apply_norm_rates(UpdateTask* task, size_t first, size_t last) noexcept nogil:
    """Set learning rates of items `first` to `last` by their norms, if the rule uses norms. Partial
    sums are those of blocks, whatever the number of threads."""
    cdef FusedUpdate* joined = task.joined
    cdef NormSumTask norms
    cdef int64_t blocks, block
    cdef double weight, other
    cdef size_t i
    if joined.rate == NULL:
        return
    norms.task, norms.first = task, joined.items[first].blocks_before
    blocks = _block_count_up_to(&joined.items[last - 1]) - norms.first
    parallel_ranges(threads_for(blocks * NORM_BLOCK), blocks, _sum_block_squares, &norms)
    for i in range(first, last):
        weight = other = 0
        for block in range(joined.items[i].blocks_before, _block_count_up_to(&joined.items[i])):
            weight += joined.squares[2 * block]
            other += joined.squares[2 * block + 1]
        task.params[i].lr *= joined.rate(task.params[i], weight, other)


cdef inline int64_t _block_count_up_to(const UpdateItem* item) noexcept nogil:  # including it
    return item.blocks_before + (item.size + NORM_BLOCK - 1) // NORM_BLOCK


cdef void _sum_block_squares(void* arg, int64_t begin, int64_t end) noexcept nogil:
    cdef UpdateTask* task = (<NormSumTask*>arg).task
    cdef int64_t before = (<NormSumTask*>arg).first, block, at, n
    cdef double step[NORM_BLOCK]
    cdef double* squares = task.joined.squares.data()
    cdef UpdateArrays part
    cdef UpdateItem* item
    cdef size_t i = 0
    for block in range(before + begin, before + end):
        while block >= _block_count_up_to(&task.joined.items[i]):
            i += 1
        item = &task.joined.items[i]
        at = (block - item.blocks_before) * NORM_BLOCK
        n = min(<int64_t>NORM_BLOCK, item.size - at)
        part = _arrays_from_element(item, at)
        if item.first == NULL:
            squares[2 * block + 1] = sum_of_squares(item.dtype, part.grad, n)
        else:
            part.out = step
            run_update(item.first, &task.params[i], &part, n)
            squares[2 * block + 1] = sum_of_squares(item.exact if item.master >= 0 else item.dtype,
                                                    step, n)
        squares[2 * block] = sum_of_squares(
            item.exact, part.weight if item.master < 0 else part.state[item.master], n)


cdef int64_t _estimate_n_changed(const UpdateTask* task, size_t first, size_t last) noexcept nogil:
    """Estimate how many elements the step changes, without rows that have no gradient."""
    cdef const UpdateItem* item
    cdef const RowSet* rows
    cdef int64_t changed = 0
    cdef size_t i
    for i in range(first, last):
        item = &task.joined.items[i]
        rows = _changed_row_set(task, i)
        changed += item.size if rows == NULL else rows.maximum.load() * rows.length // item.width
    return changed


cdef inline const RowSet* _changed_row_set(const UpdateTask* task, size_t i) noexcept nogil:
    """Return the set of rows of the i-th weight that may change, or NULL for all."""
    cdef const UpdateItem* item = &task.joined.items[i]
    cdef const RowSet* rows = item.grad.rows.load()
    if (rows == NULL or not item.skips_zero_gradient or rows.data != item.arrays.grad
            or rows.n * rows.length != item.size * item.width
            or not can_skip_zero_gradients(task.params[i])):
        return NULL
    return rows


cdef inline const RowSet* _known_row_set(const UpdateTask* task, size_t i) noexcept nogil:
    cdef const RowSet* rows = _changed_row_set(task, i)
    return rows if rows != NULL and are_rows_known(task.joined.items[i].grad) else NULL


cdef void _update_weight_parts(void* arg, int64_t begin, int64_t end) noexcept nogil:
    """Update parts `begin` to `end` of the weights.

    A part of a large weight is a range of its rows. Products share rows out in the same way, so
    that a core finds its rows in its cache. If only few rows of a gradient are not zero, the parts
    are ranges of those. Small weights are shared out as if they were one array.
    """
    cdef UpdateTask* task = (<ItemPartition*>arg).task
    cdef int64_t parts = (<ItemPartition*>arg).parts
    cdef int64_t part, before, small = 0
    cdef size_t i, first = (<ItemPartition*>arg).first, last = (<ItemPartition*>arg).last
    cdef UpdateItem* items = task.joined.items.data()
    cdef const RowSet* rows
    for i in range(first, last):
        if not _is_large_item(&items[i], parts) and _known_row_set(task, i) == NULL:
            small += items[i].size
    for part in range(begin, end):
        before = 0
        for i in range(first, last):
            rows = _known_row_set(task, i)
            if rows != NULL:
                _update_rows(task, i, rows, part, parts)
            elif _is_large_item(&items[i], parts):
                _update_span(task, i, items[i].size * part // parts,
                             items[i].size * (part + 1) // parts)
            else:
                _update_span(task, i, small * part // parts - before,
                             small * (part + 1) // parts - before)
                before += items[i].size


cdef inline bint _is_large_item(const UpdateItem* item, int64_t parts) noexcept nogil:
    return item.size >= 4 * parts * UPDATE_BLOCK


cdef void _update_span(UpdateTask* task, size_t i, int64_t begin, int64_t end) noexcept nogil:
    """Update the i-th weight's elements within the range `begin` to `end`."""
    cdef const UpdateItem* item = &task.joined.items[i]
    cdef int64_t first = _floor_to_block(begin, item.size), last = _floor_to_block(end, item.size)
    if first < last:
        _update_elements(task, i, first, last)


cdef void _update_rows(UpdateTask* task, size_t i, const RowSet* rows, int64_t part,
                       int64_t parts) noexcept nogil:
    """Update one of `parts` parts of the i-th weight's rows that have gradients."""
    cdef UpdateItem* item = &task.joined.items[i]
    cdef const uint64_t* bits = rows.bits.data()
    cdef int64_t length = rows.length // item.width
    cdef int64_t first = part * ROWS_TOGETHER, last, row, ahead, n
    while first < rows.n:
        last = min(first + ROWS_TOGETHER, rows.n)
        row = ahead = next_marked_row(bits, first, last)
        for _ in range(ROWS_AHEAD):
            ahead = next_marked_row(bits, ahead + 1, last)
        while row < last:
            n = 0
            while n == 0 or next_marked_row(bits, row + n, last) == row + n < last:
                if ahead < last:
                    prefetch_row(<const char*>item.arrays.weight + ahead * rows.length, rows.length)
                    prefetch_row(<const char*>item.arrays.grad + ahead * rows.length, rows.length)
                    ahead = next_marked_row(bits, ahead + 1, last)
                n += 1
            _update_elements(task, i, row * length, (row + n) * length)
            row = next_marked_row(bits, row + n, last)
        first += parts * ROWS_TOGETHER


cdef void _update_elements(UpdateTask* task, size_t i, int64_t first, int64_t last) noexcept nogil:
    cdef UpdateItem* item = &task.joined.items[i]
    cdef UpdateArrays part = _arrays_from_element(item, first)
    run_update(item.loop, &task.params[i], &part, last - first)


cdef inline UpdateArrays _arrays_from_element(const UpdateItem* item, int64_t first) noexcept nogil:
    """Return the item's arrays, starting at element `first`."""
    cdef UpdateArrays part
    cdef int k
    part.weight = <const char*>item.arrays.weight + first * item.width
    part.grad = <const char*>item.arrays.grad + first * item.width
    part.out = <char*>item.arrays.out + first * item.width
    for k in range(4):
        part.state[k] = NULL
        if item.arrays.state[k] != NULL:
            part.state[k] = <char*>item.arrays.state[k] + first * item.state_width[k]
    return part


cdef inline int64_t _floor_to_block(int64_t at, int64_t size) noexcept nogil:
    """Round the end of a range down to whole blocks, so that results are independent of threads."""
    if at <= 0:
        return 0
    return size if at >= size else at - at % UPDATE_BLOCK


cdef int _update_on_device(void* arg, RunContext* run_ctx) except -1 nogil:
    cdef UpdateTask* task = <UpdateTask*>arg
    return run_recorded(&task.joined.recording, run_ctx, launch_joined_update, arg, task.params,
                        task.joined.items.size() * sizeof(UpdateParams))


cdef int launch_joined_update(void* arg, RunContext* run_ctx, void* numbers) except -1 nogil:
    cdef UpdateTask* task = <UpdateTask*>arg
    cdef void* params[10]
    cdef unsigned grid[3]
    cdef unsigned block[3]
    cdef void* exact
    cdef int add = 0
    cdef size_t i
    cdef UpdateItem* item
    cdef KernelArgs given
    grid[1] = grid[2] = block[1] = block[2] = 1
    block[0] = THREADS
    for i in range(task.joined.items.size()):
        item = &task.joined.items[i]
        if item.size == 0:
            continue
        given.values = task.params[i]
        given.now = NULL
        if numbers != NULL:
            given.now = <const UpdateParams*>numbers + i
        grid[0] = <unsigned>min((item.size + THREADS - 1) // THREADS, <int64_t>MAX_BLOCKS)
        params[0], params[1], params[2] = (
            &item.arrays.weight, &item.arrays.grad, &item.arrays.out)
        params[3], params[4], params[5] = (
            &item.arrays.state[0], &item.arrays.state[1], &item.arrays.state[2])
        exact = NULL if item.master < 0 else item.arrays.state[item.master]
        params[6], params[7], params[8], params[9] = &exact, &given, &item.size, &add
        check(launch(item.kernel, grid, block, 0, run_ctx.stream, params), run_ctx.dev_id,
              b"an update")
    return 0


cdef void free_task(void* arg) noexcept nogil:
    _release_fused_update((<UpdateTask*>arg).joined)
    c_free(arg)


cdef void _release_fused_update(FusedUpdate* joined) noexcept nogil:
    if release(&joined.recording, joined.dev_id):
        del joined


cdef class JoinedUpdate(UpdateStep):  # one update of several weights by one kernel
    """An update rule bound to weights, gradients and states; calling it pushes one step.

    rule (str): Name in kernels/update/update.h: ``'sgd'``, ``'sgd_mom'``, ``'adam'``, ...
    weights, grads (list of NDArray): Of the same shapes and dtypes, pair by pair.
    states (list): For each weight None, an NDArray or a tuple of NDArrays.
    multi_precision (bool): The state of a float16 or bfloat16 weight is a pair: a float32 copy of
        the weight, which is updated and from which the weight is rounded, and what the rule
        remembers of that copy.
    norm (str, optional): ``'lamb'``, ``'lars'`` or ``'lbsgd'``: how learning rates follow from the
        norms of whole weights (norm_table in kernels/update/norms.h). Runs on CPUs alone.
    """

    def __cinit__(self):
        self.joined = new FusedUpdate()
        self.queue_launches, self.free_task = launch_joined_update, free_task
        init_recording(&self.joined.recording, False)

    def __dealloc__(self):
        cdef FusedUpdate* joined = self.joined
        with nogil:
            _release_fused_update(joined)

    def __init__(self, str rule, list weights, list grads, list states,
                 bint multi_precision=False, str norm=None, bint copy_is_last=False):
        cdef cpp_set[VarHandle] written
        cdef cpp_set[VarHandle] read
        cdef NDArrayBase weight, grad, array, master
        cdef UpdateItem item
        cdef size_t arrays_written = 0
        cdef int i
        cdef bytes name = rule.encode(), norm_name = b"" if norm is None else norm.encode()
        cdef const char* first = NULL
        cdef int64_t blocks = 0
        known = _GPU_STATE_COUNTS if norm is None else _STATE_COUNTS
        self.weights, self.grads, self.states = tuple(weights), tuple(grads), tuple(states)
        if not len(weights) == len(grads) == len(states):
            raise ArgumentError(f"update: {len(weights)} weights, {len(grads)} gradients,"
                                f" {len(states)} states")
        if rule not in known:
            why = "runs on CPUs alone" if rule in _STATE_COUNTS else "does not exist"
            raise ArgumentError(f"update: rule '{rule}' {why}")
        self.joined.rate = find_norm_rate(norm_name, &first)
        if norm is not None and self.joined.rate == NULL:
            raise ArgumentError(f"update: no rate by norms is named '{norm}'")
        self.joined.items.reserve(len(weights))
        for k in range(len(weights)):
            weight, grad = _as_ndarray(weights[k], "weight"), _as_ndarray(grads[k], "gradient")
            state, master = states[k], None
            if multi_precision and weight.blob.dtype in (kFloat16, kBfloat16):
                state, master = state if copy_is_last else state[::-1]
                master = _as_ndarray(master, "float32 copy")
            own = _flatten_state_arrays(state)
            if len(own) != known[rule]:
                raise ArgumentError(f"update rule '{rule}' takes {known[rule]} states for a"
                                    f" weight, got {len(own)}")
            _check_alike(weight, grad, "gradient", weight.blob.dtype)
            if weight.blob.dev_type == kGPU and weight.context != weights[0].context:
                raise ArgumentError(f"update: weights are on {weights[0].context} and"
                                    f" {weight.context}; update each device's on their own")
            if weight.blob.dtype not in (kFloat32, kFloat64, kFloat16, kBfloat16):
                raise ArgumentTypeError(f"update rule '{rule}' takes weights of a floating dtype,"
                                        f" got {NAMES[weight.blob.dtype]}")
            item.loop = find_update(name, weight.blob.dtype, master is not None, False)
            item.kernel = NULL
            item.master = -1
            item.dtype, item.exact = grad.blob.dtype, weight.blob.dtype
            item.first = NULL
            if first != NULL:
                item.first = find_update(first, weight.blob.dtype, master is not None, False)
            if norm is not None and weight.blob.dev_type == kGPU:
                raise ArgumentError(f"update: rates by norms are the CPU's, a weight is on"
                                    f" {weight.context}")
            if weight.blob.dev_type == kGPU:
                item.kernel = _find_update_kernel(weight, rule, master is not None)
            item.arrays.weight = item.arrays.out = weight.blob.data
            item.arrays.grad, item.grad = grad.blob.data, grad.chunk
            item.skips_zero_gradient = master is None and skips_zero_gradients(name)
            item.size, item.width = weight.blob.size, <int>dtype_size(weight.blob.dtype)
            written.insert(weight.chunk.var)
            arrays_written += 1
            read.insert(grad.chunk.var)
            for i in range(4):
                item.arrays.state[i] = NULL
            for i, each in enumerate(own):
                array = _as_ndarray(each, "state")
                _check_alike(weight, array, "state",
                             weight.blob.dtype if master is None else kFloat32)
                item.arrays.state[i] = array.blob.data
                item.state_width[i] = <int>dtype_size(array.blob.dtype)
                written.insert(array.chunk.var)
                arrays_written += 1
            if master is not None:
                _check_alike(weight, master, "float32 copy", kFloat32)
                item.master, item.exact = len(own), kFloat32
                item.arrays.state[item.master] = master.blob.data
                item.state_width[item.master] = <int>dtype_size(kFloat32)
                written.insert(master.chunk.var)
                arrays_written += 1
            item.blocks_before = blocks
            blocks = _block_count_up_to(&item)
            self.joined.items.push_back(item)
        if norm is not None:
            self.joined.squares.resize(2 * blocks)
        # a single launch needs no CUDA graph
        self.joined.recording.never = self.joined.items.size() < 2
        self.joined.apart = written.size() < arrays_written
        for var in written:
            self.writes.push_back(var)
            if read.erase(var):
                self.joined.apart = True
        for var in read:
            self.reads.push_back(var)
        if weights:
            weight = weights[0]
            self.dev_type, self.dev_id = weight.blob.dev_type, weight.blob.dev_id
            self.joined.dev_id = self.dev_id

    cdef int _engine_push_flags(self, const UpdateTask* task) noexcept nogil:
        if self.dev_type == kGPU:
            return kInline  # only launches kernels
        cdef int64_t changed = _estimate_n_changed(task, 0, task.joined.items.size())
        return kInline if changed <= MAX_INLINE_UPDATE_ELEMENTS else kNormal

    def is_made_for(self, list weights, list grads, list states):
        """Return whether these are the arrays that the update was created for."""
        cdef Py_ssize_t i, n = len(self.weights)
        if len(weights) != n or len(grads) != n or len(states) != n:
            return False
        for i in range(n):
            if (weights[i] is not self.weights[i] or grads[i] is not self.grads[i]
                    or states[i] is not self.states[i]):
                return False
        return True

    def __call__(self, list lrs, list wds, double rescale, double clip, list numbers):
        """Push one step of all weights to the engine.

        lrs, wds (list of float): Learning rate and weight decay of each weight.
        rescale, clip (float): Factor of all gradients, and their bound after that; negative: none.
        numbers (list of tuple of float): The rule's own numbers for each weight, in the order of
            kernels/update/update.h.
        """
        cdef UpdateTask* task
        if self.joined.items.empty():
            return
        task = self._make_task(lrs, wds, rescale, clip, numbers)
        with nogil:
            # the engine owns the task from here on, even if the push fails
            _engine.push_sync(_update_on_device if self.dev_type == kGPU else _update_on_host, task,
                              free_task, self.dev_type, self.dev_id,
                              self.reads.data(), <int>self.reads.size(),
                              self.writes.data(), <int>self.writes.size(), 0,
                              self._engine_push_flags(task),
                              b"update")

    cdef void* new_task(self, tuple arguments, void** numbers, size_t* nbytes) except NULL:
        lrs, wds, rescale, clip, own = arguments
        cdef UpdateTask* task = self._make_task(lrs, wds, rescale, clip, own)
        numbers[0], nbytes[0] = task.params, task.joined.items.size() * sizeof(UpdateParams)
        return task

    cdef UpdateTask* _make_task(self, list lrs, list wds, double rescale, double clip,
                                list numbers) except NULL:
        cdef size_t i, n = self.joined.items.size()
        cdef UpdateParams* params
        cdef double own[6]
        cdef UpdateTask* task
        if not <size_t>len(lrs) == <size_t>len(wds) == <size_t>len(numbers) == n:
            raise ArgumentError(f"update: {len(lrs)} rates for {n} weights")
        task = <UpdateTask*>c_malloc(sizeof(UpdateTask) + n * sizeof(UpdateParams))
        if task == NULL:
            raise OutOfMemoryError("no memory for the arrays of an update")
        task.joined = self.joined
        hold_recording(&self.joined.recording)
        try:
            for i in range(n):
                params = &task.params[i]
                params.lr, params.wd, params.rescale, params.clip = lrs[i], wds[i], rescale, clip
                if i == 0 or numbers[i] is not numbers[i - 1]:
                    own[:] = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
                    for k, value in enumerate(<tuple>numbers[i]):
                        own[k] = value
                params.a, params.b, params.c = own[0], own[1], own[2]
                params.d, params.e, params.f = own[3], own[4], own[5]
        except BaseException:
            free_task(task)
            raise
        return task


cdef NDArrayBase _as_ndarray(object value, str what):
    if not isinstance(value, NDArrayBase):
        raise ArgumentTypeError(f"update: a {what} must be an NDArray, got {type(value).__name__}")
    return value


cdef void* _find_update_kernel(NDArrayBase weight, str rule, bint master) except NULL:
    kind = _CUDA_TYPES[weight.blob.dtype]
    exact = "double" if kind == "double" else "float"
    of_states, word = ("float", "true") if master else (kind, "false")
    found = device(weight.blob.dev_id).kernel(
        "update", f"update<cynet::{rule}, {kind}, {of_states}, {exact}, {word}>")
    return <void*><size_t>found.address


cdef int _check_alike(NDArrayBase weight, NDArrayBase other, str what, int dtype) except -1:
    if is_on_host(&weight.blob) != is_on_host(&other.blob) or (
            weight.blob.dev_type == kGPU and weight.blob.dev_id != other.blob.dev_id):
        raise ArgumentError(f"update: a weight is on {weight.context}, its {what} on"
                            f" {other.context}")
    if blob_shape(&weight.blob) != blob_shape(&other.blob):
        raise ShapeError(f"update: a weight has shape {blob_shape(&weight.blob)}, its {what}"
                         f" {blob_shape(&other.blob)}")
    if other.blob.dtype != dtype:
        raise ArgumentTypeError(f"update: a weight has dtype {NAMES[weight.blob.dtype]}, its {what}"
                                f" {NAMES[other.blob.dtype]}, expected {NAMES[dtype]}")
    return 0


cdef tuple _flatten_state_arrays(object state):
    if state is None:
        return ()
    if not isinstance(state, (tuple, list)):
        return (state,)
    return tuple([each for each in state if each is not None])
