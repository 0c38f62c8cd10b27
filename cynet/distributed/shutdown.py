"""The exit of a rank: together with the others, or, after a failure, once all have reported it."""

import atexit
import logging
import os
import stat
import struct
import sys
import time

from ..base.errors import describe_error
from ..engine import get as engine

try:
    import fcntl
    import termios
except ImportError:  # Windows
    fcntl = termios = None

_READING_SECONDS = 2.0  # seconds that a launcher has for reading this process's output

_exit_state = {"code": None, "hooked": False}  # exit code; whether hooks are installed


def install_exit_hooks(find_world):
    """Install hooks that report the end of this process to the other ranks.

    Parameters
    ----------
    find_world : callable
        Returns the World, or None.
    """
    if _exit_state["hooked"]:
        return
    _exit_state["hooked"] = True
    atexit.register(_leave_job_at_exit, find_world)
    inner = sys.excepthook

    def report_exception(kind, error, trace):
        inner(kind, error, trace)
        _flush_streams()
        report_failure(find_world(), error)

    sys.excepthook = report_exception


def report_failure(world, error):
    """Report the exception that has ended this rank's program to the other ranks."""
    if world is not None:
        world.fail(describe_error(error)[:2000])


def set_exit_code(code):
    """Set the exit code of the process after a failure."""
    _exit_state["code"] = code


def abandon_startup():
    """Let the process exit without MPI: MPI did not start, and a thread waits for it in vain."""
    atexit.register(_exit_immediately)


def _flush_streams():
    for each in (sys.stdout, sys.stderr):
        try:
            each.flush()
        except (AttributeError, OSError, ValueError):  # the stream is missing or closed
            continue


def wait_until_read():
    """Wait at most two seconds until the launcher has read this process's output: when the first
    process of a failed job ends, mpiexec may drop the unread output of the others."""
    _flush_streams()
    until = time.monotonic() + _READING_SECONDS
    while any(map(_unread_bytes, (1, 2))) and time.monotonic() < until:
        time.sleep(0.005)


def _unread_bytes(number):
    """Return how many bytes wait in the pipe with file descriptor `number`."""
    try:
        if fcntl is None or not stat.S_ISFIFO(os.fstat(number).st_mode):
            return 0
        return struct.unpack("i", fcntl.ioctl(number, termios.FIONREAD, bytes(4)))[0]
    except OSError:  # the file is closed
        return 0


def _leave_job_at_exit(find_world):
    world = find_world()
    if world is None or world.size == 1 or world.pid != os.getpid():
        return
    try:
        engine().wait_for_all()
    except Exception as error:
        # after a failure of the ranks, every requested sum raises the failure
        if not world.has_failed:
            print(f"cynet: nobody waited for this error: {describe_error(error)}", file=sys.stderr)
    failure = world._finish_at_exit()
    if failure is None:
        return
    _exit_immediately()


def _exit_immediately():
    # MPI_Finalize may hang: it waits for ranks that have ended
    logging.shutdown()
    _flush_streams()
    os._exit(_exit_state["code"] or 1)
