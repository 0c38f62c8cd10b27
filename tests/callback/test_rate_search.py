"""LRFinder and find_learning_rate: the losses of a model in NumPy, everything put back."""

import numpy as np
import pytest

import cynet as mx
from cynet import gluon

RATES = np.geomspace(1e-3, 1.0, 40)


def problem(rng, batches=3):
    """Batches of the same 8 rows in other orders, whose squares have the curvature 1: descent with
    rates up to 1 comes closer at each step, with one of 50 it goes far away."""
    x = np.linalg.qr(rng.normal(size=(8, 3)))[0] * 8**0.5
    x = x[np.concatenate([rng.permutation(8) for _ in range(batches)])]
    y = x @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=len(x))
    return x.astype("float32"), y.astype("float32")


def model(x, y, size, rates):
    """Losses of linear regression by gradient descent, each before its step."""
    w, found = np.zeros(3), []
    for i, rate in enumerate(rates):
        begin = i * size % len(x)
        a, b = x[begin : begin + size].astype("f8"), y[begin : begin + size].astype("f8")
        found.append(((a @ w - b) ** 2).mean())
        w = w - rate * a.T @ (a @ w - b) / size
    return found


def wanted_curve(losses):
    """How many losses there are, and the smoothed ones: means in which a new loss has a tenth."""
    mean, smoothed = 0.0, []
    for i, loss in enumerate(losses, 1):
        mean = 0.9 * mean + 0.1 * loss
        smoothed.append(mean / (1 - 0.9**i))
        if i > 5 and smoothed[-1] > 4 * min(smoothed):
            break
    return smoothed


def symbol():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, no_bias=True, name="fc")
    return mx.sym.LinearRegressionOutput(net, mx.sym.Variable("label"), name="out")


def module_of(optimizer="sgd", **settings):
    module = mx.mod.Module(symbol(), label_names=["label"])
    return module, {
        "optimizer": optimizer,
        "initializer": mx.init.Zero(),
        "verbose": False,
        "optimizer_params": {"learning_rate": 0.05, **settings},
    }


def iterator(x, y):
    return mx.io.NDArrayIter(x, y, 8, label_name="label")


@pytest.mark.parametrize("last", [1.0, 50.0])
@pytest.mark.parametrize("metric", ["mse", lambda: mx.metric.create(["mse", "mae"])])
def test_fit(rng, last, metric):
    x, y = problem(rng)
    module, settings = module_of()
    finder = mx.callback.LRFinder(1e-3, last, 40)
    metric = metric if isinstance(metric, str) else metric()
    history = module.fit(
        iterator(x, y), eval_metric=metric, num_epoch=20, callbacks=[finder], **settings
    )
    rates = np.geomspace(1e-3, last, 40)
    losses = model(x, y, 8, rates)
    smoothed, curve = wanted_curve(losses), finder.curve
    np.testing.assert_allclose(curve.losses, losses[: len(smoothed)], rtol=1e-4)
    np.testing.assert_allclose(curve.smoothed, smoothed, rtol=1e-4)
    np.testing.assert_allclose(curve.rates, rates[: len(smoothed)], rtol=1e-10)
    assert (len(smoothed) < 40) == (last == 50.0)
    width = max(5, len(smoothed) // 6)
    slopes = [
        np.polyfit(range(width), losses[i : i + width], 1)[0]
        for i in range(len(smoothed) - width + 1)
    ]
    assert curve.suggestion == curve.rates[np.argmin(slopes) + width // 2]
    assert "LRFinder" in history.reason
    assert (module.get_params()[0]["fc_weight"].asnumpy() == 0).all()


@pytest.mark.parametrize("contexts", [1, 2])
def test_gluon(rng, contexts):
    x, y = problem(rng)
    net = gluon.nn.Dense(1, use_bias=False)  # its shape is known after the first batch
    net.initialize(mx.init.Zero(), ctx=[mx.cpu(i) for i in range(contexts)])
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
    batches = [(mx.nd.array(x[i : i + 8]), mx.nd.array(y[i : i + 8])) for i in (0, 8, 16)]
    loss = gluon.loss.L2Loss(weight=2)  # the squares
    curve = gluon.find_learning_rate(net, loss, trainer, batches, 1e-3, 1.0, 40)
    losses = model(x, y, 8, 2 * RATES)  # and so are its gradients twice those of a half
    np.testing.assert_allclose(curve.losses, losses[: len(curve.losses)], rtol=1e-4)
    assert (net.weight.data(mx.cpu(0)).asnumpy() == 0).all() and trainer.learning_rate == 0.05


@pytest.mark.parametrize("name", ["sgd", "adam", "nadam"])
def test_training_goes_on_as_if_nothing_had_been(rng, name):
    x, y = problem(rng)
    more = {"momentum": 0.9} if name == "sgd" else {}
    found = []
    for finds in (False, True):
        module, settings = module_of(name, **more)
        module.fit(iterator(x, y), num_epoch=2, eval_metric="mse", **settings)
        if finds:
            finder = mx.callback.LRFinder(1e-3, 1.0, 20)
            module.fit(
                iterator(x, y), num_epoch=9, eval_metric="mse", callbacks=[finder], **settings
            )
            assert len(finder.curve.losses) > 5
        module.fit(iterator(x, y), num_epoch=2, eval_metric="mse", **settings)
        found.append(module.get_params()[0]["fc_weight"].asnumpy())

    for finds in (False, True):
        net = gluon.nn.Dense(1, use_bias=False, in_units=3)
        net.initialize(mx.init.Zero())
        trainer = gluon.Trainer(net.collect_params(), name, {"learning_rate": 0.05, **more})
        loss, batch = gluon.loss.L2Loss(), (mx.nd.array(x), mx.nd.array(y))
        for step in range(4):
            if finds and step == 2:
                gluon.find_learning_rate(net, loss, trainer, [batch], 1e-3, 1.0, 20)
            with mx.autograd.record():
                error = loss(net(batch[0]), batch[1])
            error.backward()
            trainer.step(24)
        found.append(net.weight.data().asnumpy())
    assert (found[0] == found[1]).all() and (found[2] == found[3]).all()
    assert (found[0] != 0).all() and (found[2] != 0).all()


def test_losses_that_are_no_numbers_end_it():
    curve = mx.callback.RateCurve(0.1, 1.0, 9)
    assert [curve.add(3.0 - i) for i in range(5)] == [True] * 5
    assert not curve.add(float("nan")) and len(curve.losses) == len(curve.rates) == 5
    assert curve.suggestion in curve.rates


def test_noise_at_small_rates_is_not_taken_for_a_fall(rng):
    curve = mx.callback.RateCurve(1e-5, 10.0, 90)
    rates = np.geomspace(1e-5, 10.0, 90)
    falling = 2 / (1 + np.exp(3 * np.log10(rates / 0.1)))  # most steeply at 0.1
    for loss in falling + 0.05 * rng.normal(size=90):
        curve.add(loss)
    assert 0.02 < curve.suggestion < 0.5


def test_plot(tmp_path):
    curve = mx.callback.RateCurve(0.1, 1.0, 9)
    for i in range(9):
        curve.add(abs(4.0 - i))
    figure = curve.plot(tmp_path / "rates.png")
    lines = figure.axes[0].lines
    assert lines[0].get_ydata().tolist() == curve.losses
    assert lines[1].get_xdata().tolist() == curve.rates
    assert (tmp_path / "rates.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_refused(rng):
    for args in ((0, 1, 10), (1, 1, 10), (0.1, float("inf"), 10), (0.1, 1, 4)):
        with pytest.raises(mx.errors.ArgumentError, match="learning rate finder"):
            mx.callback.LRFinder(*args)
    with pytest.raises(mx.errors.ArgumentError, match="0 losses are too few"):
        _ = mx.callback.RateCurve(0.1, 1.0, 9).suggestion
    x, y = problem(rng)
    schedule = mx.lr_scheduler.FactorScheduler(10, base_lr=0.05)
    module, settings = module_of(lr_scheduler=schedule)
    with pytest.raises(mx.MXNetError, match="LRFinder: the optimizer has an lr_scheduler"):
        module.fit(
            iterator(x, y),
            num_epoch=1,
            eval_metric="mse",
            callbacks=[mx.callback.LRFinder()],
            **settings,
        )
    net = gluon.nn.Dense(1, in_units=3)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    with pytest.raises(mx.errors.ArgumentError, match="no batches"):
        gluon.find_learning_rate(net, gluon.loss.L2Loss(), trainer, [])
    with pytest.raises(mx.errors.ArgumentError, match="pairs"):
        gluon.find_learning_rate(net, gluon.loss.L2Loss(), trainer, [mx.nd.ones((2, 3))])
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"lr_scheduler": schedule})
    with pytest.raises(mx.MXNetError, match="find_learning_rate: the trainer has an lr_scheduler"):
        gluon.find_learning_rate(net, gluon.loss.L2Loss(), trainer, [(x, y)])
