"""Reading of files that may be compressed by gzip, bzip2 or xz."""

import importlib
import os
import zlib
from contextlib import contextmanager

from ..base.errors import FormatError
from ..base.files import open_for_reading

# first bytes of a file -> name of the compression, module that unpacks it, file extension
_DECOMPRESSORS = {  # first bytes -> name, module, file extension
    b"\x1f\x8b": ("gzip", "gzip", ".gz"),
    b"BZh": ("bzip2", "bz2", ".bz2"),
    b"\xfd7zXZ\0": ("xz", "lzma", ".xz"),
}
_CHUNK_BYTES = 1 << 20  # bytes that are read at once


@contextmanager
def read_unpacked_file(name):
    """Read a file, and unpack it if its first bytes show a compression.

    Raises FormatError when compressed data are damaged or cut off. Raises FileError.

    Yields
    ------
    (file object, str or None)
        And what unpacks it: ``'gzip'``, ``'bzip2'``, ``'xz'`` or None.
    """
    with open_for_reading(name) as file:
        first = file.peek(6)
        packer = next(
            (each for mark, each in _DECOMPRESSORS.items() if first.startswith(mark)), None
        )
        if packer is None:
            yield file, None
            return
        kind, module, _ = packer
        unpacker = importlib.import_module(module)  # imported late: slow and rarely needed
        damage = getattr(unpacker, "LZMAError", zlib.error)
        try:
            with unpacker.open(file) as stream:
                yield stream, kind
        except (OSError, EOFError, damage) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise FormatError(f"{name}: the {kind} data are damaged: {error}") from None


def expected_compression(name):
    """Return the compression that belongs to a file name's extension, or None."""
    extension = os.path.splitext(name)[1].lower()
    return next((kind for kind, _, each in _DECOMPRESSORS.values() if each == extension), None)


def read_exactly(file, size):
    """Read up to `size` bytes in chunks, so that a false size allocates no memory."""
    content = bytearray()
    while len(content) < size:
        piece = file.read(min(_CHUNK_BYTES, size - len(content)))
        if not piece:
            break
        content += piece
    return content
