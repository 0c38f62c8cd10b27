"""Symbol: outputs, names, attributes, inference, copies, files."""

import copy
import pickle

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError, CynetError, FormatError, ShapeError


@pytest.fixture(autouse=True)
def fresh_names():
    with mx.name.NameManager():
        yield


def mlp():
    data = mx.sym.Variable("data")
    net = mx.sym.FullyConnected(data=data, num_hidden=8, name="fc1")
    net = mx.sym.Activation(net, act_type="relu", name="relu1")
    net = mx.sym.FullyConnected(net, num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def test_basics_of_the_walk_through():
    a = mx.sym.Variable("A")
    b = mx.sym.Variable("B")
    d = (a + b) / 10 + 1
    assert d.list_arguments() == ["A", "B"]
    assert d.list_outputs() == ["_plusscalar0_output"]
    args, outs, states = d.infer_shape(A=(10,), B=(10,))
    assert (args, outs, states) == ([(10,), (10,)], [(10,)], [])


def test_given_and_automatic_arguments():
    data, label = mx.sym.Variable("data"), mx.sym.Variable("softmax_label")
    w1, b1 = mx.sym.Variable("weight1"), mx.sym.Variable("bias1")
    l1 = mx.sym.FullyConnected(data=data, num_hidden=128, name="layer1", weight=w1, bias=b1)
    a1 = mx.sym.Activation(data=l1, act_type="relu", name="act1")
    l2 = mx.sym.FullyConnected(data=a1, num_hidden=10, name="layer2")
    net = mx.sym.SoftmaxOutput(data=l2, label=label)
    assert net.list_arguments() == [
        "data",
        "weight1",
        "bias1",
        "layer2_weight",
        "layer2_bias",
        "softmax_label",
    ]
    args, outs, _ = net.infer_shape(data=(128, 784), softmax_label=(128,))
    assert outs == [(128, 10)] and args[3] == (10, 128)


# --- outputs ---
def test_indexing():
    parts = mx.sym.Group([mx.sym.Variable(n) for n in "abc"])
    assert len(parts) == parts.num_outputs == 3
    assert parts[1].name == "b" and parts["c"].name == "c" and parts[-1].name == "c"
    assert parts[0:2].list_outputs() == ["a", "b"] and parts[::2].list_outputs() == ["a", "c"]
    assert [p.name for p in parts] == ["a", "b", "c"]
    assert mlp()[0].name == "softmax"


@pytest.mark.parametrize(
    "index, error, text",
    [
        (3, IndexError, "no output 3; there are 3"),
        (-4, IndexError, "no output -4"),
        ("d", ArgumentError, "no output is named 'd'; outputs: a, b, c"),
        (1.5, ArgumentTypeError, "1.5"),
        (slice(3, 9), IndexError, "none of 3 outputs"),
        (slice("a", "b"), ArgumentTypeError, "expected integers as bounds"),
        (slice(0, 2, 0), ArgumentError, "other than 0"),
        (None, ArgumentTypeError, "None"),
    ],
)
def test_bad_index(index, error, text):
    with pytest.raises(error, match=text):
        mx.sym.Group([mx.sym.Variable(n) for n in "abc"])[index]


def test_ambiguous_name():
    a = mx.sym.Variable("a")
    with pytest.raises(ArgumentError, match="several outputs are named 'a'"):
        mx.sym.Group([a, a])["a"]


def test_internals_and_children():
    net = mlp()
    inner = net.get_internals()
    assert inner.list_outputs()[:4] == ["data", "fc1_weight", "fc1_bias", "fc1_output"]
    assert inner["relu1_output"].list_arguments() == ["data", "fc1_weight", "fc1_bias"]
    assert net.get_children().list_outputs() == ["fc2_output", "softmax_label"]
    assert mx.sym.Variable("x").get_children() is None


def test_names_and_repr():
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    group = mx.sym.Group([a, b + 1])
    assert group.name is None and repr(group) == "<Symbol group [a, _plusscalar0]>"
    assert repr(a) == "<Symbol a>"


def test_duplicate_names_are_told_apart():
    net = mx.sym.Variable("x") + mx.sym.Variable("x")
    assert net.list_arguments() == ["x", "x"]
    assert net.infer_shape((2, 3))[0] == [(2, 3), (2, 3)]


# --- attributes ---
def test_attributes_both_spellings():
    x = mx.sym.Variable("x", lr_mult=2, attr={"ctx_group": "dev", "mood": "calm"})
    assert x.attr("lr_mult") == x.attr("__lr_mult__") == "2"
    assert x.list_attr() == {
        "lr_mult": "2",
        "__lr_mult__": "2",
        "ctx_group": "dev",
        "__ctx_group__": "dev",
        "mood": "calm",
    }
    assert x.attr("nothing") is None and x.attr("name") == "x"
    assert mx.sym.Group([x, x + 1]).attr("lr_mult") is None


def test_set_attr():
    net = mlp()
    net._set_attr(__mood__="calm", lr_mult="3")
    assert net.attr("__mood__") == "calm" and net.attr_dict()["softmax"]["__lr_mult__"] == "3"
    with pytest.raises(ArgumentError, match=r"softmax.*'mood'"):
        net._set_attr(mood="angry")
    with pytest.raises(ArgumentTypeError, match="'__mood__' must be a str, got 3"):
        net._set_attr(__mood__=3)


# --- inference ---
def test_infer_shape_positional_keyword_and_partial():
    net = mlp()
    by_key = net.infer_shape(data=(4, 5))
    assert net.infer_shape((4, 5)) == by_key
    assert net.infer_shape((4, 5), None, (8,)) == by_key
    assert by_key[1] == [(4, 3)]
    args, outs, _ = net.infer_shape_partial(data=(0, 5))
    assert args[0] == (0, 5) and args[1] == (8, 5) and outs == [(0, 3)]
    assert mx.sym.Variable("x").infer_shape_partial() == ([()], [()], [])


def test_incomplete_inference_warns_and_gives_none():
    net = mlp()
    with pytest.warns(UserWarning, match=r"(?s)Cannot decide shape.*\tdata: \(0, 5\)"):
        assert net.infer_shape(data=(0, 5)) == (None, None, None)
    with pytest.warns(UserWarning, match=r"(?s)Cannot decide type.*\tdata: None"):
        assert net.infer_type() == (None, None, None)


@pytest.mark.parametrize(
    "args, kwargs, error, text",
    [
        ((), {"nope": (2,)}, ArgumentError, "no argument 'nope'; arguments: 'data', 'fc1_weight'"),
        (((2, 3),), {"data": (2, 3)}, ArgumentError, "not both"),
        (((2, 3),) * 9, {}, ArgumentError, "9 shapes given for 6 arguments"),
        ((), {"data": 3}, ArgumentTypeError, "'data' must be a tuple of int, got 3"),
        ((), {"data": [2, 3]}, ArgumentTypeError, "'data'"),
        ((), {"data": (2, "a")}, ArgumentTypeError, "'data'"),
        ((), {"data": None}, ArgumentTypeError, "'data'"),
        ((), {"data": (4, 5), "fc1_weight": (8, 6)}, ShapeError, "operator fc1.*weight"),
    ],
)
def test_bad_shapes(args, kwargs, error, text):
    with pytest.raises(error, match=text):
        mlp().infer_shape(*args, **kwargs)


def test_infer_type():
    net = mlp()
    assert net.infer_type(data="float64")[0][1] is np.float64
    assert net.infer_type(np.float32)[1] == [np.float32]
    assert net.infer_type_partial() == ([None] * 6, [None], [])
    with pytest.raises(ArgumentTypeError, match=r"'data'.*wat"):
        net.infer_type(data="wat")
    with pytest.raises(CynetError, match="operator fc1"):
        net.infer_type(data="float64", fc1_weight="float32")


# --- copies and files ---
@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_are_equal_and_apart(copied):
    net = mx.sym.Group([mlp(), mx.sym.Variable("x", shape=(2, 3), __mood__="calm")])
    other = copied(net)
    assert other.tojson() == net.tojson()
    other[1]._set_attr(__mood__="angry")
    assert net[1].attr("__mood__") == "calm"


def test_save_and_load(tmp_path):
    net, path = mlp(), tmp_path / "net-symbol.json"
    net.save(path)
    assert path.read_text() == net.tojson()
    assert mx.sym.load(str(path)).tojson() == net.tojson()
    path.write_bytes(b"\xff\x00\x01")
    with pytest.raises(FormatError, match=r"net-symbol.json"):
        mx.sym.load(path)
    with pytest.raises(FileNotFoundError, match="no such file or directory"):
        mx.sym.load(tmp_path / "none.json")


def test_no_truth_value_no_hash():
    x = mx.sym.Variable("x")
    with pytest.raises(TypeError, match="no truth value"):
        bool(x)
    with pytest.raises(TypeError, match="unhashable type: 'Symbol'"):
        hash(x)


def test_ten_thousand_nodes_deep():
    net = mx.sym.Variable("x")
    for _ in range(10_000):
        net = net + 1
    assert net.infer_shape(x=(2,))[1] == [(2,)]
    again = mx.sym.load_json(net.tojson())
    assert again.list_outputs() == net.list_outputs() == ["_plusscalar9999_output"]
    assert copy.copy(net).list_arguments() == ["x"]


def test_storage_types():
    with pytest.raises(ArgumentError, match="x: storage type 'rows' is not one of"):
        mx.sym.Variable("x", stype="rows")
    assert mx.sym.Variable("x", stype="row_sparse").attr("__storage_type__") == "1"
    assert mx.sym.Variable("x", stype="csr").attr("__storage_type__") == "2"
    assert mx.sym.Variable("x", stype="default").attr("__storage_type__") == "0"
    with pytest.raises(ArgumentError, match="'data': storage type 'coo'"):
        mlp().simple_bind(mx.cpu(), stype_dict={"data": "coo"}, data=(2, 3))


def test_a_name_that_no_file_can_hold(tmp_path):
    net = mx.sym.exp(mx.sym.Variable("x"), name="a\ud800")
    with pytest.raises(ValueError, match="save: a name .*which UTF-8 cannot write"):
        net.save(str(tmp_path / "net.json"))
    assert not list(tmp_path.iterdir())


def test_a_notebook_shows_a_table():
    net = mx.sym.FullyConnected(mx.sym.Variable("<data>"), num_hidden=3, name="fc")
    html = net._repr_html_()
    assert html.startswith("<table>") and html.endswith("</table>")
    assert "<td>&lt;data&gt;</td><td>variable</td>" in html and "num_hidden=3" in html
    assert "<b>fc</b>" in html and html.count("<tr>") == 5
    for _ in range(1000):
        net = net + 1
    assert "more nodes" in net._repr_html_() and len(net._repr_html_()) < 20_000


def test_a_symbol_has_no_truth():
    with pytest.raises(mx.base.NotImplementedForSymbol, match="has no truth value"):
        bool(mx.sym.var("x"))


@pytest.mark.parametrize(
    "made",
    [
        lambda ctx: mx.sym.zeros((2,), ctx=ctx),
        lambda ctx: mx.sym.random.uniform(shape=(2,), ctx=ctx),
        lambda ctx: mx.sym.random.normal(shape=(2,), ctx=ctx),
        lambda ctx: mx.sym.ones((2,), ctx=ctx),
    ],
)
def test_a_device_as_a_parameter(made):
    """It is kept as its text."""
    for ctx in (mx.cpu(0), "cpu(0)"):
        symbol = made(ctx)
        assert symbol.attr("ctx") == "cpu(0)"
        (out,) = symbol.bind(mx.cpu(), {}).forward()
        assert out.size == 2
