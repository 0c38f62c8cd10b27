"""Automatic mixed precision: converted graphs, hybridized Blocks, the scale of losses."""

import json

import numpy as np
import pytest

import cynet as mx
from cynet.contrib import amp
from cynet.gluon.block import hybridized


@pytest.fixture
def on(monkeypatch):
    """amp.init, taken back afterwards."""
    monkeypatch.setattr(hybridized, "_conversions", [])
    monkeypatch.setattr(amp.amp, "_amp_initialized", False)
    amp.init()


def small():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    net = mx.sym.Activation(net, act_type="relu", name="a")
    return mx.sym.softmax(net, name="sm") + mx.sym.exp(net, name="e")


def test_nodes_are_mxnets():
    """MXNet 1.9.1 converts this symbol to these nodes."""
    nodes = json.loads(amp.convert_symbol(small()).tojson(remove_amp_cast=False))["nodes"]
    assert [n["name"] for n in nodes[:-1]] == [
        "data", "data_amp_cast_float16", "fc_weight", "fc_weight_amp_cast_float16", "fc_bias",
        "fc_bias_amp_cast_float16", "fc", "a", "a_output_amp_cast_float32", "sm", "e",
    ]  # fmt: skip


def test_values_and_excluded_nodes():
    rng = np.random.default_rng(3)
    shapes = {"data": (4, 5), "fc_weight": (3, 5), "fc_bias": (3,)}
    arrays = {k: mx.nd.array(rng.standard_normal(s)) for k, s in shapes.items()}

    def run(symbol):
        return symbol.bind(mx.cpu(), dict(arrays)).forward()[0]

    plain, half = run(small()), run(amp.convert_symbol(small()))
    assert half.dtype == np.float32
    difference = np.abs(plain.asnumpy() - half.asnumpy()).max()
    assert 0 < difference < 0.05
    same = amp.convert_symbol(small(), excluded_sym_names=["fc"])
    np.testing.assert_array_equal(run(same).asnumpy(), plain.asnumpy())
    new, args, aux = amp.convert_model(small(), arrays, {}, cast_optional_params=True)
    assert args["fc_weight"].dtype == np.float16 and not aux
    got = new.bind(mx.cpu(), args).forward()[0]
    np.testing.assert_array_equal(got.asnumpy(), half.asnumpy())


def test_refusals():
    for options in (
        {"target_dtype": "bfloat16"},
        {"fp32_ops": ["bogus"]},
        {"target_dtype_ops": ["exp"], "fp32_ops": ["exp"]},
        {"excluded_sym_names": ["nobody"]},
    ):
        with pytest.raises(mx.MXNetError, match="amp"):
            amp.convert_symbol(small(), **options)
    net = mx.gluon.nn.Dense(1, in_units=1)
    with pytest.raises(mx.MXNetError, match="no graph"):
        amp.convert_hybrid_block(net)


def test_lists_are_apart():
    lists = [amp.list_lp16_ops(), amp.list_fp32_ops(), amp.list_widest_type_cast()]
    lists.append(amp.list_lp16_fp32_ops())
    names = [name for each in lists for name in each]
    assert len(names) == len(set(names))
    assert {"Convolution", "softmax", "dot", "BatchNorm"} <= set(names)


def test_training(on):
    mx.random.seed(2)
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Conv2D(4, 3, in_channels=2), mx.gluon.nn.BatchNorm())
    net.add(mx.gluon.nn.Activation("relu"), mx.gluon.nn.Dense(3))
    net.initialize()
    net.hybridize()
    x, label = mx.nd.random.normal(shape=(2, 2, 6, 6)), mx.nd.array([0, 1])
    assert net(x).dtype == np.float16
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    with pytest.raises(mx.MXNetError, match="init_trainer"), amp.scale_loss(x, trainer):
        pass
    amp.init_trainer(trainer)
    loss_of, losses = mx.gluon.loss.SoftmaxCELoss(), []
    for _ in range(8):
        with mx.autograd.record():
            loss = loss_of(net(x), label)
            with amp.scale_loss(loss, trainer) as scaled:
                scaled.backward()
        trainer.step(2)
        losses.append(float(loss.mean().asscalar()))
    assert losses[-1] < losses[0] / 2
    converted = amp.convert_hybrid_block(net)
    np.testing.assert_allclose(converted(x).asnumpy(), net(x).asnumpy(), 1e-2, 1e-2)


def test_overflow_leaves_weights_alone(on):
    net = mx.gluon.nn.Dense(1, in_units=2)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    amp.init_trainer(trainer)
    before = net.weight.data().asnumpy()
    for bad in (np.inf, np.nan):
        with mx.autograd.record():
            loss = net(mx.nd.ones((1, 2)))
            with amp.scale_loss(loss, trainer) as scaled:
                scaled.backward()
        net.weight.grad()[:] = bad
        trainer.step(1)
    np.testing.assert_array_equal(net.weight.data().asnumpy(), before)
    assert trainer._amp_loss_scaler.loss_scale == 2.0**14
    with mx.autograd.record():
        loss = net(mx.nd.ones((1, 2)))
        with amp.scale_loss([loss], trainer) as scaled:
            mx.autograd.backward(scaled)
    assert net.weight.grad().asnumpy().tolist() == [[2.0**14] * 2]
    amp.unscale(trainer)
    assert net.weight.grad().asnumpy().tolist() == [[1, 1]]
    trainer.step(1)
    np.testing.assert_allclose(net.weight.data().asnumpy(), before - 0.1, 1e-6)


def test_init_trainer_wants_init(monkeypatch):
    monkeypatch.setattr(amp.amp, "_amp_initialized", False)
    net = mx.gluon.nn.Dense(1, in_units=2)
    net.initialize()
    with pytest.raises(mx.MXNetError, match=r"amp\.init"):
        amp.init_trainer(mx.gluon.Trainer(net.collect_params(), "sgd"))


def test_the_scaler_by_itself():
    """Figures of MXNet 1.9.1's, whose new scale holds one call later."""
    scaler = mx.contrib.amp.loss_scaler.LossScaler()
    weight = mx.gluon.Parameter("w", shape=(2,))
    weight.initialize()
    assert scaler.loss_scale == 65536
    for factor, overflow, scale in ((np.inf, True, 32768), (2.0, False, 32768)):
        with mx.autograd.record():
            loss = (weight.data() * factor).sum()
        loss.backward()
        assert (scaler.has_overflow([weight]), scaler.loss_scale) == (overflow, scale)
    for _ in range(1999):
        scaler.has_overflow([])
    assert scaler.loss_scale == 65536


def test_buckets(rng):
    def sym_gen(length):
        net = mx.sym.Reshape(mx.sym.sum(mx.sym.var("data"), axis=1), shape=(-1, 3))
        net = mx.sym.FullyConnected(net, num_hidden=2, name="fc")
        return mx.sym.SoftmaxOutput(net, name="softmax"), ("data",), ("softmax_label",)

    plain = mx.mod.BucketingModule(sym_gen, default_bucket_key=5)
    plain.bind([("data", (4, 5, 3))], [("softmax_label", (4,))])
    plain.init_params(mx.init.Uniform(1))
    half = amp.amp.convert_bucketing_module(plain, cast_optional_params=True)
    half.bind([("data", (4, 5, 3))], [("softmax_label", (4,))], for_training=False)
    weights = [module.get_params()[0]["fc_weight"].asnumpy() for module in (plain, half)]
    np.testing.assert_array_equal(weights[1], weights[0].astype("float16"))
    for length in (5, 2):
        batch = mx.io.DataBatch(
            [mx.nd.array(rng.normal(size=(4, length, 3)))],
            [mx.nd.zeros(4)],
            bucket_key=length,
            provide_data=[("data", (4, length, 3))],
            provide_label=[("softmax_label", (4,))],
        )
        outputs = []
        for module in (plain, half):
            module.forward(batch, is_train=False)
            outputs.append(module.get_outputs()[0].asnumpy())
        np.testing.assert_allclose(outputs[1], outputs[0], rtol=1e-2, atol=1e-3)
        assert (outputs[0] != outputs[1]).any()
    assert "amp_cast" in half.symbol.tojson(remove_amp_cast=False)
    with pytest.raises(mx.base.MXNetError, match="takes a BucketingModule, got"):
        amp.convert_bucketing_module(sym_gen)
