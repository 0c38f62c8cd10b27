"""Loops that look for a greatest or least number: told to the compiler as reductions.

By itself it takes one element after another: it does not know that fmaxf gives the same whichever
way its calls are joined. That holds for NaN and infinities, too; only which of +0 and -0 comes out
may differ. Sums are left alone: their rounding depends on the order.
"""

import re

from .statements import PURE, Unknown, declared, parse, pieces, words

_COUNTERS = ("int", "unsigned", "unsigned int", "long", "long long", "size_t", "int64_t")
_CHANGE = re.compile(r"(?<![=!<>])=(?!=)|\+\+|--|\[\s*\]|\?.*\?")
_CALL = re.compile(r"(\w+)\s*(?:<[^<>;]*>)?\s*\(")
_COMPARED = re.compile(r"([^<>]*[^<>=\s-])\s*([<>])=?\s*([^<>=].*)$", re.DOTALL)
_PRAGMA = re.compile(r"(#[ \t]*pragma[^\n]*|_Pragma\s*\([^()]*\))\s*\Z")
_KINDS = {"fmaxf": "fmax", "fmax": "fmax", "max": "fmax", "fminf": "fmin", "fmin": "fmin"}
_KINDS["min"] = "fmin"


def reductions(text, whole, function):
    """Insertions (begin, begin, pragma) for the loops of a function.

    `text` is blanked, and so are its directives; `whole` has them.
    """
    try:
        nodes = parse(text, function.begin, function.end)
        types = _numbers(text, nodes, function.head)
    except Unknown:
        return []
    found = []
    for node in _loops(nodes):
        try:
            clause = _clause(text, node, types)
        except Unknown:
            continue
        if clause and not _PRAGMA.search(whole, 0, node.begin):
            found.append((node.begin, node.begin, f'_Pragma("omp simd {clause}") '))
    return found


def _loops(nodes):
    for node in nodes:
        if node.kind == "for":
            yield node
        yield from _loops(node.body)


def _all(nodes):
    for node in nodes:
        yield node
        yield from _all(node.body)


def _numbers(text, nodes, head):
    """Type of each name that is declared as float or double wherever it is declared."""
    types = {}
    head = re.sub(r"__launch_bounds__\s*\([^()]*\)", " ", head)
    inside = head[head.find("(") + 1 : head.rfind(")")]
    texts = [inside[b:e] + ";" for b, e in pieces(inside, 0, len(inside))]
    for node in _all(nodes):
        if node.kind == "simple":
            texts.append(text[node.begin : node.end])
        elif node.kind == "for":
            begin, end = node.head[0]
            texts.append(text[begin:end] + ";")
    for each in texts:
        for one in declared(each) or ():
            plain = not (one.arrays or one.constant or one.reference)
            kind = one.type if plain and one.type in ("float", "double") else None
            types[one.name] = kind if types.get(one.name, kind) == kind else None
    return types


def _clause(text, node, types):
    if len(node.head) != 3:
        return None
    start, condition, step = (text[b:e].strip() for b, e in node.head)
    head = re.fullmatch(r"(?:([\w ]+)\s)?\s*([A-Za-z_]\w*)\s*=([^=,].*)", start, re.DOTALL)
    if not head or (head[1] and head[1].strip() not in _COUNTERS):
        return None
    counter = head[2]
    inner = re.fullmatch(rf"{counter}\s*(?:<|>|<=|>=)\s*([^<>=].*)", condition, re.DOTALL)
    forward = re.fullmatch(
        rf"\+\+\s*{counter}|--\s*{counter}|{counter}\s*(\+\+|--)|{counter}\s*[-+]=(.*)", step
    )
    if not inner or not forward or "blockDim" in step:  # the threads take turns (regions.py)
        return None
    fixed = [head[3], inner[1], forward[2] or ""]
    clauses, names = [], set()
    for one in node.body[0].body if node.body[0].kind == "block" else node.body:
        said = _reduced(text, one)
        if said is None:
            return None
        name, kind, value, exact = said
        if types.get(name) is None or (exact and types[name] != exact):
            return None
        clauses.append(f"reduction(cynet_{kind}:{name})")
        names.add(name)
        fixed.append(value)
    if len(clauses) != len(names) or counter in names:
        return None
    for value in fixed:
        if words(value) & names or not _is_quiet(value):
            return None
    if any(counter in words(value) for value in fixed[:3]):
        return None
    return " ".join(clauses) or None


def _is_quiet(value):
    return not _CHANGE.search(value) and all(m[1] in PURE for m in _CALL.finditer(value))


def _reduced(text, node):
    """(name, kind, expression, type it must have or None) of `name = max(name, expression)`."""
    if node.kind == "if" and len(node.body) == 1:
        inner = node.body[0]
        while inner.kind == "block" and len(inner.body) == 1:
            inner = inner.body[0]
        taken = re.fullmatch(r"(\w+)\s*=([^=].*);", text[inner.begin : inner.end], re.DOTALL)
        if inner.kind != "simple" or not taken:
            return None
        begin, end = node.head[0]
        return _selected(taken[1], text[begin:end], taken[2], taken[1])
    if node.kind != "simple":
        return None
    found = re.fullmatch(r"(\w+)\s*=([^=].*);", text[node.begin : node.end], re.DOTALL)
    if not found:
        return None
    name, value = found[1], found[2].strip()
    call = re.match(r"(?:::)?(f?max|f?min|fmaxf|fminf)\s*\(", value)
    if call:
        inside = value[call.end() : -1]
        both = [inside[b:e].strip() for b, e in pieces(inside, 0, len(inside))]
        if len(both) != 2 or not value.endswith(")") or name not in both:
            return None
        other = both[1] if both[0] == name else both[0]
        return name, _KINDS[call[1]], other, "float" if call[1].endswith("f") else None
    chosen = re.fullmatch(r"([^?]*)\?([^?:]*):([^?:]*)", value, re.DOTALL)
    return _selected(name, chosen[1], chosen[2], chosen[3]) if chosen else None


def _selected(name, condition, taken, kept):
    """The same of: taken where the condition holds, kept elsewhere. False for NaN: it is kept."""
    both = _COMPARED.fullmatch(condition.strip())
    taken = "".join(taken.split())
    if not both or kept.strip() != name or condition.count("(") != condition.count(")"):
        return None
    left, right = both[1].strip(), both[3].strip()
    if left == name and "".join(right.split()) == taken:
        return name, "greater" if both[2] == "<" else "less", right, None
    if right == name and "".join(left.split()) == taken:
        return name, "less" if both[2] == "<" else "greater", left, None
    return None
