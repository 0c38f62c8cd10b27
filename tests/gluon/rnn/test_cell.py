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
