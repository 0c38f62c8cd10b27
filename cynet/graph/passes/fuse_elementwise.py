"""The chain pass: fuses elementwise steps into one step.

Separate steps read and write whole arrays. A chain runs all its loops over one block of some
hundred elements, then over the next block: values that only pass between its members stay in the
first-level cache and need no place in the memory plan. The results are the same, bit for bit.
Members are

- steps whose property lists its loops (`forward_loops`, `backward_loops`): functions of one or more
  arrays, of an array and a number, Activation, sums, and their gradients; an operand may be
  broadcast along the leading or the trailing axes;
- steps that convert integers of 8 bits to floats or back: the loops between them read and write
  bytes;
- steps that split or join arrays by rows (`moved_parts`): the loops then read or write the rows in
  place.

What is sooner computed than read (`Traits.sooner_computed`: floats of bytes) is computed by each
elementwise step that reads it, in a loop of its chain.

The pass runs after all passes that look at single operators; forward and backward are separate.
Steps are fused if they use a common value and no path through other steps leads from one to the
other. A chain runs at the place of its last member.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from ...base.errors import CynetError
from ...operator.property import ResourceRequest
from ..ir import FORWARD, Graph
from ..memory_plan import find_peak
from .fuse_elementwise_members import chain_member_of, copy_steps_into_readers
from .fuse_elementwise_program import build_chain_step

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from ..ir import Step, Value
    from .fuse_elementwise_members import ChainMember

MAX_STEPS = 256  # steps from a chain's first member to its last
PEAK_GROWTH_BYTES = 1 << 18  # by which chains may raise the peak of memory


def fuse_chains(graph: Graph) -> Graph:
    """Fuse elementwise steps of `graph` into chains.

    graph: With its backward steps, if any.

    Returns Graph: the same graph with fewer steps. Chains that would make the peak of memory
    higher, by more than PEAK_GROWTH_BYTES, are left apart.
    """
    copies = copy_steps_into_readers(graph)
    touching = _steps_by_root(graph.steps)
    sections = [
        _StepGroups(steps, copies).build_groups()
        for steps in (graph.steps[: graph.n_forward], graph.steps[graph.n_forward :])
    ]
    if all(len(group) == 1 for groups in sections for group in groups):
        return graph
    apart: set[Step] = set()
    maximum, dropped = None, 1
    while True:
        forward, backward = (
            [step for group in groups for step in _fused_steps_of_group(group, touching, apart)]
            for groups in sections
        )
        trial = Graph([*forward, *backward], {}, {}, [])
        trial.n_forward = len(forward)
        chains = [(i, step) for i, step in enumerate(trial.steps) if step.members]
        if not chains:
            return graph
        if maximum is None:
            maximum = find_peak(graph)[0] + PEAK_GROWTH_BYTES
        peak, step, _ = find_peak(trial)
        if peak <= maximum:
            graph.steps, graph.n_forward = trial.steps, trial.n_forward
            return graph
        at = trial.steps.index(step)
        chains.sort(key=lambda each: abs(each[0] - at))
        apart.update(member for _, each in chains[:dropped] for member in each.members)
        dropped *= 2


def _steps_by_root(steps: list[Step]) -> dict[Value, set[Step]]:
    """Return a dict of root -> the set of steps that read or write a value in its memory."""
    found: dict[Value, set[Step]] = {}
    for step in steps:
        for value in (*step.read(), *(v for _, v in step.written()), *step.aux):
            found.setdefault(value.root, set()).add(step)
    return found


def _fused_steps_of_group(
    group: list[ChainMember], touching: dict[Value, set[Step]], apart: set[Step]
) -> list[Step]:
    """Return the steps that replace a group: one fused step, or the group's own steps."""
    steps = [member.step for member in group]
    if len(group) == 1 or not apart.isdisjoint(steps):
        return steps
    step = build_chain_step(group, touching)
    return steps if step is None else [step]


class _StepGroups:  # which steps become one fused chain
    """The groups of steps in one section of the graph.

    A group goes by the position of its first step. `above` has, for each group, the set of groups
    that must run before it, as bits: bit k of group i is group ``i - MAX_STEPS + k``. What lies
    further back can join nothing any more.
    """

    def __init__(self, steps: list[Step], copies: Container[Step]) -> None:
        self.members = [chain_member_of(step) for step in steps]
        self.copies = [step in copies for step in steps]  # True: a copy made for one reader
        self.before = _step_dependencies(steps)
        self.parent = list(range(len(steps)))
        self.groups: list[int] = []  # the groups of the steps so far, in order
        self.together = [[i] for i in range(len(steps))]
        self.above = [0] * len(steps)

    def build_groups(self) -> list[list[ChainMember]]:
        """Return the groups, lists of Members, in an order in which they may run."""
        users: dict[Value, list[int]] = {}  # root -> indices of the members that access it
        for i, member in enumerate(self.members):
            self.groups.append(i)
            for group in {self._find_group(j) for j in self.before[i]}:
                self.above[i] |= _shift_bits(self.above[group] | 1 << MAX_STEPS, group - i)
            if not member.joins:
                continue
            near = set()
            for root in member.dense:
                known = users.setdefault(root, [])
                near.update(known[bisect_right(known, i - MAX_STEPS) :])
                known.append(i)
            if self.copies[i]:
                continue
            apart: set[int] = set()  # groups that cannot be merged with the group of `i`
            for j in sorted(near, reverse=True):
                a, b = self._find_group(j), self._find_group(i)
                if a == b or a in apart:
                    continue
                if self._can_merge_groups(a, b, i):
                    self._merge_groups(min(a, b), max(a, b))
                    apart.clear()
                else:
                    apart.add(a)
        return [[self.members[i] for i in group] for group in self._groups_in_run_order()]

    def _find_group(self, i: int) -> int:
        while self.parent[i] != i:
            self.parent[i] = i = self.parent[self.parent[i]]
        return i

    def _can_merge_groups(self, a: int, b: int, now: int) -> bool:
        """Return whether groups `a` and `b` can be merged."""
        return (
            now - min(a, b) < MAX_STEPS
            and self.members[a].group.can_merge_with(self.members[b].group)
            and not self._has_path(a, b)
            and not self._has_path(b, a)
        )

    def _has_path(self, a: int, b: int) -> bool:
        """Return whether a path leads from `a` to `b` through another group."""
        outside = {self._find_group(j) for i in self.together[b] for j in self.before[i]} - {a, b}
        return any(_shift_bits(self.above[group], group - a) >> MAX_STEPS & 1 for group in outside)

    def _merge_groups(self, a: int, b: int) -> None:
        self.parent[b] = a
        del self.groups[bisect_left(self.groups, b)]
        self.together[a] = sorted(self.together[a] + self.together[b])
        self.members[a].group.absorb(self.members[b].group)
        both = 1 << MAX_STEPS | 1 << MAX_STEPS + b - a
        above = (self.above[a] | _shift_bits(self.above[b], b - a)) & ~both
        self.above[a] = above
        above |= 1 << MAX_STEPS
        # a group that starts before `a` may depend on `a`, through a later step
        for i in self.groups[bisect_left(self.groups, a - MAX_STEPS) :]:
            if self.above[i] & _shift_bits(both, a - i):
                self.above[i] |= _shift_bits(above, a - i)
        # dependencies on `b` use its old index, which now means the merged group

    def _groups_in_run_order(self) -> Iterator[list[int]]:
        """Yield the groups so that each follows its dependencies."""
        after: dict[int, list[int]] = {}
        missing = {}
        for group, parent in enumerate(self.parent):
            if group != parent:
                continue
            needs = {self._find_group(j) for i in self.together[group] for j in self.before[i]}
            needs.discard(group)
            missing[group] = len(needs)
            for need in needs:
                after.setdefault(need, []).append(group)
        ready = [(self.together[g][-1], g) for g, n in missing.items() if not n]
        heapq.heapify(ready)
        left = len(missing)
        while ready:
            _, group = heapq.heappop(ready)
            left -= 1
            yield self.together[group]
            for later in after.get(group, ()):
                missing[later] -= 1
                if not missing[later]:
                    heapq.heappush(ready, (self.together[later][-1], later))
        if left:
            raise CynetError(f"chain: {left} groups of steps wait for one another")


def _shift_bits(bits: int, by: int) -> int:
    """Shift a bit set of groups to the numbering of a group `by` positions earlier."""
    return bits << by if by > 0 else bits >> -by


def _step_dependencies(steps: list[Step]) -> list[set[int]]:
    """Return for each step the indices of the steps that must run before it."""
    before: list[set[int]] = [set() for _ in steps]
    written: dict[Value, int] = {}
    reads: dict[Value, list[int]] = {}
    effect = None
    for i, step in enumerate(steps):
        targets = {v.root for v in (*(v for _, v in step.written()), *step.aux)}
        for root in {v.root for v in step.read()} | targets:
            if root in written:
                before[i].add(written[root])
        for root in targets:
            before[i].update(reads.pop(root, ()))
            written[root] = i
        for value in step.read():
            reads.setdefault(value.root, []).append(i)
        # steps with effects keep their order: random streams are counted along it
        if _has_side_effects(step):
            if effect is not None:
                before[i].add(effect)
            effect = i
        before[i].discard(i)
    return before


def _has_side_effects(step: Step) -> bool:
    """Return whether a step draws random numbers or may have other side effects."""
    shapes = [v.shape for v in (step.origin or step).in_data]
    ask = step.prop.forward_resource if step.direction == FORWARD else step.prop.backward_resource
    return not step.prop.pure or ResourceRequest.random in ask(shapes)
