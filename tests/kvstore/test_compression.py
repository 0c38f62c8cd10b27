"""Gradients in two bits: MXNet 1.9.1's values, what is left for the next push, what is refused."""

import numpy as np
import pytest

import cynet as mx

GRAD = [0.3, 0.6, -0.7, 2.0, -0.2, 0]
# MXNet 1.9.1's device store, threshold 0.5: three pushes from two devices, then two from one
TWO = [[0, 1, -1, 1, 0, 0], [1, 1, -1, 1, 0, 0], [0, 1, -1, 1, -1, 0]]
ONE = [[0.5, 0.5, -0.5, 0.5, 0, 0], [0.5, 0.5, -0.5, 0.5, -0.5, 0]]


def test_values_of_mxnet():
    store = mx.kv.create("device")
    store.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    store.init("w", mx.nd.zeros(6))
    grad = mx.nd.array(GRAD)
    for wanted, devices in [*((row, 2) for row in TWO), *((row, 1) for row in ONE)]:
        store.push("w", [grad] * devices)
        out = mx.nd.zeros(6)
        store.pull("w", out)
        np.testing.assert_allclose(out.asnumpy(), wanted, atol=1e-6)
    np.testing.assert_allclose(grad.asnumpy(), GRAD, rtol=1e-6)  # is left as it was


def test_nothing_is_lost():
    """What many pushes have sent differs from the sum of the gradients by less than a threshold."""
    store = mx.kv.create("device")
    store.set_gradient_compression({"type": "2bit", "threshold": 0.25})
    store.init(3, mx.nd.zeros(50))
    sent, random = np.zeros(50), np.random.RandomState(5)
    grads = random.uniform(-0.2, 0.2, (40, 50)).astype("float32")
    for grad in grads:
        out = mx.nd.zeros(50)
        store.pushpull(3, mx.nd.array(grad), out=out)
        assert set(np.round(out.asnumpy(), 6)) <= {-0.25, 0.0, 0.25}
        sent += out.asnumpy()
    assert np.abs(sent - grads.sum(0)).max() < 0.26


@pytest.mark.parametrize(
    "params, text",
    [
        ({"type": "1bit"}, "expected {'type': '2bit'"),
        ({}, "expected {'type': '2bit'"),
        ("2bit", "expected {'type': '2bit'"),
        ({"type": "2bit", "threshold": 0}, "threshold must be a number greater than 0, got 0"),
        ({"type": "2bit", "threshold": "x"}, "threshold must be a number"),
        ({"type": "2bit", "foo": 1}, "unknown foo"),
    ],
)
def test_refused(params, text):
    with pytest.raises(ValueError, match=text):
        mx.kv.create("device").set_gradient_compression(params)


def test_module_and_trainer_take_it():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    x = np.random.RandomState(1).randn(32, 3).astype("float32")
    module = mx.mod.Module(
        net, context=[mx.cpu(0), mx.cpu(1)], compression_params={"type": "2bit", "threshold": 0.1}
    )
    module.fit(mx.io.NDArrayIter(x, (x[:, 0] > 0), 8), num_epoch=1, kvstore="device")
    assert module._kvstore._compress.threshold == 0.1
    layer = mx.gluon.nn.Dense(1, in_units=3)
    layer.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    options = {"compression_params": {"type": "2bit", "threshold": 0.5}}
    trainer = mx.gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 1}, **options)
    before = layer.weight.data(mx.cpu(0)).asnumpy()
    with mx.autograd.record():
        losses = [layer(mx.nd.full((1, 3), 0.6, ctx=mx.cpu(i))) for i in (0, 1)]
    mx.autograd.backward(losses)
    trainer.step(1)
    np.testing.assert_allclose(layer.weight.data(mx.cpu(1)).asnumpy(), before - 1, rtol=1e-5)


def test_what_is_left_of_another_shape_is_forgotten():
    """Keys of `sum_up` have no value, so that their shape may change."""
    store = mx.kv.create("dist_sync")
    store.set_gradient_compression({"type": "2bit", "threshold": 1})
    for shape, wanted in (((2,), 0), ((2,), 1), ((3,), 0), ((3,), 1), ((2,), 0)):
        grad = mx.nd.full(shape, 0.6)
        store.sum_up("w", grad)
        assert grad.asnumpy().tolist() == [wanted] * shape[0]


@pytest.mark.parametrize("sign", [1, -1])
def test_exactly_the_threshold_is_pushed(sign):
    store = mx.kv.create("device")
    store.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    store.init("w", mx.nd.zeros(3))
    out, below = mx.nd.zeros(3), np.nextafter(np.float32(0.5), np.float32(0))
    store.pushpull("w", mx.nd.array([sign * 0.5, sign * below, sign * 1.5]), out=out)
    assert out.asnumpy().tolist() == [sign * 0.5, 0, sign * 0.5]
    store.pushpull("w", mx.nd.array([0, sign * (0.5 - below), 0]), out=out)  # what was left
    assert out.asnumpy().tolist() == [0, sign * 0.5, sign * 0.5]


LIMITS = {
    1e-300: True,
    5e-324: True,
    1.7e308: True,
    True: True,
    "0.25": True,
    0.0: False,
    -1e-9: False,
    float("inf"): False,
    float("nan"): False,
    None: False,
    "x": False,
    (1,): False,
}


@pytest.mark.parametrize("value", LIMITS, ids=repr)
@pytest.mark.parametrize("kind", ["device", "local_allreduce_device", "dist_sync"])
def test_thresholds(value, kind):
    store = mx.kv.create(kind)
    given = {"type": "2bit", "threshold": value}
    if kind == "local_allreduce_device":  # as in MXNet, by its name
        with pytest.raises(ValueError, match="does not compress gradients, got .*2bit"):
            store.set_gradient_compression(given)
    elif LIMITS[value]:
        store.set_gradient_compression(given)
        assert store._compress.threshold == float(value)
    else:
        with pytest.raises(ValueError, match="threshold must be a number greater than 0, got"):
            store.set_gradient_compression(given)
        assert store._compress is None


def test_settings():
    store = mx.kv.create("device")
    store.set_gradient_compression({"type": "2bit"})
    assert store._compress.threshold == 0.5
    with pytest.raises(ValueError, match="unknown a, b$"):
        store.set_gradient_compression({"type": "2bit", "b": 1, "a": 2, "threshold": 1})
    for kind in ("local", "local_update_cpu", "local_allreduce_cpu"):
        with pytest.raises(ValueError, match=f"kvstore '{kind}' does not compress gradients, got"):
            mx.kv.create(kind).set_gradient_compression({"type": "2bit"})


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_each_device_and_key_keeps_its_own_rest(dtype):
    """On its device, in its dtype."""
    store = mx.kv.create("device")
    store.set_gradient_compression({"type": "2bit", "threshold": 1})
    store.init(["a", "b"], [mx.nd.zeros(2, dtype=dtype)] * 2)
    outs = [mx.nd.zeros(2, dtype=dtype) for _ in range(2)]
    left = np.zeros((2, 2, 2))
    given = np.array([[[0.75, -0.5], [0.25, 0.5]], [[-0.75, 1.0], [-0.5, -0.25]]])
    for _ in range(4):
        arrays = [[mx.nd.array(v, mx.cpu(d), dtype=dtype) for d, v in enumerate(k)] for k in given]
        store.push(["a", "b"], arrays)
        store.pull(["a", "b"], outs)
        left += given
        sent = (left >= 1).astype(int) - (left <= -1)
        left -= sent
        for found, wanted in zip(outs, sent.sum(1)):
            assert found.asnumpy().tolist() == wanted.tolist()
    rests = store._compress._left
    assert {key: each.context for key, each in rests.items()} == {
        (key, d): mx.cpu(d) for key in "ab" for d in range(2)
    }
    assert {each.dtype for each in rests.values()} == {np.dtype(dtype).type}
