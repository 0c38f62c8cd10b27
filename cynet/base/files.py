"""Files: opened and replaced atomically, with errors that name the file.

A new content is written to a temporary file beside the old one, `.cynet-....part`, which then takes
its place. As long as it is written its process holds a lock on it; those without one are what a
process left that was killed, and the next save in the folder removes them.
"""

import errno
import io
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from .errors import (
    ArgumentError,
    ArgumentTypeError,
    FileAccessError,
    FileError,
    FolderError,
    FormatError,
    MissingFileError,
    file_error,
    shown,
)

try:
    import fcntl
except ImportError:  # on Windows, where an open file cannot be removed
    fcntl = None  # type: ignore[assignment]

_PART_FILE = re.compile(r"\.cynet-[0-9a-f]{16}\.part")  # names of files that are being written
_BINARY = getattr(os, "O_BINARY", 0)  # Windows: without it, os.open changes line ends
# the checksum at the end of a file, which detects damage when the file is read
_CHECKSUM_MARK, _DIGEST_BYTES, _CHUNK_BYTES = b"CYNSUM1\n", 20, 1 << 20  # of checksums, of reads
SEAL_BYTES = len(_CHECKSUM_MARK) + _DIGEST_BYTES  # bytes of the checksum at the end of a file


def file_name(given: Any, purpose: str = "a file name") -> str:
    """Check the name of a file that a user gave; returns it as a str.

    Raises ArgumentTypeError or ArgumentError when it is no str or path, or no file can have that
    name.
    """
    if not isinstance(given, (str, os.PathLike)):
        raise ArgumentTypeError(f"{purpose} is expected, got {type(given).__name__}")
    name = os.fsdecode(given)
    try:
        encoded = os.fsencode(name)
    except UnicodeEncodeError:
        encoded = b""
    if not encoded or b"\0" in encoded:
        raise ArgumentError(f"{purpose} is expected, and no file can be called {shown(name)}")
    return name


@contextmanager
def naming(verb: str, name: object) -> Iterator[None]:
    """Turn an OSError inside of the block into a FileError, "cannot VERB 'NAME': ..."."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        raise file_error(error, verb, name) from None


@contextmanager
def open_for_reading(path: Any) -> Iterator[Any]:
    """Open a file for reading bytes inside of a block; pipes are accepted, devices refused.

    Raises FileError: also the OSError of its kind; of anything that fails with an OSError in the
    block.
    """
    name = file_name(path)
    with naming("read", name), open(name, "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise FileError(errno.EINVAL, f"cannot read {shown(name)}: it is a device", name)
        yield file


def read_file(path: Any) -> bytes:
    """Read the bytes of a file."""
    with open_for_reading(path) as file:
        return bytes(file.read())


def write_atomically(path: Any, data: Iterable[Any], private: bool = False) -> None:
    """Write `data` (bytes, or an iterable of bytes-like chunks) to `path` by `overwrite`.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> write_atomically(os.path.join(folder, "a.bin"), b"abc")
    >>> os.listdir(folder)
    ['a.bin']
    """
    chunks = [data] if isinstance(data, (bytes, bytearray, memoryview)) else data
    with overwrite(path, private) as file:
        for chunk in chunks:
            file.write(chunk)


@contextmanager
def overwrite(path: Any, private: bool = False) -> Iterator[Any]:
    """Open a new file for writing, which replaces the file at `path` when the block ends.

    When the block raises, `path` stays as it was. A link stays one: what it points to is replaced.
    Permissions and, where that is allowed, the owner of the old file stay. Pipes and character
    devices are written to; folders, sockets and disks are refused.

    private: The file belongs to this user, who alone can read and write it, whatever it was before.

    Raises FileError: also the OSError of its kind; it names `path`.
    """
    new = NewFile(path, private)
    try:
        with naming("write", new.name):
            yield new.file
        new.flush_to_disk()
        new.replace_old()
    except BaseException:
        new.discard()
        raise


class NewFile:
    """The steps of `overwrite` as methods, for a file that is written in many calls, and for
    several files that are all written before the first one replaces its old file.

    path, private: See `overwrite`.
    buffering: Of the file, as ``open`` takes it.

    Examples
    --------
    >>> import tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.bin")
    >>> new = NewFile(path)
    >>> _ = new.file.write(b"abc")
    >>> os.path.exists(path)
    False
    >>> new.flush_to_disk()
    >>> new.replace_old()
    >>> os.path.getsize(path)
    3
    """

    def __init__(self, path: Any, private: bool = False, buffering: int = -1) -> None:
        self.name = name = file_name(path)
        self._part: str | None = None
        with naming("write", name):
            try:
                old = os.stat(name)
            except FileNotFoundError:
                old = None
            if old is not None and not stat.S_ISREG(old.st_mode):
                self.file = os.fdopen(_open_special_file(name, old.st_mode), "wb", buffering)
                return
            self._target = os.path.realpath(name)
            self._folder = os.path.dirname(self._target)
            _check_writable(name, old, self._target, self._folder)
            _remove_dead_part_files(self._folder)
            self._part, number = _new_part_file(self._folder, old, private)
            self.file = os.fdopen(number, "wb", buffering)

    @property
    def is_regular(self) -> bool:
        """Whether the target is a regular file, which is replaced; False for a pipe or a device."""
        return self._part is not None

    def flush_to_disk(self) -> None:
        """Flush all data to the disk, so that later steps do not fail for lack of space."""
        with naming("write", self.name):
            self.file.flush()
            if self._part is not None:
                os.fsync(self.file.fileno())

    def replace_old(self) -> None:
        """Replace the old file by the new one."""
        with naming("write", self.name):
            if self._part is None or fcntl is None:
                self.file.close()
            if self._part is not None:
                os.replace(self._part, self._target)  # still locked
                self._part = None
                self.file.close()
                _sync_folder(self._folder)

    def discard(self) -> None:
        """Delete the new file; the old file stays unchanged."""
        part, self._part = self._part, None
        with suppress(OSError):
            self.file.close()
        if part is not None:
            with suppress(OSError):
                os.unlink(part)


def _error_arguments(number: int, reason: str, name: str) -> tuple[int, str, str]:
    """Return the arguments of a FileError that the system has not raised."""
    return number, f"cannot write {shown(name)}: {reason}", name


def _check_writable(name: str, old: os.stat_result | None, target: str, folder: str) -> None:
    """Raise the error that open() would raise for a path that cannot be written."""
    if name.endswith(os.sep):
        raise FolderError(*_error_arguments(errno.EISDIR, "it ends like a folder's name", name))
    if not os.path.isdir(folder):
        missing = f"there is no folder {shown(os.path.dirname(name))}"
        raise MissingFileError(*_error_arguments(errno.ENOENT, missing, name))
    effective = os.access in os.supports_effective_ids
    if old is not None and not os.access(target, os.W_OK, effective_ids=effective):
        raise FileAccessError(*_error_arguments(errno.EACCES, "it may not be written", name))


def _open_special_file(name: str, mode: int) -> int:
    """Open a pipe or a device for writing; returns its descriptor."""
    if stat.S_ISDIR(mode):
        raise FolderError(*_error_arguments(errno.EISDIR, "it is a folder", name))
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        kind = "disk" if stat.S_ISBLK(mode) else "socket"
        raise FileError(*_error_arguments(errno.EINVAL, f"it is a {kind}", name))
    try:
        number = os.open(name, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        if error.errno == errno.ENXIO and stat.S_ISFIFO(mode):
            reason = _error_arguments(errno.ENXIO, "it is a pipe without a reader", name)
            raise FileError(*reason) from None
        raise
    os.set_blocking(number, True)
    return number


def _new_digest() -> Any:
    from hashlib import blake2b  # imported late: hashlib loads OpenSSL

    return blake2b(digest_size=_DIGEST_BYTES)


def append_checksum(chunks: Iterable[Any]) -> Iterator[Any]:
    """Yield chunks of bytes, then the checksum of all of them.

    Examples
    --------
    >>> content = b"".join(append_checksum([b"abc"]))
    >>> content[:3], len(content) - SEAL_BYTES
    (b'abc', 3)
    """
    digest = _new_digest()
    for chunk in chunks:
        digest.update(chunk)
        yield chunk
    yield _CHECKSUM_MARK + digest.digest()


def content_size(file: Any, size: int, name: object) -> int:
    """Return the size of an open file without its checksum, which is checked; reads the whole file.

    Raises FormatError: they are not what the checksum says. A file without one is as old as that.
    """
    if size < SEAL_BYTES:
        return size
    file.seek(size - SEAL_BYTES)
    seal = bytes(file.read(SEAL_BYTES))
    if seal[: len(_CHECKSUM_MARK)] != _CHECKSUM_MARK:
        return size
    file.seek(0)
    digest, left = _new_digest(), size - SEAL_BYTES
    while left:
        piece = file.read(min(left, _CHUNK_BYTES))
        if not piece:
            break
        digest.update(piece)
        left -= len(piece)
    if digest.digest() != seal[len(_CHECKSUM_MARK) :]:
        raise FormatError(f"{name}: damaged: its checksum is that of another content")
    return size - SEAL_BYTES


@contextmanager
def open_checked(path: Any) -> Iterator[tuple[Any, int, bool]]:
    """Open a file and check its checksum; gives (file, size of its content, has a checksum)."""
    with open_for_reading(path) as file:
        if file.seekable():
            size = os.fstat(file.fileno()).st_size
        else:
            data = file.read()
            file, size = io.BytesIO(data), len(data)
        content = content_size(file, size, path)
        file.seek(0)
        yield file, content, content < size


def _new_part_file(folder: str, old: os.stat_result | None, private: bool) -> tuple[str, int]:
    """Create a locked temporary file with `old`'s permissions; returns path and descriptor."""
    replaced = None if private else old
    # the system removes the umask from the mode
    mode = 0o600 if replaced is not None or private else 0o666
    while True:
        part = os.path.join(folder, f".cynet-{os.urandom(8).hex()}.part")
        number = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | _BINARY, mode)
        try:
            if _lock_file(number) is not False and os.fstat(number).st_nlink:
                if replaced is not None:
                    _copy_permissions(number, replaced)
                return part, number
        except BaseException:
            os.close(number)
            with suppress(OSError):
                os.unlink(part)
            raise
        os.close(number)  # another process has removed the file before it was locked


def _copy_permissions(number: int, old: os.stat_result) -> None:
    """Copy owner and permissions from the replaced file to the new one."""
    if not hasattr(os, "fchmod"):
        return
    new = os.fstat(number)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(OSError):
            os.fchown(number, -1, old.st_gid)
        with suppress(OSError):
            os.fchown(number, old.st_uid, -1)
    os.fchmod(number, stat.S_IMODE(old.st_mode) & 0o777)


def _lock_file(number: int) -> bool | None:
    """Lock a temporary file: True if locked, False if its process lives, None without file
    locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _remove_dead_part_files(folder: str) -> None:
    """Remove the temporary files that no living process writes."""
    try:
        parts = [each for each in os.listdir(folder) if _PART_FILE.fullmatch(each)]
    except OSError:
        return
    for part in parts:
        with suppress(OSError):
            part = os.path.join(folder, part)
            if fcntl is None:
                os.unlink(part)
                continue
            number = os.open(part, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                if _lock_file(number):
                    os.unlink(part)
            finally:
                os.close(number)


def _sync_folder(folder: str) -> None:
    """Flush a folder to disk, so that a renaming survives a crash of the machine."""
    try:
        number = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows, or a folder without permission
        return
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EROFS):
            raise
    finally:
        os.close(number)
