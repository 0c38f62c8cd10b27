"""What users define of a Block's methods: when it runs, and that its results count."""

import warnings

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd
from cynet.gluon import nn


class Doubled(nn.Dense):
    """A `forward` before that of MXNet's layer, as scripts of 1.x have it."""

    calls = 0

    def forward(self, x):
        self.calls += 1
        return super().forward(x * 2)


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_forward_before_hybrid_forward_runs_at_each_call(hybridize):
    net = Doubled(1)
    net.initialize(mx.init.One())
    if hybridize:
        net.hybridize()
    for rows in (2, 3, 2):
        assert net(nd.ones((rows, 2))).asnumpy().tolist() == [[4]] * rows
    assert net.calls == 3
    outer = nn.HybridSequential()
    outer.add(net)
    if hybridize:
        outer.hybridize()
    assert outer(nd.ones((1, 2))).asscalar() == 4


def test_gradients_and_hooks_around_such_a_forward():
    net, seen = Doubled(1), []
    net.initialize(mx.init.One())
    net.hybridize()
    x = nd.ones((1, 3))
    x.attach_grad()
    with autograd.record():
        y = net(x)
    y.backward()
    assert x.grad.asnumpy().tolist() == [[2, 2, 2]]
    assert net.weight.grad().asnumpy().tolist() == [[2, 2, 2]]
    net.register_forward_hook(lambda block, inputs, output: seen.append(output.asscalar()))
    net.hybridize(False)
    net(x)
    assert seen == [6]


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_forward_that_is_set_on_one_object(hybridize):
    net, calls = nn.Dense(1, use_bias=False), []
    net.initialize(mx.init.One())
    if hybridize:
        net.hybridize()
    assert net(nd.ones((1, 2))).asscalar() == 2
    old = net.forward

    def forward(x):
        calls.append(x.shape)
        return old(x) + 1

    net.forward = forward
    assert [net(nd.ones((1, 2))).asscalar() for _ in range(2)] == [3, 3] and len(calls) == 2
    del net.forward
    assert net(nd.ones((1, 2))).asscalar() == 2 and len(calls) == 2


@pytest.mark.parametrize("inner", [False, True])
def test_a_hybrid_forward_that_is_set_on_one_object(inner):
    layer = nn.Dense(1, use_bias=False)
    net = nn.HybridSequential()
    net.add(layer)
    net = net if inner else layer
    net.initialize(mx.init.One())
    net.hybridize()
    assert net(nd.ones((1, 2))).asscalar() == 2
    layer.hybrid_forward = lambda F, x, weight: F.dot(x, weight, transpose_b=True) * 5
    assert net(nd.ones((1, 2))).asscalar() == 10
    del layer.hybrid_forward
    assert net(nd.ones((1, 2))).asscalar() == 2


def test_a_helper_that_is_replaced():
    class Net(gluon.HybridBlock):
        def change(self, x):
            return x * 2

        def hybrid_forward(self, F, x):
            return self.change(x)

    net = Net()
    net.hybridize()
    assert net(nd.ones(1)).asscalar() == 2
    net.change = lambda x: x * 3
    assert net(nd.ones(1)).asscalar() == 3


def test_call_and_cached_op_of_a_subclass():
    class Counted(nn.Dense):
        calls, graphs = 0, 0

        def __call__(self, x):
            Counted.calls += 1
            return super().__call__(x)

        def _call_cached_op(self, x):
            Counted.graphs += 1
            return super()._call_cached_op(x) * 10

    net = Counted(1, use_bias=False)
    net.initialize(mx.init.One())
    assert net(nd.ones((1, 2))).asscalar() == 2
    net.hybridize()
    assert [net(nd.ones((1, 2))).asscalar() for _ in range(2)] == [20, 20]
    assert (Counted.calls, Counted.graphs) == (3, 2)


def test_a_plain_forward_that_counts_runs_at_each_call():
    class Net(gluon.HybridBlock):
        calls = 0

        def forward(self, x):
            self.calls += 1
            return x * self.calls

    net = Net()
    net.hybridize()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert [net(nd.ones(1)).asscalar() for _ in range(4)][1:] == [
            net.calls - 2,
            net.calls - 1,
            net.calls,
        ]
    assert sum("its forward changes attributes" in str(each.message) for each in told) == 1


def test_a_plain_forward_that_remembers_once_is_a_graph_from_then_on():
    class Net(gluon.HybridBlock):
        runs = []

        def forward(self, x):
            if not hasattr(self, "width"):
                self.width = 3
            Net.runs.append(1)
            return x * self.width

    net = Net()
    net.hybridize()
    assert [net(nd.ones(1)).asscalar() for _ in range(4)] == [3, 3, 3, 3]
    count = len(Net.runs)
    net(nd.ones(1))
    assert len(Net.runs) == count


def test_a_forward_before_that_of_a_symbol_block():
    class Net(gluon.SymbolBlock):
        calls = 0

        def forward(self, x):
            Net.calls += 1
            return super().forward(x + 1)

    data = mx.sym.var("data")
    net = Net(mx.sym.FullyConnected(data, num_hidden=1, no_bias=True, name="fc"), data)
    net.initialize(mx.init.One())
    for _ in range(2):
        assert net(nd.ones((1, 2))).asscalar() == 4
    outer = nn.HybridSequential()
    outer.add(net)
    outer.hybridize()
    assert outer(nd.ones((1, 2))).asscalar() == 4 and Net.calls >= 3


def test_infer_shape_of_a_subclass():
    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.weight = self.params.get("weight", shape=(0,), allow_deferred_init=True)

        def infer_shape(self, x):
            self.weight.shape = (x.shape[1],)

        def hybrid_forward(self, F, x, weight):
            return F.broadcast_mul(x, weight.expand_dims(0))

    for hybridize in (False, True):
        net = Net()
        net.initialize(mx.init.One())
        if hybridize:
            net.hybridize()
        assert net(nd.ones((2, 3))).shape == (2, 3) and net.weight.shape == (3,)


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_hybrid_forward_of_a_transform(hybridize):
    """cynet's own Resize and CropResize compute in `forward`; a subclass has the last word."""
    transforms = gluon.data.vision.transforms

    class Halved(transforms.Resize):
        def hybrid_forward(self, F, x):
            return x * 0.5

    class Cropped(transforms.CropResize):
        def hybrid_forward(self, F, x):
            return F.slice(x, begin=(0, 0, 0), end=(1, 1, 1))

    for net, right in ((Halved(3), np.full((2, 2, 3), 0.5)), (Cropped(0, 0, 2, 2), [[[1]]])):
        if hybridize:
            net.hybridize()
        for _ in range(2):
            np.testing.assert_array_equal(net(nd.ones((2, 2, 3))).asnumpy(), right)


def test_the_graph_that_packages_read():
    """As in MXNet 1.9.1: () until a hybridized call, then symbols of inputs and outputs."""

    class Two(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.dense = mx.gluon.nn.Dense(2)

        def hybrid_forward(self, F, a, b):
            return self.dense(a) + b, [a * 2, b]

    net, ones = Two(), mx.nd.ones((2, 2))
    net.initialize()
    net(ones, ones)
    assert net._cached_graph == ()
    net.hybridize()
    assert net._cached_graph == ()
    net(ones, ones)
    inputs, outputs = net._cached_graph
    assert [each.name for each in inputs] == ["data0", "data1"]
    assert len(outputs.list_outputs()) == 3
    assert {"data0", "data1", net.dense.weight.name} <= {*outputs.list_inputs()}
    net.hybridize(False)
    assert net._cached_graph == ()
