"""Subclasses of containers and layers, as scripts write them."""

import warnings

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd
from cynet.gluon import nn

X = nd.array([[1.0, -2, 3]])


@pytest.fixture(params=[False, True], ids=["eager", "hybridized"])
def ready(request):
    """Initialize a Block with ones, and hybridize it in half of the tests."""

    def do(block):
        block.initialize(mx.init.One())
        if request.param:
            block.hybridize()
        return block

    return do


def test_a_hybrid_sequential_with_another_hybrid_forward(ready):
    class Residual(nn.HybridSequential):
        def hybrid_forward(self, F, x):
            return F.broadcast_add(x, super().hybrid_forward(F, x))

    class Beside(nn.HybridSequential):
        def hybrid_forward(self, F, x):
            return F.concat(*[each(x) for each in self], dim=1)

    for kind, wanted in ((Residual, [[7, 4, 9]]), (Beside, [[2, 2, 2, 6, 6, 6]])):
        net = kind()
        net.add(nn.Dense(3, in_units=3), nn.HybridLambda(lambda F, x: x * 3 - 0))
        if kind is Beside:
            net[1]._func = lambda F, x: F.broadcast_add(0 * x, F.sum(x) * 3)
        assert ready(net)(X).asnumpy().tolist() == wanted


def test_a_hybrid_sequential_with_a_parameter_of_its_own(ready):
    class Scaled(nn.HybridSequential):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.scale = self.params.get("scale", shape=(1,), init=mx.init.Constant(10))

        def hybrid_forward(self, F, x, scale):
            return F.broadcast_mul(super().hybrid_forward(F, x), scale)

    net = Scaled()
    net.add(nn.Dense(1, in_units=3))
    net = ready(net)
    with autograd.record():
        out = net(X)
    out.backward()
    assert out.asscalar() == 20 and net.scale.grad().asscalar() == 2
    assert net[0].weight.grad().asnumpy().tolist() == [[10, -20, 30]]


def test_a_hybrid_sequential_with_a_forward_of_its_own(ready):
    """A `forward` that needs values runs operator by operator, as in MXNet."""

    class Halved(nn.HybridSequential):
        def forward(self, x):
            out = super().forward(x)
            while out.norm().asscalar() > 1:
                out = out / 2
            return out

    net = Halved()
    net.add(nn.Dense(1, in_units=3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ready(net)(X).asscalar() == 1


def test_several_values_go_through(ready):
    class Pair(gluon.HybridBlock):
        def hybrid_forward(self, F, a, b):
            return a + b, a - b

    net = nn.HybridSequential()
    net.add(Pair(), Pair())
    a, b = ready(net)(X, X * 3)
    assert (a.asnumpy() == 2 * X.asnumpy()).all() and (b.asnumpy() == 6 * X.asnumpy()).all()


def test_layers_with_another_hybrid_forward(ready):
    """Parameters come under the names that MXNet's layers give them."""

    class Normalized(nn.Dense):
        def hybrid_forward(self, F, x, weight, bias=None):
            weight = F.L2Normalization(weight)
            return super().hybrid_forward(F, x, weight, bias)

    class Doubled(nn.Conv2D):
        def hybrid_forward(self, F, x, weight, bias=None):
            return super().hybrid_forward(F, x, weight * 2, bias)

    class Shifted(nn.BatchNorm):
        def hybrid_forward(self, F, x, gamma, beta, running_mean, running_var):
            return super().hybrid_forward(F, x, gamma, beta + 1, running_mean, running_var)

    class Words(nn.Embedding):
        def hybrid_forward(self, F, x, weight):
            return super().hybrid_forward(F, x, weight) * 5

    class Norm(nn.LayerNorm):
        def hybrid_forward(self, F, data, gamma, beta):
            return super().hybrid_forward(F, data, gamma, beta) + 1

    out = ready(Normalized(2, in_units=3))(X).asnumpy()
    np.testing.assert_allclose(out, [[2 / 3**0.5] * 2], rtol=1e-6)
    out = ready(Doubled(1, (1, 1), in_channels=1))(nd.ones((1, 1, 2, 2))).asnumpy()
    assert out.ravel().tolist() == [2] * 4
    np.testing.assert_allclose(ready(Shifted(in_channels=3))(X).asnumpy(), [[2, -1, 4]], rtol=1e-4)
    assert ready(Words(4, 2))(nd.array([1])).asnumpy().tolist() == [[5, 5]]
    assert abs(ready(Norm(in_channels=3))(X).asnumpy().sum() - 3) < 1e-5
