"""FullyConnected of enough rows for the products of kernels/gemm/small.h, against NumPy."""

import numpy as np
import pytest

import cynet as mx

FUNCTIONS = {  # act_type: the function, and its derivative by what it gives
    None: (lambda x: x, lambda y: np.ones_like(y)),
    "relu": (lambda x: np.maximum(x, 0), lambda y: y > 0),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), lambda y: y * (1 - y)),
    "softrelu": (lambda x: np.log1p(np.exp(x)), lambda y: 1 - np.exp(-y)),
    "tanh": (np.tanh, lambda y: 1 - y * y),
}


@pytest.mark.parametrize("req", ["write", "add"])
@pytest.mark.parametrize("no_bias", [False, True])
@pytest.mark.parametrize("act_type", FUNCTIONS)
def test_many_rows(act_type, no_bias, req):
    net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=37, no_bias=no_bias, name="fc")
    if act_type is not None:
        net = mx.sym.Activation(net, act_type=act_type)
    executor = net.simple_bind(mx.cpu(), grad_req=req, x=(50, 3, 7))
    print("seed 1")
    rng = np.random.RandomState(1)
    values = {}
    for name, array in executor.arg_dict.items():
        array[:] = rng.uniform(-1, 1, array.shape)
        values[name] = array.asnumpy().astype(np.float64)
        executor.grad_dict[name][:] = 2
    head = mx.nd.array(rng.uniform(-1, 1, (50, 37)))
    out = executor.forward(is_train=True)[0].asnumpy()
    executor.backward([head])

    x = values["x"].reshape(50, 21)
    function, derivative = FUNCTIONS[act_type]
    wanted = function(x @ values["fc_weight"].T + values.get("fc_bias", 0))
    np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-5)
    grad = head.asnumpy().astype(np.float64) * derivative(wanted)
    gradients = {
        "x": (grad @ values["fc_weight"]).reshape(50, 3, 7),
        "fc_weight": grad.T @ x,
        "fc_bias": grad.sum(0),
    }
    for name, got in executor.grad_dict.items():
        before = 2 if req == "add" else 0
        np.testing.assert_allclose(got.asnumpy(), gradients[name] + before, rtol=1e-4, atol=1e-4)
