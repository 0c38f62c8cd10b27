"""Optimizers: weights as MXNet 1.9.1 gets them, multipliers, schedules, what bad input gets."""

import json
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError, NotFoundError
from tests.fixtures import training as given

EXPECTED = json.loads(Path(given.__file__).with_name("training.json").read_text())["optimizer"]


@pytest.mark.parametrize("name", given.OPTIMIZERS)
def test_weights_are_those_of_mxnet(name):
    first, grads = given.optimizer_steps()
    optimizer = mx.optimizer.create(name.split()[0], **given.OPTIMIZERS[name])
    update = mx.optimizer.get_updater(optimizer)
    weight = mx.nd.array(first)
    for grad, expected in zip(grads, EXPECTED[name]):
        update(0, mx.nd.array(grad), weight)
        np.testing.assert_allclose(weight.asnumpy(), expected, rtol=2e-5, atol=2e-6)
    assert optimizer.num_update == len(grads)


# not nadam: its momentum schedule advances with every weight, as in MXNet
@pytest.mark.parametrize("name", [name for name in given.OPTIMIZERS if name != "nadam"])
def test_several_weights_in_one_call(name):
    first, grads = given.optimizer_steps()
    one, many = (
        mx.optimizer.get_updater(mx.optimizer.create(name.split()[0], **given.OPTIMIZERS[name]))
        for _ in range(2)
    )
    single, several = mx.nd.array(first), [mx.nd.array(first), mx.nd.array(first)]
    for grad in map(mx.nd.array, grads):
        one(0, grad, single)
        many([0, 1], [grad, grad], several)
    for weight in several:
        np.testing.assert_array_equal(weight.asnumpy(), single.asnumpy())


def test_dcasgd_with_momentum_is_what_its_formula_says():
    first, grads = given.optimizer_steps()
    lr, momentum, wd, lamda = 0.1, 0.9, 0.01, 0.04
    update = mx.optimizer.get_updater(
        mx.optimizer.create("dcasgd", learning_rate=lr, momentum=momentum, wd=wd)
    )
    weight, w, m, previous = mx.nd.array(first), first.astype("f8"), 0, first.astype("f8")
    for grad in grads:
        update(0, mx.nd.array(grad), weight)
        m = momentum * m - lr * (grad + wd * w + lamda * grad * grad * (w - previous))
        previous, w = w, w + m
        np.testing.assert_allclose(weight.asnumpy(), w, rtol=1e-5, atol=1e-6)


def test_sgld_draws_noise_of_the_right_size(seed):
    mx.random.seed(seed)
    weight = mx.nd.zeros(20000)
    mx.optimizer.get_updater(mx.optimizer.SGLD(learning_rate=0.25))(0, mx.nd.ones(20000), weight)
    values = weight.asnumpy()
    assert abs(values.mean() + 0.125) < 0.025  # 7 standard errors
    assert abs(values.std() - 0.5) < 0.02


def test_multi_precision_keeps_small_updates():
    weights = []
    for multi_precision in (True, False):
        optimizer = mx.optimizer.SGD(learning_rate=1e-4, multi_precision=multi_precision)
        weight = mx.nd.ones(3, dtype="float16")
        update = mx.optimizer.get_updater(optimizer)
        if not multi_precision:
            with pytest.warns(UserWarning, match="float16"):
                optimizer.create_state_multi_precision(0, weight)
            continue
        for _ in range(100):
            update(0, mx.nd.ones(3, dtype="float16"), weight)
        assert weight.dtype == np.float16
        weights.append(weight.asnumpy())
    np.testing.assert_allclose(weights[0], 0.99, rtol=1e-3)  # one step of 1e-4 is lost in float16


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_multi_precision_of_several_weights(momentum, rng):
    """All at once, float32 ones among them, as one by one through casts."""
    shapes, types = [(5,), (3, 4), (7,)], ["float16", "float32", "float16"]
    first = [rng.standard_normal(shape) for shape in shapes]
    found = []
    for at_once in (True, False):
        weights = [mx.nd.array(x, dtype=t) for x, t in zip(first, types)]
        optimizer = mx.optimizer.SGD(
            learning_rate=0.01, momentum=momentum, multi_precision=True, clip_gradient=0.5, wd=0.1
        )
        states = [optimizer.create_state_multi_precision(i, w) for i, w in enumerate(weights)]
        for k in range(20):
            grads = [mx.nd.array(np.cos(x + k), dtype=t) for x, t in zip(first, types)]
            if at_once:
                optimizer.update_all([0, 1, 2], weights, grads, states)
            else:
                for i in range(3):
                    optimizer.update_multi_precision(i, weights[i], grads[i], states[i])
        found.append([w.asnumpy() for w in weights] + [states[0][1].asnumpy()])
    for one, other in zip(*found):
        tolerance = 1e-3 if one.dtype == np.float16 else 1e-6
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
    half = mx.nd.ones(2, dtype="float16")
    optimizer.update(7, half, half, optimizer.create_state(7, half))  # without a copy
    assert (half.asnumpy() < 1).all()


def network():
    weight = mx.sym.var("a_weight", lr_mult=3, wd_mult=0.5)
    net = mx.sym.FullyConnected(mx.sym.var("data"), weight=weight, num_hidden=3, name="a")
    return mx.sym.BatchNorm(net, name="bn")


def test_multipliers():
    names = {0: "a_weight", 1: "a_bias", 2: "bn_gamma", 3: "bn_beta"}
    optimizer = mx.optimizer.create(
        "sgd", learning_rate=0.1, wd=0.01, sym=network(), param_idx2name=names
    )
    np.testing.assert_allclose(optimizer._get_lrs([0, 1, 2, 3]), [0.3, 0.1, 0.1, 0.1])
    np.testing.assert_allclose(optimizer._get_wds([0, 1, 2, 3]), [0.005, 0, 0.01, 0])
    optimizer.set_lr_mult({"a_bias": 5.0, 2: 7.0})
    np.testing.assert_allclose(optimizer._get_lrs([0, 1, 2, 3]), [0.3, 0.5, 0.7, 0.1])
    optimizer.set_wd_mult({"a_bias": 2.0})
    np.testing.assert_allclose(optimizer._get_wds([0, 1, 2, 3]), [0.005, 0.02, 0.01, 0])


def test_multiplier_that_is_no_number():
    net = mx.sym.FullyConnected(
        mx.sym.var("data"),
        num_hidden=3,
        name="a",
        weight=mx.sym.var("a_weight", attr={"__lr_mult__": "much"}),
    )
    with pytest.raises(ArgumentError, match=r"a_weight.*much"):
        mx.optimizer.SGD(sym=net)


def test_learning_rate_and_schedule():
    optimizer = mx.optimizer.SGD()
    assert optimizer.learning_rate == 0.01
    optimizer.set_learning_rate(0.3)
    assert optimizer.learning_rate == 0.3
    schedule = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.7)
    assert mx.optimizer.SGD(lr_scheduler=schedule).learning_rate == 0.7
    with pytest.warns(UserWarning, match=r"learning_rate=0\.1 counts, not the base_lr=0\.7"):
        optimizer = mx.optimizer.SGD(learning_rate=0.1, lr_scheduler=schedule)
    assert optimizer.learning_rate == 0.1
    with pytest.raises(UserWarning, match="lr_scheduler"):
        optimizer.set_learning_rate(0.3)
    update, weight = mx.optimizer.get_updater(optimizer), mx.nd.zeros(1)
    for _ in range(4):
        update(0, mx.nd.ones(1), weight)
    np.testing.assert_allclose(weight.asnumpy(), [-0.3], rtol=1e-6)  # 0.1 0.1 0.05 0.05


def test_test_optimizer():
    optimizer = mx.optimizer.Test(rescale_grad=0.5)
    weight = mx.nd.ones(2)
    state = optimizer.create_state(0, weight)
    optimizer.update(0, weight, mx.nd.ones(2), state)
    assert weight.asnumpy().tolist() == state.asnumpy().tolist() == [1.5, 1.5]


def test_register_an_optimizer():
    @mx.optimizer.register
    class Mine(mx.optimizer.Optimizer):
        """Steps of a fixed size."""

        def update(self, index, weight, grad, state):
            weight[:] = weight - 1

    weight = mx.nd.ones(2)
    mx.optimizer.get_updater(mx.optimizer.create("mine"))(0, weight, weight)
    assert weight.asnumpy().tolist() == [0, 0]
    assert mx.optimizer.Optimizer.create_optimizer("ccSGD").__class__ is mx.optimizer.SGD


def test_refused():
    with pytest.raises(NotFoundError, match="adam"):
        mx.optimizer.create("adan")
    with pytest.raises(ArgumentTypeError, match="an optimizer is created from its name, got 3"):
        mx.optimizer.create(3)
    with pytest.raises(ArgumentTypeError, match="register takes a subclass of Optimizer, got"):
        mx.optimizer.register(int)
    with pytest.raises(TypeError, match="momentun"):
        mx.optimizer.create("sgd", momentun=0.9)
    with pytest.raises(ArgumentTypeError, match="param_idx2name"):
        mx.optimizer.SGD(param_idx2name=3)
    with pytest.raises(NotImplementedError, match="Optimizer defines no update"):
        mx.optimizer.Optimizer().update(0, None, None, None)


def test_a_step_of_a_subclass_is_used():
    class Careful(mx.optimizer.SGD):
        def update(self, index, weight, grad, state):
            super().update(index, weight, grad * 0.5, state)

    weights, grads = [mx.nd.zeros(2), mx.nd.zeros(3)], [mx.nd.ones(2), mx.nd.ones(3)]
    updater = mx.optimizer.get_updater(Careful(learning_rate=1.0))
    updater([0, 1], grads, weights)
    assert [w.asnumpy().tolist() for w in weights] == [[-0.5] * 2, [-0.5] * 3]
    assert updater.make_joined_update([0, 1], grads, weights) is None
    assert updater.optimizer.num_update == 1


def test_schedulers_of_ftrl_and_lbsgd():
    """Ftrl's default rate leaves that of a scheduler alone, and LBSGD asks before it counts: the
    weights that MXNet 1.9.1 gives."""

    class Rises(mx.lr_scheduler.LRScheduler):
        def __call__(self, num_update):
            return self.base_lr * (1 + num_update % 3)

    for name, expected in (
        ("ftrl", [[0.09153847, -0.02636364], [0.10171917, -0.05220861]]),
        ("lbsgd", [[0.485, -0.205], [0.4415, -0.2195]]),
    ):
        settings = {} if name == "ftrl" else {"momentum": 0.9, "warmup_epochs": 1}
        rule = mx.optimizer.create(name, lr_scheduler=Rises(0.05), **settings)
        updater = mx.optimizer.get_updater(rule)
        weight, bias = mx.nd.array([[0.5, -0.2]]), mx.nd.array([0.1])
        for values in expected:
            updater(0, mx.nd.array([[0.3, 0.1]]), weight)
            updater(1, mx.nd.array([0.2]), bias)
            np.testing.assert_allclose(weight.asnumpy()[0], values, rtol=1e-5)
        assert rule.lr_scheduler.base_lr == 0.05


@pytest.mark.parametrize("scale", [1e-9, 1e-8, 1e-7, 0.0])
def test_adamax_beside_its_epsilon(scale):
    """Gradients as small as the 1e-8 that is added to their largest."""
    weight, grad = mx.nd.zeros(3), scale * np.array([1, 2, -4.0])
    update = mx.optimizer.get_updater(mx.optimizer.Adamax(learning_rate=0.5))
    update(0, mx.nd.array(grad), weight)
    wanted = -0.5 / (1 - 0.9) * 0.1 * grad / (np.abs(grad) + 1e-8)
    np.testing.assert_allclose(weight.asnumpy(), wanted, 1e-5, 1e-12)
