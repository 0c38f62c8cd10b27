"""Modules of operators have all of them in ``__dict__``, and make them when they are asked for."""

import inspect
import subprocess
import sys
from types import ModuleType

import pytest

import cynet as mx

MODULES = [
    (f"{face}.{part}" if part else face)
    for face, parts in (
        ("nd", ("", "_internal", "contrib", "image", "linalg", "op", "random", "sparse")),
        ("sym", ("", "_internal", "contrib", "image", "linalg", "random", "sparse")),
    )
    for part in parts
]


def module_of(path):
    found = mx
    for part in path.split("."):
        found = getattr(found, part)
    return found


def is_users(name):
    return name in mx.operator.OPERATORS and mx.operator.OPERATORS.get(name).prop.users


@pytest.mark.parametrize("path", MODULES)
def test_all_that_dir_shows_is_in_the_dict(path):
    module = module_of(path)
    assert isinstance(module, ModuleType)
    before = dir(module)
    own, names = module.__dict__, [name for name in dir(module) if not is_users(name)]
    assert {*before} <= {*dir(module)}
    assert set(names) <= own.keys() and own is vars(module)
    assert len(names) > 3
    for name in names:
        assert getattr(module, name) is own[name], name
    assert dict(inspect.getmembers(module)).keys() >= {*names}


@pytest.mark.parametrize(
    "path, name",
    [
        ("nd.contrib", "box_encode"),
        ("sym.contrib", "box_encode"),
        ("nd.contrib", "index_array"),
        ("nd.image", "to_tensor"),
        ("nd.linalg", "gemm2"),
        ("sym.linalg", "potrf"),
        ("nd", "relu"),
        ("sym", "Convolution"),
        ("nd._internal", "_plus_scalar"),
        ("sym._internal", "_plus_scalar"),
        ("nd.random", "uniform_like"),
        ("nd.sparse", "dot"),
        ("nd.sparse", "retain"),
        ("sym.sparse", "dot"),
    ],
)
def test_names_in_dicts(path, name):
    code = f"import cynet as mx; assert {name!r} in mx.{path}.__dict__; f = vars(mx.{path})"
    subprocess.run([sys.executable, "-c", f"{code}[{name!r}]; assert callable(f)"], check=True)


def test_importing_makes_none():
    code = """
import cynet as mx
from cynet.operator.namespaces import module_dict
assert "relu" not in module_dict(mx.nd) and "Convolution" not in module_dict(mx.sym)
mx.nd.relu(mx.nd.ones(2)), dir(mx.nd)
assert "relu" in module_dict(mx.nd) and "sigmoid" not in module_dict(mx.nd)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_star():
    space = {}
    exec("from cynet.ndarray.linalg import *", space)
    assert {"gemm2", "qr"} <= set(space) and "__file__" not in space


def test_a_users_operator_is_found_under_its_latest_definition():
    for number in (1, 2):

        @mx.operator.register("test_namespaces_users")
        class Users(mx.operator.OperatorProperty):
            scale = mx.operator.Int(number)

    for module in (mx.nd, mx.sym):
        assert "test_namespaces_users" not in module.__dict__
        assert "default=2" in module.test_namespaces_users.__doc__
        assert "test_namespaces_users" in dir(module)
