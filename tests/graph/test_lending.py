"""Which arguments a step may read where a batch lies: only what it reads first, once, and whole."""

from types import SimpleNamespace

import pytest

import cynet as mx
from cynet.graph.lending import lendable_inputs


@pytest.fixture(autouse=True)
def _all_passes(monkeypatch):
    monkeypatch.setenv("CYNET_GRAPH_PASSES", "all")


def _dense(data, name="fc", **options):
    return mx.sym.FullyConnected(data, num_hidden=4, name=name, **options)


def _lendable(net, grad_req="write", **shapes):
    """Names of the arguments that a FullyConnected step copies, with the names of the steps."""
    graph = net.simple_bind(mx.cpu(), grad_req=grad_req, **shapes)._graph
    operators = {
        step.origin or step: SimpleNamespace(
            copies_input="FullyConnected" in type((step.origin or step).prop).__name__
        )
        for step in graph.steps
    }
    names = {value: name for name, value in graph.args.items()}
    found = lendable_inputs(graph, operators)
    return {names[value]: graph.steps[index].name for value, index in found.items()}


DATA, OTHER = mx.sym.var("data"), mx.sym.var("other")
SHARED = mx.sym.var("weight")


@pytest.mark.parametrize(
    "net, wanted",
    [
        (_dense(DATA), {"data": "fc"}),
        (_dense(_dense(DATA, "a"), "b"), {"data": "a"}),
        (_dense(DATA, "a") + _dense(DATA, "b"), {"data": "a"}),  # the second reads the copy
        (_dense(DATA, "a") + _dense(OTHER, "b"), {"data": "a", "other": "b"}),
        (mx.sym.Group([_dense(DATA, "a"), mx.sym.exp(DATA)]), {"data": "a"}),
        (mx.sym.Group([mx.sym.exp(DATA), _dense(DATA, "a")]), {}),  # exp reads it before
        (mx.sym.exp(DATA), {}),
        (mx.sym.FullyConnected(DATA, DATA, no_bias=True, num_hidden=6, name="square"), {}),
        (_dense(mx.sym.reshape(DATA, shape=(3, 12))), {"data": "fc"}),  # the same memory
        (mx.sym.FullyConnected(DATA, SHARED, no_bias=True, num_hidden=4, name="a"), {"data": "a"}),
        (mx.sym.FullyConnected(mx.sym.ones((2, 6)), DATA, no_bias=True, num_hidden=6), {}),
    ],
)
def test_what_is_read_first(net, wanted):
    shapes = {"data": (6, 6)}
    if "other" in net.list_arguments():
        shapes["other"] = (6, 5)
    assert _lendable(net, **shapes) == wanted


def test_not_what_kept_values_are_made_of():
    """At prediction scaled weights stay as long as nobody writes those they are made of."""
    product = mx.sym.FullyConnected(OTHER, SHARED, num_hidden=6, name="b")
    net = mx.sym.Group([_dense(SHARED, "a"), mx.sym.BatchNorm(product, name="norm")])
    shapes = {"other": (3, 7), "weight": (6, 7)}
    assert _lendable(net, "null", **shapes) == {"other": "b"}
    assert _lendable(net, "write", **shapes) == {"weight": "a", "other": "b"}
