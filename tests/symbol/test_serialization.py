"""JSON: the dialects that are read, and what corrupt text gets."""

import contextlib
import json
import time

import pytest

import cynet as mx
from cynet.base.errors import CynetError, FormatError, NotFoundError


def network():
    data = mx.sym.Variable("data")
    net = mx.sym.FullyConnected(data, num_hidden=4, name="fc", lr_mult=2)
    return mx.sym.SoftmaxOutput(net, name="softmax")


def record():
    return json.loads(network().tojson())


def load(graph):
    return mx.sym.load_json(json.dumps(graph))


def test_round_trip():
    text = network().tojson()
    assert mx.sym.load_json(text).tojson() == text


def test_only_nodes_and_heads_are_needed():
    graph = record()
    slim = {"nodes": graph["nodes"], "heads": [h[:2] for h in graph["heads"]]}
    for node in slim["nodes"]:
        node["inputs"] = [edge[:2] for edge in node["inputs"]]
        if not node["inputs"]:
            del node["inputs"]
    assert load(slim).tojson() == network().tojson()


def test_attr_holds_both_kinds():
    graph = record()
    for node in graph["nodes"]:
        if "attrs" in node:
            node["attr"] = node.pop("attrs")
    assert load(graph).tojson() == network().tojson()


def test_the_dialect_before_1_0():
    graph = {
        "nodes": [
            {"op": "null", "param": {}, "name": "data", "inputs": [], "backward_source_id": -1},
            {
                "op": "null",
                "param": {},
                "name": "fc_weight",
                "inputs": [],
                "backward_source_id": -1,
                "attr": {"lr_mult": "3", "mood": "calm"},
            },
            {"op": "null", "param": {}, "name": "fc_bias", "inputs": [], "backward_source_id": -1},
            {
                "op": "FullyConnected",
                "param": {"no_bias": "False", "num_hidden": "4"},
                "name": "fc",
                "inputs": [[0, 0], [1, 0], [2, 0]],
                "backward_source_id": -1,
                "attr": {"ctx_group": "dev", "bias_wd_mult": "0.5", "anything": "goes"},
            },
        ],
        "arg_nodes": [0, 1, 2],
        "heads": [[3, 0]],
    }
    net = load(graph)
    attrs = net.attr_dict()
    assert net.infer_shape(data=(2, 3))[1] == [(2, 4)]
    assert attrs["fc_weight"]["__lr_mult__"] == "3" and attrs["fc_weight"]["mood"] == "calm"
    assert attrs["fc"]["ctx_group"] == "dev" and attrs["fc"]["anything"] == "goes"
    assert attrs["fc_bias"]["__wd_mult__"] == "0.5"


def test_old_operator_names():
    graph = {
        "nodes": [
            {"op": "null", "name": "a", "inputs": []},
            {"op": "_Plus", "name": "p", "inputs": [[0, 0], [0, 0]]},
            {"op": "_PlusScalar", "name": "q", "param": {"scalar": "2"}, "inputs": [[1, 0]]},
            {"op": "Softmax", "name": "s", "inputs": [[2, 0], [0, 0]]},
        ],
        "heads": [[3, 0]],
    }
    nodes = json.loads(load(graph).tojson())["nodes"]
    assert [n["op"] for n in nodes] == ["null", "elemwise_add", "_plus_scalar", "SoftmaxOutput"]


def test_states_missing_from_old_files_are_made():
    net = mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn")
    graph = json.loads(net.tojson())
    del graph["nodes"][3:5]
    graph["nodes"][3]["inputs"] = graph["nodes"][3]["inputs"][:3]
    old = load({"nodes": graph["nodes"], "heads": [[3, 0]]})
    assert old.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    assert old.attr_dict()["bn_moving_var"]["__init__"] == '["one", {}]'
    assert old.tojson() == net.tojson()


def test_text_is_escaped():
    text = 'quote " backslash \\ newline \n tab \t bell \x07 umlaut ü'
    net = mx.sym.Variable("x", attr={"__note__": text})
    assert mx.sym.load_json(net.tojson()).attr("__note__") == text
    assert json.loads(net.tojson())["nodes"][0]["attrs"]["__note__"] == text


def broken(change):
    graph = record()
    change(graph)
    return json.dumps(graph)


def node(graph, name="fc"):
    return next(n for n in graph["nodes"] if n["name"] == name)


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ("[]", "expected an object"),
        ("null", "got a null"),
        ("{}", "'nodes' must be a list, but is missing"),
        ('{"nodes": 3}', "'nodes' must be a list, got a number"),
        ('{"nodes": []}', "'heads' must be a list, but is missing"),
        ('{"nodes": [], "heads": []}', "'heads' is empty"),
        ("[" * 100_000, "not valid JSON"),
        (lambda g: g["heads"].__setitem__(0, [99, 0, 0]), r"heads: \[99, 0, 0\] refers to node 99"),
        (lambda g: g["heads"].__setitem__(0, [-1, 0, 0]), "refers to node -1"),
        (lambda g: g["heads"].__setitem__(0, [5, 7, 0]), "output 7 of node 'softmax', which has 1"),
        (
            lambda g: g["heads"].__setitem__(0, [5]),
            r"expected \[node, output, version\], got \[5\]",
        ),
        (lambda g: g["heads"].__setitem__(0, [True, 0]), "refers to node True"),
        (lambda g: g["heads"].__setitem__(0, ["0", 0]), "refers to node '0'"),
        (lambda g: g["arg_nodes"].append(77), "'arg_nodes': expected numbers of variables, got 77"),
        (lambda g: g.update(arg_nodes="x"), "'arg_nodes' must be a list, got a string"),
        (lambda g: g["nodes"].__setitem__(0, 3), "node 0: expected an object, got a number"),
        (lambda g: node(g).update(name=3), "node 3: 'op' and 'name' must be strings"),
        (lambda g: node(g).pop("op"), "node 3: 'op' and 'name' must be strings"),
        (
            lambda g: node(g).update(inputs={}),
            r"node 3 \('fc'\): 'inputs' must be a list, got a object",
        ),
        (
            lambda g: node(g).update(inputs=[[0, 0, 0]]),
            r"\('fc'\): operator FullyConnected takes 3 inputs .*got 1",
        ),
        (
            lambda g: node(g)["inputs"].__setitem__(0, [3, 0, 0]),
            r"\('fc'\): inputs: \[3, 0, 0\] refers to node 3, but",
        ),
        (
            lambda g: node(g)["inputs"].__setitem__(0, [0, 1, 0]),
            "output 1 of node 'data', which has 1",
        ),
        (
            lambda g: node(g)["attrs"].update(num_hidden=3),
            r"\('fc'\): 'attrs' must map names to strings",
        ),
        (lambda g: node(g)["attrs"].update(num_hidden="x"), r"\('fc'\): .*'num_hidden'.*'x'"),
        (lambda g: node(g)["attrs"].update(wat="x"), r"\('fc'\): .*no parameter 'wat'"),
        (lambda g: node(g)["attrs"].pop("num_hidden"), r"\('fc'\): .*'num_hidden'.*missing"),
        (
            lambda g: node(g, "data").update(inputs=[[0, 0, 0]]),
            r"\('data'\): expected no inputs of a variable",
        ),
        (lambda g: node(g).update(subgraphs=[{}]), r"\('fc'\): subgraphs"),
    ],
)
def test_corrupt(text, message):
    with pytest.raises(FormatError, match=message):
        mx.sym.load_json(text if isinstance(text, str) else broken(text))


def test_unknown_operator_names_the_node():
    with pytest.raises(
        NotFoundError, match=r"node 3 \('fc'\): no operator is named 'FullyConected'; did you mean"
    ):
        mx.sym.load_json(broken(lambda g: node(g).update(op="FullyConected")))


def test_only_text():
    with pytest.raises(TypeError, match="expected a str, got int"):
        mx.sym.load_json(3)


def test_every_truncation_is_refused():
    text = network().tojson()
    for end in range(0, len(text) - 1, 7):
        with pytest.raises(FormatError, match="symbol JSON: not valid JSON"):
            mx.sym.load_json(text[:end])


@pytest.mark.parametrize("version", ["1e999", "NaN", "[]", '"1"', "null"])
def test_a_version_that_is_no_number(version):
    net = network()
    text = net.tojson().replace("10901", version)
    assert version in text
    assert mx.sym.load_json(text).list_outputs() == net.list_outputs()


def test_random_damage_gives_an_error_or_a_symbol(rng):
    text = network().tojson().encode()
    for _ in range(500):
        damaged = bytearray(text)
        for position in rng.integers(0, len(text), 3):
            damaged[position] = rng.integers(32, 127)
        with contextlib.suppress(CynetError):
            mx.sym.load_json(damaged.decode()).list_outputs()


class Scaled(mx.operator.CustomOpProp):
    """A user's operator with a parameter and a state."""

    def __init__(self, factor):
        super().__init__(need_top_grad=True)
        self.factor = float(factor)

    def list_auxiliary_states(self):
        return ["count"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0]], [[1]]


def test_custom_operators():
    mx.operator.register("_test_scaled")(Scaled)
    net = mx.sym.Custom(
        mx.sym.Variable("x"), op_type="_test_scaled", factor=3, name="c", __mood__="calm"
    )
    again = mx.sym.load_json(net.tojson())
    assert again.tojson() == net.tojson()
    assert again.list_auxiliary_states() == ["c_count"] and again.attr("__mood__") == "calm"
    assert again.infer_shape(x=(2, 3))[1] == [(2, 3)]
    with pytest.raises(NotFoundError, match=r"\('c'\): .*_test_scalid"):
        mx.sym.load_json(net.tojson().replace("_test_scaled", "_test_scalid"))
    with pytest.raises(FormatError, match=r"\('c'\): .*could not convert"):
        mx.sym.load_json(net.tojson().replace('"factor": "3"', '"factor": "x"'))


# --- size ----------------------------------------------------------------------------------------
def large(kind, n):
    """A graph of about n entries of one kind."""
    data = {"op": "null", "name": "d", "inputs": []}
    cut = {"op": "SliceChannel", "name": "s", "attrs": {"num_outputs": str(n)}}
    cut["inputs"] = [[0, 0, 0]]
    if kind == "heads":
        return {"nodes": [data, cut], "heads": [[1, i, 0] for i in range(n)]}
    if kind == "inputs":
        join = {"op": "Concat", "name": "c", "attrs": {"num_args": str(n)}}
        join["inputs"] = [[1, i, 0] for i in range(n)]
        return {"nodes": [data, cut, join], "heads": [[2, 0, 0]]}
    if kind == "suffixes":
        attrs = {"num_args": str(n), **{f"arg{i}_lr_mult": "1" for i in range(n)}}
        join = {"op": "Concat", "name": "c", "attrs": attrs}
        join["inputs"] = [[i, 0, 0] for i in range(n)]
        return {"nodes": [dict(data, name=f"v{i}") for i in range(n)] + [join], "heads": [[n, 0]]}
    if kind == "chain":
        rest = [{"op": "exp", "name": "e", "inputs": [[i, 0, 0]]} for i in range(n)]
        return {"nodes": [data, *rest], "heads": [[n, 0, 0]]}
    attrs = {f"__a{i}__": "1" for i in range(n)}
    return {"nodes": [dict(data, attrs=attrs)] + [data] * n, "heads": [[0, 0], [n, 0]]}


@pytest.mark.parametrize("kind", ["heads", "inputs", "suffixes", "chain", "attributes"])
def test_time_of_loading_grows_with_the_text(kind):
    """10,000 heads or inputs of one operator took half a minute once."""
    text = json.dumps(large(kind, 10_000))
    begin = time.monotonic()
    symbol = mx.sym.load_json(text)
    assert len(symbol.list_outputs()) == len(large(kind, 10_000)["heads"])
    assert time.monotonic() - begin < 15


def test_messages_are_short():
    text = json.dumps(
        {
            "nodes": [{"op": "null", "name": "x" * 10**6, "inputs": [[0] * 10**5]}],
            "heads": [[[1] * 10**5, 0, 0]],
        }
    )
    with pytest.raises(FormatError, match="expected no inputs of a variable, got") as caught:
        mx.sym.load_json(text)
    assert len(str(caught.value)) < 600


def test_casts_of_mixed_precision_are_left_out():
    """As MXNet 1.9.1 writes it; a cast that is an output stays."""
    data = mx.sym.var("data")
    half = mx.sym.amp_cast(data, dtype="float16", name="half")
    dense = mx.sym.FullyConnected(half, num_hidden=2, name="fc")
    both = mx.sym.amp_multicast(dense, data, num_outputs=2, name="both")
    total = both[0] + both[1]

    def nodes(text):
        found = json.loads(text)["nodes"]
        return [(each["name"], [i[0] for i in each["inputs"]]) for each in found]

    weights = [("data", []), ("fc_weight", []), ("fc_bias", [])]
    assert nodes(total.tojson()) == [*weights, ("fc", [0, 1, 2]), (total.name, [3, 0])]
    whole = nodes(total.tojson(remove_amp_cast=False))
    assert [name for name, _ in whole if name in ("half", "both")] == ["half", "both"]
    assert nodes(half.tojson()) == [("data", []), ("half", [0])]
    assert len(total.get_internals()) == len(whole) + 1  # the symbol itself stays as it is


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("read", [False, True])
def test_unknown_sizes_under_numpys_shapes(written, read):
    """0 is unknown without them and -1 under them; a file says which it means, as MXNet's do."""
    with mx.util.np_shape(written):
        weight = mx.sym.var("weight", shape=(128, -1 if written else 0))
        net = mx.sym.FullyConnected(mx.sym.var("data"), weight, num_hidden=128)
        text = net.tojson()
    attrs = json.loads(text)["attrs"]
    assert attrs.pop("mxnet_version") == ["int", 10901]
    assert attrs == ({"is_np_shape": ["int", 1]} if written else {})
    with mx.util.np_shape(read):
        found, _, _ = mx.sym.load_json(text).infer_shape(data=(10, 784))
    assert found == [(10, 784), (128, 784), (128,)]


@pytest.mark.parametrize("number", [3, 4, -1, 2.0, True, "0", None, [0]])
def test_arg_nodes_name_variables(number):
    """Not nodes of operators, nor anything else than numbers of nodes that are there."""
    out = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    graph = json.loads(out.tojson())
    assert [each["op"] for each in graph["nodes"]] == ["null"] * 3 + ["FullyConnected"]
    mx.sym.load_json(json.dumps(graph))
    graph["arg_nodes"].append(number)
    with pytest.raises(FormatError, match="'arg_nodes': expected numbers of variables, got"):
        mx.sym.load_json(json.dumps(graph))
