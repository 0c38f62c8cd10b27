"""Parsing of a kernel's signature: its arguments by name and type."""

import re
from typing import NamedTuple

import numpy as np

from ..base.errors import ArgumentError, ArgumentTypeError, shown

# dtype -> C type of an array's elements
C_TYPES = {  # dtype -> C type
    "float32": "float",
    "float64": "double",
    "float16": "__half",
    "uint8": "unsigned char",
    "int32": "int",
    "int8": "signed char",
    "int64": "long long",
    "bool": "bool",
}
# C type in a signature -> type character of `struct` and NumPy
_CHARACTER_BY_C_TYPE = {  # C type -> type character
    "float": "f",
    "double": "d",
    "__half": "e",
    "half": "e",
    "bool": "?",
    "char": "b",
    "signed char": "b",
    "int8_t": "b",
    "unsigned char": "B",
    "uint8_t": "B",
    "short": "h",
    "int16_t": "h",
    "unsigned short": "H",
    "uint16_t": "H",
    "int": "i",
    "int32_t": "i",
    "unsigned": "I",
    "unsigned int": "I",
    "uint32_t": "I",
    "long long": "q",
    "int64_t": "q",
    "unsigned long long": "Q",
    "uint64_t": "Q",
    "size_t": "Q",
    "long": "q",
    "unsigned long": "Q",
}
CHARACTER_BY_DTYPE = {name: np.dtype(name).char.replace("l", "q") for name in C_TYPES}


class Argument(NamedTuple):  # argument in a kernel's signature
    """One argument of a kernel's signature."""

    name: str
    code: str
    is_array: bool
    is_const: bool
    text: str


def read_signature(kernel, signature):
    """Parse a C signature into a list of Argument."""
    if not isinstance(signature, str):
        raise ArgumentTypeError(f"kernel {kernel}: signature must be a str, got {shown(signature)}")
    out = []
    for part in re.sub(r"\s+", " ", signature).strip().split(",") if signature.strip() else []:
        text = part.strip()
        words = re.sub(r"\b(__restrict__|__restrict)\b", " ", text)
        found = re.fullmatch(r"(.*?)(\*?)\s*([A-Za-z_]\w*)?", words.strip())
        kind, star, name = found[1], found[2], found[3] if found else ("", "", "")
        if kind.strip() in ("", "const") and name:  # the type alone
            kind, name = f"{kind} {name}", None
        is_const = bool(re.search(r"\bconst\b", kind))
        kind = re.sub(r"\bconst\b", " ", kind)
        kind = re.sub(r"\s+", " ", kind).strip()
        if kind not in _CHARACTER_BY_C_TYPE:
            both = f"{kind} {name}".strip()
            if both in _CHARACTER_BY_C_TYPE:
                kind, name = both, None
            else:
                raise ArgumentError(
                    f"kernel {kernel}: {shown(text)} in the signature is not TYPE NAME or TYPE"
                    f" *NAME with a type out of {', '.join(_CHARACTER_BY_C_TYPE)}"
                )
        code = _CHARACTER_BY_C_TYPE[kind]
        if star and code not in CHARACTER_BY_DTYPE.values():
            raise ArgumentError(
                f"kernel {kernel}: {shown(text)}: no NDArray has elements of that type"
            )
        out.append(Argument(name or f"argument {len(out) + 1}", code, bool(star), is_const, text))
    return out
