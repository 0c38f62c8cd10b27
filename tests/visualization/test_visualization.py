"""print_summary and plot_network."""

import shutil
import sys
import xml.etree.ElementTree as ElementTree

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
    assert ["Trainable", "params:", "954"] in rows and ["Frozen", "params:", "0"] in rows
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
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "grandalf", None)
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(CynetError, match=r"program dot needs the package grandalf: pip install"):
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
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")


def test_without_dot_and_grandalf_graphviz_has_the_text(recorded, monkeypatch):
    """With grandalf the picture is one of cynet's own."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert not isinstance(mx.viz.plot_network(network()), Digraph)
    monkeypatch.setitem(sys.modules, "grandalf", None)
    assert isinstance(mx.viz.plot_network(network()), Digraph)


@pytest.mark.usefixtures("recorded")
def test_plot():
    dot = mx.viz.plot_network(network(), shape={"data": (2, 3, 8, 8)}, node_attrs={"fontsize": "8"})
    labels = [label for label, _ in dot.nodes.values()]
    assert "Convolution\n3x3/1, 8" in labels and "Pooling\nmax, 2x2/2x2" in labels
    assert "softmax_label" in labels and "conv_weight" not in labels
    assert ("Convolution\n3x3/1, 8", "data", "3x8x8") in dot.edges
    assert all(attrs["fontsize"] == "8" for _, attrs in dot.nodes.values())


@pytest.mark.usefixtures("recorded")
def test_what_follows_a_hidden_input_is_drawn():
    weight, start = mx.sym.Variable("w"), mx.sym.Variable("start") * 2
    net = mx.sym.RNN(mx.sym.Variable("data"), weight, start, mode="gru", state_size=2, num_layers=1)
    pairs = [edge[1] for edge in mx.viz.plot_network(net).edges]
    assert "w" not in pairs and "data" in pairs and len(pairs) == 3


@pytest.mark.usefixtures("recorded")
def test_plot_with_weights():
    labels = [v[0] for v in mx.viz.plot_network(network(), hide_weights=False).nodes.values()]
    assert "conv_weight" in labels


def test_frozen_parameters(capsys):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="first")  # 5 x 4
    net = mx.sym.BlockGrad(net)
    slow = mx.sym.var("slow_weight", lr_mult=0)
    net = mx.sym.FullyConnected(net, weight=slow, num_hidden=3, name="slow")  # 12 + 3
    net = mx.sym.BatchNorm(net, name="norm", fix_gamma=True)  # 3 + 3
    net = mx.sym.FullyConnected(net, num_hidden=2, name="last")  # 6 + 2
    mx.viz.print_summary(net, {"data": (2, 4)}, fixed_param_names=["last_bias"])
    out = capsys.readouterr().out
    assert "Total params: 49\n" in out
    assert "Trainable params: 12\n" in out  # slow_bias, beta, last_weight
    assert "Frozen params: 37\n" in out
    with pytest.raises(ArgumentError, match="fixed_param_names has 'nope'"):
        mx.viz.print_summary(net, {"data": (2, 4)}, fixed_param_names=["nope"])


@pytest.fixture
def drawing(monkeypatch):
    pytest.importorskip("grandalf", reason="grandalf is not installed")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    return lambda net, **options: mx.viz.plot_network(net, **options)


def parsed(picture):
    """(boxes, texts, paths) of a picture, which must be XML."""
    root = ElementTree.fromstring(picture._repr_svg_())
    name = "{http://www.w3.org/2000/svg}"
    boxes = [*root.iter(f"{name}rect"), *root.iter(f"{name}ellipse")]
    texts = [each.text for each in root.iter(f"{name}text")]
    return boxes, texts, [p for p in root.iter(f"{name}path") if p.get("stroke")][1:]


def test_a_picture_without_graphviz(drawing, tmp_path):
    picture = drawing(network(), title="lenet <1>", save_format="svg", shape={"data": (2, 3, 8, 8)})
    boxes, texts, paths = parsed(picture)
    assert len(boxes) == 9 and len(paths) == 9  # the sum has two arrows to one layer
    assert {"data", "Convolution", "3x3/1, 8", "3x8x8", "8x6x6"} <= {*texts}
    rows = {}
    for box in boxes:
        if box.tag.endswith("rect"):
            x, y, w, h = (float(box.get(k)) for k in ("x", "y", "width", "height"))
            for a, b, c, d in rows.values():  # no two boxes overlap
                assert x + w <= a or a + c <= x or y + h <= b or b + d <= y
            rows[len(rows)] = (x, y, w, h)
    written = picture.render("net", tmp_path)
    assert written == str(tmp_path / "net.svg")
    assert (tmp_path / "net.svg").read_text() == picture._repr_svg_()
    assert (tmp_path / "net").read_text() == picture.source
    assert picture.source.startswith('digraph "lenet <1>" {')
    with pytest.warns(UserWarning, match="there is no pdf, but SVG"):
        picture.render("again", tmp_path, format="pdf", cleanup=True)
    assert not (tmp_path / "again").exists()


def test_pictures_of_other_networks(drawing, monkeypatch, tmp_path):
    """Parts that hang together nowhere, long and branching networks; `view` opens the file."""
    x = mx.sym.var("x")
    both = mx.sym.Group([mx.sym.relu(x), mx.sym.tanh(mx.sym.var("y"))])
    assert len(parsed(drawing(both))[0]) == 4
    net = x
    for i in range(60):
        net = mx.sym.Activation(net + mx.sym.relu(net), act_type="tanh", name=f"a{i}")
    picture = drawing(net, save_format="svg")
    assert len(parsed(picture)[0]) == 181
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    picture.view("v", tmp_path)
    assert opened == [(tmp_path / "v.svg").as_uri()]
    with pytest.raises(ArgumentError, match="there is no node 'a'"):
        mx.viz.Drawing().edge("a", "b")
