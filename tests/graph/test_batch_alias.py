"""Which argument a step may read where a batch lies: one it reads first, once, and whole."""

from types import SimpleNamespace

import pytest

import cynet as mx
from cynet.graph.batch_alias import fed_input


@pytest.fixture(autouse=True)
def _all_passes(monkeypatch):
    monkeypatch.setenv("CYNET_GRAPH_PASSES", "all")


def _dense(data, name="fc", **options):
    return mx.sym.FullyConnected(data, num_hidden=4, name=name, **options)


def _fed(net, grad_req="write", **shapes):
    """Name of the argument that a FullyConnected step copies, and the step's, or None."""
    graph = net.simple_bind(mx.cpu(), grad_req=grad_req, **shapes)._graph
    operators = {
        step.origin or step: SimpleNamespace(
            copies_input="FullyConnected" in type((step.origin or step).prop).__name__
        )
        for step in graph.steps
    }
    names = {value: name for name, value in graph.args.items()}
    found = fed_input(graph, operators)
    return found and (names[found[0]], graph.steps[found[1]].name)


DATA, OTHER = mx.sym.var("data"), mx.sym.var("other")
SHARED = mx.sym.var("weight")


@pytest.mark.parametrize(
    "net, wanted",
    [
        (_dense(DATA), ("data", "fc")),
        (_dense(_dense(DATA, "a"), "b"), ("data", "a")),
        (_dense(DATA, "a") + _dense(DATA, "b"), ("data", "a")),  # the second reads the copy
        (_dense(DATA, "a") + _dense(OTHER, "b"), ("data", "a")),  # the larger
        (_dense(OTHER, "b") + _dense(DATA, "a"), ("data", "a")),
        (mx.sym.Group([_dense(DATA, "a"), mx.sym.exp(DATA)]), ("data", "a")),
        (mx.sym.Group([mx.sym.exp(DATA), _dense(DATA, "a")]), None),  # exp reads it before
        (mx.sym.exp(DATA), None),
        (mx.sym.FullyConnected(DATA, DATA, no_bias=True, num_hidden=6, name="square"), None),
        (_dense(mx.sym.reshape(DATA, shape=(3, 12))), ("data", "fc")),  # the same memory
        (mx.sym.FullyConnected(DATA, SHARED, no_bias=True, num_hidden=4, name="a"), ("data", "a")),
        (mx.sym.FullyConnected(mx.sym.ones((2, 6)), DATA, no_bias=True, num_hidden=6), None),
    ],
)
def test_what_is_read_first(net, wanted):
    shapes = {"data": (6, 6)}
    if "other" in net.list_arguments():
        shapes["other"] = (6, 5)
    assert _fed(net, **shapes) == wanted


def test_not_what_kept_values_are_made_of():
    """At prediction made weights stay as long as nobody writes those they are made of."""
    product = mx.sym.FullyConnected(OTHER, SHARED * 2, num_hidden=6, name="b")
    net = mx.sym.Group([_dense(SHARED, "a"), product])
    shapes = {"other": (3, 7), "weight": (6, 7)}
    assert _fed(net, "null", **shapes) == ("other", "b")
    assert _fed(net, "write", **shapes) == ("weight", "a")
