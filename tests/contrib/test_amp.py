"""Automatic mixed precision: converted graphs, hybridized Blocks, the scale of losses."""

import json
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.contrib import amp
from cynet.gluon.block import graph
from cynet.operator import OPERATORS
from tests.fixtures.amp_networks import layers, small

MXNETS = json.loads(Path(__file__).parent.parent.joinpath("fixtures", "amp.json").read_text())


def test_lists_under_mxnets_names():
    from cynet.contrib.amp.lists import symbol_bf16, symbol_fp16

    assert amp.list_lp16_ops() == symbol_fp16.FP16_FUNCS
    assert "softmax" in symbol_fp16.FP32_FUNCS and "relu" in symbol_bf16.BF16_FP32_FUNCS
    assert "BatchNorm" in symbol_bf16.BF16_USE_FP32_PARAMS
    symbol_fp16.FP16_FUNCS.append("x")  # a copy
    try:
        assert "x" not in amp.list_lp16_ops()
    finally:
        symbol_fp16.FP16_FUNCS.remove("x")


@pytest.fixture
def on(monkeypatch):
    """amp.init, taken back afterwards."""
    monkeypatch.setattr(graph, "_graph_converters", [])
    monkeypatch.setattr(amp.amp, "_amp_initialized", False)
    amp.init()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("make", [small, layers])
def test_nodes_are_mxnets(make, dtype):
    """Names and inputs; an output without a name of its own is called 0 there."""
    made = amp.convert_symbol(make(mx), dtype).tojson(remove_amp_cast=False)
    nodes = json.loads(made)["nodes"]
    found = [[n["name"], [nodes[at]["name"] for at, *_ in n["inputs"]]] for n in nodes]
    wanted = json.dumps(MXNETS["nodes"][f"{make.__name__} {dtype}"]).replace("f_0_", "f_output_")
    wanted = json.loads(wanted)
    if make is small:  # the sum has a number in its name
        assert found.pop()[1] == wanted.pop()[1]
    assert found == wanted


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_lists_are_mxnets(dtype):
    """Each operator that MXNet lists and cynet has is in the list of that name, or, where MXNet has
    it in two, in the other one."""
    lists = MXNETS["lists"]
    kinds = ["lp16_ops", "fp32_ops", "lp16_fp32_ops", "widest_type_cast"]
    ours = {kind: set(getattr(amp, f"list_{kind}")(dtype)) for kind in kinds}
    theirs = {
        kind: {OPERATORS.get(n).name for n in lists[f"list_{kind}"][dtype] if n in OPERATORS}
        for kind in kinds
    }
    inserted = {"amp_cast", "amp_multicast"}  # what conversion makes
    for kind in kinds:
        elsewhere = set().union(*(theirs[other] for other in kinds if other != kind))
        assert theirs[kind] - ours[kind] - inserted <= elsewhere, kind
    for name in ("conditional_fp32_ops", "loss_output_functions"):
        found = json.loads(json.dumps(getattr(amp, f"list_{name}")(dtype)))
        assert found == sorted(lists[f"list_{name}"][dtype])
    beside = amp.list_lp16_use_fp32_params(dtype)
    theirs = lists["list_lp16_use_fp32_params"][dtype]
    assert beside is theirs is None or list(beside.values()) == list(theirs.values())


def test_bfloat16_training():
    """LeNet's layers and a residual block in bfloat16 reach float32's loss."""

    def losses(dtype):
        mx.random.seed(3)
        net = mx.gluon.nn.HybridSequential()
        net.add(mx.gluon.nn.Conv2D(8, 3, in_channels=1, activation="relu"))
        net.add(mx.gluon.nn.BatchNorm(), mx.gluon.nn.MaxPool2D())
        net.add(mx.gluon.model_zoo.vision.BasicBlockV1(8, 1, in_channels=8))
        net.add(mx.gluon.nn.Dense(16, activation="tanh"), mx.gluon.nn.Dense(2))
        net.initialize(mx.init.Xavier())
        net.hybridize()
        rng = np.random.default_rng(0)
        y = rng.integers(0, 2, 32)
        x = mx.nd.array(rng.standard_normal((32, 1, 10, 10)) + y[:, None, None, None])
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
        loss_of, found = mx.gluon.loss.SoftmaxCELoss(), []
        for _ in range(12):
            with mx.autograd.record():
                out = net(x)
                loss = loss_of(out.astype("float32"), mx.nd.array(y))
            loss.backward()
            trainer.step(32)
            found.append(loss.mean().asscalar())
        assert mx.base.dtype.name_of(out.dtype) == dtype
        assert {p.data().dtype for p in net.collect_params().values()} == {np.float32}
        return np.array(found)

    plain = losses("float32")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph, "_graph_converters", [])
        patch.setattr(amp.amp, "_amp_initialized", False)
        amp.init("bfloat16")
        narrow = losses("bfloat16")
    np.testing.assert_allclose(narrow, plain, rtol=0.05, atol=0.01)
    assert (narrow != plain).any() and narrow[-1] < narrow[0] / 3


def test_values_and_excluded_nodes():
    rng = np.random.default_rng(3)
    shapes = {"data": (4, 5), "fc_weight": (3, 5), "fc_bias": (3,)}
    arrays = {k: mx.nd.array(rng.standard_normal(s)) for k, s in shapes.items()}

    def run(symbol):
        return symbol.bind(mx.cpu(), dict(arrays)).forward()[0]

    plain, half = run(small(mx)), run(amp.convert_symbol(small(mx)))
    assert half.dtype == np.float32
    difference = np.abs(plain.asnumpy() - half.asnumpy()).max()
    assert 0 < difference < 0.05
    same = amp.convert_symbol(small(mx), excluded_sym_names=["fc"])
    np.testing.assert_array_equal(run(same).asnumpy(), plain.asnumpy())
    low = run(amp.convert_symbol(small(mx), "bfloat16")).asnumpy()
    assert difference < np.abs(plain.asnumpy() - low).max() < 0.1
    stored = amp.convert_model(small(mx), arrays, {}, "bfloat16", cast_optional_params=True)[1]
    assert mx.base.dtype.name_of(stored["fc_weight"].dtype) == "bfloat16"
    new, args, aux = amp.convert_model(small(mx), arrays, {}, cast_optional_params=True)
    assert args["fc_weight"].dtype == np.float16 and not aux
    got = new.bind(mx.cpu(), args).forward()[0]
    np.testing.assert_array_equal(got.asnumpy(), half.asnumpy())


def test_refusals():
    for options in (
        {"target_dtype": "float64"},
        {"target_dtype": None},
        {"fp32_ops": ["bogus"]},
        {"target_dtype_ops": ["exp"], "fp32_ops": ["exp"]},
        {"excluded_sym_names": ["nobody"]},
    ):
        with pytest.raises(mx.MXNetError, match="amp"):
            amp.convert_symbol(small(mx), **options)
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


def test_a_loss_that_is_a_graph_of_its_own(on):
    """It gets float16 from the network, and labels in float32 or as ints."""
    net = mx.gluon.nn.Dense(3, in_units=2)
    net.initialize(mx.init.One())
    net.hybridize()
    x = mx.nd.array([[1, 2], [3, 4]])
    scores = net(x)
    assert scores.dtype == np.float16
    squares = mx.gluon.loss.L2Loss()
    squares.hybridize()
    expected = ((scores.asnumpy().astype("f") - 1) ** 2 / 2).mean(1)
    np.testing.assert_allclose(squares(scores, mx.nd.ones((2, 3))).asnumpy(), expected, 1e-3)
    entropy = mx.gluon.loss.SoftmaxCELoss()
    entropy.hybridize()
    for dtype in ("float32", "int32"):
        found = entropy(scores, mx.nd.array([0, 2], dtype=dtype)).asnumpy()
        np.testing.assert_allclose(found, [np.log(3)] * 2, 1e-3)


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
