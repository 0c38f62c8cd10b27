"""The array class: walk-through, arithmetic against NumPy, conversions, copies, printing,
pickling."""

import copy
import gc
import pickle

import numpy as np
import pytest

import cynet as mx
from cynet.base.dtype import FLAGS

NUMPYS = [name for name in FLAGS if name != "bfloat16"]  # dtypes that NumPy has, too


def test_walk_through(rng):
    """NDArray basics of the MXNet tutorials: make, compute, read, overwrite in place."""
    a = mx.nd.ones((10,), ctx=mx.cpu())
    b = mx.nd.zeros((10,))
    c = (a + b) / 10
    d = c + 1
    assert isinstance(d.asnumpy(), np.ndarray)
    np.testing.assert_allclose(d.asnumpy(), 1.1, rtol=1e-6)
    values = rng.random(10)
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


@pytest.mark.parametrize("sign", ["+=", "-=", "*=", "/=", "%="])
def test_in_place_operators_write_the_same_memory(sign, rng):
    x, y = rng.uniform(0.5, 2, (2, 3, 4)).astype("float32")
    for other, value in [(mx.nd.array(y), y), (mx.nd.array(y[0]), y[0]), (2, 2), (1.5, 1.5)]:
        a = mx.nd.array(x)
        names = {"a": a, "x": x.copy(), "b": other, "y": value}
        before = a.data_ptr
        exec(f"a {sign} b\nx {sign} y", names)
        assert names["a"] is a and a.data_ptr == before
        np.testing.assert_allclose(a.asnumpy(), names["x"], rtol=1e-5)


@pytest.mark.parametrize("other", [2, 2.0, "array"])
def test_a_power_is_a_new_array(other):
    """As in MXNet 1.9.1, whose NDArray has no ``**=`` of its own."""
    a = alias = mx.nd.array([2, 3])
    other = mx.nd.array([2, 2]) if other == "array" else other
    a **= other
    assert a is not alias and alias.asnumpy().tolist() == [2, 3]
    assert a.asnumpy().tolist() == [4, 9]


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


@pytest.mark.parametrize("other", [[1, 2], "x", None, object()])
def test_operands_that_are_refused(other):
    a = mx.nd.ones((2,))
    for run in (
        lambda: a + other,
        lambda: other + a,
        lambda: a == other,
        lambda: a != other,
        lambda: a < other,
    ):
        with pytest.raises(TypeError, match="'NDArray'|NumPy array or list|can only concatenate"):
            run()
    with pytest.raises(TypeError, match="unsupported operand"):
        a += other


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "%", "**", "==", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("shape", [(2, 3), (3,), (2, 1), (1, 1), ()])
def test_numpy_arrays_are_operands(sign, shape, rng):
    left = rng.integers(1, 5, (2, 3)).astype("float32")
    right = rng.integers(1, 5, shape).astype("float64")
    for text in (f"a {sign} b", f"b {sign} a"):
        got = eval(text, {"a": mx.nd.array(left), "b": right})
        assert isinstance(got, mx.nd.NDArray) and got.dtype is np.float32
        expected = eval(text, {"a": left, "b": right})
        np.testing.assert_allclose(got.asnumpy(), expected.astype("float32"), rtol=1e-6)


def test_numpy_arrays_that_would_lose_are_refused():
    a = mx.nd.ones((2,), dtype="int32", ctx=mx.cpu(1))
    assert (a + np.array([1, 2])).context == mx.cpu(1)
    with pytest.raises(TypeError, match="an array of float64 does not become one of int32"):
        a + np.array([0.5, 1])
    a += np.array([1, 2], dtype="int8")
    assert a.asnumpy().tolist() == [2, 3] and a.dtype is np.int32


def test_format():
    loss = mx.nd.array([0.12345])
    assert f"{loss:.2f}" == "0.12" and f"{loss[0]:8.3f}" == "   0.123"
    assert f"{mx.nd.array([7], dtype='int32'):d}" == "7" and f"{loss}" == str(loss)
    with pytest.raises(TypeError, match=r"format '.2f' takes an array of one element.*\(2,\)"):
        f"{mx.nd.ones((2,)):.2f}"


def test_transpose_takes_axes_by_name():
    a = mx.nd.arange(24).reshape((2, 3, 4))
    expected = a.asnumpy().transpose(2, 0, 1)
    for got in (a.transpose(axes=(2, 0, 1)), a.transpose((2, 0, 1)), a.transpose(2, 0, 1)):
        np.testing.assert_array_equal(got.asnumpy(), expected)
    for got in (a.transpose(), a.transpose(axes=()), a.transpose(None), a.T):
        np.testing.assert_array_equal(got.asnumpy(), a.asnumpy().T)
    with pytest.raises(TypeError, match="given twice"):
        a.transpose(1, 0, 2, axes=(1, 0, 2))


@pytest.mark.parametrize(
    "shape, call, expected",
    [
        ((2, 3), lambda a, **k: a.expand_dims(1, **k), (2, 1, 3)),
        ((2, 3), lambda a, **k: a.expand_dims(axis=-1, **k), (2, 3, 1)),
        ((1, 2, 1), lambda a, **k: a.squeeze(**k), (2,)),
        ((1, 2, 1), lambda a, **k: a.squeeze(axis=0, **k), (2, 1)),
        ((1, 2, 1), lambda a, **k: a.squeeze((0, 2), **k), (2,)),
        ((2, 3, 4), lambda a, **k: a.flatten(**k), (2, 12)),
    ],
)
def test_other_shapes_in_place(shape, call, expected):
    """With `inplace` the result is a view of the same memory, as in MXNet."""
    a = mx.nd.zeros(shape)
    copy, view = call(a), call(a, inplace=True)
    assert copy.shape == view.shape == expected
    a[:] = 1
    assert view.asnumpy().all() and not copy.asnumpy().any()


@pytest.mark.parametrize(
    "codes, expected",
    [((0, 0, 2, 2, -4), (2, 3, 2, 2)), ((0, 0, -1, 2, -4), (2, 3, 2, 2))]
    + [((1, 2, -4, 0, 0), (1, 2, 3, 4)), ((-2, 2, 2, -4), (2, 3, 2, 2))]
    + [((0, 3, 1, -4, 0), (2, 3, 1, 4)), ((-3, 2, 2, -4), (6, 2, 2)), ((2, 1, -4, -3), (2, 1, 12))],
)
def test_reshape_splits_from_the_right(codes, expected):
    """What MXNet 1.9.1 gives."""
    a = mx.nd.arange(24).reshape((2, 3, 4))
    assert a.reshape(codes, reverse=True).shape == expected
    assert mx.nd.Reshape(a, shape=codes, reverse=True).shape == expected
    made = mx.sym.Reshape(mx.sym.Variable("x"), shape=codes, reverse=True)
    assert made.infer_shape(x=(2, 3, 4))[1] == [expected]


def test_copies_of_outputs():
    executor = (mx.sym.Variable("x") * 2).bind(mx.cpu(1), {"x": mx.nd.ones((2,))})
    out = executor.forward()[0]
    for made in (copy.deepcopy(out), copy.copy(out), pickle.loads(pickle.dumps(out))):
        assert made.context == mx.cpu(1) and made.asnumpy().tolist() == [2, 2]
        made[:] = 0
        assert out.asnumpy().tolist() == [2, 2]
    for shape in ((), (0, 3), (2, 0)):
        assert pickle.loads(pickle.dumps(mx.nd.zeros(shape))).shape == shape


def test_truth_and_numbers():
    assert mx.nd.array([3]) and not mx.nd.array([0])
    with pytest.raises(ValueError, match=r"\(2,\)"):
        bool(mx.nd.ones((2,)))
    assert float(mx.nd.array([2.5])) == 2.5 and int(mx.nd.array([2.5])) == 2
    assert [10, 20, 30][mx.nd.array([1], dtype="int32")] == 20
    for convert in (float, int, "abc".__getitem__):
        with pytest.raises(TypeError, match="array of one element, this one has shape"):
            convert(mx.nd.ones((2,), dtype="int32"))
    with pytest.raises(TypeError, match="only an integer array can be an index, this one is"):
        range(mx.nd.array([1.0]))
    with pytest.raises(ValueError, match="one element"):
        mx.nd.ones((2,)).asscalar()
    assert type(mx.nd.array([3]).asscalar()) is np.float32
    assert len({mx.nd.ones((1,)), mx.nd.ones((1,))}) == 2


@pytest.mark.parametrize("dtype", FLAGS)
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


@pytest.mark.parametrize("source", NUMPYS)
@pytest.mark.parametrize("target", NUMPYS)
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
    with pytest.raises(AttributeError, match="'NDArray' object has no attribute 'nothing'"):
        a.nothing = 3
    with pytest.raises(AttributeError, match="objects is not writable"):
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
    with pytest.raises(error, match="Reshape|reshape"):
        mx.nd.zeros((2, 3)).reshape(shape)


def test_methods_are_the_functions():
    a = mx.nd.array([[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(a.sum(axis=0).asnumpy(), [5, 7, 9])
    np.testing.assert_array_equal(a.clip(2, 5).asnumpy(), np.clip(a.asnumpy(), 2, 5))
    np.testing.assert_array_equal(a.transpose(1, 0).asnumpy(), a.asnumpy().T)
    np.testing.assert_allclose(a.exp().asnumpy(), np.exp(a.asnumpy()), rtol=1e-6)
    assert a.expand_dims(0).shape == (1, 2, 3) and a.flatten().shape == (2, 3)
    assert "sum" in mx.nd.NDArray.sum.__doc__


def test_finalizers_may_make_arrays():
    """The collector runs them while an array is being made."""

    class Cyclic:
        def __init__(self):
            self.itself = self

        def __del__(self):
            made.append(mx.nd.zeros((1,)))

    made, before = [], gc.get_threshold()
    try:
        for later in range(1, 60):  # one of these is the moment when the object is allocated
            gc.disable()
            Cyclic()
            gc.set_threshold(gc.get_count()[0] + later)
            gc.enable()
            for _ in range(30):
                mx.nd.zeros((2,)).reshape((1, 2))
    finally:
        gc.enable()
        gc.set_threshold(*before)
    assert made
