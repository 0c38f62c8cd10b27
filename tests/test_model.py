"""FeedForward, and the helpers that scripts import from mx.model."""

import numpy as np
import pytest

import cynet as mx
from cynet.errors import ArgumentError, ArgumentTypeError, CynetError, ShapeError


def network():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


@pytest.fixture
def problem(rng, seed):
    mx.random.seed(seed)
    np.random.seed(seed)
    data = rng.standard_normal((100, 4)).astype("float32")
    return data, (data[:, 0] > 0).astype("float32")


def test_feed_forward(problem, tmp_path):
    data, label = problem
    model = mx.model.FeedForward(network(), num_epoch=10, numpy_batch_size=20, learning_rate=0.5)
    model.fit(data, label, eval_data=(data, label))
    outputs = model.predict(data)
    assert outputs.shape == (100, 2)
    assert (outputs.argmax(1) == label).mean() > 0.85
    it = mx.io.NDArrayIter(data, label, 30)
    assert model.score(it) > 0.85
    again, shown, wanted = model.predict(it, return_data=True)
    np.testing.assert_allclose(again, outputs, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(shown, data)
    np.testing.assert_array_equal(wanted, label)
    model.save(str(tmp_path / "net"))
    loaded = mx.model.FeedForward.load(str(tmp_path / "net"), 10)
    np.testing.assert_allclose(loaded.predict(data), outputs, rtol=1e-5, atol=1e-6)


def test_create_and_epoch_size(problem):
    seen = []
    model = mx.model.FeedForward.create(
        network(),
        mx.io.NDArrayIter(*problem, 20),
        num_epoch=2,
        epoch_size=3,
        learning_rate=0.5,
        batch_end_callback=lambda p: seen.append((p.epoch, p.nbatch)),
    )
    assert seen == [(e, n) for e in range(2) for n in range(3)]
    assert set(model.arg_params) == {"fc_weight", "fc_bias"}


def test_feed_forward_refuses(problem):
    data, label = problem
    model = mx.model.FeedForward(network(), num_epoch=1)
    with pytest.raises(CynetError, match="fit"):
        model.predict(data)
    with pytest.raises(ArgumentError, match="y is missing"):
        model.fit(data)
    with pytest.raises(ShapeError, match="y has shape"):
        model.fit(data, label[:50])
    with pytest.raises(ArgumentTypeError):
        model.fit("data")
    with pytest.raises(ArgumentError, match="comes twice"):
        mx.model.FeedForward(mx.sym.var("a") + mx.sym.var("a"))


def test_create_kvstore():
    params = {"a": mx.nd.ones(3)}
    assert mx.model._create_kvstore(None, 2, params) == (None, False)
    assert mx.model._create_kvstore("local", 1, params) == (None, False)
    kv, on_kvstore = mx.model._create_kvstore("local", 2, params)
    assert kv.type == "local" and on_kvstore
    made = mx.kv.create("device")
    assert mx.model._create_kvstore(made, 1, params) == (made, True)
    with pytest.raises(ArgumentTypeError, match="kvstore"):
        mx.model._create_kvstore(3, 1, params)


@pytest.mark.parametrize("on_kvstore", [True, False])
def test_the_loop_of_a_script(on_kvstore):
    """Two devices with gradients 1 and 2: a step of SGD takes 3 * lr off the weight."""
    kv = mx.kv.create("local")
    weights = [[mx.nd.ones(2), mx.nd.ones(2)]]
    grads = [[mx.nd.ones(2), mx.nd.full((2,), 2)]]
    optimizer = mx.optimizer.SGD(learning_rate=0.1)
    if on_kvstore:
        kv.set_optimizer(optimizer)
    mx.model._initialize_kvstore(kv, weights, {"w": mx.nd.ones(2)}, ["w"], on_kvstore)
    if on_kvstore:
        mx.model._update_params_on_kvstore(weights, grads, kv, ["w"])
    else:
        updater = mx.optimizer.get_updater(optimizer)
        mx.model._update_params(weights, grads, updater, 2, kv, ["w"])
    for weight in weights[0]:
        np.testing.assert_allclose(weight.asnumpy(), 0.7, rtol=1e-6)
