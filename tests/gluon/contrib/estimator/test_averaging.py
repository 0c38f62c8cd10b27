"""AveragingHandler: when means are taken, what is validated, and what is left at the end."""

import numpy as np
import pytest

import cynet as mx
from cynet import gluon
from cynet.gluon.contrib.estimator import AveragingHandler, EpochEnd, Estimator

RATE = 0.5


class Seen(EpochEnd):
    """What the network has when an epoch has ended, behind validation."""

    def __init__(self):
        self.weights, self.validated = [], []

    def epoch_end(self, estimator, *args, **kwargs):
        self.weights.append(float(estimator.net.weight.data().asscalar()))
        self.validated.append(estimator.val_metrics[0].get()[1])


def trained(epochs, make, start=0, batches=2):
    """(the handler, what was seen, the network): one weight from 0 towards 1, by known steps."""
    net = gluon.nn.Dense(1, in_units=1, use_bias=False)
    net.initialize(mx.init.Zero())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": RATE})
    metric = mx.metric.MSE()
    estimator = Estimator(
        net, gluon.loss.L2Loss(), metric, trainer=trainer, val_metrics=mx.metric.MSE()
    )
    estimator.logger.setLevel("ERROR")
    data = gluon.data.ArrayDataset(mx.nd.ones((batches, 1)), mx.nd.ones((batches, 1)))
    loader = gluon.data.DataLoader(data, batch_size=1)
    handler, seen = AveragingHandler(make(net), start), Seen()
    estimator.fit(loader, loader, epochs=epochs, event_handlers=[seen, handler])
    return handler, seen, net


def weights(steps):
    """The weight after each step: the distance to 1 halves."""
    return 1 - (1 - RATE) ** np.arange(1, steps + 1)


@pytest.mark.parametrize("start", [0, 1, 2])
def test_an_ema_moves_at_each_batch(start):
    handler, seen, net = trained(3, lambda net: gluon.EMA(net, decay=0.75), start)
    mean, means = None, []
    for step, weight in enumerate(weights(6)):
        if step >= 2 * start:
            mean = weight if mean is None else mean + 0.25 * (weight - mean)
        if step % 2:
            means.append(weight if mean is None else mean)
    assert handler.average.count == 6 - 2 * start
    np.testing.assert_allclose(seen.weights, means, rtol=1e-6)
    np.testing.assert_allclose(seen.validated, (1 - np.array(means)) ** 2, rtol=1e-5)
    assert float(net.weight.data().asscalar()) == seen.weights[-1]


def test_an_swa_moves_at_each_epoch_and_training_goes_on_with_the_weights():
    handler, seen, net = trained(4, gluon.SWA, start=1)
    ends = weights(8)[1::2]
    wanted = [ends[0], ends[1], ends[1:3].mean(), ends[1:4].mean()]
    assert handler.average.count == 3
    np.testing.assert_allclose(seen.weights, wanted, rtol=1e-6)
    np.testing.assert_allclose(net.weight.data().asnumpy(), [[wanted[-1]]], rtol=1e-6)


def test_no_epoch_that_is_averaged_leaves_the_weights():
    handler, _, net = trained(2, gluon.SWA, start=5)
    assert handler.average.count == 0
    np.testing.assert_allclose(net.weight.data().asscalar(), weights(4)[-1], rtol=1e-6)


def test_what_does_not_average_is_refused():
    with pytest.raises(TypeError, match="average must be a gluon.EMA or gluon.SWA, got 0.9"):
        AveragingHandler(0.9)
    net = gluon.nn.Dense(1)
    with pytest.raises(TypeError, match="start must be an int of 0 or more, got 'late'"):
        AveragingHandler(gluon.SWA(net), start="late")
    with pytest.raises(ValueError, match="start must be 0 or more, got -1"):
        AveragingHandler(gluon.SWA(net), start=-1)
