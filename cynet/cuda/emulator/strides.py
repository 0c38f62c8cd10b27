"""Loops that stride by blockDim: taken apart, and whether their indices are in order."""

import re

from .statements import changes, pieces, walk

_LOOSE = re.compile(r"[|^?=<>,]|&")  # operators that bind less than a comparison, and others
_INTEGER = re.compile(
    r"(const )?(int|unsigned( int)?|(unsigned )?long( long)?( int)?|size_t|u?int(32|64)_t|uint)"
)


def stride(text, node):
    """(type, name, start, condition, step) of a loop that strides by blockDim, or None."""
    if node.kind != "for" or len(node.head) != 3:
        return None
    start, condition, step = (text[b:e].strip() for b, e in node.head)
    moved = re.fullmatch(r"(\w+)\s*\+=(.*\bblockDim\b.*)", step, re.DOTALL)
    if not moved or "threadIdx" in step:
        return None
    name = moved[1]
    if any(len(list(pieces(each, 0, len(each)))) > 1 for each in (start, condition)):
        return None
    first = re.fullmatch(
        rf"((?:unsigned |long )*\w+)\s+{name}\s*=(?P<e>[^=].*)", start, re.DOTALL
    )
    bound = re.fullmatch(rf"{name}\s*(<=?)([^<].*)", condition, re.DOTALL)
    if not first or not bound or "," in step or _LOOSE.search(bound[2]):
        return None
    if not _INTEGER.fullmatch(first[1]):
        return None
    body = node.body[0]
    if any(True for _ in changes(text, name, body.begin, body.end)):
        return None
    if _jumps(body, ("return", "break", "goto")):
        return None
    return first[1], name, first["e"].strip(), bound[1], bound[2].strip(), moved[2].strip()


def _jumps(node, kinds):
    return any(
        each.kind in kinds and (each.kind != "break" or (depth == 0 and not switch))
        for each, depth, switch in walk([node])
    )


def is_near(start, env, constants):
    """Whether an index surely does not wrap between the threads of a block: sums and products
    of what is not negative."""
    if not re.fullmatch(r"[\w\s.+*/()]*|[\w\s.]*(>>|/|%|&)\s*\w+", start):
        return False
    for match in re.finditer(r"\w+", start):
        name, dot = match[0], start[: match.start()].rstrip().endswith(".")
        if dot or name in ("threadIdx", "blockIdx", "blockDim", "gridDim"):
            continue
        if name.isdigit():
            if int(name) > 4096:
                return False
            continue
        known = env.get(name)
        if name in ("int", "unsigned", "size_t") or name in constants:
            continue
        if known is None or not known.fixed or not known.given:
            return False
        if not _INTEGER.fullmatch(known.given.type) or not known.given.init:
            return False
        if not is_near(known.given.init, known.needs or env, constants):
            return False
    return True
