"""Small faults for .pyx, .cc and .h files, by rules over lines of code; kinds are those of
python_rules.py."""

import random
import re

from tests.mutants.python_rules import WEIGHTS

WORD = r"(?:[\w.]|->|\[\w+\])+"
# What is replaced by what, by kind of fault.
KINDS = {
    "limit": [
        (r" < ", [" <= "]),
        (r" <= ", [" < "]),
        (r" > ", [" >= "]),
        (r" >= ", [" > "]),
        (r"(?<=[<>] )\d+\b(?![.\w])", [lambda n: str(int(n) + 1)]),
        (r"(?<=[<>]= )\d+\b(?![.\w])", [lambda n: str(int(n) + 1)]),
        (r"\brange\([^()]+\)", [lambda x: x[:-1] + " - 1)"]),
    ],
    "constant": [
        (
            r"(?<![\w.])(?<!except -)\d+(?![\w.])",
            [lambda n: str(int(n) + 1), lambda n: str(int(n) - 1)],
        ),
        (r"(?<![\w.])\d+\.\d+(?![\w.])", [lambda x: f"{float(x) * 1.1 or 0.1:.4g}"]),
    ],
    "index": [
        (r"(?<=[\w\])])\[\w+\]", [lambda x: x[:-1] + " + 1]"]),
        (r"(?<=[\w\])])\[[1-9a-z]\]", ["[0]"]),
        (r"(?<=[\w\])])\[0\]", ["[1]"]),
    ],
    "argument": [
        (rf"(?<=\w\(){WORD}, {WORD}(?=[,)])", [lambda x: ", ".join(x.split(", ")[::-1])]),
        (rf"(?<=, ){WORD}, {WORD}(?=\))", [lambda x: ", ".join(x.split(", ")[::-1])]),
        (rf"(?<![\w.>\])]){WORD} - {WORD}", [lambda x: " - ".join(x.split(" - ")[::-1])]),
        (r"\bmin\(", ["max("]),
        (r"\bmax\(", ["min("]),
    ],
    "default": [
        (r"(?<=\w=)-?\d+\b(?![.\w])", [lambda n: str(int(n) + 1), lambda n: str(int(n) - 1)]),
        (r"(?<=\w=)True\b", ["False"]),
        (r"(?<=\w=)False\b", ["True"]),
        (r", \w+=\w+(?=[,)])", [""]),
        (r"(?<=[\w\])]) if [^()]+ else \w+", [""]),
    ],
    "arithmetic": [
        (r" \+ ", [" - "]),
        (r" - ", [" + "]),
        (r" \* ", [" / "]),
        (r" / ", [" * "]),
        (r" // ", [" * "]),
        (r" % ", [" / "]),
        (r" \+= ", [" -= ", " = "]),
        (r" -= ", [" += "]),
        (r" \*= ", [" /= "]),
        (r"(?<=[=(,?:] )-(?=[\w(])", [""]),
        (r"(?<=return )-(?=[\w(])", [""]),
    ],
    "negated": [
        (r" == ", [" != "]),
        (r" != ", [" == "]),
        (r" is not ", [" is "]),
        (r" is (?!not)", [" is not "]),
        (r" && ", [" || "]),
        (r" \|\| ", [" && "]),
        (r" and ", [" or "]),
        (r" or ", [" and "]),
        (r"\bnot (?!in\b)", [""]),
        (r"!(?=[\w(])", [""]),
        (r"\bTrue\b", ["False"]),
        (r"\bFalse\b", ["True"]),
        (r"\btrue\b", ["false"]),
        (r"\bfalse\b", ["true"]),
    ],
}
# Statements that can be left out: those of one line, of no new name.
IN_H = re.compile(
    r"^(\s+)(?!return\b|using\b|static\b|const\b|struct\b|typedef\b|break|continue)"
    r"(?:if \(.*\) )?[\w.>\[\]()*-]+ ?(?:[+*/|&-]?= .*|\(.*\)|\+\+);$"
)
IN_PYX = re.compile(
    r"^(\s+)(?!return\b|raise\b|cdef\b|if\b|for\b|while\b|from\b|import\b)"
    r"(?:(?:self\.|\w+[.\[]).* = .*|[\w.\[\]]+ [+*/-]= .*|[\w.]+\(.*\))$"
)
CHECK = r"\w*(?:check|require|refuse|forbid|expect|ensure|must)\w*"
REFUSAL_H = re.compile(rf"^(\s+)(?:if \(.*\) return .*|{CHECK}\(.*\));$")
REFUSAL_PYX = re.compile(rf"^(\s+)(?:raise\b.*|(?:self\.|\w+\.)?{CHECK}\(.*)$")
RETURN_H = re.compile(r"^(\s{4,})(?:if \(.*\) )?(?:return\b.*|break|continue);$")
RETURN_PYX = re.compile(r"^(\s{8,})(?:return\b.*|continue|break)$")
LEFT_OUT = {
    "statement": (IN_H, IN_PYX),
    "refusal": (REFUSAL_H, REFUSAL_PYX),
    "return": (RETURN_H, RETURN_PYX),
}
# A line that says what a function takes: its names are no arguments.
DECLARES = re.compile(
    r"^\s*(cp?def|def|static|inline|void|extern|struct|union|enum|ctypedef)\b|^\S"
)
# Lines whose change shows in speed alone, or is not compiled here.
ONLY_SPEED = re.compile(r"GRAIN|grain|prefetch|PREFETCH|tick\(|CHUNK|BLOCK|chunk|TILE|stream_past")
NO_CODE = re.compile(
    r"^\s*(//|#|\*|/\*|template|using|namespace|cimport|from|import|cdef extern|@|\"|static_assert)"
)


def code_lines(text, in_pyx):
    """Numbers of the lines that hold code: no comments, docstrings, templates, declarations."""
    quoted, continued = False, False
    for number, line in enumerate(text.split("\n")):
        quotes = line.count('"""')
        if in_pyx and (quoted or quotes):
            quoted ^= quotes % 2 == 1
            continue
        if continued or NO_CODE.match(line):
            continued = line.endswith("\\")
            continue
        if line.strip() and not ONLY_SPEED.search(line):
            yield number


def _whole(lines, number):
    """How many lines a statement of Cython has that begins here: until its brackets are closed."""
    depth, count = 0, 0
    for line in lines[number:]:
        code = re.sub(r'"[^"]*"', "", line)
        depth += sum(code.count(c) for c in "([{") - sum(code.count(c) for c in ")]}")
        count += 1
        if depth <= 0:
            break
    return count


def _left_out(lines, number, kind, in_pyx):
    """(what stands there instead, of how many lines) where a statement of this kind can go."""
    line = lines[number]
    code = re.sub(r"  #.*" if in_pyx else r" *//.*", "", line)
    if not LEFT_OUT[kind][in_pyx].match(code):
        return None
    count = _whole(lines, number) if in_pyx else 1
    indent = line[: len(line) - len(line.lstrip())]
    return indent + ("pass" if in_pyx else ";"), count


def _replaced(line, kind, in_pyx):
    """What a line may become."""
    code = re.sub(r'"[^"]*"', lambda m: "\0" * len(m[0]), line)
    code = re.split(r" // | *//$|  # " if not in_pyx else r"  ?# ", code)[0]
    if code.startswith(("cdef class", "class", "struct")):
        return
    if kind in ("argument", "index") and DECLARES.match(code):
        return
    for pattern, replacements in KINDS[kind]:
        for match in re.finditer(pattern, code):
            for new in replacements:
                what = new(line[match.start() : match.end()]) if callable(new) else new
                if what != match[0]:
                    yield line[: match.start()] + what + line[match.end() :]


def draw(text, rng: random.Random, in_pyx):
    """A fault in a file: (its kind, the text with it), or None where the kind that was drawn has no
    place."""
    lines = text.split("\n")
    [kind] = rng.choices([*WEIGHTS], [*WEIGHTS.values()])
    places = []
    for number in code_lines(text, in_pyx):
        if kind in LEFT_OUT:
            found = _left_out(lines, number, kind, in_pyx)
            places += [(number, *found)] if found else []
        else:
            places += [(number, new, 1) for new in _replaced(lines[number], kind, in_pyx)]
    if not places:
        return None
    number, line, count = rng.choice(places)
    lines[number : number + count] = [line]
    return kind, "\n".join(lines)
