"""Gradient checkpointing: recomputes values for backward instead of keeping them.

The pass finds the step at which the most bytes live, and the values that live across it unused. It
takes the value that frees the most bytes for the least time, ends it at its last use before that
step, and repeats its operator before the next use. Inputs of the repeated operator are still alive,
or are repeated likewise. So a value may be repeated several times, cheap and large ones first; in a
chain of equal steps every second value goes, then every second of those left, as in the scheme of
Chen, Xu, Zhang and Guestrin, "Training deep nets with sublinear memory cost", 2016. If a backward
step itself holds the peak, it is divided where possible: first the gradient of the weight, then
that of the data.

Only forward steps that give the same bytes again are repeated: no random numbers (Dropout keeps its
output and mask), no Python, no operator whose forward changes auxiliary states. So gradients equal
those of the plan without recomputation, bit for bit.

Attributes of nodes: ``force_mirroring='True'`` repeats a node, 'False' keeps its value; if some
nodes have ``mirror_stage``, those are the checkpoints. Without CYNET_BACKWARD_DO_MIRROR only
nodes with ``force_mirroring='True'`` are repeated.
"""

from __future__ import annotations

import bisect
import copy
import heapq
import itertools
from math import inf
from typing import TYPE_CHECKING

from ...base import config
from ..cost import seconds
from ..ir import BACKWARD, FORWARD, NULL, TEMP, WRITE, Step, is_repeatable
from ..memory_plan import find_peak, nbytes

if TYPE_CHECKING:
    from ..ir import Graph, Value

TARGET_SHARE = 0.58  # the pass stops at this share of the bytes without mirroring
MAX_TIME_SHARE = 0.28  # maximum share of recomputation in the plan's time
MAX_IDLE_ROUNDS = 3  # the pass stops after so many rounds without a gain
SHARE_PER_STEP = 0.04  # after this share is freed the peak is searched again


def recompute_values(graph: Graph) -> Graph:
    """Let backward recompute values instead of keeping them in memory.

    graph: With its backward steps.

    Returns Graph: the same graph; repeated steps stand among the backward steps.
    """
    if len(graph.steps) == graph.n_forward:
        return graph
    automatic = config.get("CYNET_BACKWARD_DO_MIRROR")
    marked = [s for s in graph.steps[: graph.n_forward] if _step_attribute(s, "force_mirroring")]
    if automatic or any(_step_attribute(s, "force_mirroring") == "True" for s in marked):
        work = _Recomputation(graph)
        work.recompute_forced_nodes()
        if automatic:
            work.reduce_memory()
    return graph


def _step_attribute(step: Step, name: str) -> str | None:
    return step.attrs.get(f"__{name}__", step.attrs.get(name))


def _temporary_like(value: Value) -> Value:
    """Return a temporary like `value`, for its recomputed copy."""
    new = copy.copy(value)
    new.name, new.kind, new.root = f"{value.name}_again", TEMP, new
    return new


class _Recomputation:  # trades memory for time: computes values again
    """One run of the mirror pass: the steps, and the copies of each value."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.producer = {}  # value of a forward step -> the step
        self.base: dict[Value, Value] = {}  # recomputed value -> its forward value
        self.versions = {}  # forward value -> the list of it and its recomputed copies
        self.clones: set[Step] = set()
        forward = graph.steps[: graph.n_forward]
        stages = any(_step_attribute(step, "mirror_stage") for step in forward)
        self.repeatable = set()
        for step in forward:
            for value in step.out_data:
                self.producer[value] = step
                self.versions[value] = [value]
            if (
                is_repeatable(step)
                and _step_attribute(step, "force_mirroring") != "False"
                and not (stages and _step_attribute(step, "mirror_stage"))
            ):
                self.repeatable.add(step)
        self.list_use_positions()

    def list_use_positions(self) -> None:
        """List the positions at which each value is used; the first one computes it.

        Positions are numbers that grow from step to step; what is put in between gets numbers in
        between, so that others keep theirs.
        """
        self.uses: dict[Value, list[float]] = {}
        self.positions = [float(i) for i in range(len(self.graph.steps))]
        for position, step in zip(self.positions, self.graph.steps):
            self._record_uses(position, step)

    def _record_uses(self, position: float, step: Step) -> None:
        for value in dict.fromkeys(step.touched_values()):
            bisect.insort(self.uses.setdefault(value, []), position)

    def _step_index_at_position(self, position: float) -> int:
        """Return the index, in the list of steps, of the step at `position`."""
        return bisect.bisect_left(self.positions, position)

    def _insert_steps(self, block: list[Step], position: float) -> None:
        """Insert steps in front of the step at `position`."""
        at = self._step_index_at_position(position)
        self.graph.steps[at:at] = block
        before, parts = self.positions[at - 1], len(block) + 1
        made = [before + (position - before) * i / parts for i in range(1, parts)]
        if any(a >= b for a, b in itertools.pairwise((before, *made, position))):
            self.list_use_positions()  # no float is left between two positions
            return
        self.positions[at:at] = made
        for each, step in zip(made, block):
            self._record_uses(each, step)

    def recompute_forced_nodes(self) -> None:
        """Recompute the nodes with the attribute ``force_mirroring='True'``.

        The last comes first: then what it reads lives still, and is repeated before it. In
        the other order each would repeat all that lead to it.
        """
        for step in reversed(self.graph.steps[: self.graph.n_forward]):
            if _step_attribute(step, "force_mirroring") != "True" or step not in self.repeatable:
                continue
            for value in step.out_data:
                position = self._next_use_position(value, self.positions[self.graph.n_forward - 1])
                if value.kind == TEMP and position < inf:
                    self._recompute_value(value, position)

    def reduce_memory(self) -> None:
        """Recompute values until TARGET_SHARE or MAX_TIME_SHARE is reached, or no gain is left."""
        budget = MAX_TIME_SHARE * sum(map(seconds, self.graph.steps))
        maximum, step, roots = find_peak(self.graph)
        at_first, best, saved, failures = maximum, maximum, self._copy_step_lists(), 0
        while maximum > TARGET_SHARE * at_first and failures < MAX_IDLE_ROUNDS:
            spent = self._relieve_peak(step, roots, budget, SHARE_PER_STEP * at_first)
            if spent is None:
                break
            budget -= spent
            maximum, step, roots = find_peak(self.graph)
            failures += 1
            if maximum < best:
                best, saved, failures = maximum, self._copy_step_lists(), 0
        self._restore_steps(saved)

    def _relieve_peak(
        self, peak: Step, roots: dict[Value, Value], budget: float, enough: float
    ) -> float | None:
        """Free `enough` bytes at the step `peak`; returns seconds of recomputation, or None."""
        if self._split_backward(peak):
            return 0.0
        spent, freed = 0.0, 0
        index = self.positions[self.graph.steps.index(peak)]
        candidates = [
            (self._cost_per_byte(v, index), i, v)
            for i, v in enumerate(self._recomputable_values_at(index, roots))
        ]
        heapq.heapify(candidates)
        while candidates and freed < enough:
            _, order, value = heapq.heappop(candidates)
            rank = self._cost_per_byte(value, index)  # the rank depends on earlier recomputations
            if candidates and rank > candidates[0][0]:
                heapq.heappush(candidates, (rank, order, value))
                continue
            position = self._next_use_position(value, index)
            cost = self._recompute_cost(value, position)
            if spent + cost <= budget:
                self._recompute_value(value, position)
                index = self.positions[self.graph.steps.index(peak)]
                freed += nbytes(value)
                spent += cost
        return spent if freed else None

    def _cost_per_byte(self, value: Value, peak: float) -> float:
        """Return the seconds of recomputation per byte to free `value` at position `peak`."""
        position = self._next_use_position(value, peak)
        return (self._recompute_cost(value, position) + self._clone_cost(position)) / nbytes(value)

    def _recomputable_values_at(self, peak: float, roots: dict[Value, Value]) -> list[Value]:
        """Return the values that live at `peak` only for backward and can be recomputed."""
        across: dict[Value, list[Value]] = {}
        backward = self.positions[self.graph.n_forward]
        for value, uses in self.uses.items():
            if value.kind == TEMP and uses[0] <= peak <= uses[-1]:
                across.setdefault(roots.get(value, value), []).append(value)
        idle = [
            value
            for value, *others in across.values()
            if not others
            and self._can_recompute(value)
            and peak not in self.uses[value]
            and self._next_use_position(value, peak) >= backward
            and nbytes(value)
        ]
        return sorted(idle, key=lambda value: self.uses[value][0])

    def _recompute_cost(self, value: Value, position: float) -> float:
        plan: dict[Step, None] = {}
        self._collect_needed_steps(value, position, plan)
        return sum(map(seconds, plan))

    def _can_recompute(self, value: Value) -> bool:
        base = self.base.get(value, value)
        return base in self.producer and self.producer[base] in self.repeatable

    def _next_use_position(self, value: Value, position: float) -> float:
        uses = self.uses.get(value, ())
        return next(iter(uses[bisect.bisect_right(uses, position) :]), inf)

    def _clone_cost(self, position: float) -> float:
        """Return the seconds of steps already recomputed at `position`: all their values live at
        the same time, so a value before them saves less."""
        total, i = 0.0, self._step_index_at_position(position)
        while self.graph.steps[i] in self.clones:
            total += seconds(self.graph.steps[i])
            i += 1
        return total

    def _collect_needed_steps(self, value: Value, position: float, plan: dict[Step, None]) -> None:
        """Add to `plan`, in order, the forward steps that recompute `value` at `position`."""
        stack = [(self.producer[self.base.get(value, value)], False)]
        while stack:
            step, ready = stack.pop()
            if step in plan:
                continue
            if ready:
                plan[step] = None
                continue
            stack.append((step, True))
            for source in step.in_data:
                if self._live_copy_at(source, position) is None:
                    stack.append((self.producer[source], False))

    def _live_copy_at(self, value: Value, position: float) -> Value | None:
        """Return the copy of a value that lives at `position`, or None."""
        if value.kind != TEMP or self.producer.get(value) not in self.repeatable:
            return value
        for version in self.versions[value]:
            uses = self.uses.get(version)
            if uses and uses[0] < position <= uses[-1]:
                return version
        return None

    def _recompute_value(self, value: Value, position: float) -> None:
        """Recompute `value` before the step at `position`, for that step and later steps."""
        plan: dict[Step, None] = {}
        made: dict[Value, Value] = {}
        self._collect_needed_steps(value, position, plan)
        block = []
        for step in plan:
            outs = [_temporary_like(value) for value in step.out_data]
            ins = [made.get(v) or self._live_copy_at(v, position) for v in step.in_data]
            clone = Step(
                step.name, step.prop, step.ctx, FORWARD, ins, outs, step.aux, [WRITE] * len(outs)
            )
            block.append(clone)
            self.clones.add(clone)
            for old, new in zip(step.out_data, outs):
                made[old] = new
                self.base[new] = old
                self.versions[old].append(new)
        new = made[self.base.get(value, value)]
        uses = self.uses[value]
        first = bisect.bisect_left(uses, position)
        uses[first:], self.uses[new] = [], uses[first:]
        for step in [self.graph.steps[self._step_index_at_position(p)] for p in self.uses[new]]:
            step.in_data = [new if v is value else v for v in step.in_data]
            if step.direction == BACKWARD:
                step.out_data = [new if v is value else v for v in step.out_data]
        self._insert_steps(block, position)

    def _split_backward(self, step: Step) -> bool:
        """Split a backward step into those of data and weight gradients; False if impossible."""
        written = [i for i, _ in step.written()]
        if step.direction != BACKWARD or not step.prop.graph.traits.linear_in_weight:
            return False
        if 0 not in written or 1 not in written:
            return False
        halves = []
        for positions, reads in (((1, 2), 0), ((0,), 1)):
            half = Step(
                step.name,
                step.prop,
                step.ctx,
                BACKWARD,
                [v if i == reads else None for i, v in enumerate(step.in_data)],
                step.out_data,
                step.aux,
                [r if i in positions else NULL for i, r in enumerate(step.req)],
                step.out_grad,
                [v if i in positions else None for i, v in enumerate(step.in_grad)],
                origin=step.origin,
            )
            halves.append(half)
        position = self.graph.steps.index(step)
        self.graph.steps[position : position + 1] = halves
        self.list_use_positions()
        return True

    def _copy_step_lists(self) -> list[tuple[Step, list[Value], list[Value]]]:
        return [(s, list(s.in_data), list(s.out_data)) for s in self.graph.steps]

    def _restore_steps(self, saved: list[tuple[Step, list[Value], list[Value]]]) -> None:
        for step, in_data, out_data in saved:
            step.in_data, step.out_data = in_data, out_data
        self.graph.steps[:] = [step for step, _, _ in saved]
