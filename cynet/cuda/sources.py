"""Sources of CUDA kernels: folders of headers, text without comments, messages of compilers."""

import re
from pathlib import Path

KERNELS = Path(__file__).parent.parent / "kernels"  # headers that CPU and GPU share
CUDA_SOURCES = Path(__file__).parent / "kernels"  # folder of the .cu files
_COMMENT_OR_STRING = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\\ ]{0,16})\(.*?\)(?P=mark)"'
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)


def blank_comments(text):
    """Return C++ source with spaces in place of its comments and strings."""
    return _COMMENT_OR_STRING.sub(spaces_for_match, text)


def spaces_for_match(match):
    """Replace a match by spaces, except for newlines, so that line numbers stay."""
    return re.sub(r"[^\n]", " ", match[0])


def explain_errors(messages, user_text, title):
    """Join a compiler's messages: each error is followed by the user's source line."""
    lines = user_text.split("\n")
    found = []
    # g++: "title:3:7: error: ..."; nvcc: "title(3): error: ..."
    pattern = re.compile(
        rf"^{re.escape(title)}(?::(\d+):(?:\d+:)?|\((\d+)\):)\s*(?:\w+ )?error[^:]*:\s*(.*)$", re.M
    )
    for match in pattern.finditer(messages):
        number = int(match[1] or match[2])
        quoted = lines[number - 1].strip() if 0 < number <= len(lines) else ""
        found.append(f"  line {number}: {match[3]}\n      {quoted}")
    # Errors in a kernel of the table, or in its arguments, begin with its name instead of a line.
    around = r"^((?:kernel|arguments of) .*?)(?::\d+:\d+|\(\d+\)): error: (.*)$"
    for match in re.finditer(around, messages, re.M):
        if not any(each.startswith(f"  {match[1]}: ") for each in found):
            found.append(f"  {match[1]}: {match[2]}")
    if re.search(r"\basm\b", blank_comments(user_text)) and re.search(
        r"'asm'|Assembler messages", messages
    ):
        found.append(
            "  asm with PTX needs a GPU: the host's compiler knows the host's instructions"
        )
    brace = _find_unmatched_brace(user_text)
    if brace and re.search(r"expected (a )?[‘'\"]\}[’'\"]", messages):
        number, what = brace
        found = [f"  line {number}: {what}\n      {lines[number - 1].strip()}"]
    if not found:  # the mistake is in a header: show all messages
        first = re.search(rf"^{re.escape(title)}:(\d+):.*required from here", messages, re.M)
        where = ""
        if first and int(first[1]) <= len(lines):
            where = f"  line {first[1]}: {lines[int(first[1]) - 1].strip()}\n"
        found = [where + "\n".join(messages.strip().split("\n")[:20])]
    return f"{title} does not compile:\n" + "\n".join(found[:10])


def _find_unmatched_brace(text):
    """Return the line and the error of the first unmatched brace, or None."""
    opened, line = [], 1
    for match in re.finditer(r"[{}\n]", blank_comments(text)):
        if match[0] == "\n":
            line += 1
        elif match[0] == "{":
            opened.append(line)
        elif not opened:
            return line, "this } closes nothing"
        else:
            opened.pop()
    return (opened[-1], "this { is never closed") if opened else None
