"""Names of the kernels in an object of nvcc: its ELF symbols, demangled."""

import ctypes
import ctypes.util
import functools
import re
import struct

from ...base.errors import KernelError

_FUNCTION_TYPE = 2  # STT_FUNC
_SYMBOL_TABLE = 2  # SHT_SYMTAB


def kernel_symbols(image):
    """Return the symbols of the kernels in a 64-bit little-endian ELF image.

    Returns dict: name as in the source (``axpy``, ``scale<float>``, without the types of arguments,
    no space but between words and after commas) to the symbol that the driver looks up. Raises
    KernelError when it is no such image.
    """
    if image[:6] != b"\x7fELF\x02\x01":
        raise KernelError(f"expected a 64-bit ELF image of the compiler, got {image[:6]!r}")
    offset = struct.unpack_from("<Q", image, 40)[0]
    size, count = struct.unpack_from("<HH", image, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", image, offset + i * size) for i in range(count)]
    out = {}
    for section in sections:
        if section[1] != _SYMBOL_TABLE:
            continue
        names = sections[section[6]]
        for at in range(section[4], section[4] + section[5], section[9]):
            name, info, _, place = struct.unpack_from("<IBBH", image, at)
            if info & 15 != _FUNCTION_TYPE or info >> 4 == 0 or place == 0:
                continue  # skip symbols that are no function, local, or undefined
            start = names[4] + name
            symbol = image[start : image.index(b"\0", start)].decode()
            out[demangled_name(symbol)] = symbol
    return out


def demangled_name(symbol):
    """Return the name in the source of a mangled symbol, without argument and result types.

    >>> demangled_name("_Z5scaleIfEvPT_i"), demangled_name("axpy")
    ('scale<float>', 'axpy')
    """
    if not symbol.startswith("_Z"):
        return symbol
    text = _demangle_symbol(symbol)
    depth = 0
    for i, c in enumerate(text):
        depth += (c in "<[") - (c in ">]")
        if c == "(" and depth == 0 and not text.startswith("(anonymous", i):
            text = text[:i]
            break
    depth = start = 0
    for i, c in enumerate(text):  # the text before the last space outside of <> is the result type
        depth += (c == "<") - (c == ">")
        if c == " " and depth == 0:
            start = i + 1
    return strip_spaces(text[start:])


def strip_spaces(name):
    """Return an instance's name without spaces, except those that `demangled_name` writes.

    >>> strip_spaces("f<int ,cynet :: half,true>")
    'f<int, cynet::half, true>'
    """
    name = re.sub(r"\s*([<>,:*&()])\s*", r"\1", name.strip())
    return re.sub(r"\s+", " ", name).replace(",", ", ")


@functools.cache
def _find_demangler():
    for library in ("libstdc++.so.6", "libc++abi.so.1", ctypes.util.find_library("stdc++")):
        try:
            function = ctypes.CDLL(library).__cxa_demangle
        except (OSError, TypeError, AttributeError):
            continue
        function.restype = ctypes.c_void_p
        function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        return function
    raise KernelError("names of kernels cannot be read: no C++ runtime (libstdc++.so.6) was found")


def _demangle_symbol(symbol):
    status = ctypes.c_int()
    text = _find_demangler()(symbol.encode(), None, None, ctypes.byref(status))
    if not text:
        return symbol
    out = ctypes.string_at(text).decode()
    free = ctypes.CDLL(None).free
    free.argtypes, free.restype = [ctypes.c_void_p], None
    free(text)
    return out
