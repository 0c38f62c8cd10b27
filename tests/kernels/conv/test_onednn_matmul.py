"""Products of matrices by oneDNN: their values, and that no number of threads changes a bit."""

import numpy as np
import pytest

import cynet as mx
from cynet.kernels.conv import onednn
from cynet.kernels.parallel import get_num_threads, set_num_threads

pytestmark = pytest.mark.skipif(not onednn.available(), reason="oneDNN's wheel is not installed")

# rows, units, hidden: the gradient of the weight sums over rows
LAYERS = [
    (4, 8, 8),
    (64, 256, 512),
    (97, 300, 101),
    (128, 1000, 1000),
    (4000, 32, 48),
    (20000, 8, 8),
    (50000, 3, 2),
    (2048, 64, 64),
    (1, 5000, 1000),
    (3000, 1, 513),
]
DTYPES = ["float32", "bfloat16"]


@pytest.fixture(autouse=True)
def by_onednn(monkeypatch):
    monkeypatch.setenv("CYNET_GEMM_ALGORITHM", "onednn")
    before = get_num_threads()
    yield
    set_num_threads(before)


def numbers(array):
    return array.astype("float32").asnumpy()


def run(net, values, heads, dtype, threads):
    """{"out", and each argument: its gradient} as float32."""
    set_num_threads(threads, beyond_cores=True)
    executor = net.simple_bind(
        mx.cpu(),
        type_dict=dict.fromkeys(values, dtype),
        **{name: value.shape for name, value in values.items()},
    )
    for name, value in values.items():
        executor.arg_dict[name][:] = value
    out = executor.forward(is_train=True)[0]
    executor.backward(mx.nd.array(heads, dtype=dtype))
    return {"out": numbers(out), **{k: numbers(v) for k, v in executor.grad_dict.items()}}


def drawn(rng, dtype, *shapes):
    draws = (mx.nd.array(rng.uniform(-1, 1, shape), dtype=dtype) for shape in shapes)
    return [numbers(each) for each in draws]


def check(net, values, heads, dtype, wanted):
    found = [run(net, values, heads, dtype, threads) for threads in (1, 2, 3, 4, 16)]
    for name, want in wanted.items():
        size = np.abs(want).max() + 1
        near = (
            {"rtol": 2**-7, "atol": 2**-8 * size}
            if dtype == "bfloat16"
            else {"rtol": 1e-4, "atol": 1e-5 * size}
        )
        np.testing.assert_allclose(found[0][name], want, **near, err_msg=name)
    for each in found[1:]:
        assert all(each[name].tobytes() == found[0][name].tobytes() for name in each)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layer", LAYERS)
def test_layers(layer, dtype, rng):
    if dtype == "bfloat16" and not onednn.takes_bfloat16():
        pytest.skip("no instructions for bfloat16")
    rows, units, hidden = layer
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=hidden, name="f")
    data, weight, bias, grad = drawn(
        rng, dtype, (rows, units), (hidden, units), (hidden,), (rows, hidden)
    )
    values = {"data": data, "f_weight": weight, "f_bias": bias}
    d, w, b, g = (each.astype("float64") for each in (data, weight, bias, grad))
    wanted = {"out": d @ w.T + b, "data": g @ w, "f_weight": g.T @ d, "f_bias": g.sum(0)}
    check(net, values, grad, dtype, wanted)


@pytest.mark.skipif(not onednn.takes_bfloat16(), reason="no instructions for bfloat16")
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("sizes", [(6, 64, 128, 96), (5, 33, 20, 4000), (1, 512, 64, 1024)])
def test_stacks(sizes, transposed, rng):
    stack, m, n, k = sizes
    turn_a, turn_b = transposed
    a, b, g = drawn(rng, "bfloat16", (stack, m, k), (stack, k, n), (stack, m, n))
    net = mx.sym.batch_dot(mx.sym.var("a"), mx.sym.var("b"), transpose_a=turn_a, transpose_b=turn_b)
    wanted = {"out": a @ b, "a": g @ b.swapaxes(1, 2), "b": a.swapaxes(1, 2) @ g}
    values = {"a": a.swapaxes(1, 2) if turn_a else a, "b": b.swapaxes(1, 2) if turn_b else b}
    for name, turned in zip("ab", transposed, strict=True):
        if turned:
            wanted[name] = wanted[name].swapaxes(1, 2)
    check(net, values, g, "bfloat16", wanted)
