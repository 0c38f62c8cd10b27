"""Transformer layers: what PyTorch computes with the same weights; positions: the formulas."""

from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.gluon import nn
from tests.fixtures import torch_transformer as given

EXPECTED = np.load(Path(given.__file__).with_suffix(".npz"))


def layer_of(case):
    kind, settings = given.CASES[case]
    settings = {k: v for k, v in settings.items() if k != "masked"}
    first = [settings.pop("num_layers")] if "num_layers" in settings else []
    layer = getattr(nn, f"Transformer{kind}")(
        *first, given.UNITS, given.HEADS, given.HIDDEN, dropout=0.0, **settings
    )
    layer.initialize()
    return layer


def arguments(case):
    kind, settings = given.CASES[case]
    arrays = {name: mx.nd.array(value) for name, value in given.inputs().items()}
    masks = [arrays["mask"], arrays["memory_mask"]] if settings.get("masked") else []
    if kind.startswith("Encoder"):
        return arrays["x"], masks[:1], arrays["head"]
    return arrays["x"], [arrays["memory"], *masks], arrays["head"]


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("case", given.CASES)
def test_it_is_that_of_pytorch(case, hybrid):
    layer = layer_of(case)
    if hybrid:
        layer.hybridize()
    x, others, head = arguments(case)
    layer(x, *others)  # shapes
    params, weights = layer._collect_params_with_prefix(), given.weights(case)
    assert params.keys() == weights.keys()
    for name, value in weights.items():
        params[name].set_data(mx.nd.array(value))
    x.attach_grad()
    with mx.autograd.record():
        out = layer(x, *others)
        loss = (out * head).sum()
    loss.backward()
    np.testing.assert_allclose(out.asnumpy(), EXPECTED[case], rtol=1e-4, atol=2e-5)
    np.testing.assert_allclose(x.grad.asnumpy(), EXPECTED[f"{case}_grad"], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("case", ["encoder", "decoder_pre_norm"])
def test_dropout_is_for_training_alone(case):
    kind, _ = given.CASES[case]
    layer = getattr(nn, f"Transformer{kind}")(given.UNITS, given.HEADS, given.HIDDEN, dropout=0.5)
    layer.initialize()
    x, others, _ = arguments(case)
    assert (layer(x, *others) == layer(x, *others)).asnumpy().all()
    with mx.autograd.record():
        assert (layer(x, *others) != layer(x, *others)).asnumpy().any()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize("hybrid", [False, True])
def test_other_dtypes(dtype, hybrid):
    layer = nn.TransformerEncoderLayer(
        given.UNITS, given.HEADS, given.HIDDEN, dropout=0.0, causal=True, rotary=True
    )
    layer.initialize()
    x = mx.nd.array(given.inputs()["x"])
    wanted = layer(x).asnumpy()
    layer.cast(dtype)
    if hybrid:
        layer.hybridize()
    found = layer(x.astype(dtype))
    assert found.dtype == mx.nd.zeros(1, dtype=dtype).dtype
    limit = {"float16": 1e-2, "bfloat16": 6e-2, "float64": 1e-5}[dtype]
    np.testing.assert_allclose(found.astype("float64").asnumpy(), wanted, rtol=limit, atol=limit)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_causal_mask_is_exact_where_the_dtype_counts_no_further(dtype):
    """Of bfloat16 there is no 257: what comes later must not show, at any place."""
    layer = nn.MultiHeadAttention(4, 1, causal=True)
    layer.initialize(mx.init.Normal(0.5))
    layer.cast(dtype)
    x = mx.nd.random.normal(shape=(1, 300, 4)).astype(dtype)
    other = x.copy()
    other[:, 270:] = 1
    same = (layer(x) == layer(other)).astype("float32").asnumpy().all(axis=2)[0]
    assert same[:270].all() and not same[270:].all()


def rotated(x, base, interleaved):
    """Su et al., with complex numbers."""
    _, length, units = x.shape
    angle = np.outer(np.arange(length), base ** (-np.arange(0, units, 2) / units))
    if interleaved:
        turned = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angle)
        return np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape)
    turned = (x[..., : units // 2] + 1j * x[..., units // 2 :]) * np.exp(1j * angle)
    return np.concatenate([turned.real, turned.imag], axis=-1)


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary(rng, interleaved, hybrid):
    x = rng.normal(size=(2, 7, 6))
    layer = nn.RotaryPosition(6, max_length=9, base=100.0, interleaved=interleaved)
    layer.initialize()
    if hybrid:
        layer.hybridize()
    wanted = rotated(x, 100.0, interleaved)
    np.testing.assert_allclose(layer(mx.nd.array(x)).asnumpy(), wanted, rtol=1e-5, atol=1e-6)


def test_attention_with_rotary_positions_depends_on_distances(rng):
    layer = nn.MultiHeadAttention(4, 2, rotary=True)
    layer.initialize(mx.init.Normal(1))
    x = np.zeros((1, 6, 4), "float32")
    x[0, :3] = x[0, 3:] = rng.normal(size=(3, 4))
    allowed = np.zeros((1, 6, 6), "float32")
    allowed[0, :3, :3] = allowed[0, 3:, 3:] = 1
    out = layer(*[mx.nd.array(x)] * 3, mx.nd.array(allowed)).asnumpy()
    np.testing.assert_allclose(out[0, :3], out[0, 3:], rtol=1e-4, atol=1e-5)
    plain = nn.MultiHeadAttention(4, 2)
    plain.initialize()
    x = mx.nd.array(x[:, :3])
    plain(x)
    for name, each in plain._collect_params_with_prefix().items():
        each.set_data(layer._collect_params_with_prefix()[name].data())
    assert abs(plain(x).asnumpy() - out[:, :3]).max() > 1e-3


@pytest.mark.parametrize("hybrid", [False, True])
def test_sinusoidal(rng, hybrid):
    layer = nn.SinusoidalPosition(6, max_length=9)
    layer.initialize()
    if hybrid:
        layer.hybridize()
    x = rng.normal(size=(2, 9, 6))
    wanted = x.copy()
    for p in range(9):
        for i in range(3):
            angle = p / 10000 ** (2 * i / 6)
            wanted[:, p, 2 * i] += np.sin(angle)
            wanted[:, p, 2 * i + 1] += np.cos(angle)
    np.testing.assert_allclose(layer(mx.nd.array(x)).asnumpy(), wanted, rtol=1e-5, atol=1e-6)


def network():
    net = nn.HybridSequential()
    net.add(
        nn.Embedding(11, 8),
        nn.SinusoidalPosition(8, max_length=12),
        nn.TransformerEncoder(2, 8, 2, 16, causal=True, pre_norm=True, rotary=True),
        nn.Dense(11, flatten=False),
    )
    net.initialize()
    net.hybridize()
    return net


def test_a_network_is_exported_and_saved(tmp_path):
    net = network()
    tokens = mx.nd.array([[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]])
    out = net(tokens)
    net.export(str(tmp_path / "net"))
    names = str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    assert (mx.gluon.SymbolBlock.imports(*names)(tokens) == out).asnumpy().all()
    net.save_parameters(str(tmp_path / "params"))
    again = network()
    again.load_parameters(str(tmp_path / "params"))
    assert (again(tokens) == out).asnumpy().all()


def test_a_network_learns_to_repeat(rng, seed):
    """The next token is the one three places before: attention must find it."""
    net, loss = network(), mx.gluon.loss.SoftmaxCELoss()
    net.initialize(mx.init.Xavier(), force_reinit=True)
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    for _ in range(150):
        start = rng.integers(0, 11, (32, 3))
        tokens = mx.nd.array(np.tile(start, 4)[:, :9])
        with mx.autograd.record():
            error = loss(net(tokens[:, :-1])[:, 2:], tokens[:, 3:])
        error.backward()
        trainer.step(32)
    assert error.mean().asscalar() < 0.7


def test_what_is_refused():
    for make, told in (
        (lambda: nn.TransformerEncoderLayer(8, 2, 16, activation="tanh"), "activation"),
        (lambda: nn.TransformerEncoderLayer(8, 2, 0), "hidden_size"),
        (lambda: nn.TransformerEncoder(0, 8, 2, 16), "num_layers"),
        (lambda: nn.TransformerDecoderLayer(8, 3, 16), "num_heads"),
        (lambda: nn.RotaryPosition(5), "units must be even"),
        (lambda: nn.SinusoidalPosition(4, max_length=0), "max_length"),
        (lambda: nn.MultiHeadAttention(6, 2, rotary=True), "units must be even"),
    ):
        with pytest.raises(mx.errors.ArgumentError, match=told):
            make()
    layer = nn.SinusoidalPosition(4, max_length=3)
    layer.initialize()
    with pytest.raises(mx.MXNetError, match="slice_like"):
        layer(mx.nd.zeros((1, 4, 4))).wait_to_read()
