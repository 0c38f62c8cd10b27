"""Which variables lie in memory, not in registers, and who may know where."""

import re

from .statements import Unknown, declared


def has_memory(text):
    """Whether a function may keep variables in memory, not in registers: arrays and addresses.

    The compiler has one copy of that memory for all threads that it takes at a time.
    """
    if re.search(r"\bunion\b|\balloca\b|\barray\s*<|\btypedef\b|\busing\b[^;]*\[", text):
        return True
    for match in re.finditer(r"[^;{}]*", text):
        if "__shared__" in match[0]:
            continue
        try:
            found = declared(re.sub(r"^.*\b(case\b[^:]*:|else\b)|^\s*for\s*\(", "", match[0]))
        except Unknown:
            return True
        if any(one.arrays for one in found or ()):
            return True
        if re.search(
            r"(^|[=(,?:+\-/%<>!|~^\[{]|\(\s*[\w\s]+\*+\s*\))\s*&\s*[A-Za-z_]\w*\b"
            r"(?!\s*(\[|->|\.\s*\w+\s*(\[|->)))", match[0]
        ):  # fmt: skip
            return True
    return False


def escapes(text, name, is_array, begin, end):
    """Whether something in text[begin:end] may know where variable `name` lies when the statement
    that named it has ended: its address, or an array, goes elsewhere than into a call that gives
    a number or nothing."""
    pattern = rf"\b{name}\b(?!\s*\[)" if is_array else rf"(?<!&)&\s*{name}\b"
    for match in re.compile(pattern).finditer(text, begin, end):
        start = max(text.rfind(each, begin, match.start()) for each in ";{}")
        before = text[max(start + 1, begin) : match.start()].strip()
        if not is_array and re.search(r"[\w)\]]$", before):
            continue  # a & b
        if re.search(r"[\w>*&]\s+[*&]?$|,\s*$", before + " ") and "(" not in before:
            continue  # its declaration
        number = r"(?:(?:const )?(?:int|float|double|unsigned|bool)\s+)?"
        called = re.match(rf"{number}(?:\w+\s*[-+*/]?=\s*)?\w+\s*\(", before)
        if not called or re.match(r"\w+\s+\*", before):
            return True
        given = re.match(r"(\w+)\s*=", before)
        if given and not re.search(
            rf"\b(int|float|double|unsigned|bool)\s+{given[1]}\b", text[begin:end]
        ):
            return True
    return False
