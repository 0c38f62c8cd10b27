"""cynet.gluon.contrib.cnn; names and values of MXNet are in tests/examples/test_vision.py."""

import numpy as np
import pytest

import cynet as mx
from cynet.gluon import contrib, nn

KINDS = (contrib.cnn.DeformableConvolution, contrib.cnn.ModulatedDeformableConvolution)


@pytest.mark.parametrize("kind", KINDS)
def test_is_a_convolution_at_first(kind):
    """Offsets are 0 and factors 2 * sigmoid(0) = 1."""
    layer = kind(4, 3, padding=1, strides=2, in_channels=3)
    layer.initialize(mx.init.Xavier())
    plain = nn.Conv2D(4, 3, padding=1, strides=2, in_channels=3)
    plain.initialize()
    plain.weight.set_data(layer.deformable_conv_weight.data())
    x = mx.nd.array(np.random.default_rng(0).standard_normal((2, 3, 7, 6)))
    eager = layer(x).asnumpy()
    np.testing.assert_allclose(eager, plain(x).asnumpy(), 1e-5, 1e-5)
    layer.hybridize()
    np.testing.assert_allclose(layer(x).asnumpy(), eager, 1e-5, 1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_learns_its_offsets(kind):
    layer = kind(2, 3, padding=1, activation="relu", num_deformable_group=2)
    layer.initialize(mx.init.Normal(0.5))
    layer.hybridize()
    x = mx.nd.array(np.random.default_rng(0).standard_normal((2, 4, 7, 6)))
    with mx.autograd.record():
        loss = layer(x).square().sum()
    loss.backward()
    assert layer.offset_weight.shape == ((3 if "Mod" in kind.__name__ else 2) * 18, 4, 3, 3)
    assert all(p.grad().norm().asscalar() > 0 for p in layer.collect_params().values())
    mx.gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 1e-3}).step(1)
    assert layer(x).square().sum().asscalar() < loss.asscalar()


@pytest.mark.parametrize("kind", KINDS)
def test_names_and_text(kind):
    with mx.name.NameManager():
        layer = kind(4, (3, 3), padding=(1, 1), activation="relu", use_bias=False, groups=2)
    prefix = "modulated_deformable_conv0_" if "Mod" in kind.__name__ else "deformable_conv0_"
    assert layer.prefix == prefix
    names = [f"{prefix}{n}" for n in ("offset_weight", "offset_bias", "deformable_conv_weight")]
    assert sorted(layer.collect_params()) == sorted(names)
    assert repr(layer) == (
        f"{kind.__name__}(None -> 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), groups=2, "
        "bias=False, Activation(relu))"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_refuses(kind):
    for text, kwargs in (
        ("layout is 'NCHW'", {"layout": "NHWC"}),
        ("kernel_size is an int or 2 ints", {"kernel_size": (3,)}),
        ("op_name is its own name", {"op_name": "Convolution"}),
    ):
        with pytest.raises(ValueError, match=text):
            kind(4, **kwargs)
