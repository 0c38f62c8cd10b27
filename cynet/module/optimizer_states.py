"""Optimizer states as files."""

import os
import tempfile


def write_states(path, updater, dump_optimizer=False):
    """Write an updater's states; a reader sees the old file or the whole new one."""
    content = updater.get_states(dump_optimizer)
    folder, name = os.path.split(os.path.abspath(path))
    handle, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask():
    current = os.umask(0)
    os.umask(current)
    return current


def read_states(path, updater):
    """Give an updater the states in a file."""
    with open(path, "rb") as file:
        updater.set_states(file.read())
