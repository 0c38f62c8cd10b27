"""How export_model is called, what its files say, and each refusal of an exporter by its reason."""

from functools import cache

import numpy as np
import pytest

import cynet as mx
from tests.onnx.test_import_values import computed, onnx

S = mx.sym
W = {"fc_weight": np.arange(6, dtype="float32").reshape(2, 3), "fc_bias": np.ones(2, "float32")}


@cache
def v(name="x"):
    return S.var(name)


def dense(data=None):
    return S.FullyConnected(v() if data is None else data, num_hidden=2, name="fc")


def arrays(params):
    return {k: mx.nd.array(each) for k, each in params.items()}


def export(path, symbol, params=(), shapes=((4, 3),), kinds=np.float32, **more):
    mx.onnx.export_model(symbol, dict(params), list(shapes), kinds, path / "m.onnx", **more)
    return onnx.load(str(path / "m.onnx"))


IMAGE = (1, 4, 6, 6)
REFUSED = {
    "mean and variance are outputs": (
        S.BatchNorm(v(), output_mean_var=True, name="n"),
        [IMAGE],
        {f"n_{k}": (4,) for k in ("gamma", "beta", "moving_mean", "moving_var")},
    ),
    "'n': mean and deviation are outputs": (
        S.LayerNorm(v(), output_mean_var=True, name="n"),
        [(2, 4)],
        {"n_gamma": (4,), "n_beta": (4,)},
    ),
    "GroupNorm 'n': mean and deviation are outputs": (
        S.GroupNorm(v(), num_groups=2, output_mean_var=True, name="n"),
        [IMAGE],
        {"n_gamma": (2,), "n_beta": (2,)},
    ),
    "only sample_type='nearest' of one array has a form": (
        S.UpSampling(v(), v("y"), scale=2, sample_type="nearest", num_args=2, name="n"),
        [IMAGE, IMAGE],
        {},
    ),
    "'m': only sample_type='nearest' of one array": (
        S.UpSampling(
            v(), v("w"), scale=2, sample_type="bilinear", num_filter=4, num_args=2, name="m"
        ),
        [IMAGE],
        {"w": (4, 1, 4, 4)},
    ),
    "only values and indices of one axis": (
        S.topk(v(), axis=None, k=2, ret_typ="value"),
        [(2, 4)],
        {},
    ),
    "topk0?.*: only values and indices": (S.topk(v(), ret_typ="mask"), [(2, 4)], {}),
    "position_sensitive=True": (
        S.contrib.ROIAlign(
            v(), v("r"), pooled_size=(2, 2), spatial_scale=1.0, position_sensitive=True
        ),
        [IMAGE, (1, 5)],
        {},
    ),
    "aligned=True; ONNX has it from opset 16 on": (
        S.contrib.ROIAlign(v(), v("r"), pooled_size=(2, 2), spatial_scale=1.0, aligned=True),
        [IMAGE, (1, 5)],
        {},
    ),
    "projection_size and use_sequence_length are not written": (
        S.RNN(
            v(), v("p"), v("h"), v("c"), mode="lstm", state_size=4, num_layers=1, projection_size=2
        ),
        [(5, 2, 3)],
        {"p": (16 * 3 + 16 * 2 + 32 + 8,), "h": (1, 2, 2), "c": (1, 2, 4)},
    ),
    "RNN 's': projection_size and use_sequence_length": (
        S.RNN(
            v(),
            v("p"),
            v("h"),
            v("c"),
            v("l"),
            mode="lstm",
            state_size=4,
            num_layers=1,
            use_sequence_length=True,
            name="s",
        ),
        [(5, 2, 3)],
        {"p": (16 * 3 + 16 * 4 + 32,), "h": (1, 2, 4), "c": (1, 2, 4), "l": (2,)},
    ),
    "repeat=2": (S.contrib.arange_like(v(), repeat=2, axis=1), [(2, 4)], {}),
    "get_prob=True": (S.sample_multinomial(v(), get_prob=True)[0], [(2, 4)], {}),
    "axis=0": (S.linalg.gemm2(v(), v("y"), axis=0), [(2, 3, 4), (4, 3, 5)], {}),
    "more than two axes; use batch_dot": (S.dot(v(), v("y")), [(2, 3, 4), (4, 5)], {}),
    "overlap_thresh=1.5 of float32; 0 to 1 of float32": (
        S.contrib.box_nms(v(), overlap_thresh=1.5),
        [(1, 4, 6)],
        {},
    ),
    "overlap_thresh=-0.1 of float32": (
        S.contrib.box_nms(v(), overlap_thresh=-0.1),
        [(1, 4, 6)],
        {},
    ),
    "a window without an element": (
        S.Pooling(
            v(),
            kernel=(2, 2),
            stride=(3, 3),
            pad=(1, 1),
            pool_type="avg",
            pooling_convention="full",
            count_include_pad=False,
        ),
        [(1, 1, 5, 5)],
        {},
    ),
    "maxima of windows that begin behind the padding": (
        S.Pooling_v1(
            v(),
            kernel=(2, 2),
            stride=(4, 4),
            pad=(1, 1),
            pool_type="max",
            pooling_convention="full",
        ),
        [(1, 1, 5, 5)],
        {},
    ),
    "its range is found in each run; calibrate the network": (
        S.contrib.quantize_v2(v(), out_type="int8", name="q")[0],
        [(2, 4)],
        {},
    ),
    "the range of its output is 0": (
        S.contrib.quantize_v2(v(), out_type="int8", min_calib_range=0.0, max_calib_range=0.0)[0],
        [(2, 4)],
        {},
    ),
    "has no form in ONNX here; mx.onnx.get_operator_support": (S.gamma(v(), name="g"), [(2,)], {}),
}


@pytest.mark.parametrize("told", REFUSED)
def test_refused(told, tmp_path):
    symbol, shapes, params = REFUSED[told]
    params = {k: mx.nd.ones(shape) for k, shape in params.items()}
    with pytest.raises(mx.errors.UndefinedError, match=told):
        mx.onnx.export_model(symbol, params, shapes, np.float32, tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())


def test_the_nearest_that_is_written(tmp_path):
    for overlap in (0.0, 1.0):
        export(tmp_path, S.contrib.box_nms(v(), overlap_thresh=overlap), shapes=[(1, 4, 6)])
    export(tmp_path, S.topk(v(), k=2, ret_typ="both"), shapes=[(2, 4)])
    whole = S.Pooling_v1(
        v(), kernel=(2, 2), stride=(2, 2), pool_type="max", pooling_convention="full"
    )
    export(tmp_path, whole, shapes=[(1, 1, 5, 5)])


CALLS = [
    ({"shapes": []}, "in_shapes has 0 shapes for the inputs x"),
    ({"shapes": [(4, 3), (4, 3)]}, "in_shapes has 2 shapes for the inputs x"),
    ({"kinds": [np.float32, np.float32]}, "2 in_types for 1 inputs"),
    ({"kinds": []}, "0 in_types for 1 inputs"),
    ({"dynamic": True, "dynamic_input_shapes": []}, r"the axes of the inputs: x \(4, 3\)"),
    ({"dynamic": True, "dynamic_input_shapes": [("n",)]}, "must have the axes of the inputs"),
    ({"dynamic": True, "dynamic_input_shapes": [("n", 3, 1)]}, "must have the axes of the inputs"),
]


@pytest.mark.parametrize(("how", "told"), CALLS)
def test_wrong_calls(how, told, tmp_path):
    with pytest.raises(mx.errors.ArgumentError, match=told):
        export(tmp_path, dense(), arrays(W), **how)


def test_a_block(tmp_path):
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(4, activation="relu"), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Dense(2))
    net.initialize(mx.init.Xavier())
    path, shapes = tmp_path / "net.onnx", [(1, 3)]
    with pytest.raises(mx.errors.StateError, match="hybridize it and call it once"):
        mx.onnx.export_model(net, in_shapes=shapes, onnx_file_path=path)
    net.hybridize()
    x = mx.nd.array(np.linspace(-1, 1, 6).reshape(2, 3))
    wanted = net(x).asnumpy()
    mx.onnx.export_model(net, in_shapes=shapes, onnx_file_path=path, dynamic=True)
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (name,) = [each.name for each in session.get_inputs()]
    found = session.run(None, {name: x.asnumpy()})[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    with pytest.raises(mx.errors.ArgumentError, match="a Block has its parameters"):
        mx.onnx.export_model(net, {}, shapes, onnx_file_path=path)
    plain = mx.gluon.nn.Sequential()
    with pytest.raises(mx.errors.ArgumentTypeError, match="is a plain Block, without a graph"):
        mx.onnx.export_model(plain, in_shapes=shapes, onnx_file_path=path)
    with pytest.raises(mx.errors.ArgumentTypeError, match="a Symbol or a file needs params"):
        mx.onnx.export_model(dense(), in_shapes=shapes, onnx_file_path=path)


def test_other_wrong_calls(tmp_path):
    with pytest.raises(mx.errors.ArgumentError, match=r"0 shapes .* inputs \(none\)|1 shapes"):
        export(tmp_path, dense(), {**arrays(W), "x": mx.nd.ones((4, 3))})
    with pytest.raises(mx.errors.ShapeError, match="leave the shape of '.*' unknown|shape"):
        export(tmp_path, dense(), arrays(W), shapes=[(0, 3)])
    for params in (7, [7], "text", [{}, None]):
        with pytest.raises((TypeError, OSError), match="params is a file, a dict or a list|text"):
            mx.onnx.export_model(dense(), params, [(4, 3)], np.float32, tmp_path / "m.onnx")
    for opset in (12, 14, "13"):
        with pytest.raises(mx.errors.ArgumentError, match=f"opset 13, got {opset}"):
            mx.onnx.get_operator_support(opset)
    assert mx.onnx.get_operator_support(13) == mx.onnx.get_operator_support()
    assert mx.onnx.get_operator_support() == sorted(mx.onnx.get_operator_support())


def told(values):
    return [
        (
            each.name,
            each.type.tensor_type.elem_type,
            [d.dim_param or d.dim_value or None for d in each.type.tensor_type.shape.dim],
        )
        for each in values
    ]


def test_what_a_file_says(tmp_path):
    model = export(tmp_path, dense(), arrays(W))
    assert (model.producer_name, model.ir_version, model.graph.name) == ("cynet", 7, "cynet")
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 13)]
    assert told(model.graph.input) == [("x", 1, [4, 3])]
    assert told(model.graph.output) == [("fc_output", 1, [4, 2])]
    assert [(n.op_type, list(n.input), list(n.output), n.name) for n in model.graph.node] == [
        ("Gemm", ["x", "fc_weight", "fc_bias"], ["fc_output"], "fc_gemm")
    ]
    assert sorted(each.name for each in model.graph.initializer) == ["fc_bias", "fc_weight"]
    for each in model.graph.initializer:
        np.testing.assert_array_equal(onnx.numpy_helper.to_array(each), W[each.name])


@pytest.mark.parametrize(
    "ways",
    [
        {"params": [arrays(W), {}]},
        {"params": W},
        {"in_types": None, "input_type": "float32"},
        {"in_types": [np.float32]},
        {"in_shapes": None, "input_shape": [(4, 3)]},
        {"params": {f"arg:{k}": each for k, each in arrays(W).items()}},
        {"params": {**arrays(W), "unused": mx.nd.ones(3)}},
        {"run_shape_inference": True},
        {"onnx_file_path": "text"},
        {"params": "file"},
        {"sym": "file"},
    ],
    ids=str,
)
def test_ways_to_say_the_same(ways, tmp_path):
    given = {
        "sym": dense(),
        "params": arrays(W),
        "in_shapes": [(4, 3)],
        "in_types": np.float32,
        "onnx_file_path": tmp_path / "m.onnx",
        **ways,
    }
    if given["onnx_file_path"] == "text":
        given["onnx_file_path"] = str(tmp_path / "m.onnx")
    if isinstance(given["params"], str):
        given["params"] = tmp_path / "p"
        mx.nd.save(str(tmp_path / "p"), {f"aux:{k}": each for k, each in arrays(W).items()})
    if isinstance(given["sym"], str):
        given["sym"] = tmp_path / "s.json"
        dense().save(str(tmp_path / "s.json"))
    assert mx.onnx.export_model(**given) == str(tmp_path / "m.onnx")
    model = onnx.load(str(tmp_path / "m.onnx"))
    wanted = export(tmp_path, dense(), arrays(W))
    if "run_shape_inference" not in ways:
        assert model == wanted
    x = np.random.RandomState(0).randn(4, 3).astype("float32")
    (found,) = computed(model.SerializeToString(), {"x": x})
    np.testing.assert_allclose(found, x @ W["fc_weight"].T + 1, 1e-5)


def test_shapes_of_all_values_on_request(tmp_path):
    net = S.relu(dense(), name="r")
    assert not export(tmp_path, net, arrays(W)).graph.value_info
    found = export(tmp_path, net, arrays(W), run_shape_inference=True).graph.value_info
    assert told(found) == [("fc_output", 1, [4, 2])]


def test_lines_on_request(tmp_path, capsys):
    export(tmp_path, S.split(S.relu(v(), name="r"), num_outputs=3, name="s"))
    assert capsys.readouterr().out == ""
    export(tmp_path, S.split(S.relu(v(), name="r"), num_outputs=3, name="s"), verbose=True)
    assert capsys.readouterr().out == (
        "relu r: r_output\nSliceChannel s: s_output0, s_output1, s_output2\n"
    )


@pytest.mark.parametrize(
    ("shapes", "inputs", "outputs"),
    [
        (None, [["batch", 3], ["batch", 3]], [["batch", None], [None, None]]),
        ([("n", 3), (4, "m")], [["n", 3], [4, "m"]], [["n", None], [None, None]]),
        ([(4, 3), (4, 3)], [[4, 3], [4, 3]], [[4, None], [None, None]]),
    ],
)
def test_open_lengths(shapes, inputs, outputs, tmp_path):
    """The first length of an output is open where it is that of an input."""
    net = S.Group([v() + v("y"), S.reshape(v() * 2, shape=(12, 1), name="r")])
    model = export(tmp_path, net, shapes=[(4, 3)] * 2, dynamic=True, dynamic_input_shapes=shapes)
    assert [each[2] for each in told(model.graph.input)] == inputs
    found = [each[2] for each in told(model.graph.output)]
    assert found[0] == outputs[0] and found[1][1:] == outputs[1][1:] and found[1][0] == 12


def test_labels_are_no_inputs(tmp_path):
    """What losses alone compare with; a variable that something else reads is one."""
    net = S.SoftmaxOutput(v(), v("label"), name="s")
    assert [each[0] for each in told(export(tmp_path, net).graph.input)] == ["x"]
    both = S.Group([net, S.relu(v("label"))])
    model = export(tmp_path, both, shapes=[(4, 3), (4,)])
    assert [each[0] for each in told(model.graph.input)] == ["x", "label"]


def test_heads_that_are_inputs_or_come_twice(tmp_path):
    twice = S.relu(v(), name="r")
    model = export(tmp_path, S.Group([v(), twice, twice, S.BlockGrad(v())]))
    assert len({each[0] for each in told(model.graph.output)}) == 4
    x = np.random.RandomState(0).randn(4, 3).astype("float32")
    found = computed(model.SerializeToString(), {"x": x})
    for made, wanted in zip(found, (x, np.maximum(x, 0), np.maximum(x, 0), x), strict=True):
        np.testing.assert_array_equal(made, wanted)


def test_dtypes_of_inputs_and_outputs(tmp_path):
    net = S.Group([S.Cast(v(), dtype="float64"), v("y") + v("y")])
    model = export(tmp_path, net, shapes=[(2,), (3,)], kinds=[np.float32, "int32"])
    assert [each[1] for each in told(model.graph.input)] == [1, 6]
    assert [each[1] for each in told(model.graph.output)] == [11, 6]


def test_names_come_once(tmp_path):
    net = S.relu(S.tanh(S.sigmoid(v(), name="a"), name="a"), name="a")
    model = export(tmp_path, net)
    made = [o for n in model.graph.node for o in n.output]
    assert len(set(made)) == len(made) == 3 and len({n.name for n in model.graph.node}) == 3


def test_equal_constants_are_written_once(tmp_path):
    """Of the same dtype, shape and bytes: -0 is not 0."""
    net = (v() + 2) * (v() - 2) * (v() * 2) + (v() + 0.0) * (v() + -0.0)
    model = export(tmp_path, net)
    values = [onnx.numpy_helper.to_array(each) for each in model.graph.initializer]
    assert sorted(float(each) for each in values) == [0.0, 0.0, 2.0]
    assert sum(np.signbit(each) for each in values) == 1


def test_what_the_onnx_package_refuses(tmp_path):
    with pytest.raises(mx.errors.UndefinedError, match="export_model: ONNX cannot say it: "):
        export(tmp_path, v() + v("y"), shapes=[(2,), (2,)], kinds="int8")
    assert not list(tmp_path.iterdir())


OPEN = {
    "slice_like": lambda: S.slice_like(v(), v("y"), axes=(1,)),
    "reshape": lambda: S.reshape(v(), shape=(0, -1)),
    "reshape of two": lambda: S.reshape(v(), shape=(0, 2, 4)),
    "flatten": lambda: S.Flatten(v()),
    "dense": lambda: dense(S.slice_axis(S.Flatten(v()), axis=1, begin=0, end=3)),
    "group norm": lambda: S.GroupNorm(v(), S.ones((2,)), S.zeros((2,)), num_groups=2),
    "softmax": lambda: S.SoftmaxOutput(S.Flatten(v()), name="s"),
    "sums": lambda: S.sum(v(), axis=(1, 2), keepdims=True),
    "swapped": lambda: S.SwapAxis(v(), dim1=1, dim2=2),
    "repeated": lambda: S.repeat(v(), repeats=2, axis=2),
    "reshaped as NumPy does": lambda: S.np.reshape(v().as_np_ndarray(), (-1, 8)).as_nd_ndarray(),
}


@pytest.mark.parametrize("name", OPEN)
def test_other_batches(name, tmp_path):
    """What is written for a batch of 4 computes one of 7."""
    symbol, rng = OPEN[name](), np.random.RandomState(0)
    feeds = {
        n: rng.randn(4, 4, 2).astype("float32") for n in ("x", "y") if n in symbol.list_arguments()
    }
    if "y" in feeds:
        feeds["y"] = feeds["y"][:, :3].copy()
    params = arrays(W) if name == "dense" else {}
    model = export(tmp_path, symbol, params, [a.shape for a in feeds.values()], dynamic=True)
    feeds = {n: rng.randn(7, *a.shape[1:]).astype("float32") for n, a in feeds.items()}
    given = {**arrays(feeds), **params}
    if name == "softmax":
        given["s_label"] = mx.nd.zeros(7)
    (wanted,) = symbol.bind(mx.cpu(), given, grad_req="null").forward()
    names = {each.name for each in model.graph.input}
    feeds = {n: a for n, a in feeds.items() if n in names}
    (found,) = computed(model.SerializeToString(), feeds)
    np.testing.assert_allclose(found, wanted.asnumpy(), 1e-5, 1e-6)
