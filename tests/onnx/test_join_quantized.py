"""QDQ files as int8 layers: onnxruntime computes what they do, node by node in floats."""

from collections import Counter

import numpy as np
import pytest

import cynet as mx
from cynet.symbol.node import topological_order

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
static = pytest.importorskip("onnxruntime.quantization")
from onnx import helper, numpy_helper  # noqa: E402  behind importorskip

CONV, DENSE = "_int8_convolution", "_int8_fully_connected"


class Graph:
    """An ONNX graph in the making."""

    def __init__(self, shape, dtype="float32"):
        self.nodes, self.constants, self.n = [], [], 0
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.given = helper.make_tensor_value_info("x", kind, shape)

    def constant(self, value):
        self.n += 1
        self.constants.append(numpy_helper.from_array(np.asarray(value), f"c{self.n}"))
        return f"c{self.n}"

    def node(self, kind, *inputs, **attributes):
        self.n += 1
        names = [v if isinstance(v, str) else self.constant(v) for v in inputs]
        made = helper.make_node(kind, names, [f"v{self.n}"], f"n{self.n}", **attributes)
        self.nodes.append(made)
        return f"v{self.n}"

    def q(self, value, scale, zero, dtype="uint8"):
        return self.node("QuantizeLinear", value, np.float32(scale), np.array(zero, dtype))

    def dq(self, value, scale, zero, dtype="uint8", **axis):
        scale = np.asarray(scale, "float32")
        return self.node("DequantizeLinear", value, scale, np.asarray(zero, dtype), **axis)

    def qdq(self, value, *how):
        return self.dq(self.q(value, *how), *how)

    def weight(self, rng, shape, axis=0, dtype="int8", zero=0, each=True):
        low, high = (-127, 128) if dtype == "int8" else (0, 256)
        values = rng.integers(low, high, shape).astype(dtype)
        n = shape[axis] if each else 1
        steps = rng.uniform(0.002, 0.01, n).astype("float32")
        zeros = np.full(n, zero, dtype)
        if not each:
            return self.dq(values, steps[0], zeros[0], dtype)
        return self.dq(values, steps, zeros, dtype, axis=axis)

    def save(self, path, outputs, dtype="float32"):
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        given = [helper.make_tensor_value_info(v, kind, None) for v in outputs]
        graph = helper.make_graph(self.nodes, "g", [self.given], given, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        onnx.save(onnx.shape_inference.infer_shapes(model), str(path))
        return str(path)


def both(path, x):
    """(what cynet gives, what onnxruntime gives, how often each operator is in the graph)."""
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    wanted = runtime.InferenceSession(path, options).run(None, {"x": x})
    symbol, args, states = mx.onnx.import_model(path)
    symbol = mx.sym.load_json(symbol.tojson())  # which has all that a node is made of
    known = args | {"x": mx.nd.array(x, dtype=x.dtype)}
    made = symbol.bind(mx.cpu(), known, grad_req="null", aux_states=states).forward()
    nodes = topological_order(symbol.entries)
    kinds = Counter(node.op.name for node in nodes if node.op is not None)
    return [each.asnumpy() for each in made], wanted, kinds


def check(path, x, step, few=0.01):
    """That outputs are onnxruntime's, but for few that are the step of their integers beside it."""
    made, wanted, kinds = both(path, x)
    assert len(made) == len(wanted)
    for a, b in zip(made, wanted):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        off = np.abs(a.astype("float64") - b.astype("float64")) / step
        assert off.max() < 1.01 and (off > 0.5).mean() <= few, (off.max(), (off > 0.5).mean())
        assert len(np.unique(b)) > 10  # or it would say nothing
    return kinds


DATA = (2, 6, 9, 8)
FORMS = [("uint8", 0), ("uint8", 113), ("int8", 0), ("int8", -128), ("int8", 9)]


def images(rng, shape=DATA):
    return rng.uniform(-1, 1, shape).astype("float32")


@pytest.mark.parametrize("dtype,zero", FORMS)
@pytest.mark.parametrize("pads", [0, 1])
@pytest.mark.parametrize("group", [1, 3])
@pytest.mark.parametrize("out", [("uint8", 0), ("uint8", 140), ("int8", -7)])
def test_convolution(rng, tmp_path, dtype, zero, pads, group, out):
    g = Graph(DATA)
    x = g.qdq("x", 0.0079, zero, dtype)
    bias = g.dq(
        rng.integers(-4000, 4000, 9).astype("int32"),
        np.full(9, 4e-5, "f"),
        np.zeros(9, "int32"),
        "int32",
        axis=0,
    )
    y = g.node("Conv", x, g.weight(rng, (9, 6 // group, 3, 3)), bias, group=group, pads=[pads] * 4)
    path = g.save(tmp_path / "m.onnx", [g.qdq(y, 0.011, out[1], out[0])])
    kinds = check(path, images(rng), 0.011)
    assert kinds[CONV] == 1 and "Convolution" not in kinds


@pytest.mark.parametrize("dtype,zero", FORMS)
@pytest.mark.parametrize("bounds", [(), (0.0,), (0.0, 1.5), (-0.4, 0.7)])
def test_bounds(rng, tmp_path, dtype, zero, bounds):
    g = Graph(DATA)
    y = g.node("Conv", g.qdq("x", 0.0079, 120), g.weight(rng, (4, 6, 1, 1)))
    if len(bounds) == 1:
        y = g.node("Relu", y)
    elif bounds:
        y = g.node("Clip", y, *map(np.float32, bounds))
    path = g.save(tmp_path / "m.onnx", [g.qdq(y, 0.013, zero, dtype)])
    kinds = check(path, images(rng), 0.013)
    assert kinds[CONV] == 1 and "relu" not in kinds and "clip" not in kinds


@pytest.mark.parametrize("dtype,zero", FORMS)
def test_a_term_that_is_added(rng, tmp_path, dtype, zero):
    """Without integers between convolution and sum it is the layer's own."""
    g = Graph(DATA)
    x = g.qdq("x", 0.0079, zero, dtype)
    y = g.node("Add", g.node("Conv", x, g.weight(rng, (6, 6, 3, 3)), pads=[1] * 4), x)
    path = g.save(tmp_path / "m.onnx", [g.qdq(g.node("Relu", y), 0.02, 3)])
    kinds = check(path, images(rng), 0.02)
    assert kinds[CONV] == 1 and "elemwise_add" not in kinds


def test_a_sum_of_integers(rng, tmp_path):
    """With integers between them each is rounded, as the file says, in one loop over bytes."""
    g = Graph(DATA)
    x = g.qdq("x", 0.0079, 100)
    y = g.qdq(g.node("Conv", x, g.weight(rng, (6, 6, 1, 1))), 0.01, 130)
    y = g.node("LeakyRelu", g.node("Add", y, x), alpha=0.1)
    path = g.save(tmp_path / "m.onnx", [g.qdq(y, 0.015, 90)])
    kinds = check(path, images(rng), 0.015)
    assert kinds[CONV] == 1 == kinds["elemwise_add"]


@pytest.mark.parametrize("dtype,zero", [("int8", 0), ("uint8", 128), ("uint8", 0)])
@pytest.mark.parametrize("each", [True, False])
def test_weights(rng, tmp_path, dtype, zero, each):
    """Whatever 8 bits hold once the zero is taken off; else floats."""
    g = Graph(DATA)
    y = g.node("Conv", g.qdq("x", 0.0079, 77), g.weight(rng, (5, 6, 3, 3), 0, dtype, zero, each))
    path = g.save(tmp_path / "m.onnx", [g.qdq(y, 0.03, 60)])
    fits = (dtype, zero) != ("uint8", 0)
    assert check(path, images(rng), 0.03)[CONV] == fits


def test_steps_along_another_axis_of_a_weight_stay_floats(rng, tmp_path):
    g = Graph(DATA)
    y = g.node("Conv", g.qdq("x", 0.0079, 77), g.weight(rng, (6, 6, 3, 3), 1))
    kinds = check(g.save(tmp_path / "m.onnx", [g.qdq(y, 0.03, 60)]), images(rng), 0.03)
    assert kinds[CONV] == 0 and kinds["Convolution"] == 1


@pytest.mark.parametrize("kind", ["Gemm", "Gemm of columns", "Gemm with alpha", "MatMul"])
def test_dense(rng, tmp_path, kind):
    shape = (4, 3, 20) if kind == "MatMul" else (7, 20)
    g, columns = Graph(shape), kind in ("Gemm of columns", "MatMul")
    x = g.qdq("x", 0.0079, 117)
    weight = g.weight(rng, (20, 12) if columns else (12, 20), columns)
    if kind == "MatMul":
        y = g.node("MatMul", x, weight)
    else:
        more = {"alpha": 0.5} if kind == "Gemm with alpha" else {}
        bias = rng.uniform(-1, 1, 12).astype("float32")
        y = g.node("Gemm", x, weight, bias, transB=int(not columns), **more)
    path = g.save(tmp_path / "m.onnx", [g.qdq(y, 0.02, 131)])
    kinds = check(path, images(rng, shape), 0.02)
    assert kinds[DENSE] == (not kind.endswith("alpha"))


@pytest.mark.parametrize("dtype,zero", FORMS)
@pytest.mark.parametrize(
    "shape",
    [
        (("Concat",), {"axis": 1}),
        (("MaxPool",), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 0, 0]}),
        (("MaxPool",), {"kernel_shape": [2, 3], "pads": [0, 2, 1, 0]}),
        (("Transpose",), {"perm": [0, 2, 3, 1]}),
        (("Flatten",), {}),
        (("Pad", np.array([0, 0, 1, 2, 0, 0, 0, 1]), np.float32(0.25)), {}),
        (("Slice", np.array([1]), np.array([5]), np.array([2])), {}),
    ],
    ids=lambda v: v[0][0],
)
def test_what_moves_elements(rng, tmp_path, dtype, zero, shape):
    """It moves integers, also where their step changes on the way."""
    (kind, *constants), attributes = shape
    g = Graph(DATA)
    a = g.qdq("x", 0.0079, zero, dtype)
    b = g.qdq(g.node("Conv", a, g.weight(rng, (6, 6, 1, 1))), 0.012, zero, dtype)
    inputs = [a, b] if kind == "Concat" else [b, *constants]
    y = g.node(kind, *inputs, **attributes)
    y = g.qdq(y, 0.012, zero, dtype)
    last = [y]
    if kind in ("Concat", "MaxPool", "Pad", "Slice"):
        channels = 12 if kind == "Concat" else 6
        y = g.node("Conv", y, g.weight(rng, (4, channels, 1, 1)))
        last.append(g.qdq(y, 0.03, 20))
    path = g.save(tmp_path / "m.onnx", last)
    symbol, *_ = mx.onnx.import_model(path)
    floats = {
        "Concat": "Concat",
        "MaxPool": "Pooling",
        "Transpose": "transpose",
        "Flatten": "Flatten",
        "Pad": "Pad",
        "Slice": "slice",
    }[kind]
    types = dict(zip(symbol.get_internals().list_outputs(), symbol.get_internals().infer_type()[1]))
    moved = [n for n in topological_order(symbol.entries) if n.op and n.op.name == floats]
    assert all(types[n.output_name(0)] in (np.uint8, np.int8) for n in moved)
    made, wanted, kinds = both(path, images(rng))
    assert kinds[CONV] == len(last) and kinds["Pooling"] == 0
    for a, b, step in zip(made, wanted, (0.012, 0.03)):
        off = np.abs(a - b) / step
        assert off.max() < 2.5 and (off > 0.5).mean() < 0.02


@pytest.mark.parametrize("dtype,zero", FORMS)
@pytest.mark.parametrize("counted", [0, 1])
def test_means(rng, tmp_path, dtype, zero, counted):
    g, pads = Graph(DATA), [1] * 4
    y = g.node(
        "AveragePool",
        g.qdq("x", 0.0079, zero, dtype),
        kernel_shape=[3, 3],
        strides=[2, 2],
        pads=pads,
        count_include_pad=counted,
    )
    path = g.save(tmp_path / "m.onnx", [g.qdq(y, 0.0079, zero, dtype)])
    kinds = check(path, images(rng), 0.0079)
    assert kinds["_contrib_quantized_pooling"] == (zero % 2 == 0 and not (zero and counted))


def test_integers_as_outputs_and_inputs(rng, tmp_path):
    """They have the file's dtype and zero."""
    g = Graph(DATA, "int8")
    x = g.dq("x", 0.0079, 5, "int8")
    y = g.q(g.node("Conv", x, g.weight(rng, (4, 6, 3, 3)), pads=[1] * 4), 0.04, -3, "int8")
    path = g.save(tmp_path / "m.onnx", [y], "int8")
    given = rng.integers(-128, 128, DATA).astype("int8")
    assert check(path, given, 1)[CONV] == 1


def test_two_meanings_of_integers(rng, tmp_path):
    """What makes floats of them may have another step and zero than what made them."""
    g = Graph(DATA)
    q = g.q("x", 0.0079, -128, "int8")
    y = g.node("Conv", g.dq(q, 0.01, -100, "int8"), g.weight(rng, (4, 6, 1, 1)))
    z = g.node("MaxPool", g.dq(q, 0.0079, -128, "int8"), kernel_shape=[2, 2])
    outs = [g.qdq(y, 0.03, 9), g.qdq(z, 0.03, 9)]
    assert check(g.save(tmp_path / "m.onnx", outs), images(rng), 0.03)[CONV] == 1


def test_steps_of_each_channel_of_data_stay_floats(rng, tmp_path):
    g = Graph(DATA)
    steps, zeros = rng.uniform(0.005, 0.01, 6).astype("float32"), np.full(6, 120, "uint8")
    q = g.node("QuantizeLinear", "x", steps, zeros, axis=1)
    y = g.node("Conv", g.dq(q, steps, zeros, axis=1), g.weight(rng, (4, 6, 1, 1)))
    kinds = check(g.save(tmp_path / "m.onnx", [g.qdq(y, 0.03, 9)]), images(rng), 0.03)
    assert kinds[CONV] == 0 and kinds["Convolution"] == 1


def test_a_layer_that_others_read(rng, tmp_path):
    """It gives floats; the integers are made beside it."""
    g = Graph(DATA)
    y = g.node("Conv", g.qdq("x", 0.0079, 100), g.weight(rng, (4, 6, 1, 1)))
    path = g.save(tmp_path / "m.onnx", [g.qdq(y, 0.03, 9), g.node("Sigmoid", y)])
    made, wanted, kinds = both(path, images(rng))
    assert kinds[CONV] == 1 == kinds["_quantize_linear"] - 1
    np.testing.assert_allclose(made[1], wanted[1], rtol=1e-5, atol=1e-6)


class Batches(static.CalibrationDataReader):
    def __init__(self, x):
        self.left = [x]

    def get_next(self):
        return {"x": self.left.pop()} if self.left else None


KINDS = {"uint8": static.QuantType.QUInt8, "int8": static.QuantType.QInt8}


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("dtype", KINDS)
def test_a_network_of_quantize_static(rng, tmp_path, dtype, each, symmetric):
    """Its layers are of integers, and the result is as close as the runtime's own is."""
    g, x = Graph(DATA), images(rng)

    def weight(*shape):
        return rng.normal(0, (2 / np.prod(shape[1:])) ** 0.5, shape).astype("float32")

    y = g.node("Relu", g.node("Conv", "x", weight(16, 6, 3, 3), weight(16), pads=[1] * 4))
    z = g.node("Conv", y, weight(16, 1, 3, 3), weight(16), group=16, pads=[1] * 4)
    z = g.node("Clip", z, np.float32(0), np.float32(6))
    y = g.node("Relu", g.node("Add", y, g.node("Conv", z, weight(16, 16, 1, 1), weight(16))))
    y = g.node("MaxPool", g.node("Concat", y, z, axis=1), kernel_shape=[2, 2], strides=[2, 2])
    y = g.node("Flatten", g.node("GlobalAveragePool", y))
    y = g.node("Gemm", y, weight(10, 32), weight(10), transB=1)
    path = g.save(tmp_path / "f.onnx", [y])
    made = str(tmp_path / "q.onnx")
    static.quantize_static(
        path,
        made,
        Batches(x),
        per_channel=each,
        activation_type=KINDS[dtype],
        weight_type=static.QuantType.QInt8,
        extra_options={"ActivationSymmetric": symmetric},
    )
    (found,), (wanted,), kinds = both(made, x)
    assert kinds[CONV] == 3 and kinds[DENSE] == 1
    step = np.diff(np.unique(wanted)).min()
    assert np.abs(found - wanted).max() < 2.1 * step
    symbol, args, states = mx.onnx.import_model(made)
    again = mx.onnx.export_model(
        symbol, args | states, [x.shape], onnx_file_path=str(tmp_path / "a.onnx")
    )
    session = runtime.InferenceSession(again, providers=["CPUExecutionProvider"])
    assert np.abs(session.run(None, {"x": x})[0] - wanted).max() < 3.1 * step


@pytest.mark.parametrize("name", ["n7_offset", "n7_scale", "c4_0", "other"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_names_of_the_file_stay_its_own(rng, tmp_path, name, dtype):
    """Variables of an int8 layer have names that no value of the file has, whatever the weight."""
    g = Graph((1, 4, 3, 3))
    d = g.qdq("x", 0.02, 0)
    values = rng.integers(0, 100, (4, 4, 1, 1)).astype(dtype)
    weight = g.dq(values, 0.01, 0, dtype)
    side = g.node("GlobalMaxPool", "x")
    g.nodes[-1].output[0] = side = name
    y = g.node("Conv", d, weight)
    g.nodes[-1].name = "n7"
    out = g.qdq(y, 0.1, 0)
    x = rng.uniform(0, 5, (1, 4, 3, 3)).astype("f")
    found, wanted, counts = both(g.save(tmp_path / "m.onnx", [out, side]), x)
    assert counts[CONV] == 1
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, atol=0.1001)
