"""Cells unrolled inside a hybridized Block: one graph, from states that begin as zeros."""

import numpy as np
import pytest

import cynet as mx
from cynet.gluon import rnn


def stack():
    cells = rnn.HybridSequentialRNNCell()
    cells.add(rnn.LSTMCell(3))
    cells.add(rnn.DropoutCell(0.3))
    cells.add(rnn.ResidualCell(rnn.GRUCell(3)))
    return cells


CELLS = {
    "RNNCell": lambda: rnn.RNNCell(3),
    "LSTMCell": lambda: rnn.LSTMCell(3),
    "GRUCell": lambda: rnn.GRUCell(3),
    "ZoneoutCell": lambda: rnn.ZoneoutCell(rnn.LSTMCell(3), 0.2, 0.2),
    "BidirectionalCell": lambda: rnn.BidirectionalCell(rnn.LSTMCell(3), rnn.GRUCell(3)),
    "stack": stack,
}


class Plain(mx.gluon.HybridBlock):
    """A `forward` in mx.nd."""

    def __init__(self, make):
        super().__init__()
        with self.name_scope():
            self.cell = make()

    def forward(self, x, lengths):
        outputs, states = self.cell.unroll(4, x, merge_outputs=True, valid_length=lengths)
        return outputs, states[-1] * 2


class Hybrid(Plain):
    """A `hybrid_forward`."""

    forward = mx.gluon.HybridBlock.forward

    def hybrid_forward(self, F, x, lengths):
        return Plain.forward(self, x, lengths)


@pytest.mark.parametrize("kind", [Plain, Hybrid])
@pytest.mark.parametrize("name", CELLS)
def test_unrolled_in_a_graph(kind, name, rng):
    """The outputs and gradients that the Block gives eagerly."""
    net = kind(CELLS[name])
    net.initialize()
    lengths = mx.nd.array([2, 4])
    inputs = [mx.nd.array(rng.standard_normal((n, 4, 6))) for n in (2, 2)]

    def run(x):
        with mx.autograd.record(train_mode=False):
            out = net(x, lengths)
            total = out[0].square().sum() + out[1].sum()
        total.backward(train_mode=False)
        grads = [each.grad().asnumpy() for each in net.collect_params().values()]
        return [each.asnumpy() for each in out] + grads

    eager = [run(x) for x in inputs]
    net.hybridize()
    for x, wanted in zip(inputs, eager):
        for a, b in zip(run(x), wanted):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [Plain, Hybrid])
def test_a_graph_serves_batches_of_any_size(kind, rng):
    net = kind(CELLS["LSTMCell"])
    net.initialize()
    wanted = {}
    for hybrid in (False, True):
        net.hybridize(hybrid)
        for n in (2, 3, 1):
            mx.random.seed(n)
            x = mx.nd.random.normal(shape=(n, 4, 6))
            out = net(x, mx.nd.full((n,), 3))[0].asnumpy()
            np.testing.assert_allclose(out, wanted.setdefault(n, out), rtol=1e-5, atol=1e-6)


def test_sequences_for_cells_of_ones_own(rng):
    """The helpers that MXNet's cells have, for users' cells; values as of MXNet 1.9.1."""
    form, begin = mx.gluon.rnn.rnn_cell._format_sequence, mx.gluon.rnn.rnn_cell._get_begin_state
    values = rng.normal(size=(2, 3, 4)).astype("f")
    array = mx.nd.array(values)
    whole, axis, face, size = form(3, array, "NTC", None)
    assert whole is array and (axis, face, size) == (1, mx.nd, 2)
    steps, axis, _, _ = form(3, array, "TNC", False, "NTC")
    assert axis == 0 and len(steps) == 3
    np.testing.assert_array_equal(steps[1].asnumpy(), values[:, 1])
    turned = form(3, array, "TNC", True, "NTC")[0]
    np.testing.assert_array_equal(turned.asnumpy(), values.swapaxes(0, 1))
    joined = form(3, steps, "NTC", True)[0]
    np.testing.assert_array_equal(joined.asnumpy(), values)
    symbols, _, face, size = form(3, mx.sym.var("x"), "NTC", False)
    assert len(symbols) == 3 and face is mx.sym and size == 0
    states = begin(mx.gluon.rnn.LSTMCell(5), mx.nd, None, steps, 2)
    assert [state.shape for state in states] == [(2, 5), (2, 5)]
