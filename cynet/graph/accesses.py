"""The memory that parts of a plan read and write, and whether two parts overlap in the arena."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .ir import FORWARD, TEMP
from .memory_plan import nbytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .ir import Step, Value

    Span = tuple[int, int]  # begin and end in bytes
    Accesses = tuple[list[Value], list[Value], list[Span], list[Span]]  # see `find_accesses`


def find_accesses(steps: Iterable[Step]) -> Accesses:
    """Return what steps access: (roots read, roots written, arena bytes read, bytes written)."""
    read: dict[Value, None] = {}
    written: dict[Value, None] = {}
    for step in steps:
        for value in (*step.out_data, *[v for _, v in step.written()], *step.aux):
            if value is not None and (step.direction == FORWARD or value not in step.out_data):
                written[value.root] = None
        for value in step.read():
            read[value.root] = None

    def arena_spans(roots: Iterable[Value]) -> list[Span]:
        """Return the merged byte ranges of temporaries in the arena, in order."""
        found: list[Span] = []
        for begin, end in sorted((r.offset, r.offset + nbytes(r)) for r in roots if r.kind == TEMP):
            if found and begin <= found[-1][1]:
                begin, end = found[-1][0], max(end, found.pop()[1])
            found.append((begin, end))
        return found

    return list(read), list(written), arena_spans(read), arena_spans(written)


def accesses_conflict(a: Accesses, b: Accesses) -> bool:
    """Return whether one of two sets of accesses writes arena bytes of the other."""
    return _spans_overlap(a[3], b[3]) or _spans_overlap(a[3], b[2]) or _spans_overlap(a[2], b[3])


def _spans_overlap(first: list[Span], second: list[Span]) -> bool:
    i = j = 0
    while i < len(first) and j < len(second):
        if first[i][0] < second[j][1] and second[j][0] < first[i][1]:
            return True
        if first[i][1] <= second[j][1]:
            i += 1
        else:
            j += 1
    return False
