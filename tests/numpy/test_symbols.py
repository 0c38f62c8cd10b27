"""mx.sym.np, mx.sym.npx and their symbols: values of MXNet 1.9.1, and MXNet's names in JSON."""

import copy
import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentTypeError, NotFoundError
from tests.numpy.test_named_operators import FIXTURES, ROWS, array_of, bound

_spec = importlib.util.spec_from_file_location("make_symbols", FIXTURES / "make_symbols.py")
MADE = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(MADE)
CALLS = MADE.calls_of(mx)
NAMES = json.loads((Path(FIXTURES) / "symbol_names.json").read_text())


@pytest.fixture(autouse=True)
def semantics():
    mx.npx.set_np()
    yield
    mx.npx.reset_np()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_call_gives_the_values_of_mxnet(row):
    symbol, expected = CALLS[row["name"]][0](), array_of(row["out"])
    assert type(symbol) is mx.sym.np._Symbol
    for each in (symbol, mx.sym.load_json(symbol.tojson())):
        found = bound(each, row)
        assert found.shape == expected.shape
        np.testing.assert_allclose(
            found.asnumpy().astype("float64"), expected.astype("float64"), 2e-5, 1e-6
        )


def test_json_has_the_names_of_mxnet():
    """These calls' graphs load in MXNet 1.9.1."""
    known = set((FIXTURES / "operators.txt").read_text().split())
    for make, *_ in CALLS.values():
        for node in json.loads(make().tojson())["nodes"]:
            operator = node["op"]
            if operator == "_np_call":  # MXNet's rounds ties down
                assert node["attrs"]["function"] == "np.rint"
                continue
            assert operator in known or not operator.startswith("_np"), operator


def test_names_of_functions():
    for word in ("np", "npx"):
        assert not [name for name in NAMES[word] if not hasattr(getattr(mx.sym, word), name)]
    with pytest.raises(NotFoundError, match="no attribute 'sinn'"):
        mx.sym.np.sinn  # noqa: B018
    with pytest.raises(NotFoundError, match="no attribute 'inverse'"):
        mx.sym.np.linalg.inverse  # noqa: B018
    assert mx.sym.np.pi == np.pi


def test_members():
    x = mx.sym.var("x").as_np_ndarray()
    missing = {name for name in NAMES["members"] if not hasattr(x, name)}
    # of Python 2; a symbol is not written into
    assert missing == {"__div__", "__idiv__", "__itruediv__", "__rdiv__", "__setitem__"}


X = np.array([[1.5, -2.0, 0.25], [0.5, 3.0, -1.0]], "float32")
MEMBERS = {
    "sum": lambda a: a.sum(axis=1),
    "mean": lambda a: a.mean(),
    "std": lambda a: a.std(axis=0),
    "prod": lambda a: a.prod(),
    "max": lambda a: a.max(axis=1, keepdims=True),
    "argmin": lambda a: a.argmin(axis=1),
    "cumsum": lambda a: a.cumsum(axis=1),
    "reshape": lambda a: a.reshape(3, 2),
    "reshape_tuple": lambda a: a.reshape((3, -1)),
    "transpose": lambda a: a.transpose(),
    "T": lambda a: a.T,
    "flatten": lambda a: a.flatten(),
    "swapaxes": lambda a: a.swapaxes(0, 1),
    "squeeze": lambda a: a[:1].squeeze(),
    "repeat": lambda a: a.repeat(2, axis=1),
    "clip": lambda a: a.clip(-1, 1),
    "round": lambda a: a.round(),
    "astype": lambda a: a.astype("int32"),
    "dot": lambda a: a.dot(a.T),
    "matmul": lambda a: a @ a.T,
    "floordiv": lambda a: a // 0.75,
    "mod": lambda a: a % 2,
    "reflected": lambda a: 2 - a / 4 + 2**a - 1 / a,
    "power": lambda a: (a * a) ** 0.5,
    "compared": lambda a: (a > 0) & (a <= 1.5),
    "equal": lambda a: a == 3.0,
    "negative": lambda a: -a + abs(a),
    "copy": lambda a: a.copy(),
    "last": lambda a: a[-1],
    "corner": lambda a: a[-1, -1],
    "step": lambda a: a[:, ::2],
    "new": lambda a: a[None, 0],
    "new_last": lambda a: a[:, None],
    "dots": lambda a: a[0, ...],
    "backwards": lambda a: a[::-1],
}


@pytest.mark.parametrize("name", MEMBERS)
def test_a_member(name):
    made = MEMBERS[name](mx.sym.var("x").as_np_ndarray())
    expected = np.asarray(MEMBERS[name](X))
    found = made.bind(mx.cpu(), {"x": mx.nd.array(X)}).forward()[0].asnumpy()
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.astype("float64"), expected.astype("float64"), 1e-5)
    assert made.infer_shape(x=X.shape)[1] == [expected.shape]


def test_what_mxnet_has_no_name_for():
    x = mx.sym.var("x").as_np_ndarray()
    rows = [
        (mx.sym.np.kron(x, x), np.kron(X, X)),
        (mx.sym.np.take(x, [2, 0], axis=1), X[:, [2, 0]]),
        (mx.sym.np.take(x, mx.np.array([1], dtype="int64"), axis=1), X[:, [1]]),
        (mx.sym.np.cross(x, np.array([1, 2, 3], "float32")), np.cross(X, [1, 2, 3])),
        (mx.sym.np.meshgrid(x[0], x[1])[1], np.meshgrid(X[0], X[1])[1]),
        (mx.sym.np.triu(x, k=1), np.triu(X, 1)),
        (mx.sym.np.sum(x, axis=1, dtype="float64"), X.sum(1, dtype="float64")),
    ]
    for symbol, expected in rows:
        for each in (symbol, mx.sym.load_json(symbol.tojson())):
            found = each.bind(mx.cpu(), {"x": mx.nd.array(X)}).forward()[0].asnumpy()
            np.testing.assert_allclose(found, expected, 1e-5)
    with pytest.raises(ArgumentTypeError, match=r"mx\.sym\.np\.take"):
        mx.sym.np.take(x, object())


def test_lists_and_groups():
    x = mx.sym.var("x").as_np_ndarray()
    parts = mx.sym.np.split(x, 3, 1)
    assert type(parts) is list and [type(each) for each in parts] == [mx.sym.np._Symbol] * 3
    assert type(mx.sym.np.split(x, 1)) is list
    group = mx.sym.Group(parts)
    found = group.bind(mx.cpu(), {"x": mx.nd.array(X)}).forward()
    np.testing.assert_allclose(np.concatenate([e.asnumpy() for e in found], 1), X)
    assert mx.sym.Group(parts[1:]).as_np_ndarray()[1].infer_shape(x=(2, 3))[1] == [(2, 1)]


def test_shapes():
    x = mx.sym.var("x").as_np_ndarray()
    assert (x + 1).infer_shape(x=())[1] == [()] == x.sum().infer_shape(x=(0, 3))[1]
    assert x.T.infer_shape(x=(0, 3))[1] == [(3, 0)]
    assert (x + mx.sym.var("y")).infer_shape_partial(x=(-1, 3), y=(2, 3))[1] == [(2, 3)]
    assert x.infer_shape_partial(x=(-1, 3))[0] == [(-1, 3)]


def test_the_classes():
    x = mx.sym.var("x")
    y = x.as_np_ndarray()
    assert repr(y) == "<_Symbol x>" and type(y.as_nd_ndarray()) is type(x) is mx.sym.Symbol
    assert type(copy.copy(y)) is type(copy.deepcopy(y)) is type(y) is type(y.as_np_ndarray())
    (out,) = (y * 2).eval(x=mx.nd.array(X))
    assert type(out) is mx.nd.NDArray
    with pytest.raises(ArgumentTypeError, match="mx.sym.np and mx.sym.npx"):
        mx.np.sin(y)
    with pytest.raises(ArgumentTypeError, match="is indexed by ints"):
        y[[0, 1]]


def test_gradients_are_those_of_calls():
    x = mx.sym.var("x").as_np_ndarray()
    symbol = (mx.sym.np.linalg.norm(x, axis=1) * x.std(axis=1)).sum() + mx.sym.np.tril(x).mean()
    grad = mx.nd.zeros(X.shape)
    executor = symbol.bind(mx.cpu(), {"x": mx.nd.array(X)}, {"x": grad})
    executor.forward(is_train=True)
    executor.backward(mx.np.ones(()).as_nd_ndarray())
    a = mx.np.array(X)
    a.attach_grad()
    with mx.autograd.record():
        y = (mx.np.linalg.norm(a, axis=1) * a.std(axis=1)).sum() + mx.np.tril(a).mean()
    y.backward()
    np.testing.assert_allclose(grad.asnumpy(), a.grad.asnumpy(), 1e-5)


def test_hybrid_forward_of_symbols():
    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.npx.relu(F.np.concatenate([x, x], axis=1)) + F.np.ones((1,))

    made = Net()(mx.sym.var("x").as_np_ndarray())
    found = made.bind(mx.cpu(), {"x": mx.nd.array(X)}).forward()[0].asnumpy()
    np.testing.assert_allclose(found, np.maximum(np.concatenate([X, X], 1), 0) + 1)
