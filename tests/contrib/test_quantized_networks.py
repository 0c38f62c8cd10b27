"""quantize_net and quantize_model of networks of all forms: layers that are called twice, none to
quantize, several inputs; and where the result is used."""

import re
import warnings

import numpy as np
import pytest

import cynet as mx
from cynet import gluon
from cynet.base.errors import ArgumentError
from cynet.contrib import quantization as tools
from cynet.contrib.quantization.model import check_limits
from cynet.gluon import nn
from cynet.symbol.node import topological_order
from tests.contrib.test_quantization import lost, operators, symbol_of

MODES = ["none", "naive", "entropy"]


class Composed(gluon.HybridBlock):
    """Any function of its children and the inputs."""

    def __init__(self, compute, **children):
        super().__init__()
        self.compute = compute
        for name, child in children.items():
            setattr(self, name, child)

    def hybrid_forward(self, F, x):
        return self.compute(self, F, x)


def ready(net, *data):
    net.initialize(mx.init.Xavier())
    for _ in range(5):  # statistics of BatchNorm
        with mx.autograd.record():
            net(*data)
    return net, net(*data)


def variables(block):
    return [node.name for node in topological_order(symbol_of(block).entries) if node.op is None]


# --- layers that are called more than once --------------------------------------------------------
def twice(net, F, x):
    return net.layer(x) + net.layer(x * 2)


def thrice_with_relu(net, F, x):
    return F.relu(net.layer(x)) + net.layer(x - 1) * F.tanh(net.layer(x))


def in_a_row(net, F, x):
    return net.layer(F.relu(net.layer(x)))


def of_two_norms(net, F, x):
    return F.relu(net.one(net.layer(x))) + net.other(net.layer(x))


SHARED = {
    "convolution": (twice, {"layer": lambda: nn.Conv2D(4, 3)}, (4, 3, 6, 6), 1),
    "channels last": (twice, {"layer": lambda: nn.Conv2D(4, 3, layout="NHWC")}, (4, 6, 6, 3), 1),
    "dense": (twice, {"layer": lambda: nn.Dense(4)}, (4, 5), 1),
    "no bias": (thrice_with_relu, {"layer": lambda: nn.Dense(4, use_bias=False)}, (4, 5), 1),
    "in a row": (in_a_row, {"layer": lambda: nn.Conv2D(3, 3, padding=1)}, (4, 3, 6, 6), 1),
    "behind one norm": (
        twice,
        {"layer": lambda: sequence(nn.Conv2D(4, 3), nn.BatchNorm())},
        (4, 3, 6, 6),
        1,
    ),
    "behind two norms": (
        of_two_norms,
        {
            "layer": lambda: nn.Conv2D(4, 3),
            "one": nn.BatchNorm,
            "other": lambda: nn.BatchNorm(epsilon=0.1),
        },
        (4, 3, 6, 6),
        2,
    ),
}


def sequence(*layers):
    net = nn.HybridSequential()
    net.add(*layers)
    return net


@pytest.mark.parametrize("mode", ["none", "naive"])
@pytest.mark.parametrize("kind", SHARED)
def test_a_layer_that_is_called_twice(kind, mode, tmp_path):
    """Its weight is quantized once, unless what is folded into it differs."""
    mx.random.seed(3)
    compute, children, shape, weights = SHARED[kind]
    data = mx.nd.random.normal(shape=shape)
    net, wanted = ready(Composed(compute, **{k: make() for k, make in children.items()}), data)
    small = tools.quantize_net(net, calib_mode=mode, calib_data=[data])
    assert lost(small(data).asnumpy(), wanted.asnumpy()) < 0.03
    names = variables(small)
    assert len(names) == len(set(names))
    assert sum(name.endswith("_weight_quantize") for name in names) == weights
    assert not {"Convolution", "FullyConnected"} & set(operators(symbol_of(small)))
    small.hybridize()
    found = small(data).asnumpy()
    small.export(str(tmp_path / "net"))
    read = gluon.SymbolBlock.imports(
        str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    )
    np.testing.assert_array_equal(read(data).asnumpy(), found)


@pytest.mark.parametrize("mode", MODES)
def test_weights_that_two_layers_share(mode):
    """Two layers of one name have one weight; other layers of that name their own."""
    mx.random.seed(4)
    data, weight = mx.sym.var("data"), mx.sym.var("w")
    one = mx.sym.FullyConnected(data, weight, num_hidden=5, no_bias=True, name="fc")
    two = mx.sym.FullyConnected(one, weight, num_hidden=5, no_bias=True, name="fc")
    other = mx.sym.FullyConnected(
        two, num_hidden=3, no_bias=True, weight=mx.sym.var("v"), name="fc"
    )
    args = {"w": mx.nd.random.normal(shape=(5, 5)), "v": mx.nd.random.normal(shape=(3, 5))}
    x = mx.nd.random.normal(shape=(400, 5))
    made, params, aux = tools.quantize_model(
        other, args, {}, calib_mode=mode, calib_data=[x], quantized_dtype="auto"
    )
    assert sorted(name for name in params if "weight" in name) == [
        "fc_1_weight_quantize",
        "fc_weight_quantize",
    ]
    wanted = other.bind(mx.cpu(), {**args, "data": x}).forward()[0].asnumpy()
    found = made.bind(mx.cpu(), {**params, "data": x}, aux_states=aux).forward()[0].asnumpy()
    assert lost(found, wanted) < (0.15 if mode == "entropy" else 0.06)


# --- nothing to quantize --------------------------------------------------------------------------
NOTHING = {
    "transposed convolution": (lambda: nn.Conv2DTranspose(4, 3), (4, 3, 6, 6), {}),
    "activation": (lambda: nn.Activation("relu"), (4, 5), {}),
    "pooling": (nn.MaxPool2D, (4, 3, 6, 6), {}),
    "norm": (nn.BatchNorm, (4, 3, 6, 6), {}),
    "all by pattern": (lambda: nn.Dense(4), (4, 5), {"exclude_layers_match": ["dense"]}),
    "all by operator": (lambda: nn.Dense(4), (4, 5), {"exclude_operators": ["FullyConnected"]}),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tolerance", [None, 0.01])
@pytest.mark.parametrize("kind", NOTHING)
def test_nothing_to_quantize_comes_back_in_floats(kind, tolerance, mode):
    make, shape, more = NOTHING[kind]
    data = mx.nd.random.normal(shape=shape)
    net, wanted = ready(sequence(make()), data)
    small = tools.quantize_net(net, calib_mode=mode, calib_data=[data], tolerance=tolerance, **more)
    np.testing.assert_allclose(small(data).asnumpy(), wanted.asnumpy(), rtol=1e-5, atol=1e-6)
    assert not any("quantize" in name for name in variables(small))


@pytest.mark.parametrize("mode", ["naive", "entropy"])
def test_a_model_of_floats_and_its_collector(mode):
    net = mx.sym.Activation(mx.sym.var("data"), act_type="tanh")
    *made, collector = tools.quantize_graph(net, {}, {}, calib_mode=mode)
    assert collector.include_layer == []
    collector.collect("data", mx.nd.ones((1, 2)))
    found, _, _ = tools.calib_graph(*made, collector, calib_mode=mode)
    assert operators(found) == ["Activation"]
    found, _, _ = tools.quantize_model(
        net, {}, {}, calib_mode=mode, calib_data=[mx.nd.ones((1, 2))]
    )
    assert operators(found) == ["Activation"]


# --- several inputs -------------------------------------------------------------------------------
class Two(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Dense(4, in_units=5), nn.Dense(4, in_units=3)

    def hybrid_forward(self, F, x, y):
        return self.a(x) + self.b(y)


class Perhaps(Two):
    """Whose second input may be left out."""

    def hybrid_forward(self, F, x, y=None):
        return self.a(x) if y is None else self.a(x) + self.b(y)


class Written(Two):
    """In forward, and with the arrays in a list."""

    def forward(self, both):
        return self.a(both[0]) + self.b(both[1])

    hybrid_forward = gluon.HybridBlock.hybrid_forward


X, Y = np.random.RandomState(0).normal(size=(2, 8, 5)).astype("float32")
Y = np.ascontiguousarray(Y[:, :3])


def loader(*arrays):
    return gluon.data.DataLoader(gluon.data.ArrayDataset(*arrays), 4)


def arrays_of():
    return mx.nd.array(X), mx.nd.array(Y), mx.nd.zeros(8)


CALIBRATION = {
    "loader with labels": lambda x, y, z: (loader(x, y, z), None),
    "loader": lambda x, y, z: (loader(x, y), None),
    "loader and shapes": lambda x, y, z: (loader(x, y, z), [(4, 5), (4, 3)]),
    "lists": lambda x, y, z: ([[x, y]], None),
    "tuples": lambda x, y, z: ([(x, y), (x, y)], None),
    "generator": lambda x, y, z: (((x, y) for _ in range(2)), None),
    "iterator": lambda x, y, z: (mx.io.NDArrayIter({"a": x, "b": y}, z, 4), None),
    "lists with labels": lambda x, y, z: ([[x, y, z]], None),
}


@pytest.mark.parametrize("called", [False, True])
@pytest.mark.parametrize("kind", CALIBRATION)
def test_two_inputs(kind, called):
    x, y, z = arrays_of()
    net, wanted = ready(Two(), x, y)
    if called:
        net.hybridize()
        net(x, y)
    data, shapes = CALIBRATION[kind](x, y, z)
    small = tools.quantize_net(net, calib_mode="naive", calib_data=data, data_shapes=shapes)
    assert lost(small(x, y).asnumpy(), wanted.asnumpy()) < 0.03
    assert operators(symbol_of(small, "data0", "data1")).count("_int8_fully_connected") == 2
    assert "min_calib_range" in symbol_of(small, "data0", "data1").tojson()


def test_an_iterator_that_was_read_is_read_again():
    x, y, z = arrays_of()
    net, wanted = ready(Two(), x, y)
    batches = mx.io.NDArrayIter({"a": x, "b": y}, z, 4)
    for _ in batches:
        pass
    small = tools.quantize_net(net, calib_mode="naive", calib_data=batches, tolerance=1)
    assert lost(small(x, y).asnumpy(), wanted.asnumpy()) < 0.03


@pytest.mark.parametrize("inputs", [1, 2])
def test_an_input_that_may_be_left_out(inputs):
    """As many as the last traced call had; untraced, those that are needed: a label is none."""
    x, y, z = arrays_of()
    net, _ = ready(Perhaps(), x, y)
    net.hybridize()
    given = (x, y)[:inputs]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "parameters .* nothing in the graph reads them")
        wanted = net(*given)
    small = tools.quantize_net(net, calib_mode="naive", calib_data=loader(*given, z))
    assert lost(small(*given).asnumpy(), wanted.asnumpy()) < 0.03
    fresh, _ = ready(Perhaps(), x, y)
    small = tools.quantize_net(fresh, calib_mode="naive", calib_data=loader(x, z))
    assert lost(small(x).asnumpy(), fresh(x).asnumpy()) < 0.03


def test_networks_without_calibration_have_the_inputs_that_they_need():
    x, y, _ = arrays_of()
    net, wanted = ready(Two(), x, y)
    assert lost(tools.quantize_net(net)(x, y).asnumpy(), wanted.asnumpy()) < 0.03


def test_too_few_arrays():
    x, y, _ = arrays_of()
    net, _ = ready(Two(), x, y)
    with pytest.raises(ArgumentError, match=r"two\d+ takes 2 inputs, and a batch .* has 1 array$"):
        tools.quantize_net(net, calib_mode="naive", calib_data=loader(x))


@pytest.mark.parametrize("mode", ["naive", "entropy"])
def test_no_batch(mode):
    net, _ = ready(nn.Dense(2), mx.nd.ones((2, 3)))
    with pytest.raises(ArgumentError, match="calib_data has no batch"):
        tools.quantize_net(net, calib_mode=mode, calib_data=[], data_shapes=[(2, 3)])
    with pytest.raises(ArgumentError, match="calib_data has no batch"):
        tools.quantize_model(
            mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc"),
            {"fc_weight": mx.nd.ones((2, 3))},
            {},
            calib_mode=mode,
            calib_data=[],
        )


# --- calibration ----------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [tools.LayerHistogramCollector, tools.LayerOutputMinMaxCollector])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_batch_of_zeros_beside_others(kind, order, rng):
    """Zeros have no width; the limits are those of the other batch."""
    values = rng.uniform(-1, 1, 4000).astype("float32")
    collector = kind(quantized_dtype="int8")
    for i in order:
        collector.collect("x", mx.nd.array((np.zeros(10, "float32"), values)[i]))
    low, high = collector.post_collect()["x"]
    assert low == pytest.approx(-1, abs=0.15) and high == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("mode", ["naive", "entropy"])
def test_values_without_limits_are_refused(mode, first, bad):
    net, _ = ready(nn.Dense(2, in_units=3), mx.nd.ones((2, 3)))
    batches = [mx.nd.ones((2, 3)), mx.nd.array([[1, bad, 2]])]
    if first:
        batches.reverse()
    with pytest.raises(
        ArgumentError, match="calibration: data has values that are NaN or infinite"
    ):
        tools.quantize_net(net, calib_mode=mode, calib_data=batches)


@pytest.mark.parametrize(
    "limits", [(np.nan, 1.0), (0.0, np.inf), (-np.inf, 1.0), (2.0, 1.0), (0.0, np.nan)]
)
def test_limits_of_an_own_collector_are_looked_at(limits):
    class Wrong(tools.CalibrationCollector):
        def collect(self, name, arr):
            pass

        def post_collect(self):
            return dict.fromkeys(self.include_layer, limits)

    net, _ = ready(nn.Dense(2, in_units=3), mx.nd.ones((2, 3)))
    said = f"the values of data go from {limits[0]} to {limits[1]}"
    with pytest.raises(ArgumentError, match=re.escape(said)):
        tools.quantize_net_v2(
            net, calib_mode="custom", calib_data=[mx.nd.ones((2, 3))], LayerOutputCollector=Wrong()
        )
    symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    *made, collector = tools.quantize_graph(
        symbol,
        {"fc_weight": mx.nd.ones((2, 3))},
        {},
        calib_mode="custom",
        LayerOutputCollector=Wrong(),
    )
    with pytest.raises(ArgumentError, match=re.escape(said)):
        tools.calib_graph(*made, collector, calib_mode="custom")


@pytest.mark.parametrize("dtype", ["int8", "uint8", "auto"])
@pytest.mark.parametrize("least", [0.0, -1.0])
@pytest.mark.parametrize("bins", [101, 8001])
def test_a_histogram_is_cut_to_the_steps_of_its_type(dtype, least, bins, rng, monkeypatch):
    """255 bins, as there are steps on both sides of 0, and 511 where one side has all."""
    seen, inner = [], mx.nd.contrib.calibrate_entropy

    def calibrate(*given, num_quantized_bins):
        seen.append(num_quantized_bins)
        return inner(*given, num_quantized_bins=num_quantized_bins)

    monkeypatch.setattr(mx.nd.contrib, "calibrate_entropy", calibrate)
    collector = tools.LayerHistogramCollector(quantized_dtype=dtype, num_bins=bins)
    values = rng.uniform(0, 3, 3000).astype("float32")
    values[0] = least
    collector.collect("x", mx.nd.array(values))
    collector.post_collect()
    assert seen == [min(511 if least >= 0 and dtype != "int8" else 255, bins)]


@pytest.mark.parametrize("least", [0.0, 0.25, -0.25])
def test_limits_of_a_histogram_begin_at_0_where_nothing_is_below(least, rng):
    collector = tools.LayerHistogramCollector(quantized_dtype="auto")
    values = rng.uniform(max(least, 0), 1, 2000).astype("float32")
    values[0] = least
    collector.collect("x", mx.nd.array(values))
    low, high = collector.post_collect()["x"]
    assert low == (0 if least >= 0 else -high) and 0.8 < high <= 1.01


@pytest.mark.parametrize("more", [{"eps": 0.5}])
def test_norms_of_one_set_of_parameters_and_other_settings(more):
    """Weights that they are folded into are not the same."""
    mx.random.seed(1)
    data, weight = mx.sym.var("data"), mx.sym.var("w")
    shared = {name: mx.sym.var(name) for name in ("gamma", "beta", "moving_mean", "moving_var")}
    parts = [
        mx.sym.BatchNorm(
            mx.sym.Convolution(data, weight, kernel=(1, 1), num_filter=3, no_bias=True, name="c"),
            **shared,
            **{"eps": 1e-3, "fix_gamma": False, **how},
            name="n",
        )
        for how in ({}, more)
    ]
    net = mx.sym.Group(parts)
    args = {
        "w": mx.nd.random.normal(shape=(3, 2, 1, 1)),
        "gamma": mx.nd.array([2, 3, 0.5]),
        "beta": mx.nd.array([0, 1, -1]),
    }
    aux = {"moving_mean": mx.nd.array([0, 1, 2]), "moving_var": mx.nd.array([0.1, 1, 2])}
    x = mx.nd.random.normal(shape=(4, 2, 5, 5))
    made, params, states = tools.quantize_model(
        net, args, aux, calib_mode="naive", calib_data=[x], quantized_dtype="auto"
    )
    wanted = net.bind(mx.cpu(), {**args, "data": x}, aux_states=aux).forward()
    found = made.bind(mx.cpu(), {**params, "data": x}, aux_states=states).forward()
    for one, other in zip(found, wanted):
        assert lost(one.asnumpy(), other.asnumpy()) < 0.03


# --- rows with NaN, and narrow types --------------------------------------------------------------
@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_a_row_with_nan_does_not_become_numbers(mode, hybridized):
    mx.random.seed(0)
    data = mx.nd.random.normal(shape=(6, 5))
    net, _ = ready(sequence(nn.Dense(4), nn.Activation("relu"), nn.Dense(2)), data)
    small = tools.quantize_net(net, calib_mode=mode, calib_data=[data])
    if hybridized:
        small.hybridize()
    before = small(data).asnumpy()
    bad = data.copy()
    bad[3, 2] = np.nan
    with pytest.raises(ArgumentError, match="element 17 of 'data' is nan"):
        small(bad).wait_to_read()
    np.testing.assert_array_equal(small(data).asnumpy(), before)


def test_a_predictor_refuses_that_row_alone():
    data = mx.nd.random.normal(shape=(6, 5))
    net, _ = ready(nn.Dense(4), data)
    small = tools.quantize_net(net, calib_mode="naive", calib_data=[data])
    with mx.Predictor(small, shapes=(5,)) as predictor:
        with pytest.raises(ArgumentError, match="is nan"):
            predictor(np.full((1, 5), np.nan, "float32"))
        assert np.isfinite(predictor(data.asnumpy())).all()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("excluded", [[], ["conv"], ["dense"], ["dense0"]])
def test_a_quantized_block_in_a_predictor(dtype, excluded, tmp_path):
    """What stays in floats is computed in the narrow type."""
    mx.random.seed(0)
    data = mx.nd.random.normal(shape=(4, 3, 6, 6))
    net, wanted = ready(
        sequence(
            nn.Conv2D(4, 3),
            nn.Activation("relu"),
            nn.Dense(8, prefix="dense0_"),
            nn.Activation("tanh"),
            nn.Dense(2),
        ),
        data,
    )
    small = tools.quantize_net(
        net, calib_mode="naive", calib_data=[data], exclude_layers_match=excluded
    )
    with mx.Predictor(small, shapes=(3, 6, 6), dtype=dtype) as predictor:
        found = predictor(data)
    assert lost(found, wanted.asnumpy()) < 0.05
    small.export(str(tmp_path / "net"))  # which no call has to come before
    with mx.Predictor(str(tmp_path / "net"), shapes=(3, 6, 6), dtype=dtype) as predictor:
        np.testing.assert_array_equal(predictor(data), found)


def test_a_block_that_was_never_called_in_a_narrow_predictor():
    net = nn.Dense(2, in_units=3)
    net.initialize(mx.init.One())
    with mx.Predictor(net, shapes=(3,), dtype="bfloat16") as predictor:
        np.testing.assert_array_equal(predictor([[1, 2, 4]]), [[7, 7]])


def test_a_converted_block_has_its_inputs_in_their_order():
    """Those of the symbol come in another one."""
    x, y = mx.sym.var("x"), mx.sym.var("y")
    block = gluon.SymbolBlock(x - 2 * y, [y, x])
    narrow = mx.contrib.amp.convert_hybrid_block(block, "bfloat16")
    assert narrow(mx.nd.array([1.0]), mx.nd.array([8.0])).asscalar() == 6


@pytest.mark.parametrize(
    "low, high", [(-np.inf, 1.0), (0.0, np.inf), (2.0, 1.0), (np.nan, 1.0), (0.0, np.nan)]
)
def test_limits_that_are_none(low, high):
    """Each end alone; one value twice is right, as of a layer that gives zeros."""
    check_limits({"fc": (0.0, 0.0), "out": (-1.0, 2.0)})
    with pytest.raises(ArgumentError, match=f"the values of out go from {low} to {high}"):
        check_limits({"fc": (0.0, 0.0), "out": (low, high)})


@pytest.mark.parametrize("tensor_wise", [False, True])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["weight", "gamma", "running_var"])
def test_weights_without_numbers_do_not_become_numbers(where, bad, tensor_wise):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(3, 1, in_channels=2, use_bias=False, prefix="first_"))
    net.add(nn.BatchNorm(in_channels=3))
    net.initialize()
    net(mx.nd.ones((1, 2, 2, 2)))
    (parameter,) = net.collect_params(f".*{where}").values()
    values = parameter.data().asnumpy()
    values[(1, *(0,) * (values.ndim - 1))] = bad if where != "running_var" else -1.0
    parameter.set_data(mx.nd.array(values))
    granularity = "tensor-wise" if tensor_wise else "channel-wise"
    with pytest.raises(ArgumentError, match="the weight of layer 'first_fwd', of .*NaN or inf"):
        tools.quantize_net_v2(
            net, calib_mode="none", data_shapes=[(1, 2, 2, 2)], quantize_granularity=granularity
        )


# --- networks whose forward is written in mx.nd ---------------------------------------------------
class InArrays(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.one, self.other = nn.Dense(8, in_units=5), nn.Dense(2, in_units=8)
        self.shift = mx.nd.array([0.5] * 8)

    def forward(self, x):
        return self.other(mx.nd.relu(self.one(x)) + self.shift)


@pytest.mark.parametrize("aware", [False, True])
def test_a_forward_of_arrays(aware):
    x = mx.nd.array(X)
    net, wanted = ready(InArrays(), x)

    def quantized():
        if not aware:
            return tools.quantize_net(net, calib_mode="naive", calib_data=[x])
        rounded = tools.prepare_qat(net)
        with mx.autograd.train_mode():
            rounded(x)
        return tools.convert(rounded)

    with pytest.raises(TypeError, match="no graph: .*hybridize it and call it once with 1 array"):
        quantized()
    net.hybridize()
    net(x)
    small = quantized()
    assert lost(small(x).asnumpy(), wanted.asnumpy()) < 0.03
    assert operators(symbol_of(small)).count("_int8_fully_connected") == 2
