"""prepare_qat and convert: rounding against PyTorch, folded norms against NumPy, what int8 layers
and ONNX Runtime then give, accuracy."""

from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon
from cynet.contrib import quantization as tools
from cynet.contrib.quantization.fake import WEIGHT_OPERATOR
from cynet.gluon import nn
from tests.contrib.test_quantization import Block, lost, operators, symbol_of
from tests.contrib.test_quantized_networks import SHARED, Composed, Two, X, Y, ready, sequence
from tests.fixtures.torch_fake_quantize import CASES, FILTERS, batches, weight

WANTED = np.load(Path(__file__).parents[1] / "fixtures" / "torch_fake_quantize.npz")


def observe(net, *data):
    """Ranges of these data."""
    with autograd.train_mode():
        return net(*data)


# --- the operators --------------------------------------------------------------------------------
@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_ranges_values_and_gradients_are_those_of_pytorch(name, hybrid):
    bits, unsigned, share = CASES[name]
    block = tools.FakeQuantize(bits, "auto" if unsigned else "int8", share)
    block.initialize()
    if hybrid:
        block.hybridize()
    for i, (x, slope) in enumerate(zip(*batches(name))):
        x = mx.nd.array(x)
        x.attach_grad()
        with autograd.record():
            y = block(x)
        y.backward(mx.nd.array(slope))
        low, high = block.low.data().asscalar(), block.high.data().asscalar()
        np.testing.assert_allclose([low, high], WANTED[f"{name}/{i}/range"], 1e-6)
        np.testing.assert_allclose(y.asnumpy(), WANTED[f"{name}/{i}/out"], 1e-5, 1e-6)
        grads = np.stack([x.grad.asnumpy(), WANTED[f"{name}/{i}/grad"]])
        end = (
            abs(x.asnumpy()) > max(-low, high) * 0.9999
        )  # on a tie, where PyTorch's is 0 by chance
        ends = abs(x.asnumpy()) < max(-low, high) * 1.0001
        np.testing.assert_array_equal(*grads[:, ~(end & ends)])
        assert (grads[0][end & ends] != 0).all()
        same = block(x).asnumpy()  # prediction moves nothing
        np.testing.assert_array_equal(same, y.asnumpy())
        assert block.high.data().asscalar() == high


@pytest.mark.parametrize("bits", [8, 4, 2])
@pytest.mark.parametrize("name", FILTERS)
def test_weights_are_rounded_as_by_pytorch(name, bits):
    w = mx.nd.array(weight(name))
    w.attach_grad()
    with autograd.record():
        out = mx.nd.Custom(w, op_type=WEIGHT_OPERATOR, bits=bits)[0]
    out.backward()
    np.testing.assert_allclose(out.asnumpy(), WANTED[f"{name}/{bits}"], 1e-5, 1e-6)
    assert (w.grad.asnumpy() == 1).all()
    out = mx.nd.Custom(w, op_type=WEIGHT_OPERATOR, bits=bits, tensor_wise=True)[0]
    steps = np.unique(out.asnumpy())
    assert len(steps) <= 2**bits - 1


def test_an_observer_that_saw_nothing_takes_what_it_is_given():
    block = tools.FakeQuantize(2)
    block.initialize()
    x = mx.nd.array([0, 1.4, 3.5])
    assert block(x).asnumpy().tolist() == [0, 1, 3]
    assert block.seen.data().asscalar() == 0
    observe(block, mx.nd.zeros(3))
    assert block.seen.data().asscalar() == 1
    # a range without an extent reaches 1
    np.testing.assert_allclose(block(x).asnumpy(), [0, 6 / 7, 6 / 7], 1e-6)


# --- networks -------------------------------------------------------------------------------------
def in_numpy(net, x, bits):
    """What a Dense layer with a BatchNorm and relu, and another Dense, give in 64 bits."""
    p = {
        n: each.data().asnumpy().astype(float)
        for n, each in net._collect_params_with_prefix().items()
    }

    def rounded(x):
        signed, reach = x.min() < 0, abs(x).max()
        step = reach / (2 ** (bits - 1) - 0.5 if signed else 2**bits - 0.5)
        ends = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        steps = x.astype("f") / np.float32(step)  # the end of the range is on a tie
        return np.clip(np.rint(steps), *ends) * step

    def filters(w):
        step = abs(w).max(axis=1, keepdims=True) / (2 ** (bits - 1) - 1)
        return np.rint(w / step) * step

    gain = p["1.gamma"] / np.sqrt(p["1.running_var"] + 1e-5)
    bias = (p["0.bias"] - p["1.running_mean"]) * gain + p["1.beta"]
    hidden = np.maximum(rounded(x) @ filters(p["0.weight"] * gain[:, None]).T + bias, 0)
    return rounded(hidden) @ filters(p["3.weight"]).T + p["3.bias"]


def dense_net(rng, activation="relu"):
    layers = nn.Dense(16, prefix="a_"), nn.BatchNorm(prefix="n_"), nn.Dense(3, prefix="b_")
    net = sequence(*layers[:2], nn.Activation(activation, prefix="r_"), layers[2])
    x = mx.nd.array(rng.normal(size=(20, 6)))
    net, _ = ready(net, x)
    return net, x


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("bits", [8, 4, 3])
def test_a_network_rounds_as_numpy_does(rng, bits, hybrid):
    net, x = dense_net(rng)
    small = tools.prepare_qat(net, bits, bits)
    if hybrid:
        small.hybridize()
    observe(small, x)
    found, wanted = small(x).asnumpy(), in_numpy(net, x.asnumpy().astype(float), bits)
    # a number between two steps may go to either of them, and takes its row with it
    assert np.mean(abs(found - wanted) > 1e-4) < 0.35 and lost(found, wanted) < 0.15


def test_gradients_go_through_the_rounding(rng):
    """With 8 bits they are nearly those of the floats, of gamma and beta, too; the statistics of
    norms stay as they are. A unit of relu near 0 would be on in one network and off in the other,
    and its gradients another one's."""
    net, x = dense_net(rng, "softrelu")
    before = net[1].running_mean.data().asnumpy()
    small = tools.prepare_qat(net)
    grads = []
    for each in (net, small):
        each.hybridize()
        with autograd.record(train_mode=each is small):
            loss = (each(x) ** 2).sum()
        loss.backward()
        grads.append(
            {
                n: p.grad().asnumpy().copy()
                for n, p in net.collect_params().items()
                if p.grad_req != "null"
            }
        )
    for name, grad in grads[0].items():
        assert lost(grads[1][name], grad) < 0.1, name
    assert (net[1].running_mean.data().asnumpy() == before).all()
    assert {*small.collect_params()} - {*net.collect_params()} == {
        f"{name}_{end}" for name in small._plan["observed"] for end in ("low", "high", "seen")
    }


@pytest.fixture
def block(rng):
    data = mx.nd.array(rng.normal(size=(4, 8, 6, 6)))
    return ready(Block(), data)[0], data


@pytest.mark.parametrize("granularity", ["channel-wise", "tensor-wise"])
@pytest.mark.parametrize("weight_bits", [8, 4])
def test_int8_layers_give_what_training_saw(block, weight_bits, granularity):
    net, data = block
    rounded = tools.prepare_qat(net, weight_bits, quantize_granularity=granularity)
    rounded.hybridize()
    trainer = gluon.Trainer(rounded.collect_params(), "sgd", {"learning_rate": 0.01})
    for _ in range(3):
        with autograd.record():
            loss = (rounded(data) ** 2).sum()
        loss.backward()
        trainer.step(4)
    small = tools.convert(rounded)
    assert lost(small(data).asnumpy(), rounded(data).asnumpy()) < 0.01
    names = operators(symbol_of(small))
    assert names.count("_int8_convolution") == 2 and "BatchNorm" not in names
    for name, each in small.collect_params().items():
        if name.endswith("weight_quantize"):
            assert abs(each.data().asnumpy().astype(int)).max() == 2 ** (weight_bits - 1) - 1
    if weight_bits == 8:
        naive = tools.quantize_net(net, calib_mode="naive", calib_data=[data])
        assert operators(symbol_of(naive)) == names


@pytest.mark.parametrize("kind", SHARED)
def test_a_layer_that_is_called_twice(kind):
    mx.random.seed(3)
    compute, children, shape, weights = SHARED[kind]
    data = mx.nd.random.normal(shape=shape)
    net, wanted = ready(Composed(compute, **{k: make() for k, make in children.items()}), data)
    rounded = tools.prepare_qat(net, averaging=1.0)
    for hybrid in (False, True):
        rounded.hybridize(hybrid)
        for _ in range(2):  # a range of two calls is that of the last one, which 1.0 takes over
            observe(rounded, data)
    wide = {name: max(map(abs, ends)) for name, ends in rounded.limits().items()}
    assert len(wide) == len({*wide}) >= 1
    assert lost(rounded(data).asnumpy(), wanted.asnumpy()) < 0.2
    small = tools.convert(rounded)
    assert lost(small(data).asnumpy(), rounded(data).asnumpy()) < 0.03
    assert sum(n.endswith("_weight_quantize") for n in small.collect_params()) == weights


def test_two_inputs():
    x, y = mx.nd.array(X), mx.nd.array(Y)
    net, wanted = ready(Two(), x, y)
    rounded = tools.prepare_qat(net)
    observe(rounded, x, y)
    small = tools.convert(rounded)
    assert lost(rounded(x, y).asnumpy(), wanted.asnumpy()) < 0.03
    assert lost(small(x, y).asnumpy(), rounded(x, y).asnumpy()) < 0.01
    assert operators(symbol_of(small, "data0", "data1")).count("_int8_fully_connected") == 2


def test_nothing_to_quantize():
    net, wanted = ready(Composed(lambda net, F, x: F.tanh(x) * 2), mx.nd.array(X))
    rounded = tools.prepare_qat(net)
    small = tools.convert(rounded)
    for each in (rounded, small):
        np.testing.assert_array_equal(each(mx.nd.array(X)).asnumpy(), wanted.asnumpy())
    assert not rounded.limits()


def test_what_is_excluded_stays(rng):
    net, x = dense_net(rng)
    first = net[0].name + "_fwd"
    for options in ({"exclude_layers": [first]}, {"exclude_layers_match": [f"^{net[0].name}"]}):
        rounded = tools.prepare_qat(net, **options)
        observe(rounded, x)
        names = operators(symbol_of(tools.convert(rounded)))
        assert names.count("FullyConnected") == names.count("_int8_fully_connected") == 1
    rounded = tools.prepare_qat(net, exclude_operators=["FullyConnected"])
    assert operators(symbol_of(tools.convert(rounded))).count("FullyConnected") == 2


def test_files_go_on(rng, tmp_path):
    net, x = dense_net(rng)
    rounded = tools.prepare_qat(net, 4)
    observe(rounded, x)
    rounded.save_parameters(tmp_path / "rounded.params")
    other, _ = dense_net(rng)
    again = tools.prepare_qat(other, 4)
    again.load_parameters(tmp_path / "rounded.params")
    np.testing.assert_array_equal(again(x).asnumpy(), rounded(x).asnumpy())
    small = tools.convert(again)
    small.hybridize()
    wanted = small(x).asnumpy()
    small.export(str(tmp_path / "net"))
    read = gluon.SymbolBlock.imports(
        str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    )
    np.testing.assert_array_equal(read(x).asnumpy(), wanted)


@pytest.mark.parametrize("weight_bits", [8, 4])
def test_onnx_runtime_agrees(block, weight_bits, tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    net, data = block
    rounded = tools.prepare_qat(net, weight_bits)
    observe(rounded, data)
    small = tools.convert(rounded)
    small.hybridize()
    wanted = small(data).asnumpy()
    small.export(str(tmp_path / "net"))
    files = [str(tmp_path / f"net-{end}") for end in ("symbol.json", "0000.params")]
    path = mx.onnx.export_model(*files, [data.shape], onnx_file_path=str(tmp_path / "net.onnx"))
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    assert any(n.op_type == "QuantizeLinear" for n in __import__("onnx").load(path).graph.node)
    (found,) = session.run(None, {session.get_inputs()[0].name: data.asnumpy()})
    assert lost(found, wanted) < 0.01
    assert lost(wanted, rounded(data).asnumpy()) < 0.01


def test_training_wins_back_what_few_bits_lose():
    """Points inside of a circle: with weights of 2 bits a third of what floats know is lost."""
    mx.random.seed(0)
    np.random.seed(0)
    points = np.random.default_rng(0).uniform(-1, 1, size=(600, 2))
    labels = (points**2).sum(1) < 0.6
    x, y = mx.nd.array(points), mx.nd.array(labels.astype(float))
    net = sequence(nn.Dense(24, activation="relu"), nn.Dense(24, activation="relu"), nn.Dense(2))
    net.initialize(mx.init.Xavier())
    loss = gluon.loss.SoftmaxCrossEntropyLoss()

    def train(net, steps, rate):
        net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": rate})
        for _ in range(steps):
            with autograd.record():
                each = loss(net(x), y)
            each.backward()
            trainer.step(len(points))

    def right(net):
        return (net(x).asnumpy().argmax(1) == labels).mean()

    train(net, 300, 0.02)
    assert right(net) > 0.98
    rounded = tools.prepare_qat(net, 2, 6)
    observe(rounded, x)
    assert right(rounded) < 0.93
    train(rounded, 200, 0.01)
    assert right(rounded) > 0.95


def test_what_is_refused(rng):
    net, x = dense_net(rng)
    for bits in (1, 9, 4.0, True):
        with pytest.raises(ValueError, match="prepare_qat: weight_bits must be from 2 to 8, got"):
            tools.prepare_qat(net, bits)
        with pytest.raises(ValueError, match="prepare_qat: activation_bits must be from 2 to 8"):
            tools.prepare_qat(net, 8, bits)
    for share in (0, 1.5, True, "a"):
        with pytest.raises(ValueError, match="averaging must be above 0 and at most 1, got"):
            tools.prepare_qat(net, averaging=share)
    with pytest.raises(ValueError, match="quantize_granularity is 'row', expected channel-wise"):
        tools.prepare_qat(net, quantize_granularity="row")
    with pytest.raises(ValueError, match="expected names of the symbol's nodes, got 'nope'"):
        tools.prepare_qat(net, exclude_layers=["nope"])
    with pytest.raises(TypeError, match="prepare_qat takes a HybridBlock, got 3"):
        tools.prepare_qat(3)
    with pytest.raises(TypeError, match="convert takes what prepare_qat gave, got"):
        tools.convert(net)
    with pytest.raises(RuntimeError, match="the range of data was not observed; train"):
        tools.convert(tools.prepare_qat(net))
    narrow = tools.prepare_qat(net, 4, 4)
    observe(narrow, x)
    with pytest.raises(ValueError, match="the activations have 4 bits, and int8 layers have 8"):
        tools.convert(narrow)
    with pytest.raises(TypeError, match="dtype is 'int4', expected one of auto"):
        tools.FakeQuantize(4, "int4")
    with pytest.raises(ValueError, match="FakeQuantize: bits must be from 2 to 8, got 16"):
        tools.FakeQuantize(16)
