"""Compiled code on disk: read only from folders that nobody else can write to, and only if
complete.

Loading a shared object runs it. So its folder and the file must belong to the user, and nobody else
may have the right to write them. Behind the object itself the file has a digest of it and of the
file's name, since loading what is cut off ends the process; loaders do not look at bytes there.
"""

import atexit
import functools
import hashlib
import os
import shutil
import stat
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

from . import config
from .files import write_atomically

_FOLDER_NAMES = ("kernels", "pyx")  # kinds of cached code
_FILE_MARK = b"CYNETSUM"  # first bytes of a cached file
_CHECKSUM_BYTES = len(_FILE_MARK) + hashlib.sha256().digest_size


def code_folder(kind: str) -> Path:
    """Return the cache folder of a kind of code, ``kernels`` or ``pyx``; only this user can write.

    It is under CYNET_HOME. Where others may write there, that right is taken away; where it belongs
    to another user, a folder that lasts as long as the process takes its place.

    Raises OSError when it cannot be made.
    """
    place = config.cache_folder() / kind
    place.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        place.mkdir(mode=0o700)
    found = place.stat()
    if _why_distrusted(found) == _WRITABLE_REASON:
        with suppress(OSError):
            place.chmod(stat.S_IMODE(found.st_mode) & ~0o022)
            found = place.stat()
    fault = _why_distrusted(found)
    return _make_private_folder(str(place), fault) / kind if fault else place


@functools.cache
def _make_private_folder(place: str, fault: str) -> Path:
    """Make a temporary folder for this process, and warn that it replaces the folder `place`."""
    warnings.warn(
        f"compiled code is not cached in {place}, because {fault}; each process compiles it "
        "again. Set CYNET_HOME to a folder of your own",
        stacklevel=4,
    )
    made, owner = Path(tempfile.mkdtemp(prefix="cynet-")), os.getpid()
    for kind in _FOLDER_NAMES:
        (made / kind).mkdir()

    def remove() -> None:
        if os.getpid() == owner:  # a forked child must not remove the folder at its exit
            shutil.rmtree(made, ignore_errors=True)

    atexit.register(remove)
    return made


_FOREIGN_REASON, _WRITABLE_REASON = "it belongs to another user", "others can write there"


def _why_distrusted(found: os.stat_result) -> str | None:
    """Return why a file or folder is not trusted, from its os.stat; None if it is trusted."""
    if not hasattr(os, "geteuid"):
        return None
    if found.st_uid != os.geteuid():
        return _FOREIGN_REASON
    return _WRITABLE_REASON if stat.S_IMODE(found.st_mode) & 0o022 else None


def read_cached(path: str | Path) -> bytes | None:
    """Read a file that `write_cached` wrote; None if it is missing, another user's or damaged."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        with open(path, "rb") as file:
            if _why_distrusted(os.fstat(file.fileno())):
                return None
            whole = file.read()
    except OSError:
        return None
    body = whole[:-_CHECKSUM_BYTES]
    return body if whole[-_CHECKSUM_BYTES:] == _digest_of_content(path, body) else None


def write_cached(path: str | Path, data: bytes) -> None:
    """Write a file to the cache atomically, with a checksum that `read_cached` checks."""
    write_atomically(path, [data, _digest_of_content(path, data)], private=True)


def _digest_of_content(path: str | Path, data: bytes) -> bytes:
    digest = hashlib.sha256(os.path.basename(path).encode() + b"\0")
    digest.update(data)
    return _FILE_MARK + digest.digest()
