"""Loops beside the same graph unrolled, and with each pass switched off."""

import numpy as np
import pytest

import cynet as mx

S = mx.sym


def numbers(seed, *shape):
    print("seed", seed)
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype("float32")


def loop(body, *names):
    outs, last = S.contrib.foreach(body, S.var("x"), S.var("s"))
    return S.Group([outs, last])


def test_convolutions_inside():
    """Channels-last memory stays inside of the body."""
    conv = [S.var(f"conv_{name}") for name in ("weight", "bias")]
    norm = [S.var(f"bn_{name}") for name in ("gamma", "beta", "moving_mean", "moving_var")]

    def body(row, s):
        out = S.Convolution(row + s, *conv, num_filter=4, kernel=(3, 3), pad=(1, 1))
        out = S.Activation(S.BatchNorm(out, *norm, fix_gamma=False), act_type="relu")
        return S.Pooling(out, kernel=(2, 2), stride=(2, 2), pool_type="max"), out

    net = loop(body, "x", "s")
    states, outs = S.var("s"), []
    parts = S.split(S.var("x"), num_outputs=3, axis=0, squeeze_axis=1)
    for t in range(3):
        out, states = body(parts[t], states)
        outs.append(out)
    other = S.Group([S.stack(*outs, axis=0), states])
    shapes = {"x": (3, 2, 4, 8, 8), "s": (2, 4, 8, 8)}
    found = []
    for symbol in (net, other):
        executor = symbol.simple_bind(mx.cpu(), grad_req="write", **shapes)
        for name, array in executor.arg_dict.items():
            array[:] = 1 if name == "bn_gamma" else numbers(sum(map(ord, name)), *array.shape)
        moving = {**executor.arg_dict, **executor.aux_dict}["bn_moving_var"]
        moving[:] = 1
        out = executor.forward(is_train=True)
        executor.backward([mx.nd.array(numbers(40, *o.shape)) for o in out])
        names = ("x", "s", "conv_weight", "conv_bias", "bn_beta")
        found.append([a.asnumpy() for a in (*out, *(executor.grad_dict[n] for n in names))])
    for k, (a, b) in enumerate(zip(*found)):
        if k != 5:  # the bias in front of a BatchNorm: rounding alone
            np.testing.assert_allclose(a, b, 2e-3, 2e-4, err_msg=str(k))


def test_no_rows():
    net = loop(lambda row, s: (row * s, s + row), "x", "s")
    args = {"x": mx.nd.zeros((0, 2)), "s": mx.nd.array([1, 2])}
    grads = {name: mx.nd.ones(each.shape) for name, each in args.items()}
    executor = net.bind(mx.cpu(), args, grads)
    outs = executor.forward(is_train=True)
    executor.backward([mx.nd.zeros((0, 2)), mx.nd.array([3, 4])])
    assert outs[0].shape == (0, 2) and outs[1].asnumpy().tolist() == [1, 2]
    assert grads["s"].asnumpy().tolist() == [3, 4]


def test_one_array_twice():
    x = S.var("x")
    outs, last = S.contrib.foreach(lambda d, s: (d[0] * d[1], s + x.sum()), [x, x], S.var("s"))
    args = {"x": mx.nd.array([[1, 2], [3, 4]]), "s": mx.nd.zeros(1)}
    grads = {name: mx.nd.zeros(each.shape) for name, each in args.items()}
    executor = S.Group([outs, last]).bind(mx.cpu(), args, grads)
    found = executor.forward(is_train=True)
    executor.backward([mx.nd.ones((2, 2)), mx.nd.ones(1)])
    assert found[0].asnumpy().tolist() == [[1, 4], [9, 16]]
    assert grads["x"].asnumpy().tolist() == [[4, 6], [8, 10]]


@pytest.mark.parametrize("passes", ["none", "all", "-reuse", "-inplace", "-views", "-chain"])
@pytest.mark.parametrize("mirror", ["0", "1"])
def test_passes(monkeypatch, passes, mirror):
    """Whatever passes run inside, the numbers are the same."""
    monkeypatch.setenv("CYNET_GRAPH_PASSES", passes)
    monkeypatch.setenv("CYNET_BACKWARD_DO_MIRROR", mirror)

    def body(row, states):
        h, c = states
        a = S.tanh(S.FullyConnected(row, num_hidden=4, name="i")) * S.sigmoid(h)
        c = S.reshape(S.relu(c + a) * 0.5, shape=(2, 4))
        return a + c, [S.Dropout(a, p=0), c]

    outs, last = S.contrib.foreach(body, S.var("x"), [S.var("h"), S.var("c")])
    executor = S.Group([outs, *last]).simple_bind(
        mx.cpu(), x=(4, 2, 3), h=(2, 4), c=(2, 4), grad_req="write"
    )
    values = {n: numbers(50 + k, *a.shape) for k, (n, a) in enumerate(executor.arg_dict.items())}
    for name, array in executor.arg_dict.items():
        array[:] = values[name]
    found = executor.forward(is_train=True)
    heads = [numbers(60 + k, *each.shape) for k, each in enumerate(found)]
    executor.backward([mx.nd.array(each) for each in heads])
    step = 1e-2
    for name in values:  # against differences
        direction = numbers(70, *values[name].shape)
        ends = []
        for sign in (1, -1):
            executor.arg_dict[name][:] = values[name] + sign * step * direction
            outs = executor.forward(is_train=False)
            ends.append(sum((o.asnumpy().astype("float64") * g).sum() for o, g in zip(outs, heads)))
        executor.arg_dict[name][:] = values[name]
        along = (executor.grad_dict[name].asnumpy() * direction).sum()
        np.testing.assert_allclose(
            along, (ends[0] - ends[1]) / (2 * step), 3e-2, 1e-2, err_msg=name
        )
