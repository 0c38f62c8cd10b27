"""CachedOp: runs a Symbol on the arrays of each call, with cached plans."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from .._core.saved_values import total_writes
from .._executor import Plan
from ..base import config
from ..base.dtype import name_of
from ..base.errors import (
    ArgumentError,
    ArgumentTypeError,
    GradientError,
    OutOfMemoryError,
    shown,
    with_message,
)
from ..graph import pipeline
from ..graph.collector import garbage_collector_paused
from ..graph.compile import lower
from ..graph.infer import Structure, infer_shapes, infer_types
from ..graph.ir import Value
from ..graph.memory_plan import plan_memory
from ..graph.verify import verify_memory
from ..ndarray import NDArray, elemwise_add, empty, zeros
from ..ndarray._tape import StepNode, get_state, set_state
from ..operator.checks.shapes import known_shape
from ..symbol.node import fixed_arguments
from .arena_pool import allocate_for_use, take_idle_arena
from .cached_results import cached_groups
from .call_by_call import is_call_by_call_due, resolve
from .constant_inputs import ConstantInputs
from .operators import compute_constants, create_operators
from .plan_cache import PlanCache, bytes_of_graph
from .rebind import ArgumentSlots, PlanLease, call_signature, placeholder, unwritten_arrays
from .replay import gradients

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..context import Context
    from ..symbol.node import Entry
    from ..typing import Shape, Symbol

_NULL, _WRITE, _ADD = 0, 1, 3  # OpReq
_REQUESTS = {_NULL: "null", _WRITE: "write", _ADD: "add"}  # OpReq -> grad_req


class CachedOp:
    """A Symbol as a function of arrays: each signature of arrays gets a plan like an executor's.

    A plan serves all calls whose arrays have the same shapes, dtypes and device, in the same mode
    (``autograd.is_training()``) and with gradients for the same inputs. While the thread records,
    a call is one step of the graph. Threads may call it at the same time.

    Parameters
    ----------
    symbol : Symbol
        The graph.
    apart : bool
        Whether its plans count and may go one by one, as in a PlanCache.
    arenas : dict, optional
        Idle arenas of CachedOps that share them.

    Attributes
    ----------
    inputs : list of str
        Names of what a call takes: arguments, then auxiliary states.
    n_nodes : int
        Nodes of the graph, variables included.
    n_programs : int
        Signatures it has met, of which it keeps what runs them (CYNET_PLAN_CACHE_MB).
    nbytes : int
        What its plans take that they share with no other ones.
    cached_results : list of CachedResult
        Weights in other forms, which plans share.

    Examples
    --------
    >>> x, w = mx.sym.Variable("x"), mx.sym.Variable("w")
    >>> op = mx.executor.CachedOp(x * w + 1)
    >>> op.inputs
    ['x', 'w']
    >>> a, b = mx.nd.array([1, 2]), mx.nd.array([3, 4])
    >>> b.attach_grad()
    >>> with mx.autograd.record():
    ...     y, = op(a, b)
    >>> y.backward()
    >>> y.asnumpy().tolist(), b.grad.asnumpy().tolist()
    ([4.0, 9.0], [1.0, 2.0])
    """

    def __init__(
        self, symbol: Symbol, apart: bool = True, arenas: dict[Context, list[Any]] | None = None
    ) -> None:
        self.symbol = symbol
        self._arguments = symbol.list_arguments()
        self.inputs = [*self._arguments, *symbol.list_auxiliary_states()]
        self._programs = PlanCache(apart)
        self._called = PlanCache()  # signature -> CallByCall, until it gets a plan
        self._arenas = {} if arenas is None else arenas  # context -> list of idle arenas
        self._structure = Structure(symbol.entries)
        self.n_nodes = len(self._structure.order)
        # the last shapes by name, and the shapes of all entries
        self._inferred: tuple[dict[str, Shape] | None, dict[Entry, Any]] = None, {}
        # dtypes of the inputs -> dtypes of all entries
        self._types: dict[Any, dict[Entry, Any]] = {}
        # (with gradients, training) of the plans so far
        self._modes: set[tuple[bool, bool]] = set()
        fixed = fixed_arguments(self._structure.order)
        self._pinned = [(self.inputs.index(name), number) for name, number in fixed.items()]
        # index of the input -> (array, ConstantInputs)
        self._constant_inputs: dict[int, tuple[NDArray, Any]] = {}

    def __reduce__(self) -> tuple[type[CachedOp], tuple[Symbol]]:
        return type(self), (self.symbol,)  # pickled without its plans

    @property
    def n_programs(self) -> int:
        """The number of signatures that have a plan now (CYNET_PLAN_CACHE_MB limits it).

        Examples
        --------
        >>> op = mx.executor.CachedOp(mx.sym.square(mx.sym.var("x")))
        >>> _ = op(mx.nd.ones((2,))), op(mx.nd.ones((3,))), op(mx.nd.zeros((2,)))
        >>> op.n_programs
        2
        """
        return len({*self._programs, *self._called})

    @property
    def nbytes(self) -> int:
        """The bytes of its plans, without memory that other plans share, an int.

        Examples
        --------
        >>> op = mx.executor.CachedOp(mx.sym.square(mx.sym.var("x")))
        >>> op.nbytes, op(mx.nd.ones((2,)))[0].shape, op.nbytes > 0
        (0, (2,), True)
        """
        return self._programs.nbytes + self._called.nbytes

    @property
    def cached_results(self) -> list[Any]:
        """The results computed from weights alone, which plans share: a list of CachedResult.

        Examples
        --------
        >>> mx.executor.CachedOp(mx.sym.square(mx.sym.var("x"))).cached_results
        []
        """
        return self._programs.cached_results

    def __call__(self, *arrays: NDArray) -> list[NDArray]:
        """Run the graph on arrays.

        *arrays: One array for each name in `inputs`, all on one device.

        Returns list of NDArray: the outputs: new arrays. Raises ArgumentError when there are more
        or fewer arrays, or they are on several devices. Raises ShapeError when their shapes do not
        fit; the message names the node.
        """
        if len(arrays) != len(self.inputs):
            raise ArgumentError(
                f"this CachedOp takes {len(self.inputs)} arrays ({', '.join(self.inputs)}), got "
                f"{len(arrays)}"
            )
        for name, array in zip(self.inputs, arrays):
            if not isinstance(array, NDArray):
                raise ArgumentTypeError(
                    f"input '{name}' of a CachedOp must be an NDArray, got {shown(array)}"
                )
        given = list(arrays)
        self._restore_constant_inputs(given)
        training = bool(get_state() & 2)
        signature, wants = call_signature(given, len(self._arguments))
        key = signature, wants, training
        program = self._programs.get(key)
        if program is None:
            calls = self._find_call_by_call(key, given)
            called: list[NDArray] | None = None if calls is None else calls(given)
            if called is not None:
                return called
            self._modes.add((any(wants), training))
            since = time.perf_counter()
            program = _Program(self, given, wants, training)
            program = self._programs.add_plan(key, program, time.perf_counter() - since)
        lease = program.lease()
        outputs: list[NDArray] = lease.instance.forward(given, training)
        if program.has_gradients:
            _PlanNode(self, program, lease, given, outputs, training)
        return outputs

    def _find_call_by_call(
        self, key: tuple[Any, tuple[int, ...], bool], arrays: list[NDArray]
    ) -> Any:
        """Return the CallByCall that runs a signature without a plan; None if a plan is due."""
        calls = self._called.get(key)
        if not is_call_by_call_due(0 if calls is None else calls.runs, calls):
            if calls is not None:
                calls.release_arena()
            return None
        _, wants, training = key
        if calls is None and (any(wants), training) in self._modes:
            since = time.perf_counter()
            ctx, shapes, dtypes = self._describe_inputs(arrays)
            found = self.infer(shapes), self.infer_types(dtypes)
            calls = resolve(self._structure, self.inputs, *found, arrays, ctx, any(wants))
            if calls is not None and any(wants) and len(self._structure.heads) > 1:
                # a plan computes the gradients of all losses, wherever backward starts
                wanted = frozenset(n for n, req in zip(self.inputs, wants) if req != _NULL)
                if not all(calls.graph.needs_head_gradients(wanted)):
                    return None
            if calls is not None:
                calls = self._called.add_plan(key, calls, time.perf_counter() - since)
        return calls

    def _describe_inputs(
        self, arrays: list[NDArray]
    ) -> tuple[Context, dict[str, Shape], dict[str, str]]:
        """Return the context of the outputs, and the shapes and dtypes of the inputs by name."""
        contexts = [each.context for each in arrays]
        # pinned and shared host memory count as ordinary CPU memory
        ctx = next((each for each in contexts if each.device_type == "cpu"), contexts[0])
        shapes = {name: known_shape(array.shape) for name, array in zip(self.inputs, arrays)}
        dtypes = {name: name_of(array.dtype) for name, array in zip(self.inputs, arrays)}
        return ctx, shapes, dtypes

    def infer(self, shapes: dict[str, Shape]) -> dict[Entry, Any]:
        """Infer the shapes of all entries of the graph from the shapes of its inputs.

        Parameters
        ----------
        shapes : dict of str to tuple of int
            Shapes of the inputs, by name.

        Returns
        -------
        dict
            (Node, number of the output) to shape.

        Raises
        ------
        ShapeError
            If the shapes do not fit.

        Examples
        --------
        >>> net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3, name="fc")
        >>> op = mx.executor.CachedOp(net)
        >>> found = op.infer({"x": (8, 5)})
        >>> {node.name: shape for (node, _), shape in found.items()}
        {'x': (8, 5), 'fc_weight': (3, 5), 'fc_bias': (3,), 'fc': (8, 3)}
        """
        input_shapes, found = self._inferred
        if input_shapes != shapes:
            found = infer_shapes(self.symbol.entries, shapes, structure=self._structure)
            self._inferred = shapes, found
        return found

    def infer_types(self, dtypes: dict[str, str]) -> dict[Entry, Any]:
        """Infer the dtypes of all entries of the graph from the dtypes of its inputs.

        Parameters
        ----------
        dtypes : dict of str to str
            Types of the inputs, by name.

        Returns
        -------
        dict
            (Node, number of the output) to dtype.

        Raises
        ------
        ArgumentError
            If the dtypes do not fit.

        Examples
        --------
        >>> net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3, name="fc")
        >>> op = mx.executor.CachedOp(net)
        >>> found = op.infer_types({"x": "float16"})
        >>> {node.name: dtype for (node, _), dtype in found.items()}
        {'x': 'float16', 'fc_weight': 'float16', 'fc_bias': 'float16', 'fc': 'float16'}
        """
        key = tuple(dtypes.items())
        found = self._types.get(key)
        if found is None:
            entries, structure = self.symbol.entries, self._structure
            found = infer_types(entries, dtypes, "float32", structure=structure)
            self._types = {key: found}
        return found

    def _restore_constant_inputs(self, arrays: list[NDArray]) -> None:
        """Restore inputs that have a fixed value, such as a BatchNorm's fixed gamma."""
        for i, number in self._pinned:
            known = self._constant_inputs.get(i)
            if known is None or known[0] is not arrays[i]:
                known = arrays[i], ConstantInputs([(arrays[i], number)])
                self._constant_inputs[i] = known
            known[1].restore()


class _Program:  # the graph of one signature, with its idle plans
    """The graph of one signature, and its instances: plans that no run uses now."""

    @garbage_collector_paused()
    def __init__(
        self, op: CachedOp, arrays: list[NDArray], wants: tuple[int, ...], training: bool
    ) -> None:
        ctx, shapes, dtypes = op._describe_inputs(arrays)
        n_args = len(wants)
        requests = {name: _REQUESTS[req] for name, req in zip(op.inputs, wants) if req != _NULL}
        self.has_gradients = bool(requests)
        names = pipeline.enabled_passes()
        self.graph = graph = lower(
            op.symbol.entries,
            ctx,
            shapes,
            dtypes,
            requests,
            None,
            names,
            not training and not requests,
            inferred=(op.infer(shapes), op.infer_types(dtypes)),
            structure=op._structure,
        )
        self.values = [graph.args[name] for name in op.inputs[:n_args]]
        self.values += [graph.auxs[name] for name in op.inputs[n_args:]]
        self.n_inputs = len(self.values)
        self.values += graph.outputs
        self.heads = [(i, value) for i, value in enumerate(graph.heads) if value is not None]
        self.values += [value for _, value in self.heads]
        self.n_saved = len(self.values)
        self.wanted = [i for i, req in enumerate(wants) if req != _NULL]
        self.planned = [req for req in wants if req != _NULL]
        self.adds = _ADD in self.planned
        self.values += [graph.grads[op.inputs[i]] for i in self.wanted]
        positions = {value: i for i, value in enumerate(self.values[: self.n_inputs])}
        operators = create_operators(graph)
        python = [s for s in graph.steps if operators[s.origin or s].runs_python]
        plan_memory(graph, "inplace" in names, "reuse" in names, keep=python)
        if config.get("CYNET_GRAPH_VERIFY"):
            verify_memory(graph, python)
        # also an array without elements needs an address
        self.arena = Value("arena", (graph.memory.planned or 1,), "uint8", ctx)
        self.moves = not python  # operators in Python may keep arrays of an arena
        if self.moves:
            self.values.insert(self.n_inputs + len(graph.outputs), self.arena)
            self.n_saved += 1
        self.groups = cached_groups(graph)
        self.first_cached = len(self.values)
        self.values += [group.value for group in self.groups]
        # the inputs that each group reads
        self.read_cached = [[positions[value] for value in group.sources] for group in self.groups]
        self.sources = {i for each in self.read_cached for i in each}
        self.cached_results: list[Any] = []  # the CachedResult of each group in the last call
        self.fakes = dict(zip(self.values, map(placeholder, range(len(self.values)), self.values)))
        self.idle_arenas = op._arenas.setdefault(ctx, []) if self.moves else None
        self.constants = compute_constants(graph)
        self.nbytes = bytes_of_graph(graph, self.constants.values())
        read = {v.root for step in graph.steps[graph.n_forward :] for v in step.read()}
        pinned = [i for i, _ in op._pinned]
        self.read_inputs = [i for i in range(n_args) if self.values[i] in read and i not in pinned]
        self.read_outputs = [i for i, value in enumerate(graph.outputs) if value in read]
        self._free = [_ProgramInstance(self, operators)]

    def lease(self) -> Any:
        """Return a PlanLease of an idle instance with an arena."""
        try:
            instance = self._free.pop()
        except IndexError:
            instance = _ProgramInstance(self, create_operators(self.graph))
        if self.moves:
            size, ctx = self.arena.shape[0], self.arena.ctx
            instance.arena = allocate_for_use(
                self.graph, take_idle_arena, self.idle_arenas, size, ctx
            )
        return PlanLease(self._free, instance, self.idle_arenas)


class _ProgramInstance:  # a plan with an arena
    """A plan with a leased arena, or with its own arena if it has operators in Python."""

    def __init__(self, program: _Program, operators: Mapping[Any, Any]) -> None:
        graph = program.graph
        self.program = program
        self.arena: Any = None
        if program.moves:
            arena = program.fakes[program.arena]
        else:
            size, ctx = program.arena.shape, program.arena.ctx
            arena = self.arena = allocate_for_use(graph, empty, size, ctx, "uint8")
            program.nbytes += arena.size
        arrays = {**program.fakes, **program.constants}
        results = [None] * len(program.groups)
        self.plan = Plan(graph, operators, arrays, arena, cached=results)
        self.python = [op for op in set(operators.values()) if op.runs_python]
        n = program.n_inputs
        self.slots = ArgumentSlots(
            self.plan,
            [program.fakes[v] for v in program.values],
            {*range(n, n + len(graph.outputs)), *range(program.n_saved, program.first_cached)},
            program.sources,
        )
        self.knows_cached = not results  # whether the cached results are set
        self.scratch: dict[int, NDArray] = {}
        self.saved_arena: Any = None  # a copy of the arena after forward, for another backward

    def forward(self, arrays: list[NDArray], training: bool) -> list[NDArray]:
        """Push a run on these inputs; returns the outputs."""
        self.saved_arena = None
        values = self.program.graph.outputs
        try:
            outputs: list[NDArray] = unwritten_arrays(values, self.program.fakes, arrays)
        except OutOfMemoryError as error:
            names = ", ".join(f"{v.name!r} of shape {v.shape}" for v in values[:10])
            raise with_message(error, f"no memory for outputs, {names}: {error}") from None
        exchanged = self.slots.bind(
            0, [*arrays, *outputs, self.arena] if self.program.moves else arrays + outputs
        )
        if exchanged or not self.knows_cached:
            self._set_cached_results(arrays)
        for operator in self.python:
            operator.memory_owner = (self.arena, arrays, [each.detach() for each in outputs])
        self.plan.run_forward(training)
        return outputs

    def _set_cached_results(self, arrays: list[NDArray]) -> None:
        """Set the plan's cached results for these inputs; new ones are computed by the next run."""
        self.knows_cached = False
        program = self.program
        program.cached_results = [
            group.result([arrays[i] for i in read])
            for group, read in zip(program.groups, program.read_cached)
        ]
        self.slots.bind_cached(program.first_cached, program.cached_results)
        self.knows_cached = True

    def release_arena(self) -> NDArray | None:
        """Give up the arena, so that other plans can use it; returns it."""
        arena: NDArray | None = self.arena
        self.arena = self.saved_arena = None
        self.scratch.clear()
        return arena

    def backward(
        self, heads: list[NDArray], targets: list[NDArray], training: bool, again: bool
    ) -> None:
        """Push the backward of a run; with `again` the arena stays for another backward."""
        program = self.program
        if self.saved_arena is not None:
            self.arena[:] = self.saved_arena
        elif again:
            self.saved_arena = self.arena.copy()
        first = program.n_inputs + len(program.graph.outputs) + program.moves
        self.slots.bind(first, heads + targets)
        for operator in self.python:
            operator.memory_owner = (*operator.memory_owner, heads, targets)
        self.plan.run_backward(training)

    def scratch_gradient_of(self, k: int) -> NDArray:
        """Return a temporary for the gradient of input `k`; it is added to its target later."""
        if k not in self.scratch:
            program = self.program
            value = program.values[program.first_cached - len(program.wanted) + k]
            self.scratch[k] = empty(value.shape, ctx=value.ctx, dtype=value.dtype)
        return self.scratch[k]


class _PlanNode(StepNode):  # type: ignore[misc]  # compiled
    """A recorded call."""

    direct = True

    def __init__(
        self,
        op: CachedOp,
        program: _Program,
        lease: Any,
        arrays: list[NDArray],
        outputs: list[NDArray],
        training: bool,
    ) -> None:
        self.op, self.program, self.lease, self.training = op, program, lease, training
        self.given: Any = arrays
        self.older: Any = {}
        n = len(op._arguments)
        read = [arrays[i] for i in program.read_inputs]
        read += [outputs[i] for i in program.read_outputs]
        self.attach(arrays[:n], outputs, read)
        self.writes_before = total_writes(arrays[:n])

    @property
    def name(self) -> str:
        return f"CachedOp {self.op.symbol.name or 'of several outputs'}"

    def array_name(self, i: int) -> str:
        inputs = [f"input '{self.op.inputs[k]}'" for k in self.program.read_inputs]
        return [*inputs, *(f"output {k}" for k in self.program.read_outputs)][i]

    def release_references(self) -> None:
        self.lease = self.given = self.older = None

    def on_array_replaced(self, i: int, array: NDArray) -> None:
        """Let backward read `array` as input `i`; refused if there are cached results."""
        if self.program.groups:
            self._raise_overwritten(i)
        self.older[self.program.read_inputs[i]] = array

    def write_grads(self, walk: Any, grads: Sequence[NDArray | None]) -> None:
        """Run the plan's backward, which writes the gradients into their final arrays."""
        program, instance = self.program, self.lease.instance
        for k, array in self.older.items():
            instance.slots.bind(k, [array])
        heads = []
        for k, value in program.heads:
            grad = grads[k]
            heads.append(
                zeros(value.shape, ctx=value.ctx, dtype=value.dtype) if grad is None else grad
            )
        targets, requests = walk.gradient_targets(self, program.wanted)
        sums: list[tuple[NDArray, NDArray]] = []
        if requests != program.planned or program.adds:
            sums = self._replace_unwritable_targets(targets, requests)
        instance.backward(heads, targets, self.training, walk.retain)
        for array, part in sums:
            elemwise_add(array, part, out=array)

    def _replace_unwritable_targets(
        self, targets: list[Any], requests: Sequence[int]
    ) -> list[tuple[NDArray, NDArray]]:
        """Replace targets that the plan cannot write; returns pairs (target, temporary) to add."""
        instance, sums, taken = self.lease.instance, [], set()
        for k, planned in enumerate(self.program.planned):
            array, request = targets[k], requests[k]
            apart = id(array) in taken  # the same array is another input's target
            if array is None or (request == _ADD and (planned != _ADD or apart)):
                targets[k] = instance.scratch_gradient_of(k)
                if array is not None:
                    sums.append((array, targets[k]))
                request = _WRITE
            else:
                taken.add(id(array))
            if planned == _ADD and request == _WRITE:
                targets[k][:] = 0
        return sums

    def backward(self, grads: Sequence[NDArray | None], recorded: bool) -> list[NDArray | None]:
        """Return recorded gradients, node by node, as a plan's backward has no gradient."""
        op, wanted = self.op, self.program.wanted
        if total_writes(self.given[: len(op._arguments)]) != self.writes_before:
            raise GradientError(
                f"{self.name}, recorded at {self.location()}: an input was changed in place after "
                "it was recorded, and create_graph=True runs the graph again"
            )
        flags = set_state(1 | (2 if self.training else 0))
        try:
            found = gradients(
                op.symbol,
                dict(zip(op.inputs, self.linked_arrays(self.given))),
                [op.inputs[i] for i in wanted],
                grads,
                f"{self.name}, recorded at {self.location()}",
            )
        finally:
            set_state(flags)
        parts = dict(zip(wanted, found))
        return [parts.get(i) for i in range(len(op._arguments))]
