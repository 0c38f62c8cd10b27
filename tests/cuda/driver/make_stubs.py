"""Names of the driver's functions that pycuda links to and the simulated driver does not have.

Run as ``python make_stubs.py OBJECT SOURCE...``: prints C++ that defines each of them as answering
"not supported".
"""

import re
import struct
import sys
from pathlib import Path


def undefined(image):
    """Undefined dynamic symbols that start with cu, of a 64-bit ELF image."""
    offset = struct.unpack_from("<Q", image, 40)[0]
    size, count = struct.unpack_from("<HH", image, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", image, offset + i * size) for i in range(count)]
    for section in sections:
        if section[1] != 11:  # SHT_DYNSYM
            continue
        names = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], section[9]):
            name, _, _, place = struct.unpack_from("<IBBH", image, at)
            start = names + name
            text = image[start : image.index(b"\0", start)].decode()
            if place == 0 and re.match(r"cu[A-Z]", text):
                yield text


def stubs(driver_object, sources):
    """The C++ text."""
    written = "".join(Path(s).read_text() for s in sources)
    defined = set(re.findall(r"\b(cu[A-Z]\w*)\(", written))
    names = sorted(set(undefined(Path(driver_object).read_bytes())) - defined)
    return "".join(f'extern "C" int {name}() {{ return 801; }}\n' for name in names)


if __name__ == "__main__":
    sys.stdout.write(stubs(sys.argv[1], sys.argv[2:]))
