"""Trainer: steps, contexts, stale gradients, schedules, files."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd
from cynet.gluon import nn


def weight(value=1.0, ctx=None, name="w", **kwargs):
    param = gluon.Parameter(name, shape=(1,), **kwargs)
    param.initialize(mx.init.Constant(value), ctx=ctx)
    return param


def backward(param, factor=3):
    with autograd.record():
        losses = [each * factor for each in param.list_data()]
    autograd.backward(losses)


def value(param):
    return [round(float(each.asscalar()), 6) for each in param.list_data()]


def steps(count, settings, optimizer="sgd", factor=3, **kwargs):
    param = weight(**kwargs)
    trainer = gluon.Trainer([param], optimizer, settings)
    for _ in range(count):
        backward(param, factor)
        trainer.step(1)
    return float(param.data().asscalar())


def test_step_divides_by_the_batch_size():
    for size, wanted in ((1, 0.7), (2, 0.85)):
        param = weight()
        trainer = gluon.Trainer([param], "sgd", {"learning_rate": 0.1})
        backward(param)
        trainer.step(size)
        assert value(param) == [wanted]
        assert trainer.optimizer.rescale_grad == 1 / size
    assert steps(1, {"learning_rate": 0.1, "rescale_grad": 0.5}) == pytest.approx(0.85)


@pytest.mark.parametrize(
    "count, settings, kwargs, wanted",
    [
        (2, {"learning_rate": 0.1, "momentum": 0.9}, {}, 0.13),
        (1, {"learning_rate": 0.1, "wd": 0.5}, {}, 0.65),
        (1, {"learning_rate": 0.1, "wd": 0.5}, {"lr_mult": 2, "wd_mult": 0}, 0.4),
        (1, {"learning_rate": 0.1, "clip_gradient": 1}, {}, 0.9),
    ],
)
def test_settings(count, settings, kwargs, wanted):
    assert steps(count, settings, **kwargs) == pytest.approx(wanted, rel=1e-5)


def test_adam_and_defaults():
    assert steps(2, {"learning_rate": 0.1}, "adam") == pytest.approx(0.7999987, rel=1e-6)
    trainer = gluon.Trainer([weight()], "sgd")
    assert trainer.learning_rate == 0.01 and trainer.optimizer.wd == 0
    with pytest.raises(ValueError, match="no optimizer is named 'nope'"):
        gluon.Trainer([weight()], "nope")
    with pytest.raises(AssertionError, match="optimizer_params go with the name"):
        gluon.Trainer([weight()], mx.optimizer.SGD(), {"learning_rate": 1})
    with pytest.raises(mx.MXNetError, match="bogus"):
        gluon.Trainer([weight()], "sgd", kvstore="bogus")


@pytest.mark.parametrize("params", [1, "a", [1]])
def test_what_is_no_list_of_parameters(params):
    with pytest.raises(ValueError, match="Trainer takes a list or dict of Parameters, got"):
        gluon.Trainer(params, "sgd")


def test_initialization_comes_first():
    with pytest.raises(RuntimeError, match="is not initialized"):
        gluon.Trainer([gluon.Parameter("w", shape=(1,))], "sgd")
    net = nn.Dense(1)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    with pytest.raises(
        gluon.DeferredInitializationError,
        match="value yet: a dimension of its shape is unknown until the first",
    ):
        trainer.step(1)
    with autograd.record():
        loss = net(nd.ones((1, 2)))
    loss.backward()
    trainer.step(1)


def test_stale_gradients():
    fresh, stale = weight(name="a"), weight(name="b")
    trainer = gluon.Trainer([fresh, stale], "sgd", {"learning_rate": 0.1})
    for _ in range(2):
        backward(fresh)
        told = "the gradient of parameter 'b' on cpu.0. is that of an earlier step"
        with pytest.raises(UserWarning, match=told):
            trainer.step(1)
    backward(fresh)
    trainer.step(1, ignore_stale_grad=True)
    assert value(fresh) == [0.7] and value(stale) == [1]


def test_null_and_add():
    null, added = weight(name="n", grad_req="null"), weight(name="a", grad_req="add")
    trainer = gluon.Trainer([null, added], "sgd", {"learning_rate": 0.1})
    for _ in range(2):
        backward(added)
        trainer.step(1)
    assert value(null) == [1] and value(added) == [0.1]
    added = weight(grad_req="add")
    trainer = gluon.Trainer([added], "sgd", {"learning_rate": 0.1})
    for _ in range(2):
        backward(added)
    trainer.step(2)
    added.zero_grad()
    assert value(added) == [0.7]


def test_rates():
    trainer = gluon.Trainer([weight()], "sgd")
    trainer.set_learning_rate(0.5)
    assert trainer.learning_rate == 0.5
    for schedule, wanted in (
        (mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=1), [1, 1, 0.5, 0.5, 0.25, 0.25]),
        (mx.lr_scheduler.PolyScheduler(max_update=4, base_lr=1, pwr=1), [0.75, 0.5, 0.25, 0, 0]),
    ):
        param = weight()
        trainer = gluon.Trainer([param], "sgd", {"lr_scheduler": schedule, "learning_rate": 1})
        rates = []
        for _ in wanted:
            backward(param)
            trainer.step(1)
            rates.append(trainer.learning_rate)
        assert rates == pytest.approx(wanted)
        with pytest.raises(UserWarning, match="lr_scheduler decides the rate; change that"):
            trainer.set_learning_rate(0.1)


TWO = [mx.cpu(0), mx.cpu(1)]


def backward_two(param):
    with autograd.record():
        losses = [each * (i + 1) for i, each in enumerate(param.list_data())]
    autograd.backward(losses)


def test_two_contexts():
    param = weight(ctx=TWO)
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 0.1})
    backward_two(param)
    trainer.step(1)
    assert value(param) == [0.7, 0.7]
    assert trainer._kvstore.type == "device" and trainer._update_on_kvstore is True
    assert [each.asscalar() for each in param.list_grad()] == [1, 2]
    for call in (trainer.allreduce_grads, lambda: trainer.update(1)):
        with pytest.raises(AssertionError, match="the KVStore updates the weights"):
            call()
    param = weight(ctx=TWO)
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 0.1}, update_on_kvstore=False)
    backward_two(param)
    trainer.allreduce_grads()
    assert [each.asscalar() for each in param.list_grad()] == [3, 3]
    trainer.update(1)
    assert value(param) == [0.7, 0.7]


def test_two_contexts_without_a_kvstore_stay_equal():
    """MXNet updates each copy by its own gradient."""
    param = weight(ctx=TWO)
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 0.1, "momentum": 0.9}, kvstore=None)
    for _ in range(2):
        backward_two(param)
        trainer.step(1)
    assert value(param) == [0.13, 0.13]


def test_more_contexts_after_a_step_stay_equal():
    """In MXNet the copies differ then."""
    param = weight()
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    backward(param)
    trainer.step(1)
    param.reset_ctx(TWO)
    backward_two(param)
    trainer.step(1)
    assert value(param) == [0.13, 0.13]


def test_one_context_has_no_kvstore():
    param = weight()
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 0.1})
    backward(param)
    trainer.allreduce_grads()
    trainer.update(1)
    assert value(param) == [0.7]
    assert trainer._kvstore is None and trainer._update_on_kvstore is None


def test_contexts_that_differ():
    with pytest.raises(AssertionError, match="all are on the same contexts"):
        gluon.Trainer([weight(), weight(ctx=TWO, name="v")], "sgd")


def test_states_in_a_file(tmp_path):
    path = tmp_path / "a.states"
    param = weight()
    trainer = gluon.Trainer([param], "adam", {"learning_rate": 0.1})
    backward(param)
    trainer.step(1)
    trainer.save_states(path)
    other = gluon.Trainer([weight()], "adam", {"learning_rate": 0.3})
    other.load_states(path)
    assert other.learning_rate == 0.1 and other.optimizer.num_update == 1
    mean, var = other._updaters[0].states["w"]
    np.testing.assert_allclose([mean.asscalar(), var.asscalar()], [0.3, 0.009], rtol=1e-4)
    with pytest.raises(AssertionError, match="states of 'w', which are not among"):
        gluon.Trainer([weight(name="v")], "adam").load_states(path)
    path.write_bytes(b"\x80\x04K\x01.")
    with pytest.raises(mx.MXNetError, match="pickle"):
        other.load_states(path)


def test_states_do_not_depend_on_prefixes(tmp_path):
    """MXNet sorts names as text, and dense10_ before dense9_."""

    def net():
        out = nn.HybridSequential()
        out.add(nn.Dense(2, in_units=2), nn.Dense(2, in_units=2))
        out.initialize()
        return out

    def train(net, trainer):
        with autograd.record():
            loss = net(nd.array([[1, 2]]))
        loss.backward()
        trainer.step(1)

    with mx.name.NameManager():
        one = net()
        [nn.Dense(1) for _ in range(6)]
        two = net()
    assert two[1].prefix == "dense9_" and one[1].prefix == "dense1_"
    with mx.name.NameManager():
        [nn.Dense(1) for _ in range(9)]
        three = net()
    assert [each.prefix for each in three] == ["dense9_", "dense10_"]
    settings = {"learning_rate": 0.1, "momentum": 0.9}
    trainer = gluon.Trainer(one.collect_params(), "sgd", settings)
    train(one, trainer)
    path = str(tmp_path / "a")
    trainer.save_states(path + ".states")
    one.save_parameters(path + ".params")
    train(one, trainer)
    for other in (two, three):
        resumed = gluon.Trainer(other.collect_params(), "sgd", settings)
        other.load_parameters(path + ".params")
        resumed.load_states(path + ".states")
        train(other, resumed)
        for a, b in zip(one.collect_params().values(), other.collect_params().values()):
            assert (a.data().asnumpy() == b.data().asnumpy()).all()


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_regression_as_in_mxnet(hybrid):
    net = nn.Dense(1)
    net.initialize(mx.init.One())
    if hybrid:
        net.hybridize()
    x, y = nd.array([[1, 2], [3, 4], [5, 6], [7, 8]]), nd.array([[1], [2], [3], [4]])
    loss = gluon.loss.L2Loss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
    found = []
    for _ in range(4):
        with autograd.record():
            each = loss(net(x), y)
        each.backward()
        trainer.step(4)
        found.append(each.mean().asscalar())
    np.testing.assert_allclose(found, [26.75, 6.252576, 1.472631, 0.3578956], rtol=1e-5)
    np.testing.assert_allclose(net.weight.data().asnumpy(), [[0.3862190, 0.2691903]], rtol=1e-5)
    np.testing.assert_allclose(net.bias.data().asnumpy(), [-0.1170287], rtol=1e-5)


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_classifier_as_in_mxnet(hybrid):
    net = nn.HybridSequential()
    net.add(nn.Dense(4, "tanh", in_units=3), nn.Dense(2, in_units=4))
    net.initialize()
    net[0].weight.set_data(np.arange(12).reshape(4, 3) * 0.1)
    net[1].weight.set_data(np.arange(8).reshape(2, 4) * 0.1 - 0.3)
    if hybrid:
        net.hybridize()
    x, y = nd.array(np.arange(15).reshape(5, 3) * 0.1), nd.array([0, 1, 0, 1, 1])
    loss = gluon.loss.SoftmaxCELoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    found = []
    for _ in range(5):
        with autograd.record():
            each = loss(net(x), y)
        each.backward()
        trainer.step(5)
        found.append(each.mean().asscalar())
    wanted = [0.6188263, 0.6048221, 0.5930852, 0.5753704, 0.5564452]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_decay_applies_to_all():
    layer = nn.BatchNorm(in_channels=1)
    layer.initialize()
    layer.beta.set_data(nd.ones(1))
    trainer = gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 0.1, "wd": 1})
    with autograd.record():
        y = layer(nd.array([[1], [2]])) * 0
    y.backward()
    trainer.step(1)
    assert layer.gamma.data().asscalar() == pytest.approx(0.9)
    assert layer.beta.data().asscalar() == pytest.approx(0.9)


def test_half_and_zero():
    param = weight(dtype="float16")
    settings = {"learning_rate": 0.1, "multi_precision": True}
    trainer = gluon.Trainer([param], "sgd", settings)
    backward(param)
    trainer.step(1)
    assert param.data().asscalar() == pytest.approx(0.7001953)
    backward(param)
    with pytest.raises(ZeroDivisionError, match="Trainer: the batch size must not be 0"):
        trainer.step(0)


@pytest.mark.parametrize("call", ["step", "update"])
def test_batch_sizes(call):
    """Any number above 0 whose kind Python knows; no step is taken by another one."""
    inf, nan = float("inf"), float("nan")
    bad = {
        inf: "finite number above 0, got inf",
        nan: "finite number above 0, got nan",
        -inf: "finite number above 0",
        -1: "above 0, got -1",
        -1e-9: "above 0, got -1e-09",
        None: "a number, got None",
        "4": "a number, got '4'",
        (1, 2): "a number, got",
    }
    for size in (1, 2.5, 1e-3, np.float32(2), np.int64(3), True):
        param = weight()
        trainer = gluon.Trainer([param], "sgd", {"learning_rate": 0.5}, update_on_kvstore=False)
        before = param.data().asscalar()
        backward(param)
        getattr(trainer, call)(size)
        grad = param.grad().asscalar()
        assert param.data().asscalar() == pytest.approx(before - 0.5 * grad / float(size))
        backward(param)
        before = param.data().asscalar()
        for each, text in bad.items():
            with pytest.raises(mx.MXNetError, match=f"Trainer: the batch size must be .*{text}"):
                getattr(trainer, call)(each)
        with pytest.raises(mx.MXNetError, match="Trainer: the batch size must be a number, got"):
            getattr(trainer, call)(np.ones(2))
        assert param.data().asscalar() == before


def test_loaded_values_are_where_training_goes_on(tmp_path):
    param = weight(ctx=TWO)
    params = gluon.ParameterDict()
    params._params["w"] = param
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 0.1})
    path = str(tmp_path / "a.params")
    params.save(path)
    backward_two(param)
    trainer.step(1)
    params.load(path)
    backward_two(param)
    trainer.step(1)
    assert value(param) == [0.7, 0.7]


def test_fewer_contexts_and_more_again():
    """States of a context that was left are not there when it comes back: they are copies of the
    first one's."""
    param = weight(ctx=TWO)
    settings = {"learning_rate": 0.1, "momentum": 0.9}
    trainer = gluon.Trainer([param], "sgd", settings, update_on_kvstore=False)
    want, velocity = 1.0, 0.0

    def step(factor):
        nonlocal want, velocity
        trainer.step(1)
        velocity = 0.9 * velocity - 0.1 * factor
        want += velocity

    backward_two(param)
    step(3)
    param.reset_ctx([mx.cpu(0)])
    for _ in range(2):
        backward(param)
        step(3)
    param.reset_ctx(TWO)
    for _ in range(2):
        backward_two(param)
        step(3)
        assert value(param) == pytest.approx([want, want], abs=1e-5)
    states = [each.states for each in trainer._updaters]
    assert len(states) == 2
    for first, second in zip(*(each.values() for each in states)):
        np.testing.assert_array_equal(first.asnumpy(), second.asnumpy())
