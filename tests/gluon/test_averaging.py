"""gluon.EMA and gluon.SWA: means of PyTorch's AveragedModel; scopes, files, other dtypes."""

from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon
from cynet.gluon import nn
from tests.fixtures import torch_averages as given

EXPECTED = np.load(Path(given.__file__).with_suffix(".npz"))


def average_of(kind, net):
    decay = given.DECAYS[kind]
    return gluon.SWA(net) if decay is None else gluon.EMA(net, decay)


def dense(dtype="float32"):
    net = nn.Dense(3, in_units=4, dtype=dtype)
    net.initialize()
    return net


@pytest.mark.parametrize("kind", given.DECAYS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_means_are_pytorchs(kind, dtype):
    net = dense(dtype)
    average = average_of(kind, net)
    for step, weights in enumerate(given.weights()):
        for name, value in weights.items():
            getattr(net, name).set_data(mx.nd.array(value, dtype=dtype))
        average.update()
        for name in weights:
            np.testing.assert_allclose(
                average.values[name].asnumpy(),
                EXPECTED[f"{kind}_{step}_{name}"],
                rtol=2e-3 if dtype == "float16" else 1e-5,
                atol=1e-3 if dtype == "float16" else 1e-6,
            )
    assert average.count == len(given.weights())


def trained(net, average, steps, trainer=None, seed=0):
    rng = np.random.default_rng(seed)
    loss = gluon.loss.L2Loss()
    trainer = trainer or gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    for _ in range(steps):
        x = mx.nd.array(rng.normal(size=(8, 4)))
        with autograd.record():
            error = loss(net(x), x[:, :3])
        error.backward()
        trainer.step(8)
        average.update()
    return trainer


def normed():
    net = nn.HybridSequential()
    net.add(nn.Dense(5, in_units=4), nn.BatchNorm(in_channels=5), nn.Dense(3, in_units=5))
    net.initialize()
    return net


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_scope_has_the_means_and_what_is_behind_it_the_weights(hybrid, seed):
    net = normed()
    if hybrid:
        net.hybridize()
    ema = gluon.EMA(net, 0.5)
    trainer = trained(net, ema, 4)
    x = mx.nd.ones((2, 4))
    before = net(x).asnumpy()
    plain = normed()
    for name, value in plain._collect_params_with_prefix().items():
        value.set_data(ema.values[name])
    with ema.applied():
        inside = net(x).asnumpy()
        with pytest.raises(mx.errors.StateError, match=r"EMA.update"):
            ema.update()
        with pytest.raises(mx.errors.StateError, match=r"EMA.applied"), ema.applied():
            pass
    assert (inside == plain(x).asnumpy()).all() and (inside != before).any()
    assert (net(x).asnumpy() == before).all()
    with pytest.raises(KeyError, match="^$"), ema.applied():
        raise KeyError
    assert (net(x).asnumpy() == before).all()
    trained(net, ema, 1, trainer)
    ema.apply()
    assert (net(x).asnumpy() != inside).any()


def test_saved_and_resumed_is_as_never_stopped(tmp_path, seed):
    first = normed()
    ema = gluon.EMA(first, 0.7)
    trainer = trained(first, ema, 3)
    gluon.save_training(tmp_path / "run", first, trainer, average=ema)
    ema.save(tmp_path / "means")
    trained(first, ema, 3, trainer, seed=1)

    second = normed()
    again = gluon.EMA(second, 0.7)
    other = gluon.Trainer(second.collect_params(), "sgd", {"learning_rate": 0.1})
    gluon.load_training(tmp_path / "run", second, other, average=again)
    assert again.count == 3
    trained(second, again, 3, other, seed=1)
    for name, mean in ema.values.items():
        assert (mean.asnumpy() == again.values[name].asnumpy()).all()
    third = gluon.EMA(second, 0.7)
    third.load(tmp_path / "means")
    assert third.count == 3 and set(third.values) == set(ema.values)


def test_what_is_refused(tmp_path):
    net = dense()
    ema = gluon.EMA(net)
    with pytest.raises(mx.errors.ArgumentError, match="EMA: no weights were averaged yet"):
        ema.apply()
    with pytest.raises(mx.errors.ArgumentError, match="EMA: no weights"), ema.applied():
        pass
    for decay in (1.0, -0.1, float("nan")):
        with pytest.raises(mx.errors.ArgumentError, match="EMA: decay"):
            gluon.EMA(net, decay)
    with pytest.raises(TypeError, match="EMA: decay"):
        gluon.EMA(net, None)
    with pytest.raises(TypeError, match="EMA: net must be a Block"):
        gluon.EMA(net.collect_params())
    ema.update()
    ema.save(tmp_path / "means")
    net.save_parameters(str(tmp_path / "params"))
    with pytest.raises(mx.errors.FormatError, match="no means"):
        ema.load(tmp_path / "params")
    with pytest.raises(mx.errors.FormatError, match="another network"):
        gluon.EMA(normed()).load(tmp_path / "means")
    wider = nn.Dense(3, in_units=5)
    wider.initialize()
    with pytest.raises(mx.errors.FormatError, match=r"shape \(3, 4\), the parameter \(3, 5\)"):
        gluon.EMA(wider).load(tmp_path / "means")
    gluon.save_training(tmp_path / "with", net, average=ema)
    gluon.save_training(tmp_path / "without", net)
    with pytest.raises(mx.errors.FormatError, match="it has means"):
        gluon.load_training(tmp_path / "with", net)
    with pytest.raises(mx.errors.FormatError, match="it has no means"):
        gluon.load_training(tmp_path / "without", net, average=ema)
