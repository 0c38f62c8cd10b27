"""The type stubs say what there is: they are up to date, complete, and have nothing else."""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import cynet as mx
from cynet.libinfo import MissingName

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "cynet"
STUBS = sorted(path.relative_to(ROOT) for path in PACKAGE.rglob("*.pyi"))
GENERATED = "# Written by scripts/make_stubs.py"
BY_HAND = [path for path in STUBS if not (ROOT / path).read_text().startswith(GENERATED)]


def definitions(path, cls=None):
    """Name to node of the functions, classes and variables of a stub, or of one class in it."""
    body = ast.parse((ROOT / path).read_text()).body
    if cls is not None:
        classes = {node.name: node.body for node in body if isinstance(node, ast.ClassDef)}
        body = classes[cls]
    found = {}
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign) and not node.target.id.startswith("_"):
            found[node.target.id] = node
    return found


def public(names):
    return {name for name in names if not name.startswith("_")}


def test_writing_again_changes_nothing():
    """What is there is not touched, so that nothing is compiled or checked for it again."""
    command = [sys.executable, "scripts/make_stubs.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "stubs are up to date\n"


def test_a_stub_out_of_date_is_written(tmp_path):
    for folder in ("ndarray", "numpy", "numpy_extension", "symbol"):
        (tmp_path / "cynet" / folder).mkdir(parents=True)
    command = [sys.executable, "scripts/make_stubs.py", "--into", str(tmp_path)]
    first = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.pyi"))
    assert made and made == [path for path in STUBS if path not in BY_HAND]
    assert all(str(path) in first for path in made)
    stale = tmp_path / made[0]
    stale.write_text(stale.read_text() + "def gone(): ...\n")
    again = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert again == f"stubs written: {made[0]}\n"
    assert all((tmp_path / path).read_text() == (ROOT / path).read_text() for path in made)


def test_ndarray_has_what_its_stub_says():
    cls = mx.nd.NDArray
    stub = definitions("cynet/ndarray/ndarray.pyi", "NDArray")
    there = {n for n in dir(cls) if not isinstance(inspect.getattr_static(cls, n), MissingName)}
    assert public(stub) == public(there) - {"view"}  # which only says that there is none
    buffer = {"__buffer__"}  # Python's own name of it from 3.12 on
    assert {name for name in stub if name.startswith("__")} - buffer <= there


def test_symbol_has_what_its_stubs_say():
    cls = mx.sym.Symbol
    stub = definitions("cynet/symbol/arithmetic.pyi", "Arithmetic")
    stub |= definitions("cynet/symbol/methods.pyi", "OperatorMethods")
    assert {*stub} <= {*dir(cls)}
    made = {name for base in cls.__mro__[1:3] for name in vars(base)}
    operators = {n for n in made if not n.startswith("_") or n in dir(int)} - {*dir(object)}
    assert operators <= {*stub}


FACE_NAMES = """
import importlib, inspect, sys
from cynet.operator import OPERATORS
face = importlib.import_module("cynet." + sys.argv[1])
own = (n for n, v in vars(face).items() if not inspect.ismodule(v))
print(*(n for n, _ in OPERATORS.items()), *own)
"""


@pytest.mark.parametrize("face", [mx.nd, mx.sym], ids=["nd", "sym"])
def test_functions_are_those_of_the_stubs(face):
    folder = face.__name__.split(".")[-1]
    text = (PACKAGE / folder / "__init__.pyi").read_text()
    names = {
        n.asname
        for node in ast.parse(text).body
        if isinstance(node, ast.ImportFrom)
        for n in node.names
    }
    names = public(names - {None}) | {*definitions(f"cynet/{folder}/__init__.pyi")}
    assert all(hasattr(face, name) for name in names)
    # In a process of its own: other tests register operators.
    ran = [sys.executable, "-c", FACE_NAMES, folder]
    found = subprocess.run(ran, capture_output=True, text=True, check=True).stdout.split()
    assert public({*found}) - {"annotations"} <= names


@pytest.mark.parametrize("path", BY_HAND, ids=str)
def test_a_stub_by_hand_fits_its_module(path):
    """Each name is there, and functions have the parameters that the stub says."""
    module = importlib.import_module(".".join(path.with_suffix("").parts))
    pairs = [(module, None)]
    pairs += [
        (getattr(module, n), n)
        for n, node in definitions(path).items()
        if isinstance(node, ast.ClassDef)
    ]
    checked = 0
    for owner, cls in pairs:
        for name, node in definitions(path, cls).items():
            value = inspect.getattr_static(owner, name, None)
            if name == "__buffer__" or (value is None and isinstance(node, ast.AnnAssign) and cls):
                continue
            assert value is not None, f"{path}: there is no {cls or ''} {name}"
            try:
                signature = inspect.signature(value)
            except (TypeError, ValueError):
                continue
            if isinstance(node, ast.FunctionDef) and not name.startswith("__"):
                arguments = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
                assert [a.arg for a in arguments] == [*signature.parameters], f"{path}: {name}"
                checked += 1
    assert checked or path.stem in ("arithmetic", "kernel_operator")  # without functions
