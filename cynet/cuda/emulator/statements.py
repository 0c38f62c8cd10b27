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


def keeps_address(text, name, is_array, begin, end):
    """Whether text[begin:end] may keep where variable `name` lies: its address is taken, or an
    array named, other than for a call."""
    for match in re.compile(
        rf"\b{name}\b(?!\s*\[)" if is_array else rf"(?<!&)&\s*{name}\b"
    ).finditer(text, begin, end):
        before = text[: match.start()].rstrip()
        if not is_array and re.search(r"[\w)\]]$", before):
            continue  # a & b
        follows = text[match.end() : end].lstrip()[:1]
        if not re.search(r"(\w\s*\(|,)$", before) or follows not in (",", ")"):
            return True
    return False


def changes(text, name, begin, end):
    """Places in text[begin:end] where variable `name` may change."""
    for match in re.compile(rf"\b{name}\b").finditer(text, begin, end):
        before = text[: match.start()].rstrip()
        if before.endswith((".", "->", "::")):
            continue
        after = re.compile(r"(?:\s*\.\s*\w+)*").match(text, match.end()).end()
        address = before.endswith("&") and not re.search(r"[\w)\]]\s*&$|&&$", before)
        stepped = before.endswith(("++", "--")) or _ASSIGNED.match(text, after)
        if stepped or address or _is_argument(text, begin, match.start(), match.end()):
            yield match.start()


def _is_argument(text, begin, first, last):
    """Whether it is, alone, what a function gets that might take a reference."""
    if text[begin:first].rstrip()[-1:] not in ("(", ",") or text[last:].lstrip()[:1] not in (
        ")",
        ",",
    ):
        return False
    depth = 0
    for at in range(first - 1, begin - 1, -1):
        if text[at] in ")]}":
            depth += 1
        elif text[at] in "([{":
            if depth == 0:
                if text[at] != "(":
                    return False
                call = re.search(r"([A-Za-z_]\w*)\s*(<[^<>;]*>)?\s*$", text[begin:at])
                return bool(call) and call[1] not in PURE | {"if", "for", "while", "return"}
            depth -= 1
        elif text[at] == ";":
            return False
    return False
