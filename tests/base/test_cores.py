"""How many cores there are: affinity, and quotas of control groups in a tree of files."""

import os
import subprocess
import sys

import pytest

from cynet.base import cores


def tree(root, group, files):
    """A folder like / with the lines of /proc/self/cgroup and some files of /sys/fs/cgroup."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(group)
    for name, text in files.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    "group, files, wanted",
    [
        ("0::/\n", {}, float("inf")),
        ("0::/\n", {"cpu.max": "max 100000\n"}, float("inf")),
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
        ("0::/a/b\n", {"cpu.max": "max 100000", "a/cpu.max": "200000 100000"}, 2),
        ("0::/a/b\n", {"a/cpu.max": "300000 100000", "a/b/cpu.max": "50000 100000"}, 0.5),
        # the host's path, of which the container sees its own group as the root
        ("0::/docker/1234\n", {"cpu.max": "400000 100000"}, 4),
        ("0::/\n", {"cpu.max": "nonsense\n"}, float("inf")),
        ("0::/\n", {"cpu.max": "0 100000\n"}, float("inf")),
        (
            "3:cpu,cpuacct:/a\n1:name=systemd:/\n",
            {
                "cpu,cpuacct/a/cpu.cfs_quota_us": "250000\n",
                "cpu,cpuacct/a/cpu.cfs_period_us": "100000\n",
                "cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
                "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            },
            2.5,
        ),
        (
            "2:cpuacct,cpu:/\n",
            {"cpu/cpu.cfs_quota_us": "100000", "cpu/cpu.cfs_period_us": "50000"},
            2,
        ),
        ("nonsense\n", {"cpu.max": "100000 100000"}, float("inf")),
    ],
)
def test_quota(tmp_path, group, files, wanted):
    assert cores.core_quota(tree(tmp_path, group, files)) == wanted


def test_no_control_groups(tmp_path):
    assert cores.core_quota(tmp_path) == float("inf")


@pytest.mark.parametrize("quota, wanted", [("250000", 2), ("50000", 1), ("max", 9)])
def test_cores_are_the_least_of_affinity_and_quota(tmp_path, monkeypatch, quota, wanted):
    tree(tmp_path, "0::/\n", {"cpu.max": f"{quota} 100000\n"})
    monkeypatch.setattr(cores, "_ROOT_FOLDER", tmp_path)
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda pid: set(range(9)), raising=False)
    assert cores.usable_cores() == wanted


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs affinity")
def test_affinity_sets_the_threads():
    code = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import cynet
print(cynet.get_num_threads())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1"]
