"""`make check`: the tests of each kind of change, within a time; what git says has changed."""

import subprocess
import sys

import pytest

from tests.check import run, selection
from tests.imports import ROOT, home, importers


@pytest.mark.parametrize(
    "path, first, there",
    [
        # the test of the same path, then those of what imports it
        ("cynet/io/positions.py", "tests/io/test_array_iter.py", "tests/image/test_image_iter.py"),
        ("cynet/serving/web.py", "tests/serving/test_web.py", "tests/tools/test_serve.py"),
        ("cynet/base/errors.py", "tests/base/test_errors.py", "tests/test_docstrings.py"),
        # of a folder that one test is of
        (
            "cynet/contrib/quantization/calibration.py",
            "tests/contrib/test_quantization.py",
            "tests/contrib/test_io.py",
        ),
        (
            "cynet/operator/nn/embedding.py",
            "tests/operator/nn/test_embedding.py",
            "tests/operator/nn/test_refusals.py",
        ),
        (
            "cynet/operator/linalg/gemm.pyx",
            "tests/operator/linalg/test_linalg.py",
            "tests/onnx/test_export_walk.py",
        ),
        (
            "cynet/kernels/normalization/lrn.cc",
            "tests/kernels/test_table.py",
            "tests/operator/nn/test_lrn.py",
        ),
        (
            "cynet/kernels/parallel.h",
            "tests/kernels/test_parallel.py",
            "tests/kernels/conv/test_winograd.py",
        ),
        (
            "cynet/autograd/_arrays.pxd",
            "tests/test_doctest.py::test_examples[cynet.autograd._arrays]",
            "tests/autograd/test_create_graph.py",
        ),
        ("cynet_cuda_cpu/include/cuda_runtime.h", "tests/cynet_cuda_cpu/", "tests/cynet_cuda_cpu/"),
        # what tests share
        ("tests/pairs.py", "tests/test_pairs.py", "tests/kernels/conv/test_winograd.py"),
        (
            "tests/operator/cases/nn.py",
            "tests/operator/test_common.py",
            "tests/operator/cuda/test_forms.py",
        ),
        (
            "tests/fixtures/expressions/tools.py",
            "tests/test_expressions.py",
            "tests/operator/test_settings.py",
        ),
        ("tests/test_name.py", "tests/test_name.py", ""),
        # documents, programs, all else
        ("docs/howto/data.md", "tests/test_docs.py", ""),
        ("docs/operators.md", "tests/test_status_pages.py", "tests/test_docs.py"),
        ("docs/adding_an_operator.md", "tests/test_adding_an_operator.py", "tests/test_docs.py"),
        (
            "examples/image_classification/train_mnist.py",
            "tests/examples/test_train_mnist.py",
            "tests/examples/test_image_classification.py",
        ),
        ("scripts/make_stubs.py", "tests/typing/test_stubs.py", ""),
        ("Makefile", "tests/test_house.py", ""),
    ],
)
def test_what_a_file_touches(path, first, there):
    assert (ROOT / path).exists()
    scores = selection.choose({path: None}).scores
    taken, _ = selection.within(scores, 1e6)
    assert any(each.startswith(first) for each in taken[:12]), taken[:12]
    assert any(each.startswith(there) for each in taken)
    assert all((ROOT / each.partition("::")[0]).exists() for each in taken)


@pytest.mark.parametrize(
    "path, operator",
    [
        ("cynet/operator/nn/lrn.py", "LRN"),
        ("cynet/kernels/normalization/lrn.cc", "LRN"),
        ("cynet/operator/linalg/gemm.pyx", "_linalg_gemm2"),
    ],
)
def test_walks_are_cut_to_the_operators_of_a_file(path, operator):
    files, words = selection.choose({path: None}).walks()
    assert operator in words.split(" or ") and len(words.split(" or ")) < 6
    assert "tests/operator/test_common.py" in files and "tests/operator/test_half.py" in files


def test_a_part_of_all_operators_has_the_whole_walk():
    assert selection.choose({"cynet/operator/property.py": None}).walks() == (
        ["tests/operator/test_common.py"],
        "",
    )
    assert selection.choose({"cynet/io/positions.py": None}).walks() == ([], "")


def test_names_in_lines_that_changed_count():
    """Of two tests that are otherwise alike the one that names the function comes first."""
    path = "cynet/gluon/utils.py"
    text = (ROOT / path).read_text().splitlines()
    line = next(i for i, each in enumerate(text, 1) if "def split_and_load" in each) + 3
    named = selection.choose({path: {line}}).scores
    plain = selection.choose({path: None}).scores
    more = {name for name in named if named[name] > plain.get(name, 0)}
    assert more and all("split_and_load" in (ROOT / name).read_text() for name in more)


def test_a_file_that_is_gone():
    """Its tests are those of its path, and no argument that pytest would not find."""
    scores = selection.choose({"cynet/io/gone.py": {1}, "tests/io/test_gone.py": None}).scores
    assert "tests/io/test_base.py" in scores and "tests/io/test_gone.py" not in scores
    assert not any("gone" in each for each in scores)


def test_only_as_much_as_there_is_time_for(monkeypatch):
    times = {"a": 30.0, "b": 50.0, "c": 20.0, "d": 1.0}
    monkeypatch.setattr(selection, "known", lambda: times)
    scores = {"a": 100, "b": 60, "c": 60, "d": 5, "e": 1}
    assert selection.within(scores, 60) == (["a", "c", "d"], ["b", "e"])
    assert selection.within({"b": selection.ITSELF, "d": 50}, 10) == (["b"], ["d"])


def test_pages_run_alone(monkeypatch):
    runs, left = run.plan({"docs/howto/data.md": {1}, "CHANGELOG.md": {3}}, 90)
    arguments = [each for each, _ in runs]
    assert ["tests/test_docs.py", "-k", "not test_a_page or CHANGELOG.md or data.md"] in arguments
    assert arguments[0][0] == run.HOUSE and len(arguments) == 2
    monkeypatch.setattr(selection, "known", lambda: {"tests/io/test_base.py": 500.0})
    runs, left = run.plan({"cynet/io/positions.py": None}, 90)
    assert "tests/io/test_base.py" in left and sum(cost for _, cost in runs) < 140


def test_imports_are_followed_through_packages():
    assert home("cynet.gluon.data", "DataLoader") == "cynet.gluon.data.dataloader"
    assert home("cynet.gluon", "data") == "cynet.gluon.data"
    assert home("numpy", "array") == "numpy"
    assert "tests.gluon.data.test_splits" in importers()["cynet.gluon.data.dataloader"]
    assert "cynet.operator.linalg.gemm" in importers()["cynet.kernels.gemm.blas"]


def test_what_git_says(tmp_path, monkeypatch):
    """Committed on a branch, in the index, in the tree, not known to git, taken away."""

    def git(*arguments):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )

    monkeypatch.setattr(run, "ROOT", tmp_path)
    for name in ("a.py", "b.py", "c.py", "d.py"):
        (tmp_path / name).write_text("1\n2\n3\n")
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    assert run.changes(run.since("main")) == {}
    git("checkout", "-q", "-b", "mine")
    (tmp_path / "a.py").write_text("1\n2\nthree\n4\n")
    git("commit", "-q", "-am", "second")
    (tmp_path / "b.py").write_text("one\n2\n3\n")
    git("add", "b.py")
    (tmp_path / "c.py").write_text("1\n3\n")
    (tmp_path / "d.py").unlink()
    (tmp_path / "e.py").write_text("new\n")
    found = run.changes(run.since("main"))
    assert found == {"a.py": {3, 4}, "b.py": {1}, "c.py": {1}, "d.py": {0}, "e.py": {1, 2}}
    assert "a.py" not in run.changes(run.since("HEAD"))
    assert run.since("no-such-branch") == "HEAD"


def test_a_failure_and_a_line_that_is_too_long_are_told(tmp_path):
    test = tmp_path / "test_x.py"
    test.write_text('"""Fails."""\n\n\ndef test_x():\n    assert 1 == 2\n')
    assert run.linted([str(test), "cynet/kernels/table.pyx", "cynet/gone.pyx"])
    assert not run.tested(["-p", "no:cacheprovider", str(test)], 0)
    test.write_text('"""Has no test."""\n')
    assert run.tested(["-p", "no:cacheprovider", str(test)], 0)
    test.write_text(f'"""Too long."""\n\nx = "{"x" * 120}"\n')
    assert not run.linted([str(test)])


def test_the_program_lists():
    command = [sys.executable, "-m", "tests.check.run", "--list", "cynet/io/positions.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("1 files changed: cynet/io/positions.py\n")
    assert "tests/io/test_array_iter.py" in done.stdout and "passed" not in done.stdout
