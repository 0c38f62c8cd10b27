"""Small faults for .pyx and .h files, by rules over lines of code."""

import random
import re

# What is replaced by what, by kind of fault.
KINDS = {
    "comparison": [
        (r" < ", [" <= ", " > "]),
        (r" <= ", [" < "]),
        (r" > ", [" >= ", " < "]),
        (r" >= ", [" > "]),
        (r" == ", [" != "]),
        (r" != ", [" == "]),
    ],
    "number": [
        (r"(?<![\w.])\d+(?![\w.])", [lambda n: str(int(n) + 1), lambda n: str(int(n) - 1)]),
        (r"(?<![\w.])\d+\.\d+(?![\w.])", [lambda x: f"{float(x) * 1.1 or 0.1:.4g}"]),
        (r"(?<=[\w\])])\[\w+\]", [lambda x: x[:-1] + " + 1]"]),
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
    "logic": [
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
        (r"\bmin\(", ["max("]),
        (r"\bmax\(", ["min("]),
    ],
}
# Statements that can be left out: those of one line, of no new name.
IN_H = re.compile(
    r"^(\s+)(?!return\b|using\b|static\b|const\b|struct\b|typedef\b)"
    r"(?:if \(.*\) )?[\w.>\[\]()*-]+ ?(?:[+*/|&-]?= .*|\(.*\)|\+\+);$"
)
IN_PYX = re.compile(
    r"^(\s+)(?!return\b|cdef\b|if\b|for\b|while\b|from\b|import\b)"
    r"(?:(?:self\.|\w+[.\[]).* = .*|[\w.\[\]]+ [+*/-]= .*|[\w.]+\(.*\)|return|continue|raise .*\))$"
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


def draw(text, rng: random.Random, in_pyx):
    """A fault in a file: its text with it, or None where the kind that was drawn has no place."""
    lines = text.split("\n")
    kind = rng.choice([*KINDS, "statement"])
    places = []
    for number in code_lines(text, in_pyx):
        line = lines[number]
        if kind == "statement":
            code = re.sub(r"  #.*" if in_pyx else r" *//.*", "", line)
            if (IN_PYX if in_pyx else IN_H).match(code):
                indent = line[: len(line) - len(line.lstrip())]
                places.append((number, indent + ("pass" if in_pyx else ";")))
            continue
        code = re.sub(r'"[^"]*"', lambda m: "\0" * len(m[0]), line)
        code = re.split(r" // | *//$|  # " if not in_pyx else r"  ?# ", code)[0]
        if code.startswith(("cdef class", "class", "struct")):
            continue
        for pattern, replacements in KINDS[kind]:
            for match in re.finditer(pattern, code):
                for new in replacements:
                    what = new(match[0]) if callable(new) else new
                    place = number, line[: match.start()] + what + line[match.end() :]
                    places.append(place)
    if not places:
        return None
    number, line = rng.choice(places)
    lines[number] = line
    return "\n".join(lines)
