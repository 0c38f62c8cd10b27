"""The faults that `make mutants` plants: one place each, in code that runs; and what tests them."""

import ast
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.mutants import python_rules, run, selection
from tests.mutants.checkout import ROOT

PYTHON = '''"""Text of 3 < 4."""
__all__ = ["a", "b"]
def scaled(x: "int | None" = 3, y=0.5, deep=True):
    """Text of 5 + 6."""
    check_all(x, y)
    if x is not None and x < 7:
        raise ValueError(f"{x} of {y} are not {3 + 4}")
    for i in range(x):
        if rows[i].lower() == names[1]:
            continue
        self.total += pack(rows[i], names, last=i)
        self.known[i] = x or 1.0
    if not deep:
        return
    stop(x)
    return x * y - x[2:x]
'''
# what each kind may make of it
IN_PYTHON = {
    "refusal": ["check_all(x, y) -> pass", '4}") -> pass'],
    "statement": [
        "-> if rows[i] == names[1]:",
        "names, last=i) -> pass",
        "= (x)",
        "= (1.0)",
        "x or 1.0 -> pass",
        "stop(x) -> pass",
    ],
    "limit": ["x <= 7:", "x < 8:", "range(x - 1)", "x[3:x]", "x[2:x - 1]"],
    "constant": ["x or 1.1"],
    "negated": [
        "x is None and",
        "None or x",
        "(not (x is not None and x < 7))",
        "if (deep):",
        "!= names[1]",
    ],
    "argument": ["check_all(y, x)", "pack(names, rows[i]", "x[2:x] - x * y"],
    "default": ["= 4, y", "= 2, y", "y=0.55", "deep=False", "pack(rows[i], names)"],
    "index": ["rows[0].lower", "names[0]", "known[0]", "pack(rows[0]"],
    "return": ["continue -> pass", "return -> pass"],
    "arithmetic": ["x / y", "x * y + x"],
}
HEADER = """// Comment of 3 < 4.
#include "a.h"
static void scale(float* y, int n) {
  if (n < 2) return -1;
  for (int i = 0; i < n; ++i) y[i] *= 2;
  y[0] = n > 3 && y[1] > 0.5 ? 1 : 0;  // as 3 + 4
  copy(y, n, n - i);
}
"""
IN_HEADER = {
    "refusal": ["if (n < 2) return -1; -> ;"],
    "statement": ["y[0] = n > 3 && y[1] > 0.5 ? 1 : 0;  // as 3 + 4 -> ;", "n - i); -> ;"],
    "limit": ["i <= n", "n >= 3", "n > 4", "n < 3"],
    "constant": ["*= 3", "*= 1", "0.55", "? 2"],
    "negated": ["||"],
    "argument": ["copy(n, y, n - i)", "i - n)"],
    "default": [],
    "index": ["y[1 + 1]", "y[0] > 0.5", "y[1] = n"],
    "return": [],
    "arithmetic": ["y[i] /= 2", "n + i)"],
}
CYTHON = '''"""Text of 3 < 4."""
cdef int taken(list rows, int n, bint deep=True) except -1:
    """Text."""
    if n > MOST:
        raise ShapeError(
            f"{n} rows, expected {MOST} "
            "at most")
    if rows is None:
        return 0
    self.kept = rows[n] if deep else None
    return put(rows, n, axis=1)
'''
IN_CYTHON = {
    "refusal": ['"at most") -> pass'],
    "statement": ["deep else None -> pass"],
    "limit": ["n >= MOST"],
    "constant": ["return 1", "axis=2"],
    "negated": ["deep=False", "rows is not None"],
    "argument": ["put(n, rows, axis"],
    "default": ["deep=False", "put(rows, n)", "axis=0", "self.kept = rows[n]"],
    "index": ["rows[n + 1]", "rows[0]"],
    "return": ["return 0 -> pass"],
    "arithmetic": [],
}


def changed(old, new):
    return run.Fault(ROOT / "x", old, new).key.split(": ", 1)[1]


@pytest.mark.parametrize(
    "text, suffix, expected",
    [(PYTHON, ".py", IN_PYTHON), (HEADER, ".h", IN_HEADER), (CYTHON, ".pyx", IN_CYTHON)],
    ids=["Python", "C++", "Cython"],
)
def test_each_kind(text, suffix, expected):
    assert [*expected] == [*python_rules.WEIGHTS]
    found = {kind: set() for kind in expected}
    draw = run.in_python if suffix == ".py" else run.in_compiled
    for seed in range(1500):
        drawn = draw(text, random.Random(seed), Path(f"x{suffix}"))
        if drawn:
            kind, new = drawn
            found[kind].add(changed(text, new))
            if suffix == ".py":
                ast.parse(new)
    for kind, parts in expected.items():
        for part in parts:
            assert any(part in each for each in found[kind]), (kind, part, found[kind])
        assert bool(found[kind]) == bool(parts), kind
    every = set.union(*found.values())
    assert not any(word in each for each in every for word in ("Text", "Comment", "__all__"))
    assert not any("3 + 5" in each or "3 - 4" in each for each in every)  # texts of messages


def test_kinds_are_drawn_by_their_weights():
    """A statement that is left out is drawn as often as its weight says, few as such places are."""
    text = "def f(a):\n    raise E(a)\n" + "x = 3 + 4\n" * 200
    drawn = [run.in_python(text, random.Random(seed), Path("x.py")) for seed in range(600)]
    kinds = Counter(each[0] for each in drawn if each)
    share = python_rules.WEIGHTS["refusal"] / sum(python_rules.WEIGHTS.values())
    assert abs(kinds["refusal"] / 600 - share) < 0.06
    assert set(kinds) == {"refusal", "constant", "arithmetic"}


def test_faults_of_the_package_compile():
    for path in ("cynet/serving/web.py", "cynet/io/positions.py", "cynet/gluon/trainer.py"):
        text = (ROOT / path).read_text()
        for seed in range(60):
            if drawn := run.in_python(text, random.Random(seed), Path(path)):
                compile(drawn[1], path, "exec")


def test_tests_of_the_same_path_come_first():
    first = selection.for_python(ROOT.joinpath("cynet/lr_scheduler.py").relative_to(ROOT), 60)[0]
    assert first[:2] == [
        "tests/test_doctest.py::test_examples[cynet.lr_scheduler]",
        "tests/test_lr_scheduler.py",
    ]
    lrn = ROOT / "cynet/kernels/normalization/lrn.cc"
    assert selection.modules_of(lrn) == [ROOT / "cynet/kernels/table.pyx"]
    batches = selection.for_compiled(selection.declarations(lrn))
    assert batches[0][0] == "tests/operator/test_common.py" and "LRN" in batches[0][-1]
    shared = selection.declarations(ROOT / "cynet/kernels/reduce/line_reduce.h")
    assert ROOT / "cynet/operator/nn/layer_norm.py" in shared
    users = selection.modules_of(ROOT / "cynet/kernels/elementwise/dropout_loops.h")
    modules = {"cynet/kernels/table.pyx", "cynet/kernels/elementwise/dropout.pyx"}
    assert {ROOT / module for module in modules} <= {*users}


def test_every_header_has_tests():
    """Also those that a .pxd alone declares, and those that are compiled when they are used."""
    headers = run.source_files((".h",), [], "")
    without = {h for h in headers if not selection.modules_of(ROOT / h)}
    own = {h for h in without if h.parts[:2] != ("cynet_cuda_cpu", "include")}
    assert {h.name for h in own} == {"users_team.h"}
    folders = ("tests/cynet_cuda_cpu/", "tests/operator/custom/")
    for header in without:
        assert selection.for_headers(header)[0][0].startswith(folders), header
    density = selection.modules_of(ROOT / "cynet/kernels/rng/density.h")
    assert density == [ROOT / "cynet/kernels/table.pyx"]


def test_a_seed_repeats_a_run():
    command = [sys.executable, "-m", "tests.mutants.run", "--seed", "3", "--list"]
    command += ["--python", "0", "--compiled", "9", "cynet/kernels/rnn"]
    found = [subprocess.run(command, cwd=ROOT, capture_output=True, text=True) for _ in range(2)]
    assert found[0].stdout == found[1].stdout and found[0].stdout.startswith("9 faults, seed 3\n")
