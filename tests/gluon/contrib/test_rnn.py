"""cynet.gluon.contrib.rnn against MXNet 1.9.1, and variational dropout against its definition.

Expected values: tests/fixtures/gluon_contrib.py.
"""

from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.gluon import contrib, rnn
from tests.fixtures import gluon_contrib as given

FOUND = np.load(Path(given.__file__).with_name("gluon_contrib.npz"))
NAMES = sorted({key.rpartition("/")[0] for key in FOUND.files})


@pytest.fixture(scope="module")
def computed():
    return given.cases(mx)


@pytest.mark.parametrize("name", NAMES)
def test_values(name, computed):
    """Outputs, last states and norms of gradients; also of the pixel shuffles."""
    assert set(NAMES) == set(computed)
    for i, array in enumerate(computed[name]):
        np.testing.assert_allclose(array, FOUND[f"{name}/{i}"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", given.CELLS)
def test_hybridized(name):
    """The same outputs from the graph of a step."""
    shape, *rest = given.CELLS[name]
    cell = getattr(contrib.rnn, name)(shape, *rest)
    cell.initialize()
    data = mx.nd.array(given.weights.images((2, *shape)))
    states = cell.begin_state(2)
    eager = cell(data, states)
    cell.hybridize()
    graph = cell(data, states)
    np.testing.assert_allclose(graph[0].asnumpy(), eager[0].asnumpy(), rtol=1e-5, atol=1e-6)
    assert len(graph[1]) == len(eager[1])


def test_names_and_repr_of_convolutional_cells():
    with mx.name.NameManager():
        cells = [getattr(contrib.rnn, name)(*args) for name, args in given.CELLS.items()]
    assert [cell.prefix for cell in cells[:4]] == [
        "conv_rnn0_",
        "conv_lstm0_",
        "conv_gru0_",
        "conv_rnn1_",
    ]
    assert repr(cells[4]) == "Conv2DLSTMCell(3 -> 16, tanh, NCHW)"
    assert {k: v.shape for k, v in cells[4].params.items()} == {
        "conv_lstm1_i2h_weight": (16, 3, 3, 3),
        "conv_lstm1_h2h_weight": (16, 4, 3, 5),
        "conv_lstm1_i2h_bias": (16,),
        "conv_lstm1_h2h_bias": (16,),
    }
    assert cells[3].state_info(5) == [{"shape": (5, 4, 6, 7), "__layout__": "NCHW"}]


def test_channels_last():
    cell = contrib.rnn.Conv2DRNNCell((8, 9, 3), 5, 3, 3, i2h_pad=1, conv_layout="NHWC")
    assert cell.state_info(2) == [{"shape": (2, 8, 9, 5), "__layout__": "NHWC"}]
    shapes = [each.shape for each in cell.params.values()]
    assert shapes == [(5, 3, 3, 3), (5, 3, 3, 5), (5,), (5,)]


def test_refused_convolutional_cells():
    with pytest.raises(AssertionError, match="h2h_kernel must be odd, .* got 2"):
        contrib.rnn.Conv2DRNNCell((3, 8, 8), 5, 3, 2)
    with pytest.raises(AssertionError, match="input_shape is an int or 3 ints"):
        contrib.rnn.Conv2DRNNCell((3, 8), 5, 3, 3)
    with pytest.raises(AssertionError, match="i2h_kernel is an int or 2 ints"):
        contrib.rnn.Conv2DRNNCell((3, 8, 8), 5, (3, 3, 3), 3)
    with pytest.raises(AssertionError, match="layout is 'NCHW' or 'NHWC'"):
        contrib.rnn.Conv2DRNNCell((3, 8, 8), 5, 3, 3, conv_layout="NCW")
    with pytest.raises(ValueError, match=r"inputs \(3, 2\) are smaller than i2h_kernel \(5,\)"):
        contrib.rnn.Conv1DRNNCell((3, 2), 5, 5, 3)


def test_lstmp():
    with mx.name.NameManager():
        cell = contrib.rnn.LSTMPCell(4, 2)
    assert repr(cell) == "LSTMPCell(None -> 16 -> 2)"
    assert list(cell.params) == [
        f"lstmp0_{name}"
        for name in ("i2h_weight", "h2h_weight", "h2r_weight", "i2h_bias", "h2h_bias")
    ]
    assert [info["shape"] for info in cell.state_info(3)] == [(3, 2), (3, 4)]


@pytest.mark.parametrize("rates", [(0.5, 0, 0), (0, 0.5, 0), (0, 0, 0.5), (0.3, 0.4, 0.5)])
def test_variational_dropout_leaves_out_the_same_at_all_steps(rates, rng):
    """A network of plain sums shows each mask: the input's, the first state's, the output's."""

    class Sum(rnn.HybridRecurrentCell):
        def state_info(self, batch_size=0):
            return [{"shape": (batch_size, 40), "__layout__": "NC"}] * 2

        def hybrid_forward(self, F, x, states):
            return x + states[0] + states[1], [F.ones_like(x) * 10, states[1]]

    x = rng.random((5, 2, 40)).astype(np.float32) + 1
    cell = contrib.rnn.VariationalDropoutCell(Sum(), *rates)
    begin = [mx.nd.full((2, 40), 10), mx.nd.full((2, 40), 100)]
    with mx.autograd.train_mode():
        outputs, states = cell.unroll(
            5, mx.nd.array(x), begin_state=begin, layout="TNC", merge_outputs=True
        )
    got = outputs.asnumpy()
    drop_inputs, drop_states, drop_outputs = rates
    kept = got[0] > 0 if drop_outputs else np.ones((2, 40), bool)
    assert not got[:, ~kept].any()
    if drop_outputs:
        got = got * (1 - drop_outputs)
        assert 10 < kept.sum() < 70
    rest = got - 100 * kept  # the second state is never dropped
    state = np.where(rest[0] > 5, 10 / (1 - drop_states), 0)
    given_x = rest - state * kept
    dropped = np.abs(given_x[0]) < 1e-3
    wanted = np.where(dropped, 0, x / (1 - drop_inputs)) * kept
    np.testing.assert_allclose(given_x, wanted, atol=1e-3)
    if drop_states:
        count = kept.sum()
        spread = 5 * np.sqrt(drop_states * (1 - drop_states) / count)
        assert abs((state[kept] == 0).mean() - drop_states) <= spread
    else:
        assert (state[kept] == 10).all()
    assert (dropped & kept).any() == bool(drop_inputs)
    assert (states[0].asnumpy() > 0).any()


def test_variational_dropout_draws_anew_for_each_sequence():
    mx.random.seed(3)
    cell = contrib.rnn.VariationalDropoutCell(rnn.RNNCell(30), drop_inputs=0.5)
    cell.initialize()
    x = mx.nd.ones((1, 2, 30))
    with mx.autograd.train_mode():
        first, again = (cell.unroll(2, x, merge_outputs=True)[0].asnumpy() for _ in range(2))
    assert np.abs(first - again).max() > 1e-3
    without = cell.unroll(2, x, merge_outputs=True)[0].asnumpy()
    np.testing.assert_array_equal(without, cell.unroll(2, x, merge_outputs=True)[0].asnumpy())


def test_variational_dropout_hybridized():
    """Masks outlive a step also where the base cell runs as a graph."""
    cell = contrib.rnn.VariationalDropoutCell(rnn.RNNCell(2, input_size=50), drop_inputs=0.5)
    cell.initialize(mx.init.One())
    cell.hybridize()
    x = mx.nd.array(np.random.RandomState(0).rand(1, 1, 50)) / 100
    x = mx.nd.concat(x, x, dim=1)
    begin = [mx.nd.zeros((1, 2))]
    with mx.autograd.train_mode():
        cell.reset()
        outputs = [cell(x[:, i], begin)[0].asnumpy() for i in range(2)]
    np.testing.assert_array_equal(*outputs)


def test_variational_dropout_refused():
    both = rnn.BidirectionalCell(rnn.LSTMCell(3), rnn.LSTMCell(3))
    stack = rnn.SequentialRNNCell()
    stack.add(rnn.BidirectionalCell(rnn.LSTMCell(3), rnn.LSTMCell(3)))
    for base in (both, stack):
        with pytest.raises(
            AssertionError, match="put VariationalDropoutCell around the cells inside"
        ):
            contrib.rnn.VariationalDropoutCell(base, drop_states=0.1)
    cell = contrib.rnn.VariationalDropoutCell(both, drop_inputs=0.1, drop_outputs=0.1)
    cell.initialize()
    outputs, states = cell.unroll(3, mx.nd.ones((2, 3, 4)), merge_outputs=True)
    assert outputs.shape == (2, 3, 6) and len(states) == 4
    assert cell.prefix.endswith("vardrop")
    assert repr(cell).startswith("VariationalDropoutCell(drop_inputs=0.1, drop_states=0.0, ")


@pytest.mark.parametrize("layout", ["TNC", "NTC"])
@pytest.mark.parametrize("lengths", [None, [2, 4, 1]])
def test_dynamic_unroll_of_symbols(layout, lengths):
    """A loop gives what the steps one by one give."""
    cell = rnn.HybridSequentialRNNCell()
    cell.add(rnn.LSTMCell(3, input_size=2))
    cell.add(rnn.ResidualCell(rnn.GRUCell(3, input_size=3)))
    cell.initialize(mx.init.Uniform(1))
    unroll = contrib.rnn.rnn_cell.dynamic_unroll
    shape = (4, 3, 2) if layout == "TNC" else (3, 4, 2)
    x = mx.nd.array(given.weights.images(shape))
    begin = [mx.nd.array(given.weights.images((3, 3))) for _ in range(3)]
    valid = None if lengths is None else mx.nd.array(lengths)
    outputs, states = unroll(cell, x, begin, layout=layout, valid_length=valid)
    names = ["s0", "s1", "s2"]
    length = None if lengths is None else mx.sym.var("length")
    made, last = unroll(
        cell, mx.sym.var("x"), list(map(mx.sym.var, names)), layout=layout, valid_length=length
    )
    args = {name: each.data() for name, each in cell.collect_params().items()}
    args.update(zip(names, begin), x=x)
    if lengths is not None:
        args["length"] = valid
    found = mx.sym.Group([made, *last]).bind(mx.cpu(), args).forward()
    for a, b in zip([outputs, *states], found):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), 1e-5, 1e-6)


def test_dynamic_unroll_of_symbols_drops_the_same_at_all_steps():
    unroll = contrib.rnn.rnn_cell.dynamic_unroll
    cell = rnn.RNNCell(50, input_size=2)
    cell.initialize(mx.init.Uniform(1))
    made, _ = unroll(cell, mx.sym.var("x"), [mx.sym.var("s")], drop_outputs=0.5)
    args = {name: each.data() for name, each in cell.collect_params().items()}
    args.update(x=mx.nd.ones((4, 1, 2)), s=mx.nd.zeros((1, 50)))
    dropped = made.bind(mx.cpu(), args).forward(is_train=True)[0].asnumpy() == 0
    assert (dropped.all(axis=0) == dropped.any(axis=0)).all() and 5 < dropped[0].sum() < 45
    with pytest.raises(ValueError, match="keeps something from step to step"):
        unroll(rnn.ZoneoutCell(cell, 0.5), mx.sym.var("x"), [mx.sym.var("s")])


@pytest.mark.parametrize("what", ["dynamic_unroll", "unroll", "stack"])
def test_inside_a_hybridized_block(what):
    """Cells unrolled by a Block give the same outputs as its graph, and train by it."""

    class Net(mx.gluon.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                if what == "stack":
                    self.cell = rnn.HybridSequentialRNNCell()
                    self.cell.add(contrib.rnn.LSTMPCell(5, 3))
                    self.cell.add(rnn.GRUCell(2))
                else:
                    base = contrib.rnn.LSTMPCell(5, 3, input_size=6)
                    self.cell = contrib.rnn.VariationalDropoutCell(base, 0.5, 0.0, 0.5)

        def forward(self, x):
            if what == "dynamic_unroll":
                begin = [mx.nd.zeros((2, 3)), mx.nd.zeros((2, 5))]
                return contrib.rnn.rnn_cell.dynamic_unroll(self.cell, x, begin, layout="NTC")[0]
            return self.cell.unroll(4, x, layout="NTC", merge_outputs=True)[0]

    net = Net()
    net.initialize()
    x = mx.nd.array(given.weights.images((2, 4, 6)))
    eager = net(x).asnumpy()
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), eager, rtol=1e-5, atol=1e-6)
    with mx.autograd.record():
        y = net(x)
    y.backward()
    grads = [each.grad().asnumpy() for each in net.collect_params().values()]
    assert all(np.abs(each).max() > 0 for each in grads)
    if what == "unroll":  # the outputs that are left out are so at all steps
        dropped = y.asnumpy() == 0
        assert (dropped.all(axis=1) == dropped.any(axis=1)).all()
