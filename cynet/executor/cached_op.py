"""CachedOp: a Symbol run on whatever arrays it is called with, through plans that are kept."""

import threading
from collections import OrderedDict

from .._executor import Plan
from ..base import config
from ..base.dtype import name_of
from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..graph import pipeline
from ..graph.collector import collector_paused
from ..graph.compile import lower
from ..graph.memory_plan import plan_memory
from ..graph.verify import verify_memory
from ..ndarray import NDArray, elemwise_add, empty, zeros
from ..ndarray._tape import StepNode, get_state, set_state
from ..operator.checks.shapes import known
from ..symbol.node import fixed_arguments, topological_order
from .executor import constants, create_operators, kept_arrays
from .pins import Pins
from .rebind import Lease, Slots, examine, fresh_arrays, placeholder
from .replay import gradients

MOST_PROGRAMS = 16  # signatures of one CachedOp that are remembered
_NULL, _WRITE, _ADD = 0, 1, 3  # OpReq
_REQUESTS = {_NULL: "null", _WRITE: "write", _ADD: "add"}


class CachedOp:
    """A Symbol as a function of arrays, run by plans as an executor runs it.

    A plan serves all calls whose arrays have the same shapes, dtypes and device, in the same mode
    (``autograd.is_training()``) and with gradients for the same inputs. While the thread records,
    a call is one step of the graph. Threads may call it at the same time.

    Parameters
    ----------
    symbol : Symbol

    Attributes
    ----------
    inputs : list of str
        Names of what a call takes: arguments, then auxiliary states.
    n_programs : int
        Signatures it has met, of those that are remembered.

    Examples
    --------
    >>> import cynet as mx
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

    def __init__(self, symbol):
        self.symbol = symbol
        self._arguments = symbol.list_arguments()
        self.inputs = [*self._arguments, *symbol.list_auxiliary_states()]
        self._programs, self._lock = OrderedDict(), threading.Lock()
        fixed = fixed_arguments(topological_order(symbol.entries))
        self._pinned = [(self.inputs.index(name), number) for name, number in fixed.items()]
        self._pins = {}  # place among the inputs -> (array, Pins)

    def __reduce__(self):
        return type(self), (self.symbol,)  # plans hold arrays at addresses that no process has

    @property
    def n_programs(self):
        return len(self._programs)

    def __call__(self, *arrays):
        """Run it.

        Parameters
        ----------
        *arrays : NDArray
            One for each of `inputs`, all on one device.

        Returns
        -------
        list of NDArray
            The outputs: new arrays.

        Raises
        ------
        ArgumentError
            When there are more or fewer arrays, or they are on several devices.
        ShapeError
            When their shapes do not fit; the message names the node.
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
        arrays = list(arrays)
        self._hold_pinned(arrays)
        training = bool(get_state() & 2)
        signature, wants = examine(arrays, len(self._arguments))
        key = signature, wants, training
        with self._lock:
            program = self._programs.get(key)
            if program is not None:
                self._programs.move_to_end(key)
        if program is None:
            program = self._remember(key, _Program(self, arrays, wants, training))
        lease = program.lease()
        outputs = lease.instance.forward(arrays, training)
        if program.has_gradients:
            _PlanNode(self, program, lease, arrays, outputs, training)
        return outputs

    def _remember(self, key, program):
        with self._lock:
            program = self._programs.setdefault(key, program)  # a thread may have been faster
            if len(self._programs) > MOST_PROGRAMS:
                self._programs.popitem(last=False)
        return program

    def _hold_pinned(self, arrays):
        """Inputs that hold one number whatever is written to them (gamma of a BatchNorm that has
        none)."""
        for i, number in self._pinned:
            known_array, pins = self._pins.get(i, (None, None))
            if known_array is not arrays[i]:
                pins = Pins([(arrays[i], number)])
                self._pins[i] = arrays[i], pins
            pins.hold()


class _Program:
    """What one signature needs, and the instances of it that are free."""

    @collector_paused()
    def __init__(self, op, arrays, wants, training):
        ctx = arrays[0].context
        n_args = len(wants)
        requests = {name: _REQUESTS[req] for name, req in zip(op.inputs, wants) if req != _NULL}
        self.has_gradients = bool(requests)
        names = pipeline.enabled()
        self.graph = graph = lower(
            op.symbol.entries,
            ctx,
            {name: known(array.shape) for name, array in zip(op.inputs, arrays)},
            {name: name_of(array.dtype) for name, array in zip(op.inputs, arrays)},
            requests,
            None,
            names,
            not training and not requests,
        )
        self.values = [graph.args[name] for name in op.inputs[:n_args]]
        self.values += [graph.auxs[name] for name in op.inputs[n_args:]]
        self.n_inputs = len(self.values)
        self.values += graph.outputs
        self.heads = [i for i, value in enumerate(graph.heads) if value is not None]
        self.values += [graph.heads[i] for i in self.heads]
        self.n_kept = len(self.values)
        self.wanted = [i for i, req in enumerate(wants) if req != _NULL]
        self.planned = [req for req in wants if req != _NULL]
        self.adds = _ADD in self.planned
        self.values += [graph.grads[op.inputs[i]] for i in self.wanted]
        self.fakes = dict(zip(self.values, map(placeholder, range(len(self.values)), self.values)))
        self.ctx = ctx
        operators = create_operators(graph)
        python = [s for s in graph.steps if operators[s.origin or s].runs_python]
        plan_memory(graph, "inplace" in names, "reuse" in names, keep=python)
        if config.get("CYNET_GRAPH_VERIFY"):
            verify_memory(graph, python)
        self.constants = constants(graph)
        self.keeps = bool(graph.kept_values())
        read = {v.root for step in graph.steps[graph.n_forward :] for v in step.read()}
        pinned = [i for i, _ in op._pinned]
        self.read_inputs = [i for i in range(n_args) if self.values[i] in read and i not in pinned]
        self.read_outputs = [i for i, value in enumerate(graph.outputs) if value in read]
        self._free = [_Instance(self, operators)]

    def lease(self):
        """An instance that nobody uses, until the lease is dropped."""
        try:
            return Lease(self._free, self._free.pop())
        except IndexError:
            return Lease(self._free, _Instance(self, create_operators(self.graph)))


class _Instance:
    """A plan with memory of its own for intermediate values."""

    def __init__(self, program, operators):
        graph = program.graph
        self.program = program
        size = graph.memory.planned or 1  # what has no elements has an address, too
        arena = empty((size,), ctx=program.ctx, dtype="uint8")
        arrays = {**program.fakes, **program.constants, **kept_arrays(graph)}
        self.plan = Plan(graph, operators, arrays, arena)
        self.python = [op for op in set(operators.values()) if op.runs_python]
        self.arena = arena
        n = program.n_inputs
        self.slots = Slots(
            self.plan,
            [program.fakes[v] for v in program.values],
            {*range(n, n + len(graph.outputs)), *range(program.n_kept, len(program.values))},
        )
        self.inputs = None  # those of the last call: what is kept from run to run knows them
        self.scratch = {}
        self.kept = None  # the arena as forward left it, where backward is to run again

    def forward(self, arrays, training):
        """Push a run on these inputs; the outputs."""
        self.kept = None
        outputs = fresh_arrays(self.program.graph.outputs, self.program.fakes)
        self.slots.put(0, arrays + outputs)
        self.inputs = arrays if self.program.keeps else None
        for operator in self.python:
            operator.memory_owner = (self.arena, arrays, [each.detach() for each in outputs])
        self.plan.run_forward(training)
        return outputs

    def backward(self, heads, targets, training, again):
        """Push a run back; `again`: there will be another one, which finds what forward left."""
        program = self.program
        if self.kept is not None:
            self.arena[:] = self.kept
        elif again:
            self.kept = self.arena.copy()
        self.slots.put(program.n_inputs + len(program.graph.outputs), heads + targets)
        for operator in self.python:
            operator.memory_owner = (*operator.memory_owner, heads, targets)
        self.plan.run_backward(training)

    def scratch_for(self, k):
        """An array for the gradient of wanted input `k`, which nobody reads but a sum."""
        if k not in self.scratch:
            value = self.program.values[-len(self.program.wanted) + k]
            self.scratch[k] = empty(value.shape, ctx=value.ctx, dtype=value.dtype)
        return self.scratch[k]


class _PlanNode(StepNode):
    """A recorded call."""

    direct = True

    def __init__(self, op, program, lease, arrays, outputs, training):
        self.op, self.program, self.lease, self.training = op, program, lease, training
        self.given = arrays
        n = len(op._arguments)
        read = [arrays[i] for i in program.read_inputs]
        read += [outputs[i] for i in program.read_outputs]
        self.attach(arrays[:n], outputs, read)

    @property
    def name(self):
        return f"CachedOp {self.op.symbol.name or 'of several outputs'}"

    def array_name(self, i):
        inputs = [f"input '{self.op.inputs[k]}'" for k in self.program.read_inputs]
        return [*inputs, *(f"output {k}" for k in self.program.read_outputs)][i]

    def let_go(self):
        self.lease = self.given = None

    def go_back(self, walk, grads):
        """Backward of the plan, straight into the arrays where the gradients go."""
        program, instance = self.program, self.lease.instance
        heads = []
        for k in program.heads:
            value = program.graph.heads[k]
            grad = grads[k]
            heads.append(
                zeros(value.shape, ctx=value.ctx, dtype=value.dtype) if grad is None else grad
            )
        targets, requests = walk.targets_of(self, program.wanted)
        sums = ()
        if requests != program.planned or program.adds:
            sums = self._fit(targets, requests)
        instance.backward(heads, targets, self.training, walk.retain)
        for array, part in sums:
            elemwise_add(array, part, out=array)

    def _fit(self, targets, requests):
        """Exchange targets that the plan cannot write as they are to be; the pairs (target, part)
        that are to be summed behind it."""
        instance, sums, taken = self.lease.instance, [], set()
        for k, planned in enumerate(self.program.planned):
            array, request = targets[k], requests[k]
            apart = id(array) in taken  # one variable for two inputs
            if array is None or (request == _ADD and (planned != _ADD or apart)):
                targets[k] = instance.scratch_for(k)
                if array is not None:
                    sums.append((array, targets[k]))
                request = _WRITE
            else:
                taken.add(id(array))
            if planned == _ADD and request == _WRITE:
                targets[k][:] = 0
        return sums

    def backward(self, grads, recorded):
        """The gradients as recorded steps: node by node, since a plan has no gradient of its
        backward."""
        op, wanted = self.op, self.program.wanted
        flags = set_state(1 | (2 if self.training else 0))
        try:
            found = gradients(
                op.symbol,
                dict(zip(op.inputs, self.linked(self.given))),
                [op.inputs[i] for i in wanted],
                grads,
                f"{self.name}, recorded at {self.where()}",
            )
        finally:
            set_state(flags)
        parts = dict(zip(wanted, found))
        return [parts.get(i) for i in range(len(op._arguments))]
