"""Importing cynet is quick, starts no thread and needs no optional package."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import cynet


def run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_at_most_a_third_of_a_second_beyond_numpy(tmp_path):
    """With byte code, as an installed package has it: the first run writes it.

    CPU time: what other processes take of a busy machine does not count.
    """
    code = (
        "import time, numpy; start = time.process_time(); import cynet; "
        "print(time.process_time() - start)"
    )
    cache = {"PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    assert min(float(run(code, **cache)) for _ in range(6)) <= 0.25


def test_imports_few_modules():
    code = "import sys, cynet; print(sum(n.partition('.')[0] == 'cynet' for n in sys.modules))"
    assert int(run(code)) <= 340


def test_starts_no_thread():
    code = (
        "import os, numpy; before = len(os.listdir('/proc/self/task')); import cynet; "
        "print(len(os.listdir('/proc/self/task')) - before)"
    )
    assert int(run(code)) == 0


def test_needs_no_optional_package():
    loaded = set(run("import sys, cynet; print(*sys.modules)").split())
    later = ("gluon", "image", "io", "kvstore", "metric", "module", "optimizer", "visualization")
    assert not {*(f"cynet.{each}" for each in later), "cv2"} & loaded
    assert not loaded & {"matplotlib", "pycuda", "scipy", "graphviz"}


def test_a_source_folder_says_what_to_do(tmp_path):
    """After ``pip install .``, Python started in the checkout imports what is not compiled."""
    source = Path(cynet.__file__).parent
    (tmp_path / "cynet" / "base").mkdir(parents=True)
    for name in ("__init__.py", "base/__init__.py", "base/built.py"):
        shutil.copy(source / name, tmp_path / "cynet" / name)
    command = [sys.executable, "-S", "-c", "import cynet"]  # no site: nothing installed is found
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"ImportError: cynet's compiled modules are not in {tmp_path}/cynet" in done.stderr
    assert "start Python in another folder" in done.stderr and "`make build`" in done.stderr
