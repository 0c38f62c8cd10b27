"""MultiHeadAttention and RMSNorm: outputs and gradients of PyTorch, eager and hybridized."""

from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from tests.fixtures import torch_layers as given

EXPECTED = dict(np.load(Path(given.__file__).with_name("torch_layers.npz")))
GIVEN = {name: mx.nd.array(value) for name, value in given.arrays().items()}


def gradient(layer, *inputs):
    query = inputs[0].copy()
    query.attach_grad()
    with mx.autograd.record():
        key = [query if each is inputs[0] else each for each in inputs[1:]]
        out = layer(query, *key)
        loss = (out * GIVEN["head"]).sum()
    loss.backward()
    return out.asnumpy(), query.grad.asnumpy()


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("kind", given.KINDS)
def test_attention_is_that_of_pytorch(kind, hybrid):
    layer = mx.gluon.nn.MultiHeadAttention(
        given.UNITS, given.HEADS, causal=kind == "causal", prefix="a_"
    )
    layer.initialize()
    if hybrid:
        layer.hybridize()
    query, key = GIVEN["query"], GIVEN["key"]
    inputs = {
        "self": (query,),
        "cross": (query, key),
        "causal": (query,),
        "mask": (query, query, query, GIVEN["mask"]),
    }[kind]
    layer(*inputs)  # shapes
    for name, each in layer.collect_params().items():
        each.set_data(GIVEN[name.removeprefix("a_")])
    out, grad = gradient(layer, *inputs)
    np.testing.assert_allclose(out, EXPECTED[kind], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(grad, EXPECTED[f"{kind}_grad"], rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("hybrid", [False, True])
def test_rms_norm_is_that_of_pytorch(hybrid):
    layer = mx.gluon.nn.RMSNorm()
    layer.initialize()
    if hybrid:
        layer.hybridize()
    layer(GIVEN["query"])
    layer.gamma.set_data(GIVEN["gamma"])
    out, grad = gradient(layer, GIVEN["query"])
    np.testing.assert_allclose(out, EXPECTED["rms"], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(grad, EXPECTED["rms_grad"], rtol=1e-4, atol=1e-5)


def test_bad_settings():
    for units, heads in ((8, 3), (8, 0), (0, 1)):
        with pytest.raises(mx.errors.ArgumentError, match="num_heads"):
            mx.gluon.nn.MultiHeadAttention(units, heads)


def test_dropout_is_for_training_alone():
    layer = mx.gluon.nn.MultiHeadAttention(given.UNITS, given.HEADS, dropout=0.5)
    layer.initialize()
    query = GIVEN["query"]
    assert (layer(query) == layer(query)).asnumpy().all()
    with mx.autograd.record():
        assert (layer(query) != layer(query)).asnumpy().any()


def test_shapes_are_found_within_a_hybridized_network(tmp_path):
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    net.add(nn.Dense(4, flatten=False), nn.RMSNorm(), nn.MultiHeadAttention(4, 2), nn.RMSNorm())
    net.initialize()
    net.hybridize()
    x = mx.nd.ones((2, 3, 5))
    out = net(x)
    assert out.shape == (2, 3, 4)
    net.export(str(tmp_path / "net"))
    names = str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    assert (mx.gluon.SymbolBlock.imports(*names)(x) == out).asnumpy().all()
