"""The body of a function taken apart: its control flow, what it declares, what it changes.

Everything reads blanked text (source.py), where comments and strings are spaces, and speaks of
places in it. Text that is not understood raises `Unknown`: whoever asked leaves the function alone.
"""

import re
from typing import NamedTuple

# Functions that change nothing and depend on nothing but their arguments.
PURE = set()
for _each in (
    "abs fabs fabsf fmax fmaxf fmin fminf max min exp expf log logf sqrt sqrtf rsqrtf tanh tanhf",
    "pow powf floor floorf ceil ceilf fma fmaf __expf __logf __fdividef __ldg static_cast",
    "reinterpret_cast const_cast sizeof int unsigned float double size_t",
):
    PURE.update(_each.split())
_WORD = re.compile(r"[A-Za-z_]\w*")
_CONTROL = re.compile(r"(if|for|while|do|switch|return|break|continue|goto|try|case|default)\b")
_DECLARATION = re.compile(
    r"(?P<type>(?:(?:const|constexpr|volatile|unsigned|signed|long|short|typename|struct)\s+)*"
    r"[A-Za-z_][\w:]*(?:\s*<[^;=()]*>(?:::\w+)?)?(?:\s+(?:const|volatile|int|long|short|char|"
    r"double|unsigned)\b)*)\s*(?P<rest>(?:[*&\s]|\bconst\b|__restrict__|\b__restrict\b)*"
    r"(?<=[\s*&])[A-Za-z_]\w*\s*(?:[=,;\[({]).*)",
    re.DOTALL,
)
_DECLARATOR = re.compile(
    r"\s*(?P<pointer>(?:[*&\s]|\bconst\b|__restrict__|\b__restrict\b)*)(?P<name>[A-Za-z_]\w*)\s*"
    r"(?P<arrays>(?:\[[^\]]*\]\s*)*)(?P<init>[=({].*)?$",
    re.DOTALL,
)
_ASSIGNED = re.compile(r"\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)")


class Unknown(Exception):
    """Text that this module does not take apart."""


class Node(NamedTuple):
    """A statement: `kind` is block, if, for, while, do, simple, or the word it begins with."""

    kind: str
    begin: int
    end: int  # behind its last character
    head: tuple = ()  # (begin, end) of what stands in its parentheses; three of them for `for`
    body: tuple = ()  # statements; of an `if` the branch and what stands behind else


class Declared(NamedTuple):
    """A variable of a declaration."""

    name: str
    type: str  # with the stars of a pointer
    arrays: str  # "[4][2]" or ""
    init: str  # without its =; "" without one
    constant: bool  # the variable itself
    reference: bool


def closing(text, at):
    """Where the bracket at `at` closes."""
    depth = 0
    for match in re.compile(r"[][(){}]").finditer(text, at):
        depth += 1 if match[0] in "([{" else -1
        if depth == 0:
            return match.start()
    raise Unknown


def parse(text, begin, end):
    """The statements of text[begin:end], a tuple of `Node`."""
    out, at = [], _skip(text, begin)
    while at < end:
        node = _statement(text, at, end)
        out.append(node)
        at = _skip(text, node.end)
    return tuple(out)


def _skip(text, at):
    return re.compile(r"\s*").match(text, at).end()


def _statement(text, at, end):
    if text[at] == "{":
        last = closing(text, at)
        return Node("block", at, last + 1, (), parse(text, at + 1, last))
    found = _CONTROL.match(text, at, end)
    if not found:
        if re.compile(r"[A-Za-z_]\w*\s*:(?!:)").match(text, at, end):
            raise Unknown  # a label
        return Node("simple", at, _semicolon(text, at, end))
    word, after = found[1], _skip(text, found.end())
    if word in ("case", "default"):
        colon = re.compile(r"(?<!:):(?!:)").search(text, at, end)
        if not colon:
            raise Unknown
        return Node("label", at, colon.end())
    if word in ("return", "break", "continue"):
        return Node(word, at, _semicolon(text, at, end))
    if word == "do":
        body = _statement(text, after, end)
        last = _semicolon(text, body.end, end)
        open_at = text.index("(", body.end)
        return Node("do", at, last, ((open_at + 1, closing(text, open_at)),), (body,))
    if word not in ("if", "for", "while", "switch"):
        raise Unknown
    constexpr = text.startswith("constexpr", after)
    open_at = text.find("(", after, end)
    if open_at < 0:
        raise Unknown
    close_at = closing(text, open_at)
    body = _statement(text, _skip(text, close_at + 1), end)
    head = ((open_at + 1, close_at),)
    if word == "for":
        head = tuple(pieces(text, open_at + 1, close_at, ";"))
    if word == "if":
        other = _skip(text, body.end)
        if re.compile(r"else\b").match(text, other, end):
            behind = _statement(text, _skip(text, other + 4), end)
            return Node("ifc" if constexpr else word, at, behind.end, head, (body, behind))
        return Node("ifc" if constexpr else word, at, body.end, head, (body,))
    return Node(word, at, body.end, head, (body,))


def _semicolon(text, at, end):
    for match in re.compile(r"[;({\[]").finditer(text, at, end):
        if match.start() < at:
            continue
        if match[0] == ";":
            return match.end()
        at = closing(text, match.start()) + 1
    raise Unknown


def pieces(text, begin, end, separator=","):
    """(begin, end) of what `separator` divides, outside of brackets."""
    at = begin
    start = begin
    for match in re.compile(rf"[{separator}(\[{{]").finditer(text, begin, end):
        if match.start() < at:
            continue
        if match[0] == separator:
            yield (start, match.start())
            start = at = match.end()
        else:
            at = closing(text, match.start()) + 1
    yield (start, end)


def words(text):
    """The names in a text that are no members of something."""
    return {
        m[0] for m in _WORD.finditer(text) if not re.search(r"(\.|->|::)\s*$", text[: m.start()])
    }


def declared(text):
    """What a statement or the head of a loop declares: a list of `Declared`, or None."""
    text = text.strip()
    if re.match(r"(using|typedef|return|delete|throw|extern|static|else)\b", text):
        return None
    found = _DECLARATION.match(text if text.endswith(";") else text + ";")
    if not found:
        return None
    kind, rest = found["type"], found["rest"].rstrip().rstrip(";")
    if kind in ("const", "constexpr", "volatile"):
        return None
    out = []
    for begin, end in pieces(rest, 0, len(rest)):
        one = _DECLARATOR.match(rest[begin:end])
        if not one:
            raise Unknown
        pointer, init = one["pointer"], (one["init"] or "").strip()
        stars = re.sub(r"__restrict(__)?", " ", pointer)
        constant = "const" in (stars.rpartition("*")[2] if "*" in stars else kind)
        if "*" in stars:
            stars = re.sub(r"const\s*$", "", stars)
            base = kind
        else:
            base, stars = re.sub(r"\b(const|constexpr)\b", " ", kind), ""
        init = init[1:] if init.startswith("=") else init
        full = re.sub(r"\s+", " ", f"{base} {stars.replace('&', '')}").strip()
        out.append(
            Declared(one["name"], full, one["arrays"], init.strip(), constant, "&" in pointer)
        )
    return out


def is_scalar(kind):
    """Whether a type has no functions that change it: numbers, pointers, what auto may be."""
    return "*" in kind or all(
        re.fullmatch(r"int|unsigned|signed|long|short|char|bool|float|double|uint|size_t"
                     r"|u?int\d+_t|const|constexpr|volatile|auto|T", each)
        for each in kind.split()
    )  # fmt: skip


def is_expression(text):
    """Whether a statement surely declares nothing."""
    if re.match(r"(const|constexpr|auto|struct|class|enum|union|typename|int|unsigned|signed|long"
                r"|short|char|bool|float|double)\b(?!\s*\{)", text):  # fmt: skip
        return False
    if re.match(r"(\w+)\s*\(\s*[*&]?\s*\w+\s*\)\s*(=[^=]|\[|;\s*$|\{)", text):
        return bool(re.match(r"[A-Za-z_]\w*\s*\([^()]*\)\s*;", text))
    depth, flat = 0, []
    for one in text:
        depth -= one in ")]}"
        flat.append(one if depth == 0 else "")
        depth += one in "([{"
    flat = re.sub(r"\s+", " ", "".join(flat))
    return not re.search(r"(?<!\breturn)[\w>\])}] [A-Za-z_]\w*|[>\])}][A-Za-z_]", flat.lstrip("("))


def walk(nodes, depth=0, switch=False):
    """(statement, loops around it, whether a switch is nearer than they are)"""
    for node in nodes:
        yield node, depth, switch
        loop = node.kind in ("for", "while", "do")
        inside = node.kind == "switch" or (switch and not loop)
        yield from walk(node.body, depth + loop, inside)


def changes(text, name, begin, end):
    """Places in text[begin:end] where variable `name` may change."""
    for match in re.compile(rf"\b{name}\b").finditer(text, begin, end):
        if text[begin : match.start()].rstrip().endswith((".", "->", "::")):
            continue
        if _may_change(text, begin, match.start(), match.end()):
            yield match.start()


def _may_change(text, begin, first, last):
    """Whether what stands in text[first:last], a variable, is given to something that changes it.

    Goes outwards through parentheses; arithmetic around it ends the search.
    """
    if re.compile(r"\s*\[").match(text, last):
        return text[begin:first].rstrip().endswith("[")  # an element is; a lambda, to be sure
    last, called = _members(text, last)
    if called or re.compile(r"\s*\(").match(text, last):
        return True
    while True:
        before = text[begin:first].rstrip()
        follows = text[last : last + 400].lstrip()[:1]
        if before.endswith(("++", "--")) or _ASSIGNED.match(text, last):
            return True
        if before.endswith("&") and not re.search(r"[\w\])]\s*&$|&&$", before):
            return True
        if re.search(r"&\s*\)$", before):
            return True  # a cast to a reference
        if before[-1:] not in "(,?:={" and not re.search(r"\breturn$", before):
            return False
        if re.search(r"\breturn$", before):
            return True  # of a lambda
        if follows not in ("", ")", ",", "?", ":", ";", "}") or follows == "?":
            return False
        opened = _opened(text, begin, first)
        if opened is None or text[opened] == "[":
            return _binds(text, begin, first)
        if text[opened] == "{":
            start = max(text.rfind(";", begin, opened), text.rfind("{", begin, opened), begin - 1)
            given = text[start + 1 : opened].strip()
            plain = re.match(r"(const\s+)?(int|float|double|unsigned|bool|long)\b[^=]*=", given)
            if given and not plain and not given.endswith((")", "else", "do")):
                return True
            return _binds(text, begin, first)
        behind = re.search(r"([A-Za-z_]\w*)\s*(<[^<>;]*>)?\s*$", text[begin:opened])
        close = closing(text, opened)
        if behind:
            if behind[1] in ("if", "while", "for", "switch"):
                return _binds(text, begin, first)
            return behind[1] not in PURE | {"return"} or "&" in (behind[2] or "")
        if re.search(r"[>)\]]\s*$", text[begin:opened]) and not re.search(
            r"\(\s*(?:const |unsigned )*[A-Za-z_]\w*[\s*]*\)\s*$", text[begin:opened]
        ):
            return True  # a call of something
        first, last = opened, close + 1


def _members(text, last):
    """(where `.a.b[3]` behind a variable ends, whether a function of it is called)"""
    while True:
        found = re.compile(r"\s*\.\s*[A-Za-z_]\w*").match(text, last)
        if found:
            last = found.end()
            if re.compile(r"\s*\(").match(text, last):
                return last, True
            found = re.compile(r"\s*\[").match(text, last)
            if found:
                last = closing(text, found.end() - 1) + 1
            continue
        return last, False


def _opened(text, begin, at):
    """The bracket within which `at` stands, or None: behind a semicolon or at the beginning."""
    depth = 0
    for place in range(at - 1, begin - 1, -1):
        if text[place] in ")]}":
            depth += 1
        elif text[place] in "([{":
            if depth == 0:
                return place
            depth -= 1
        elif text[place] == ";" and depth == 0:
            return None
    return None


def _binds(text, begin, at):
    """Whether the statement declares a reference."""
    start = max(text.rfind(each, begin, at) for each in ";{}(")
    before = text[max(start + 1, begin) : at]
    return bool(re.search(r"[\w>]\s*&&?\s*[A-Za-z_]\w*\s*=[^=]?[^;]*$", before))
