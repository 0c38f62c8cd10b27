"""BodyPlan (contract in body.pxd)."""

from libc.stdint cimport int64_t, uint64_t

from .._executor cimport Plan, failed_step, run_step
from .._resource cimport kRandom
from ..operator._base cimport OpContext, Operator
from .placeholders cimport number_of
from .tables cimport Tables

from ..base.errors import wrap_error, describe_error
from ..context import cpu
from ..graph.ir import SAVED, Value
from .._executor import arena_view
from .operators import constants, create_operator, create_operators
from .rebind import placeholder


cdef class BodyPlan:
    """The plan of a `Body`."""

    def __init__(self, body):
        cdef size_t i, number
        cdef Spot spot
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
            for value in step.touched():
                root = value.root
                if root.kind == SAVED and root not in arrays:
                    arrays[root] = arena_view(saved, root.offset, root.shape, root.dtype)
        arrays.update(constants(graph))
        operators = create_operators(graph)
        self.plan = Plan(graph, operators, arrays, arena, False)
        self.tables = self.plan.tables
        for i in range(self.tables.steps.size()):
            # known rows of one array say nothing about the next one
            self.tables.steps[i].watched = NULL
            self.tables.steps[i].context.rows = NULL
        self.slots.resize(count + 2)
        for i in range(self.tables.blobs.size()):
            number = number_of(self.tables.blobs[i].data)
            if number < self.slots.size():
                spot.blob, spot.offset = i, (<size_t>self.tables.blobs[i].data) & ((1 << 42) - 1)
                self.slots[number].spots.push_back(spot)
        for i in range(self.slots.size()):
            self.slots[i].at = NULL
        self._keep_python(graph, operators)

    cdef int _keep_python(self, graph, dict operators) except -1:
        """Operators in Python, which may keep something from forward to backward: one for each run,
        made when the run comes, since a loop may end long before its most runs."""
        steps_of = {}
        for i, step in enumerate(graph.steps):
            forward = step.origin or step
            if (<Operator>operators[forward]).runs_python:
                steps_of.setdefault(forward, []).append(i)
        self.runs_python = bool(steps_of)
        self.python = [(forward, positions, [operators[forward]])
                       for forward, positions in steps_of.items()]
        return 0

    cdef void _set_slot(self, size_t slot, void* at) noexcept nogil:
        cdef Spots* spots = &self.slots[slot]
        cdef size_t i
        if spots.at == at:
            return
        spots.at = at
        for i in range(spots.spots.size()):
            self.tables.blobs[spots.spots[i].blob].data = <char*>at + spots.spots[i].offset

    cdef void put_variable(self, size_t i, void* at) noexcept nogil:
        self._set_slot(i, at)

    cdef void put_output(self, size_t i, void* at) noexcept nogil:
        self._set_slot(self.n_variables + i, at)

    cdef void put_head(self, size_t i, void* at) noexcept nogil:
        self._set_slot(self.n_variables + self.n_outputs + i, at)

    cdef void put_grad(self, size_t i, void* at) noexcept nogil:
        self._set_slot(self.n_variables + 2 * self.n_outputs + i, at)

    cdef void put_arena(self, void* at) noexcept nogil:
        self._set_slot(2 * (self.n_variables + self.n_outputs), at)

    cdef void put_saved(self, void* at) noexcept nogil:
        self._set_slot(2 * (self.n_variables + self.n_outputs) + 1, at)

    cdef void begin(self, OpContext* ctx) noexcept nogil:
        cdef uint64_t key
        self.run.tables = self.tables
        self.run.segment = NULL
        self.run.seed = self.run.stream = 0
        if ctx.n_requested and ctx.requested[0].type == kRandom:
            # each draw of each run has its own stream, separated from those of the outer plan by a
            # key made from the operator's own stream (the finalizer of SplitMix64)
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
        self.run.stream = <uint64_t>t * self.plan.n_random
        while index < last:
            self.run.current = index
            if run_step(tables, index, &self.run, &ctx.run_ctx) == -1:
                with gil:
                    self._fail(t)
            index += 1
        return 0

    cdef int _fail(self, int64_t t) except -1:
        try:
            _raise_pending()
        except BaseException as error:
            step = failed_step(self.tables, self.run.current)
            raised = wrap_error(error, f"run {t} of a body: {step}: {describe_error(error)}")
        raise raised

    def _choose_operators(self, int64_t t, owner):
        """The operators of run t that are Python's, which keep the memory of the outer run."""
        for forward, positions, several in self.python:
            run = t if len(positions) > 1 else 0  # without backward one run is enough
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

    def profile(self):
        """(nanoseconds, calls) of each step."""
        return self.plan.profile()


cdef int _raise_pending() except -1:
    """Raises the exception that is set already."""
    return -1
