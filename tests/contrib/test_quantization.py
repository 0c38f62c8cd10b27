"""mx.contrib.quantization: graphs, calibration, networks, what they lose."""

import json
import logging

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError
from cynet.contrib import quantization as tools
from cynet.symbol.node import topological_order
from tests.quantized import conv, quantize_v2, rounded


def operators(symbol):
    return [node.op.name for node in topological_order(symbol.entries) if node.op is not None]


def lost(found, wanted):
    return np.sqrt(np.square(found - wanted).mean() / np.square(wanted).mean())


def small():
    """Convolution, relu, maxima, a linear map, softmax."""
    data = mx.sym.var("data")
    net = mx.sym.Convolution(data, kernel=(3, 3), num_filter=4, name="conv")
    net = mx.sym.Activation(net, act_type="relu", name="relu")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    net = mx.sym.FullyConnected(net, num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


@pytest.fixture
def trained(rng):
    shapes = {"conv_weight": (4, 2, 3, 3), "conv_bias": (4,), "fc_weight": (3, 36), "fc_bias": (3,)}
    args = {name: mx.nd.array(rng.normal(0, 0.2, shape)) for name, shape in shapes.items()}
    return small(), args, mx.nd.array(rng.normal(size=(5, 2, 8, 8)))


def predict(symbol, args, data, aux=None):
    module = mx.mod.Module(symbol)
    module.bind([("data", data.shape)], for_training=False)
    module.set_params(args, aux or {}, allow_extra=True)
    module.forward(mx.io.DataBatch([data]))
    return module.get_outputs()[0].asnumpy()


def test_a_module_computes_the_integer_arithmetic(trained):
    """Every step in NumPy, of the quantized parameters."""
    symbol, args, data = trained
    quantized, params, _ = tools.quantize_model(
        symbol,
        args,
        {},
        calib_mode="naive",
        calib_data=[data],
        quantized_dtype="auto",
        quantize_granularity="channel-wise",
    )
    made = predict(quantized, params, data)
    internals = symbol.get_internals()
    seen = internals["relu_output"].bind(mx.cpu(), {**args, "data": data}).forward()[0].asnumpy()
    x = data.asnumpy()
    given, most = np.abs(x).max(), seen.max()
    value = {name.removesuffix("_quantize"): v.asnumpy() for name, v in params.items()}
    image = quantize_v2(x, x.min(), x.max(), "int8")
    hidden = conv(image, value["conv_weight"]) * (given / 127.5)
    hidden = hidden * value["conv_scale"].reshape(-1, 1, 1) + value["conv_bias"].reshape(-1, 1, 1)
    hidden = rounded(np.maximum(hidden, 0) * (255.5 / most), "uint8").astype(int)
    hidden = hidden.reshape(5, 4, 3, 2, 3, 2).max((3, 5)).reshape(5, -1)
    out = hidden @ value["fc_weight"].T.astype(int) * (most / 255.5)
    out = out * value["fc_scale"] + value["fc_bias"]
    out = np.exp(out - out.max(1, keepdims=True))
    np.testing.assert_allclose(made, out / out.sum(1, keepdims=True), rtol=2e-3, atol=1e-5)
    assert operators(quantized) == [
        "_contrib_quantize_v2",
        "_int8_convolution",
        "_contrib_quantized_pooling",
        "_int8_fully_connected",
        "SoftmaxOutput",
    ]


def test_weights_have_a_step_for_each_filter_or_one(trained):
    symbol, args, _ = trained
    weight = args["conv_weight"].asnumpy()
    for granularity in ("channel-wise", "tensor-wise"):
        _, params, _ = tools.quantize_model(
            symbol, args, {}, calib_mode="none", quantize_granularity=granularity
        )
        made, step = params["conv_weight_quantize"], params["conv_scale_quantize"].asnumpy()
        assert made.dtype == np.int8 and np.abs(made.asnumpy()).max() == 127
        most = np.abs(weight).reshape(4, -1).max(1)
        most = most if granularity == "channel-wise" else np.full(4, most.max())
        np.testing.assert_allclose(step, most / 127, rtol=1e-6)
        back = made.asnumpy() * step.reshape(-1, 1, 1, 1)
        assert np.abs(back - weight).max() <= step.max() * 0.5001


@pytest.mark.parametrize("mode", ["none", "naive", "entropy"])
@pytest.mark.parametrize("dtype", ["auto", "int8"])
def test_calibration(trained, mode, dtype, rng):
    symbol, args, data = trained
    many = mx.nd.array(rng.normal(size=(600, 2, 8, 8)))  # a histogram has 8001 bins
    quantized, params, _ = tools.quantize_model(
        symbol, args, {}, calib_mode=mode, calib_data=[data, many], quantized_dtype=dtype
    )
    difference = np.abs(predict(quantized, params, data) - predict(symbol, args, data)).max()
    assert difference < (0.25 if mode == "entropy" else 0.12)
    loaded = mx.sym.load_json(quantized.tojson())
    np.testing.assert_array_equal(predict(loaded, params, data), predict(quantized, params, data))


def test_a_checkpoint_of_a_quantized_network(trained, tmp_path):
    symbol, args, data = trained
    quantized, params, aux = tools.quantize_model(
        symbol, args, {}, calib_mode="naive", calib_data=[data]
    )
    mx.model.save_checkpoint(str(tmp_path / "net"), 1, quantized, params, aux)
    loaded, read, _ = mx.model.load_checkpoint(str(tmp_path / "net"), 1)
    np.testing.assert_array_equal(predict(loaded, read, data), predict(quantized, params, data))


def test_what_is_excluded_stays(trained):
    symbol, args, data = trained
    for more, kept in (
        ({"excluded_sym_names": ["conv"]}, "Convolution"),
        ({"excluded_op_names": ["FullyConnected"]}, "FullyConnected"),
    ):
        quantized, params, _ = tools.quantize_model(
            symbol, args, {}, calib_mode="naive", calib_data=[data], **more
        )
        assert kept in operators(quantized) and "fc_weight" in {**params, "fc_weight": 0}
        difference = np.abs(predict(quantized, params, data) - predict(symbol, args, data))
        assert difference.max() < 0.12


def test_a_collector_as_a_monitor(trained):
    """quantize_graph, a monitor on the float network, calib_graph: as quantize_model does it."""
    symbol, args, data = trained
    made, params, aux, collector = tools.quantize_graph(symbol, args, {}, calib_mode="naive")
    assert set(collector.include_layer) == {"data", "relu_output"}
    module = mx.mod.Module(symbol)
    module.bind([("data", data.shape)], for_training=False)
    module.set_params(args, {})
    with pytest.raises(ArgumentError, match="did not see data, relu_output"):
        tools.calib_graph(made, params, aux, collector, calib_mode="naive")
    module._exec_group.execs[0].set_monitor_callback(collector.collect, monitor_all=True)
    module.forward(mx.io.DataBatch([data]))
    collector.collect("data", data)
    found, params, _ = tools.calib_graph(made, params, aux, collector, calib_mode="naive")
    wanted, _, _ = tools.quantize_model(symbol, args, {}, calib_mode="naive", calib_data=[data])
    # another plan computed these limits: they may differ by roundings
    made, wanted = (predict(each, params, data) for each in (found, wanted))
    np.testing.assert_allclose(made, wanted, atol=5e-3)


def test_a_layer_read_in_8_bits_and_as_a_float(rng):
    """Once calibrated it gives 8 bits: a float reader and a head get them as floats, made once."""
    first = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="first")
    second = mx.sym.FullyConnected(first, num_hidden=4, name="second")
    symbol = mx.sym.Group([second + mx.sym.tanh(first), first])
    args = {
        name: mx.nd.array(rng.uniform(-1, 1, shape))
        for name, shape in zip(symbol.list_arguments(), symbol.infer_shape(data=(8, 6))[0])
        if name != "data"
    }
    data = mx.nd.array(rng.uniform(-1, 1, (8, 6)))
    found, params, _ = tools.quantize_model(symbol, args, {}, calib_mode="naive", calib_data=[data])
    names = [node["name"] for node in json.loads(found.tojson())["nodes"]]
    assert len([each for each in names if each.endswith("first_dequantize")]) == 1

    def computed(network, parameters):
        bound = network.bind(mx.cpu(), {**parameters, "data": data}, grad_req="null")
        return [each.asnumpy() for each in bound.forward(is_train=False)]

    for made, exact in zip(computed(found, params), computed(symbol, args)):
        assert np.abs(made - exact).max() < 0.05


def test_an_own_collector(trained):
    symbol, args, _ = trained

    class Fixed(tools.CalibrationCollector):
        def collect(self, name, arr):
            pass

        def post_collect(self):
            return dict.fromkeys(self.include_layer, (0.0, 4.0))

    *made, collector = tools.quantize_graph(
        symbol, args, {}, calib_mode="custom", quantized_dtype="auto", LayerOutputCollector=Fixed()
    )
    found, *_ = tools.calib_graph(*made, collector, calib_mode="custom", quantized_dtype="auto")
    first = next(
        n
        for n in topological_order(found.entries)
        if n.op is not None and n.op.name == "_contrib_quantize_v2"
    )
    assert (first.prop.min_calib_range, first.prop.max_calib_range) == (0.0, 4.0)


def test_histograms_add_up(rng):
    collector = tools.LayerHistogramCollector(num_bins=101)
    parts = [rng.normal(size=(40, 5)), 3 * rng.normal(size=300), rng.normal(size=10)]
    for part in parts:
        collector.collect("x", mx.nd.array(part))
    counts, edges, low, high, most = collector.hist_dict["x"]
    values = np.concatenate([p.ravel() for p in parts]).astype("float32")
    assert counts.sum() == values.size and len(edges) == len(counts) + 1 and len(counts) % 2
    assert (low, high) == (values.min(), values.max()) and most >= np.abs(values).max()
    np.testing.assert_array_equal(np.histogram(values[:200], edges)[0].sum(), 200)
    (limits,) = collector.post_collect().values()
    assert 0 < limits[1] == -limits[0] <= most * 1.000001


class Block(mx.gluon.nn.HybridBlock):
    """A residual block with BatchNorm, and relu6 behind it."""

    def __init__(self):
        super().__init__()
        nn = mx.gluon.nn
        self.first, self.norm = nn.Conv2D(8, 3, padding=1), nn.BatchNorm()
        self.second, self.other = nn.Conv2D(8, 3, padding=1, groups=8), nn.BatchNorm()

    def hybrid_forward(self, F, x):
        hidden = F.relu(self.norm(self.first(x)))
        hidden = F.clip(self.other(self.second(hidden)) + x, 0, 6)
        return F.softmax(F.mean(hidden, axis=(2, 3)))


@pytest.fixture
def block(rng):
    net = Block()
    net.initialize(mx.init.Xavier())
    data = mx.nd.array(rng.normal(size=(4, 8, 6, 6)))
    for _ in range(20):
        with mx.autograd.record():
            net(data)
    return net, data


def symbol_of(block, *names):
    return block(*(mx.sym.var(name) for name in names or ("data",)))


@pytest.mark.parametrize("hybridized", [False, True])
def test_norms_sums_and_bounds_are_folded(block, hybridized):
    net, data = block
    wanted = net(data).asnumpy()
    made = tools.quantize_net(net, calib_mode="naive", calib_data=[data])
    if hybridized:
        made.hybridize()
    assert lost(made(data).asnumpy(), wanted) < 0.02
    names = operators(symbol_of(made))
    assert names.count("_int8_convolution") == 2
    assert not {"BatchNorm", "relu", "clip", "broadcast_add", "elemwise_add"} & set(names)
    np.testing.assert_array_equal(net(data).asnumpy(), wanted)  # which stays as it was


def test_a_quantized_block_is_exported_and_read(block, tmp_path):
    net, data = block
    made = tools.quantize_net(net, calib_mode="naive", calib_data=[data])
    made.hybridize()
    wanted = made(data).asnumpy()
    made.export(str(tmp_path / "net"))
    read = mx.gluon.SymbolBlock.imports(
        str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    )
    np.testing.assert_array_equal(read(data).asnumpy(), wanted)


def test_data_sets_calibrate(block):
    net, data = block
    labelled = mx.gluon.data.ArrayDataset(data.asnumpy(), np.zeros(4, "float32"))
    loader = mx.gluon.data.DataLoader(labelled, batch_size=2)
    made = tools.quantize_net(net, calib_mode="naive", calib_data=loader)
    same = tools.quantize_net(net, calib_mode="naive", calib_data=mx.io.NDArrayIter(data, None, 2))
    np.testing.assert_array_equal(made(data).asnumpy(), same(data).asnumpy())


def test_tolerance_keeps_what_loses_most(rng):
    """A layer that sums what nearly cancels is lost in 8 bits, and the others are not."""
    net = mx.gluon.nn.HybridSequential()
    for _ in range(3):
        net.add(mx.gluon.nn.Dense(16, in_units=16, use_bias=False))
    net.initialize(mx.init.Xavier())
    bad = rng.normal(size=(16, 16)) * 1e-3
    bad[:, 0], bad[:, 1] = 1, -1
    net[1].weight.set_data(bad)
    net[0].weight.set_data(
        np.vstack([net[0].weight.data().asnumpy()[[0, 0]], net[0].weight.data().asnumpy()[2:]])
    )
    data = mx.nd.array(rng.normal(size=(32, 16)))
    wanted = net(data).asnumpy()
    plain = tools.quantize_net(net, calib_mode="naive", calib_data=[data])
    kept = tools.quantize_net(net, calib_mode="naive", calib_data=[data], tolerance=0.03)
    assert lost(plain(data).asnumpy(), wanted) > 0.1
    assert lost(kept(data).asnumpy(), wanted) <= 0.03
    names = operators(symbol_of(kept))
    assert names.count("FullyConnected") == 1 and names.count("_int8_fully_connected") == 2
    loose = tools.quantize_net(net, calib_mode="naive", calib_data=[data], tolerance=100)
    assert operators(symbol_of(loose)).count("_int8_fully_connected") == 3


@pytest.mark.parametrize("mode, tolerance", [("none", None), ("naive", None), ("naive", 100)])
def test_the_layers_are_logged_once(mode, tolerance, caplog):
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    caplog.set_level(logging.INFO)
    tools.quantize_net(
        net,
        calib_mode=mode,
        calib_data=[mx.nd.ones((2, 3))],
        tolerance=tolerance,
        logger=logging.getLogger(),
    )
    said = [each.getMessage() for each in caplog.records if "int8 layers" in each.getMessage()]
    assert said == [f"int8 layers: {net.name}_fwd"]


def test_weights_and_data_of_zeros():
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize(mx.init.Zero())
    data = mx.nd.zeros((2, 3))
    for mode in ("none", "naive", "entropy"):
        made = tools.quantize_net(net, calib_mode=mode, calib_data=[data])
        np.testing.assert_array_equal(made(data).asnumpy(), np.zeros((2, 2)))


@pytest.mark.parametrize(
    "more, words",
    [
        ({"calib_mode": "naive"}, "calib_mode 'naive' needs calib_data"),
        ({"calib_mode": "none", "quantized_dtype": "int4"}, "quantized_dtype is 'int4'"),
        ({"calib_mode": "best", "calib_data": []}, "calib_mode is 'best'"),
        ({"calib_mode": "none", "excluded_sym_names": ["cnv"]}, "symbol's nodes, got 'cnv'"),
        ({"calib_mode": "none", "quantize_granularity": "row"}, "quantize_granularity is 'row'"),
        ({"calib_mode": "none", "ctx": mx.gpu()}, "run on a CPU"),
    ],
)
def test_wrong_options(trained, more, words):
    symbol, args, _ = trained
    with pytest.raises(ArgumentError, match=words):
        tools.quantize_model(symbol, args, {}, **more)


def test_wrong_kinds(trained):
    symbol, args, _ = trained
    with pytest.raises(ArgumentTypeError, match="excluded_sym_names must be a list"):
        tools.quantize_model(symbol, args, {}, calib_mode="none", excluded_sym_names="conv")
    with pytest.raises(ArgumentTypeError, match="takes a HybridBlock"):
        tools.quantize_net(symbol)
    with pytest.raises(ArgumentTypeError, match="takes a Symbol"):
        tools.quantize_graph(args, args, {})


def test_what_stays_in_8_bits():
    """Concat and means of small windows between int8 layers; not the mean of a whole image, nor a
    Concat with something else."""
    data = mx.sym.var("data")
    one = mx.sym.Convolution(data, kernel=(1, 1), num_filter=4, name="one")
    two = mx.sym.Convolution(one, kernel=(1, 1), num_filter=4, name="two")
    both = mx.sym.Concat(one, two, dim=1, name="both")
    mean = mx.sym.Pooling(
        both, kernel=(2, 2), stride=(1, 1), pad=(1, 1), pool_type="avg", count_include_pad=False
    )
    three = mx.sym.Convolution(mean, kernel=(1, 1), num_filter=4, name="three")
    mixed = mx.sym.Concat(three, mx.sym.tanh(three), dim=1)
    whole = mx.sym.Pooling(mixed, global_pool=True, pool_type="avg", kernel=(1, 1))
    net = mx.sym.FullyConnected(whole, num_hidden=3, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    shapes = dict(zip(net.list_arguments(), net.infer_shape(data=(3, 2, 6, 6))[0]))
    shape, rng = shapes.pop("data"), np.random.default_rng(0)
    del shapes["softmax_label"]
    args = {name: mx.nd.array(rng.normal(0, 0.4, each)) for name, each in shapes.items()}
    x = mx.nd.array(rng.normal(size=shape))
    quantized, params, _ = tools.quantize_model(net, args, {}, calib_mode="naive", calib_data=[x])
    assert operators(quantized) == [
        "_contrib_quantize_v2",
        "_int8_convolution",
        "_int8_convolution",
        "_contrib_quantized_concat",
        "_contrib_quantized_pooling",
        "_int8_convolution",
        "tanh",
        "Concat",
        "Pooling",
        "_contrib_quantize_v2",
        "_int8_fully_connected",
        "SoftmaxOutput",
    ]
    assert lost(predict(quantized, params, x), predict(net, args, x)) < 0.05
