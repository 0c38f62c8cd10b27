"""DeviceOperator (contract in launch.pxd): an operator on a GPU, by launches (launch_steps.py)."""

from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from ..._typedefs cimport TBlob, dtype_size, kAddTo, kNullOp
from ...cuda._device cimport LaunchFn, ReadFn, SizesFn, SpaceFn
from ...cuda.graphs cimport random_base
from .._base cimport Operator, OpContext

from ...base.dtype import dtype_flag
from ...base.errors import ArgumentError, KernelError
from .launch_steps import Array, Check

_ARGUMENT_KINDS = {"in": kIn, "out": kOut, "out_grad": kOutGrad, "in_grad": kInGrad, "aux": kAux,
                   "space": kSpace, "add": kAddend, "random": kRandomStream, "size": kSize,
                   "bytes": kBytes}
_FLAGS = {"write": kIfWrite, "add": kIfAdd, "training": kIfTraining, "predicting": kIfPredicting}


cdef class DeviceOperator(Operator):  # runs a list of launches on a GPU
    """An operator that runs a list of steps on a device's stream.

    device (Device): What compiles and launches the kernels (``cuda/device.py``).
    forward, backward (sequence of Launch or Check): The steps (``launch_steps.py``), in order.
    spaces, backward_spaces (sequence of int): Bytes of the temporary memory that SPACE[0],
        SPACE[1], ... stand for.

    Raises KernelError when a kernel does not take such arguments, or does not compile.
    """

    replays_random = True  # a recorded graph draws new random numbers in each replay

    def __init__(self, device, forward=(), backward=(), spaces=(), backward_spaces=()):
        if self.kernels is not None:
            raise ArgumentError("this DeviceOperator is made already")
        self.device, self.kernels, self.held, self.messages = device, [], [], []
        self.launch = <LaunchFn><size_t>device.launch_address
        self.space = <SpaceFn><size_t>device.workspace_function_address
        self.read = <ReadFn><size_t>device.read_fn_address
        self.sizes = <SizesFn><size_t>device.sizes_address
        _fill_program(self, &self.programs[0], forward, spaces, "out")
        _fill_program(self, &self.programs[1], backward, backward_spaces, "in_grad")

    def __dealloc__(self):
        for i in range(2):
            free(self.programs[i].steps)
            free(self.programs[i].values)

    def waits(self, bint backward):
        """True if the host has to wait for a step of that direction: no graph can capture it."""
        cdef const Program* program = &self.programs[backward]
        cdef int i
        for i in range(program.n_steps):
            if program.steps[i].kernel == NULL:
                return True
        return False

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        return self.run(0, ctx, in_data, out_data, NULL, NULL, aux_states, req)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        return self.run(1, ctx, in_data, out_data, out_grad, in_grad, aux_states, req)

    cdef int run(self, int direction, OpContext* ctx, const TBlob* in_data, const TBlob* out_data,
                 const TBlob* out_grad, const TBlob* in_grad, const TBlob* aux_states,
                 const int* req) except -1 nogil:
        """Run the steps of one direction that the requests need."""
        cdef const Program* program = &self.programs[direction]
        cdef const TBlob* arrays[5]
        cdef void* spaces[MAX_SPACES]
        cdef void* params[MAX_ARGUMENTS]
        cdef void* pointers[MAX_ARGUMENTS]
        cdef int64_t sizes[MAX_ARGUMENTS]
        cdef int64_t counts[MAX_ARGUMENTS]
        cdef RandomStream words
        cdef int adds[MAX_ARGUMENTS]
        cdef int64_t found[2]
        cdef const Step* step
        cdef const Argument* a
        cdef const TBlob* blob
        cdef void* stream = ctx.run_ctx.stream
        cdef unsigned grid[3]
        cdef int i, k, code
        arrays[0], arrays[1], arrays[2], arrays[3] = in_data, out_data, out_grad, in_grad
        arrays[4] = aux_states
        for i in range(program.n_spaces):
            spaces[i] = self.space(ctx.run_ctx.dev_id, i, program.spaces[i], stream)
        for i in range(program.n_steps):
            step = &program.steps[i]
            if not _is_step_needed(step, ctx, req):
                continue
            if step.dtype >= 0 and out_data[0].dtype != step.dtype:
                continue
            for k in range(step.n_arguments):
                a = &step.arguments[k]
                sizes[k] = -1
                params[k] = &pointers[k]
                if a.kind <= kAux:
                    blob = arrays[a.kind] + a.index
                    pointers[k] = NULL if blob.data == NULL else <char*>blob.data + a.offset
                    sizes[k] = blob.size * <int64_t>dtype_size(blob.dtype) - a.offset
                    if blob.data == NULL:
                        sizes[k] = 0
                elif a.kind == kSpace:
                    pointers[k] = <char*>spaces[a.index] + a.offset
                    sizes[k] = <int64_t>program.spaces[a.index] - a.offset
                elif a.kind == kConstant:
                    pointers[k] = a.pointer
                    sizes[k] = a.nbytes
                elif a.kind == kValue:
                    params[k] = program.values + a.offset
                elif a.kind == kAddend:
                    adds[k] = req[a.index] == kAddTo
                    params[k] = &adds[k]
                elif a.kind == kRandomStream:
                    words.seed = ctx.requested[a.index].seed
                    words.stream = ctx.requested[a.index].stream
                    words.base = random_base()
                    params[k] = &words
                else:
                    params[k] = &counts[k]
                    counts[k] = out_data[a.index].size
                    if a.kind == kBytes:
                        counts[k] *= dtype_size(out_data[a.index].dtype)
            if step.kernel == NULL:
                code = self.read(found, pointers[0], sizeof(found), stream)
                if code == 0 and found[0] != 0:
                    _raise_bad_value(self, step.number, found[1])
            else:
                if self.sizes != NULL:
                    self.sizes(sizes)
                grid[0], grid[1], grid[2] = step.grid[0], step.grid[1], step.grid[2]
                if step.sized:
                    grid[0] = block_count(out_data[0].size)
                code = self.launch(step.kernel, grid, step.block, step.shared, stream, params)
            if code != 0:
                _raise_launch_error(self, step, code)
        return 0


cdef unsigned block_count(int64_t n) noexcept nogil:
    """The number of blocks of a launch over n elements, as in `launch_each` of launch_steps.py."""
    cdef int64_t blocks = (n + BLOCK_THREADS - 1) // BLOCK_THREADS
    return <unsigned>min(max(blocks, <int64_t>1), <int64_t>MAX_BLOCKS)


cdef bint _is_step_needed(const Step* step, OpContext* ctx, const int* req) noexcept nogil:
    cdef int i
    cdef bint any = step.n_targets == 0
    for i in range(step.first, step.first + step.n_targets):
        any = any or req[i] != kNullOp
    if not any:
        return False
    if step.when == 0:
        return True
    if step.when & kIfTraining and not ctx.is_train or step.when & kIfPredicting and ctx.is_train:
        return False
    if step.when & (kIfWrite | kIfAdd) == 0:
        return True
    return (req[step.first] == kAddTo) == (step.when & kIfAdd != 0)


cdef int _raise_bad_value(DeviceOperator op, int number, int64_t value) except -1 with gil:
    raise ArgumentError(op.messages[number].format(value))


cdef int _raise_launch_error(DeviceOperator op, const Step* step, int code) except -1 with gil:
    raise op.device.error(None if step.kernel == NULL else op.kernels[step.number], code)


cdef int _fill_program(DeviceOperator op, Program* program, steps, spaces, written) except -1:
    """Lay out the steps of one direction as C structs."""
    cdef Step* step
    cdef bytes values = b""
    cdef int i
    if len(spaces) > MAX_SPACES:
        raise ArgumentError(f"at most {MAX_SPACES} temporary spaces, got {len(spaces)}")
    program.n_spaces = len(spaces)
    for i, nbytes in enumerate(spaces):
        program.spaces[i] = max(nbytes, 1)
    steps = [each for each in steps if each is not None]
    program.steps = <Step*>calloc(max(len(steps), 1), sizeof(Step))
    if program.steps == NULL:
        raise MemoryError()
    for i, each in enumerate(steps):
        step = &program.steps[i]
        step.first, step.n_targets = each.served_range(written)
        step.dtype = -1
        for word in each.when:
            step.when |= _FLAGS[word]
        if isinstance(each, Check):
            step.number = len(op.messages)
            op.messages.append(each.message)
        else:
            kernel = op.device.kernel(each.source, each.instance)
            op.kernels.append(kernel)
            step.number, step.kernel = len(op.kernels) - 1, <void*><size_t>kernel.address
            step.grid[0], step.grid[1], step.grid[2] = each.grid
            step.block[0], step.block[1], step.block[2] = each.block
            step.shared, step.sized = each.shared, each.sized
            if each.dtype is not None:
                step.dtype = dtype_flag(each.dtype)
            each.check_arguments(kernel, MAX_ARGUMENTS)
        values = _fill_arguments(op, program, step, each.arguments, values)
        program.n_steps += 1
    program.values = <char*>malloc(max(len(values), 1))
    if program.values == NULL:
        raise MemoryError()
    memcpy(program.values, <const char*>values, len(values))
    return 0


cdef bytes _fill_arguments(DeviceOperator op, Program* program, Step* step, arguments,
                           bytes values):
    """Fill in the arguments of one step; returns the program's values with the step's appended."""
    cdef Argument* a
    for i, given in enumerate(arguments):
        a = &step.arguments[i]
        if isinstance(given, Array):
            a.kind, a.index, a.offset = _ARGUMENT_KINDS[given.kind], given.index, given.offset
            if a.kind == kSpace and not 0 <= a.index < program.n_spaces:
                raise KernelError(f"SPACE[{a.index}] of {program.n_spaces} temporary spaces")
        elif isinstance(given, bytes):
            a.kind, a.offset = kValue, len(values)
            values += given.ljust((len(given) + 15) // 16 * 16, b"\0")
        else:
            op.held.append(given)
            a.kind, a.pointer, a.nbytes = kConstant, <void*><size_t>given.address, given.nbytes
        step.n_arguments = i + 1
    return values
