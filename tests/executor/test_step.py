"""Executor.step: forward, backward and an update in one call (tests/gpu/test_training_step.py: on a
GPU, where it is one graph)."""

import numpy as np
import pytest
from cynet.optimizer._joined import JoinedUpdate

import cynet as mx


def bound(grad_req="write"):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    executor = net.simple_bind(mx.cpu(), grad_req=grad_req, data=(8, 6))
    rng = np.random.RandomState(2)
    for name, value in executor.arg_dict.items():
        drawn = rng.randint(0, 4, 8) if name == "softmax_label" else rng.uniform(-1, 1, value.shape)
        value[:] = drawn
    return executor


def update_of(executor):
    names = ["fc_weight", "fc_bias"]
    weights, grads = ([each[n] for n in names] for each in (executor.arg_dict, executor.grad_dict))
    return JoinedUpdate("sgd", weights, grads, [None, None]), (
        [0.5, 0.25],
        [0.0, 0.0],
        1.0,
        -1.0,
        [(), ()],
    )


def test_without_an_update():
    executor, plain = bound(), bound()
    executor.step()
    plain.forward(True)
    plain.backward()
    for name, grad in plain.grad_dict.items():
        np.testing.assert_array_equal(executor.grad_dict[name].asnumpy(), grad.asnumpy())
    assert executor.has_run


def test_with_an_update():
    """A step of gradient descent, in float64 by hand."""
    executor = bound()
    x, w, b, label = (
        executor.arg_dict[name].asnumpy().astype("d")
        for name in ("data", "fc_weight", "fc_bias", "softmax_label")
    )
    update, numbers = update_of(executor)
    executor.step((update, numbers))
    scores = x @ w.T + b
    p = np.exp(scores - scores.max(1, keepdims=True))
    grad = p / p.sum(1, keepdims=True) - np.eye(4)[label.astype(int)]
    for name, value, part, rate in (
        ("fc_weight", w, grad.T @ x, 0.5),
        ("fc_bias", b, grad.sum(0), 0.25),
    ):
        got = executor.arg_dict[name].asnumpy()
        np.testing.assert_allclose(got, value - rate * part, rtol=1e-5, atol=1e-5)


def test_where_outputs_need_gradients():
    net = mx.sym.Variable("a") * 2
    executor = net.simple_bind(mx.cpu(), a=(3,))
    with pytest.raises(mx.errors.ArgumentError, match="out_grads"):
        executor.step()


def test_without_gradients_only_the_update():
    executor = bound("null")
    executor.step()
    assert executor.outputs[0].shape == (8, 4) and not executor.joins_steps


@pytest.mark.parametrize("update", ["", (1, 2, 3), 2.5, (None, ()), (len, ())])
def test_what_is_no_update(update):
    with pytest.raises(mx.errors.ArgumentTypeError, match="step: update must be"):
        bound().step(update)
