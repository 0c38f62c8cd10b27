"""Turns the members of a chain into one step: the memory of each value, and the loops."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

from ...operator.elementwise_loop import BYTE_LOOPS, Loop
from ...operator.tensor.fused_elementwise import (
    MAX_CHAIN_ARRAYS,
    REGISTER_COUNT,
    ChainLine,
    ChainProperty,
    Memory,
    Register,
)
from ..ir import ADD, BACKWARD, FORWARD, TEMP, WRITE, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..ir import Value
    from .fuse_elementwise_members import ChainMember, RowLayout, RowMove

# Loops that copy their first operand.
COPY_LOOPS = {("unary", "identity"), ("unary_grad", "one"), ("binary_grad", "grad_one")}


def build_chain_step(members: list[ChainMember], touching: dict[Value, set[Step]]) -> Step | None:
    """Return one step that computes all `members`, or None.

    members: The members of one group, in the order of their steps.
    touching: Root -> the set of steps that access it.

    Returns Step or None: None where nothing is computed, or where it would take too many registers
    or arrays.
    """
    if not any(member.loops for member in members):
        return None
    return _ChainProgram(members, touching).build_step()


def _writers_by_root(members: list[ChainMember]) -> dict[Value, list[int]]:
    """Return a dict: root -> indices of members that write it, once for each loop or piece."""
    found: dict[Value, list[int]] = {}
    for position, member in enumerate(members):
        targets = [move.target for move in member.moves]
        for target in (*targets, *(loop.target for loop, _ in member.loops)):
            found.setdefault(target.root, []).append(position)
    return found


class _Operand(NamedTuple):  # a value, or rows of it, in a loop of a chain
    """An operand: all of `value` or its `rows`; `private`: only the chain uses the value."""

    value: Value
    rows: RowLayout | None
    private: bool


class _ProgramLine(NamedTuple):  # one loop of a fused chain
    """A line of the chain's program: a loop over operands and floats."""

    family: str
    functor: str
    reads: Sequence[_Operand | float]
    target: _Operand
    add: bool


class _ChainProgram:  # the loops of one fused chain
    """The program of one chain, built from its members."""

    def __init__(self, members: list[ChainMember], touching: dict[Value, set[Step]]) -> None:
        self.members = members
        self.steps = [member.step for member in members]
        self.touching, self.inside = touching, set(self.steps)
        self.count, self.dtype, self.ctx = members[0].group.space
        self.columns = next(filter(None, (m.group.columns for m in members)), self.count)
        self.written = _writers_by_root(members)
        self.instead: dict[Value, _Operand] = {}  # root -> a piece of another array holds the value
        self.lines: list[_ProgramLine] = []

    def build_step(self) -> Step | None:
        """Build the chain's Step; None if no chain is possible."""
        self._compute_in_larger_array()
        for position, member in enumerate(self.members):
            for move in member.moves:
                self._add_move(move, position)
            for loop, add in member.loops:
                if self._is_skippable_copy(loop, add, position):
                    continue
                reads = [
                    v if isinstance(v, float) else self._operand(v, member.rows.get(v))
                    for v in loop.reads
                ]
                self._add_loop(loop.family, loop.functor, reads, self._operand(loop.target), add)
        self._find_root_uses()
        registers = self._assign_registers()
        if registers is None or len(self.sources) + len(self.targets) > MAX_CHAIN_ARRAYS:
            return None
        return self._make_chain_step(registers)

    def _is_chain_internal(self, value: Value) -> bool:
        return value.root.kind == TEMP and self.touching[value.root] <= self.inside

    def _operand(self, value: Value, rows: RowLayout | None = None) -> _Operand:
        if rows is None and value.root in self.instead:
            return self.instead[value.root]
        return _Operand(value, rows, rows is None and self._is_chain_internal(value))

    def _is_overwritten(self, root: Value, position: int) -> bool:
        """Return whether a member behind index `position` writes to the memory of `root`."""
        return any(at > position for at in self.written.get(root, ()))

    def _compute_in_larger_array(self) -> None:
        """Compute values that are only copied into a larger array directly there, if nothing else
        reads them and their memory is not written afterwards."""
        moved = [move.source.root for member in self.members for move in member.moves]
        parted = {
            move.target.root
            for member in self.members
            for move in member.moves
            if move.target_rows is None
        }
        for position, member in enumerate(self.members):
            for move in member.moves:
                root = move.source.root
                if (
                    move.target_rows is not None
                    and move.source_rows is None
                    and not move.add
                    and self._is_chain_internal(move.source)
                    and moved.count(root) == 1
                    and root not in parted
                    and not self._is_overwritten(root, position)
                ):
                    self.instead[root] = _Operand(move.target, move.target_rows, False)

    def _add_move(self, move: RowMove, position: int) -> None:
        source = self._operand(move.source, move.source_rows)
        if move.target_rows is None and not move.add and self._is_chain_internal(move.target):
            read = (move.source.root, source.value.root)
            if len(self.written[move.target.root]) == 1 and not any(
                self._is_overwritten(root, position) for root in read
            ):
                self.instead[move.target.root] = source  # read in place
                return
        target = self._operand(move.target, move.target_rows)
        if source != target:
            self._add_loop("unary", "identity", [source], target, move.add)

    def _is_skippable_copy(self, loop: Loop, add: bool, position: int) -> bool:
        """Return whether the loop only copies an array to a private one that is read there."""
        source, target = loop.reads[0], loop.target
        if (
            (loop.family, loop.functor) not in COPY_LOOPS
            or add
            or isinstance(source, float)
            or prod(source.shape) != prod(target.shape)
            or not self._is_chain_internal(target)
            or len(self.written[target.root]) > 1
        ):
            return False
        operand = self._operand(source)
        if any(self._is_overwritten(root, position) for root in (source.root, operand.value.root)):
            return False
        self.instead[target.root] = operand
        return True

    def _add_loop(
        self,
        family: str,
        functor: str,
        reads: Sequence[_Operand | float],
        target: _Operand,
        add: bool,
    ) -> None:
        self.lines.append(_ProgramLine(family, functor, reads, target, add))

    def _find_root_uses(self) -> None:
        """Find the first and last line of each root, the inputs, and the outputs with requests."""
        self.first: dict[Value, int] = {}
        self.last: dict[Value, int] = {}
        self.first_write: dict[Value, int] = {}
        self.last_read: dict[Value, int] = {}
        self.sources: dict[Value, Value] = {}
        self.targets: dict[Value, tuple[Value, int]] = {}
        self.parts: set[Value] = set()
        for i, line in enumerate(self.lines):
            reads = [each for each in line.reads if isinstance(each, _Operand)]
            for each in (*reads, line.target):
                self.first.setdefault(each.value.root, i)
                self.last[each.value.root] = i
                if each.rows is not None:
                    self.parts.add(each.value.root)
            for each in reads:
                self.last_read[each.value.root] = i
                if not each.private and each.value.root not in self.targets:
                    self.sources.setdefault(each.value.root, each.value)
            root = line.target.value.root
            self.first_write.setdefault(root, i)
            if not line.target.private and root not in self.targets:
                self.targets[root] = (line.target.value, ADD if line.add else WRITE)

    def _assign_registers(self) -> dict[Value, int] | None:
        """Return a dict: root -> register for the chain's own values; None if registers run out."""
        found: dict[Value, int] = {}
        free: list[int] = []
        maximum = 0
        for i, line in enumerate(self.lines):
            root = line.target.value.root
            read = dict.fromkeys(e.value.root for e in line.reads if isinstance(e, _Operand))
            read.pop(root, None)
            done = [found[each] for each in read if each in found and self.last[each] == i]
            if line.family not in BYTE_LOOPS:  # the loop may write in place
                free += done
                done = []
            if line.target.private and root not in found:
                if line.add:  # the line adds to a private value
                    return None
                if not free:
                    free.append(maximum)
                    maximum += 1
                found[root] = free.pop()
            free += done
            if line.target.private and self.last[root] == i:
                free.append(found[root])
        return found if maximum <= REGISTER_COUNT else None

    def _inplace_pairs(self) -> list[tuple[int, int]]:
        """Return pairs of indices of inputs and outputs that may share memory: no loop reads the
        input after the output is written, and both are whole arrays of one dtype."""
        return [
            (i, o)
            for i, source in enumerate(self.sources)
            for o, target in enumerate(self.targets)
            if source not in self.targets
            and source not in self.parts
            and target not in self.parts
            and self.sources[source].dtype == self.targets[target][0].dtype
            and self.last_read[source] <= self.first_write[target]
        ]

    def _make_chain_step(self, registers: dict[Value, int]) -> Step:
        number = {root: i for i, root in enumerate((*self.sources, *self.targets))}

        def operand(each: _Operand | float) -> Memory | Register | float:
            if isinstance(each, float):
                return each
            if each.private:
                return Register(registers[each.value.root])
            rows = each.rows
            if rows is None:
                return Memory(number[each.value.root], 0, self.columns, 1)
            row = self.columns if rows.row is None else rows.row
            return Memory(number[each.value.root], rows.offset, row, rows.column)

        lines = [
            ChainLine(
                Loop(
                    line.family, line.functor, tuple(map(operand, line.reads)), operand(line.target)
                ),
                line.add,
            )
            for line in self.lines
        ]
        back = any(step.direction == BACKWARD for step in self.steps)
        prop = ChainProperty(
            "_backward_chain" if back else "_chain",
            self.count // self.columns,
            self.columns,
            self.dtype,
            lines,
            [tuple(value.shape) for value in self.sources.values()],
            [tuple(value.shape) for value, _ in self.targets.values()],
            [value.dtype for value in self.sources.values()],
            [value.dtype for value, _ in self.targets.values()],
            self._inplace_pairs(),
        )
        made = Step(
            ", ".join(dict.fromkeys(step.name for step in self.steps)),
            prop,
            self.ctx,
            FORWARD,
            list(self.sources.values()),
            [value for value, _ in self.targets.values()],
            [],
            [request for _, request in self.targets.values()],
        )
        made.members = tuple(self.steps)
        return made
