"""docs/adding_an_operator.md, followed to the letter in a copy of the tree."""

import os
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
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


WALKS = (
    "test_every_operator_has_an_example",
    "test_functions_are_those_of_the_stubs",
    "test_each_operator_is_covered",
    "test_rows_cover_the_exporters",
    "test_every_form_is_here",
)

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


def commands(page):
    """The lines of the page that are run, as lists of arguments of Python."""
    text = page.read_text().replace("\\\n", " ")
    found = re.findall(r"^    \.venv/bin/python (.+)$", text, re.M)
    return [each.split() for each in found]


def test_the_page_leads_to_a_tested_operator(tmp_path):
    pytest.importorskip("Cython")
    pytest.importorskip("onnxruntime")
    for name, left in (
        ("tests", ()),
        ("scripts", ()),
        ("cynet", ("*.cpp",)),
        ("cynet_cuda_cpu", ("*.cpp",)),
    ):
        ignored = shutil.ignore_patterns("__pycache__", *left)
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    if (ROOT / "build/objects").exists():  # of kernels that are compiled already
        shutil.copytree(ROOT / "build/objects", tmp_path / "build/objects")
    more = "setup.py", "pyproject.toml", "README.md", "LICENSE", "cynet/kernels/table.cpp"
    for name in more:
        shutil.copy2(ROOT / name, tmp_path / name)
    page = ROOT / "docs/adding_an_operator.md"
    assert page.read_text().count("\n") <= 200
    files, scripts = read_page(page)
    assert len(files) == 7 and not scripts
    for name, text in files.items():
        path = tmp_path / name
        assert path.exists() == (path.name in ("__init__.py", "families.py"))
        path.write_text(path.read_text() + text if path.exists() else text)

    run(tmp_path, "-c", BUILD)
    shown = run(tmp_path, "-c", "import cynet; help(cynet.nd.Swish)")
    assert "Steepness of the sigmoid" in shown and "0.11920293" in shown
    assert "def Swish(" in (tmp_path / "cynet/ndarray/__init__.pyi").read_text()
    (tests,) = commands(page)
    # what is of the operator, and the walks over all that have said no before
    output = run(tmp_path, *tests, "-k", " or ".join(("Swish", *WALKS)))
    assert re.search(r"\b[2-9]\d passed", output)
    assert "skipped" not in output


def linked(folder, source):
    """`folder` with links to all files of `source`, for a tree in which a few files differ."""
    for path in source.rglob("*"):
        target = folder / path.relative_to(source)
        if path.is_file() and path.suffix != ".pyc":
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(path)


def add_line(path, after, line):
    """Replace a link by its text with a line behind the first that begins so."""
    text = path.read_text()
    begin = text.index("\n", text.index(after)) + 1
    path.unlink()
    path.write_text(text[:begin] + line + text[begin:])


# What a row brings with it, beyond what the walks over the registry try.
EVERYWHERE = """
import numpy as np, onnx.reference, sys
sys.path.insert(0, "scripts")
import cynet as mx, make_stubs
from cynet.contrib.amp import lists
from cynet.ndarray import sparse

x = mx.nd.array([[-1, 0, 2]])
want = np.log1p(np.exp(x.asnumpy()))
symbol = mx.sym.var("x").log1p_exp()
for made in (x.log1p_exp(), mx.sym.log1p_exp(mx.sym.var("x")).eval(x=x)[0], symbol.eval(x=x)[0]):
    np.testing.assert_allclose(made.asnumpy(), want, rtol=1e-6)
assert "log(1 + exp(data))" in mx.nd.log1p_exp.__doc__ and "[0.3132617" in mx.nd.log1p_exp.__doc__
assert "log1p_exp" in lists.list_fp32_ops("float16") + lists.list_fp32_ops("bfloat16")
mx.onnx.export_model(symbol, {}, [(1, 3)], "float32", "made.onnx")
found = onnx.reference.ReferenceEvaluator("made.onnx").run(None, {"x": x.asnumpy()})[0]
np.testing.assert_allclose(found, want, rtol=1e-6)
stubs = make_stubs.stubs()
for stub in ("ndarray/__init__", "symbol/__init__", "ndarray/ndarray", "symbol/methods"):
    assert "def log1p_exp(" in stubs[f"cynet/{stub}.pyi"], stub
rows = mx.nd.array([[0, 0], [1, -1]]).tostype("row_sparse")
assert rows.again().stype == "row_sparse" and rows.log1p_exp().stype == "default"
np.testing.assert_allclose(rows.again().asnumpy(), np.tanh([[0, 0], [1, -1]]), 1e-6)
"""


def test_a_row_is_an_operator_everywhere(tmp_path):
    """The row and the case of docs/architecture/how/operator.md, over functors that are there."""
    pytest.importorskip("onnx")
    for name in (
        "cynet",
        "cynet_cuda_cpu",
        "tests/operator",
        "tests/autograd",
        "tests/cuda",
        "tests/fixtures",
        "scripts",
    ):
        linked(tmp_path / name, ROOT / name)
    for path in (*ROOT.glob("tests/[!t]*.py"), ROOT / "pyproject.toml"):
        (tmp_path / path.relative_to(ROOT)).symlink_to(path)
    page = (ROOT / "docs/architecture/how/operator.md").read_text()
    row, case = (f"{text},\n" for text in re.findall(r"^```python\n(.*?)\n```", page, re.M | re.S))
    there = 'functor="softrelu", gradient="softrelu_grad_y"'
    assert 'gradient="log1p_exp_grad_y"' in row
    row = row.replace('gradient="log1p_exp_grad_y"', there)
    zero = '    Unary("again", "", functor="tanh", zero_stays=True, example=("[0]", "[0.]")),\n'
    add_line(tmp_path / "cynet/operator/functions/unary.py", "UNARY = (", row + zero)
    add_line(tmp_path / "tests/operator/cases/tensor_elementwise.py", "UNARY = [", case)
    run(tmp_path, "-c", EVERYWHERE)
    tests = "tests/operator/test_common.py", "tests/autograd/test_second_order.py"
    tests += ("tests/operator/cuda/test_forms.py", "tests/operator/test_examples.py")
    output = run(tmp_path, "-m", "pytest", "-q", *tests, "-k", "log1p_exp")
    assert re.search(r"\b(9|\d\d+) passed", output)
    assert "skipped" not in output
