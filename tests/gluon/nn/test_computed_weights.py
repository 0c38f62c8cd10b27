"""WeightNorm, SpectralNorm and WeightDrop: against PyTorch, hybridized, in files, refused."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd
from cynet.gluon import nn
from tests.fixtures.torch_weights import LAYERS, NORMS, RATE, SPECTRA, STEPS, data

WANTED = np.load(Path(__file__).parents[2] / "fixtures" / "torch_weights.npz")
WRAPPERS = (nn.WeightNorm, nn.SpectralNorm, nn.WeightDrop)


def made(layer, deferred=False):
    """A layer of the fixture, without values."""
    weight, _, _ = data(layer)
    if layer == "dense":
        return nn.Dense(5, in_units=0 if deferred else 4)
    turned = layer == "transposed"
    kind = nn.Conv2DTranspose if turned else nn.Conv2D
    inputs = 0 if deferred else weight.shape[not turned]
    return kind(weight.shape[turned], weight.shape[2:], in_channels=inputs)


def trained(net, layer, hybrid, module=False):
    """What it predicts behind some steps."""
    x = nd.array(data(layer)[2])
    if hybrid:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": RATE})
    for _ in range(STEPS):
        with autograd.record():
            loss = (net(x) ** 2).mean()
        loss.backward()
        trainer.step(1)
    return net(x).asnumpy()


def fill(layer, name):
    weight, bias, _ = data(name)
    layer.weight.set_data(nd.array(weight))
    layer.bias.set_data(nd.array(bias))


def same(array, key, rtol=1e-4, atol=1e-4):
    np.testing.assert_allclose(array, WANTED[key], rtol, atol)


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("case", NORMS)
@pytest.mark.parametrize("layer", LAYERS)
def test_weight_norm_trains_as_in_pytorch(layer, case, hybrid):
    net = nn.WeightNorm(made(layer), **NORMS[case])
    weight, bias, _ = data(layer)
    inits = {"weight": mx.init.Constant(nd.array(weight)), "bias": mx.init.Constant(nd.array(bias))}
    for name, init in inits.items():
        getattr(net.layer, name).init = init
    net.initialize()
    out = trained(net, layer, hybrid)  # g began as the norm of the weight
    key = f"norm/{layer}/{case}"
    same(out, f"{key}/out")
    same(net.layer.weight.data().asnumpy(), f"{key}/v")
    same(net.layer.weight_g.data().asnumpy().ravel(), f"{key}/g") if case == "all" else same(
        net.layer.weight_g.data().asnumpy(), f"{key}/g"
    )


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("case", SPECTRA)
@pytest.mark.parametrize("layer", LAYERS)
def test_spectral_norm_trains_as_in_pytorch(layer, case, hybrid):
    net = nn.SpectralNorm(made(layer), **SPECTRA[case])
    net.initialize()
    fill(net.layer, layer)
    key = f"spectral/{layer}/{case}"
    for name in "uv":
        getattr(net.layer, f"weight_{name}").set_data(nd.array(WANTED[f"{key}/{name}0"]))
    same(trained(net, layer, hybrid), f"{key}/out", 1e-3, 1e-3)
    same(net.layer.weight.data().asnumpy(), f"{key}/w", 1e-3, 1e-3)
    for name in "uv":
        same(getattr(net.layer, f"weight_{name}").data().asnumpy(), f"{key}/{name}", 1e-3, 1e-3)


def test_spectral_norm_divides_by_the_largest_singular_value(rng):
    net = nn.SpectralNorm(nn.Dense(6, in_units=4, use_bias=False), n_power_iterations=200)
    weight = rng.normal(size=(6, 4)).astype("f")
    net.initialize(mx.init.Constant(nd.array(weight)))
    x = nd.array(np.eye(4))
    with autograd.record():
        net(x)
    out = net(x).asnumpy().T
    wanted = weight / np.linalg.svd(weight, compute_uv=False)[0]
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("layer", LAYERS)
def test_shapes_that_the_first_batch_tells(layer, wrapper, hybrid, tmp_path):
    """And files, copies and pickles of what it gives."""
    net = nn.HybridSequential()
    net.add(wrapper(made(layer, deferred=True)), nn.Activation("tanh"))
    net.initialize()
    if hybrid:
        net.hybridize()
    x = nd.array(data(layer)[2])
    with autograd.record():
        net(x).sum().backward()
    wanted = net(x).asnumpy()
    net.save_parameters(tmp_path / "net.params")
    again = nn.HybridSequential()
    again.add(wrapper(made(layer, deferred=True)), nn.Activation("tanh"))
    again.load_parameters(tmp_path / "net.params")
    for each in (again, copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        np.testing.assert_allclose(each(x).asnumpy(), wanted, 1e-5, 1e-6)
    if hybrid:
        net.export(str(tmp_path / "net"))
        files = [str(tmp_path / f"net-{end}") for end in ("symbol.json", "0000.params")]
        read = gluon.SymbolBlock.imports(files[0], "data", files[1])
        np.testing.assert_allclose(read(x).asnumpy(), wanted, 1e-5, 1e-6)
    module = mx.mod.Module(net(mx.sym.var("data")), label_names=None)
    module.bind([("data", x.shape)], for_training=False)
    params = {each.name: each.data() for each in net.collect_params().values()}
    module.init_params(arg_params=params, aux_params=params, allow_extra=True)
    module.forward(mx.io.DataBatch([x]), is_train=False)
    np.testing.assert_allclose(module.get_outputs()[0].asnumpy(), wanted, 1e-5, 1e-6)
    layer = net[0].remove()
    np.testing.assert_allclose(nd.tanh(layer(x)).asnumpy(), wanted, 1e-5, 1e-6)
    assert {*layer._collect_params_with_prefix()} == {"weight", "bias"}


def test_weight_drop_of_a_dense_layer(rng):
    net = nn.WeightDrop(nn.Dense(40, in_units=50, use_bias=False), 0.25)
    weight = rng.normal(size=(40, 50)).astype("f")
    net.initialize(mx.init.Constant(nd.array(weight)))
    masks = []
    for _ in range(2):
        with autograd.record():
            out = net(nd.array(np.eye(50)))
        out.backward()
        used = out.asnumpy().T
        kept = used != 0
        np.testing.assert_allclose(used[kept], weight[kept] / 0.75, 1e-5)
        assert 0.68 < kept.mean() < 0.82
        np.testing.assert_allclose(net.layer.weight.grad().asnumpy(), kept / np.float32(0.75), 1e-5)
        masks.append(kept)
    assert (masks[0] != masks[1]).any()
    np.testing.assert_allclose(net(nd.array(np.eye(50))).asnumpy().T, weight, 1e-6)
    rows = nn.WeightDrop(net.remove(), 0.5, axes=(1,))
    with autograd.record():
        used = rows(nd.array(np.eye(50))).asnumpy().T
    assert {*(used != 0).mean(1)} == {0.0, 1.0}  # whole rows


@pytest.mark.parametrize("hybrid", [False, True])
def test_weight_drop_of_an_lstm_holds_for_the_sequence(rng, hybrid):
    """A plain LSTM with the weights that are left, which gradients tell, gives the same."""
    settings = {"hidden_size": 6, "num_layers": 2, "input_size": 3}
    net, plain = nn.WeightDrop(gluon.rnn.LSTM(**settings), 0.4), gluon.rnn.LSTM(**settings)
    net.initialize(mx.init.Normal(0.5))
    plain.initialize()
    if hybrid:
        net.hybridize()
    x, states = nd.array(rng.normal(size=(5, 2, 3))), net.layer.begin_state(2)
    with autograd.record():
        out, _ = net(x, states)
    out.backward()
    for name, each in net.layer._reg_params.items():
        value = each.data().asnumpy()
        if name.endswith("h2h_weight"):
            kept = each.grad().asnumpy() != 0
            assert 0.2 < kept.mean() < 0.95
            value = np.where(kept, value / np.float32(0.6), 0)
        plain._reg_params[name].set_data(nd.array(value))
    np.testing.assert_allclose(plain(x).asnumpy(), out.asnumpy(), 1e-4, 1e-5)


def test_several_contexts_and_narrow_weights():
    for wrapper in (nn.WeightNorm, nn.SpectralNorm):
        net = wrapper(nn.Dense(3, in_units=4))
        net.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
        with autograd.record():
            outs = [net(nd.ones((2, 4), ctx=mx.cpu(i))) for i in range(2)]
        autograd.backward(outs)
        assert (outs[0].asnumpy() == outs[1].asnumpy()).all()
        net.cast("float16")
        assert net(nd.ones((2, 4), dtype="float16")).dtype == np.float16


def test_norms_follow_the_weight_when_it_is_drawn_again():
    net = nn.WeightNorm(nn.Dense(3, in_units=4))
    net.initialize(mx.init.One())
    assert net.layer.weight_g.data().asnumpy().tolist() == [[2]] * 3
    net.initialize(mx.init.Constant(2), force_reinit=True)
    assert net.layer.weight_g.data().asnumpy().tolist() == [[4]] * 3


class _Own(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.weight = self.params.get("weight", shape=(2, 2))

    def forward(self, x):
        return nd.dot(x, self.weight.data())


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_what_is_refused(wrapper):
    name = wrapper.__name__
    with pytest.raises(TypeError, match=f"{name} takes a layer, a HybridBlock, got 3"):
        wrapper(3)
    with pytest.raises(ValueError, match=f"{name}: .*_Own. has a forward of its own"):
        wrapper(_Own())
    with pytest.raises(
        ValueError, match=f"{name}: .* has no parameter '.*' of its own; it has none"
    ):
        wrapper(nn.Activation("relu"))
    with pytest.raises(
        ValueError, match="has no parameter 'w' of its own; it has 'weight', 'bias'"
    ):
        wrapper(nn.Dense(2), name="w")
    with pytest.raises(TypeError, match="the name of a parameter is a str, got 3"):
        wrapper(nn.Dense(2), name=3)
    layer = nn.Dense(2)
    wrapper(layer)
    with pytest.raises(AssertionError, match="are computed already"):
        wrapper(layer)
    with pytest.raises(ValueError, match="has a forward of its own"):
        wrapper(wrapper(nn.Dense(2)))


def test_settings_that_are_refused():
    for bad in (2, -3, True, 0.5):
        with pytest.raises(
            ValueError, match=r"dim must be one of the 2 axes of parameter '\w+_weight'"
        ):
            nn.WeightNorm(nn.Dense(2), dim=bad)
        with pytest.raises(ValueError, match="SpectralNorm: dim must be one of the 2 axes"):
            nn.SpectralNorm(nn.Dense(2), dim=bad)
    for bad in (0, True, 1.5):
        with pytest.raises(ValueError, match="n_power_iterations must be an int from 1 on"):
            nn.SpectralNorm(nn.Dense(2), n_power_iterations=bad)
    with pytest.raises(ValueError, match="has shape .2,., and a matrix has two axes"):
        nn.SpectralNorm(nn.Dense(2), name="bias")
    for bad in (-0.1, 1, True, "a"):
        with pytest.raises(ValueError, match="rate must be from 0 to below 1"):
            nn.WeightDrop(nn.Dense(2), bad)
    with pytest.raises(ValueError, match="WeightDrop: dim must be one of the 2 axes"):
        nn.WeightDrop(nn.Dense(2), axes=(2,))
    with pytest.raises(ValueError, match="WeightDrop: .* is a cell, each of whose steps"):
        nn.WeightDrop(gluon.rnn.LSTMCell(2))


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_penalty_on_the_slope_goes_through(wrapper, rng):
    """As in WGAN-GP; against a difference of the penalty."""
    net = nn.HybridSequential()
    net.add(wrapper(nn.Dense(4, activation="tanh", in_units=3)), nn.Dense(1, in_units=4))
    net.initialize(mx.init.Normal(0.5))
    if wrapper is nn.WeightDrop:
        net[0]._rule.rate = 0.0  # so that it can be computed again
    x = nd.array(rng.normal(size=(5, 3)))
    x.attach_grad()
    bias = net[0].layer.bias

    def penalty():
        with autograd.record(train_mode=False):
            (slope,) = autograd.grad(net(x), [x], create_graph=True, retain_graph=True)
            return ((nd.norm(slope, axis=1) - 1) ** 2).sum()

    penalty().backward()
    grad, before = bias.grad().asnumpy(), bias.data().asnumpy()
    for i in range(4):
        ends = []
        for sign in (1, -1):
            moved = before.copy()
            moved[i] += sign * 1e-2
            bias.set_data(nd.array(moved))
            ends.append(penalty().asscalar())
        np.testing.assert_allclose((ends[0] - ends[1]) / 2e-2, grad[i], 0.05, 2e-3)
