"""Epilogue fusion: a step that is the only reader of another step's output is computed inside that
step.

Each of FUSION_RULES tests the properties of two consecutive steps and fuses them.
`GraphHooks.epilogue` gives the property of the fused step, or None. No other step and no user may
read the value between the two.

- fuse: an activation inside the layer or the norm before it; a sum and relu inside the later
  norm of those that give its terms. Before the gradient pass, so that the backward of the joined
  step is its operator's own.
- sum: at prediction, a sum inside a layer that gives one of its terms, which adds to the memory of
  the other term. In training a gradient mostly waits for that term.
- mask: in backward, the gradient of a relu that was fused into a layer, inside the step that makes
  what it is applied to: that one has the relu's output at hand, as its data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...operator.graph_hooks import ACTIVATION, GRAD_MASK, GRAD_MASKED, RESIDUAL, SUM
from ..ir import ADD, BACKWARD, OUTPUT, TEMP, WRITE

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...operator.property import OperatorProperty
    from ..ir import Graph, Step, Value


class FusionRule(NamedTuple):  # which two steps to fuse, and how
    """A fusion rule: its pass, tests of the properties of the first and of the following step, and
    the function that fuses them."""

    name: str
    producer: Callable[[OperatorProperty], bool]
    consumer: Callable[[OperatorProperty], bool]
    join: Callable[..., None]


def fuse_activations(graph: Graph) -> Graph:
    """Fuse activations, and sums followed by a relu, into the steps before them. `graph` has
    forward steps only, after the layout pass."""
    return _Fusion(graph, "fuse").run()


def fuse_sums(graph: Graph) -> Graph:
    """Fuse sums into layers in front of them. `graph` has forward steps only, for prediction. The
    term that a layer adds to is written more than once."""
    return _Fusion(graph, "sum").run()


def fuse_masks(graph: Graph) -> Graph:
    """Fuse gradients of fused relus into the steps before them. `graph` has all steps."""
    touching: dict[Value, list[Step]] = {}  # value -> the steps that read or write it
    for step in graph.steps:
        for value in dict.fromkeys(step.touched_values()):
            touching.setdefault(value, []).append(step)
    rules = _rules_named("mask")
    for step in graph.steps[graph.n_forward :]:
        if step.direction == BACKWARD and step.out_grad and step.out_grad[0] is not None:
            value = step.out_grad[0]
            if value.kind == TEMP and len(touching[value]) == 2:
                before, behind = touching[value]
                for rule in rules:
                    if behind is step and rule.producer(before.prop) and rule.consumer(step.prop):
                        rule.join(graph, before, step)
    return graph


class _Fusion:  # one pass that fuses activations or sums into layers
    """One pass over the forward steps with the rules of a name."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph = graph
        self.rules = _rules_named(name)
        self.readers, self.writer = graph.readers_and_writers()
        self.position = {step: i for i, step in enumerate(graph.steps)}
        self.gone: set[Step] = set()

    def run(self) -> Graph:
        for step in self.graph.steps:
            for rule in self.rules:
                if step in self.gone or not rule.consumer(step.prop):
                    continue
                before = self.writer.get(step.in_data[0])
                if rule.producer is _is_any or (before is not None and rule.producer(before.prop)):
                    rule.join(self, before, step)
        left = [step for step in self.graph.steps if step not in self.gone]
        self.graph.set_forward_steps(sorted(left, key=self.position.__getitem__))
        return self.graph

    def fuse_activation(self, before: Step | None, step: Step) -> None:
        """Fuse an activation into the layer or norm before it."""
        if before is not None and self._is_only_reader(before, step):
            joined = _call_epilogue_hook(self.graph, before, ACTIVATION, step.prop)
            if joined is not None:
                self._join_steps(before, joined, step)

    def fuse_residual(self, add: Step, step: Step) -> None:
        """Fuse a sum and its activation into the norm that computes its later term."""
        if not self._is_only_reader(add, step):
            return
        norms = []
        for value, other in (add.in_data, add.in_data[::-1]):
            norm = self.writer.get(value)
            if norm is None or self._only_reader(value) is not add or value is other:
                continue
            if norm.out_data[0] is value and norm.ctx == add.ctx:
                norms.append((self.position[norm], norm, other))
        for _, norm, other in sorted(norms, key=lambda each: -each[0]):
            joined = _call_epilogue_hook(self.graph, norm, RESIDUAL, step.prop)
            if joined is None or norm.out_data[0].channels_last != other.channels_last:
                continue
            norm.in_data.append(other)
            # the fused step runs after the other term
            self.position[norm] = self.position[add]
            self.gone.add(add)
            self._join_steps(norm, joined, step)
            return

    def fuse_sum(self, _: Step | None, add: Step) -> None:
        """Fuse a sum, and an activation after it, into the layer that computes its later term."""
        found = []
        for value, other in (add.in_data, add.in_data[::-1]):
            layer = self.writer.get(value)
            if layer is not None and self._may_accumulate(layer, value, other, add):
                found.append((self.position[layer], layer, other))
        if found:
            layer, other = max(found, key=lambda each: each[0])[1:]
            self._accumulate_into(layer, other, add)

    def _only_reader(self, value: Value) -> Step | None:
        """Return the only reader of `value`; None if there are several or the user reads it."""
        readers = self.readers.get(value, ())
        return readers[0] if len(readers) == 1 and value.kind != OUTPUT else None

    def _is_only_reader(self, before: Step, step: Step) -> bool:
        """Return whether only `step` reads output 0 of `before`, on the same device."""
        value = step.in_data[0]
        return (
            self._only_reader(value) is step
            and before.ctx == step.ctx
            and before.out_data[0] is value
        )

    def _join_steps(self, step: Step, prop: OperatorProperty, follower: Step) -> None:
        step.prop = prop
        step.out_data[0] = follower.out_data[0]
        self.writer[step.out_data[0]] = step
        self.gone.add(follower)

    def _may_accumulate(self, layer: Step, value: Value, other: Value, add: Step) -> bool:
        """Return whether `layer`, instead of `add`, may add its output `value` to `other`."""
        out, at = add.out_data[0], self.position[layer]
        if _call_epilogue_hook(self.graph, layer, SUM) is None:
            return False
        if layer.req[0] != WRITE or value.kind != TEMP or self.readers[value] != [add]:
            return False
        if any(self.position[self.writer[v]] > at for v in layer.in_data if v in self.writer):
            return False  # an input is written before the sum
        made = self.writer.get(other)
        return (
            out.kind == other.kind == TEMP
            and out.channels_last == other.channels_last == value.channels_last
            and layer.ctx == add.ctx == other.ctx
            and made is not None
            and not made.prop.graph.traits.view  # a view may use memory that is read elsewhere
            and all(  # the last reader first: most often it decides
                each is not layer and self.position[each] < self.position[add]
                for each in reversed(self.readers[other])
                if each is not add
            )
        )

    def _accumulate_into(self, layer: Step, target: Value, add: Step) -> None:
        """Let `layer` add to `target` and apply the activation after the sum, if there is one."""
        out, joined = add.out_data[0], None
        behind = self.readers.get(out, [])
        if len(behind) == 1 and self._can_apply_after_sum(behind[0], add):
            joined = _call_epilogue_hook(self.graph, layer, SUM, behind[0].prop)
        if joined is None:
            joined = _call_epilogue_hook(self.graph, layer, SUM)
        else:
            out = behind[0].out_data[0]
            self.gone.add(behind[0])
        self.gone.add(add)
        layer.prop, layer.out_data[0], layer.req[0] = joined, target, ADD
        self.position[layer] = self.position[add]
        self.writer[target] = layer
        for step in self.readers.get(out, ()):
            step.in_data = [target if v is out else v for v in step.in_data]
        # steps that read `target` before the sum still read the value before the addition
        self.readers[target] = self.readers.get(out, [])

    def _can_apply_after_sum(self, step: Step, add: Step) -> bool:
        return (
            _is_activation(step.prop)
            and step.ctx == add.ctx
            and step.out_data[0].kind != OUTPUT
            and step not in self.gone
        )


def _fuse_relu_grad(graph: Graph, before: Step, step: Step) -> None:
    """Let the step `before` apply the relu mask of `step` to the gradient that `step` reads."""
    if before.direction != BACKWARD or before.origin is None or step.origin is None:
        return
    if before.in_grad[0] is not step.out_grad[0]:
        return
    if before.req[0] != WRITE or before.in_data[0] is not step.out_data[0]:
        return
    if before.ctx != step.ctx:
        return
    masks = _call_epilogue_hook(graph, before.origin, GRAD_MASK)
    masked = _call_epilogue_hook(graph, step.origin, GRAD_MASKED)
    if masks is None or masked is None:
        return
    before.prop = before.origin.prop = masks
    step.prop = step.origin.prop = masked
    step.out_data[0] = None  # type: ignore[call-overload] # None: backward does not need it


def _call_epilogue_hook(graph: Graph, step: Step, kind: str, activation: Any = None) -> Any:
    """Call a forward step's epilogue hook; `activation`: property of the activation after it."""
    act_type = None if activation is None else activation.graph.activation(activation)
    return graph.call_hook("epilogue", step, kind, act_type)


def _is_any(prop: OperatorProperty) -> bool:
    return True


def _is_sum_of_two(prop: OperatorProperty) -> bool:
    return prop.graph.traits.adds_two


def _is_activation(prop: OperatorProperty) -> bool:
    return prop.graph.activation(prop) is not None


def _is_layer(prop: OperatorProperty) -> bool:
    return prop.graph.traits.linear_in_weight


FUSION_RULES = (  # pass, first step, second step, fusing function
    FusionRule("fuse", _is_any, _is_activation, _Fusion.fuse_activation),
    FusionRule("fuse", _is_sum_of_two, _is_activation, _Fusion.fuse_residual),
    FusionRule("sum", _is_any, _is_sum_of_two, _Fusion.fuse_sum),
    FusionRule("mask", _is_layer, _is_layer, _fuse_relu_grad),
)


def _rules_named(name: str) -> list[FusionRule]:
    return [rule for rule in FUSION_RULES if rule.name == name]
