"""Recurrent layers and cells: values of MXNet 1.9.1, names, files, unrolling."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd
from cynet.gluon import rnn


@pytest.fixture(autouse=True)
def names():
    with mx.name.NameManager():
        yield


def ones(layer):
    layer.initialize(mx.init.One())
    return layer


def near(array, wanted, tolerance=1e-5):
    np.testing.assert_allclose(array.asnumpy(), wanted, rtol=tolerance, atol=1e-6)


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize(
    "layer, x, wanted",
    [
        (lambda: rnn.LSTM(2), 1, [0.6082835, 0.9077342]),
        (lambda: rnn.GRU(2), 0.1, [0.0888517, 0.1732081]),
        (lambda: rnn.RNN(2), 0.1, [0.2, 0.6]),
        (lambda: rnn.RNN(2, activation="tanh"), 0.1, [0.1973753, 0.5333037]),
    ],
)
def test_values(layer, x, wanted, hybrid):
    layer = ones(layer())
    if hybrid:
        layer.hybridize()
    out = layer(nd.ones((2, 1, 2)) * x)
    near(out, np.repeat(np.reshape(wanted, (2, 1, 1)), 2, axis=2), 1e-4)


def test_states():
    layer = ones(rnn.LSTM(2))
    out, (h, c) = layer(nd.ones((2, 1, 2)), layer.begin_state(1))
    near(h, [[[0.9077342] * 2]])
    near(c, [[[1.7747489] * 2]])
    assert out.shape == (2, 1, 2)
    assert [each.shape for each in rnn.LSTM(3, 2, bidirectional=True).begin_state(4)] == [
        (4, 4, 3)
    ] * 2
    assert [each.shape for each in rnn.GRU(3, 2).begin_state(4)] == [(2, 4, 3)]
    assert rnn.GRU(3).state_info(1) == [
        {"shape": (1, 1, 3), "__layout__": "LNC", "dtype": "float32"}
    ]
    gru = ones(rnn.GRU(2))
    bare = gru(nd.ones((2, 1, 2)), nd.zeros((1, 1, 2)))
    assert bare[0].shape == (2, 1, 2) and len(bare[1]) == 1
    with pytest.raises(ValueError, match="states of shapes .* are expected"):
        gru(nd.ones((2, 1, 2)), nd.zeros((1, 3, 2)))
    with pytest.raises(AssertionError, match="layout is 'TNC' or 'NTC', got 'CTN'"):
        rnn.GRU(2, layout="CTN")


@pytest.mark.parametrize(
    "layer, rows, wide",
    [
        (lambda **kw: rnn.LSTM(4, 2, **kw), 16, 4),
        (lambda **kw: rnn.GRU(4, 2, **kw), 12, 4),
        (lambda **kw: rnn.RNN(4, 2, **kw), 4, 4),
    ],
)
def test_shapes(layer, rows, wide):
    plain, both = ones(layer()), ones(layer(bidirectional=True))
    assert plain(nd.ones((5, 2, 3))).shape == (5, 2, 4)
    assert both(nd.ones((5, 2, 3))).shape == (5, 2, 8)
    shapes = [each.shape for each in plain.collect_params().values()]
    assert shapes[:4] == [(rows, 3), (rows, 4), (rows,), (rows,)] and shapes[4] == (rows, 4)
    names = [name.removeprefix(both.prefix) for name in both.collect_params()]
    assert names[4] == "r0_i2h_weight" and names[8] == "l1_i2h_weight"
    assert both.l1_i2h_weight.shape == (rows, 8)
    turned = ones(layer(layout="NTC"))
    assert turned(nd.ones((2, 5, 3))).shape == (2, 5, 4)


def test_deep_and_bidirectional():
    layer = ones(rnn.LSTM(2, 6, bidirectional=True))
    first = [[0.7204564, 0.7204564, 0.9521521, 0.9521521]] * 2
    near(layer(nd.ones((2, 2, 2))), [first, [row[::-1] for row in first]], 1e-4)


def test_gate_order():
    h, c = nd.array([[0.3]]), nd.array([[0.7]])
    found = []
    for gate in range(4):
        cell = rnn.LSTMCell(1, input_size=1)
        cell.initialize(mx.init.Zero())
        bias = np.zeros(4)
        bias[gate] = 5
        cell.i2h_bias.set_data(bias)
        found.append(cell(nd.zeros((1, 1)), [h, c])[0].asscalar())
    np.testing.assert_allclose(found, [0.1681878, 0.3006928, 0.3455229, 0.3341242], rtol=1e-5)
    found = []
    for gate in range(3):
        cell = rnn.GRUCell(1, input_size=1)
        cell.initialize(mx.init.Zero())
        cell.h2h_bias.set_data([0, 0, 0.5])
        bias = np.zeros(3)
        bias[gate] = 5
        cell.i2h_bias.set_data(bias)
        found.append(cell(nd.zeros((1, 1)), [h])[0].asscalar())
    np.testing.assert_allclose(found, [0.3797407, 0.2996314, 0.6499725], rtol=1e-5)


def test_unrolling():
    cell = ones(rnn.RNNCell(2))
    outputs, states = cell.unroll(3, nd.ones((1, 3, 2)))
    wanted = [0.9640276, 0.9992639, 0.9993258]
    assert isinstance(outputs, list) and len(states) == 1
    assert [each.shape for each in outputs] == [(1, 2)] * 3
    one = ones(rnn.RNNCell(1, input_size=1))
    outputs, _ = one.unroll(3, nd.ones((1, 3, 1)))
    near(nd.concat(*outputs, dim=1), [[0.7615942, 0.9426808, 0.9597461]])
    assert cell.unroll(3, nd.ones((1, 3, 2)), merge_outputs=True)[0].shape == (1, 3, 2)
    merged, _ = cell.unroll(3, nd.ones((3, 1, 2)), layout="TNC", merge_outputs=True)
    assert merged.shape == (3, 1, 2)
    assert isinstance(cell.unroll(2, [nd.ones((1, 2))] * 2)[0], list)
    with pytest.raises(AssertionError, match="layout NTC, has 3 steps, length is 4"):
        cell.unroll(4, nd.ones((1, 3, 2)))
    del wanted


def test_lengths():
    cell = ones(rnn.RNNCell(1))
    outputs, states = cell.unroll(3, nd.ones((2, 3, 1)), valid_length=nd.array([1, 3]))
    near(outputs, [[[0.7615942], [0], [0]], [[0.7615942], [0.9426808], [0.9597461]]])
    near(states[0], [[0.7615942], [0.9597461]])


def test_bidirectional_cell():
    cell = ones(rnn.BidirectionalCell(rnn.RNNCell(1), rnn.RNNCell(1)))
    outputs, states = cell.unroll(2, nd.array([[[1], [2]]]), merge_outputs=True)
    near(outputs, [[[0.7615942, 0.9613959], [0.9920456, 0.9640276]]])
    near(states[0], [[0.9920456]])
    near(states[1], [[0.9613959]])
    with pytest.raises(NotImplementedError, match="a BidirectionalCell has no single steps"):
        cell(nd.ones((1, 1)), states)
    with pytest.raises(AssertionError, match="a BidirectionalCell has no steps"):
        rnn.ZoneoutCell(cell)
    outputs, _ = cell.unroll(
        3, nd.ones((2, 3, 1)), valid_length=nd.array([1, 3]), merge_outputs=True
    )
    assert (outputs.asnumpy()[0, 1:] == 0).all()
    assert outputs.asnumpy()[0, 0] == pytest.approx(0.7615942, rel=1e-5)


def test_modifiers():
    cell = rnn.ResidualCell(rnn.RNNCell(2, input_size=2))
    cell.initialize(mx.init.Zero())
    x = nd.array([[3, 4]])
    near(cell(x, cell.begin_state(batch_size=1, func=nd.zeros))[0], [[3, 4]])
    assert isinstance(cell.begin_state(batch_size=1)[0], nd.NDArray)  # a symbol in MXNet
    told = "is inside of a modifier .*call that one instead"
    with pytest.raises(AssertionError, match=told):
        cell.base_cell.begin_state(batch_size=1)
    assert rnn.ResidualCell(rnn.LSTMCell(2, prefix="lstm3_")).prefix == "lstm3_residualcell"
    assert rnn.ZoneoutCell(rnn.LSTMCell(2, prefix="lstm2_")).prefix == "lstm2_zoneout"
    zone = ones(rnn.ZoneoutCell(rnn.RNNCell(20), 0.5, 0.5))
    with autograd.record():
        outputs, states = zone.unroll(2, nd.ones((1, 2, 1)))
    assert 0 < (outputs[0].asnumpy() == 0).mean() < 1
    outputs, states = zone.unroll(2, nd.ones((1, 2, 1)))
    assert (outputs[0].asnumpy() > 0).all() and len(states) == 1


def test_stacks():
    stack = rnn.SequentialRNNCell()
    stack.add(rnn.LSTMCell(2))
    stack.add(rnn.GRUCell(3))
    ones(stack)
    out, states = stack(nd.ones((1, 4)), stack.begin_state(batch_size=1))
    assert out.shape == (1, 3) and [each.shape for each in states] == [(1, 2), (1, 2), (1, 3)]
    assert len(stack) == 2 and isinstance(stack[1], rnn.GRUCell)
    outputs, _ = stack.unroll(3, nd.ones((1, 3, 4)), merge_outputs=True)
    assert outputs.shape == (1, 3, 3)


def test_lstm_bias():
    cell = rnn.LSTMCell(2, i2h_bias_initializer=mx.init.LSTMBias(1.0))
    cell.initialize()
    assert cell.i2h_bias.data().asnumpy().tolist() == [0, 0, 1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize(
    "kind",
    [
        rnn.LSTM,
        rnn.GRU,
        rnn.RNN,
        lambda *a, **kw: rnn.RNN(*a, activation="tanh", **kw),
        lambda *a, **kw: rnn.LSTM(5, *a[1:], projection_size=3, **kw),
    ],
)
def test_layers_and_cells_agree(kind, layers, both, rng):
    layer = kind(3, layers, bidirectional=both, input_size=4)
    layer.initialize(mx.init.Normal(0.5))
    cells = layer._unfuse()
    x = nd.array(rng.normal(size=(5, 2, 4)))
    head = nd.array(rng.normal(size=(5, 2, 6 if both else 3)))
    found = []
    for run in (layer, lambda x: cells.unroll(5, x, layout="TNC", merge_outputs=True)[0]):
        with autograd.record():
            out = run(x)
        out.backward(head)
        grads = [each.grad().asnumpy().copy() for each in layer.collect_params().values()]
        found.append([out.asnumpy(), *grads])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_projection():
    """Names, shapes and the order of parameters of MXNet 1.9.1."""
    layer = rnn.LSTM(5, 2, input_size=4, projection_size=3, prefix="l_")
    assert [(name, each.shape) for name, each in layer.collect_params().items()][:5] == [
        ("l_l0_i2h_weight", (20, 4)),
        ("l_l0_h2h_weight", (20, 3)),
        ("l_l0_i2h_bias", (20,)),
        ("l_l0_h2h_bias", (20,)),
        ("l_l0_h2r_weight", (3, 5)),
    ]
    assert [each["shape"] for each in layer.state_info(2)] == [(2, 2, 3), (2, 2, 5)]
    layer.initialize()
    out, states = layer(nd.ones((6, 2, 4)), layer.begin_state(2))
    assert [each.shape for each in (out, *states)] == [(6, 2, 3), (2, 2, 3), (2, 2, 5)]
    with pytest.raises(mx.MXNetError, match="projection_size is 0, expected >= 1"):
        rnn.LSTM(5, projection_size=0)


@pytest.mark.parametrize("layers, rate", [(1, 0.5), (2, 0.25), (3, 0.25)])
def test_dropout_between_layers(layers, rate, seed):
    """MXNet ignores it on the CPU. Layers that hand on what they get show each mask."""
    mx.random.seed(seed)
    size, steps, batch = 100, 4, 10
    layer = rnn.RNN(size, layers, activation="relu", dropout=rate, input_size=size)
    layer.initialize(mx.init.Zero())
    for i in range(layers):
        getattr(layer, f"l{i}_i2h_weight").set_data(nd.array(np.eye(size)))
    x = nd.ones((steps, batch, size))
    assert (layer(x).asnumpy() == 1).all()
    with autograd.train_mode():
        found = layer(x).asnumpy()
    kept = (1 - rate) ** (layers - 1)  # not behind the last one
    np.testing.assert_allclose(found[found != 0], 1 / kept, rtol=1e-6)
    spread = 5 * np.sqrt(kept * (1 - kept) / found.size)
    assert abs((found != 0).mean() - kept) <= spread
    masks = (found != 0).reshape(steps, -1)
    assert layers == 1 or len({mask.tobytes() for mask in masks}) == steps  # one for each step


@pytest.mark.parametrize("merge", [False, None, True])
@pytest.mark.parametrize("lengths", [None, [1, 3]])
def test_unrolling_a_residual_cell(merge, lengths, rng):
    x = nd.array(rng.normal(size=(2, 3, 4)))
    base = rnn.RNNCell(4, input_size=4)
    base.initialize(mx.init.Normal(0.5))
    valid = None if lengths is None else nd.array(lengths)
    out, states = rnn.ResidualCell(base).unroll(
        3, x, layout="NTC", merge_outputs=merge, valid_length=valid
    )
    steps, last = x.asnumpy(), np.zeros((2, 4))
    weights = [each.data().asnumpy() for each in base.collect_params().values()]
    i2h, h2h, i2h_bias, h2h_bias = weights
    wanted, hidden = [], []
    for t in range(3):
        last = np.tanh(steps[:, t] @ i2h.T + i2h_bias + last @ h2h.T + h2h_bias)
        within = np.array(lengths or [3, 3])[:, None] > t
        wanted.append((last + steps[:, t]) * within)
        hidden.append(last)
    ends = [hidden[n - 1][i] for i, n in enumerate(lengths or [3, 3])]
    assert isinstance(out, list) == (merge is False or (merge is None and lengths is None))
    got = np.stack([each.asnumpy() for each in out], 1) if isinstance(out, list) else out.asnumpy()
    np.testing.assert_allclose(got, np.stack(wanted, 1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(states[0].asnumpy(), ends, rtol=1e-5, atol=1e-6)


def test_names_in_files(tmp_path):
    path = str(tmp_path / "a.params")
    layer = ones(rnn.LSTM(2, bidirectional=True, input_size=3))
    layer.save_parameters(path)
    found = list(nd.load(path))
    assert found[0] == "_unfused.0.l_cell.i2h_weight" and found[-1] == "_unfused.0.r_cell.h2h_bias"
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(3, flatten=False), rnn.GRU(2))
    ones(net)(nd.ones((2, 1, 2)))
    net.save_parameters(path)
    assert list(nd.load(path))[2:4] == ["1._unfused.0.i2h_weight", "1._unfused.0.h2h_weight"]
    net.initialize(mx.init.Zero(), force_reinit=True)
    net.load_parameters(path)
    assert net[1].l0_i2h_weight.data().asnumpy().all()


def test_symbols():
    layer = rnn.LSTM(3, prefix="l_")
    assert layer(mx.sym.var("data")).list_arguments() == [
        "data",
        "l_l0_i2h_weight",
        "l_l0_h2h_weight",
        "l_l0_i2h_bias",
        "l_l0_h2h_bias",
    ]
    cell = rnn.RNNCell(2, prefix="rnn_")
    outputs, _ = cell.unroll(2, [mx.sym.var("t0"), mx.sym.var("t1")])
    group = mx.sym.Group(outputs)
    assert group.list_outputs() == ["rnn_t0_out_output", "rnn_t1_out_output"]
    assert group.list_arguments() == [
        "t0",
        "rnn_i2h_weight",
        "rnn_i2h_bias",
        "rnn_h2h_weight",
        "rnn_h2h_bias",
        "t1",
    ]
    both = rnn.BidirectionalCell(
        rnn.RNNCell(2, prefix="l_"), rnn.RNNCell(2, prefix="r_"), output_prefix="rnn_bi_"
    )
    outputs, _ = both.unroll(2, [mx.sym.var("t0"), mx.sym.var("t1")])
    assert mx.sym.Group(outputs).list_outputs() == ["rnn_bi_t0_output", "rnn_bi_t1_output"]
    assert both.prefix == "" and rnn.DropoutCell(0.5).prefix == "dropout0_"
    assert rnn.LSTM(2).prefix == "lstm0_" and rnn.LSTMCell(2).prefix == "lstm1_"


@pytest.mark.parametrize("kind", [rnn.LSTMCell, rnn.GRUCell, rnn.RNNCell])
def test_hybridized_cells(kind, rng):
    cell = kind(3)
    cell.initialize(mx.init.Normal(0.5))
    x = nd.array(rng.normal(size=(2, 4, 5)))
    wanted, _ = cell.unroll(4, x, merge_outputs=True)
    cell.hybridize()
    found, _ = cell.unroll(4, x, merge_outputs=True)
    np.testing.assert_allclose(wanted.asnumpy(), found.asnumpy(), rtol=1e-5)
