"""Writing files so that a crash leaves the old one or the new one, never half of it."""

import os
import tempfile


def write_atomically(path, data):
    """Write `data` (bytes, or an iterable of bytes-like chunks) to `path`.

    A temporary file beside it is written, flushed to the disk and renamed; on any error it is
    removed and `path` stays as it was.

    Examples
    --------
    >>> folder = tempfile.mkdtemp()
    >>> write_atomically(os.path.join(folder, "a.bin"), b"abc")
    >>> os.listdir(folder)
    ['a.bin']
    """
    path = os.path.realpath(os.fspath(path))  # a link stays one: what it points to is replaced
    chunks = [data] if isinstance(data, (bytes, bytearray, memoryview)) else data
    number, temporary = tempfile.mkstemp(prefix=".", suffix=".part", dir=os.path.dirname(path))
    try:
        with os.fdopen(number, "wb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode_of(path))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _mode_of(path):
    """The permissions of the file that is replaced, else those that open() would give a new one."""
    try:
        return os.stat(path).st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
