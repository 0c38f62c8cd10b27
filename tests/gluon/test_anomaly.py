"""Anomaly mode names layer, operator and line."""

import subprocess
import sys

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon
from cynet.gluon import nn


class Root(gluon.HybridBlock):
    """sqrt(x + shift): NaN forward below 0, an infinite gradient at 0."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.shift = self.params.get("shift", shape=(1,), init="zeros")

    def hybrid_forward(self, F, x, shift):
        return F.sqrt(F.broadcast_add(x, shift))


class Network(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.features = nn.HybridSequential()
            self.features.add(nn.Flatten(), Root())
            self.out = nn.Dense(1, in_units=2)

    def hybrid_forward(self, F, x):
        return self.out(self.features(x))


@pytest.fixture(params=["eager", "hybridized"])
def net(request):
    net = Network()
    net.initialize(mx.init.One())
    if request.param == "hybridized":
        net.hybridize()
    net(mx.nd.ones((1, 2)))
    return net


def here():
    return sys._getframe(1).f_lineno


def test_forward(net):
    with gluon.detect_anomaly():
        net(mx.nd.array([[1, 2]]))
        with pytest.raises(
            gluon.AnomalyError, match="operator sqrt gave NaN in 1 of 2 elements in layer"
        ) as caught:
            net(mx.nd.array([[1, -2]]))
    text = str(caught.value)
    assert "operator sqrt gave NaN in 1 of 2 elements in layer features.1 (Root)" in text
    assert f"{__file__}:" in text and "input 0 (1, 2) is finite" in text
    assert isinstance(caught.value, FloatingPointError)
    assert np.isnan(net(mx.nd.array([[1, -2]])).asscalar())


def test_backward(net):
    x = mx.nd.array([[4, 0]])
    with gluon.detect_anomaly():
        with autograd.record():
            y = net(x)
        with pytest.raises(
            gluon.AnomalyError,
            match="operator sqrt gave a gradient of its input 0 with an infinity",
        ) as caught:
            y.backward()
    text = str(caught.value)
    assert "operator sqrt gave a gradient of its input 0 with an infinity in 1 of 2" in text
    assert "in layer features.1 (Root), recorded at" in text
    assert f"{__file__}:" in text


def test_the_line_of_a_plain_script():
    x = mx.nd.array([0.0, 1.0])
    x.attach_grad()
    with gluon.detect_anomaly(), autograd.record():
        with pytest.raises(gluon.AnomalyError, match=f"log gave an infinity.*{here() + 1}; "):
            mx.nd.log(x)
        y = mx.nd.sqrt(x)
        line = here() - 1
        with pytest.raises(gluon.AnomalyError, match=f"recorded at .*:{line}$"):
            y.backward()
    with gluon.detect_anomaly(infinite=False):
        masked = mx.nd.log(mx.nd.zeros(2))
        with pytest.raises(gluon.AnomalyError, match="gave NaN in 2 of 2.*has|is finite"):
            masked - masked


def test_gradients_that_are_asked_for():
    x = mx.nd.array([0.0])
    x.attach_grad()
    with gluon.detect_anomaly():
        with autograd.record():
            y = mx.nd.sqrt(x)
        with pytest.raises(gluon.AnomalyError, match="sqrt"):
            autograd.grad(y, [x])


def test_networks_from_files(net, tmp_path):
    net.hybridize()
    net(mx.nd.ones((1, 2)))
    net.export(str(tmp_path / "a"))
    other = gluon.SymbolBlock.imports(
        str(tmp_path / "a-symbol.json"), ["data"], str(tmp_path / "a-0000.params")
    )
    with gluon.detect_anomaly(), pytest.raises(gluon.AnomalyError, match="operator sqrt, node '"):
        other(mx.nd.array([[1, -2]]))


def test_it_is_over_afterwards(net):
    """Nested scopes end one by one; hybridized networks run as graphs again."""
    with gluon.detect_anomaly():
        with gluon.detect_anomaly(infinite=False):
            pass
        with pytest.raises(
            gluon.AnomalyError, match="operator log gave an infinity in 1 of 1 elements, called at"
        ):
            mx.nd.log(mx.nd.zeros(1))
        net(mx.nd.ones((1, 2)))
        assert net._cached is None or net._cached._untraceable_reason is not None
    assert np.isinf(mx.nd.log(mx.nd.zeros(1)).asscalar())
    net(mx.nd.ones((1, 2)))
    assert net._cached is None or net._cached._untraceable_reason is None
    from cynet.monitor import nans

    assert not nans._layer_of_node


def test_whole_training_passes():
    net = Network()
    net.initialize(mx.init.Uniform(0.1))
    trainer = gluon.Trainer(net.collect_params(), "adam")
    with gluon.detect_anomaly():
        for _ in range(3):
            with autograd.record():
                loss = net(mx.nd.ones((2, 2))).sum()
            loss.backward()
            trainer.step(2)


def test_importing_gluon_installs_nothing():
    code = "from cynet.gluon import tracing; assert tracing.operator_hook() is None"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
