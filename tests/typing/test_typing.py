"""What type checkers say of code that uses cynet: nothing of good.py, every marked line of bad.py.

They find cynet as they find any package: a wheel that is installed, or this checkout, of which an
editable install has a path file.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FILES = ["good.py", "bad.py"]


# packages whose functions are made by loops
MADE = ("ndarray", "numpy", "numpy.fft", "numpy.linalg", "numpy.random", "numpy_extension")
MADE += ("numpy_extension.image", "numpy_extension.random", "symbol")


def run(tmp_path, *command):
    """(Exit status, text) of a checker, started where FILES are and no other cynet is near."""
    for name in FILES:
        shutil.copy(HERE / name, tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if k not in ("MYPYPATH", "PYTHONPATH")},
        capture_output=True,
        text=True,
        timeout=600,
    )
    return done.returncode, done.stdout + done.stderr


def expected(checker):
    """Numbers of the lines of bad.py that `checker` must refuse."""
    lines = (HERE / "bad.py").read_text().splitlines()
    markers = re.compile(rf"# error(: {checker})?$")
    return [number for number, line in enumerate(lines, 1) if markers.search(line)]


def compare(found, checker):
    """`found`: (file name, line, message) of each error."""
    good = [f"{line}: {message}" for name, line, message in found if name == "good.py"]
    assert not good, "\n".join(good)
    assert sorted({line for name, line, _ in found if name == "bad.py"}) == expected(checker)
    assert {name for name, _, _ in found} == {"bad.py"}, found


LIST_NAMES = """
import importlib, sys
for package in sys.argv[1:]:
    module = importlib.import_module("cynet." + package)
    for name in getattr(module, "__all__", None) or dir(module):
        if not name.startswith("_"):
            print(package, name)
"""


def write_imports(path):
    """A file that imports every public name of the packages in MADE; how many these are."""
    # in a process of its own: other tests register operators
    ran = [sys.executable, "-c", LIST_NAMES, *MADE]
    found = subprocess.run(ran, capture_output=True, text=True, check=True).stdout.split()
    pairs = list(zip(found[::2], found[1::2], strict=True))
    lines = [
        f"from cynet.{package} import {name} as x{i}" for i, (package, name) in enumerate(pairs)
    ]
    path.write_text("\n".join(lines))
    return len(lines)


def test_mypy(tmp_path, pytestconfig):
    pytest.importorskip("mypy", reason="mypy is not installed")
    kept = getattr(pytestconfig, "cache", None)  # not under -p no:cacheprovider
    cache = kept.mkdir("mypy") if kept else tmp_path / "cache"
    flags = ["--strict", "--follow-imports=silent", "--no-error-summary", "--no-color-output"]
    assert write_imports(tmp_path / "imports.py") > 1000
    files = [*FILES, "imports.py"]
    status, text = run(tmp_path, "mypy", *flags, "--cache-dir", str(cache), *files)
    assert status == 1, text
    rows = re.findall(r"^(.*?):(\d+): error: (.*)$", text, re.M)
    compare([(Path(name).name, int(line), message) for name, line, message in rows], "mypy")


def write_pages(folder):
    """A file of each page for users, of its Python; their names."""
    from tests.test_docs import PAGES, blocks  # of the checkout, not beside an installed package

    written = []
    for page in PAGES:
        code = "\n".join(blocks(page, "python"))
        if code and (page.name in ("README.md", "migration.md") or page.parent.name == "guide"):
            written.append(f"page_{len(written)}_{page.stem}.py")
            start = (
                "import numpy as np\nimport cynet as mx\nfrom cynet import autograd, gluon, nd\n"
            )
            (folder / written[-1]).write_text(start + code)
    assert len(written) > 5
    return written


# what pages do that a type checker cannot follow: operators registered by them, a callable module
PAGES_DO = re.compile(r'"\w+" is not a known attribute of module|Module is not callable')
OF_CALLS = {
    "reportArgumentType",
    "reportCallIssue",
    "reportAttributeAccessIssue",
    "reportIndexIssue",
    "reportOperatorIssue",
    "reportOptionalMemberAccess",
    "reportOptionalSubscript",
}


def test_pyright(tmp_path):
    pytest.importorskip("pyright", reason="pyright is not installed")
    status, text = run(tmp_path, "pyright", "--version")
    if status:
        pytest.skip(f"pyright has no Node.js here, or cannot fetch itself: {text[-200:]}")
    pages = write_pages(tmp_path)
    settings = {"include": [*FILES, *pages], "typeCheckingMode": "standard"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    _, text = run(tmp_path, "pyright", "--outputjson", "--pythonpath", sys.executable)
    rows = json.loads(text[text.index("{") :])["generalDiagnostics"]
    errors = [row for row in rows if row["severity"] == "error"]
    found = [
        (Path(row["file"]).name, row["range"]["start"]["line"] + 1, row["message"])
        for row in errors
        if Path(row["file"]).name not in pages
    ]
    said = [
        (Path(row["file"]).name, row["range"]["start"]["line"] + 1, row["message"])
        for row in errors
        if Path(row["file"]).name in pages
        and row.get("rule") in OF_CALLS
        and not PAGES_DO.match(row["message"])
    ]
    assert not said, said
    compare(found, "pyright")
