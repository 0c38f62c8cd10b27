"""What an importer cannot compute is refused with the node and the reason: the refusals of all
importers, each by a file of one node."""

import numpy as np
import pytest

import cynet as mx
from tests.onnx.test_import_values import (
    IMAGE,
    SEQUENCE,
    T3,
    WEIGHT,
    B,
    R,
    W,
    X,
    f,
    helper,
    i,
    onnx,
    save,
)  # fmt: skip

LSTM = {"hidden_size": 4}
TURNED, LINE = WEIGHT.transpose(1, 0, 2, 3).copy(), np.ones((1, 1, 300), "float32")

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
    ("Cast", [T3], [], {"to": 4}, "to uint16, which cynet lacks"),
    ("Shrink", [i(1, 2)], [], {}, "of int64"),
    ("PRelu", [T3, T3], [], {"opset": 6}, "slopes that are not constant, of opsets below 7"),
    ("Conv", [IMAGE], [np.ones((2, 3), "float32")], {}, r"kernel_shape=\[\] for a weight"),
    ("Conv", [IMAGE], [WEIGHT], {"pads": [0, 0, -1, 0]}, r"pads=\[0, 0, -1, 0\] of 2 sp"),
    ("Conv", [IMAGE], [WEIGHT], {"pads": [0, 0, 1]}, r"pads=\[0, 0, 1\] of 2 spatial axes"),
    ("ConvTranspose", [IMAGE], [TURNED], {"strides": [2, 3], "output_padding": [2, 0]},
     r"pads \[0, 0\] and \[0, 0\] with output_padding=\[2, 0\]"),
    ("ConvTranspose", [IMAGE], [TURNED], {"strides": [2, 3], "output_padding": [0, 3]},
     r"output_padding=\[0, 3\]"),
    ("ConvTranspose", [IMAGE], [TURNED], {"dilations": [2, 3], "output_padding": [1, 2]},
     r"output_padding=\[1, 2\]"),
    ("ConvTranspose", [IMAGE], [TURNED], {"pads": [-1, 0, 0, 0]}, r"pads \[-1, 0\] and"),
    ("ConvTranspose", [IMAGE], [TURNED], {"auto_pad": "VALID", "output_shape": [9, 9]},
     "output_shape with auto_pad=VALID"),
    ("ConvTranspose", [IMAGE], [TURNED], {"output_shape": [10, 9]},
     r"output_shape=\[10, 9\] is longer than"),
    ("BatchNormalization", [IMAGE], [f(1, 1, 1)] * 4, {"opset": 6}, "is_test=0"),
    ("Dropout", [T3], [None, np.array(True)], {}, "training_mode is not the constant false"),
    ("AveragePool", [IMAGE], [], {"kernel_shape": [8, 2], "strides": [2, 2], "ceil_mode": 1},
     "a window of 8 over a length of 7 with pads of 0 and 0"),
    ("MaxPool", [LINE], [], {"kernel_shape": [129], "dilations": [2]},
     r"a window of \[129\] with dilations"),
    ("GlobalMaxPool", [np.ones((1, 2, 2, 2, 2, 2), "float32")], [], {}, "of 4 spatial axes"),
    ("GlobalMaxPool", [np.ones((1, 2), "float32")], [], {}, "of 0 spatial axes"),
    ("CumSum", [T3], [i(3)[0]], {}, "axis 3 of 3 axes"),
    ("CumSum", [T3], [i(-4)[0]], {}, "axis -4 of 3 axes"),
    ("CumSum", [T3], [i(0, 1)], {}, "its input 1 must be one number, found 2"),
    ("Hardmax", [T3], [], {"opset": 11}, "axes from `axis` on as one, of opsets below 13"),
    ("Softmax", [T3], [], {"axis": 3}, "axis=3 of 3 axes"),
    ("Softmax", [T3], [], {"axis": -4}, "axis=-4 of 3 axes"),
    ("Reshape", [T3], [i(0, 6, 4)], {"opset": 14, "allowzero": 1},
     "a length of 0 in the shape|has no elements"),
    ("Reshape", [T3], [i(-2, 4)], {}, r"the shape \[-2, 4\]"),
    ("Flatten", [T3], [], {"axis": 4}, "axis=4 of 3 axes"),
    ("Flatten", [T3], [], {"axis": -4}, "axis=-4 of 3 axes"),
    ("Split", [T3], [], {"axis": 2, "outputs": 2, "opset": 18, "num_outputs": 3},
     "num_outputs=3 for 2 outputs"),
    ("Split", [T3], [i(1, 3)], {"axis": 2, "outputs": 3}, r"parts of \[1, 3\] of 4 for 3"),
    ("Split", [T3], [i(1, 4)], {"axis": 2, "outputs": 2}, r"parts of \[1, 4\] of 4 for 2"),
    ("Slice", [T3], [i(0), i(2, 2)], {}, r"starts \[0\], ends \[2, 2\]"),
    ("Slice", [T3], [i(0), i(2), i(0, 1)], {}, r"axes \[0, 1\]"),
    ("Slice", [T3], [i(0), i(2), i(0), i(1, 1)], {}, r"steps \[1, 1\]"),
    ("Slice", [T3], [i(2), i(2), i(1)], {}, "nothing of axis 1 is left, from 2 to 2 by 1|shape"),
    ("Pad", [T3], [i(1, 0, 0, 1), None, i(0)], {"opset": 18}, r"pads \[1, 0, 0, 1\] of the axes"),
    ("Pad", [T3], [i(1, 0, 0, 1), None, i(0, -3)], {"opset": 18}, r"of the axes \[0, -3\]"),
    ("Pad", [T3], [i(1, 0, 0, 1, 1, 1)], {"mode": "around"}, "mode=around; only constant, edge"),
    ("MatMul", [np.ones((2, 2), "int32")] * 2, [], {}, "of int32"),
    ("Einsum", [T3], [], {"equation": "ijk"}, "equation=ijk; an ellipsis, a letter twice or no ->"),
    ("Einsum", [T3], [], {"equation": "iij->i"}, "equation=iij->i; an ellipsis, a letter twice"),
    ("Einsum", [T3[0]] * 2, [], {"equation": "ij,jk->ik"}, r"of the shapes \[\(3, 4\), \(3, 4"),
    ("Einsum", [T3[0]] * 3, [], {"equation": "ij,ij,ij->i"}, "3 operands"),
    ("Upsample", [IMAGE], [], {"opset": 1, "mode": "bilinear", "width_scale": 2.0,
                               "height_scale": 2.0}, "mode=bilinear"),
    ("Resize", [IMAGE], [None, f(1, 2, 2)], {}, r"for the axes \[0, 1, 2, 3\]"),
    ("Resize", [IMAGE], [None, None, i(1, 2, 2)], {}, r"sizes=\[1, 2, 2\] for the axes"),
    ("Resize", [IMAGE], [f(0, 0, 1, 1), f(1, 1, 2, 2)],
     {"coordinate_transformation_mode": "tf_crop_and_resize"}, "without a constant roi of all ax"),
    ("Resize", [IMAGE], [None, f(1, 1, 2, 2)],
     {"coordinate_transformation_mode": "tf_crop_and_resize"}, "without a constant roi of all ax"),
    ("Resize", [IMAGE], [None, f(1, 1, 2, 1.5)], {"mode": "linear", "opset": 18,
     "keep_aspect_ratio_policy": "not_larger"}, "ratio_policy=not_larger; only stretch"),
    *(("Resize", [IMAGE], [None, f(1, 1, 1.5, 1)],
       {"coordinate_transformation_mode": how, "opset": 19}, f"{how} with a scale of 1.5")
      for how in ("align_corners", "pytorch_half_pixel", "half_pixel_symmetric")),
    ("Resize", [IMAGE.astype("int32")], [None, f(1, 1, 2, 2)], {"mode": "linear"},
     "mode=linear of int32"),
    ("TopK", [T3], [i(1, 2)], {"outputs": 2}, "its input 1 must be one number, found 2"),
    ("QuantizeLinear", [T3], [f(0.1)[0], np.uint8(3)], {"opset": 23, "precision": 2},
     "precision=2"),
    ("DequantizeLinear", [np.ones(3, "uint8")], [np.float16(0.5), np.uint8(3)], {"opset": 19},
     "uint8 to float16"),
    ("ConstantOfShape", [i(2, 3)], [], {}, "its input x0 must be a constant"),
    ("Add", [T3], [np.ones((2, 3, 4), "uint16")], {}, "x0|c0|uint16"),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[f"{n}{row[0]}" for n, row in enumerate(ROWS)])
def test_refused(row, tmp_path):
    kind, inputs, constants, more, told = row
    save(tmp_path / "m.onnx", kind, inputs, constants, **more)
    told = f"import_model: (?:{kind} 'n': |').*(?:{told})"
    with pytest.raises(mx.errors.UndefinedError, match=told):
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
        ("ConvTranspose", [IMAGE], [TURNED], {"strides": [2, 3], "output_padding": [1, 2]}),
        ("ConvTranspose", [IMAGE], [TURNED], {"output_shape": [9, 9]}),
        ("BatchNormalization", [IMAGE], [f(1, 1, 1)] * 4, {"opset": 6, "is_test": 1}),
        ("AveragePool", [IMAGE], [], {"kernel_shape": [7, 2]}),
        (
            "MaxPool",
            [IMAGE],
            [],
            {"kernel_shape": [4, 1], "pads": [1, 0, 1, 0], "dilations": [2, 1]},
        ),
        ("MaxPool", [LINE], [], {"kernel_shape": [128], "dilations": [2]}),
        ("Flatten", [T3], [], {"axis": 3}),
        ("QuantizeLinear", [T3], [f(0.1)[0], np.uint8(3)], {"opset": 23, "precision": 1}),
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


@pytest.mark.parametrize("kind", ["ArgMax", "ArgMin"])
def test_the_longest_axis_whose_places_float32_names(kind, tmp_path):
    for length, axis in ((1 << 24, 0), ((1 << 24) - 1, 0), (1 << 24, 1)):
        node = helper.make_node(kind, ["x"], ["y"], "n", axis=axis)
        given = helper.make_tensor_value_info("x", 1, (length, 2))
        graph = helper.make_graph([node], "g", [given], [helper.make_empty_tensor_value_info("y")])
        path = tmp_path / "m.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), str(path))
        if length == 1 << 24 and axis == 0:
            with pytest.raises(mx.errors.UndefinedError, match="not exact from 2 .. 24 on"):
                mx.onnx.import_model(path)
        else:
            mx.onnx.import_model(path)
