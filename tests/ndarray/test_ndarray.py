"""The array class: walk-through, arithmetic against NumPy, conversions, copies, printing,
pickling."""

import copy
import pickle

import numpy as np
import pytest

import cynet as mx
from cynet.dtype import NAMES


def test_walk_through():
    """NDArray basics of the MXNet tutorials: make, compute, read, overwrite in place."""
    a = mx.nd.ones((10,), ctx=mx.cpu())
    b = mx.nd.zeros((10,))
    c = (a + b) / 10
    d = c + 1
    assert isinstance(d.asnumpy(), np.ndarray)
    np.testing.assert_allclose(d.asnumpy(), 1.1, rtol=1e-6)
    values = np.random.rand(10)
    a[:] = values  # the contents; the name still means the same array
    np.testing.assert_allclose(a.asnumpy(), values.astype("float32"))
    weight, gradient = mx.nd.ones((3, 4)), mx.nd.full((3, 4), 2)
    weight[:] = weight - gradient * 0.001
    np.testing.assert_allclose(weight.asnumpy(), 0.998, rtol=1e-6)
    label = np.array([0, 1, 2])
    scores = mx.nd.array([[3, 1, 2], [0, 5, 1], [1, 2, 3]])
    assert sum(label == np.argmax(scores.asnumpy(), axis=1)) == 3


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "**", "%", "==", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_operators_agree_with_numpy(sign, dtype, rng):
    x = rng.uniform(0.5, 2, (3, 4)).astype(dtype)
    y = rng.uniform(0.5, 2, (3, 4)).astype(dtype)
    y[0] = x[0]
    row = y[1]
    a, b, c = (mx.nd.array(v, dtype=dtype) for v in (x, y, row))
    tolerance = 2e-3 if dtype == "float16" else 1e-5

    def compare(got, expected):
        assert got.dtype == np.dtype(dtype).type
        np.testing.assert_allclose(
            got.asnumpy(), expected.astype(dtype), rtol=tolerance, atol=tolerance
        )

    names = {"a": a, "b": b, "c": c, "x": x, "y": y, "row": row}
    for ours, theirs in [("a", "x"), ("b", "y"), ("c", "row"), ("1.5", "1.5"), ("2", "2")]:
        compare(eval(f"a {sign} {ours}", names), eval(f"x {sign} {theirs}", names))
        if ours != "a":
            compare(eval(f"{ours} {sign} a", names), eval(f"{theirs} {sign} x", names))


@pytest.mark.parametrize("sign", ["+=", "-=", "*=", "/=", "%=", "**="])
def test_in_place_operators_write_the_same_memory(sign, rng):
    x, y = rng.uniform(0.5, 2, (2, 3, 4)).astype("float32")
    for other, value in [(mx.nd.array(y), y), (mx.nd.array(y[0]), y[0]), (2, 2), (1.5, 1.5)]:
        a = mx.nd.array(x)
        names = {"a": a, "x": x.copy(), "b": other, "y": value}
        before = a.data_ptr
        exec(f"a {sign} b\nx {sign} y", names)
        assert names["a"] is a and a.data_ptr == before
        np.testing.assert_allclose(a.asnumpy(), names["x"], rtol=1e-5)


def test_same_array_on_both_sides():
    a = mx.nd.arange(4)
    a += a
    a *= a
    assert a.asnumpy().tolist() == [0, 4, 16, 36]
    assert (a - a).asnumpy().tolist() == [0] * 4


def test_numpy_scalars_on_either_side():
    a = mx.nd.ones((2,))
    for scalar in (np.float32(2), np.float64(2), np.int64(2), np.uint8(2)):
        for got in (a + scalar, scalar + a, scalar * a + 1, scalar - a + 2):
            assert isinstance(got, mx.nd.NDArray) and got.asnumpy().tolist() == [3, 3]
        assert (a < scalar).asnumpy().tolist() == [1, 1]
        assert (scalar > a).asnumpy().tolist() == [1, 1]


@pytest.mark.parametrize("other", [np.ones(2), np.ones((2, 2)), [1, 2], "x", None, object()])
def test_operands_that_are_refused(other):
    a = mx.nd.ones((2,))
    for run in (
        lambda: a + other,
        lambda: other + a,
        lambda: a == other,
        lambda: a != other,
        lambda: a < other,
    ):
        with pytest.raises(TypeError):
            run()
    with pytest.raises(TypeError):
        a += other


def test_truth_and_numbers():
    assert mx.nd.array([3]) and not mx.nd.array([0])
    with pytest.raises(ValueError, match=r"\(2,\)"):
        bool(mx.nd.ones((2,)))
    assert float(mx.nd.array([2.5])) == 2.5 and int(mx.nd.array([2.5])) == 2
    assert [10, 20, 30][mx.nd.array([1], dtype="int32")] == 20
    for convert in (float, int, "abc".__getitem__):
        with pytest.raises(TypeError):
            convert(mx.nd.ones((2,), dtype="int32"))
    with pytest.raises(TypeError):
        range(mx.nd.array([1.0]))
    with pytest.raises(ValueError, match="one element"):
        mx.nd.ones((2,)).asscalar()
    assert type(mx.nd.array([3]).asscalar()) is np.float32
    assert len({mx.nd.ones((1,)), mx.nd.ones((1,))}) == 2


@pytest.mark.parametrize("dtype", NAMES)
def test_copies_are_equal_and_apart(dtype, rng):
    a = mx.nd.array(rng.integers(0, 2, (2, 3)), dtype=dtype)
    for other in (
        a.copy(),
        copy.copy(a),
        copy.deepcopy(a),
        pickle.loads(pickle.dumps(a)),
        a.copyto(mx.cpu(1)),
        a.copyto(mx.nd.empty((2, 3), dtype=dtype)),
    ):
        assert other.dtype == a.dtype and other.data_ptr != a.data_ptr
        np.testing.assert_array_equal(other.asnumpy(), a.asnumpy())
    assert a.detach().data_ptr == a.data_ptr
    with pytest.warns(RuntimeWarning, match="copyto"):
        assert a.copyto(a) is a
    with pytest.raises(ValueError, match="shape"):
        a.copyto(mx.nd.empty((3, 2)))
    with pytest.raises(TypeError, match="Context"):
        a.copyto("cpu")


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", NAMES)
def test_astype_agrees_with_numpy(source, target, rng):
    values = rng.integers(0, 100, (3, 5)).astype(source)
    got = mx.nd.array(values, dtype=source).astype(target)
    np.testing.assert_array_equal(got.asnumpy(), values.astype(target))
    same = mx.nd.array(values, dtype=source)
    assert (same.astype(target, copy=False) is same) == (source == target)


def test_attributes():
    a = mx.nd.zeros((2, 3), dtype="float64")
    assert (a.shape, a.size, a.ndim, a.stype) == ((2, 3), 6, 2, "default")
    assert a.dtype is np.float64 and a.context == a.ctx == mx.cpu(0) and a.T.shape == (3, 2)
    with pytest.raises(AttributeError):
        a.nothing = 3
    with pytest.raises(AttributeError):
        a.shape = (3, 2)


@pytest.mark.parametrize(
    "shape, error",
    [
        ((4, 2), ValueError),
        ((-1, -1), ValueError),
        ((), ValueError),
        (("a",), TypeError),
        ((-5, 2), ValueError),
        ((0, 0, 0, 0), ValueError),
        ((-4, 2), ValueError),
        ((7, -1), ValueError),
        ((1 << 62, 8), ValueError),
    ],
)
def test_reshape_refuses(shape, error):
    with pytest.raises(error):
        mx.nd.zeros((2, 3)).reshape(shape)


def test_methods_are_the_functions():
    a = mx.nd.array([[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(a.sum(axis=0).asnumpy(), [5, 7, 9])
    np.testing.assert_array_equal(a.clip(2, 5).asnumpy(), np.clip(a.asnumpy(), 2, 5))
    np.testing.assert_array_equal(a.transpose(1, 0).asnumpy(), a.asnumpy().T)
    np.testing.assert_allclose(a.exp().asnumpy(), np.exp(a.asnumpy()), rtol=1e-6)
    assert a.expand_dims(0).shape == (1, 2, 3) and a.flatten().shape == (2, 3)
    assert "sum" in mx.nd.NDArray.sum.__doc__
