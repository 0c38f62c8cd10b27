"""Quantized graphs, weights, histograms and calls compared whole, with NumPy's values and with
those written here."""

import inspect
import itertools
import logging

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError, UndefinedError
from cynet.contrib import quantization as tools
from cynet.contrib.quantization import model, net
from cynet.contrib.quantization.calibration import combine_histogram
from cynet.contrib.quantization.layers import Layer
from cynet.gluon import nn
from cynet.symbol.node import topological_order
from tests.contrib.test_quantization import operators, small, symbol_of


# --- calls ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "module", "called", "fixed"),
    [
        ("quantize_model_mkldnn", model, "quantize_model", {}),
        (
            "quantize_net",
            net,
            "quantize_net_v2",
            {"quantize_granularity": "channel-wise", "LayerOutputCollector": None},
        ),
    ],
)
def test_each_argument_is_handed_on(name, module, called, fixed, monkeypatch):
    given = {each: object() for each in inspect.signature(getattr(tools, name)).parameters}
    signature, seen = inspect.signature(getattr(module, called)), []
    monkeypatch.setattr(module, called, lambda *a, **k: seen.append(signature.bind(*a, **k)) or 7)
    assert getattr(tools, name)(**given) == 7
    assert seen[0].arguments == {**given, **fixed}


# --- graphs ---------------------------------------------------------------------------------------
def described(symbol):
    return {
        node.name: (
            node.op.name,
            node.params,
            [f"{each.name}:{i}" if each.op else each.name for each, i in node.inputs],
        )
        for node in topological_order(symbol.entries)
        if node.op is not None
    }


@pytest.mark.parametrize("dtype", ["int8", "auto"])
@pytest.mark.parametrize("mode", ["none", "naive"])
def test_a_graph_whole(mode, dtype):
    shapes = {"conv_weight": (4, 2, 3, 3), "conv_bias": (4,), "fc_weight": (3, 36), "fc_bias": (3,)}
    args = {name: mx.nd.ones(shape) for name, shape in shapes.items()}
    data = [mx.nd.ones((1, 2, 8, 8)), 2 - mx.nd.ones((1, 2, 8, 8)) * 4]
    made, params, aux = tools.quantize_model(
        small(), args, {}, calib_mode=mode, calib_data=data, quantized_dtype=dtype
    )
    known = mode == "naive"
    limits = lambda low, high: (  # noqa: E731
        {"min_calib_range": str(low), "max_calib_range": str(high)} if known else {}
    )
    hidden = {"out_type": dtype, **limits(0.0, 19.0)} if known else {}
    parts = lambda name: [f"{name}_{each}_quantize" for each in ("weight", "scale", "bias")]  # noqa: E731
    first = [f"data_quantize:{i}" for i in range(3)]
    conv = "quantized_conv" if known else "relu_output_quantize"
    wanted = {
        "data_quantize": (
            "_contrib_quantize_v2",
            {"out_type": dtype, **limits(-2.0, 1.0)},
            ["data"],
        ),
        "quantized_conv": (
            "_int8_convolution",
            {"kernel": "(3, 3)", "num_filter": "4", "a_min": "0.0", **hidden},
            [first[0], *parts("conv"), *first[1:]],
        ),
        "quantized_pool": (
            "_contrib_quantized_pooling",
            {"kernel": "(2, 2)", "stride": "(2, 2)", "pool_type": "max"},
            [f"{conv}:{i}" for i in range(3)],
        ),
        "quantized_fc": (
            "_int8_fully_connected",
            {"num_hidden": "3"},
            ["quantized_pool:0", *parts("fc"), "quantized_pool:1", "quantized_pool:2"],
        ),
        "softmax": ("SoftmaxOutput", {}, ["quantized_fc:0", "softmax_label"]),
    }
    if not known:
        wanted["relu_output_quantize"] = (
            "_contrib_quantize_v2",
            {"out_type": dtype},
            ["quantized_conv:0"],
        )
    assert described(made) == wanted
    assert set(params) == {*parts("conv"), *parts("fc")} and aux == {}
    kinds = {name: (value.dtype, value.shape) for name, value in params.items()}
    for name, shape in (("conv", (4, 2, 3, 3)), ("fc", (3, 36))):
        weight, scale, bias = parts(name)
        assert kinds[weight] == (np.int8, shape)
        assert kinds[scale] == kinds[bias] == (np.float32, shape[:1])
    types = dict(zip(made.list_arguments(), made.infer_type()[0]))
    assert all(types[name] is params[name].dtype for name in params)


def norm(data, **how):
    return mx.sym.BatchNorm(data, name="norm", **how)


@pytest.mark.parametrize("layout", [None, "NHWC", "dense"])
@pytest.mark.parametrize("fixed", [None, False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("granularity", ["tensor-wise", "channel-wise"])
def test_weights_of_a_layer(layout, fixed, bias, granularity, rng):
    """The float weight and bias with the norm folded into them, in steps of 1/127."""
    x = mx.sym.var("data")
    if layout == "dense":
        made = mx.sym.FullyConnected(x, num_hidden=3, no_bias=not bias, name="l", flatten=False)
        shape = (3, 5)
    else:
        made = mx.sym.Convolution(
            x, kernel=(2, 1), num_filter=3, no_bias=not bias, layout=layout, name="l"
        )
        shape = (3, 2, 1, 5) if layout else (3, 5, 2, 1)
    weight = rng.normal(size=shape).astype("float32")
    weight[1] = 0  # a filter without a step
    params = {"l_weight": weight, **({"l_bias": rng.normal(size=3)} if bias else {})}
    if fixed is not None:
        axis = -1 if layout in ("NHWC", "dense") else 1
        made = norm(made, fix_gamma=fixed, eps=0.1, axis=axis)
        params |= {
            f"norm_{n}": rng.uniform(0.5, 2, 3)
            for n in ("gamma", "beta", "moving_mean", "moving_var")
        }
    params = {name: np.float32(value) for name, value in params.items()}
    states = {k: mx.nd.array(v) for k, v in params.items() if "moving" in k}
    args = {k: mx.nd.array(v) for k, v in params.items() if k not in states}
    symbol, found, _ = tools.quantize_model(
        made, args, states, calib_mode="none", quantize_granularity=granularity
    )
    folds = fixed is None or layout != "dense"  # of a dense layer only along axis 1
    assert ("BatchNorm" in operators(symbol)) == (not folds)
    wide = np.float64(weight)
    if layout == "NHWC":
        wide = wide.transpose(0, 3, 1, 2)
    offset = np.float64(params.get("l_bias", np.zeros(3)))
    if fixed is not None and folds:
        gamma, beta, mean, var = (
            np.float64(params[f"norm_{n}"]) for n in ("gamma", "beta", "moving_mean", "moving_var")
        )
        gain = (1 if fixed else gamma) / np.sqrt(var + 0.1)
        wide = wide * gain.reshape(-1, *[1] * (wide.ndim - 1))
        offset = (offset - mean) * gain + beta
    most = np.abs(wide).max(tuple(range(1, wide.ndim)))
    if granularity == "tensor-wise":
        most = np.full(3, most.max())
    step = np.where(most > 0, most / 127, 1)
    np.testing.assert_allclose(found["l_scale_quantize"].asnumpy(), step, rtol=1e-6)
    np.testing.assert_allclose(found["l_bias_quantize"].asnumpy(), offset, rtol=1e-5, atol=1e-6)
    wanted = np.rint(wide / step.reshape(-1, *[1] * (wide.ndim - 1)))
    np.testing.assert_array_equal(found["l_weight_quantize"].asnumpy(), wanted)


@pytest.mark.parametrize("folded", [False, True])
def test_the_parameters_of_a_weight_without_numbers_are_named(folded):
    made = mx.sym.Convolution(mx.sym.var("data"), kernel=(1, 1), num_filter=2, name="c")
    args = {"c_weight": mx.nd.ones((2, 1, 1, 1)) * np.inf, "c_bias": mx.nd.ones(2)}
    aux, named = {}, "c_weight, c_bias, has"
    if folded:
        made = norm(made)
        args |= {f"norm_{n}": mx.nd.ones(2) for n in ("gamma", "beta")}
        aux = {f"norm_moving_{n}": mx.nd.ones(2) for n in ("mean", "var")}
        named = "c_weight, norm_gamma, norm_beta, norm_moving_mean, norm_moving_var, has"
    with pytest.raises(ArgumentError, match=f"layer 'c', of the parameters {named} values that"):
        tools.quantize_model(made, args, aux, calib_mode="none")


# what stands behind a layer "c", and the operators of the quantized graph
BEHIND = {
    "relu": (lambda c, x: mx.sym.relu(c), ""),
    "Activation relu": (lambda c, x: mx.sym.Activation(c, act_type="relu"), ""),
    "tanh": (lambda c, x: mx.sym.tanh(c), "tanh"),
    "clip": (lambda c, x: mx.sym.clip(c, -1, 2), ""),
    "clip of one value": (lambda c, x: mx.sym.clip(c, 1, 1), ""),
    "clip crossed": (lambda c, x: mx.sym.clip(c, 50, 40), "clip"),
    "read twice": (lambda c, x: mx.sym.relu(c) * c, "relu elemwise_mul"),
    "and a head": (lambda c, x: mx.sym.Group([mx.sym.relu(c), c]), "relu"),
    "sum": (lambda c, x: x + c, "residual"),
    "sum turned": (lambda c, x: c + x, "residual"),
    "sum and relu": (lambda c, x: mx.sym.relu(c + x), "residual"),
    "sum of itself": (lambda c, x: c + c, "elemwise_add"),
    "broadcast sum": (lambda c, x: mx.sym.broadcast_add(c, x), "broadcast_add"),
    "product": (lambda c, x: c * x, "elemwise_mul"),
    "sum with what comes later": (lambda c, x: c + mx.sym.tanh(x), "tanh elemwise_add"),
    "sum with a number": (lambda c, x: c + 1, "_plus_scalar"),
    "norm of another axis": (lambda c, x: norm(c, axis=2), "BatchNorm"),
}


@pytest.mark.parametrize("kind", BEHIND)
def test_what_is_behind_a_layer(kind, rng):
    """What becomes a part of it, and what stays; the values are those of floats."""
    x = mx.sym.var("data")
    c = mx.sym.Convolution(x, kernel=(1, 1), num_filter=2, name="c")
    make, left = BEHIND[kind]
    symbol = make(c, x)
    args = {"c_weight": rng.normal(size=(2, 2, 1, 1)), "c_bias": rng.normal(size=2)}
    args |= {f"norm_{n}": rng.uniform(1, 2, 4) for n in ("gamma", "beta") if "norm" in kind}
    aux = {f"norm_moving_{n}": rng.uniform(1, 2, 4) for n in ("mean", "var") if "norm" in kind}
    args, aux = ({k: mx.nd.array(v) for k, v in each.items()} for each in (args, aux))
    data = mx.nd.array(rng.normal(size=(3, 2, 4, 5)))
    made, params, states = tools.quantize_model(
        symbol, args, aux, calib_mode="naive", calib_data=[data], quantized_dtype="auto"
    )
    found = [n for n in operators(made) if n not in ("_contrib_quantize_v2", "_contrib_dequantize")]
    nodes = [node for node in topological_order(made.entries) if node.op is not None]
    layers = [node for node in nodes if node.op.name == "_int8_convolution"]
    assert len(layers) == 1
    assert layers[0].prop.with_residual == (left == "residual")
    assert sorted(found) == sorted(["_int8_convolution", *left.replace("residual", "").split()])
    wanted = symbol.bind(mx.cpu(), {**args, "data": data}, aux_states=aux).forward()
    made = mx.sym.load_json(made.tojson())  # which has all that a node is made of
    given = made.bind(mx.cpu(), {**params, "data": data}, aux_states=states).forward()
    for a, b in zip(given, wanted, strict=True):
        a, b = a.asnumpy(), b.asnumpy()
        assert np.abs(a - b).max() < 0.05 * max(np.abs(b).max(), 1)


# --- collectors -----------------------------------------------------------------------------------
@pytest.mark.parametrize("bins", [5, 8001])
@pytest.mark.parametrize(
    "parts",
    [
        [(-3.0, -1.0, -2.0)],
        [(1.0, 2.5)],
        [(0.0, 0.0)],
        [(-0.5, 2.0), (1.0, -2.0)],
        [(-0.5, 2.0), (0.1,)],
        [(-0.5,), (-4.0, 3.0)],
        [(-0.5, 0.27), (0.73,), (9.0, 1.05)],
    ],
)
def test_a_histogram_is_numpys(parts, bins):
    """Of all values: bins of the first batch's width, as many as the largest value needs."""
    collector = tools.LayerHistogramCollector(num_bins=bins)
    for part in parts:
        collector.collect("x", mx.nd.array(part))
    counts, edges, low, high, most = collector.hist_dict["x"]
    values = np.float32([v for part in parts for v in part])
    first = float(np.abs(np.float32(parts[0])).max()) or 1.0
    step = 2 * first / bins
    more = max(0, int(np.ceil((np.abs(values).max() - first) / step)))
    wide = first + more * step
    assert (low, high) == (values.min(), values.max()) and most == pytest.approx(wide)
    wanted, ends = np.histogram(values, bins + 2 * more, (-wide, wide))
    np.testing.assert_allclose(edges, ends, rtol=1e-6, atol=1e-6 * wide)
    if bins == 5:  # else a value beside the edge of a bin may be in its neighbour
        np.testing.assert_array_equal(counts, wanted)
    assert counts.sum() == values.size


@pytest.mark.parametrize(("beyond", "bins"), [(1.0, 4), (1.5, 4), (1.6, 6), (0.2, 4)])
def test_a_histogram_is_as_wide_as_needed(beyond, bins):
    """The largest value that fits, and one more."""
    old = (*np.histogram([0.25], 4, (-1.5, 1.5)), 0.25, 0.25, 1.5)
    counts, edges, low, high, most = combine_histogram(
        old, np.array([beyond]), beyond, beyond, beyond
    )
    assert len(counts) == bins and len(edges) == bins + 1
    assert most == edges[-1] == -edges[0] == 0.375 * bins
    assert (low, high) == (min(0.25, beyond), max(0.25, beyond)) and counts.sum() == 2
    assert counts[bins // 2] >= 1


def test_collectors_say_what_they_look_at(caplog):
    x = mx.nd.array([[1, -2]])
    base = tools.CalibrationCollector(["a"])
    with pytest.raises(UndefinedError, match="CalibrationCollector must define collect"):
        base.collect("a", x)
    with pytest.raises(UndefinedError, match="CalibrationCollector must define post_collect"):
        base.post_collect()
    log = logging.getLogger("calibrating")
    caplog.set_level(logging.DEBUG)
    for make in (tools.LayerOutputMinMaxCollector, tools.LayerHistogramCollector):
        caplog.clear()
        collector = make(quantized_dtype="int8", include_layer=["a"], logger=log)
        collector.collect("b", "nothing that is looked at")
        with pytest.raises(ArgumentTypeError, match="takes an NDArray, got 3 for a"):
            collector.collect("a", 3)
        collector.collect("a", x)
        assert [each.getMessage() for each in caplog.records] == ["calibration: a (1, 2)"]
        assert list(collector.post_collect()) == ["a"]
    every = tools.LayerOutputMinMaxCollector("int8")
    every.collect("b", x)
    every.collect("b", mx.nd.array([0.5]))
    every.collect("c", mx.nd.array([7]))
    assert every.post_collect() == {"b": (-2.0, 1.0), "c": (7.0, 7.0)}
    assert tools.LayerHistogramCollector().num_bins == 8001
    assert tools.LayerHistogramCollector().quantized_dtype == "auto"


@pytest.mark.parametrize(
    ("most", "seen"), [(None, 3), (1, 1), (4, 1), (5, 2), (8, 2), (9, 3), (100, 3)]
)
def test_so_many_examples_are_looked_at(most, seen):
    batches = [mx.nd.full((4, 2), i) for i in range(3)]
    found = list(model.batches_of(batches, ["x"], most))
    assert [each["x"][0, 0].asscalar() for each in found] == list(range(seen))


def test_examples_of_a_network_that_are_looked_at():
    layer = nn.Dense(1, in_units=1, use_bias=False)
    layer.initialize(mx.init.One())
    batches = [mx.nd.full((4, 1), v) for v in (1, 2, 3)]
    for most, limit in ((4, 1), (5, 2), (None, 3)):
        found = tools.quantize_net(
            layer, calib_mode="naive", calib_data=batches, num_calib_examples=most
        )
        first = next(n for n in topological_order(symbol_of(found).entries) if n.op is not None)
        assert first.prop.max_calib_range == limit


# --- networks -------------------------------------------------------------------------------------
def dense():
    layer = nn.Dense(2, in_units=3)
    layer.initialize(mx.init.One())
    return layer


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"calib_mode": "none", "tolerance": 0.1}, "'none' or tolerance needs calib_data"),
        ({"calib_mode": "naive"}, "calib_mode 'naive' or tolerance needs calib_data"),
        ({"calib_data": mx.nd.ones((2, 3))}, "calib_data is an NDArray, expected batches"),
        ({"ctx": mx.gpu()}, "int8 layers run on a CPU, got gpu"),
        ({"quantize_mode": "fast"}, "quantize_mode is 'fast', expected one of"),
        ({"quantized_dtype": "int4"}, "quantized_dtype is 'int4', expected one of"),
        ({"calib_mode": "best"}, "calib_mode is 'best', expected one of"),
        ({"calib_mode": "custom", "calib_data": [mx.nd.ones((2, 3))]}, "needs a LayerOutputColl"),
        ({"exclude_layers": ["nobody"]}, "got 'nobody'"),
    ],
)
def test_wrong_options_of_networks(more, told):
    with pytest.raises((ArgumentError, ArgumentTypeError), match=told):
        tools.quantize_net_v2(dense(), **more)


def test_networks_of_other_floats_stay_what_they_are():
    layer = dense()
    layer.cast("float64")
    layer.weight.set_data(mx.nd.array([[1 + 2**-40, 0, 0]] * 2, dtype="float64"))
    found = tools.quantize_net(layer)
    assert {p.dtype for p in found.collect_params().values()} == {np.float64}
    x = mx.nd.array([[1, 2, 3]], dtype="float64")
    np.testing.assert_array_equal(found(x).asnumpy(), [[1 + 2**-40] * 2])
    assert all(p.grad_req == "null" for p in found.collect_params().values())


def test_many_inputs_of_a_network():
    """As many as there are."""

    class Sum(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, *inputs):
            return F.add_n(*inputs)

    given = [mx.nd.full((1, 1), i) for i in range(70)]
    found = tools.quantize_net(Sum(), calib_mode="naive", calib_data=[given])
    assert found(*given).asscalar() == sum(range(70))


def test_what_a_search_for_a_tolerance_says(caplog, rng):
    """Each layer with what it loses alone, the worst first; then those that stay in floats."""
    layers = nn.HybridSequential()
    for name in "abc":
        layers.add(nn.Dense(16, in_units=16, use_bias=False, prefix=f"{name}_"))
    layers.initialize(mx.init.Xavier())
    bad = rng.normal(size=(16, 16)) * 1e-3
    bad[:, 0], bad[:, 1] = 1, -1
    layers[1].weight.set_data(bad)
    data = mx.nd.array(rng.normal(size=(32, 16)))
    caplog.set_level(logging.INFO)
    how = {"calib_mode": "naive", "calib_data": [data], "logger": logging.getLogger()}
    found = tools.quantize_net(layers, tolerance=1e-9, **how)
    said = [each.getMessage() for each in caplog.records]
    alone = [each.split() for each in said if " alone loses " in each]
    losses = [float(each[-1]) for each in alone]
    assert sorted(each[1] for each in alone) == ["a_fwd", "b_fwd", "c_fwd"]
    assert losses == sorted(losses, reverse=True) and losses[-1] > 0
    assert "float32: a_fwd, b_fwd, c_fwd; outputs lose 0" in said
    assert not any("int8" in name for name in operators(symbol_of(found)))
    caplog.clear()
    tools.quantize_net(layers, tolerance=10.0, **how)
    (last,) = [each.getMessage() for each in caplog.records if "outputs lose" in each.getMessage()]
    assert last.startswith("float32: none; outputs lose 0.")


@pytest.mark.parametrize(("least", "kept"), [(0.0, 1), (-1e-9, 0)])
def test_a_loss_of_the_tolerance_is_enough(least, kept):
    """Zeros lose nothing in 8 bits."""
    layer = nn.Dense(2, in_units=3)
    layer.initialize(mx.init.Zero())
    data = [mx.nd.ones((2, 3))]
    made = tools.quantize_net(layer, calib_mode="naive", calib_data=data, tolerance=least)
    assert operators(symbol_of(made)).count("_int8_fully_connected") == kept


@pytest.mark.parametrize("mode", ["naive", "entropy"])
def test_what_calibration_looks_at_is_logged(mode, caplog):
    caplog.set_level(logging.DEBUG)
    symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    tools.quantize_model(
        symbol,
        {"fc_weight": mx.nd.ones((2, 3))},
        {},
        calib_mode=mode,
        calib_data=[mx.nd.ones((4, 3))],
        logger=logging.getLogger(),
    )
    said = [each.getMessage() for each in caplog.records]
    assert said == ["int8 layers: fc", "calibration: data (4, 3)"]


def test_a_graph_is_calibrated_by_a_collector():
    symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    *made, collector = tools.quantize_graph(symbol, {"fc_weight": mx.nd.ones((2, 3))}, {})
    for mode, given in (("none", collector), ("naive", None)):
        with pytest.raises(ArgumentError, match="calib_graph needs a collector"):
            tools.calib_graph(*made, given, calib_mode=mode)
    for more, told in (({"calib_mode": "best"}, "'best'"), ({"quantized_dtype": "int4"}, "'int4'")):
        with pytest.raises(ArgumentError, match=f"is {told}, expected one of"):
            tools.calib_graph(*made, collector, **more)


def test_an_own_collector_gets_the_logger():
    class Own(tools.LayerOutputMinMaxCollector):
        pass

    collector, logger = Own("auto"), logging.getLogger("own")
    tools.quantize_net_v2(
        dense(),
        calib_mode="custom",
        calib_data=[mx.nd.ones((2, 3))],
        logger=logger,
        LayerOutputCollector=collector,
    )
    assert collector.logger is logger and list(collector.min_max_dict) == ["data"]


def test_losses_are_relative_to_what_is_wanted():
    loss = net._relative_error
    assert loss(np.array([3.0, 4.0]), np.array([3.0, 4.0])) == 0
    assert loss(np.array([6.0, 8.0]), np.array([3.0, 4.0])) == pytest.approx(1)
    assert loss(np.array([3.0, 5.0]), np.array([3.0, 4.0])) == pytest.approx(0.2)
    assert loss(np.array([3.0, 4.0]), np.zeros(2)) == pytest.approx(np.sqrt(12.5))


def test_what_a_layer_is_made_of():
    """What makes a quantized weight another one, each alone."""
    x = mx.sym.var("data")

    def key(eps=1e-3, fix=False, weight="w", layout="NCHW", gamma="g"):
        made = mx.sym.Convolution(
            x,
            mx.sym.var(weight),
            kernel=(1, 1),
            num_filter=2,
            no_bias=True,
            layout=layout,
            name="c",
        )
        made = norm(made, gamma=mx.sym.var(gamma), eps=eps, fix_gamma=fix)
        nodes = {n.name: n for n in topological_order(made.entries)}
        layer = Layer(nodes["c"])
        bare = layer.weight_key()
        layer.norm = layer.end = nodes["norm"]
        return bare, layer.weight_key()

    others = [{"eps": 0.1}, {"fix": True}, {"weight": "v"}, {"layout": "NHWC"}, {"gamma": "h"}]
    every = [key(), *(key(**each) for each in others)]
    for one, other in itertools.combinations(every, 2):
        assert one[1] != other[1]
    assert key() == key() and key()[0] != key()[1]
    assert len({bare for bare, _ in every}) == 3
