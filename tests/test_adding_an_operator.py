"""docs/adding_an_operator.md, followed to the letter in a copy of the tree."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PATH = re.compile(r"`((?:cynet|tests)/[\w/]+\.(?:pyx|pxd|py|cu))`")


def read_page():
    """(files, scripts): each block belongs to the path named last before it, the first time."""
    files, scripts, path, block = {}, [], None, None
    for line in (ROOT / "docs/adding_an_operator.md").read_text().splitlines():
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


def test_the_page_leads_to_a_tested_operator(tmp_path):
    pytest.importorskip("Cython")
    for name in ("cynet", "tests/operator", "tests/cuda", "tests/fixtures"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "cynet", tmp_path / "build" / "cynet")
    for path in [*tmp_path.rglob("*.cpp"), *tmp_path.rglob("*.so")]:
        path.touch()  # up to date: only the new modules are compiled
    tools = ("tests/conftest.py", "tests/reporting.py", "tests/bfloat16.py")
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", *tools):
        shutil.copy2(ROOT / name, tmp_path / name)
    files, scripts = read_page()
    assert len(files) == 9 and len(scripts) == 1
    for name, text in files.items():
        path = tmp_path / name
        assert path.exists() == (path.name in ("__init__.py", "families.py", "registry.py"))
        path.write_text(path.read_text() + text if path.exists() else text)

    run(tmp_path, "setup.py", "-q", "build_ext", "--inplace", "--build-lib", "build")
    assert "Steepness of the sigmoid" in run(tmp_path, "-c", scripts[0])
    output = run(tmp_path, "-m", "pytest", "-q", "tests/operator/test_common.py", "-k", "Swish")
    assert re.search(r"\b\d\d+ passed", output)
    output = run(tmp_path, "-m", "pytest", "-q", "tests/operator/cuda/test_forms.py", "-k", "Swish")
    assert re.search(r"\b[1-9] passed", output)
