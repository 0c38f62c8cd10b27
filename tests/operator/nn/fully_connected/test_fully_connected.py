"""FullyConnected by every algorithm, forced by CYNET_GEMM_ALGORITHM, against NumPy in float64."""

import numpy as np
import pytest
from cynet.operator.nn.fully_connected.gemm import layer_product_descs

import cynet as mx
from cynet.kernels.conv import onednn
from cynet.kernels.isa.dispatch import cpu_capability
from cynet.operator.nn.fully_connected import select
from tests.levels import on_x86

FUNCTIONS = {  # act_type: the function, and its derivative by what it gives
    None: (lambda x: x, lambda y: np.ones_like(y)),
    "relu": (lambda x: np.maximum(x, 0), lambda y: y > 0),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), lambda y: y * (1 - y)),
    "softrelu": (lambda x: np.log1p(np.exp(x)), lambda y: 1 - np.exp(-y)),
    "tanh": (np.tanh, lambda y: 1 - y * y),
}
ALGORITHMS = ["panels", "narrow", "blas", "onednn"] + ["amx"] * (cpu_capability() == "amx")


@pytest.mark.skipif(not onednn.available(), reason="then BLAS is all there is")
@pytest.mark.parametrize("req", ["write", "add"])
@pytest.mark.parametrize("no_bias", [False, True])
@pytest.mark.parametrize("act_type", FUNCTIONS)
@pytest.mark.parametrize("rows", [50, 3])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_all_algorithms(algorithm, rows, act_type, no_bias, req, monkeypatch):
    monkeypatch.setenv("CYNET_GEMM_ALGORITHM", algorithm)
    net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=37, no_bias=no_bias, name="fc")
    if act_type is not None:
        net = mx.sym.Activation(net, act_type=act_type)
    executor = net.simple_bind(mx.cpu(), grad_req=req, x=(rows, 3, 7))
    forward = [s for s in executor._graph.steps if s.name == "fc" and s.direction == "forward"]
    assert [s.algorithms["forward"].name for s in forward] == [algorithm]
    print("seed 1")
    rng = np.random.RandomState(1)
    values = {}
    for name, array in executor.arg_dict.items():
        array[:] = rng.uniform(-1, 1, array.shape)
        values[name] = array.asnumpy().astype(np.float64)
        executor.grad_dict[name][:] = 2
    head = mx.nd.array(rng.uniform(-1, 1, (rows, 37)))
    out = executor.forward(is_train=True)[0].asnumpy()
    executor.backward([head])

    x = values["x"].reshape(rows, 21)
    function, derivative = FUNCTIONS[act_type]
    wanted = function(x @ values["fc_weight"].T + values.get("fc_bias", 0))
    np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-5)
    grad = head.asnumpy().astype(np.float64) * derivative(wanted)
    gradients = {
        "x": (grad @ values["fc_weight"]).reshape(rows, 3, 7),
        "fc_weight": grad.T @ x,
        "fc_bias": grad.sum(0),
    }
    for name, got in executor.grad_dict.items():
        before = 2 if req == "add" else 0
        np.testing.assert_allclose(got.asnumpy(), gradients[name] + before, rtol=1e-4, atol=1e-4)


@on_x86
@pytest.mark.parametrize(
    "sizes, level, wanted",
    [
        ((128, 784, 128), "avx2", "panels"),
        ((4, 784, 128), "avx2", "narrow"),
        ((4096, 4096, 4096), "avx512", "onednn"),
        ((64, 784, 128), "baseline", "onednn"),
        ((4, 16, 64), "baseline", "blas"),  # as long as the call of a primitive
        ((4, 16, 65), "baseline", "onednn"),
    ],
)
def test_which_is_estimated_to_be_the_fastest(sizes, level, wanted):
    product = layer_product_descs(*sizes)["forward"]._replace(level=level)
    assert select.ALGORITHMS.choose(select.LayerDesc(product, None, True)).name == wanted
    assert select.ALGORITHMS.choose(select.LayerDesc(product, None, False)).name == "blas"
    double = product._replace(dtype="float64")
    assert select.ALGORITHMS.choose(select.LayerDesc(double, None, True)).name == "blas"


def test_debug_str():
    net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=37, name="fc")
    executor = net.simple_bind(mx.cpu(), x=(50, 20))
    (choice,) = {
        str(step.algorithms["forward"])
        for step in executor._graph.steps
        if step.name == "fc"
        if step.direction == "forward"
    }
    assert f"FullyConnected fc @cpu(0): {choice}\n" in executor.debug_str()
