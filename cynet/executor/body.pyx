"""BodyPlan: the plan of an operator's inner graph (contract in body.pxd)."""

from libc.stdint cimport int64_t, uint64_t

from .._executor cimport Plan, failed_step_text, run_step
from .._resource cimport kRandom
from ..operator._base cimport OpContext, Operator
from .placeholders cimport placeholder_number
from .tables cimport Tables

from ..base.errors import wrap_error, describe_error
from ..context import cpu
from ..graph.ir import SAVED, Value
from .._executor import arena_view
from .operators import compute_constants, create_operator, create_operators
from .rebind import placeholder


cdef class BodyPlan:  # plan of the body of a loop or branch
    """The plan of a `Body`, an operator's inner graph."""

    def __init__(self, body):
        cdef size_t i, number
        cdef AddressSlot spot
        graph = body.graph
        self.body = body
        self.n_forward, self.n_steps = graph.n_forward, len(graph.steps)
        self.n_variables, self.n_outputs = len(body.variables), len(graph.outputs)
        values = [*body.variables, *graph.outputs, *graph.heads, *body.grads]
        arrays = {v: placeholder(i, v) for i, v in enumerate(values) if v is not None}
        count = len(values)
        arena, saved = [
            placeholder(count + i, Value(name, (max(size, 1),), "uint8", cpu()))
            for i, (name, size) in enumerate(
                (("arena", graph.memory.planned), ("saved", graph.saved)))
        ]
        for step in graph.steps:
            for value in step.touched_values():
                root = value.root
                if root.kind == SAVED and root not in arrays:
                    arrays[root] = arena_view(saved, root.offset, root.shape, root.dtype)
        arrays.update(compute_constants(graph))
        operators = create_operators(graph)
        self.plan = Plan(graph, operators, arrays, arena, False)
        self.tables = self.plan.tables
        for i in range(self.tables.steps.size()):
            # the rows of a run's gradient are not those of the next run's
            self.tables.steps[i].watched = NULL
            self.tables.steps[i].context.rows = NULL
        self.slots.resize(count + 2)
        for i in range(self.tables.blobs.size()):
            number = placeholder_number(self.tables.blobs[i].data)
            if number < self.slots.size():
                spot.blob, spot.offset = i, (<size_t>self.tables.blobs[i].data) & ((1 << 42) - 1)
                self.slots[number].spots.push_back(spot)
        for i in range(self.slots.size()):
            self.slots[i].at = NULL
        self._add_python_operators(graph, operators)

    cdef int _add_python_operators(self, graph, dict operators) except -1:
        """List the operators in Python. They may keep state from forward to backward, so each run
        gets its own, which is created at the run, since a loop may end early."""
        steps_of = {}
        for i, step in enumerate(graph.steps):
            forward = step.origin or step
            if (<Operator>operators[forward]).runs_python:
                steps_of.setdefault(forward, []).append(i)
        self.runs_python = bool(steps_of)
        self.python = [(forward, positions, [operators[forward]])
                       for forward, positions in steps_of.items()]
        return 0

    cdef void _set_slot_address(self, size_t slot, void* at) noexcept nogil:
        cdef AddressSlots* spots = &self.slots[slot]
        cdef size_t i
        if spots.at == at:
            return
        spots.at = at
        for i in range(spots.spots.size()):
            self.tables.blobs[spots.spots[i].blob].data = <char*>at + spots.spots[i].offset

    cdef void set_variable_address(self, size_t i, void* at) noexcept nogil:
        self._set_slot_address(i, at)

    cdef void set_output_address(self, size_t i, void* at) noexcept nogil:
        self._set_slot_address(self.n_variables + i, at)

    cdef void set_head_address(self, size_t i, void* at) noexcept nogil:
        self._set_slot_address(self.n_variables + self.n_outputs + i, at)

    cdef void set_grad_address(self, size_t i, void* at) noexcept nogil:
        self._set_slot_address(self.n_variables + 2 * self.n_outputs + i, at)

    cdef void set_arena_address(self, void* at) noexcept nogil:
        self._set_slot_address(2 * (self.n_variables + self.n_outputs), at)

    cdef void set_saved_address(self, void* at) noexcept nogil:
        self._set_slot_address(2 * (self.n_variables + self.n_outputs) + 1, at)

    cdef void begin_run(self, OpContext* ctx) noexcept nogil:  # seeds its random numbers
        cdef uint64_t key
        self.run.tables = self.tables
        self.run.segment = NULL
        self.run.seed = self.run.stream = 0
        if ctx.n_requested and ctx.requested[0].type == kRandom:
            # each random step of each run has its own stream; a key made from the operator's stream
            # (the finalizer of SplitMix64) separates them from the outer plan's streams
            key = ctx.requested[0].seed + (ctx.requested[0].stream + 1) * 0x9E3779B97F4A7C15UL
            key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9UL
            key = (key ^ (key >> 27)) * 0x94D049BB133111EBUL
            self.run.seed = key ^ (key >> 31)

    cdef int run_steps(self, OpContext* ctx, bint backward, int64_t t, void* outer) except -1 nogil:
        cdef Tables* tables = self.tables
        cdef size_t index = self.n_forward if backward else 0
        cdef size_t last = self.n_steps if backward else self.n_forward
        if self.runs_python:
            with gil:
                self._choose_operators(t, (<Operator>outer).memory_owner)
        self.run.is_train = ctx.is_train
        self.run.stream = <uint64_t>t * (self.plan.n_random[0] + self.plan.n_random[1])
        while index < last:
            self.run.current = index
            if run_step(tables, index, &self.run, &ctx.run_ctx) == -1:
                with gil:
                    self._raise_run_error(t)
            index += 1
        return 0

    cdef int _raise_run_error(self, int64_t t) except -1:
        try:
            _raise_pending_error()
        except BaseException as error:
            step = failed_step_text(self.tables, self.run.current)
            raised = wrap_error(error, f"run {t} of a body: {step}: {describe_error(error)}")
        raise raised

    def _choose_operators(self, int64_t t, owner):  # puts Python operators into the tables
        """Put the Python operators of run t into the tables; they keep the run's memory alive."""
        for forward, positions, several in self.python:
            run = t if len(positions) > 1 else 0  # without backward all runs share one operator
            while len(several) <= run:
                several.append(create_operator(forward))
            operator = several[run]
            operator.memory_owner = owner
            for i in positions:
                self.tables.steps[<size_t>i].op = <void*>operator

    # --- profiling --------------------------------------------------------------------------------
    def set_profiled(self, bint on):
        """See ``Plan.set_profiled``."""
        self.plan.set_profiled(on)

    def profile(self):  # (nanoseconds, calls) of each step
        """Return a list of (nanoseconds, calls) of each step."""
        return self.plan.profile()


cdef int _raise_pending_error() except -1:
    """Raise the exception that is already set in this thread."""
    return -1
