"""Networks that the reader takes apart or computes: functions, branches, constants, shapes; beside
ONNX Runtime. And what it refuses of a file."""

import numpy as np
import pytest

import cynet as mx
from cynet.symbol.node import topological_order
from tests.onnx.test_import_values import computed, helper, onnx

parser = pytest.importorskip("onnx.parser")
reference = pytest.importorskip("onnx.reference")
HEAD = '<ir_version: 8, opset_import: ["" : 17, "own" : 1, "other" : 2]>\n'

TWICE = """
<opset_import: ["" : 17, "own" : 1], domain: "own">
twice <by: float = 3.0> (a, b) => (c, d) {
    by = Constant <value_float: float = @by> ()
    c = Mul (a, by)
    d = Add (c, b)
}
"""
PLAIN = """
<opset_import: ["" : 17, "own" : 1], domain: "own">
plain <axis, alpha> (a) => (c) {
    b = Softmax <axis: int = @axis> (a)
    c = LeakyRelu <alpha: float = @alpha> (b)
}
"""
NESTED = """
<opset_import: ["" : 17, "own" : 1], domain: "own">
nested (a, b) => (d) {
    x, c = own.twice (a, b)
    y, d = own.twice <by: float = 0.5> (c, x)
}
"""
OLD = """
<opset_import: ["" : 11], domain: "own">
old (a) => (b) { b = Softmax <axis = 1> (a) }
"""
PERHAPS = """
<opset_import: ["" : 17], domain: "own">
perhaps (a, low, high) => (b) { b = Clip (a, low, high) }
"""
CHOSEN = """
<opset_import: ["" : 17], domain: "own">
chosen <big: int = 0> (a) => (b) {
    k = Constant <value_int: int = @big> ()
    yes = Cast <to = 9> (k)
    b = If (yes) <
        then_branch = g1 () => (t) { h = Constant <value_float = 0.5> ()  t = Mul (a, h) },
        else_branch = g2 () => (e) { h = Constant <value_float = 4.0> ()  e = Add (a, h) }
    >
}
"""
X, Y = (np.random.RandomState(s).uniform(-2, 2, (2, 3, 4)).astype("float32") for s in (0, 1))
TWO = "agraph (float[2, 3, 4] x, float[2, 3, 4] y) => (float[2, 3, 4] z)"
ONE = "agraph (float[2, 3, 4] x) => (float[2, 3, 4] z)"

NETWORKS = {
    "a default": (TWO + " { p, z = own.twice (x, y) }", TWICE),
    "an attribute": (TWO + " { p, z = own.twice <by = -1.5> (x, y) }", TWICE),
    "an output that is left out": (TWO + ' { "", z = own.twice (x, y) }', TWICE),
    "the other output": (TWO + " { z, p = own.twice (x, y) }", TWICE),
    "called twice": (
        TWO + " { p, q = own.twice (x, y)  r, z = own.twice <by = 0.1> (q, p) }",
        TWICE,
    ),
    "functions in one another": (TWO + " { z = own.nested (x, y) }", TWICE + NESTED),
    "attributes handed on": (ONE + " { z = own.plain <axis = 1, alpha = 0.3> (x) }", PLAIN),
    "attributes left out": (ONE + " { z = own.plain (x) }", PLAIN),
    "an opset of its own": (ONE + " { z = own.old (x) }", OLD),
    "inputs left out": (
        ONE + ' { b = Constant <value_float = 0.5> () z = own.perhaps (x, "", b) }',
        PERHAPS,
    ),
    "fewer inputs": (
        ONE + " { a = Constant <value_float = 0.5> () z = own.perhaps (x, a) }",
        PERHAPS,
    ),
    "a branch in a function": (ONE + " { z = own.chosen (x) }", CHOSEN),
    "the other branch": (ONE + " { z = own.chosen <big = 1> (x) }", CHOSEN),
    "branches that hold constants": (
        ONE + " <bool no = {0}> { z = If (no) < "
        "then_branch = g1 () => (t) { t = Relu (x) }, "
        "else_branch = g2 () => (e) <float[4] w = {1, 2, 3, 4}> { e = Mul (x, w) } > }",
        "",
    ),
    "a function of ONNX": (TWO + " { p = GreaterOrEqual (x, y) z = Where (p, x, y) }", ""),
    "with its default": (ONE + " { z = Celu (x) }", ""),
    "with another setting": (ONE + " { z = Celu <alpha = 0.3> (x) }", ""),
    "axes of a norm": (ONE + " { z = MeanVarianceNormalization <axes = [0, 2]> (x) }", ""),
    "constants of all kinds": (
        ONE + " { a = Constant <value_float = 2.0> () b = Constant <value_floats = [1.0, 2.0, 3.0,"
        " 4.0]> () i = Constant <value_int = 1> () j = Constant <value_ints = [0, 2]> ()"
        " k = Constant <value = float[1] {5.0}> ()"
        " u = Unsqueeze (b, j) s = Squeeze (u, j) p = Mul (x, a) q = Add (p, s) r = Add (q, k)"
        " c = Cast <to = 1> (i) z = Sub (r, c) }",
        "",
    ),
    "lengths of an open shape": (
        "agraph (float[2, N, 4] x) => (float[2, N, 4] z) { s = Shape (x) i = Constant <value_ints ="
        " [2]> () n = Gather (s, i) f = Cast <to = 1> (n) z = Mul (x, f) }",
        "",
    ),
    "lengths that are known": (
        ONE + " { s = Shape <start = 1> (x) p = ReduceProd <keepdims = 0> (s) n = Size (x)"
        " t = Add (n, p) f = Cast <to = 1> (t) z = Add (x, f) }",
        "",
    ),
    "an input twice": (ONE + " { z = Mul (x, x) }", ""),
    "an input that comes out": (ONE + " { z = Identity (x) }", ""),
    "a type that is another's": (
        ONE + " { c = Constant <value = int64[1] {2}> () d = CastLike (c, x) z = Mul (x, d) }",
        "",
    ),
}

FLAT = np.exp(X.reshape(2, -1))
WANTED = {  # which the runtime does not have
    "an opset of its own": [(FLAT / FLAT.sum(1, keepdims=True)).reshape(X.shape)]
}


def model_of(text, functions=""):
    return parser.parse_model(HEAD + text + functions)


def read(model, path):
    onnx.save(model, str(path))
    return mx.onnx.import_model(path)


def values(network, args, states, feeds):
    names, aux = network.list_arguments(), network.list_auxiliary_states()
    every = {**{k: mx.nd.array(v, dtype=v.dtype) for k, v in feeds.items()}, **args, **states}
    bound = network.bind(
        mx.cpu(),
        {n: every[n] for n in names},
        grad_req="null",
        aux_states={n: every[n] for n in aux},
    )
    return [each.asnumpy() for each in bound.forward()]


@pytest.mark.parametrize("name", NETWORKS)
def test_values(name, tmp_path):
    model = model_of(*NETWORKS[name])
    feeds = {each.name: {"x": X, "y": Y}[each.name] for each in model.graph.input}
    found = values(*read(model, tmp_path / "m.onnx"), feeds)
    wanted = WANTED.get(name)
    if wanted is None:
        wanted = computed(model.SerializeToString(), feeds)
    for a, b in zip(found, wanted, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, 1e-5, 1e-6)


LOSSES = [
    ("NegativeLogLikelihoodLoss", {"reduction": r, "ignore_index": k, "weights": w})
    for r in ("none", "sum", "mean")
    for k in (None, 1)
    for w in (False, True)
]


@pytest.mark.parametrize(("kind", "how"), LOSSES, ids=str)
def test_functions_that_depend_on_their_inputs(kind, how, tmp_path):
    """The onnx package makes their nodes of types, attributes and which inputs there are."""
    data, places = X[:, :, 0].copy(), np.array([1, 2], "int64")
    inputs = [data, places, *([np.array([0.5, 2, 3], "float32")] if how["weights"] else [])]
    more = {k: v for k, v in how.items() if k != "weights" and v is not None}
    names = [f"x{i}" for i in range(len(inputs))]
    graph = helper.make_graph(
        [helper.make_node(kind, names, ["y"], "n", **more)],
        "g",
        [helper.make_tensor_value_info(names[0], 1, data.shape)],
        [helper.make_empty_tensor_value_info("y")],
        [onnx.numpy_helper.from_array(v, n) for n, v in list(zip(names, inputs))[1:]],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    (wanted,) = reference.ReferenceEvaluator(model).run(None, {names[0]: data})
    found = values(*read(model, tmp_path / "m.onnx"), {names[0]: data})
    np.testing.assert_allclose(found[0].ravel(), np.ravel(wanted), 1e-5, 1e-6)


REFUSED = {
    "depends on the data": (
        "agraph (float[2] x, bool[1] c) => (float[2] z) { z = If (c) < then_branch = g1 () => (t) {"
        " t = Relu (x) }, else_branch = g2 () => (e) { e = Neg (x) } > }",
        "UndefinedError",
        "its input c must be a constant",
    ),
    "a sequence": (
        "agraph (seq(float[2]) x) => (float[2] z) { z = Relu (x) }",
        "UndefinedError",
        "expected arrays as inputs, 'x' has another type",
    ),
    "before it is computed": (
        "agraph (float[2] x) => (float[2] z) { z = Add (x, w) }",
        "FormatError",
        "the file uses 'w' before it is computed",
    ),
    "other axes": (
        "agraph (float[2, 3] x) => (float[2, 3, 1] z) { z = Relu (x) }",
        "UndefinedError",
        "in the file; cynet would compute",
    ),
    "a kind of another domain": (
        "agraph (float[2] x) => (float[2] z) { z = other.Relu (x) }",
        "UndefinedError",
        "of kind other.Relu is not read by cynet",
    ),
    "no elements": (
        "agraph (float[2] x) => (float[0, 2] z) <float[0, 2] w = {}> { z = Add (x, w) }",
        "UndefinedError",
        r"'z' has no elements, shape \(0, 2\)",
    ),
    "text": (
        'agraph (float[2] x) => (float[2] z) { c = Constant <value_string = "a"> ()'
        " z = Add (x, c) }",
        "CynetError",
        "'c'|object|string",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, tmp_path):
    text, kind, told = REFUSED[name]
    with pytest.raises(getattr(mx.errors, kind), match=told):
        read(model_of(text), tmp_path / "m.onnx")


@pytest.mark.parametrize("file", [3, None, b"m.onnx"])
@pytest.mark.parametrize("name", ["import_model", "get_model_metadata", "import_to_gluon"])
def test_what_is_no_path(name, file):
    if file == b"m.onnx" and name != "import_model":
        return
    with pytest.raises((TypeError, OSError), match="model_file is a path|m.onnx"):
        getattr(mx.onnx, name)(file)


# --- what is computed when a file is read ---------------------------------------------------------
@pytest.mark.parametrize(("count", "left"), [(1 << 20, []), ((1 << 20) + 1, ["negative"])])
def test_constants_are_computed_up_to_a_size(count, left, tmp_path):
    node = helper.make_node("Neg", ["w"], ["y"], "n")
    weight = onnx.numpy_helper.from_array(np.ones(count, "int8"), "w")
    graph = helper.make_graph([node], "g", [], [helper.make_empty_tensor_value_info("y")], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    network, args, _ = read(model, tmp_path / "m.onnx")
    kinds = [node.op.name for node in topological_order(network.entries) if node.op is not None]
    assert kinds == left
    assert [*args] == ["w" if left else "y"]
    assert all((v.asnumpy() == (1 if left else -1)).all() for v in args.values())


def test_what_a_node_needs_is_no_weight(tmp_path):
    """Training leaves it as it is."""
    text = ONE + " <int64 k = {1}> { t = Trilu (x, k) m = Constant <value = float[1] {2.0}> () "
    network, args, _ = read(model_of(text + "z = Mul (t, m) }"), tmp_path / "m.onnx")
    (name,) = args
    assert {k: network.attr_dict()[name][k] for k in ("__lr_mult__", "__wd_mult__")} == {
        "__lr_mult__": "0",
        "__wd_mult__": "0",
    }
    kinds = [node.op.name for node in topological_order(network.entries) if node.op is not None]
    assert "BlockGrad" in kinds


def test_names_that_others_have(tmp_path):
    """A constant whose name would be that of a value, or of other numbers, is called otherwise."""
    text = """agraph (float[2, 3] n_weight, float[2, 3] y) => (float[2, 4] z, float[2, 4] w)
    <float[3, 4] m = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}> {
        [n] a = Gemm <alpha = 2.0> (n_weight, m)
        [n] b = Gemm <alpha = 3.0> (y, m)
        z = Relu (a)
        w = Relu (b)
    }"""
    network, args, states = read(model_of(text), tmp_path / "m.onnx")
    assert sorted(args) == ["n_weight_0", "n_weight_1"]
    x, y = X[:, 0, :3].copy(), Y[:, 0, :3].copy()
    weight = np.arange(1, 13, dtype="float32").reshape(3, 4)
    found = values(network, args, states, {"n_weight": x, "y": y})
    np.testing.assert_allclose(found[0], np.maximum(2 * x @ weight, 0), 1e-5)
    np.testing.assert_allclose(found[1], np.maximum(3 * y @ weight, 0), 1e-5)


def test_equal_constants_are_one(tmp_path):
    text = """agraph (float[2, 3] x) => (float[2, 4] z) <float[3, 4] m =
    {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}> {
        [n] a = Gemm <alpha = 2.0> (x, m)
        [n] b = Gemm <alpha = 2.0> (x, m)
        z = Add (a, b)
    }"""
    assert [*read(model_of(text), tmp_path / "m.onnx")[1]] == ["n_weight"]


def test_what_a_file_says_of_itself(tmp_path):
    """Inputs without those that are constants; an open length is 0."""
    text = """agraph (float[N, 3] x, float[3] w, float[2] y) => (float[N, 3] z, float[2] v)
    <float[3] w = {1, 2, 3}> { z = Add (x, w)  v = Relu (y) }"""
    onnx.save(model_of(text), str(tmp_path / "m.onnx"))
    assert mx.onnx.get_model_metadata(tmp_path / "m.onnx") == {
        "input_tensor_data": [("x", (0, 3)), ("y", (2,))],
        "output_tensor_data": [("z", (0, 3)), ("v", (2,))],
    }
    block = mx.onnx.import_to_gluon(tmp_path / "m.onnx", ctx=mx.cpu(0))
    z, v = block(mx.nd.ones((2, 3)), mx.nd.array([-1, 1]))
    assert z.asnumpy().tolist() == [[2, 3, 4]] * 2 and v.asnumpy().tolist() == [0, 1]
    assert [p.list_ctx() for p in block.collect_params().values()] == [[mx.cpu(0)]]


@pytest.mark.parametrize(
    "opset", [{"": 6}, {"ai.onnx": 6}, {"": 6, "other": 99}, {"": 6, "ai.onnx": 5}], ids=str
)
def test_the_version_of_operators(opset, tmp_path):
    """Of ONNX's own domain under both its names: below 7 a second input has its axes at `axis`."""
    node = helper.make_node("Add", ["x", "w"], ["y"], "n", broadcast=1, axis=0)
    weight = onnx.numpy_helper.from_array(np.array([1, 2], "float32"), "w")
    given = helper.make_tensor_value_info("x", 1, (2, 2))
    graph = helper.make_graph(
        [node], "g", [given], [helper.make_empty_tensor_value_info("y")], [weight]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(*v) for v in opset.items()])
    made = read(model, tmp_path / "m.onnx")
    found = values(*made, {"x": np.zeros((2, 2), "float32")})
    assert found[0].tolist() == [[1, 1], [2, 2]]
