"""The number of cores this process may use: its affinity, limited by a container's quota.

Control groups limit a process to some microseconds of all cores in each period (Linux, versions 1
and 2). Each group above the process's own counts as well.
"""

import os
from pathlib import Path, PurePosixPath

_ROOT = Path("/")


def usable_cores() -> int:
    """The number of threads that can run at once, at least 1.

    Of a quota that is no whole number the rest is left out: a thread more would use up the quota
    and then stop with all others until the next period.

    >>> usable_cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return max(1, int(min(cores, quota_of(_ROOT))))


def quota_of(root: Path) -> float:
    """The cores that control groups leave to this process; infinity where they set no limit.

    Parameters
    ----------
    root : Path
        The folder that has ``proc`` and ``sys``: ``/`` but in tests.
    """
    least = float("inf")
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, controllers, group = (line.split(":", 2) + ["", ""])[:3]
        if number == "0" and not controllers:
            mount, read = root / "sys/fs/cgroup", _quota_2
        elif "cpu" in controllers.split(","):
            mount, read = root / "sys/fs/cgroup" / controllers, _quota_1
            if not mount.is_dir():
                mount = root / "sys/fs/cgroup/cpu"
        else:
            continue
        inner = PurePosixPath(group.lstrip("/"))
        # within a container the path may be the host's, which is not there: its mount is the group
        for folder in (inner, *inner.parents):
            least = min(least, read(mount / folder))
    return least


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""


def _ratio(quota_text: str, period_text: str) -> float:
    try:
        quota, period = int(quota_text), int(period_text)
    except ValueError:  # "max", or no file
        return float("inf")
    return quota / period if quota > 0 and period > 0 else float("inf")


def _quota_2(folder: Path) -> float:
    words = _text(folder / "cpu.max").split()
    return _ratio(*words) if len(words) == 2 else float("inf")


def _quota_1(folder: Path) -> float:
    return _ratio(_text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us"))
