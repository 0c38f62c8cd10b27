"""The gradient pass: appends backward steps to a forward Graph.

It visits the steps from last to first. The first step that contributes to a gradient writes it, the
others add to it (OpReq add), so neither sum operators nor memory for the terms are needed.
Operators that ignore requests (not `honours_req`, as users write them) write to a temporary if
theirs is to be added or is not wanted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, shown
from ..operator import get_operator
from .from_symbol import copying_step
from .ir import ADD, BACKWARD, FORWARD, GRAD, HEAD, NULL, TEMP, WRITE, Step, Value

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from .ir import Graph

REQUEST_CODES = {"null": NULL, "write": WRITE, "add": ADD, "inplace": WRITE}  # grad_req -> code


def gradient(graph: Graph, grad_req: Mapping[str, str], apart: bool = False) -> Graph:
    """Append to `graph` the backward steps that compute the requested gradients.

    graph: Forward steps only.
    grad_req: Argument name to ``'null'``, ``'write'`` or ``'add'``.
    apart: For monitors of all steps: each step writes values of its own, which are summed
        afterwards, and also gradients that are not requested.

    Returns Graph: the same graph; `grads` has a Value for every argument not ``'null'``, `heads`
    one for every output whose gradient backward needs to be given.
    """
    for name, req in grad_req.items():
        if req not in REQUEST_CODES:
            raise ArgumentError(
                f"grad_req of argument '{name}' is {shown(req)}; expected 'null', 'write' or 'add'"
            )
    return _GradientPass(graph, grad_req, apart).run()


class _GradientPass:  # adds the backward steps to one graph
    """The state of one run of the gradient pass."""

    def __init__(self, graph: Graph, grad_req: Mapping[str, str], apart: bool) -> None:
        self.graph = graph
        self.apart = apart
        self.steps: list[Step] = []
        self.grad: dict[Value, Value] = {}  # forward Value -> Value of its gradient
        self.begun: set[Value] = set()  # gradients that a step has written
        # forward Step -> `indices_read_by_backward` of it
        self.read: dict[Step, set[int]] = {}
        self.heads: dict[Value, int] = {}  # output -> its first index
        self.wanted: dict[Value, int] = {}  # argument Value -> req
        for name, value in graph.args.items():
            req = REQUEST_CODES[grad_req.get(name, "null")]
            if req != NULL:
                self.wanted[value] = req
                self.grad[value] = Value(f"{name}_grad", value.shape, value.dtype, value.ctx, GRAD)
                graph.grads[name] = self.grad[value]
                if req == ADD:
                    self.begun.add(value)

    def run(self) -> Graph:
        forward = list(self.graph.steps)
        needed = self._values_that_need_gradients(forward)
        for index, value in enumerate(self.graph.outputs):
            self.heads.setdefault(value, index)
        for step in reversed(forward):
            self._add_backward_step(step, needed)
        self._zero_missing_gradients()
        self.graph.steps.extend(self.steps)
        return self.graph

    def _values_that_need_gradients(self, forward: list[Step]) -> set[Value]:
        """Return the values whose gradients contribute to a requested gradient. Outputs of a loss
        do not count: no backward reads their gradient, so that an output computed from a loss (its
        reshape) needs no gradient from outside."""
        needed = set(self.wanted)
        for step in forward:
            if step.prop.differentiable and any(v in needed for v in _inputs_with_grads(step)):
                read = indices_read_by_backward(step, len(step.out_data), len(step.in_data))
                self.read[step] = read
                needed.update(v for i, v in enumerate(step.out_data) if i in read)
        return needed

    def _add_backward_step(self, step: Step, needed: Container[Value]) -> None:
        """Append `step`'s backward if it contributes to a requested gradient and gets a gradient,
        or if it updates states: a BatchNorm before a BlockGrad updates its statistics, as in
        MXNet."""
        if not step.prop.differentiable or not any(v in needed for v in _inputs_with_grads(step)):
            return
        n_out, n_in = len(step.out_data), len(step.in_data)
        traits, visible = step.prop.graph.traits, step.prop.num_visible_outputs()
        used = self.read[step]
        takes_grad = [i for i in range(visible) if i in used]
        blocked = takes_grad and not any(self._has_gradient(step.out_data[i]) for i in takes_grad)
        moves = step.aux and not (traits.moves_states and step.prop.honours_req)
        if blocked and not moves:
            return
        out_grad = [
            self._gradient_of(v) if i < visible and i in used else None
            for i, v in enumerate(step.out_data)
        ]
        in_data = [v if n_out + i in used else None for i, v in enumerate(step.in_data)]
        out_data = [v if n_out + n_in + i in used else None for i, v in enumerate(step.out_data)]
        in_grad: list[Value | None] = []
        req, late = [], []
        begun_here: set[Value] = set()
        for i, value in enumerate(step.in_data):
            if blocked or i in traits.shape_only or value not in needed:
                there = not step.prop.honours_req or (
                    self.apart and not blocked and i not in traits.shape_only
                )
                in_grad.append(_make_partial_grad(value, i) if there else None)
                req.append(WRITE if there else NULL)
                continue
            target = self._gradient_target(value)
            begun = value in self.begun
            # If a step has an input twice, the parts of its gradient must not share memory.
            if self.apart or target in begun_here or (begun and not step.prop.honours_req):
                part = _make_partial_grad(value, i)
                in_grad.append(part)
                req.append(WRITE)
                late.append(copying_step(part, target, ADD if begun else WRITE))
                self.begun.add(value)
                continue
            in_grad.append(target)
            begun_here.add(target)
            req.append(ADD if value in self.begun else WRITE)
            self.begun.add(value)
        self.steps.append(
            Step(
                step.name,
                step.prop,
                step.ctx,
                BACKWARD,
                in_data,
                out_data,
                step.aux,
                req,
                out_grad,
                in_grad,
                origin=step,
            )
        )
        self.steps.extend(late)

    def _has_gradient(self, value: Value) -> bool:
        """Return whether `value` gets a gradient, from a later step or from the user."""
        return value in self.begun or value in self.heads

    def _gradient_target(self, value: Value) -> Value:
        if value not in self.grad:
            self.grad[value] = Value(
                f"{value.name}_grad", value.shape, value.dtype, value.ctx, TEMP, value.channels_last
            )
            # the value is also an output: the user's gradient is a part of the sum
            if value in self.heads:
                self.steps.append(copying_step(self._head_gradient(value), self.grad[value], WRITE))
                self.begun.add(value)
        return self.grad[value]

    def _head_gradient(self, value: Value) -> Value:
        index = self.heads[value]
        head = self.graph.heads[index]
        if head is None:
            head = self.graph.heads[index] = Value(
                f"{value.name}_head_grad", value.shape, value.dtype, value.ctx, HEAD
            )
        return head

    def _gradient_of(self, value: Value) -> Value:
        """Return the complete gradient of `value`, for a backward step to read."""
        if value in self.begun:
            return self.grad[value]
        if value in self.heads:
            return self._head_gradient(value)
        zero = Value(
            f"{value.name}_grad", value.shape, value.dtype, value.ctx, TEMP, value.channels_last
        )
        self.steps.append(_make_zero_step(zero))
        return zero

    def _zero_missing_gradients(self) -> None:
        """Finish gradients of arguments that are outputs, and zero those without contributions."""
        for value in self.wanted:
            if value not in self.begun:
                self.steps.append(_make_zero_step(self.grad[value]))


def indices_read_by_backward(step: Any, n_out: int, n_in: int) -> set[int]:
    """Return the indices that backward reads, among output gradients, inputs, outputs in order."""
    ids = list(range(2 * n_out + n_in))
    used = set(
        step.prop.declare_backward_dependency(
            ids[:n_out], ids[n_out : n_out + n_in], ids[n_out + n_in :]
        )
    )
    if not used <= set(ids):
        raise ArgumentError(
            f"operator {step.prop.op_name} ({step.name}): declare_backward_dependency returned "
            f"{sorted(used - set(ids), key=str)}, expected some of the ids it was given"
        )
    return used


def _make_partial_grad(value: Value, i: int) -> Value:
    """Return a temporary for a contribution to the gradient of `value`, from input `i`."""
    name = f"{value.name}_grad_part{i}"
    return Value(name, value.shape, value.dtype, value.ctx, TEMP, value.channels_last)


def _inputs_with_grads(step: Step) -> list[Value]:
    """Return the inputs of a step that have gradients."""
    return [v for i, v in enumerate(step.in_data) if i not in step.prop.graph.traits.shape_only]


def _make_zero_step(value: Value) -> Step:
    prop = get_operator("_zeros").prop(shape=value.shape, dtype=value.dtype)
    return Step(f"{value.name}_zero", prop, value.ctx, FORWARD, [], [value], [], [WRITE])
