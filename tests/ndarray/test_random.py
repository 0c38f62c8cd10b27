"""mx.nd.random and mx.random: MXNet's signatures, seeds, devices, arrays of parameters."""

import inspect
import os
import subprocess
import sys

import numpy as np
import pytest

import cynet as mx
from cynet.ndarray import functions

NAMES = (
    "uniform",
    "normal",
    "randn",
    "exponential",
    "gamma",
    "poisson",
    "negative_binomial",
    "generalized_negative_binomial",
    "randint",
    "multinomial",
    "shuffle",
)
# What MXNet 1.9.1's inspect.signature says of the first parameters.
SIGNATURES = {
    "uniform": ["low=0", "high=1", "shape", "dtype", "ctx", "out"],
    "normal": ["loc=0", "scale=1", "shape", "dtype", "ctx", "out"],
    "exponential": ["scale=1", "shape", "dtype", "ctx", "out"],
    "gamma": ["alpha=1", "beta=1", "shape", "dtype", "ctx", "out"],
    "poisson": ["lam=1", "shape", "dtype", "ctx", "out"],
    "negative_binomial": ["k=1", "p=1", "shape", "dtype", "ctx", "out"],
    "generalized_negative_binomial": ["mu=1", "alpha=1", "shape", "dtype", "ctx", "out"],
    "randint": ["low", "high", "shape", "dtype", "ctx", "out"],
    "multinomial": ["data", "shape", "get_prob", "out", "dtype"],
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(name):
    function = getattr(mx.nd.random, name)
    found = inspect.signature(function).parameters.values()
    assert [p.name for p in found] == [n.split("=")[0] for n in SIGNATURES[name]]
    for parameter, expected in zip(found, SIGNATURES[name]):
        if "=" in expected:
            assert parameter.default == int(expected.split("=")[1])
    assert function.__doc__


@pytest.mark.parametrize("name", NAMES)
def test_mx_random_is_the_same(name):
    assert getattr(mx.random, name) is getattr(mx.nd.random, name)


def test_defaults():
    for name in (
        "uniform",
        "normal",
        "exponential",
        "gamma",
        "poisson",
        "negative_binomial",
        "generalized_negative_binomial",
    ):
        sample = getattr(mx.nd.random, name)()
        assert (sample.shape, sample.dtype, sample.context) == ((1,), np.float32, mx.cpu())
    sample = mx.nd.random.randint(0, 5)
    assert (sample.shape, sample.dtype) == ((1,), np.int32)


def test_shape_dtype_and_device():
    sample = mx.nd.random.normal(5, 0.1, shape=(3, 4), dtype="float64", ctx=mx.cpu(2))
    assert (sample.shape, sample.dtype, sample.context) == ((3, 4), np.float64, mx.cpu(2))
    assert abs(sample.asnumpy().mean() - 5) < 1
    with mx.cpu(1):
        assert mx.nd.random.uniform(shape=2).context == mx.cpu(1)
    assert mx.nd.random.uniform(0, 1, 7).shape == (7,)
    assert mx.nd.random.randn(2, 3, loc=50).asnumpy().min() > 30
    assert mx.nd.random.randint(3, 9, shape=(2,), dtype="int64").dtype == np.int64


def test_parameters_as_arrays():
    low, high = mx.nd.array([0, 10]), mx.nd.array([1, 20])
    sample = mx.nd.random.uniform(low, high, shape=(3, 2)).asnumpy()
    assert sample.shape == (2, 3, 2)
    assert (sample[0] < 1).all() and (sample[1] >= 10).all() and (sample[1] < 20).all()
    assert mx.nd.random.normal(low, high).shape == (2,)
    scale = mx.nd.array([1, 1000])
    sample = mx.nd.random.exponential(scale, shape=500).asnumpy().mean(1)
    assert sample[0] < 2 and 500 < sample[1] < 2000
    assert mx.nd.random.gamma(high, high, shape=2).shape == (2, 2)
    assert mx.nd.random.poisson(high, shape=2, dtype="float64").dtype == np.float64
    assert mx.nd.random.negative_binomial(high, low / 20 + 0.1).shape == (2,)
    assert mx.nd.random.generalized_negative_binomial(high, low).shape == (2,)


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in ("randn", "shuffle", "multinomial")]
)
def test_parameters_by_place_are_those_by_name(name):
    """The dtype by place was the operator's ctx: normal and uniform gave float32."""
    for module in (mx.nd.random, mx.random):
        function = getattr(module, name)
        names = list(inspect.signature(function).parameters)
        if "dtype" not in names or "shape" not in names[: names.index("dtype")]:
            continue
        dtype = np.int64 if name == "randint" else np.float64
        given = {"low": 0, "high": 3, "p": 0.5, "shape": 2, "dtype": dtype, "ctx": mx.cpu()}
        values = [given.get(each, 1) for each in names[: names.index("dtype") + 1]]
        assert function(*values).dtype == dtype
        if "ctx" in names[len(values) :][:1]:
            assert function(*values, mx.cpu(0)).dtype == dtype
            assert function(*values[:-1], None, mx.cpu()).shape == (2,)
        with pytest.raises(mx.base.MXNetError, match="dtype"):
            function(*values[:-1], "no dtype")


def test_no_call_is_refused_on_its_way(monkeypatch):
    """The operator is asked first where it takes the call; its error takes longer than a draw."""
    refused, invoke = [], functions.invoke

    def watched(entry, *given):
        try:
            return invoke(entry, *given)
        except mx.base.MXNetError:
            refused.append((entry.name, given))
            raise

    monkeypatch.setattr(functions, "invoke", watched)
    v, out = mx.nd.array([1, 2]), mx.nd.zeros(3)
    for draw in (mx.nd.random.uniform, mx.nd.random.normal):
        for args in ((), (1, 2), (v, v), (v, v, 3), (0, 1, 3), (0, 1, (2,), "float64")):
            draw(*args)
        draw(0, 1, 3, None, mx.cpu())
        draw(out=out)
        draw(shape=3, ctx=mx.cpu())
    mx.nd.random.normal(loc=v, scale=v, shape=2)
    mx.nd.random.randn()
    mx.nd.random.randn(2, 3, dtype="float64")
    mx.nd.random.randn(2, loc=v, scale=v)
    assert not refused


def test_out():
    out = mx.nd.zeros((2, 3), dtype="float64")
    assert mx.nd.random.uniform(5, 6, out=out) is out
    assert (out.asnumpy() >= 5).all()
    assert mx.random.normal(0, 1, shape=(2, 3), out=out) is out
    with pytest.raises(ValueError, match="shape"):
        mx.nd.random.uniform(0, 1, shape=(3,), out=out)


def test_generated_functions():
    """The registry's own names, positional parameters and texts, as MXNet's scripts have them."""
    assert mx.nd.uniform(0, 1, (2, 2)).shape == (2, 2)
    assert mx.nd.random_normal(loc=3, shape=(2,), ctx="cpu(1)").context == mx.cpu(1)
    assert mx.nd.random_randint(low="1", high="2", shape="(3,)").asnumpy().tolist() == [1, 1, 1]
    assert mx.nd.sample_uniform(mx.nd.array([1, 2]), mx.nd.array([2, 3]), shape=3).shape == (2, 3)
    assert mx.nd.random.uniform_like(mx.nd.zeros((2, 3))).shape == (2, 3)
    assert mx.nd.random.normal_like(mx.nd.zeros(2), loc=90).asnumpy().min() > 50
    assert mx.nd.shuffle(mx.nd.arange(5)).shape == (5,)
    assert mx.nd.sample_multinomial(mx.nd.array([0, 1.0])).asnumpy().tolist() == [1]


def test_multinomial_and_shuffle():
    table = mx.nd.array([[0, 0.5, 0.5], [1, 0, 0]])
    drawn, logs = mx.nd.random.multinomial(table, shape=(2, 2), get_prob=True)
    assert drawn.shape == logs.shape == (2, 2, 2)
    np.testing.assert_allclose(logs.asnumpy()[0], np.log(0.5), rtol=1e-6)
    rows = mx.nd.random.shuffle(mx.nd.arange(12).reshape((6, 2))).asnumpy()
    assert sorted(map(tuple, rows.tolist())) == [(2 * i, 2 * i + 1) for i in range(6)]
    with pytest.raises(mx.MXNetError, match="row 0 of data"):
        mx.nd.random.multinomial(mx.nd.array([-1.0, 2])).asnumpy()


@pytest.mark.parametrize(
    "call, error, match",
    [
        (lambda r: r.uniform(mx.nd.ones(2), 1), TypeError, "low: NDArray, high: int"),
        (lambda r: r.uniform("a", 1), ValueError, "low must be a number"),
        (lambda r: r.uniform(1, 0, shape=2), ValueError, "high must be finite and not below low"),
        (lambda r: r.normal(0, -1), ValueError, "scale must be positive"),
        (lambda r: r.exponential(0), ValueError, "scale must be positive"),
        (lambda r: r.poisson(-1), ValueError, "lam must not be negative"),
        (lambda r: r.randint(3, 3), ValueError, "high must be above low"),
        (lambda r: r.randint(0.5, 3), TypeError, "'low' takes an int"),
        (lambda r: r.randint(mx.nd.ones(1), 3), TypeError, "integers"),
        (lambda r: r.uniform(shape=(2, -1)), ValueError, "'shape'"),
        (lambda r: r.uniform(shape=(0, 2)), ValueError, "shape"),
        (lambda r: r.uniform(dtype="int32"), ValueError, "'dtype'"),
        (lambda r: r.uniform(ctx="moon"), ValueError, "moon"),
        (lambda r: r.uniform(ctx=mx.gpu()), mx.MXNetError, "needs"),
        (lambda r: r.uniform(mx.nd.ones(2), mx.nd.ones(3)), ValueError, "do not agree"),
        (lambda r: r.uniform(shape=1 << 50), MemoryError, "bytes"),
        (lambda r: r.bernoulli(0.5), AttributeError, "bernoulli"),
    ],
)
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call(mx.nd.random)


def test_seed_repeats_everything():
    def sample():
        return [
            mx.nd.random.uniform(shape=1000).asnumpy().tobytes(),
            mx.nd.random.normal(shape=70000).asnumpy().tobytes(),
            mx.nd.random.randint(0, 9, shape=10).asnumpy().tobytes(),
            mx.nd.random.shuffle(mx.nd.arange(100)).asnumpy().tobytes(),
        ]

    mx.random.seed(128)
    first = sample()
    assert sample() != first
    mx.random.seed(128)
    assert sample() == first
    mx.random.seed(129)
    assert sample()[0] != first[0]


def test_seed_arguments():
    mx.random.seed(7)
    expected = mx.nd.random.uniform(shape=3).asnumpy()
    mx.random.seed(7, ctx=mx.cpu(3))
    again = mx.nd.random.uniform(shape=3, ctx=mx.cpu(3)).asnumpy()
    np.testing.assert_array_equal(again, expected)
    mx.random.seed(7, "all")
    assert (mx.nd.random.uniform(shape=3, ctx=mx.cpu(3)).asnumpy() != expected).any()
    for wrong in (1.5, "a", None):
        with pytest.raises(ValueError, match="seed"):
            mx.random.seed(wrong)


def test_one_seed_gives_the_same_bytes_whatever_runs_it():
    """Workers, kernel threads and engine make no difference."""
    code = """
import hashlib
import cynet as mx
from cynet.ndarray import functions
mx.random.seed(5)
digest = hashlib.sha256()
arrays = [mx.nd.random.normal(shape=(n,)) for n in (3, 70000, 10, 200000)]
arrays += [mx.nd.random.gamma(2, 3, shape=(50000,)), mx.nd.random.randint(0, 10**6, shape=90000)]
arrays += [mx.nd.random.shuffle(mx.nd.arange(70000))]
for array in arrays:
    digest.update(array.asnumpy().tobytes())
print(digest.hexdigest())
"""

    found = set()
    for engine, workers, threads in (
        ("ThreadedEngine", 1, 1),
        ("ThreadedEngine", 4, 2),
        ("NaiveEngine", 1, 2),
    ):
        env = {
            **os.environ,
            "CYNET_ENGINE_TYPE": engine,
            "CYNET_CPU_WORKERS": str(workers),
            "CYNET_NUM_THREADS": str(threads),
        }
        run = subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True)
        found.add(run.stdout)
    assert len(found) == 1


def test_states_that_are_none():
    """Devices, seeds and numbers of streams beyond what there is are refused and change nothing."""
    mx.nd.random.uniform(shape=(3,))
    state = mx.random.get_state()
    most = (1, 0, (1 << 64) - 1, (1 << 64) - 1)
    for place, wrong in ((0, -1), (0, 99), (1, -1), (1, 1 << 31), (2, 1 << 64), (3, 1 << 64)):
        device = (*most[:place], wrong, *most[place + 1 :])
        with pytest.raises(mx.MXNetError, match="expected a state of random generators"):
            mx.random.set_state({**state, "devices": (0, [device])})
    for devices in ((0, [most[:3]]), (0, 3), 5):
        with pytest.raises(mx.MXNetError, match="expected a state of random generators"):
            mx.random.set_state({**state, "devices": devices})
    assert mx.random.get_state() == state
    mx.random.set_state({**state, "devices": (0, [most])})
    assert mx.random.get_state()["devices"] == (0, [most])
    mx.random.set_state(state)
