"""The steps that the chain pass can fuse: their loops, the pieces they copy, and their arrays."""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from ...operator.elementwise_loop import BYTE_LOOPS
from ..ir import ADD, BACKWARD, FORWARD, NULL, TEMP, WRITE, Step, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...context import Context
    from ...operator.elementwise_loop import Loop
    from ...typing import Shape
    from ..ir import Graph

MAX_LOOPS = 48  # maximum of loops of a chain
MAX_ROOTS = 48  # maximum of arrays and registers of a chain
MIN_COLUMNS = 16  # with fewer columns a chain is slower than separate steps


class RowLayout(NamedTuple):  # where an operand's rows lie in an array
    """The layout of an operand that is a part of an array: element (i, j) of the chain is the
    array's element ``offset + i * row + j * column``.

    `columns` is the length of a row; None: any, and the rows follow one another unless the element
    repeats (`row` and `column` 0).
    """

    offset: int
    columns: int | None
    row: int | None
    column: int


class RowMove(NamedTuple):  # a copy of rows of one array to rows of another
    """A copy of a piece of `source` to a piece of `target`; rows None: the whole value."""

    source: Value
    source_rows: RowLayout | None
    target: Value
    target_rows: RowLayout | None
    add: bool


class ChainGroup:  # what the members of a fused chain have in common
    """Properties that members of one chain have in common.

    Sets of roots: `reads` and `writes` of whole arrays, `part_reads` and `part_writes` of rows.
    """

    def __init__(
        self,
        count: int,
        dtype: str,
        ctx: Context,
        columns: int | None,
        loops: int,
        reads: set[Value],
        writes: set[Value],
        part_reads: set[Value],
        part_writes: set[Value],
    ) -> None:
        self.space = (count, dtype, ctx)
        self.columns = columns
        self.loops = loops
        self.reads, self.writes = reads, writes
        self.part_reads, self.part_writes = part_reads, part_writes

    def can_merge_with(self, other: ChainGroup) -> bool:
        """Return whether both groups can be in one chain: neither may access other rows of a value
        that the other writes."""
        return (
            self.space == other.space
            and (self.columns is None or other.columns in (None, self.columns))
            and self.loops + other.loops <= MAX_LOOPS
            and len(self.all_roots() | other.all_roots()) <= MAX_ROOTS
            and self._is_disjoint(other)
            and other._is_disjoint(self)
        )

    def _is_disjoint(self, other: ChainGroup) -> bool:
        return (
            self.part_reads.isdisjoint(other.writes)
            and self.part_reads.isdisjoint(other.part_writes)
            and self.part_writes.isdisjoint(other.all_roots())
        )

    def all_roots(self) -> set[Value]:
        """Return the roots of all values that the group reads or writes."""
        return self.reads | self.writes | self.part_reads | self.part_writes

    def absorb(self, other: ChainGroup) -> None:
        """Add another group's members to this group."""
        self.columns = self.columns or other.columns
        self.loops += other.loops
        self.reads = self.reads | other.reads
        self.writes = self.writes | other.writes
        self.part_reads = self.part_reads | other.part_reads
        self.part_writes = self.part_writes | other.part_writes


class ChainMember:  # a step that may become part of a fused chain
    """A step with its loops and moves, for the chain pass.

    loops: The loops over Values, each with whether it adds to its target.
    rows: The RowLayout of operands that repeat.
    joins (bool): Whether the step can be in a chain.
    group: The ChainGroup of this member.
    dense: The whole arrays that it accesses.
    """

    def __init__(self, step: Step) -> None:
        self.step = step
        self.loops: list[tuple[Loop, bool]] = []
        self.rows: dict[Value, RowLayout] = {}
        self.moves: list[RowMove] = []
        self.group: ChainGroup
        self.joins = False
        self.dense: frozenset[Value] = frozenset()

    def find_accesses(self) -> ChainMember:
        """Fill in the group's accesses and `joins`; returns the member."""
        targets = [loop.target for loop, _ in self.loops]
        operands = [v for loop, _ in self.loops for v in loop.reads if not isinstance(v, float)]
        whole, parts = [v for v in operands if v not in self.rows], list(self.rows)
        reads, writes = {v.root for v in whole}, {v.root for v in targets}
        part_reads: set[Value] = {v.root for v in parts}
        part_writes: set[Value] = set()
        whole += targets
        widths = {r.columns for r in self.rows.values()}
        for move in self.moves:
            for value, rows, all_of, part_of in (
                (move.source, move.source_rows, reads, part_reads),
                (move.target, move.target_rows, writes, part_writes),
            ):
                (all_of if rows is None else part_of).add(value.root)
                (whole if rows is None else parts).append(value)
                widths.add(None if rows is None else rows.columns)
        widths.discard(None)
        # 8-bit integers count as the floats that a loop converts them to or from
        dtypes = {v: v.dtype for v in (*whole, *parts)}
        for loop, _ in self.loops:
            if loop.family in BYTE_LOOPS:
                dtypes[(*loop.reads, loop.target)[BYTE_LOOPS[loop.family]]] = "float32"
        spaces = {(prod(v.shape), dtypes[v], v.ctx) for v in whole}
        if (
            len(spaces) != 1
            or len(widths) > 1
            or {dtypes[v] for v in parts} - {dtypes[v] for v in whole}
        ):
            return self
        (count, dtype, ctx), columns = spaces.pop(), next(iter(widths), None)
        if dtype == "bool":
            return self
        if not part_reads.isdisjoint(writes | part_writes) or not part_writes.isdisjoint(reads):
            return self
        if columns is not None and columns < MIN_COLUMNS:
            return self
        n_loops = len(self.loops) + len(self.moves)
        self.group = ChainGroup(
            count, dtype, ctx, columns, n_loops, reads, writes, part_reads, part_writes
        )
        self.dense = frozenset(reads | writes)
        self.joins = n_loops > 0
        return self


def copy_steps_into_readers(graph: Graph) -> set[Step]:
    """Copy cheap elementwise steps into their readers, where computing a value costs less than
    reading it; returns the set of copies."""
    readers, _ = graph.readers_and_writers()
    source: dict[Value, tuple[Step, Step | None]] = {}  # value -> its step
    steps: list[Step] = []
    copies: set[Step] = set()
    n_forward = graph.n_forward
    writers = Counter(v.root for step in graph.steps for _, v in step.written())
    for step in graph.steps:
        value = step.out_data[0]
        if (
            step.prop.graph.traits.sooner_computed
            and value.kind == TEMP
            and value in readers
            and writers[value.root] == 1  # only this step writes the value
            and all(v.kind != TEMP or writers[v.root] == 1 for v in step.in_data)
        ):
            if not all(chain_member_of(each).joins for each in readers[value]):
                source[value] = step, None
            else:  # the last reader gets the step, not a copy
                source[value] = step, readers[value][-1]
        if source and step.direction == FORWARD and chain_member_of(step).joins:
            for i, value in enumerate(step.in_data):
                if value not in source or source[value][1] is step:
                    continue
                made = Value(
                    value.name, value.shape, value.dtype, value.ctx, TEMP, value.channels_last
                )
                old, _ = source[value]
                copy = Step(
                    old.name, old.prop, old.ctx, FORWARD, list(old.in_data), [made], [], [WRITE]
                )
                steps.append(copy)
                copies.add(copy)
                step.in_data[i] = made
                n_forward += 1
        steps.append(step)
    graph.steps, graph.n_forward = steps, n_forward
    return copies


def chain_member_of(step: Step) -> ChainMember:
    """Make the ChainMember of a step."""
    member = ChainMember(step)
    if step.aux or step.cached:
        return member
    hooks = step.prop.graph
    targets: Sequence[Value | None] = step.out_data
    if step.direction == FORWARD:
        loops = hooks.forward_loops(step.prop, step.in_data, step.out_data)
    else:
        targets = step.in_grad
        loops = hooks.backward_loops(step.prop, step.out_grad, step.in_data, step.out_data, targets)
    if loops is not None:
        requests = dict(zip(targets, step.req))
        for loop in loops:
            if loop.target is None or requests[loop.target] == NULL:
                continue
            add = loop.more or requests[loop.target] == ADD
            if add and loop.family in BYTE_LOOPS:
                return ChainMember(step)
            member.loops.append((loop, add))
            for value in loop.reads:
                if isinstance(value, float) or prod(value.shape) == prod(loop.target.shape):
                    continue
                rows = _broadcast_row_layout(value.shape, loop.target.shape)
                if rows is None or loop.family == "unary":
                    return ChainMember(step)
                member.rows[value] = rows
    else:
        member.moves = _row_moves(step)
    return member.find_accesses()


def _row_moves(step: Step) -> list[RowMove]:
    """Return the Moves of a step that joins or splits arrays; empty if its pieces are not rows."""
    origin = step.origin or step
    pieces = step.prop.graph.moved_parts(step.prop, [v.shape for v in origin.in_data])
    moves = []
    for piece in pieces or ():
        source, target = step.in_data[piece.index], step.out_data[piece.to]
        views, position = (piece.source, piece.target), piece.to
        if step.direction == BACKWARD:
            source, target = step.out_grad[piece.to], step.in_grad[piece.index]
            views, position = views[::-1], piece.index
        if source is None or target is None or step.req[position] == NULL:
            continue
        rows = [_view_row_layout(view, value) for view, value in zip(views, (source, target))]
        if any(each is NotImplemented for each in rows) or rows.count(None) == 0:
            return []
        moves.append(RowMove(source, rows[0], target, rows[1], step.req[position] == ADD))
    return moves


def _broadcast_row_layout(shape: Shape, full: Shape) -> RowLayout | None:
    """Return the RowLayout of an operand that is broadcast along first or last axes of `full`."""
    size = prod(shape)
    if size == 1:
        return RowLayout(0, None, 0, 0)
    shape = (1,) * (len(full) - len(shape)) + tuple(shape)
    wide = [i for i, n in enumerate(full) if n != 1]
    same = [shape[i] == full[i] for i in wide]
    if same == sorted(same):
        return RowLayout(0, size, 0, 1)
    if same == sorted(same, reverse=True):
        return RowLayout(0, prod(full) // size, 1, 0)
    return None


def _view_row_layout(view: Any, value: Value) -> Any:
    """Return the RowLayout of a view of `value`; None: the whole value, NotImplemented: no rows."""
    axes: list[tuple[int, int]] = []
    for n, stride in zip(view.shape, view.strides):
        if n == 1:
            continue
        if axes and axes[-1][1] == n * stride:
            axes[-1] = (axes[-1][0] * n, stride)
        else:
            axes.append((n, stride))
    if not axes or (len(axes) == 1 and axes[0][1] == 1):
        if prod(view.shape) == prod(value.shape):
            return None
        return RowLayout(view.offset, None, None, 1)
    if len(axes) == 2 and axes[1][1] == 1 and axes[0][1]:
        return RowLayout(view.offset, axes[1][0], axes[0][1], 1)
    return NotImplemented
