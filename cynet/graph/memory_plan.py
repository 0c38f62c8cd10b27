"""The memory pass: values share memory where possible, and every temporary gets an offset in one
arena.

Three means, in this order (the first two of them are the strategies of Chen et al., "MXNet: A
Flexible and Efficient Machine Learning Library for Heterogeneous Distributed Systems", 2015,
section 3.1):

- views: an operator that only changes the shape (Flatten, Reshape) is not run, its output is its
  input; nor does backward copy the gradient of a sum to its terms;
- in place: an output takes the memory of an input nobody reads afterwards, where the operator
  allows it; what becomes an output of the graph is made in that output's array;
- sharing: values that do not live at the same time overlap in the arena. Offsets are found by size:
  the largest value first, each at the lowest place that is free while it lives (Pisarchyk and Lee,
  "Efficient Memory Management for Deep Neural Net Inference", 2020, section 5). Where that leaves
  holes, other orders are tried too.

The value whose memory others share, as views or in place, is their root.
"""

from __future__ import annotations

import copy
import itertools
from bisect import bisect_left, bisect_right
from collections import Counter
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.dtype import ITEMSIZES
from .arena_packing import pack_values
from .ir import ADD, BACKWARD, FORWARD, INPLACE, NULL, OUTPUT, SAVED, TEMP, WRITE, Graph, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from .ir import Step

    Lifetimes = dict[Value, tuple[int, int]]  # root -> its first and last step

ALIGNMENT_BYTES = 64  # offsets in the arena are multiples of it


class MemoryReport(NamedTuple):  # bytes that an executor needs
    """The bytes of the temporaries of a Graph.

    planned : int
        The arena's size.
    unplanned : int The bytes without in-place outputs and shared memory.
    live : int The maximum that lives at one step: a lower bound of `planned`.
    cached : int
        Bytes of values of kind ``cached``, which live between runs.
    """

    planned: int
    unplanned: int
    live: int
    cached: int = 0


def nbytes(value: Value) -> int:
    """Return the bytes of a value's elements."""
    size: int = prod(value.shape) * ITEMSIZES[value.dtype]
    return size


def make_views(graph: Graph) -> Graph:
    """Turn values with the same bytes as another value into views of it.

    graph: With its backward steps, if any.

    Returns Graph: the same graph: steps that became views are gone. What steps touch that may run
    Python stays apart, since they may run beside others.
    """
    fixed = {value for step in graph.steps if not step.prop.pure for value in step.touched_values()}
    _turn_steps_into_views(graph, _LifetimeIndex(graph.steps), fixed)
    return graph


def plan_memory(
    graph: Graph,
    inplace: bool = True,
    share: bool = True,
    keep: Iterable[Step] = (),
    saved: bool = False,
) -> Graph:
    """Give every temporary of `graph` a root and an offset in the arena.

    graph: With its backward steps, if any.
    inplace, share: False switches off in-place outputs, or shared memory (for debugging). keep:
    Steps whose values must not share memory with others (Python operators, which may run beside
    them). saved: What backward reads of forward becomes of kind ``saved``, with offsets in memory
    of its own, ``graph.saved`` bytes: the graph runs forward several times before it runs back.

    Returns Graph: the same graph: `memory` is a MemoryReport.
    """
    unplanned = sum(aligned_size(nbytes(v)) for v in _touched_values(graph.steps) if v.kind == TEMP)
    fixed = {v for step in keep for v in (*step.read(), *(w for _, w in step.written()))}
    if inplace:
        _share_inplace(graph, _LifetimeIndex(graph.steps), fixed)
    spans = _lifetimes(graph, {v.root for v in fixed} if share else None)
    if saved:
        graph.saved = _assign_saved_offsets(graph, spans)
    cached_bytes = sum(aligned_size(nbytes(v)) for v in graph.cached_values())
    live = _max_live_bytes(spans)[0]
    graph.memory = MemoryReport(_assign_offsets(spans), unplanned, live, cached_bytes)
    return graph


def find_peak(graph: Graph) -> tuple[int, Step, dict[Value, Value]]:
    """Return the step at which most bytes will be alive, without changing the graph.

    Returns (int, Step, dict): the bytes, the step, and the root of each value that will live in
    another's memory.
    """
    trial = Graph([copy.copy(step) for step in graph.steps], {}, {}, [])
    trial.n_forward = graph.n_forward
    original = dict(zip(trial.steps, graph.steps))
    for step in trial.steps:
        step.req, step.in_grad = list(step.req), list(step.in_grad)
    lives = _LifetimeIndex(trial.steps)
    before = {v: root for root, values in lives.members.items() for v in values}
    _turn_steps_into_views(trial, lives, ())
    _share_inplace(trial, lives, ())
    maximum, index = _max_live_bytes(_lifetimes(trial, ()))
    roots = {value: root for root, values in lives.members.items() for value in values}
    for value in roots:
        value.root = before.get(value, value)
    return maximum, original[trial.steps[index]], roots


def aligned_size(size: int) -> int:
    """Round a size up to the next offset at which a value may begin."""
    return (size + ALIGNMENT_BYTES - 1) // ALIGNMENT_BYTES * ALIGNMENT_BYTES


def _touched_values(steps: Iterable[Step]) -> dict[Value, None]:
    """Return the values that steps read or write, each once, in order of first use."""
    return dict.fromkeys(value for step in steps for value in step.touched_values())


class _IntervalSet:  # of step indices
    """A set of step indices as intervals (first, last); adjacent intervals are merged."""

    def __init__(self) -> None:
        self.firsts: list[int] = []
        self.lasts: list[int] = []

    def add(self, first: int, last: int) -> None:
        """Add an interval of steps to the set."""
        i, j = bisect_left(self.lasts, first), bisect_right(self.firsts, last)
        if i < j:
            first, last = min(first, self.firsts[i]), max(last, self.lasts[j - 1])
        self.firsts[i:j], self.lasts[i:j] = [first], [last]

    def intersects(self, first: int, last: int) -> bool:
        """Return whether the set contains a step of the interval."""
        i = bisect_left(self.lasts, first)
        return i < len(self.lasts) and self.firsts[i] <= last


class _LifetimeIndex:  # first and last step of each value
    """The first and last step of each root, updated when values are merged."""

    def __init__(self, steps: list[Step]) -> None:
        self.members: dict[Value, list[Value]] = {}  # root -> the other values in its memory
        for value in _touched_values(steps):
            if value.root is not value:
                self.members.setdefault(value.root, []).append(value)
        self.assign_step_numbers(steps)

    def assign_step_numbers(self, steps: list[Step]) -> None:
        """Number the steps again; a root lives as long as the values in its memory."""
        self.first: dict[Value, int] = {}
        self.own_last: dict[Value, int] = {}
        self.adds: dict[Value, tuple[int, int]] = {}
        # root -> `_use_intervals_of` it, computed at first use
        self.times: dict[Value, tuple[_IntervalSet, _IntervalSet]] = {}
        for index, step in enumerate(steps):
            for value in step.touched_values():
                self.first.setdefault(value, index)
                self.own_last[value] = index
            for position, value in step.written():
                if step.req[position] == ADD:
                    self.adds[value] = (self.adds.get(value, (index,))[0], index)
        self.last = dict(self.own_last)
        for root, members in self.members.items():
            for member in members:
                self.last[root] = max(self.last.get(root, -1), self.last.get(member, -1))

    def can_share_as_copy(self, value: Value, root: Value) -> bool:
        """Return whether `value`, which is a copy of `root`, can use the memory of `root`.

        While a step adds to one of two values in a memory, no step may read the other value: that
        one is made after all additions, or read for the last time before them.
        """
        if value in self.adds and root.kind != TEMP:
            return False
        used, added = self._use_intervals_of(root)
        return not added.intersects(self.first[value], self.own_last[value]) and (
            value not in self.adds or not used.intersects(*self.adds[value])
        )

    def _use_intervals_of(self, root: Value) -> tuple[_IntervalSet, _IntervalSet]:
        """Return the steps that use values in the memory of `root`, and those that add to them."""
        if root not in self.times:
            self.times[root] = _IntervalSet(), _IntervalSet()
            self._add_use_intervals(root, (root, *self.members.get(root, ())))
        return self.times[root]

    def _add_use_intervals(self, root: Value, values: Iterable[Value]) -> None:
        used, added = self.times[root]
        for value in values:
            if value in self.first:
                used.add(self.first[value], self.own_last[value])
            if value in self.adds:
                added.add(*self.adds[value])

    def merge_into_root(self, value: Value, root: Value) -> None:
        """Put `value`, and all values in its memory, into the memory of `root`."""
        joined = [value, *self.members.pop(value, ())]
        for each in joined:
            each.root = root
        self.members.setdefault(root, []).extend(joined)
        self.times.pop(value, None)
        if root in self.times:
            self._add_use_intervals(root, joined)
        self.last[root] = max(self.last.get(root, -1), self.last.get(value, -1))


def _turn_steps_into_views(graph: Graph, lives: _LifetimeIndex, fixed: Container[Value]) -> None:
    steps = []
    for step in graph.steps:
        traits = step.prop.graph.traits
        if traits.view:
            forward = step.direction == FORWARD
            source = step.in_data[0] if forward else step.out_grad[0]
            target = step.out_data[0] if forward else step.in_grad[0]
            if _try_turn_into_view(step, source, 0, target, lives, fixed):
                continue
        elif traits.passes_gradient and step.direction == BACKWARD:
            # values that are not added to first, which leaves more choices for the others
            for position, target in sorted(step.written(), key=lambda w: w[1] in lives.adds):
                if _try_turn_into_view(step, step.out_grad[0], position, target, lives, fixed):
                    step.req[position], step.in_grad[position] = NULL, None
            if not step.written():
                continue
        steps.append(step)
    if len(steps) < len(graph.steps):
        cached_steps = set(steps)
        graph.n_forward = sum(step in cached_steps for step in graph.steps[: graph.n_forward])
        graph.steps = steps
        lives.assign_step_numbers(steps)


def _try_turn_into_view(
    step: Step,
    source: Value | None,
    position: int,
    target: Value | None,
    lives: _LifetimeIndex,
    fixed: Container[Value],
) -> bool:
    if (
        target is None
        or source is None
        or target.kind != TEMP
        or target.root is not target
        or step.req[position] != WRITE
        or nbytes(source) != nbytes(target)
        or source.dtype != target.dtype
        or source in fixed
        or target in fixed
        or not lives.can_share_as_copy(target, source.root)
    ):
        return False
    lives.merge_into_root(target, source.root)
    return True


def _share_inplace(graph: Graph, lives: _LifetimeIndex, fixed: Container[Value]) -> None:
    for index, step in enumerate(graph.steps):
        taken: set[Value] = set()
        used = None
        for source, position, target in _inplace_pairs(step):
            root = source.root
            if (
                step.req[position] != WRITE
                or target.root is not target
                or root.kind != TEMP
                or root in taken
                or source in fixed
                or target in fixed
                or nbytes(target) != nbytes(source)
                or lives.last[root] != index
            ):
                continue
            used = _count_root_uses(step) if used is None else used
            if used[root] != 1:
                continue
            if target.kind == TEMP:
                lives.merge_into_root(target, root)
            elif target.kind == OUTPUT and lives.first[target] == index:
                lives.merge_into_root(root, target)
            else:
                continue
            step.req[position] = INPLACE
            taken.add(root)


def _count_root_uses(step: Step) -> Counter[Value]:
    """Return how often a step uses the memory of each root."""
    used: list[Value | None] = [*step.in_data, *step.out_data, *step.aux]
    if step.direction != FORWARD:
        used += [*step.out_grad, *step.in_grad]
    return Counter(value.root for value in used if value is not None)


def _inplace_pairs(step: Step) -> Iterator[tuple[Value, int, Value]]:
    """Yield triples (source, index of target, target) that the operator lets share memory."""
    n_in, n_out = len(step.in_data), len(step.out_data)
    sources: Sequence[Value | None]
    targets: Sequence[Value | None]
    if step.direction == FORWARD:
        sources, targets = step.in_data, step.out_data
        pairs = step.prop.forward_inplace_option(list(range(n_in)), list(range(n_in, n_in + n_out)))
    else:
        sources, targets = [*step.out_grad, *step.in_data, *step.out_data], step.in_grad
        ids = list(range(2 * n_out + 2 * n_in))
        pairs = step.prop.backward_inplace_option(
            ids[:n_out],
            ids[n_out : n_out + n_in],
            ids[n_out + n_in : 2 * n_out + n_in],
            ids[2 * n_out + n_in :],
        )
    for source_id, target_id in pairs:
        position = target_id - len(sources)
        source, target = sources[source_id], targets[position]
        if source is not None and target is not None:
            yield source, position, target


def _lifetimes(graph: Graph, fixed: Container[Value] | None) -> Lifetimes:
    """Return the first and last step of each root; roots in `fixed` (None: all) live always."""
    spans: Lifetimes = {}
    for index, step in enumerate(graph.steps):
        for value in step.touched_values():
            root = value.root
            if root.kind == TEMP:
                spans[root] = (spans.get(root, (index,))[0], index)
    for root in spans:
        if fixed is None or root in fixed:
            spans[root] = (0, len(graph.steps))
    return spans


def _assign_saved_offsets(graph: Graph, spans: Lifetimes) -> int:
    """Give values that live from forward to backward offsets of their own; returns their bytes."""
    size = 0
    if graph.n_forward == len(graph.steps):
        return size
    for root, (first, last) in list(spans.items()):
        if first < graph.n_forward <= last:
            del spans[root]
            root.kind, root.offset = SAVED, size
            size += aligned_size(nbytes(root))
    return size


def _max_live_bytes(spans: Lifetimes) -> tuple[int, int]:
    """Return the maximum of bytes that live at one step, and the index of the step."""
    change: Counter[int] = Counter()
    for root, (first, last) in spans.items():
        change[first] += aligned_size(nbytes(root))
        change[last + 1] -= aligned_size(nbytes(root))
    order = sorted(change)
    live = itertools.accumulate(change[index] for index in order)
    return max(zip(live, order), key=lambda pair: pair[0], default=(0, 0))


# Sort keys of roots for placement, from bytes, first and last step; the first is the best for most
# networks.
_PLACEMENT_ORDERS: tuple[Callable[[int, int, int], Any], ...] = (  # sort keys
    lambda size, first, last: size,
    lambda size, first, last: size * (last - first + 1),
    lambda size, first, last: (last - first, size),
    lambda size, first, last: -first,
)


def _assign_offsets(spans: Lifetimes) -> int:
    """Assign offsets by the best of several orders of placement; returns the arena's size.

    The search ends when it comes within 1 % of what lives at one step.
    """
    enough = 1.01 * _max_live_bytes(spans)[0]
    lives = [(nbytes(root), *span) for root, span in spans.items()]
    best = -1  # none yet
    found: dict[int, int] = {}
    for order in _PLACEMENT_ORDERS:
        chosen = sorted(range(len(lives)), key=lambda i: order(*lives[i]), reverse=True)
        total, offsets = pack_values(
            [aligned_size(lives[i][0]) for i in chosen],
            [lives[i][1] for i in chosen],
            [lives[i][2] for i in chosen],
        )
        if best < 0 or total < best:
            best, found = total, dict(zip(chosen, offsets))
        if best <= enough:
            break
    for i, root in enumerate(spans):
        root.offset = found[i]
    return best
