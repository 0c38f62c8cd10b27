"""The faults that `make mutants` plants: one place each, in code that runs; and what tests them."""

import ast
import random
import subprocess
import sys

import pytest

from tests.mutants import kernel_rules, run, selection
from tests.mutants.checkout import ROOT

PYTHON = '''"""Text of 3 < 4."""
def scaled(x: "int | None" = 3, y=0.5):
    """Text of 5 + 6."""
    if x is not None and x < 7:
        raise ValueError(f"{x} of {y}")
    return x * y - 1
'''
HEADER = """// Comment of 3 < 4.
#include "a.h"
static void scale(float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] *= 2;
  y[0] = n > 3 && y[1] > 0.5 ? 1 : 0;  // as 3 + 4
}
"""


def changed(old, new):
    return run.Fault(ROOT / "x", old, new).key.split(": ", 1)[1]


def test_kernels():
    found = {changed(HEADER, new) for s in range(200) if (new := draw(HEADER, s))}
    assert "y[0] = n > 3 && y[1] > 0.5 ? 1 : 0;  // as 3 + 4 -> ;" in found
    both = ("i <= n", "i > n", "n >= 3", "||", "*= 3", "*= 1", "0.55", "? 2", "y[1 + 1]")
    for part in both:
        assert any(part in each.split(" -> ")[1] for each in found), part
    assert all("Comment" not in each and "include" not in each for each in found)
    assert all(each.count("as 3 + 4") in (0, 2) or each.endswith("-> ;") for each in found)


def draw(text, seed):
    return kernel_rules.draw(text, random.Random(seed), in_pyx=False)


def test_python():
    pytest.importorskip("cosmic_ray", reason="cosmic_ray is not installed")
    from tests.mutants import python_rules

    found = set()
    for seed in range(300):
        new = python_rules.draw(PYTHON, random.Random(seed))
        if new is not None:
            ast.parse(new)
            found.add(changed(PYTHON, new))
    for part in ("= 4,", "0.55", "x <= 7", "x is None", " or ", "pass", "x / y", "y + 1", "y - 2"):
        assert any(part in each.split(" -> ")[1] for each in found), part
    assert all("Text" not in each for each in found)


def test_tests_of_the_same_path_come_first():
    first = selection.for_python(ROOT.joinpath("cynet/lr_scheduler.py").relative_to(ROOT), 60)[0]
    assert first[:2] == ["tests/test_doctest.py::test_examples[cynet.lr_scheduler]",
                         "tests/test_lr_scheduler.py"]  # fmt: skip
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
