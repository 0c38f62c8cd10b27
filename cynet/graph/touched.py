"""What a part of a plan reads and writes, and whether two parts meet in the arena."""

from .graph import FORWARD, TEMP
from .memory import nbytes


def touched(steps):
    """(read, written, read bytes, written bytes) of steps: external roots, and spans of the
    arena."""
    read, written = {}, {}
    for step in steps:
        for value in (*step.out_data, *[v for _, v in step.written()], *step.aux):
            if value is not None and (step.direction == FORWARD or value not in step.out_data):
                written[value.root] = None
        for value in step.read():
            read[value.root] = None

    def spans(roots):
        return [(r.offset, r.offset + nbytes(r)) for r in roots if r.kind == TEMP]

    return list(read), list(written), spans(read), spans(written)


def meet(a, b):
    """True when one of what `touched` gave writes arena bytes that the other touches."""

    def overlap(first, second):
        return any(x < v and u < y for x, y in first for u, v in second)

    return overlap(a[3], b[3]) or overlap(a[3], b[2]) or overlap(a[2], b[3])
