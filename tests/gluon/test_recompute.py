"""checkpoint(block): the same gradients from less memory."""

import copy
import gc

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, storage
from cynet.gluon import nn


def network(kept, dropout=0.0, parts=4, width=8):
    mx.random.seed(3)
    net = nn.HybridSequential(prefix="n_")
    with net.name_scope():
        for _ in range(parts):
            part = nn.HybridSequential()
            with part.name_scope():
                part.add(nn.Dense(width, activation="tanh", in_units=width))
                part.add(nn.BatchNorm(in_channels=width), nn.Dropout(dropout))
                part.add(nn.Dense(width, activation="sigmoid", in_units=width))
            net.add(part if kept else gluon.checkpoint(part))
    net.initialize(mx.init.Normal(0.3))
    return net


def run(net, x, times, req):
    """All values and gradients after two recorded steps that use the network so often."""
    net.collect_params(".*weight").setattr("grad_req", req)
    x.attach_grad()
    mx.random.seed(9)
    for _ in range(2):
        with autograd.record():
            loss = sum((net((i + 1) * x) ** 2).sum() for i in range(times))
        loss.backward()
    params = net.collect_params().values()
    found = [each.data() for each in params] + [x.grad]
    found += [each.grad() for each in params if each.grad_req != "null"]
    return [each.asnumpy() for each in found] + [mx.nd.random.uniform(shape=2).asnumpy()]


@pytest.mark.parametrize("hybridize", ["eager", "inside", "whole"])
@pytest.mark.parametrize("dropout, times", [(0.0, 1), (0.4, 1), (0.4, 2)])
@pytest.mark.parametrize("req", ["write", "add"])
def test_gradients_are_the_same(hybridize, dropout, times, req):
    """To the byte; parts for a parameter that is used twice are summed otherwise."""
    found = []
    for kept in (True, False):
        net = network(kept, dropout)
        if hybridize == "whole":
            net.hybridize()
        elif hybridize == "inside":
            for part in net:
                part.hybridize()
        rows = np.random.RandomState(0).normal(size=(6, 8))
        found.append(run(net, mx.nd.array(rows), times, req))
    for a, b in zip(*found):
        if times == 1 and req == "write":
            assert a.tobytes() == b.tobytes()
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def peak(net, x):
    """Bytes that wait for backward, beyond what was there before."""
    net(x)
    gc.collect()
    mx.nd.waitall()
    before = storage.stats(mx.cpu())["used_bytes"]
    with autograd.record():
        loss = (net(x) ** 2).sum()
    mx.nd.waitall()
    held = storage.stats(mx.cpu())["used_bytes"] - before
    loss.backward()
    return held


def test_memory():
    """Of each of eight parts one array is left, of three and a mask."""
    x = mx.nd.ones((512, 64))
    kept, less = (peak(network(flag, 0.1, 8, 64), x) for flag in (True, False))
    array = x.size * 4
    assert kept > 3 * 8 * array, kept / array
    assert less < 1.5 * 8 * array, less / array


def test_a_parameter_that_is_not_used_and_an_input_that_comes_back():
    class Part(gluon.Block):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.w = self.params.get("w", shape=(2,), init="ones")
                self.unused = self.params.get("unused", shape=(2,), init="ones")

        def forward(self, x, scale, names=("a",)):
            return x * self.w.data() * scale, x

    part = gluon.checkpoint(Part())
    part.initialize()
    x = mx.nd.array([2, 3])
    x.attach_grad()
    with autograd.record():
        y, same = part(x, 3)
        loss = (y + same).sum()
    loss.backward()
    assert x.grad.asnumpy().tolist() == [4, 4]
    assert part.w.grad().asnumpy().tolist() == [6, 9]
    assert part.unused.grad().asnumpy().tolist() == [0, 0]


def test_what_is_marked_after_a_graph_was_traced(rng):
    """Traced anew: the nodes of the graph say so."""
    net = network(True, parts=2)
    net.hybridize()
    x = mx.nd.array(rng.normal(size=(3, 8)))
    before = net(x).asnumpy()
    assert "force_mirroring" not in net._last_graph().symbol.tojson()
    gluon.checkpoint(net[0])
    assert (net(x).asnumpy() == before).all()
    assert "force_mirroring" in net._last_graph().symbol.tojson()


def test_structure_stays():
    plain, net = network(True), network(False)
    assert list(plain._collect_params_with_prefix()) == list(net._collect_params_with_prefix())
    assert gluon.checkpoint(net[0]) is net[0]
    x = mx.nd.ones((2, 8))
    wanted = plain(x).asnumpy()
    assert (copy.deepcopy(net)(x).asnumpy() == wanted).all()
    other = copy.deepcopy(net)
    other[0][0].weight.set_data(mx.nd.zeros((8, 8)))
    assert (net(x).asnumpy() == wanted).all()


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("apart", [False, True])
def test_what_set_data_replaced_since_counts(hybrid, apart):
    """Backward of a call takes the values that the call had."""
    net = nn.HybridSequential()
    net.add(gluon.checkpoint(nn.Dense(2, activation="sigmoid", use_bias=False, in_units=2)))
    net.initialize(mx.init.One())
    if hybrid:
        (net[0] if apart else net).hybridize()
    given = gluon.Parameter("given", shape=(1, 2))
    given.initialize(mx.init.One())
    found, weight = [], net[0].weight
    for sets in (False, True):
        x = given.data()
        with autograd.record():
            y = net(x)
        if sets:
            weight.set_data(mx.nd.zeros((2, 2)))
            given.set_data(mx.nd.full((1, 2), 7))
        y.backward(retain_graph=True)
        y.backward()
        found.append((weight.grad().asnumpy(), given.grad().asnumpy()))
    assert weight.data().asnumpy().tolist() == [[0, 0], [0, 0]]
    assert found[0][0].all() and found[0][1].all()
    for a, b in zip(*found):
        assert (a == b).all()
    with autograd.record():
        y = net(given.data())
    y.backward()
    assert given.grad().asnumpy().tolist() == [[0, 0]]
    assert weight.grad().asnumpy().tolist() == [[1.75, 1.75]] * 2


def test_refusals():
    hidden = mx.nd.ones(2)
    hidden.attach_grad()

    class Part(gluon.Block):
        def forward(self, x):
            return x * hidden

    with pytest.raises(TypeError, match="takes a Block"):
        gluon.checkpoint(3)
    part = gluon.checkpoint(Part())
    x = mx.nd.ones(2)
    x.attach_grad()
    with autograd.record():
        y = part(x)
    with pytest.raises(mx.MXNetError, match="neither an argument nor a parameter"):
        y.backward()
    part = gluon.checkpoint(nn.Dense(2, in_units=2))
    part.initialize()
    with autograd.record():
        y = part(x.reshape((1, 2)))
        with pytest.raises(mx.MXNetError, match="create_graph"):
            autograd.grad(y, [x], create_graph=True)
    with autograd.record():
        y = part(x.reshape((1, 2)))
    part.weight.data()[:] = 0
    with pytest.raises(mx.MXNetError, match="was changed"):
        y.backward()
    with autograd.record(), pytest.raises(mx.MXNetError, match="checkpoint of"):
        part(object())
