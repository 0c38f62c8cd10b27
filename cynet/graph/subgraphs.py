"""Control flow steps, which run inner graphs: `_foreach`, `_while_loop` and `_cond` in a plan.

`subgraph_step` makes a `SubgraphRunner` of such a node: operators' states inside are known, and
two hidden outputs hold memory, `reserve` what backward reads of each run of a body, `space` what a
run needs meanwhile. Behind the gradient pass it is known which gradients are wanted; then
`build_bodies` puts each body through all passes and plans its memory, once, whatever the number of
runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base import config
from ..context import Context
from ..operator.checks.shapes import check_elements, known_shape
from ..operator.control_flow.subgraphs import row_shape
from ..operator.graph_hooks import GraphHooks, Traits
from ..operator.property import OperatorProperty, ResourceRequest
from .cost import FLOPS_PER_SECOND, seconds
from .ir import ADD, BACKWARD, FORWARD, NULL, TEMP, WRITE, Step, Value
from .memory_plan import aligned_size, nbytes, plan_memory
from .verify import verify_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..operator._base import Operator
    from ..symbol.node import Node
    from ..typing import Shape
    from .ir import Graph

HEADER_BYTES = 64  # start of `reserve`: the number of runs, or the index of the branch that ran
# Sources of a body's variable: a row of an input, a state, an input, an auxiliary state.
ROW, STATE, INPUT, AUX = 0, 1, 2, 3  # kinds of sources of a variable
# pack caches by the versions of arrays, which rows of an array do not have
PASSES_NOT_IN_BODIES = frozenset({"pack"})  # passes that inner graphs leave out


class _SubgraphHooks(GraphHooks):  # cost estimate of control flow
    """Hooks of control flow steps: the cost is that of the bodies."""

    traits = Traits(bfloat16_loops=True)

    def flops(self, prop: Any, in_shapes: Sequence[Shape], out_shapes: Sequence[Shape]) -> int:
        steps = [s for body in prop.bodies for s in body.graph.steps[: body.graph.n_forward]]
        return int(prop.runs * FLOPS_PER_SECOND * sum(map(seconds, steps)))


class Body:  # the inner graph of a loop or branch, ready to run
    """An inner graph of a control flow step, after all passes.

    graph (Graph): With its memory planned; values that backward reads of forward are of kind
        ``saved``.
    variables (list of Value): The inputs, in the subgraph's order.
    grads (list of Value or None): The gradients of the variables.
    feeds: The source of each variable: (ROW, STATE, INPUT or AUX, index).
    """

    def __init__(
        self,
        subgraph: Any,
        shapes: list[Shape],
        types: list[str],
        requests: list[str | None],
        ctx: Context,
        names: frozenset[str],
        lower: Callable[..., Graph],
        feeds: list[tuple[int, int]],
    ) -> None:
        named = [node.name for node in subgraph.variables]
        self.graph = graph = lower(
            subgraph.heads,
            ctx,
            {name: known_shape(shape) for name, shape in zip(named, shapes)},
            dict(zip(named, types)),
            {name: req for name, req in zip(named, requests) if req is not None},
            None,
            names,
            not any(requests),
        )
        plan_memory(graph, "inplace" in names, "reuse" in names, saved=True)
        if config.get("CYNET_GRAPH_VERIFY"):
            verify_memory(graph)
        self.variables = [graph.auxs[n] if n in graph.auxs else graph.args[n] for n in named]
        self.grads = [graph.grads.get(name) for name in named]
        self.feeds = feeds
        self.read_roots = {v.root for s in graph.steps[graph.n_forward :] for v in s.read()}

    def is_read_backward(self, value: Value) -> bool:
        """Return whether the body's backward reads a variable or an output."""
        return value in self.read_roots

    def draws_random(self, backward: bool) -> bool:
        """Return whether forward, or backward, draws random numbers."""
        n = self.graph.n_forward
        return any(map(_draws_random, self.graph.steps[n:] if backward else self.graph.steps[:n]))


def _draws_random(step: Step) -> bool:
    ask = step.prop.forward_resource if step.direction == FORWARD else step.prop.backward_resource
    shapes = [v.shape for v in (step.origin or step).in_data]
    return ResourceRequest.random in ask(shapes)


class _MemoryLayout:  # offsets of values placed one after the other
    """A piece of memory in which values are placed one after the other."""

    def __init__(self, size: int = 0) -> None:
        self.size = size

    def place(self, size: int) -> int:
        """Add a value of `size` bytes; returns its offset."""
        offset, self.size = self.size, self.size + aligned_size(size)
        return offset


class SubgraphRunner(OperatorProperty):  # a loop or branch operator
    """The property of a control flow step, which runs inner graphs."""

    pure = False  # an inner graph may run Python and change states

    def __init__(self, node: Node) -> None:
        self.definition = definition = node.prop
        self.op_name = definition.op_name
        states = definition.mutable_inputs()
        self.states = sorted(states)
        self.inputs = [i for i in range(node.num_args) if i not in states]
        self.names = node.input_names()
        moves = any(graph.moves_in_forward for graph in definition.subgraphs)
        self.graph = _SubgraphHooks(moves_states=moves)
        self.bodies: tuple[Body, ...] = ()
        self.runs = 1
        self.condition: Body | None = None

    def list_arguments(self) -> list[str]:
        return [self.names[i] for i in self.inputs]

    def list_auxiliary_states(self) -> list[str]:
        return [self.names[i] for i in self.states]

    def list_outputs(self) -> list[str]:
        return [*self.definition.list_outputs(), "reserve", "space"]

    def num_visible_outputs(self) -> int:
        return int(self.definition.num_outputs)

    def declare_backward_dependency(
        self, out_grad: Sequence[Any], in_data: Sequence[Any], out_data: Sequence[Any]
    ) -> list[Any]:
        return [*out_grad[:-2], *in_data, *out_data]

    def forward_resource(self, in_shapes: list[Shape]) -> Sequence[int]:
        bodies = [*self.bodies, *([self.condition] if self.condition else [])]
        return [ResourceRequest.random] if any(b.draws_random(False) for b in bodies) else []

    def backward_resource(self, in_shapes: list[Shape]) -> Sequence[int]:
        random = any(body.draws_random(True) for body in self.bodies)
        return [ResourceRequest.random] if random else []

    def create_operator(
        self, ctx: Context, in_shapes: list[Shape], in_types: list[str]
    ) -> Operator:
        # imported here, as the executor imports this package
        from ..executor.control_flow import BranchOperator, LoopOperator

        kind: type[Operator] = LoopOperator if self.definition.n_subgraphs < 3 else BranchOperator
        return kind(self)

    def graphs_inside(self) -> list[tuple[str, Graph]]:
        """Return pairs (name, Graph) of the inner graphs, in the order of the operator's plans."""
        found: list[tuple[str, Body]] = [("condition", self.condition)] if self.condition else []
        words = ("body",) if len(self.bodies) == 1 else ("then", "else")
        return [(word, body.graph) for word, body in (*found, *zip(words, self.bodies))]

    # --- after the gradient pass ------------------------------------------------------------------
    def build_bodies(
        self, step: Step, back: Step | None, names: frozenset[str], lower: Callable[..., Graph]
    ) -> None:
        """Build the inner graphs; `back` is the backward step, or None."""
        self.names_inside = names - PASSES_NOT_IN_BODIES
        self.lower, self.ctx, self.back = lower, step.ctx, back is not None
        values = dict(zip(self.inputs, step.in_data))
        values.update(zip(self.states, step.aux))
        self.requests = list(back.req) if back else [NULL] * len(step.in_data)
        # no gradient is requested, but backward updates states inside, such as BatchNorm's
        self.blocked = self.back and all(req == NULL for req in self.requests)
        self.space, self.reserve = _MemoryLayout(), _MemoryLayout(HEADER_BYTES)
        if self.definition.n_subgraphs < 3:
            needed = self._build_loop(step, values)
        else:
            needed = self._build_branches(step, values)
        for value, memory in zip(step.out_data[-2:], (self.reserve, self.space)):
            value.shape = (max(memory.size, 1),)
            check_elements(value.shape, f"'{value.name}'")
        if back:
            read, visible = needed
            ins: list[Any] = [v if i in read else None for i, v in enumerate(step.in_data)]
            outs: list[Any] = [v if i in visible else None for i, v in enumerate(step.out_data)]
            back.in_data, back.out_data[:-2] = ins, outs[:-2]
        del self.lower, self.names_inside

    def _build_body(
        self,
        number: int,
        values: dict[int, Value],
        row: Sequence[int],
        states: Sequence[int],
        requests: Callable[[int, int], str | None],
    ) -> Body:
        """Build the body of ``subgraphs[number]``; inputs in `row` are rows, in `states` states."""
        graph = self.definition.subgraphs[number]
        inputs = self.definition.inputs_of_variables()[number]
        place = {i: k for k, i in enumerate(self.inputs)}
        aux = {i: k for k, i in enumerate(self.states)}
        feeds, shapes, requested = [], [], []
        for i in inputs:
            shape = values[i].shape
            if i in row:
                feeds.append((ROW, place[i]))
                shape = row_shape(shape)
            elif i in states:
                feeds.append((STATE, states.index(i)))
            else:
                feeds.append((AUX, aux[i]) if i in aux else (INPUT, place[i]))
            shapes.append(shape)
            real = i in place and "float" in values[i].dtype
            requested.append(requests(i, place[i]) if real else None)
        types = [values[i].dtype for i in inputs]
        return Body(graph, shapes, types, requested, self.ctx, self.names_inside, self.lower, feeds)

    def _build_loop(self, step: Step, values: dict[int, Value]) -> tuple[set[int], set[int]]:
        definition = self.definition
        self.runs = definition.max_runs([v.shape for v in step.in_data])
        self.n_stacked = definition.num_out_data
        row, states = list(definition.sliced_inputs()), list(definition.state_inputs())

        def requests(i: int, k: int) -> str | None:
            if not self.back:
                return None
            if self.blocked or i in states:
                return "write"
            if self.requests[k] == NULL:
                return None
            return "add" if i not in row or self.requests[k] == ADD else "write"

        body = self._build_body(definition.body, values, row, states, requests)
        self.bodies = (body,)
        self.state_inputs = [self.inputs.index(i) for i in states]
        self.arenas = [self.space.place(body.graph.memory.planned)]
        if definition.condition is not None:
            self.condition = self._build_body(
                definition.condition, values, (), states, lambda i, k: None
            )
            self.arenas.append(self.space.place(self.condition.graph.memory.planned))
            self.predicate = self.space.place(8)
        sizes = [nbytes(values[i]) for i in states]
        memory = self.reserve if self.back else self.space
        first = memory.size
        self.saved = memory.place(body.graph.saved) if self.back else 0
        # states are stored behind the saved values of their run, or in two alternating buffers
        self.state_offsets = [
            (memory.place(size), 0) if self.back else (memory.place(size), memory.place(size))
            for size in sizes
        ]
        self.stride = memory.size - first
        if self.back:
            memory.size = first + self.runs * self.stride
            self._reserve_gradient_memory(body, sizes)
        read = {
            index
            for value, (kind, index) in zip(body.variables, body.feeds)
            if kind in (ROW, INPUT) and body.is_read_backward(value)
        }
        read.update(
            self.state_inputs[index]
            for value, (kind, index) in zip(body.variables, body.feeds)
            if kind == STATE and body.is_read_backward(value)
        )
        outputs = body.graph.outputs[: self.n_stacked]
        return read, {i for i, value in enumerate(outputs) if body.is_read_backward(value)}

    def _reserve_gradient_memory(self, body: Body, sizes: list[int]) -> None:
        """Reserve memory for the gradients of states, and for gradients that are computed but not
        used."""
        self.grad_offsets = [(self.space.place(size), self.space.place(size)) for size in sizes]
        self.dumps: list[Any] = [
            self.space.place(nbytes(grad)) if self.blocked and grad is not None else 0
            for grad in body.grads
        ]

    def _build_branches(self, step: Step, values: dict[int, Value]) -> tuple[set[int], set[int]]:
        def requests(i: int, k: int) -> str | None:
            if self.blocked:
                return "write"
            return "add" if self.back and self.requests[k] != NULL else None

        self.condition = self._build_body(0, values, (), (), lambda i, k: None)
        self.arenas = [self.space.place(self.condition.graph.memory.planned)]
        self.predicate = self.space.place(8)
        self.bodies = tuple(self._build_body(n, values, (), (), requests) for n in (1, 2))
        maximum = max(body.graph.memory.planned for body in self.bodies)
        self.arenas += [self.space.place(maximum)] * 2
        self.saved = self.reserve.place(max(body.graph.saved for body in self.bodies))
        read: set[int] = set()
        visible: set[int] = set()
        self.dumps = []
        for body in self.bodies:
            self.dumps.append(
                [
                    self.space.place(nbytes(grad)) if self.blocked and grad is not None else 0
                    for grad in body.grads
                ]
            )
            pairs = zip(body.variables, body.feeds)
            read.update(k for v, (kind, k) in pairs if kind == INPUT and body.is_read_backward(v))
            outputs = enumerate(body.graph.outputs)
            visible.update(i for i, v in outputs if body.is_read_backward(v))
        return read, visible


def subgraph_step(node: Any, inputs: list[Value], outputs: list[Value], ctx: Context) -> Step:
    """Return the forward step of a control flow node."""
    step_prop = SubgraphRunner(node)
    hidden = [
        Value(f"{node.name}_{name}", (1,), "uint8", ctx, TEMP) for name in ("reserve", "space")
    ]
    outs = [*outputs, *hidden]
    return Step(
        node.name,
        step_prop,
        ctx,
        FORWARD,
        [inputs[i] for i in step_prop.inputs],
        outs,
        [inputs[i] for i in step_prop.states],
        [WRITE] * len(outs),
        attrs=node.attrs,
    )


def build_bodies(graph: Graph, names: frozenset[str], lower: Callable[..., Graph]) -> Graph:
    """Build the inner graphs of all control flow steps.

    graph: Behind the gradient pass.
    names: The optional passes that run.
    lower: From a symbol's heads to a Graph (``compile.lower``).
    """
    back = {s.origin: s for s in graph.steps if s.direction == BACKWARD}
    for step in graph.steps:
        if step.direction == FORWARD and isinstance(step.prop, SubgraphRunner):
            step.prop.build_bodies(step, back.get(step), names, lower)
    return graph
