"""Functions of mx.np in a Block: values, gradients and shapes of its graph are those of calls."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, npx
from cynet.numpy import dispatch
from tests.numpy.test_every_graph import REFUSED
from tests.numpy.test_walk import BINARY, CALLS, KEYS, UNARY, given


@pytest.fixture(autouse=True)
def semantics():
    npx.set_np()
    yield
    npx.reset_np()


class Calls(gluon.HybridBlock):
    """A Block that runs a function."""

    def __init__(self, run):
        super().__init__()
        self._run_it = run

    def forward(self, *arrays):
        return self._run_it(*arrays)


def listed(out):
    if isinstance(out, bool):
        out = mx.np.array(out)
    return list(out) if isinstance(out, (list, tuple)) else [out]


def both(run, *arrays, whole=True):
    """Values and gradients by calls, then by a graph; `whole`: a graph there must be."""
    results = []
    for hybridized in (False, True):
        net = Calls(run)
        if hybridized:
            net.hybridize()
        inputs = [mx.np.array(each, dtype=each.dtype) for each in arrays]
        floats = [each for each in inputs if each.dtype.kind == "f"]
        for each in floats:
            each.attach_grad()
        with autograd.record():
            outputs = listed(net(*inputs))
            heads = [each for each in outputs if each.dtype.kind == "f"]
            total = sum((each * each).sum() for each in heads) if heads and floats else None
        if total is not None:
            total.backward()
        if hybridized:
            assert (net._cached.why_no_graph() == "hybridize it and call it once") is whole
        results.append([*outputs, *(each.grad for each in floats)])
    for plain, graph in zip(*results, strict=True):
        assert type(graph) is mx.np.ndarray
        assert (graph.shape, graph.dtype) == (plain.shape, plain.dtype)
        np.testing.assert_allclose(
            graph.asnumpy().astype("float64"), plain.asnumpy().astype("float64"), 1e-4, 1e-5
        )


def function(name):
    found = mx.np
    for part in name.split("."):
        found = getattr(found, part)
    return found


# What NumPy computes: it needs values, and no gradient flows.
ON_HOST = [name for name, each in dispatch.HOST_FUNCTIONS.items() if getattr(mx.np, name) is each]


@pytest.mark.filterwarnings("ignore:.*runs operator by operator")
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])
def test_call(call):
    name, *args = call
    if name in ON_HOST:
        return by_values(call)
    by_places = f"np.{name}" in REFUSED or call[:1] == ("where",) * len(args)
    arrays = []

    def taken(value):
        if isinstance(value, np.ndarray):
            arrays.append(value)
            return ("array", len(arrays) - 1)
        if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
            return [taken(each) for each in value]
        return value

    places = [taken(each) for each in args]

    def run(*inputs):
        def put(value):
            if isinstance(value, tuple) and value and value[0] == "array":
                return inputs[value[1]]
            return [put(each) for each in value] if isinstance(value, list) else value

        return function(name)(*map(put, places))

    if not arrays:
        arrays.append(np.asarray(args[0]))
        places[0] = ("array", 0)
    both(run, *arrays, whole=not by_places)


def by_values(call):
    """A Block that needs values runs operator by operator."""
    name, *args = call
    net = Calls(lambda x: function(name)(x, *map(given, args[1:])) + x.sum() * 0)
    x = given(args[0])
    expected = net(x)
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), expected.asnumpy())
    assert "cannot be traced" in net._cached.why_no_graph()


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_array(name, rng):
    low, high = UNARY[name] or (0.5, 5)
    for dtype in ("float32", "int32"):
        for shape in ((), (2, 3), (0, 3)):
            both(function(name), np.asarray(rng.uniform(low, high, shape)).astype(dtype))


@pytest.mark.parametrize("name", [*BINARY, "power"])
def test_functions_of_two_arrays(name, rng):
    for left, right in (("float32", "float32"), ("int32", "float32"), ("int64", "uint8")):
        for shapes in (((2, 1), (3,)), ((), (4,)), ((), ())):
            pair = [
                np.asarray(rng.uniform(1, 5, s)).astype(t) for s, t in zip(shapes, (left, right))
            ]
            both(function(name), *pair)
            both(lambda x: function(name)(x, 2.5), pair[0])
            both(lambda x: function(name)(2, x), pair[0])


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max", "min", "std", "var", "argmax"])
def test_reductions(name, rng):
    for shape in ((), (5,), (2, 3)):
        for axis in (None, *range(len(shape))):
            for keepdims in (False, True):
                x = rng.uniform(1, 5, shape)
                both(
                    lambda x: function(name)(x, axis=axis, keepdims=keepdims),  # noqa: B023
                    np.asarray(x, "float32"),
                )


MORE_KEYS = [
    [-1],
    (slice(None), [0, -1], [1, 1]),
    (..., [0, 1]),
    ([0], slice(1, 3)),
    (1, [0, 2]),
    (slice(None), [[0], [1]], [2, 3]),
    (slice(None), slice(None), np.array([True, False] * 2)),
]


@pytest.mark.filterwarnings("ignore:.*runs operator by operator")
@pytest.mark.parametrize(
    "key", [key for key in [*KEYS, *MORE_KEYS] if not isinstance(key, bool)], ids=str
)
def test_indexing(key):
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)
    both(lambda a: a[key] * 2, x)
    if isinstance(key, np.ndarray):
        both(lambda a, k: a[k] * 2, x, key, whole=key.dtype != bool)


def test_indices_that_are_inputs():
    x, i = np.arange(12, dtype="float32").reshape(3, 4), np.array([2, -1, 0])
    both(lambda a, k: a[k], x, i)
    both(lambda a, k: a[:, k], x, i)
    both(lambda a, k: a[np.arange(3), k], x, i)
    both(lambda a, k: a[range(3), k], x, i)
    net = Calls(lambda a: a[[3]])
    net.hybridize()
    with (
        pytest.warns(UserWarning, match="index 3 is out of bounds"),
        pytest.raises(IndexError, match="out of bounds"),
    ):
        net(mx.np.array(x))


FORMS = {  # ways to hand two arrays to a Block
    "arguments": lambda net, x, y: net(x, y),
    "keyword": lambda net, x, y: net(x, b=y),
    "list": lambda net, x, y: net([x, y]),
    "tuple": lambda net, x, y: net((x, y)),
    "dict": lambda net, x, y: net({"a": x, "b": y}),
    "nested": lambda net, x, y: net([[x], (y,)]),
}


class Compared(gluon.HybridBlock):
    """Which of two arrays is larger, and the sum of one."""

    def forward(self, a, b=None):
        if b is None:
            a, b = a.values() if isinstance(a, dict) else a
        a, b = (each[0] if isinstance(each, (list, tuple)) else each for each in (a, b))
        return a > b, a.sum()


@pytest.mark.parametrize("order", [("nd", "np", "nd"), ("np", "nd", "np")], ids="-".join)
@pytest.mark.parametrize("form", FORMS)
def test_a_graph_serves_arrays_of_its_own_kind(form, order):
    net = Compared()
    net.hybridize()
    for kind in order:
        x, y = (getattr(mx, kind).array(each) for each in ([1.0, 4.0], [3.0, 2.0]))
        found, wanted = FORMS[form](net, x, y), FORMS[form](Compared(), x, y)
        for graph, plain in zip(found, wanted, strict=True):
            assert type(graph) is type(plain)
            assert (graph.shape, graph.dtype) == (plain.shape, plain.dtype)
            assert graph.asnumpy().tolist() == plain.asnumpy().tolist()


def test_masks_that_are_known_pick_in_a_graph():
    """As in attention without the own key: what is picked has a shape whatever the inputs are."""
    n = 4

    def others(x):
        return x[(1 - mx.np.eye(n)).astype("bool")].reshape((n, n - 1)) * 2

    both(others, np.arange(16, dtype="float32").reshape(4, 4))
    both(lambda x: x[:, mx.np.array([True, False, True])], np.ones((2, 3), "float32"))
    with pytest.warns(UserWarning, match="what a mask that is computed of inputs picks"):
        both(lambda x: x[x > 1], np.arange(3, dtype="float32"), whole=False)
