"""The number of cores this process may use: its affinity, limited by a container's quota.

Control groups limit a process to some microseconds of all cores in each period (Linux, versions 1
and 2). Each group above the process's own counts as well.
"""

import os

_ROOT_FOLDER = "/"  # where cgroups are looked up; tests use another


def usable_cores() -> int:
    """Return the number of cores this process may use, at least 1.

    Of a quota that is no whole number the rest is left out: a thread more would use up the quota
    and then stop with all others until the next period.

    >>> usable_cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return max(1, int(min(cores, core_quota(_ROOT_FOLDER))))


def core_quota(root: "str | os.PathLike[str]") -> float:
    """Return the cores that control groups allow to this process; infinity without a limit.

    root: The folder that contains ``proc`` and ``sys``: ``/``, except in tests.
    """
    least, groups = float("inf"), os.path.join(root, "sys/fs/cgroup")
    for line in _read_text(os.path.join(root, "proc/self/cgroup")).splitlines():
        number, controllers, group = (line.split(":", 2) + ["", ""])[:3]
        if number == "0" and not controllers:
            mount, read = groups, _quota_of_cgroup_v2
        elif "cpu" in controllers.split(","):
            mount, read = os.path.join(groups, controllers), _quota_of_cgroup_v1
            if not os.path.isdir(mount):
                mount = os.path.join(groups, "cpu")
        else:
            continue
        inner = group.strip("/")
        # in a container the host's path may be missing: then the mount itself is the group
        least = min(least, read(mount))
        while inner:
            least = min(least, read(os.path.join(mount, inner)))
            inner = os.path.dirname(inner)
    return least


def _read_text(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""


def _quota_ratio(quota_text: str, period_text: str) -> float:
    try:
        quota, period = int(quota_text), int(period_text)
    except ValueError:  # "max", or no file
        return float("inf")
    return quota / period if quota > 0 and period > 0 else float("inf")


def _quota_of_cgroup_v2(folder: str) -> float:
    words = _read_text(os.path.join(folder, "cpu.max")).split()
    return _quota_ratio(*words) if len(words) == 2 else float("inf")


def _quota_of_cgroup_v1(folder: str) -> float:
    texts = (_read_text(os.path.join(folder, f"cpu.cfs_{each}_us")) for each in ("quota", "period"))
    return _quota_ratio(*texts)
