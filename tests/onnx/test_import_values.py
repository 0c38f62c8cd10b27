"""Nodes that the backend suite holds too little: onnxruntime's values, or a refusal by name."""

import numpy as np
import pytest

import cynet as mx

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
helper = onnx.helper
X = np.random.RandomState(0).randn(1, 2, 6, 6).astype("float32")
T3 = np.random.RandomState(2).randn(2, 3, 4).astype("float32")
IMAGE = np.random.RandomState(4).randn(1, 3, 7, 8).astype("float32")


def save(path, kind, inputs, constants=(), opset=13, outputs=1, kinds=None, **attributes):
    """A file of one node; None is an input that is left out."""
    names = [f"x{i}" for i in range(len(inputs))]
    fixed = ["" if c is None else f"c{i}" for i, c in enumerate(constants)]
    out = [f"y{i}" for i in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(kind, [*names, *fixed], out, "n", **attributes)],
        "g",
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for n, x in zip(names, inputs)
        ],
        [helper.make_empty_tensor_value_info(n) for n in out],
        [onnx.numpy_helper.from_array(c, n) for n, c in zip(fixed, constants) if n],
    )
    imports = [helper.make_opsetid("", opset)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), str(path))
    return names


def compute(path, names, inputs):
    network, args, states = mx.onnx.import_model(path)
    feeds = {n: mx.nd.array(x, dtype=x.dtype) for n, x in zip(names, inputs)}
    feeds = {n: x for n, x in feeds.items() if n in network.list_arguments()}
    return network.bind(mx.cpu(), {**args, **feeds}, aux_states=states).forward()


def computed(model, feeds):
    """What ONNX Runtime computes of a file, or the bytes of one, in the thread that asks: a pool of
    them for each file takes longer than all the rest."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    model = model if isinstance(model, bytes) else str(model)
    return runtime.InferenceSession(model, options, ["CPUExecutionProvider"]).run(None, feeds)


def agree(path, kind, inputs, constants=(), rtol=1e-4, **more):
    names = save(path, kind, inputs, constants, **more)
    wanted = computed(path, dict(zip(names, inputs)))
    for found, each in zip(compute(path, names, inputs), wanted):
        assert found.shape == (each.shape or (1,))
        assert np.dtype(found.dtype) == each.dtype
        np.testing.assert_allclose(found.asnumpy(), each.reshape(found.shape), rtol, atol=1e-5)


def save_with_outputs(path, kind, inputs, constants, outputs, **attributes):
    """A file of one node whose outputs have these names; "" is one that nobody asks for."""
    names = save(path, kind, inputs, constants, outputs=len(outputs), **attributes)
    model = onnx.load(str(path))
    for i, name in enumerate(outputs):
        model.graph.node[0].output[i] = name
    del model.graph.output[:]
    model.graph.output.extend(helper.make_empty_tensor_value_info(n) for n in outputs if n)
    onnx.save(model, str(path))
    return names


def f(*values):
    return np.array(values, "float32")


def i(*values):
    return np.array(values, "int64")


SIZES = [
    [None, f(1, 1, 2, 2)],
    [None, f(1, 1, 2.5, 1)],
    [None, f(1, 1, 0.6, 1.3)],
    [None, None, i(1, 3, 5, 11)],
    [None, None, i(1, 3, 3, 16)],
]
HOW = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("sizes", SIZES)
def test_resize(how, sizes, tmp_path):
    """Every rounding and mode; sums of scales that are no whole length are told by no one."""
    ways = [{"mode": "nearest", "nearest_mode": n} for n in NEAREST]
    ways += [{"mode": "linear"}, {"mode": "cubic"}, {"mode": "cubic", "cubic_coeff_a": -0.5}]
    ways += [{"mode": "cubic", "exclude_outside": 1}]
    for way in ways:
        more = {**way, "coordinate_transformation_mode": how}
        try:
            agree(tmp_path / "m.onnx", "Resize", [IMAGE], sizes, **more)
        except mx.errors.UndefinedError as error:
            assert how in str(error) and "with a scale of" in str(error)
            assert how in ("align_corners", "pytorch_half_pixel") and len(sizes) == 2


WEIGHT, BIAS = (np.random.RandomState(5).randn(*s).astype("float32") for s in ((4, 3, 3, 2), (4,)))
EXTREME = [
    ((1,), (2**31 - 1,), (1,)),
    ((1,), (1000,), (1,)),
    ((-4,), (2**63 - 1,), (1,)),
    ((-1000,), (3,), (1,)),
    ((5,), (-(2**63),), (-1,)),
    ((-1,), (-1000,), (-2,)),
    ((100,), (1,), (-1,)),
    ((1,), (-1,), (2,)),
]


@pytest.mark.parametrize(("start", "end", "step"), EXTREME)
def test_slice_beyond_the_axis(start, end, step, tmp_path):
    x = np.arange(24, dtype="float32").reshape(4, 6)
    agree(tmp_path / "m.onnx", "Slice", [x], [i(*start), i(*end), i(1), i(*step)])
    if step == (1,):
        names = save(tmp_path / "m.onnx", "Slice", [x], opset=9, starts=start, ends=end, axes=[1])
        found = compute(tmp_path / "m.onnx", names, [x])[0].asnumpy()
        np.testing.assert_array_equal(found, x[:, start[0] : end[0]])


ROWS = [
    ("Round", [f(0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, np.inf, -np.inf, 8388609)], [], {}),
    ("Mod", [f(5.3, -5.3, 5.3, -5.3), f(2, 2, -2, -2)], [], {"fmod": 1}),
    ("Mod", [i(5, -5, 5, -5), i(3, 3, -3, -3)], [], {}),
    ("Mod", [i(5, -5, 5, -5), i(3, 3, -3, -3)], [], {"fmod": 1}),
    ("Div", [i(7, -7, 7, -7), i(2, 2, -2, -2)], [], {}),
    ("Add", [i(2**62, 3), i(1, 2**53 + 1)], [], {}),
    ("Mul", [i(2**53 + 1, 3)], [i(1)], {}),
    ("Add", [f(1, 2)], [np.array([[1.0]], "float32")], {}),  # the result has two axes
    ("Selu", [X], [], {"alpha": 2.0, "gamma": 3.0}),
    ("Elu", [X], [], {"alpha": 2.0}),
    ("PRelu", [T3], [np.array([[0.1], [0.2], [0.3]], "float32")], {}),
    ("PRelu", [T3], [f(0.1, 0.2, 0.3, 0.4)], {}),
    ("PRelu", [T3, np.abs(T3)], [], {}),
    ("HardSigmoid", [X], [], {"alpha": 0.3, "beta": 0.1}),
    ("Clip", [f(-np.inf, -1, 2, np.inf)], [f(0)[0]], {}),
    ("Clip", [f(-np.inf, -1, 2, np.inf)], [None, f(0)[0]], {}),
    ("Equal", [T3, T3], [], {}),
    ("Where", [np.array([[True], [False]]), f(np.inf, np.nan), f(1, -np.inf)], [], {}),
    *(("Flatten", [T3], [], {"axis": a}) for a in (-3, -2, -1, 0, 1, 2, 3)),
    *((f"Global{k}Pool", [X], [], {}) for k in ("Max", "Average", "Lp")),
    *(("GlobalLpPool", [X], [], {"p": p}) for p in (1, 3)),
    ("ReduceSum", [X], [i()], {"noop_with_empty_axes": 1}),
    ("ReduceSum", [X], [i()], {}),
    ("ReduceSum", [X], [i(-1, 0)], {"keepdims": 0}),
    *(
        (f"Reduce{k}", [np.abs(T3) + 1], [], {"axes": [-1], "keepdims": d})
        for k in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "SumSquare")
        for d in (0, 1)
    ),
    *(
        (k, [np.sign(T3)], [], {"axis": a, "keepdims": 0, "select_last_index": s})
        for k in ("ArgMax", "ArgMin")
        for a in (0, -1)
        for s in (0, 1)
    ),
    *(
        ("CumSum", [T3], [i(a)[0]], {"exclusive": e, "reverse": r})
        for a in (0, -1)
        for e in (0, 1)
        for r in (0, 1)
    ),
    ("Gather", [T3], [i(-1, 0)], {"axis": 1}),
    ("Gather", [T3], [i(-1)[0]], {"axis": -1}),
    ("GatherElements", [T3], [i(0, -1, 1).reshape(1, 3, 1)], {"axis": 2}),
    ("GatherND", [T3], [i(1, -1).reshape(1, 2)], {}),
    ("GatherND", [T3], [i(1, -1).reshape(2, 1)], {"batch_dims": 1}),
    ("ScatterND", [T3], [i(1, -1).reshape(1, 2), f(9, 8, 7, 6).reshape(1, 4)], {}),
    ("ScatterElements", [T3], [i(0, -1).reshape(1, 2, 1), f(9, 8).reshape(1, 2, 1)], {"axis": 2}),
    *(("OneHot", [i(0, -1, 2, 7, -9)], [i(4)[0], f(-1, 5)], {"axis": a}) for a in (-1, 0)),
    *(("Trilu", [T3], [i(k)[0]], {"upper": u, "opset": 14}) for k in (-1, 0, 1) for u in (0, 1)),
    *(
        ("Pad", [T3], [i(1, 0, 2, 0, 1, 1), f(7)[0]], {"mode": m})
        for m in ("constant", "edge", "reflect")
    ),
    ("Pad", [T3], [i(-1, 0, 1, 0, 0, -1)], {}),
    ("Expand", [T3[:, :1]], [i(1, 3, 1)], {}),
    ("Unsqueeze", [T3], [i(-1, 0)], {}),
    ("Split", [T3], [i(1, 3)], {"axis": 2, "outputs": 2}),
    (
        "DepthToSpace",
        [np.arange(48, dtype="float32").reshape(1, 8, 2, 3)],
        [],
        {"blocksize": 2, "mode": "CRD"},
    ),
    ("MatMul", [T3, T3[0].T.copy()], [], {}),
    ("MatMul", [T3[0, 0], T3.transpose(0, 2, 1).copy()], [], {}),
    ("MatMul", [T3, f(1, 2, 3, 4)], [], {}),
    ("MatMul", [T3[:1], T3.transpose(0, 2, 1).copy()], [], {}),
    *(
        ("Gemm", [T3[0], T3[1]], [c], {"transB": 1, "alpha": 0.5, "beta": 2.0})
        for c in (f(1, 2, 3), f(2)[0], f(1, 2, 3).reshape(3, 1))
    ),
    *(("Softmax", [T3], [], {"axis": a, "opset": o}) for a in (0, 1, 2) for o in (11, 13)),
    *(
        ("Einsum", [T3, T3], [], {"equation": e})
        for e in ("bij,bkj->bik", "bij,bij->b", "abc,dbc->ad", "bij,bkl->ijkl")
    ),
    ("QuantizeLinear", [f(-1000, -1.5, -0.5, 0.5, 1.5, 2.5, 999)], [f(1)[0], np.uint8(3)], {}),
    ("QuantizeLinear", [f(-2, 1e-30, 3)], [f(0)[0], np.uint8(3)], {}),
    ("QuantizeLinear", [f(-2, 0, 3)], [f(1e-39)[0], np.int8(3)], {}),
    (
        "DequantizeLinear",
        [np.arange(6, dtype="uint8").reshape(2, 3)],
        [f(0.5, 2), np.array([1, 2], "uint8")],
        {"axis": 0},
    ),
    ("LayerNormalization", [T3], [np.ones((3, 4), "float32")], {"axis": 1, "opset": 17}),
    ("LRN", [IMAGE], [], {"size": 3, "alpha": 0.5, "beta": 0.6, "bias": 2.0}),
    ("InstanceNormalization", [IMAGE], [f(1, 2, 3), f(0, 1, 2)], {"epsilon": 0.1}),
    ("Celu", [X], [], {"alpha": 0.7}),
    ("Cast", [f(0.5, 0, -0.2, np.nan)], [], {"to": 9}),
    ("Cast", [f(1.7, -1.7)], [], {"to": 7}),
]


@pytest.mark.parametrize(("kind", "inputs", "constants", "more"), ROWS)
def test_values(kind, inputs, constants, more, tmp_path):
    agree(tmp_path / "m.onnx", kind, inputs, constants, **more)


W, R, B = (
    np.random.RandomState(k).randn(*s).astype("float32")
    for k, s in enumerate(((2, 16, 3), (2, 16, 4), (2, 32)))
)
SEQUENCE = np.random.RandomState(3).randn(5, 2, 3).astype("float32")


REFUSED = [
    ("LSTM", [SEQUENCE], [W[:1], R[:1]], {"hidden_size": 4, "input_forget": 1}, "input_forget=1"),
    ("LSTM", [SEQUENCE], [W[:1], R[:1]], {"hidden_size": 4, "clip": 1.0}, "clip"),
    (
        "LSTM",
        [SEQUENCE],
        [W[:1], R[:1], B[:1], np.array([5, 3], "int32")],
        {"hidden_size": 4},
        "sequence lengths",
    ),
    ("GRU", [SEQUENCE], [W[:1, :12], R[:1, :12]], {"hidden_size": 4}, "linear_before_reset=0"),
    (
        "GRU",
        [SEQUENCE],
        [W[:1, :12], R[:1, :12]],
        {"hidden_size": 4, "activations": ["Relu", "Tanh"]},
        "activations",
    ),
    (
        "ScatterND",
        [T3],
        [i(1, 1).reshape(1, 2), f(1, 2, 3, 4).reshape(1, 4)],
        {"reduction": "add", "opset": 18},
        "reduction=add",
    ),
    (
        "BatchNormalization",
        [IMAGE],
        [f(1, 1, 1)] * 4,
        {"training_mode": 1, "opset": 15},
        "training_mode=1",
    ),
    (
        "LayerNormalization",
        [T3],
        [np.ones(4, "float32")],
        {"stash_type": 0, "opset": 17},
        "stash_type=0; only 1",
    ),
    ("MaxPool", [IMAGE], [], {"kernel_shape": [2, 2], "outputs": 2}, "its output y1"),
    ("NonZero", [T3], [], {}, "is not read"),
    ("Add", [np.ones(2, "uint16")] * 2, [], {}, "'x0' is of type uint16"),
    (
        "ConvTranspose",
        [IMAGE],
        [WEIGHT.transpose(1, 0, 2, 3).copy()],
        {"output_shape": [30, 30]},
        "output_shape",
    ),
]


@pytest.mark.parametrize(("kind", "inputs", "constants", "more", "told"), REFUSED)
def test_refused_by_name(kind, inputs, constants, more, told, tmp_path):
    save(tmp_path / "m.onnx", kind, inputs, constants, **more)
    with pytest.raises(mx.errors.UndefinedError, match=told) as caught:
        mx.onnx.import_model(tmp_path / "m.onnx")
    assert kind in str(caught.value) or "'x0'" in str(caught.value)


def test_what_no_importer_asks_for_is_refused(tmp_path):
    """An attribute or input of the next version of ONNX."""
    path = tmp_path / "m.onnx"
    taken = [r for r in ROWS if r[0] not in ("Celu",)]  # a function: its body does not see it
    for kind, inputs, constants, more in taken:
        save(path, kind, inputs, constants, of_the_next_version=1, **more)
        with pytest.raises(mx.errors.UndefinedError, match="attribute of_the_next_version=1"):
            mx.onnx.import_model(path)
    for kind, inputs, constants, more in taken:
        if kind in ("Sum", "Max", "Einsum", "Where"):
            continue
        constants = [*constants, *[None] * (9 - len(inputs) - len(constants)), f(1, 2)]
        save(path, kind, inputs, constants, **more)
        with pytest.raises(mx.errors.CynetError, match=r"its input 9 \(c"):
            mx.onnx.import_model(path)


@pytest.mark.parametrize("dtype", ["float16", "float64", "float32"])
def test_files_keep_their_dtype(dtype, tmp_path):
    x = T3.astype(dtype)
    path = tmp_path / "m.onnx"
    agree(path, "Add", [x], [np.array([1, 2, 3, 4], dtype)], rtol=1e-3)
    agree(path, "Gemm", [x[0]], [x[1].T.copy(), np.ones(3, dtype)], rtol=1e-2)
    network, args, _ = mx.onnx.import_model(path)
    assert {np.dtype(v.dtype).name for v in args.values()} == {dtype}
    assert network.infer_type()[1] == [np.dtype(dtype).type]


@pytest.mark.parametrize(
    "kind, inputs, constants, outputs, attributes",
    [
        ("Dropout", [T3], [], ["y", ""], {}),
        ("MaxPool", [IMAGE], [], ["y", ""], {"kernel_shape": [2, 2]}),
        ("LSTM", [SEQUENCE], [W[:1], R[:1]], ["", "h", ""], {"hidden_size": 4}),
    ],
)
def test_outputs_without_a_name_are_not_asked_for(
    tmp_path, kind, inputs, constants, outputs, attributes
):
    """Outputs that cynet does not compute may stand in a file so."""
    path = tmp_path / "one.onnx"
    names = save_with_outputs(path, kind, inputs, constants, outputs, **attributes)
    (wanted,) = computed(path, dict(zip(names, inputs)))
    (found,) = compute(path, names, inputs)
    np.testing.assert_allclose(found.asnumpy(), wanted.reshape(found.shape), 1e-4, atol=1e-5)
