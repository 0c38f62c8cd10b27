"""print_summary and plot_network."""

import sys

import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, CynetError


def network():
    net = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=8, name="conv")
    net = mx.sym.Activation(net, act_type="relu", name="relu")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net, name="flat"), num_hidden=10, name="fc")
    return mx.sym.SoftmaxOutput(net + net, name="softmax")


def test_summary(capsys):
    mx.viz.print_summary(network(), shape={"data": (2, 3, 8, 8)})
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split() for line in lines if not line.startswith(("_", "="))]
    assert ["data(null)", "3x8x8", "0"] in rows
    assert ["conv(Convolution)", "8x6x6", "224", "data"] in rows
    assert ["pool(Pooling)", "8x3x3", "0", "relu"] in rows
    assert ["fc(FullyConnected)", "10", "730", "flat"] in rows
    assert ["Total", "params:", "954"] in rows
    assert rows.count(["fc"]) == 1  # the second input of the sum
    assert not any("softmax_label" in line for line in lines)
    assert {len(line) for line in lines if line.startswith("_")} == {120}


def test_summary_counts_shared_weights_once(capsys):
    x, w = mx.sym.Variable("x"), mx.sym.Variable("w")
    parts = [mx.sym.FullyConnected(x, w, num_hidden=3, no_bias=True) for _ in range(2)]
    mx.viz.print_summary(parts[0] + parts[1], {"x": (2, 5)})
    assert "Total params: 15\n" in capsys.readouterr().out


def test_summary_without_shapes(capsys):
    mx.viz.print_summary(network(), line_length=80)
    assert "conv(Convolution)" in capsys.readouterr().out


@pytest.mark.parametrize(
    "shape, text", [({"nope": (1,)}, "no argument 'nope'"), ({}, "'data' stays unknown")]
)
def test_summary_wrong_shapes(shape, text):
    with pytest.raises(ArgumentError, match=text):
        mx.viz.print_summary(network(), shape=shape)


def test_not_a_symbol():
    with pytest.raises(TypeError, match="must be a Symbol, got int"):
        mx.viz.print_summary(3)


def test_plot_without_graphviz(monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(CynetError, match=r"plot_network needs the package graphviz: pip install"):
        mx.viz.plot_network(network())


class Digraph:
    """Records what plot_network draws."""

    def __init__(self, name, format):
        self.nodes, self.edges = {}, []

    def node(self, name, label, **attrs):
        self.nodes[name] = label, attrs

    def edge(self, tail, head, label, **attrs):
        self.edges.append((self.nodes[tail][0], self.nodes[head][0], label))


@pytest.fixture
def recorded(monkeypatch):
    module = type(sys)("graphviz")
    module.Digraph = Digraph
    monkeypatch.setitem(sys.modules, "graphviz", module)


@pytest.mark.usefixtures("recorded")
def test_plot():
    dot = mx.viz.plot_network(network(), shape={"data": (2, 3, 8, 8)}, node_attrs={"fontsize": "8"})
    labels = [label for label, _ in dot.nodes.values()]
    assert "Convolution\n3x3/1, 8" in labels and "Pooling\nmax, 2x2/2x2" in labels
    assert "softmax_label" in labels and "conv_weight" not in labels
    assert ("Convolution\n3x3/1, 8", "data", "3x8x8") in dot.edges
    assert all(attrs["fontsize"] == "8" for _, attrs in dot.nodes.values())


@pytest.mark.usefixtures("recorded")
def test_plot_with_weights():
    labels = [v[0] for v in mx.viz.plot_network(network(), hide_weights=False).nodes.values()]
    assert "conv_weight" in labels
