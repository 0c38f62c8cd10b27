"""GroupAdaGrad beside its formula."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ShapeError


def test_group_adagrad(rng):
    weight = rng.normal(size=(4, 3)).astype("f")
    settings = {"learning_rate": 0.1, "eps": 1e-3, "rescale_grad": 0.5, "clip_gradient": 0.4}
    rule = mx.optimizer.create("groupadagrad", **settings)
    assert isinstance(rule, mx.optimizer.contrib.GroupAdaGrad)
    updater = mx.optimizer.get_updater(rule)
    array, expected, history = mx.nd.array(weight), weight.astype("d"), np.zeros((4, 1))
    for _ in range(3):
        grad = rng.normal(size=(4, 3)).astype("f")
        updater(0, mx.nd.array(grad), array)
        clipped = np.clip(grad * 0.5, -0.4, 0.4)
        history += (clipped**2).mean(axis=1, keepdims=True)
        expected -= 0.1 * clipped / np.sqrt(history + 1e-3)
    np.testing.assert_allclose(array.asnumpy(), expected, rtol=1e-5)
    again = mx.optimizer.get_updater(mx.optimizer.create("groupadagrad", **settings))
    again.set_states(updater.get_states(dump_optimizer=True))
    np.testing.assert_allclose(again.states[0].asnumpy(), history, rtol=1e-5)
    assert again.optimizer.float_stable_eps == 1e-3


def test_what_it_refuses():
    rule = mx.optimizer.contrib.GroupAdaGrad()
    with pytest.raises(ShapeError, match="must have two axes"):
        rule.create_state(0, mx.nd.zeros(3))
    rule = mx.optimizer.contrib.GroupAdaGrad(wd=0.1)
    weight = mx.nd.zeros((2, 2))
    with pytest.raises(ArgumentError, match=r"expected wd=0, got wd=0\.1"):
        rule.update(0, weight, weight, rule.create_state(0, weight))


def test_the_registry_is_a_dict():
    table = mx.optimizer.Optimizer.opt_registry
    assert table["sgd"] is mx.optimizer.SGD and {"adam", "groupadagrad"} <= table.keys()
