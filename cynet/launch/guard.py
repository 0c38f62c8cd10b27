"""Guard: ends the processes of a job if its launcher is killed."""

import contextlib
import os
import shutil
import signal
import time

from .sweep import end_processes, job_processes, remove_files

_TERM_SECONDS = 0.8  # seconds that mpiexec has to end ranks on other machines; then all get SIGKILL
_JOBS_ENDED = "over"  # sent as the last line if the jobs have ended


class Guard:  # a watchdog process that ends orphaned jobs
    """A watchdog process that waits for the end of this one.

    It gets the folder of each job. The processes of a job have its folder in their environment, so
    they are found even if their parents and their process group have ended.

    Raises
    ------
    OSError
        There is no memory for a further process.
    """

    def __init__(self):
        self._folders = []
        self._fork_guard_process()

    def _fork_guard_process(self):
        reading, self._writing = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                os.close(self._writing)
                _detach_from_launcher()
                _watch_launcher(reading)
            finally:
                os._exit(0)
        os.close(reading)

    def add_job_folder(self, folder):
        """Add a job, whose processes have this folder as CYNET_LAUNCH_JOB."""
        self._folders.append(folder)
        try:
            os.write(self._writing, os.fsencode(folder) + b"\n")
        except OSError:  # the launcher was killed
            self._end_guard_process(False)
            self._fork_guard_process()
            os.write(self._writing, b"".join(os.fsencode(each) + b"\n" for each in self._folders))

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self._end_guard_process(kind is None)

    def _end_guard_process(self, over):
        """End the guard, and also the jobs unless they are `over`."""
        if over:
            with contextlib.suppress(OSError):
                os.write(self._writing, os.fsencode(f"{_JOBS_ENDED}\n"))
        os.close(self._writing)
        os.waitpid(self._pid, 0)


def _detach_from_launcher():
    """Detach this process from the launcher's terminal, process group and pipes."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)


def _watch_launcher(reading):
    """Wait until the launcher ends, which closes the pipe, and end its jobs."""
    began, text = time.time(), b""
    while piece := os.read(reading, 1 << 16):
        text += piece
    folders = [os.fsdecode(each) for each in text.splitlines()]
    if folders[-1:] == [_JOBS_ENDED]:
        return
    end_processes(job_processes(folders), _TERM_SECONDS)
    end_processes(job_processes(folders), 0.0)  # processes that were started in the meantime
    for each in folders:
        shutil.rmtree(each, ignore_errors=True)
    remove_files(began)
