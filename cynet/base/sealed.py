"""A checksum at the end of a file, by which damage anywhere in it is noticed when it is read."""

import hashlib
import io
import os
from contextlib import contextmanager

from .errors import FormatError
from .files import opened

_MARK, _DIGEST, _PIECE = b"CYNSUM1\n", 20, 1 << 20
SEAL = len(_MARK) + _DIGEST


def sealed(chunks):
    """Chunks of bytes, and behind them their checksum.

    Examples
    --------
    >>> content = b"".join(sealed([b"abc"]))
    >>> content[:3], len(content) - SEAL
    (b'abc', 3)
    """
    digest = hashlib.blake2b(digest_size=_DIGEST)
    for chunk in chunks:
        digest.update(chunk)
        yield chunk
    yield _MARK + digest.digest()


def content_size(file, size, name):
    """How many of the `size` bytes of an open file are its content; it is read to the end.

    Raises
    ------
    FormatError
        They are not what the checksum says. A file without one is as old as that.
    """
    if size < SEAL:
        return size
    file.seek(size - SEAL)
    seal = bytes(file.read(SEAL))
    if seal[: len(_MARK)] != _MARK:
        return size
    file.seek(0)
    digest, left = hashlib.blake2b(digest_size=_DIGEST), size - SEAL
    while left:
        piece = file.read(min(left, _PIECE))
        if not piece:
            break
        digest.update(piece)
        left -= len(piece)
    if digest.digest() != seal[len(_MARK) :]:
        raise FormatError(f"{name}: damaged: its checksum is that of another content")
    return size - SEAL


@contextmanager
def opened_sealed(path):
    """(file, size of its content, whether it has a checksum) of a file; that one is right."""
    with opened(path) as file:
        if file.seekable():
            size = os.fstat(file.fileno()).st_size
        else:
            data = file.read()
            file, size = io.BytesIO(data), len(data)
        content = content_size(file, size, path)
        file.seek(0)
        yield file, content, content < size
