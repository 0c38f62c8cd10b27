"""`_in_format` and `_out_format`: as MXNet 1.9.1 has them; what keeps a Block from being traced."""

import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet import gluon
from cynet.base.errors import StateError
from tests.fixtures.block_formats import CALLS, block, formats, others, steps

EXPECTED = json.loads((Path(__file__).parents[2] / "fixtures" / "block_formats.json").read_text())


@pytest.mark.filterwarnings("ignore:input . of the graph")
@pytest.mark.parametrize("number", range(len(CALLS)))
def test_as_mxnet(number):
    assert steps(mx, *CALLS[number]) == EXPECTED[number]


def test_of_layers_symbols_and_children():
    assert others(mx) == EXPECTED[-1]


def test_they_are_of_the_last_call_that_was_traced():
    """And no reason to trace again."""
    net, x = block(mx, "a * 2 if many is None else a + many"), mx.nd.ones((2, 3))
    net.hybridize()
    net(x)
    graph = net._last_graph()
    net(x)
    assert formats(net) == [[0], 0] and net._last_graph() is graph
    net(x, x)
    assert formats(net) == [[0, 0], 0]
    assert formats(pickle.loads(pickle.dumps(gluon.nn.Dense(2)))) == [None, None]


class Looks(gluon.HybridBlock):
    """At values of its input."""

    def forward(self, x):
        return x if x.sum().asscalar() > 0 else -x


class Takes(gluon.HybridBlock):
    """Anything."""

    def hybrid_forward(self, F, x, other=None):
        return x * 2


def called(net, *args):
    net.initialize()
    net.hybridize()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net(*args)
    return net


def hooked():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(2))
    net[0].register_forward_hook(lambda *_: None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return called(net, mx.nd.ones((1, 3)))


def by_rows():
    net = gluon.nn.Embedding(4, 2, sparse_grad=True)
    with mx.autograd.record():
        return called(net, mx.nd.zeros((2,)))


X = mx.nd.ones((2,))
UNTRACED = {
    "new": (Takes, "hybridize it and call it once"),
    "values": (lambda: called(Looks(), X), "it cannot be traced: .*asscalar"),
    "hooks": (hooked, "it cannot be traced: .*a Block inside has hooks"),
    "an argument": (lambda: called(Takes(), X, object()), "it cannot be traced: .*expected an arr"),
    "sparse": (lambda: called(Takes(), mx.nd.ones((2, 2)).tostype("csr")), "graphs hold dense arr"),
    "gradients by rows": (by_rows, "gradients are row_sparse, .* outside of autograd.record"),
}


@pytest.mark.parametrize("kind", UNTRACED)
def test_export_says_why_there_is_no_graph(kind, tmp_path):
    make, told = UNTRACED[kind]
    net = make()
    with pytest.raises(StateError, match=f"{net.name} has no graph to export: {told}"):
        net.export(str(tmp_path / "net"))
    assert not list(tmp_path.iterdir())


def test_a_reason_that_is_gone(tmp_path):
    """A call that was traced in between has a graph to export."""
    net = called(Takes(), X, object())
    np.testing.assert_array_equal(net(X).asnumpy(), [2, 2])
    net.export(str(tmp_path / "net"))
    assert (tmp_path / "net-symbol.json").exists()
