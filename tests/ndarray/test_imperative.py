"""Imperative calls: arguments, out=, in-place safety, caching, errors that name operator and
line, threads."""

import inspect
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import cynet as mx
from cynet.operator import OPERATORS, Float, Operator, OperatorProperty, register_operator


class ScaleOperator(Operator):
    """data * factor in Python; fails for a factor of 13."""

    def __init__(self, factor):
        self.factor = factor

    def forward(self, ctx, in_data, req, out_data, aux_states):
        if self.factor == 13:
            raise ZeroDivisionError("thirteen")
        np.asarray(out_data[0])[:] = np.asarray(in_data[0]) * self.factor


class ScaleProperty(OperatorProperty):
    """An input times a factor."""

    factor = Float(2.0, doc="The factor.")

    def create_operator(self, ctx, in_shapes, in_types):
        return ScaleOperator(self.factor)


if "test_scale" not in OPERATORS:
    register_operator("test_scale", ScaleProperty)


def test_a_new_operator_is_on_mx_nd_at_once():
    assert mx.nd.test_scale(mx.nd.ones((2,)), factor=3).asnumpy().tolist() == [3, 3]
    assert (
        str(inspect.signature(mx.nd.test_scale))
        == "(data=None, factor=2.0, out=None, name=None, **kwargs)"
    )
    assert "The factor." in mx.nd.test_scale.__doc__
    assert mx.nd._internal.test_scale(mx.nd.ones((1,))).asscalar() == 2


def test_names_that_do_not_exist():
    with pytest.raises(AttributeError, match="FullyConnected"):
        mx.nd.FulyConnected  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'nothing_like_this'"):
        mx.nd.linalg.nothing_like_this  # noqa: B018
    assert "FullyConnected" in dir(mx.nd) and "zeros" in dir(mx.nd)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda a: mx.nd.FullyConnected(a), ValueError, ["FullyConnected", "num_hidden"]),
        (lambda a: mx.nd.FullyConnected(a, num_hidden=2), ValueError, ["FullyConnected", "weight"]),
        (
            lambda a: mx.nd.FullyConnected(a, num_hidden="x"),
            ValueError,
            ["FullyConnected", "num_hidden", "'x'"],
        ),
        (
            lambda a: mx.nd.FullyConnected(a, num_hidden=2.5),
            TypeError,
            ["FullyConnected", "num_hidden", "2.5"],
        ),
        (lambda a: mx.nd.FullyConnected(a, foo=2), TypeError, ["FullyConnected", "foo"]),
        (
            lambda a: mx.nd.FullyConnected(a, mx.nd.ones((3, 4)), no_bias=True, num_hidden=3),
            ValueError,
            ["FullyConnected", "weight", "(3, 4)"],
        ),
        (
            lambda a: mx.nd.FullyConnected(a, a, a, no_bias=True, num_hidden=3),
            ValueError,
            ["FullyConnected", "data, weight", "3"],
        ),
        (
            lambda a: mx.nd.FullyConnected(a, weight=a, data=a, num_hidden=3),
            TypeError,
            ["data", "twice"],
        ),
        (
            lambda a: mx.nd.FullyConnected(1, num_hidden=2),
            TypeError,
            ["FullyConnected", "data", "int"],
        ),
        (lambda a: mx.nd.FullyConnected([1, 2], num_hidden=2), TypeError, ["data", "list"]),
        (
            lambda a: mx.nd.elemwise_add(a, mx.nd.ones((2, 2))),
            ValueError,
            ["elemwise_add", "(2, 3)", "(2, 2)"],
        ),
        (
            lambda a: mx.nd.elemwise_add(a, a.astype("int32")),
            ValueError,
            ["elemwise_add", "int32", "float32"],
        ),
        (lambda a: a + mx.nd.ones((4,)), ValueError, ["broadcast_add", "(2, 3)", "(4,)"]),
        (lambda a: a + mx.nd.ones((3,), dtype="float64"), ValueError, ["broadcast_add", "float64"]),
        (lambda a: a + a.astype("float64"), ValueError, ["elemwise_add", "float64"]),
        (
            lambda a: mx.nd.elemwise_add(a, a, out=mx.nd.ones((2,))),
            ValueError,
            ["elemwise_add", "out", "(2,)"],
        ),
        (lambda a: mx.nd.elemwise_add(a, a, out=a.astype("int32")), TypeError, ["out", "int32"]),
        (lambda a: mx.nd.elemwise_add(a, a, out=[a, a]), ValueError, ["out", "2"]),
        (lambda a: mx.nd.elemwise_add(a, a, out=3), TypeError, ["out"]),
        (lambda a: mx.nd.elemwise_add(a, a, out=[3]), TypeError, ["out", "[3]"]),
        (lambda a: mx.nd.Activation(a, "relu", act_type="relu"), TypeError, ["act_type", "twice"]),
        (lambda a: mx.nd.Activation(a, "relu", 3, 4, 5), TypeError, ["Activation", "at most"]),
        (
            lambda a: mx.nd.Activation(a, act_type="nothing"),
            ValueError,
            ["Activation", "act_type", "nothing"],
        ),
        (lambda a: mx.nd.test_scale(a, ctx="cpu(0)"), TypeError, ["ctx"]),
        (lambda a: mx.nd.maximum(a, "x"), TypeError, ["maximum", "str"]),
    ],
)
def test_what_is_wrong_raises_at_once(call, error, words):
    with pytest.raises(error, match="maximum takes NDArrays and|operator") as caught:
        call(mx.nd.ones((2, 3)))
    assert isinstance(caught.value, mx.base.MXNetError)
    for word in words:
        assert word in str(caught.value)


def test_an_asynchronous_error_names_operator_shapes_and_line():
    out = mx.nd.test_scale(mx.nd.ones((2, 3)), factor=13)
    line = inspect.currentframe().f_lineno - 1
    with pytest.raises(
        ZeroDivisionError, match="ScaleOperator: forward raised ZeroDivisionError: thirteen"
    ) as caught:
        out.asnumpy()
    assert isinstance(caught.value, mx.base.MXNetError)
    for words in ("test_scale", "(2, 3) float32", "thirteen", f"test_imperative.py:{line}"):
        assert words in str(caught.value)
    assert (mx.nd.ones((2,)) + 1).asnumpy().tolist() == [2, 2]


def test_an_error_spreads_to_what_depends_on_it():
    bad = mx.nd.test_scale(mx.nd.ones((2, 2)), factor=13)
    later = [bad + 1, bad[::-1], bad[[0, 1]], bad.astype("int32"), bad.copy(), mx.nd.array(bad)]
    with pytest.raises(
        ZeroDivisionError, match="ScaleOperator: forward raised ZeroDivisionError: thirteen"
    ):
        later[0].asnumpy()
    # A failure is raised once; what it left without values stays so, and says it.
    for array in (bad, *later):
        for read in (array.asnumpy, array.wait_to_read, lambda array=array: memoryview(array)):
            with pytest.raises(mx.base.MXNetError, match="no values"):
                read()
    bad[:] = 3
    assert bad.asnumpy().tolist() == [[3, 3], [3, 3]]


def test_out_is_written_and_returned(rng):
    values = rng.standard_normal((2, 3)).astype("float32")
    a, out = mx.nd.array(values), mx.nd.zeros((2, 3))
    assert mx.nd.elemwise_add(a, a, out=out) is out
    np.testing.assert_array_equal(out.asnumpy(), values + values)
    assert mx.nd.elemwise_add(a, a, out=a) is a
    np.testing.assert_array_equal(a.asnumpy(), values + values)
    outs = [out]
    assert mx.nd.elemwise_add(a, a, out=outs) is outs


def test_out_that_overlaps_an_input_is_right(rng):
    values = rng.standard_normal((4, 4)).astype("float32")
    a = mx.nd.array(values)
    mx.nd.dot(a, a, out=a)  # no in-place option: through memory of its own
    np.testing.assert_allclose(a.asnumpy(), values @ values, rtol=1e-4, atol=1e-5)
    b = mx.nd.arange(10)
    mx.nd.elemwise_add(b[0:8], b[0:8], out=b[2:10])  # shifted
    assert b.asnumpy().tolist() == [0, 1, 0, 2, 4, 6, 8, 10, 12, 14]
    a = mx.nd.array(values)
    mx.nd.transpose(a, out=a)
    np.testing.assert_array_equal(a.asnumpy(), values.T)
    row = mx.nd.ones((1, 3))
    with pytest.raises(ValueError, match="operator broadcast_add: out has shape"):
        row += mx.nd.ones((2, 3))


def test_two_outs_must_not_share_memory():
    a = mx.nd.arange(6).reshape((2, 3))
    out = mx.nd.zeros((2, 1))
    with pytest.raises(ValueError, match="share memory"):
        mx.nd.split(a, num_outputs=3, axis=1, out=[out, out, mx.nd.zeros((2, 1))])


def test_hidden_outputs_and_states():
    data = mx.nd.array(np.arange(24).reshape(4, 3, 2))
    gamma, beta, mean, var = (
        mx.nd.ones((3,)),
        mx.nd.zeros((3,)),
        mx.nd.zeros((3,)),
        mx.nd.ones((3,)),
    )
    out = mx.nd.BatchNorm(data, gamma, beta, mean, var)
    assert out.shape == data.shape
    out = mx.nd.BatchNorm(data, gamma, beta, moving_var=var, moving_mean=mean)
    np.testing.assert_allclose(out.asnumpy(), data.asnumpy() / np.sqrt(1.001), rtol=1e-5)
    weight, momentum = mx.nd.ones((2,)), mx.nd.zeros((2,))
    assert (
        mx.nd.sgd_mom_update(weight, mx.nd.ones((2,)), momentum, lr=0.5, momentum=0.9, out=weight)
        is weight
    )
    assert weight.asnumpy().tolist() == [0.5, 0.5] and momentum.asnumpy().tolist() == [-0.5, -0.5]


def test_calls_are_told_apart_by_type_of_parameter_shape_and_dtype(rng):
    for _ in range(3):
        for shape in ((2, 3), (3, 2), (6,), (1, 2, 3)):
            for dtype in ("float32", "float64", "int32"):
                values = rng.integers(1, 9, shape).astype(dtype)
                a = mx.nd.array(values, dtype=dtype)
                np.testing.assert_array_equal((a + a).asnumpy(), values + values)
                np.testing.assert_array_equal((a * 3).asnumpy(), values * 3)
                np.testing.assert_array_equal((a * 2).asnumpy(), values * 2)
                np.testing.assert_array_equal((7 - a).asnumpy(), 7 - values)
                np.testing.assert_array_equal((a == a).asnumpy(), np.ones(shape, dtype))
    a = mx.nd.ones((2,))
    assert np.signbit((a * -0.0).asnumpy()).all() and not np.signbit((a * 0.0).asnumpy()).any()


def test_numbers_that_change_from_call_to_call(rng):
    values = rng.standard_normal((5,)).astype("float32")
    a, total = mx.nd.array(values), mx.nd.zeros((5,))
    for i in range(200):
        total += a * (i * 0.5)
    np.testing.assert_allclose(
        total.asnumpy(), values * sum(i * 0.5 for i in range(200)), rtol=1e-4
    )


def test_parameters_that_cannot_be_hashed():
    a = mx.nd.arange(6).reshape((2, 3))
    for axes in ([1, 0], (1, 0), np.array([1, 0])):
        assert mx.nd.transpose(a, axes=axes).shape == (3, 2)


def test_calls_like_one_before():
    """A call is remembered with its arguments: whatever differs makes another one."""
    x = np.arange(12, dtype="float32").reshape((3, 4))
    a, b = mx.nd.array(x), mx.nd.array(x + 1)
    axes = [0]
    for _ in range(3):
        for axis in (0, 1, (0,), (0, 1), -1, None):
            expected = x.sum(axis=axis).reshape(-1)
            np.testing.assert_array_equal(mx.nd.sum(a, axis=axis).asnumpy().ravel(), expected)
            got = mx.nd.sum(a, axis=axis, keepdims=True)
            assert got.shape == (x.sum(axis=axis, keepdims=True).shape)
        for axis in (0, 1):  # one list, changed between the calls
            axes[0] = axis
            np.testing.assert_array_equal(mx.nd.sum(a, axis=axes).asnumpy(), x.sum(axis))
        np.testing.assert_array_equal(mx.nd.clip(a, 2, 5).asnumpy(), x.clip(2, 5))
        np.testing.assert_array_equal(mx.nd.clip(a, 2, 7).asnumpy(), x.clip(2, 7))
        np.testing.assert_array_equal(mx.nd.clip(a, a_min=2, a_max=7.5).asnumpy(), x.clip(2, 7.5))
        for zero in (float(0), np.float64(0), np.float32(0)):
            assert np.signbit(mx.nd.clip(-a, zero, zero).asnumpy()[0, 1]) != np.signbit(
                mx.nd.clip(-a, -zero, -zero).asnumpy()[0, 1]
            )
        np.testing.assert_array_equal(
            mx.nd.concat(a, b, dim=0).asnumpy(), np.concatenate([x, x + 1])
        )
        joined = mx.nd.concat(a, b, a, dim=1).asnumpy()
        np.testing.assert_array_equal(joined, np.concatenate([x, x + 1, x], 1))
        np.testing.assert_array_equal(mx.nd.exp(data=a).asnumpy(), mx.nd.exp(a).asnumpy())
        assert mx.nd.one_hot(a[0], 4).shape == (4, 4) and mx.nd.one_hot(a[0], 5).shape == (4, 5)
        parts = mx.nd.split(a, num_outputs=2, axis=1)
        assert [part.shape for part in parts] == [(3, 2), (3, 2)]


def test_signatures_used_last_are_remembered(monkeypatch):
    monkeypatch.setenv("CYNET_CALL_CACHE", "64")
    caches = [OPERATORS.get(name).cache for name in ("test_scale", "abs")]
    first = mx.nd.zeros((2, 1))
    mx.nd.test_scale(first)
    new = list(caches[0])[-1]
    for n in range(1, 1000):
        mx.nd.test_scale(mx.nd.zeros((n,)))
        mx.nd.abs(mx.nd.zeros((n,)))
        if n % 20 == 0:
            mx.nd.test_scale(mx.nd.zeros((3, n)))  # so that the next one is looked up
            mx.nd.test_scale(first)
        assert sum(map(len, caches)) <= 64
    assert new in caches[0]


def test_signatures_of_all_operators_share_the_limit(monkeypatch):
    caches = [OPERATORS.get(name).cache for name in ("test_scale", "abs")]
    for n in range(1, 501):
        mx.nd.test_scale(mx.nd.zeros((n, 2)))
        mx.nd.abs(mx.nd.zeros((n, 2)))
    kept = [dict(cache) for cache in caches]
    assert all(len(each) >= 500 for each in kept)
    for n in range(1, 501):
        mx.nd.test_scale(mx.nd.zeros((n, 2)))
        mx.nd.abs(mx.nd.zeros((n, 2)))
    assert kept == [dict(cache) for cache in caches]
    monkeypatch.setenv("CYNET_CALL_CACHE", "100")
    mx.nd.abs(mx.nd.zeros((1, 2, 3)))
    assert sum(len(entry.cache) for entry in set(OPERATORS.table.values())) <= 100
    monkeypatch.setenv("CYNET_CALL_CACHE", "0")
    known = dict(OPERATORS.get("abs").cache)
    assert mx.nd.abs(mx.nd.array([-1, 2, -3, 4])).asnumpy().tolist() == [1, 2, 3, 4]
    assert OPERATORS.get("abs").cache == known


def test_a_call_like_one_before_with_out():
    a, out = mx.nd.array([[1.0, -2.0]]), mx.nd.zeros((1, 2))
    for _ in range(3):
        assert mx.nd.abs(a).asnumpy().tolist() == [[1, 2]]
        assert mx.nd.abs(a, out=out) is out and out.asnumpy().tolist() == [[1, 2]]
        assert mx.nd.negative(a, out=a) is a
        with pytest.raises(mx.base.MXNetError, match=r"out has shape \(2,\), expected \(1, 2\)"):
            mx.nd.abs(a, out=mx.nd.zeros(2))
        with pytest.raises(mx.base.MXNetError, match="out is float64"):
            mx.nd.abs(a, out=mx.nd.zeros((1, 2), dtype="float64"))
    assert a.asnumpy().tolist() == [[-1, 2]]
    whole = mx.nd.arange(6)
    for _ in range(2):  # an out that overlaps the input is computed beside it
        mx.nd.identity(whole[0:4], out=whole[2:6])
    assert whole.asnumpy().tolist() == [0, 1, 0, 1, 0, 1]


def test_calls_without_arrays_follow_the_context():
    for _ in range(2):
        for device in (0, 3):
            with mx.Context("cpu", device):
                assert mx.nd.random.uniform(0, 1, shape=3).context == mx.cpu(device)
                assert mx.nd.zeros(3).context == mx.cpu(device)
        assert mx.nd.random.uniform(0, 1, shape=3, ctx=mx.cpu(1)).context == mx.cpu(1)
        assert mx.nd.random.uniform(0, 1, shape=(3,)).shape == (3,)


@pytest.mark.parametrize("base, exponent", [(2**63, 10**400), (np.int64(3), -1), (0, -1)])
def test_a_power_of_numbers_that_is_none(base, exponent):
    assert mx.nd.power(2, 100) == 2**100
    with pytest.raises(mx.base.MXNetError, match="power"):
        mx.nd.power(base, exponent)


def test_functions_of_two_operands(rng):
    x = rng.standard_normal((4, 5)).astype("float32")
    row = rng.standard_normal((1, 5)).astype("float32")
    a, r = mx.nd.array(x), mx.nd.array(row)
    for name, reference in (("add", np.add), ("maximum", np.maximum), ("greater", np.greater)):
        function = getattr(mx.nd, name)
        np.testing.assert_array_equal(function(a, a + 1).asnumpy(), reference(x, x + 1))
        np.testing.assert_array_equal(function(a, r).asnumpy(), reference(x, row))
        np.testing.assert_array_equal(function(a, 0.5).asnumpy(), reference(x, np.float32(0.5)))
        np.testing.assert_array_equal(function(0.5, a).asnumpy(), reference(np.float32(0.5), x))
        with pytest.raises(
            mx.base.MXNetError, match=rf"{name} takes NDArrays and numbers, got list"
        ):
            function([1], a)
        with pytest.raises(mx.base.MXNetError, match="do not broadcast: 4 against 3"):
            function(a, mx.nd.zeros((3, 5)))
    assert mx.nd.maximum(2, 3) == 3


@pytest.mark.parametrize("size", [10, 100_000])
def test_many_threads_share_arrays(size):
    total = mx.nd.zeros((size,))
    one = mx.nd.ones((size,))
    errors = []

    def work():
        try:
            mine = mx.nd.zeros((size,))
            for _ in range(50):
                total.__iadd__(one)
                mine += one * 2
                view = mine[2:5]
                view *= 1
            if not (mine.asnumpy() == 100).all():
                errors.append("own array")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert (total.asnumpy() == 400).all()


def test_arrays_in_flight_survive_their_names():
    results = []
    for i in range(30):
        a = mx.nd.full((300, 300), i)
        b = mx.nd.dot(a, a)
        for _ in range(5):
            b = b * 0.5 + a
        del a
        results.append(b)
    for i, b in enumerate(results):
        expected = i * i * 300.0
        for _ in range(5):
            expected = expected * 0.5 + i
        np.testing.assert_allclose(b.asnumpy(), expected, rtol=1e-5)


def test_large_operators_run_on_workers_in_order(rng):
    values = rng.standard_normal((1000, 500)).astype("float32")
    a = mx.nd.array(values)
    b = a * 2 + 1
    a[:] = 0
    c = b - a
    a += c
    np.testing.assert_allclose(a.asnumpy(), values * 2 + 1, rtol=1e-6)
    np.testing.assert_allclose(b.asnumpy(), values * 2 + 1, rtol=1e-6)


WHO_RUNS_IT = """
import numpy as np
import cynet as mx
from cynet import nd

a, b = nd.array(np.ones(4_000_000)), nd.array(np.ones(4_000_000))
threads = lambda: mx.engine.get().census()["native_threads"]
nd.waitall()
before = threads()
m = a.reshape((2000, 2000))
a.sum(), m.max(axis=1), a > b, nd.dot(a, b), m[:, :500], nd.slice_axis(m, axis=1, begin=0, end=9)
a -= b
a[:] = 2
nd.sgd_update(a, b, out=a, lr=1)
assert threads() == before, (before, threads())
nd.dot(m, m)
assert threads() > before
nd.waitall()
assert float(a[0].asscalar()) == 1
"""


def test_a_pass_runs_on_the_callers_thread_and_a_large_product_does_not():
    code = [sys.executable, "-c", WHO_RUNS_IT]
    env = {**os.environ, "CYNET_ENGINE_TYPE": "ThreadedEngine"}
    run = subprocess.run(code, capture_output=True, text=True, timeout=100, env=env)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    ("name", "shape", "given"),
    [
        ("take", (0, 3), {"mode": "clip"}),
        ("take", (2, 0), {"axis": 1, "mode": "wrap"}),
        ("take", (0, 3), {"mode": "raise"}),
        ("pick", (2, 0), {"mode": "wrap"}),
        ("batch_take", (2, 0), {}),
    ],
)
def test_nothing_is_taken_from_an_empty_axis(name, shape, given):
    index = mx.nd.array([0, 1], dtype="int32")
    with pytest.raises(mx.base.MXNetError, match=f"{name}: axis [01] of .* is empty"):
        getattr(mx.nd, name)(mx.nd.zeros(shape), index, **given).wait_to_read()


def test_nothing_is_made_of_inputs_without_elements():
    nd, given = mx.nd, {"kernel": (3, 3), "num_filter": 3, "no_bias": True}
    with pytest.raises(mx.base.MXNetError, match=r"Convolution: .*\(2, 0, 5, 5\) has no el"):
        nd.Convolution(nd.zeros((2, 0, 5, 5)), nd.zeros((3, 0, 3, 3)), **given)
    with pytest.raises(mx.base.MXNetError, match=r"Deconvolution: .*\(2, 0, 5, 5\) has no el"):
        nd.Deconvolution(nd.zeros((2, 0, 5, 5)), nd.zeros((0, 3, 3, 3)), **given)
    nothing = mx.nd.zeros((3, 0)), mx.nd.zeros((4, 0)), mx.nd.zeros(4)
    with pytest.raises(mx.base.MXNetError, match=r"FullyConnected: .*\(4, 0\) has no elements"):
        mx.nd.FullyConnected(*nothing, num_hidden=4)
    with pytest.raises(mx.base.MXNetError, match=r"SequenceLast: .*\(0, 2, 3\) has no elements"):
        nd.SequenceLast(nd.zeros((0, 2, 3)))


@pytest.mark.filterwarnings("ignore:operator radians has no parameters")
@pytest.mark.parametrize("value", [{}, [], np.ones(2)])
def test_an_ignored_keyword_that_cannot_be_hashed(value):
    x = mx.nd.ones(3)
    np.testing.assert_allclose(x.radians(num=value).asnumpy(), np.radians(np.ones(3)), 1e-6)
    x.attach_grad("write")
    with pytest.raises(mx.base.MXNetError, match="grad_req"):
        x.attach_grad(value)
