"""docs/adding_an_operator.md, followed to the letter in a copy of the tree."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PATH = re.compile(r"`((?:cynet|tests)/[\w/]+\.(?:cc|py|cu))`")


def read_page(page):
    """(files, scripts): each block belongs to the path named last before it, the first time."""
    files, scripts, path, block = {}, [], None, None
    for line in page.read_text().splitlines():
        if line.startswith("```") and block is None:
            block = []
        elif line.startswith("```"):
            text = "\n".join(block) + "\n"
            if path is not None and path not in files:
                files[path] = text
            else:
                scripts.append(text)
            block = None
        elif block is not None:
            block.append(line)
        elif PATH.search(line):
            path = PATH.findall(line)[-1]
    return files, scripts


def run(folder, *command):
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


# Only the module of all kernels is built: none of the others has changed.
BUILD = """
import runpy, sys
import Cython.Build
cythonize = Cython.Build.cythonize
Cython.Build.cythonize = lambda modules, **options: cythonize(
    [m for m in modules if m.name == "cynet.kernels.table"], **options) if any(
    m.name == "cynet.kernels.table" for m in modules) else []
sys.argv = ["setup.py", "-q", "build_ext", "--inplace", "--build-temp", "build/objects"]
runpy.run_path("setup.py", run_name="__main__")
"""


def test_the_page_leads_to_a_tested_operator(tmp_path):
    pytest.importorskip("Cython")
    for name in ("operator", "cuda", "fixtures", "autograd"):
        shutil.copytree(ROOT / "tests" / name, tmp_path / "tests" / name)
    for name in ("cynet", "cynet_cuda_cpu"):
        ignored = shutil.ignore_patterns("*.cpp", "__pycache__")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    if (ROOT / "build/objects").exists():  # of kernels that are compiled already
        shutil.copytree(ROOT / "build/objects", tmp_path / "build/objects")
    more = "setup.py", "pyproject.toml", "README.md", "LICENSE", "cynet/kernels/table.cpp"
    helpers = [p.relative_to(ROOT) for p in (ROOT / "tests").glob("[!t]*.py")]
    for name in (*more, *helpers):
        shutil.copy2(ROOT / name, tmp_path / name)
    page = ROOT / "docs/adding_an_operator.md"
    assert page.read_text().count("\n") <= 160
    files, scripts = read_page(page)
    assert len(files) == 6 and not scripts
    for name, text in files.items():
        path = tmp_path / name
        assert path.exists() == (path.name in ("__init__.py", "families.py"))
        path.write_text(path.read_text() + text if path.exists() else text)

    run(tmp_path, "-c", BUILD)
    shown = run(tmp_path, "-c", "import cynet; help(cynet.nd.Swish)")
    assert "Steepness of the sigmoid" in shown
    tests = "tests/operator/test_common.py", "tests/autograd/test_second_order.py"
    tests += ("tests/operator/cuda/test_forms.py",)
    output = run(tmp_path, "-m", "pytest", "-q", *tests, "-k", "Swish")
    assert re.search(r"\b\d\d+ passed", output)
    assert "skipped" not in output
