"""Control flow operators: a loop over a body (an inner graph), and a branch with two bodies.

Their property (graph/subgraphs.py) says where in their two hidden outputs what lies.
"""

from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector

from .._typedefs cimport (
    TBlob, dtype_size, kAddTo, kBfloat16, kFloat16, kFloat32, kFloat64, kInt32, kInt64, kNullOp)
from ..operator._base cimport OpContext, Operator
from .body cimport BodyPlan

from ..base.errors import OperatorError
from ..graph.subgraphs import HEADER_BYTES, STATE
from ..operator import get_operator

cdef enum:
    kRow = 0  # source of a body's input, as in graph/subgraphs.py
    kState = 1
    kInput = 2
    kAux = 3

cdef struct FeedSource:  # where an input of a body comes from
    int kind
    size_t index

cdef inline int64_t blob_bytes(const TBlob* blob) noexcept nogil:
    return blob.size * <int64_t>dtype_size(blob.dtype)


cdef inline int64_t blob_row_bytes(const TBlob* blob) noexcept nogil:
    return blob_bytes(blob) // blob.shape[0] if blob.shape[0] else 0


cdef bint is_nonzero_at(const void* at, int dtype) noexcept nogil:  # a number
    """Return whether the number at an address is not 0."""
    if dtype == kFloat32:
        return (<const float*>at)[0] != 0
    if dtype == kFloat64:
        return (<const double*>at)[0] != 0
    if dtype == kFloat16 or dtype == kBfloat16:
        return ((<const unsigned short*>at)[0] & 0x7FFF) != 0
    if dtype == kInt32:
        return (<const int*>at)[0] != 0
    if dtype == kInt64:
        return (<const int64_t*>at)[0] != 0
    return (<const char*>at)[0] != 0


cdef int append_feeds(body, vector[FeedSource]* out) except -1:  # where its inputs come from
    cdef FeedSource feed
    for kind, index in body.feeds:
        feed.kind, feed.index = kind, index
        out.push_back(feed)
    return 0


cdef class BodiesOperator(Operator):  # base of loops and branches
    # The base class of LoopOperator and BranchOperator.
    cdef object prop
    cdef BodyPlan condition
    cdef vector[FeedSource] condition_feeds
    cdef vector[int64_t] arenas
    cdef size_t n_inputs, n_visible
    cdef int64_t predicate, header
    cdef int predicate_dtype
    cdef readonly list plans  # (name, BodyPlan), for graph/profile.py

    def __init__(self, prop):
        self.prop = prop
        self.n_inputs = len(prop.inputs)
        self.n_visible = prop.num_visible_outputs()
        self.header = HEADER_BYTES
        self.plans = []
        for offset in prop.arenas:
            self.arenas.push_back(offset)
        if prop.condition is not None:
            self.condition = BodyPlan(prop.condition)
            append_feeds(prop.condition, &self.condition_feeds)
            self.predicate = prop.predicate
            self.predicate_dtype = dtype_code(prop.condition.graph.outputs[0].dtype)
            self._add_body("condition", self.condition)

    def _add_body(self, word, BodyPlan plan):
        self.plans.append((word, plan))
        if plan.runs_python:
            self.runs_python = True
        # only one thread at a time may run it: the plans' tables hold a run's addresses
        self.stateful = True

    cdef int require_write_requests(self, const int* req) except -1 nogil:
        cdef size_t i
        for i in range(self.n_visible):
            if req[i] == kNullOp or req[i] == kAddTo:
                with gil:
                    raise OperatorError(f"{self.prop.op_name} writes its outputs; it was asked for "
                                        f"request {req[i]}")
        return 0


cdef int dtype_code(str name) except -1:
    from ..base.dtype import dtype_flag

    return dtype_flag(name)


cdef class LoopOperator(BodiesOperator):
    """Runs a body for each row, or while a condition holds, and passes states from run to run."""

    cdef BodyPlan body
    cdef vector[FeedSource] feeds
    cdef int64_t runs, saved, stride
    cdef size_t n_stacked, n_states
    cdef bint back, blocked
    cdef vector[size_t] state_inputs
    cdef vector[int64_t] offset, other_offset  # offsets of each state's two buffers
    cdef vector[int64_t] grad, other_grad
    cdef vector[int64_t] dumps
    cdef vector[char] has_grad          # whether each variable has a gradient
    cdef vector[char] has_head          # whether each output has a head gradient
    cdef vector[char] flows             # whether the body computes the gradient of each state
    cdef list copies                    # for each state an Operator that copies it
    cdef vector[void*] copy_ops

    def __init__(self, prop):
        BodiesOperator.__init__(self, prop)
        body, = prop.bodies
        self.body = BodyPlan(body)
        self._add_body("body", self.body)
        append_feeds(body, &self.feeds)
        self.runs, self.saved, self.stride = prop.runs, prop.saved, prop.stride
        self.n_stacked, self.back, self.blocked = prop.n_stacked, prop.back, prop.blocked
        self.n_states = len(prop.state_inputs)
        for i in prop.state_inputs:
            self.state_inputs.push_back(i)
        for first, second in prop.state_offsets:
            self.offset.push_back(first)
            self.other_offset.push_back(second)
        self.flows.assign(self.n_states, 0)
        if self.back:
            for first, second in prop.grad_offsets:
                self.grad.push_back(first)
                self.other_grad.push_back(second)
            for offset in prop.dumps:
                self.dumps.push_back(offset)
        for grad, (kind, index) in zip(body.grads, body.feeds):
            self.has_grad.push_back(grad is not None)
            if kind == STATE and grad is not None:
                self.flows[<size_t>index] = 1
        for head in body.graph.heads:
            self.has_head.push_back(head is not None)
        self.copies = []
        for output in body.graph.outputs[prop.n_stacked:]:
            made = get_operator("_copy").prop().operator_on(
                output.ctx, [output.shape], [output.dtype])
            self.copies.append(made)
            self.copy_ops.push_back(<void*>made)

    cdef char* state_address(self, const TBlob* in_data, char* reserve, char* space, size_t i,
                             int64_t t) noexcept nogil:
        """Return the address of state i after run t; t = -1 is the initial state."""
        if t < 0:
            return <char*>in_data[self.state_inputs[i]].data
        if self.back:
            return reserve + self.offset[i] + t * self.stride
        return space + (self.other_offset[i] if t & 1 else self.offset[i])

    cdef void bind_inputs(self, void* plan, const vector[FeedSource]* feeds, const TBlob* in_data,
                          const TBlob* aux, char* reserve, char* space, int64_t t) noexcept nogil:
        """Set the inputs of the body, or of the condition, for run t."""
        cdef size_t p, index
        cdef int kind
        cdef char* at
        for p in range(feeds.size()):
            kind, index = feeds[0][p].kind, feeds[0][p].index
            if kind == kRow:
                at = <char*>in_data[index].data
                if at != NULL:
                    at += t * blob_row_bytes(&in_data[index])
            elif kind == kState:
                at = self.state_address(in_data, reserve, space, index, t - 1)
            elif kind == kInput:
                at = <char*>in_data[index].data
            else:
                at = <char*>aux[index].data
            (<BodyPlan>plan).set_variable_address(p, at)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef char* reserve = <char*>out_data[self.n_visible].data
        cdef char* space = <char*>out_data[self.n_visible + 1].data
        cdef int64_t t = 0, left
        cdef size_t i
        cdef char* at
        self.require_write_requests(req)
        self.body.begin_run(ctx)
        self.body.set_arena_address(space + self.arenas[0])
        if self.condition is not None:
            self.condition.begin_run(ctx)
            self.condition.run.seed ^= 1
            self.condition.set_arena_address(space + self.arenas[1])
            self.condition.set_output_address(0, space + self.predicate)
        while t < self.runs:
            if self.condition is not None:
                self.bind_inputs(<void*>self.condition, &self.condition_feeds, in_data, aux_states,
                                 reserve, space, t)
                self.condition.run_steps(ctx, False, t, <void*>self)
                if not is_nonzero_at(space + self.predicate, self.predicate_dtype):
                    break
            self.bind_inputs(<void*>self.body, &self.feeds, in_data, aux_states, reserve, space, t)
            if self.back:
                self.body.set_saved_address(reserve + self.saved + t * self.stride)
            for i in range(self.n_stacked):
                at = <char*>out_data[i].data + t * blob_row_bytes(&out_data[i])
                self.body.set_output_address(i, at)
            for i in range(self.n_states):
                at = self.state_address(in_data, reserve, space, i, t)
                self.body.set_output_address(self.n_stacked + i, at)
            self.body.run_steps(ctx, False, t, <void*>self)
            t += 1
        if self.back:
            (<int64_t*>reserve)[0] = t
        for i in range(self.n_states):
            at = self.state_address(in_data, reserve, space, i, t - 1)
            memcpy(out_data[self.n_stacked + i].data, at, blob_bytes(&out_data[self.n_stacked + i]))
        for i in range(self.n_stacked):
            left = t * blob_row_bytes(&out_data[i])
            memset(<char*>out_data[i].data + left, 0, blob_bytes(&out_data[i]) - left)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef char* reserve = <char*>out_data[self.n_visible].data
        cdef char* space = <char*>out_data[self.n_visible + 1].data
        cdef int64_t runs = (<int64_t*>reserve)[0], t
        cdef size_t i
        cdef TBlob blob
        cdef char* at
        self.body.begin_run(ctx)
        self.body.set_arena_address(space + self.arenas[0])
        self.zero_unset_grads(req, in_grad, runs)
        for i in range(self.n_states):
            # no run writes the gradients of these states: they are zeros before the last run
            memset(space + self.grad[i], 0, blob_bytes(&out_grad[self.n_stacked + i]))
            memset(space + self.other_grad[i], 0, blob_bytes(&out_grad[self.n_stacked + i]))
        t = runs - 1
        while t >= 0:
            self.bind_inputs(<void*>self.body, &self.feeds, in_data, aux_states, reserve, space, t)
            self.body.set_saved_address(reserve + self.saved + t * self.stride)
            for i in range(self.n_stacked):
                if out_data[i].data != NULL:
                    at = <char*>out_data[i].data + t * blob_row_bytes(&out_data[i])
                    self.body.set_output_address(i, at)
                if self.has_head[i]:
                    at = <char*>out_grad[i].data + t * blob_row_bytes(&out_grad[i])
                    self.body.set_head_address(i, at)
            for i in range(self.n_states):
                self.body.set_output_address(
                    self.n_stacked + i, self.state_address(in_data, reserve, space, i, t))
                if self.has_head[self.n_stacked + i]:
                    if t == runs - 1:
                        at = <char*>out_grad[self.n_stacked + i].data
                    else:
                        at = self.state_grad_address(space, i, t + 1)
                    self.body.set_head_address(self.n_stacked + i, at)
            self.set_grad_addresses(space, in_grad, t)
            self.body.run_steps(ctx, True, t, <void*>self)
            t -= 1
        for i in range(self.n_states):
            if in_grad[self.state_inputs[i]].data == NULL or (
                    req[self.state_inputs[i]] == kNullOp):
                continue
            blob = out_grad[self.n_stacked + i]
            if runs > 0:
                if not self.flows[i]:
                    blob.data = space + self.grad[i]
                    memset(blob.data, 0, blob_bytes(&blob))
                else:
                    blob.data = self.state_grad_address(space, i, 0)
            (<Operator>self.copy_ops[i]).forward(
                ctx, &blob, &req[self.state_inputs[i]], &in_grad[self.state_inputs[i]], NULL)
        return 0

    cdef char* state_grad_address(self, char* space, size_t i, int64_t t) noexcept nogil:
        """Return the address of the gradient of state i before run t."""
        return space + (self.other_grad[i] if t & 1 else self.grad[i])

    cdef void set_grad_addresses(self, char* space, TBlob* in_grad, int64_t t) noexcept nogil:
        cdef size_t p, index
        cdef int kind
        cdef char* at
        for p in range(self.feeds.size()):
            if not self.has_grad[p]:
                continue
            kind, index = self.feeds[p].kind, self.feeds[p].index
            if kind == kState:
                at = self.state_grad_address(space, index, t)
            elif self.blocked:
                at = space + self.dumps[p]
            else:
                at = <char*>in_grad[index].data
                if kind == kRow:
                    at += t * blob_row_bytes(&in_grad[index])
            self.body.set_grad_address(p, at)

    cdef void zero_unset_grads(self, const int* req, TBlob* in_grad, int64_t runs) noexcept nogil:
        """Zero the gradients that runs add to, and the gradients that no run writes."""
        cdef size_t i, p
        cdef int64_t begin
        cdef bint state
        for i in range(self.n_inputs):
            if in_grad[i].data == NULL or req[i] == kNullOp or req[i] == kAddTo:
                continue
            begin = 0
            state = False
            for p in range(self.n_states):
                state = state or self.state_inputs[p] == i
            if state:
                continue
            for p in range(self.feeds.size()):
                if self.feeds[p].kind == kRow and self.feeds[p].index == i and self.has_grad[p]:
                    begin = runs * blob_row_bytes(&in_grad[i])  # each row is written
            memset(<char*>in_grad[i].data + begin, 0, blob_bytes(&in_grad[i]) - begin)


cdef class BranchOperator(BodiesOperator):
    """Runs one of two bodies, chosen by a condition."""

    cdef BodyPlan then, other
    cdef vector[FeedSource] then_feeds, other_feeds
    cdef vector[int64_t] then_dumps, other_dumps
    cdef bint back, blocked
    cdef int64_t saved

    def __init__(self, prop):
        BodiesOperator.__init__(self, prop)
        first, second = prop.bodies
        self.then, self.other = BodyPlan(first), BodyPlan(second)
        self._add_body("then", self.then)
        self._add_body("else", self.other)
        append_feeds(first, &self.then_feeds)
        append_feeds(second, &self.other_feeds)
        self.back, self.blocked, self.saved = prop.back, prop.blocked, prop.saved
        for offset in prop.dumps[0]:
            self.then_dumps.push_back(offset)
        for offset in prop.dumps[1]:
            self.other_dumps.push_back(offset)

    cdef void bind_inputs(self, void* plan, const vector[FeedSource]* feeds, const TBlob* in_data,
                          const TBlob* aux) noexcept nogil:
        cdef size_t p, index
        cdef void* at
        for p in range(feeds.size()):
            index = feeds[0][p].index
            at = aux[index].data if feeds[0][p].kind == kAux else in_data[index].data
            (<BodyPlan>plan).set_variable_address(p, at)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef char* reserve = <char*>out_data[self.n_visible].data
        cdef char* space = <char*>out_data[self.n_visible + 1].data
        cdef void* plan
        cdef size_t i
        cdef bint chosen
        self.require_write_requests(req)
        self.condition.begin_run(ctx)
        self.condition.run.seed ^= 1
        self.condition.set_arena_address(space + self.arenas[0])
        self.condition.set_output_address(0, space + self.predicate)
        self.bind_inputs(<void*>self.condition, &self.condition_feeds, in_data, aux_states)
        self.condition.run_steps(ctx, False, 0, <void*>self)
        chosen = is_nonzero_at(space + self.predicate, self.predicate_dtype)
        (<int64_t*>reserve)[0] = chosen
        plan = <void*>self.then if chosen else <void*>self.other
        (<BodyPlan>plan).begin_run(ctx)
        (<BodyPlan>plan).set_arena_address(space + self.arenas[1])
        (<BodyPlan>plan).set_saved_address(reserve + self.saved)
        self.bind_inputs(
            plan, &self.then_feeds if chosen else &self.other_feeds, in_data, aux_states)
        for i in range(self.n_visible):
            (<BodyPlan>plan).set_output_address(i, out_data[i].data)
        return (<BodyPlan>plan).run_steps(ctx, False, 0, <void*>self)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef char* reserve = <char*>out_data[self.n_visible].data
        cdef char* space = <char*>out_data[self.n_visible + 1].data
        cdef bint chosen = (<int64_t*>reserve)[0] != 0
        cdef void* plan = <void*>self.then if chosen else <void*>self.other
        cdef vector[FeedSource]* feeds = &self.then_feeds if chosen else &self.other_feeds
        cdef vector[int64_t]* dumps = &self.then_dumps if chosen else &self.other_dumps
        cdef size_t i, p
        cdef void* at
        for i in range(self.n_inputs):
            if in_grad[i].data != NULL and req[i] != kNullOp and req[i] != kAddTo:
                memset(in_grad[i].data, 0, blob_bytes(&in_grad[i]))
        (<BodyPlan>plan).begin_run(ctx)
        (<BodyPlan>plan).set_arena_address(space + self.arenas[1])
        (<BodyPlan>plan).set_saved_address(reserve + self.saved)
        self.bind_inputs(plan, feeds, in_data, aux_states)
        for i in range(self.n_visible):
            (<BodyPlan>plan).set_output_address(i, out_data[i].data)
            (<BodyPlan>plan).set_head_address(i, out_grad[i].data)
        for p in range(feeds.size()):
            if feeds[0][p].kind == kInput:
                i = feeds[0][p].index
                at = space + dumps[0][p] if self.blocked else in_grad[i].data
                (<BodyPlan>plan).set_grad_address(p, at)
        return (<BodyPlan>plan).run_steps(ctx, True, 0, <void*>self)
