# cython: wraparound=True
"""GPU form of RNN, by cuDNN; dropout between layers by a kernel, with the CPU's random numbers."""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t
from libc.string cimport memset
from libcpp.vector cimport vector

from ..._typedefs cimport TBlob, aligned, dtype_size, kAddTo, kInt64, kNullOp, kWriteTo
from ...cuda._device cimport ReadFn, SpaceFn
from ...cuda.libraries.cudnn cimport TensorDesc
from ...cuda.libraries.cudnn_rnn cimport Recurrent, States
from ...kernels.elementwise.elementwise cimport run_cast
from .._base cimport Operator, OpContext
from .launch cimport MAX_SPACES, DeviceOperator

from math import prod

from ...cuda.libraries.cudnn import open_cudnn
from ...base.dtype import dtype_flag
from ...base.errors import ArgumentError
from ..checks.dtypes import CPU_FLOATS, require_floats
from ..rnn.layout import GATES, saved_values_layout
from ..rnn.layout import parameter_layout as parameter_offsets
from ..rnn.rnn import RNNProperty
from .registry import register_form
from .launch_program import Steps, operator, zeros
from .launch_steps import IN, IN_GRAD, NBYTES, OUT, RANDOM, SIZE, launch_each
from .kernel_args import C_TYPES, SIZEOF

cdef enum:
    WORKSPACE = MAX_SPACES         # index of temporary memory: that of `_workspace`
    STAND_IN = MAX_SPACES + 1  # index of temporary memory: the missing hidden output

cdef struct SavedData:  # saved by forward for backward
    char* factors   # of dropout: an array for each pair of adjacent stacks
    char* reserves  # cuDNN's
    char* outputs   # outputs of the stacks
    char* inputs    # inputs of all layers but the first, after dropout


cdef class RNNForm(Operator):
    """RNN on a GPU: one stack of all layers, or, with dropout, a stack for each layer.

    The hidden output has the factors, and behind them reserves, outputs and inputs, unless that is
    more than it takes: then backward computes forward once more. cuDNN changes its reserve in
    backward, which therefore gets a copy.
    """

    replays_random = True

    cdef list held               # owners of the memory behind the pointers below
    cdef vector[void*] stacks    # Recurrent
    cdef vector[void*] droppers  # DeviceOperator; forward draws and multiplies, backward multiplies
    cdef DeviceOperator copy  # operator that copies reserves
    cdef DeviceOperator clear  # forward: zeros in OUT[0]; backward: in the gradient of lengths
    cdef TensorDesc x, y
    cdef ReadFn read
    cdef SpaceFn space
    cdef vector[int64_t] reserve_at
    cdef int64_t x_bytes, y_bytes, factor, factors, workspace  # bytes
    cdef int64_t[2] rows         # bytes of a sequence's states, of its cells
    cdef int64_t passes          # layers * directions
    cdef vector[int] empty       # sequences of length 0 in this run
    cdef int64_t steps, batch, x_size, y_size
    cdef int64_t work, weights, reserves, rest  # bytes, known once it is prepared
    cdef int dtype, kinds  # dtype of the states, and their number: 2 for an LSTM
    cdef bint state_outputs, prepared, fits, has_lengths
    cdef object name, device

    def __init__(self, prop, shape, dtype, stacks, droppers, clear, device):
        item = SIZEOF[C_TYPES[dtype]]
        out = (*shape[:2], prop.direction_count * prop.out_size)
        self.held, self.name = [*stacks, *droppers], prop.op_name
        for one in stacks:
            self.stacks.push_back(<void*>one)
        for one in droppers:
            self.droppers.push_back(<void*>one)
        self.clear, self.device = clear, device
        self.x, self.y = TensorDesc(dtype, shape), TensorDesc(dtype, out)
        self.read = <ReadFn><size_t>device.read_fn_address
        self.space = <SpaceFn><size_t>device.workspace_function_address
        self.steps, self.batch, _ = shape
        self.x_size, self.y_size = prod(shape), prod(out)
        self.x_bytes, self.y_bytes = aligned(self.x_size * item), aligned(self.y_size * item)
        self.rows = [prop.out_size * item, prop.state_size * item]
        self.passes = prop.num_layers * prop.direction_count
        self.factor = self.y_size * item
        self.factors = aligned(len(droppers) * self.factor)
        self.workspace = saved_values_layout(prop, shape)[3] * max(item, 4)
        self.dtype = dtype_flag(dtype)
        self.has_lengths, self.state_outputs = prop.use_sequence_length, prop.state_outputs
        self.kinds = 2 if prop.mode == "lstm" else 1
        self.stateful = self.has_lengths  # cuDNN's descriptors hold the lengths

    def waits(self, bint backward):
        """True if the host waits for the device: it reads the lengths."""
        return self.has_lengths

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int last = ctx.n_out - 1, i
        cdef int64_t top = self.stacks.size() - 1
        cdef char* work
        cdef SavedData where
        cdef void* ends[2]
        _prepare_run(self, ctx, in_data)
        _locate_saved_data(self, ctx, <char*>out_data[last].data if req[last] != kNullOp else NULL,
                           ctx.is_train, &where)
        work = _workspace(self, ctx)
        ends[0] = ends[1] = NULL
        for i in range(self.kinds if self.state_outputs else 0):
            if req[1 + i] != kNullOp:
                ends[i] = out_data[1 + i].data
                if req[1 + i] == kAddTo:
                    ends[i] = _addend(self, work, i)
        _forward_stacks(self, ctx, in_data, ctx.is_train, ctx.is_train, &where, ends, work)
        for i in range(self.kinds):
            _restore_empty_states(self, ctx, i, in_data[2 + i].data, ends[i])
        if req[0] != kNullOp:
            (<Recurrent>self.stacks[0]).copy(
                &ctx.run_ctx, self.y.desc, where.outputs + top * self.y_bytes, out_data[0].data,
                req[0] == kAddTo)
        _add_output_states(self, ctx, work, &req[1], &out_data[1], self.state_outputs)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int64_t s, n = self.stacks.size()
        cdef int i
        cdef SavedData where
        cdef char* work
        cdef char* dx
        cdef const char* dy = <const char*>out_grad[0].data
        cdef void* grads[2]
        if self.has_lengths:
            self.clear.run(1, ctx, in_data, out_data, out_grad, in_grad, aux_states, req)
        _prepare_run(self, ctx, in_data)
        work = _workspace(self, ctx)
        _fetch_saved_data(self, ctx, in_data, <char*>out_data[ctx.n_out - 1].data, work, &where)
        for i in range(self.kinds):
            grads[i] = NULL
            if req[2 + i] != kNullOp:
                grads[i] = in_grad[2 + i].data if req[2 + i] != kAddTo else _addend(self, work, i)
        for s in range(n - 1, -1, -1):
            dx = _input_grad_buffer(self, work, s)
            if s == 0 and req[0] != kNullOp and req[0] != kAddTo:
                dx = <char*>in_grad[0].data
            if s == 0 and self.has_lengths:  # cuDNN may leave what is behind a sequence's end
                _fill_zero(self, ctx, dx, self.x_size)
            _backward_stack(self, ctx, s, dy, dx, out_grad, in_data, req[1], &in_grad[1], grads,
                            &where, work)
            if s > 0 and ctx.is_train:
                _apply_dropout(self, ctx, s - 1, 1, dx, where.factors, dx)
            dy = dx
        for i in range(self.kinds if self.state_outputs else 0):
            _restore_empty_states(self, ctx, i, out_grad[1 + i].data, grads[i])
        if req[0] == kAddTo:
            (<Recurrent>self.stacks[0]).copy(&ctx.run_ctx, self.x.desc, dx, in_grad[0].data, True)
        _add_output_states(self, ctx, work, &req[2], &in_grad[2], True)
        return 0


# ----- memory

cdef int _prepare_run(RNNForm self, OpContext* ctx, const TBlob* in_data) except -1 nogil:
    """Query cuDNN's sizes and offsets, and set the lengths of this run."""
    if not self.prepared:
        with gil:
            _query_stack_sizes(self, ctx, in_data)
    if self.has_lengths:
        _read_lengths(self, ctx, &in_data[ctx.n_in - 1])
    return 0


cdef int _query_stack_sizes(RNNForm self, OpContext* ctx, const TBlob* in_data) except -1:
    cdef Recurrent stack
    for stack in self.held[:self.stacks.size()]:
        stack.query_sizes(&ctx.run_ctx, in_data[1].data)
        self.work = max(self.work, aligned(max(stack.work[0], stack.work[1])))
        self.weights = max(self.weights, aligned(stack.weights))
        self.reserve_at.push_back(self.reserves)
        self.reserves += aligned(stack.reserve)
    n = self.stacks.size()
    self.rest = self.reserves + (n + self.droppers.size()) * self.y_bytes
    self.fits = self.factors + self.rest <= self.workspace
    words, steps = self.reserves // 8, Steps()
    steps += launch_each(words, "cast", "cast<long long, long long>", IN[0], OUT[0], words, False)
    self.copy = operator(self.device, steps)
    self.prepared = True
    return 0


cdef int _read_lengths(RNNForm self, OpContext* ctx, const TBlob* given) except -1 nogil:
    cdef vector[char] raw
    cdef vector[int64_t] wide
    cdef vector[int] lengths
    cdef int64_t i
    cdef size_t s
    cdef int code
    raw.resize(self.batch * dtype_size(given.dtype))
    wide.resize(self.batch)
    lengths.resize(self.batch)
    self.empty.clear()
    code = self.read(raw.data(), given.data, raw.size(), ctx.run_ctx.stream)
    if code != 0:
        with gil:
            raise self.device.error(None, code)
    run_cast(given.dtype, kInt64, raw.data(), wide.data(), self.batch)
    for i in range(self.batch):
        if not 0 <= wide[i] <= self.steps:
            with gil:
                raise ArgumentError(
                    f"operator {self.name}: sequence_length[{i}] is {wide[i]}, outside of 0 to "
                    f"{self.steps}")
        lengths[i] = <int>wide[i]
        if wide[i] == 0:
            self.empty.push_back(<int>i)
    for s in range(self.stacks.size()):
        (<Recurrent>self.stacks[s]).set_lengths(lengths.data())
    return 0


cdef SavedData _saved_data_at(RNNForm self, char* begin, char* factors) noexcept nogil:
    cdef SavedData where
    where.factors, where.reserves = factors, begin
    where.outputs = begin + self.reserves
    where.inputs = where.outputs + <int64_t>self.stacks.size() * self.y_bytes
    return where


cdef int _locate_saved_data(RNNForm self, OpContext* ctx, char* hidden, bint training,
                            SavedData* where) except -1 nogil:
    """The address of the values that forward saves; `hidden` is NULL without that output."""
    cdef char* own
    if hidden != NULL and self.fits and training:
        where[0] = _saved_data_at(self, hidden + self.factors, hidden)
        return 0
    own = <char*>self.space(ctx.run_ctx.dev_id, STAND_IN, self.factors + self.rest,
                            ctx.run_ctx.stream)
    where[0] = _saved_data_at(self, own + self.factors, hidden if hidden != NULL else own)
    return 0


cdef int _fetch_saved_data(RNNForm self, OpContext* ctx, const TBlob* in_data, char* hidden,
                           char* work, SavedData* where) except -1 nogil:
    """The values that forward saved, with reserves that backward may change; recomputed where it
    did not fit."""
    cdef void* ends[2]
    cdef int req = kWriteTo
    cdef TBlob source, to
    cdef char* own = <char*>self.space(ctx.run_ctx.dev_id, STAND_IN, self.factors + self.rest,
                                       ctx.run_ctx.stream) + self.factors
    if self.fits and ctx.is_train:
        where[0] = _saved_data_at(self, hidden + self.factors, hidden)
        source, to = _as_blob(where.reserves, self.reserves // 8), _as_blob(own, self.reserves // 8)
        source.dtype = to.dtype = kInt64
        self.copy.run(0, ctx, &source, &to, NULL, NULL, NULL, &req)
        where.reserves = own
    else:
        where[0] = _saved_data_at(self, own, hidden)
        ends[0] = ends[1] = NULL
        _forward_stacks(self, ctx, in_data, False, True, where, ends, work)
    return 0


cdef TBlob _as_blob(void* data, int64_t size) noexcept nogil:  # a flat tensor
    cdef TBlob blob
    memset(&blob, 0, sizeof(blob))
    blob.data, blob.size, blob.ndim, blob.shape[0] = data, size, 1, size
    return blob


cdef char* _workspace(RNNForm self, OpContext* ctx) except NULL nogil:
    """Temporary memory: cuDNN's workspace, weights, their gradient, states, two input gradients."""
    return <char*>self.space(
        ctx.run_ctx.dev_id, WORKSPACE, self.work + 2 * self.weights + _state_bytes(self, 0)
        + _state_bytes(self, 1) + 2 * max(self.x_bytes, self.y_bytes), ctx.run_ctx.stream)


cdef inline int64_t _state_bytes(RNNForm self, int kind) noexcept nogil:  # of h (0) or c (1)
    return aligned(self.passes * self.batch * self.rows[kind])


cdef void* _addend(RNNForm self, char* work, int kind) noexcept nogil:
    """The address of a buffer for states that are then added to an output."""
    return work + self.work + 2 * self.weights + (_state_bytes(self, 0) if kind else 0)


cdef char* _input_grad_buffer(RNNForm self, char* work, int64_t s) noexcept nogil:
    """The address of the gradient of stack `s`'s input: two buffers alternate."""
    return (work + self.work + 2 * self.weights + _state_bytes(self, 0) + _state_bytes(self, 1)
            + s % 2 * max(self.x_bytes, self.y_bytes))


# ----- computing

cdef inline int64_t _stack_state_bytes(RNNForm self, int kind) noexcept nogil:
    """Bytes of one stack's states or cells."""
    return self.passes // <int64_t>self.stacks.size() * self.batch * self.rows[kind]


cdef inline States _states_of_stack(RNNForm self, int64_t s, const void* h,
                                    const void* c) noexcept nogil:
    """The part of states that stack `s` has."""
    cdef States found
    found.h = found.c = NULL
    if h != NULL:
        found.h = <const char*>h + s * _stack_state_bytes(self, 0)
    if c != NULL and self.kinds == 2:
        found.c = <const char*>c + s * _stack_state_bytes(self, 1)
    return found


cdef int _add_output_states(RNNForm self, OpContext* ctx, char* work, const int* req, TBlob* to,
                            bint given) except -1 nogil:
    cdef int64_t s, at
    cdef int i
    for i in range(self.kinds if given else 0):
        if req[i] == kAddTo:
            for s in range(<int64_t>self.stacks.size()):
                at = s * _stack_state_bytes(self, i)
                (<Recurrent>self.stacks[s]).copy_states(
                    &ctx.run_ctx, i, False, <char*>_addend(self, work, i) + at,
                    <char*>to[i].data + at, True)
    return 0


cdef int _restore_empty_states(RNNForm self, OpContext* ctx, int kind, const void* source,
                               void* to) except -1 nogil:
    """Restore the states of sequences of length 0, for which cuDNN writes zeros."""
    cdef int64_t i, at
    cdef int n
    if source == NULL or to == NULL:
        return 0
    for i in range(self.passes):
        for n in self.empty:
            at = (i * self.batch + n) * self.rows[kind]
            (<Recurrent>self.stacks[0]).copy_states(
                &ctx.run_ctx, kind, True, <const char*>source + at, <char*>to + at, False)
    return 0


cdef int _apply_dropout(RNNForm self, OpContext* ctx, int64_t number, int direction, void* x,
                        char* factors, void* y) except -1 nogil:
    """y = x times the dropout factors, which direction 0 draws first."""
    cdef TBlob ins[2]
    cdef TBlob outs[2]
    cdef int req[2]
    req[0] = req[1] = kWriteTo
    ins[0] = _as_blob(x, self.y_size)
    ins[1] = outs[1] = _as_blob(factors + number * self.factor, self.y_size)
    outs[0] = _as_blob(y, self.y_size)
    ins[0].dtype = ins[1].dtype = outs[0].dtype = outs[1].dtype = self.dtype
    return (<DeviceOperator>self.droppers[number]).run(
        direction, ctx, ins, outs, NULL, outs, NULL, req)


cdef int _fill_zero(RNNForm self, OpContext* ctx, void* to, int64_t size) except -1 nogil:
    cdef int req = kWriteTo
    cdef TBlob blob = _as_blob(to, size)
    blob.dtype = self.dtype
    return self.clear.run(0, ctx, NULL, &blob, NULL, NULL, NULL, &req)


cdef int _forward_stacks(RNNForm self, OpContext* ctx, const TBlob* in_data, bint draw,
                         bint training, SavedData* where, void** ends, char* work) except -1 nogil:
    """Forward through all stacks. `draw`: new dropout factors instead of those of `where`."""
    cdef int64_t s
    cdef const void* c = in_data[3].data if self.kinds == 2 else NULL
    cdef const char* x = <const char*>in_data[0].data
    cdef char* y
    cdef const void* weights
    for s in range(<int64_t>self.stacks.size()):
        y = where.outputs + s * self.y_bytes
        weights = _get_stack_weights(self, ctx, s, in_data[1].data, work)
        (<Recurrent>self.stacks[s]).forward(
            &ctx.run_ctx, training, x, y, _states_of_stack(self, s, in_data[2].data, c),
            _states_of_stack(self, s, ends[0], ends[1]), weights, work,
            where.reserves + self.reserve_at[s])
        x = y
        if s + 1 < <int64_t>self.stacks.size() and ctx.is_train:
            x = where.inputs + s * self.y_bytes
            _apply_dropout(self, ctx, s, 0 if draw else 1, y, where.factors, <void*>x)
    return 0


cdef const void* _get_stack_weights(RNNForm self, OpContext* ctx, int64_t s, const void* parameters,
                                    char* work) except NULL nogil:
    """The weight space of stack `s`."""
    if (<Recurrent>self.stacks[s]).direct:
        return parameters
    (<Recurrent>self.stacks[s]).gather_weights(&ctx.run_ctx, parameters, work + self.work)
    return work + self.work


cdef int _backward_stack(RNNForm self, OpContext* ctx, int64_t s, const char* dy, char* dx,
                         const TBlob* out_grad, const TBlob* in_data, int req, TBlob* gradient,
                         void** grads, SavedData* where, char* work) except -1 nogil:
    cdef char* reserve = where.reserves + self.reserve_at[s]
    cdef char* y = where.outputs + s * self.y_bytes
    cdef const void* x = in_data[0].data
    cdef const void* weights = _get_stack_weights(self, ctx, s, in_data[1].data, work)
    cdef States first = _states_of_stack(self, s, in_data[2].data,
                                         in_data[3].data if self.kinds == 2 else NULL)
    cdef States last = _states_of_stack(self, s, NULL, NULL)
    cdef bint direct = (<Recurrent>self.stacks[s]).direct
    cdef void* to = gradient.data if direct else work + self.work + self.weights
    if self.state_outputs:
        last = _states_of_stack(self, s, out_grad[1].data,
                                out_grad[2].data if self.kinds == 2 else NULL)
    if s > 0:
        x = (where.inputs if ctx.is_train else where.outputs) + (s - 1) * self.y_bytes
    (<Recurrent>self.stacks[s]).data_grads(
        &ctx.run_ctx, y, dy, dx, first, last, _states_of_stack(self, s, grads[0], grads[1]),
        weights, work, reserve)
    if req == kNullOp:
        return 0
    if not direct or req != kAddTo:
        _fill_zero(self, ctx, to, (<Recurrent>self.stacks[s]).weights // dtype_size(self.dtype))
    (<Recurrent>self.stacks[s]).weight_grads(&ctx.run_ctx, x, first, y, to, work, reserve)
    if not direct:
        (<Recurrent>self.stacks[s]).scatter_weights(&ctx.run_ctx, to, gradient.data, req == kAddTo)
    return 0


# ----- building

def _dropout_operator(number, prop, n, dtype, device):
    """Forward draws the factors OUT[1] and writes OUT[0] = IN[0] * OUT[1]; backward writes
    IN_GRAD[0] = IN[0] * IN[1]."""
    kind = C_TYPES[dtype]
    product = f"binary<cynet::functor::mul, {kind}>"
    forward, backward = Steps(), Steps()
    forward += launch_each(n, "random", f"dropout_factors<{kind}>", OUT[1], n,
                           number * ((n + 3) // 4), float(prop.p), RANDOM._replace(index=1))
    forward += launch_each(n, "elementwise", product, IN[0], True, OUT[1], True, OUT[0], n, False)
    backward += launch_each(n, "elementwise", product, IN[0], True, IN[1], True, IN_GRAD[0], n,
                            False)
    return operator(device, forward, backward)


@register_form(RNNProperty, checks=False)
def rnn_form(prop, in_shapes, in_types, device):
    """Build the form of RNN: one stack of all layers; with dropout a stack of each."""
    n = 4 if prop.mode == "lstm" else 3
    require_floats(prop, prop.list_arguments()[:n], in_types[:n], CPU_FLOATS)
    if prop.projection_size is not None and prop.projection_size >= prop.state_size:
        raise ArgumentError(
            f"operator {prop.op_name}: projection_size={prop.projection_size} is not less than "
            f"state_size={prop.state_size}, which it must be on a GPU: cuDNN has no such layers")
    open_cudnn()
    data, dtype = in_shapes[0], in_types[0]
    directions, hidden = prop.direction_count, prop.state_size
    passes, _ = parameter_offsets(prop, data[2])
    clip = None
    if prop.lstm_state_clip_min is not None:
        clip = prop.lstm_state_clip_min, prop.lstm_state_clip_max, prop.lstm_state_clip_nan
    each_has = 1 if prop.has_dropout else prop.num_layers
    stacks = [
        Recurrent(dtype, prop.mode, *data[:2], passes[first * directions].inputs, hidden, each_has,
                  directions, passes[first * directions:(first + each_has) * directions],
                  GATES[prop.mode], clip, prop.use_sequence_length, prop.projection_size)
        for first in range(0, prop.num_layers, each_has)
    ]
    size = prod(data[:2]) * directions * prop.out_size
    droppers = [_dropout_operator(i, prop, size, dtype, device) for i in range(len(stacks) - 1)]
    forward, backward = Steps(), Steps()
    forward += launch_each(SIZE, "fill", "zero_bytes", OUT[0], NBYTES, to=(0, 0))
    if prop.use_sequence_length:
        backward += zeros(in_shapes[-1], in_types[-1], IN_GRAD[len(in_shapes) - 1])
    clear = operator(device, forward, backward)
    return RNNForm(prop, data, dtype, stacks, droppers, clear, device)
