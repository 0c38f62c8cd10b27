"""Every fixture has a program that makes it (tests/fixtures/make.py)."""

import ast
import subprocess
import sys

import numpy as np

from tests.fixtures import make

# Made by cynet: python -m tests.own_defaults, python -m tests.base.test_mxnet_globals.
OWN = {"own_defaults.txt", "own_limits.txt", "globals_not_here.txt"}
# Made by MXNet in programs of their own: tests/fixtures/numpy/make_symbols.py, make_networks.py.
OWN |= {f"numpy/{name}" for name in ("networks.npz", "symbols.json", "symbol_names.json")}
OWN |= {"numpy/operators.txt"}


def declared(module):
    """The files that a module of fixtures declares, without running it."""
    tree = ast.parse((make.HERE / (module.replace(".", "/") + ".py")).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "makes":
            file = node.args[0]
            if isinstance(file, ast.JoinedStr):  # a family each
                families = (make.HERE / "operators/settings").glob("[a-z]*.py")
                yield from (f"operators/{path.stem}.npz" for path in families)
            elif file.value is not None:
                yield file.value


def test_every_file_is_declared():
    made = {file for module in make.modules() for file in declared(module)}
    kinds = (".json", ".npz", ".txt", ".params")
    there = {str(p.relative_to(make.HERE)) for p in make.HERE.rglob("*") if p.suffix in kinds}
    assert there - OWN == {file for file in made if not file.startswith("..")}
    assert all((make.HERE / file).exists() for file in made)


def run(*words):
    command = [sys.executable, "-m", "tests.fixtures.make", *words]
    root = make.HERE.parents[1]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_runner():
    assert {"training", "operators.values", "special_functions"} <= {*run().split()}
    assert "// gammaln, error " in run("special_functions")
    assert "this Python has no mxnet" in run("--check", "layer_nodes")


def test_a_file_is_compared_and_written(tmp_path, monkeypatch):
    monkeypatch.setattr(make, "HERE", tmp_path)

    @make.makes("a.json", by="math", rows=True)
    def of_json(math):
        return {"pi": math.pi, "two": [1, 2]}

    @make.makes("a.npz", by="math")
    def of_arrays(math, word="0"):
        return {"x": np.full(3, float(word))}

    assert make.run(of_json, [], True) == "a.json: 43 bytes, differs"
    assert not (tmp_path / "a.json").exists()
    make.run(of_json, [], False)
    text = '{\n"pi": 3.141592653589793,\n"two": [1, 2]\n}\n'
    assert (tmp_path / "a.json").read_text() == text
    assert make.run(of_json, [], True).endswith("as it was")
    deep = make.content(tmp_path / "b.json", {"a": {"c": [1], "b": {"d": 2}}, "e": 3}, 2, {})
    assert deep.decode() == '{\n"a": {\n"c": [1],\n"b": {"d": 2}\n},\n"e": 3\n}\n'
    make.run(of_arrays, ["5"], False)
    assert np.load(tmp_path / "a.npz")["x"].tolist() == [5, 5, 5]
    assert make.run(of_arrays, ["5"], True).endswith("as it was")
    assert make.run(of_arrays, ["6"], True).endswith("differs")


def test_a_process_that_ends_is_started_again(tmp_path, monkeypatch):
    """Whose result is None."""
    (tmp_path / "tests/fixtures").mkdir(parents=True)
    (tmp_path / "mxnet.py").write_text("")
    (tmp_path / "tests/fixtures/ending.py").write_text(
        "import os\n"
        "def values(mx, number):\n"
        "    if number in (1, 2): os._exit(3)\n"
        "    return [number]\n"
    )
    monkeypatch.chdir(tmp_path)
    assert make.restarted("ending", 5) == [[0], None, None, [3], [4]]
