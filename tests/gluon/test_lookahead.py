"""gluon.Lookahead beside its algorithm in NumPy; files; what is refused."""

import numpy as np
import pytest

import cynet as mx
from cynet import gluon
from cynet.gluon import nn


def steps(net, lookahead, values):
    found = []
    for each in values:
        net.weight.set_data(net.weight.data() + mx.nd.array(each))
        lookahead.update()
        found.append(net.weight.data().asnumpy())
    return found


@pytest.mark.parametrize("k, alpha", [(1, 1.0), (2, 0.5), (3, 0.25), (5, 0.8)])
def test_algorithm(k, alpha, rng):
    net = nn.Dense(2, in_units=3)
    net.initialize()
    moves = rng.standard_normal((11, 2, 3)).astype("float32")
    weight = slow = net.weight.data().asnumpy()
    found = steps(net, gluon.Lookahead(net, k, alpha), moves)
    for t, move in enumerate(moves, 1):
        weight = weight + move
        if t % k == 0:
            slow = weight = slow + alpha * (weight - slow)
        np.testing.assert_allclose(found[t - 1], weight, 1e-5, 1e-6)


def test_statistics_stay():
    net = nn.BatchNorm(in_channels=2)
    net.initialize()
    lookahead = gluon.Lookahead(net, 1, 0.5)
    net.running_mean.set_data(mx.nd.array([3, 4]))
    net.gamma.set_data(mx.nd.array([3, 5]))
    lookahead.update()
    assert net.running_mean.data().asnumpy().tolist() == [3, 4]
    assert net.gamma.data().asnumpy().tolist() == [2, 3]
    assert "running_mean" not in lookahead.values


def test_it_goes_on_from_a_file(tmp_path, rng):
    moves = rng.standard_normal((9, 2, 3)).astype("float32")
    nets = [nn.Dense(2, in_units=3) for _ in range(2)]
    for net in nets:
        net.initialize(mx.init.One())
    whole = steps(nets[0], gluon.Lookahead(nets[0], 3), moves)
    first = gluon.Lookahead(nets[1], 3)
    steps(nets[1], first, moves[:4])
    first.save(tmp_path / "slow.params")
    second = gluon.Lookahead(nets[1], 3)
    second.load(tmp_path / "slow.params")
    assert second.count == first.count == 2
    found = steps(nets[1], second, moves[4:])
    for a, b in zip(found, whole[4:]):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda net: gluon.Lookahead(net, 0), "k must be an int from 1 on, got 0"),
        (lambda net: gluon.Lookahead(net, 1, 0.0), "above 0 and at most 1, got 0.0"),
        (lambda net: gluon.Lookahead(net, 1, 1.01), "above 0 and at most 1, got 1.01"),
        (lambda net: gluon.Lookahead(net, 1, "a"), "alpha must be a number"),
        (lambda net: gluon.Lookahead(3), "net must be a Block, got 3"),
        (lambda net: gluon.Lookahead(net).load_state_dict(gluon.EMA(net).state_dict()), "no slow"),
    ],
)
def test_refused(make, says):
    net = nn.Dense(2, in_units=3)
    net.initialize()
    with pytest.raises(mx.MXNetError, match=says):
        make(net)


def test_shapes_must_be_known():
    net = nn.Dense(2)
    net.initialize()
    with pytest.raises(gluon.DeferredInitializationError, match="dense"):
        gluon.Lookahead(net)
