"""What of a kernel's PTX is not the same on every machine: operations that round as they like.

An addition, product, quotient or square root of PTX is IEEE's where it says ``.rn``; without it
ptxas may join two of them. ``fma`` rounds a product and a sum at once; functions (``ex2``, ``sin``
and their kin) are approximations, and libdevice's own logarithms, exponentials and cosines are
made of ``fma``.
"""

import re

_FLOAT = re.compile(r"^\s*(?:@!?%p\d+\s+)?([a-z][a-z0-9_.]*\.f(?:16|32|64)\w*)\b", re.M)
_CALL = re.compile(r"^\s*(?:@!?%p\d+\s+)?(call[a-z.]*)\s.*?(__nv_\w+|\w+)\s*,", re.M | re.S)
_EXACT = {"add", "sub", "mul", "div", "sqrt", "rcp"}
_NO_ARITHMETIC = {
    "abs",
    "neg",
    "mov",
    "ld",
    "st",
    "setp",
    "set",
    "selp",
    "min",
    "max",
    "cvt",
    "copysign",
    "testp",
    "atom",
    "red",
}


def inexact(ptx):
    """The instructions, each once and sorted, whose result is not one IEEE operation's.

    >>> inexact("  add.rn.f64 %fd1, %fd2, %fd3;  mul.f64 %fd1, %fd2, %fd3;")
    []
    >>> inexact("  fma.rn.f64 %fd1, %fd2, %fd3, %fd4;\\n  mul.f32 %f1, %f2, %f3;")
    ['fma.rn.f64', 'mul.f32']
    """
    found = {f"call {name}" for _, name in _CALL.findall(ptx)}
    for instruction in _FLOAT.findall(ptx):
        name, *rest = instruction.split(".")
        if name in _NO_ARITHMETIC and "approx" not in rest:
            continue
        if name not in _EXACT or "rn" not in rest or "ftz" in rest:
            found.add(instruction)
    return sorted(found)
