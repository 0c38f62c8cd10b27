"""Removes the remains of killed processes: shared memory and folders of MPI sessions."""

import contextlib
import os
import shutil
import signal
import tempfile
import time

_SHARED_MEMORY_PREFIXES = ("sm_segment.", "mpich_shm_", "vader_segment.")  # of MPI's files
_FOLDER_PREFIXES = ("prterun.", "prted.", "prte.", "ompi.", "prun.")  # of MPI's session folders


def remove_files(since, memory="/dev/shm"):
    """Remove MPI's unused files in shared memory and the temporary folder: those of this user, of
    jobs that began at `since` (``time.time``) or later.

    since: float
    memory (str): The folder of shared memory.

    Returns list of str: what was removed.
    """
    left = [
        *_find_files(memory, _SHARED_MEMORY_PREFIXES, since),
        *_find_files(tempfile.gettempdir(), _FOLDER_PREFIXES, since),
    ]
    if not left:
        return []
    used = _find_open_paths()
    out = []
    for path in left:
        if any(each.startswith(path) for each in used):
            continue
        with contextlib.suppress(OSError):
            if os.path.isdir(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
            out.append(path)
    return out


def _find_files(folder, prefixes, since):
    with contextlib.suppress(OSError):
        for each in os.scandir(folder):
            if not each.name.startswith(prefixes):
                continue
            with contextlib.suppress(OSError):
                status = each.stat(follow_symlinks=False)
                if status.st_uid == os.getuid() and status.st_mtime >= since - 1:
                    yield each.path


def _find_open_paths():
    """Return the paths that processes of this user have mapped or open."""
    out = set()
    for number in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{number}/maps", encoding="utf-8", errors="replace") as file:
                out.update(line.split(None, 5)[-1].strip() for line in file if "/" in line)
            for each in os.scandir(f"/proc/{number}/fd"):
                with contextlib.suppress(OSError):
                    out.add(os.readlink(each.path))
    return out


def descendant_processes(pid):
    """Return {process id: start time} of all descendants of process `pid`."""
    rows = {}
    for number in filter(str.isdigit, os.listdir("/proc")):
        row = _process_status(int(number))
        if row is not None:
            rows[int(number)] = row
    out, more = {}, {pid}
    while more:
        more = {child for child, (_, parent, _) in rows.items() if parent in more}
        out.update((child, rows[child][2]) for child in more)
    return out


def job_processes(folders):
    """Return {process id: start time} of the jobs with these folders in their environment."""
    wanted = [b"CYNET_LAUNCH_JOB=" + os.fsencode(each) for each in folders]
    out = {}
    for number in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{number}/environ", "rb") as file:
                given = file.read().split(b"\0")
            row = _process_status(int(number))
            if row is not None and any(each in given for each in wanted):
                out[int(number)] = row[2]
    return out


def end_processes(processes, seconds=3.0):
    """End processes: by SIGTERM, and after some seconds the remaining ones by SIGKILL.

    processes (dict of int to str): Process id -> start time, or None: a later process with the same
    id is not ended.
    """
    left = [pid for pid, began in processes.items() if _is_alive(pid, began)]
    for number in (signal.SIGTERM, signal.SIGCONT):
        _send_signal(left, number)
    until = time.monotonic() + seconds
    while left and time.monotonic() < until:
        time.sleep(0.02)
        left = [pid for pid in left if _is_alive(pid, processes[pid])]
    _send_signal(left, signal.SIGKILL)


def _send_signal(pids, number):
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def _is_alive(pid, start_time):
    row = _process_status(pid)
    return row is not None and row[0] != "Z" and start_time in (None, row[2])


def _process_status(pid):
    """Return (state, parent, start time) of a process, or None."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            row = file.read().rpartition(")")[2].split()
        return row[0], int(row[1]), row[19]
    except (OSError, IndexError, ValueError):
        return None
