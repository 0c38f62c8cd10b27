"""Shapes are tuples, lists, ints or NumPy's arrays; dtypes also what has one."""

import numpy as np
import pytest

import cynet as mx
from cynet import nd
from cynet.base.errors import CynetError

SHAPE = (2, 3)
TAKERS = {
    "zeros": lambda s: nd.zeros(s),
    "ones": lambda s: nd.ones(s),
    "full": lambda s: nd.full(s, 1.0),
    "full of an int": lambda s: nd.full(s, 1 << 60, dtype="int64"),
    "empty": lambda s: nd.empty(s),
    "reshape": lambda s: nd.ones(6).reshape(s),
    "nd.reshape": lambda s: nd.reshape(nd.ones(6), s),
    "reshape by keyword": lambda s: nd.ones(6).reshape(shape=s),
    "nd.reshape by keyword": lambda s: nd.reshape(nd.ones(6), shape=s),
    "broadcast_to": lambda s: nd.ones((1, 3)).broadcast_to(s),
    "nd.broadcast_to": lambda s: nd.broadcast_to(nd.ones((1, 3)), shape=s),
    "random.uniform": lambda s: nd.random.uniform(shape=s),
    "random.normal": lambda s: nd.random.normal(0, 1, s),
    "random.randint": lambda s: nd.random.randint(0, 9, s),
    "mx.random": lambda s: mx.random.uniform(0, 1, shape=s),
    "tile": lambda s: nd.ones((1, 1)).tile(s),
    "sparse zeros": lambda s: nd.sparse.zeros("row_sparse", s),
    "sym.zeros": lambda s: mx.sym.zeros(s).eval()[0],
    "sym.reshape": lambda s: mx.sym.reshape(mx.sym.ones(6), shape=s).eval()[0],
    "Parameter": lambda s: initialized(mx.gluon.Parameter("p", shape=s)),
    "scatter_nd": lambda s: nd.scatter_nd(nd.ones(1), nd.array([[0], [0]]), shape=s),
    "transpose": lambda s: nd.zeros((3, 2)).transpose(np.array([1, 0])),
}


def initialized(parameter):
    parameter.initialize()
    return parameter.data()


@pytest.mark.parametrize(
    "kind",
    [
        tuple,
        list,
        np.array,
        lambda s: np.array(s, "int32"),
        lambda s: np.array(s, "uint8"),
        lambda s: tuple(np.array(s)),
        lambda s: list(np.array(s, "int32")),
    ],
    ids=["tuple", "list", "array", "int32", "uint8", "tuple of int64", "list of int32"],
)
@pytest.mark.parametrize("name", TAKERS)
def test_shapes(name, kind):
    assert TAKERS[name](kind(SHAPE)).shape == SHAPE


@pytest.mark.parametrize("name", ["zeros", "reshape", "nd.reshape", "broadcast_to"])
def test_what_is_no_shape(name):
    for wrong in (np.array([2.5, 3]), np.array([[2, 3]]), np.array(["a"]), "ab"):
        with pytest.raises(CynetError, match="a tuple of ints"):
            TAKERS[name](wrong).wait_to_read()


def test_one_number_of_numpy():
    for n in (np.int64(3), np.array(3), np.array([3])):
        assert nd.zeros(n).shape == (3,)
        assert nd.ones((1, 3)).reshape(n).shape == (3,)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32", "uint8", "bfloat16"])
def test_an_array_stands_for_its_dtype(dtype):
    like = nd.zeros(2, dtype=dtype)
    x = nd.ones(2)
    for got in (
        x.astype(like),
        x.astype(like, copy=False),
        nd.zeros(2, dtype=like),
        nd.array([1, 2], dtype=like),
        nd.full(2, 1, dtype=like),
        nd.arange(2, dtype=like),
    ):
        assert got.dtype == like.dtype
    assert like.astype(like, copy=False) is like
    if dtype != "bfloat16":
        assert x.astype(like.asnumpy()).dtype == like.dtype
    with pytest.raises(CynetError, match="dtype .* is not one of"):
        x.astype(object())


VALUES = np.array([[1.0, 2.0, 0.0], [4.0, 5.0, 6.0]], "float32")


@pytest.mark.parametrize("name", ["all", "any", "mean", "std", "var", "sum", "max", "min", "prod"])
@pytest.mark.parametrize("how", [{}, {"axis": 1}, {"axis": 0, "keepdims": True}, {"axis": -1}])
def test_functions_of_numpy(name, how):
    got = getattr(np, name)(nd.array(VALUES), **how)
    want = getattr(np, name)(VALUES, **how)
    np.testing.assert_allclose(got.asnumpy().reshape(np.shape(want)), want, 1e-5)


@pytest.mark.parametrize("name", ["all", "any", "mean", "std", "var", "sum", "prod"])
def test_out_and_dtype(name):
    x = nd.array(VALUES)
    out = nd.zeros(2)
    got = getattr(x, name)(axis=1, out=out)
    assert got is out
    np.testing.assert_allclose(out.asnumpy(), getattr(VALUES, name)(axis=1), 1e-5)
    if name not in ("all", "any"):
        got = getattr(x, name)(axis=1, dtype="float64")
        assert got.dtype == np.float64
        np.testing.assert_allclose(got.asnumpy(), getattr(VALUES.astype("d"), name)(axis=1), 1e-12)
        got = getattr(np, name)(x, axis=1, dtype="float64")
        assert got.dtype == np.float64
    if name in ("sum", "prod"):  # what float32 cannot hold
        large = nd.array([2**24, 1], dtype="int32")
        got = getattr(np, name)(large, dtype="int64", keepdims=True)
        assert got.dtype == np.int64 and got.shape == (1,)
        assert got.asscalar() == getattr(np, name)([2**24, 1])
    if name in ("std", "var"):
        got = getattr(np, name)(x, axis=1, ddof=1)
        np.testing.assert_allclose(got.asnumpy(), getattr(np, name)(VALUES, axis=1, ddof=1), 1e-5)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize(
    "x, y",
    [
        ("x", 0),
        (0, "x"),
        ("x", -1.5),
        (1, 0),
        (2.5, np.float32(7)),
        ("x", "x"),
        (True, "x"),
        (float("inf"), "x"),
        (np.int64(3), "x"),
    ],
)
def test_where_with_numbers(symbolic, x, y):
    values = np.array([[1, -2, 3], [-4, 5, 0]], "float32")
    want = np.where(values > 0, *(values if each == "x" else each for each in (x, y)))
    if not symbolic:
        array = nd.array(values)
        got = nd.where(array > 0, *(array if each == "x" else each for each in (x, y)))
    else:
        array = mx.sym.Variable("a")
        net = mx.sym.where(
            array > 0, *(array if each == "x" else each for each in (x, y)), name="chosen"
        )
        assert net.list_outputs() == ["chosen_output"]
        (got,) = net.eval(a=nd.array(values))
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got.asnumpy(), want.astype("float32"))


def test_where_keeps_integers_out_and_gradients():
    x = nd.array([1, -2, 3], dtype="int64")
    assert nd.where(x > 0, x, 0).dtype == np.int64
    out = nd.zeros(3)
    a = nd.array([1, -2, 3])
    assert nd.where(a > 0, a, 0, out=out) is out
    assert out.asnumpy().tolist() == [1, 0, 3]
    a.attach_grad()
    with mx.autograd.record():
        b = nd.where(a > 0, a * 2, 0)
    b.backward()
    assert a.grad.asnumpy().tolist() == [2, 0, 2]
    rows = nd.where(nd.array([1, 0]), nd.ones((2, 3)), 5)
    assert rows.asnumpy().tolist() == [[1, 1, 1], [5, 5, 5]]
    net = mx.gluon.nn.HybridLambda(lambda F, v: F.where(v > 0, v, 0))
    net.hybridize()
    assert net(a).asnumpy().tolist() == [1, 0, 3]
    with pytest.raises(CynetError, match="'y'|missing"):
        nd.where(a, 1)
