"""What an importer cannot compute is refused with the node and the reason: the refusals of all
importers, each by a file of one node."""

import numpy as np
import pytest

import cynet as mx
from tests.onnx.test_import_values import IMAGE, SEQUENCE, T3, B, R, W, X, f, helper, i, onnx, save

LSTM = {"hidden_size": 4}

# operator, inputs, constants, attributes and settings of the file, what is told
ROWS = [
    ("LayerNormalization", [T3], [np.ones(4, "float32")], {"stash_type": 0, "opset": 17},
     "stash_type=0; only 1"),
    ("BatchNormalization", [IMAGE], [f(1, 1, 1)] * 4, {"spatial": 0, "opset": 7},
     "spatial=0; only 1"),
    ("BatchNormalization", [IMAGE], [f(1, 1, 1)] * 4, {"training_mode": 1, "opset": 15},
     "training_mode=1"),
    ("LRN", [T3], [], {"size": 3}, "of 3 axes"),
    ("LRN", [IMAGE], [], {"size": 2}, "an even size=2"),
    ("RoiAlign", [IMAGE], [f(0, 0, 3, 3).reshape(1, 4), i(0)],
     {"mode": "max", "opset": 16}, "mode=max"),
    ("GridSample", [IMAGE, np.zeros((1, 2, 2, 3), "float32")], [], {"opset": 16},
     "mode=linear of the shapes"),
    ("GridSample", [X.reshape(1, 2, 3, 3, 4), np.zeros((1, 2, 2, 2, 3), "float32")], [],
     {"opset": 20, "mode": "cubic"}, "mode=cubic of the shapes"),
    ("GridSample", [IMAGE, np.zeros((1, 2, 2, 2), "float32")], [],
     {"opset": 16, "mode": "area"}, "mode=area; only bilinear, nearest, bicubic"),
    ("GridSample", [IMAGE, np.zeros((1, 2, 2, 2), "float32")], [],
     {"opset": 16, "padding_mode": "wrap"}, "padding_mode=wrap; only zeros, border, reflection"),
    ("GridSample", [IMAGE, np.zeros((1, 2, 2, 2), "float64")], [], {"opset": 16},
     "of float32 at points of float64"),
    ("LSTM", [SEQUENCE], [W[:1], R[:1], B[:1], None, None, None,
                          np.zeros((1, 12), "float32")], LSTM, "peepholes"),
    ("LSTM", [SEQUENCE], [W[:1], R[:1]], {**LSTM, "direction": "bidirectional"},
     "weights of 1 directions for direction=bidirectional"),
    ("LSTM", [SEQUENCE], [W[:1], R[:1]], {"hidden_size": 5}, "hidden_size=5 for weights of 4"),
    ("LSTM", [SEQUENCE], [W[:1], R[:1]], {**LSTM, "activation_alpha": [0.5]}, "activation_alpha"),
    ("QuantizeLinear", [T3], [np.float32(0.1), np.uint8(3)], {"opset": 23, "precision": 10},
     "precision=10"),
    ("QuantizeLinear", [T3.astype("float64")], [f(0.1)[0], np.uint8(3)], {}, "float64 to uint8"),
    ("QuantizeLinear", [T3], [np.full((2, 3), 0.1, "float32")], {"opset": 13}, "scales of the sh"),
    ("Split", [T3], [i(1, 1, 1)], {"axis": 2, "outputs": 3}, r"parts of \(?\[?1, 1, 1"),
    ("Slice", [T3], [i(0), i(2), i(0), i(0)], {}, "steps"),
    ("Slice", [T3], [i(0, 0), i(2, 2), i(1, 1)], {}, "an axis twice in"),
    ("Einsum", [T3], [], {"equation": "ii...->i"}, "equation=ii"),
    ("LpNormalization", [T3], [], {"p": 3}, "p=3"),
    ("Conv", [IMAGE], [np.ones((2, 3, 3, 3), "float32")], {"kernel_shape": [2, 2]},
     r"kernel_shape=\(?\[?2, 2"),
    ("AveragePool", [IMAGE], [], {"kernel_shape": [2, 2], "dilations": [2, 2],
                                "auto_pad": "SAME_UPPER", "opset": 19}, "dilations with auto_pad"),
    ("Resize", [X], [None, f(1, 1, 2, 2)], {"mode": "nearest", "nearest_mode": "up"},
     "nearest_mode=up"),
    ("ReverseSequence", [T3], [i(1, 1, 1)], {"time_axis": 2, "batch_axis": 1},
     "time_axis=2 and batch_axis=1"),
    ("ScatterElements", [T3], [np.zeros((2, 3, 4), "int64"), T3],
     {"reduction": "min", "opset": 18}, "reduction=min"),
    ("Cast", [T3], [], {"to": 8}, "cynet lacks|to 8|string"),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[f"{n}{row[0]}" for n, row in enumerate(ROWS)])
def test_refused(row, tmp_path):
    kind, inputs, constants, more, told = row
    save(tmp_path / "m.onnx", kind, inputs, constants, **more)
    with pytest.raises(mx.errors.UndefinedError, match=f"import_model: {kind} 'n': .*(?:{told})"):
        mx.onnx.import_model(tmp_path / "m.onnx")


def test_the_neighbours_are_read(tmp_path):
    """What stands beside the refusals above: the largest that is allowed."""
    for kind, inputs, constants, more in (
        ("LayerNormalization", [T3], [np.ones(4, "float32")], {"stash_type": 1, "opset": 17}),
        ("BatchNormalization", [IMAGE], [f(1, 1, 1)] * 4, {"spatial": 1, "opset": 7}),
        ("LRN", [IMAGE], [], {"size": 3}),
        ("LpNormalization", [T3], [], {"p": 2}),
        ("LSTM", [SEQUENCE], [W[:1], R[:1]], LSTM),
        ("Slice", [T3], [i(0), i(1), i(0), i(1)], {}),
    ):
        save(tmp_path / "m.onnx", kind, inputs, constants, **more)
        mx.onnx.import_model(tmp_path / "m.onnx")


def test_an_output_that_is_not_computed(tmp_path):
    node = helper.make_node("MaxPool", ["x"], ["y", "places"], "n", kernel_shape=[2, 2])
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info("x", 1, IMAGE.shape)],
        [helper.make_empty_tensor_value_info(each) for each in ("y", "places")],
    )  # fmt: skip
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), str(path))
    with pytest.raises(mx.errors.UndefinedError, match="its output places is not computed"):
        mx.onnx.import_model(path)


@pytest.mark.parametrize("change", ["fewer bytes", "more bytes", "another shape", "no such type"])
def test_constants_that_do_not_hold_together(change, tmp_path):
    """Of the bytes of a file: FormatError, as for nodes, not what the onnx package raises."""
    path = tmp_path / "m.onnx"
    save(path, "Add", [T3], [np.ones(4, "float32")])
    mx.onnx.import_model(path)
    model = onnx.load(str(path))
    constant = model.graph.initializer[0]
    if change == "another shape":
        constant.dims[0] = 5
    elif change == "no such type":
        constant.data_type = 99
    else:
        constant.raw_data = constant.raw_data[:-4] if change[0] == "f" else bytes(20)
    onnx.save(model, str(path))
    with pytest.raises(mx.errors.FormatError, match="its constants does not hold together: "):
        mx.onnx.import_model(path)


@pytest.mark.parametrize("kind", ["RandomNormalLike", "RandomUniformLike", "Bernoulli"])
def test_what_draws_is_not_folded(kind, tmp_path):
    """Nodes of constants are computed once, when a file is read; numbers drawn then would stay."""
    save(tmp_path / "m.onnx", kind, [], [np.full((2, 3), 0.5, "float32")], opset=15)
    with pytest.raises(mx.errors.UndefinedError, match=r"of kind Random\w+Like is not read"):
        mx.onnx.import_model(tmp_path / "m.onnx")


def test_a_node_of_another_domain_is_not_folded(tmp_path):
    """Its name may be one of ONNX's own, what it computes is not known."""
    path = tmp_path / "m.onnx"
    save(path, "Neg", [], [np.ones(3, "float32")])
    mx.onnx.import_model(path)
    model = onnx.load(str(path))
    model.graph.node[0].domain = "own"
    model.opset_import.append(helper.make_opsetid("own", 1))
    onnx.save(model, str(path))
    with pytest.raises(mx.errors.UndefinedError, match="of kind own.Neg is not read by cynet"):
        mx.onnx.import_model(path)
