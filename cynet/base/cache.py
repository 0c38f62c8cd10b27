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

_KINDS = ("kernels", "pyx")
_FILE_MARK = b"CYNETSUM"
_TAIL_BYTES = len(_FILE_MARK) + hashlib.sha256().digest_size


def folder(kind: str) -> Path:
    """The folder of compiled code of a kind, ``kernels`` or ``pyx``; this user alone can write it.

    It is under CYNET_HOME. Where others may write there, that right is taken away; where it belongs
    to another user, a folder that lasts as long as the process takes its place.

    Raises OSError when it cannot be made.
    """
    place = config.cache_folder() / kind
    place.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        place.mkdir(mode=0o700)
    found = place.stat()
    if _distrust_reason(found) == _WRITABLE_REASON:
        with suppress(OSError):
            place.chmod(stat.S_IMODE(found.st_mode) & ~0o022)
            found = place.stat()
    fault = _distrust_reason(found)
    return _private_folder(str(place), fault) / kind if fault else place


@functools.cache
def _private_folder(place: str, fault: str) -> Path:
    """A private folder for this process, with a warning that it replaces `place`."""
    warnings.warn(
        f"compiled code is not cached in {place}, because {fault}; each process compiles it "
        "again. Set CYNET_HOME to a folder of your own",
        stacklevel=4,
    )
    made, owner = Path(tempfile.mkdtemp(prefix="cynet-")), os.getpid()
    for kind in _KINDS:
        (made / kind).mkdir()

    def remove() -> None:
        if os.getpid() == owner:  # a forked child must not do it at its exit
            shutil.rmtree(made, ignore_errors=True)

    atexit.register(remove)
    return made


_FOREIGN_REASON, _WRITABLE_REASON = "it belongs to another user", "others can write there"


def _distrust_reason(found: os.stat_result) -> str | None:
    """The reason why a file or folder must not be trusted, from its os.stat; None if it may."""
    if not hasattr(os, "geteuid"):
        return None
    if found.st_uid != os.geteuid():
        return _FOREIGN_REASON
    return _WRITABLE_REASON if stat.S_IMODE(found.st_mode) & 0o022 else None


def read_cached(path: str | Path) -> bytes | None:
    """The object given to `write_cached`; None if it is missing, another user's or damaged."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        with open(path, "rb") as file:
            if _distrust_reason(os.fstat(file.fileno())):
                return None
            whole = file.read()
    except OSError:
        return None
    body = whole[:-_TAIL_BYTES]
    return body if whole[-_TAIL_BYTES:] == _digest_of_content(path, body) else None


def write_cached(path: str | Path, data: bytes) -> None:
    """Write an object to the cache, whole or not at all, so that `read_cached` finds it."""
    write_atomically(path, [data, _digest_of_content(path, data)], private=True)


def _digest_of_content(path: str | Path, data: bytes) -> bytes:
    digest = hashlib.sha256(os.path.basename(path).encode() + b"\0")
    digest.update(data)
    return _FILE_MARK + digest.digest()
