"""Neural-network operators refuse what does not fit, and say what, where and what was expected."""

import numpy as np
import pytest

from cynet.base.errors import ArgumentError, ArgumentTypeError, ShapeError
from cynet.context import cpu, gpu
from cynet.operator import get_operator

PARAMETERS = [
    ("Convolution", {"kernel": (3, 3)}, "num_filter"),
    ("Convolution", {"kernel": (3, 3), "num_filter": 0}, r"num_filter.*>= 1.*0"),
    ("Convolution", {"kernel": (3, 0), "num_filter": 2}, r"kernel \(3, 0\)"),
    ("Convolution", {"kernel": (1, 1, 1, 1), "num_filter": 2}, r"kernel .*1 to 3"),
    ("Convolution", {"kernel": (3, 3), "num_filter": 2, "stride": (1,)}, r"stride \(1,\).*2 num"),
    ("Convolution", {"kernel": (3, 3), "num_filter": 2, "stride": (0, 1)}, r"stride \(0, 1\)"),
    ("Convolution", {"kernel": (3, 3), "num_filter": 2, "dilate": (0, 1)}, r"dilate \(0, 1\)"),
    ("Convolution", {"kernel": (3, 3), "num_filter": 2, "pad": (-1, 1)}, r"pad \(-1, 1\)"),
    ("Convolution", {"kernel": (3,), "num_filter": 2, "layout": "NHWC"}, r"'NHWC'.*'NWC'"),
    ("Convolution", {"kernel": (3, 3), "num_filter": 2, "layout": "NCW"}, r"'NCW'.*'NCHW'"),
    ("Convolution", {"kernel": (3, 3), "num_filter": 3, "num_group": 2}, "num_filter 3.*group 2"),
    ("Deconvolution", {"kernel": (3, 3), "num_filter": 2, "adj": (1, 1)}, r"adj \(1, 1\).*stride"),
    ("Pooling", {}, r"kernel \(\)"),
    ("Pooling", {"kernel": (2, 2), "pad": (2, 2)}, r"pad \(2, 2\).*kernel \(2, 2\)"),
    ("Pooling", {"kernel": (2, 2), "pool_type": "lp"}, "p_value"),
    ("Pooling", {"kernel": (2, 2), "pool_type": "median"}, "median"),
    ("Pooling", {"kernel": (2,), "pad": (1,), "pooling_convention": "same"}, "same"),
    ("Activation", {"act_type": "swish"}, "'swish'.*'relu'|'relu'.*'swish'"),
    ("Activation", {}, "act_type"),
    ("Dropout", {"p": 1.5}, "p.*1.5"),
    ("LRN", {"nsize": 4}, "nsize 4.*odd"),
    ("LeakyReLU", {"lower_bound": 0.5, "upper_bound": 0.1}, "lower_bound 0.5.*upper_bound 0.1"),
    ("softmax", {"temperature": 0}, "temperature"),
    ("UpSampling", {"scale": 2, "sample_type": "bilinear"}, "num_filter"),
    ("Crop", {"h_w": (2, 0)}, r"h_w.*\(2, 0\)"),
    ("Crop", {}, r"h_w.*\(0, 0\)"),
    ("Crop", {"h_w": (2,)}, r"h_w.*\(2,\)"),
    ("Crop", {"h_w": (2, 2), "offset": (1,)}, r"offset \(1,\)"),
    ("Crop", {"h_w": (2, 2), "offset": (-1, 0)}, r"offset.*>= 0.*\(-1, 0\)"),
    ("Crop", {"num_args": 3}, r"num_args.*3"),
    ("FullyConnected", {"num_hidden": -1}, "num_hidden.*-1"),
    ("SoftmaxOutput", {"smooth_alpha": 2.0}, "smooth_alpha.*2"),
]


@pytest.mark.parametrize(("op", "params", "message"), PARAMETERS)
def test_parameters(op, params, message):
    with pytest.raises(ArgumentError, match=message) as error:
        get_operator(op).prop(**params)
    assert op in str(error.value)


CONV = {"kernel": (5, 5), "num_filter": 2}
SHAPES = [
    ("Convolution", CONV, [(1, 3, 4, 9), None, None], r"kernel \(5, 5\).*4 \+ 2 \* 0"),
    ("Convolution", CONV, [(1, 3, 9), None, None], r"data.*\(1, 3, 9\).*4 axes"),
    (
        "Convolution",
        CONV,
        [(1, 3, 9, 9), (2, 4, 5, 5), None],
        r"weight.*\(2, 4, 5, 5\).*\(2, 3, 5, 5\)",
    ),
    ("Convolution", {**CONV, "num_group": 2}, [(1, 3, 9, 9), None, None], "3 channels.*group 2"),
    (
        "Deconvolution",
        {"kernel": (2, 2), "num_filter": 1, "target_shape": (9, 9)},
        [(1, 1, 3, 3), None],
        r"target_shape \(9, 9\).*at most 4",
    ),
    (
        "Deconvolution",
        {"kernel": (2, 2), "num_filter": 1, "pad": (3, 3)},
        [(1, 1, 3, 3), None],
        r"pad \(3, 3\).*nothing",
    ),
    ("Pooling", {"kernel": (5, 5)}, [(1, 1, 4, 9)], r"kernel \(5, 5\).*4 \+ 2 \* 0"),
    ("Pooling", {"kernel": (2, 2)}, [(1, 1, 4)], r"\(1, 1, 4\).*4 axes"),
    ("Pooling", {"global_pool": True}, [(4, 4)], r"\(4, 4\)"),
    ("Pooling", {"global_pool": True, "layout": "NHWC"}, [(4, 4, 2)], r"\(4, 4, 2\).*4 axes.*NHWC"),
    (
        "Convolution",
        {**CONV, "layout": "NHWC"},
        [(1, 9, 9, 3), (2, 3, 5, 5), None],
        r"weight.*\(2, 3, 5, 5\).*\(2, 5, 5, 3\)",
    ),
    ("FullyConnected", {"num_hidden": 3}, [(2, 5), (4, 5), None], r"weight.*\(4, 5\).*\(3, 0\)"),
    ("FullyConnected", {"num_hidden": 3}, [(2, 5), (3, 6), None], r"weight.*\(3, 6\).*\(3, 5\)"),
    ("BatchNorm", {}, [(4,), None, None], r"axis 1.*\(4,\)"),
    ("BatchNorm", {}, [(4, 3), (2,), None], r"gamma.*\(2,\).*\(3,\)"),
    ("LayerNorm", {"axis": 4}, [(4, 3), None, None], r"axis 4.*\(4, 3\)"),
    ("InstanceNorm", {}, [(4, 3), None, None], r"\(4, 3\)"),
    ("L2Normalization", {"mode": "channel"}, [(4, 3)], r"\(4, 3\).*'channel'"),
    ("softmax", {"axis": 3}, [(2, 3)], r"axis 3.*\(2, 3\)"),
    ("softmax", {"use_length": True}, [(2, 3), (3,)], r"length.*\(3,\).*\(2,\)"),
    ("SoftmaxOutput", {}, [(4, 3), (4, 1)], r"label.*\(4, 1\).*\(4,\) or \(4, 3\)"),
    ("SoftmaxOutput", {}, [(4,), None], r"data.*\(4,\)"),
    ("softmax_cross_entropy", {}, [(4, 3), (5,)], r"label.*\(5,\).*\(4,\)"),
    ("LinearRegressionOutput", {}, [(4, 3), (12,)], r"label.*\(12,\).*\(4, 3\)"),
    ("SVMOutput", {}, [(4, 3), (3,)], r"label.*\(3,\).*\(4,\)"),
    ("Dropout", {"axes": (2,)}, [(4, 3)], r"axes \(2,\).*\(4, 3\)"),
    ("LeakyReLU", {"act_type": "prelu"}, [(4, 3), (2,)], r"gamma.*\(2,\).*\(3,\)"),
    ("LeakyReLU", {"act_type": "prelu"}, [(4,), None], r"\(4,\)"),
    ("Embedding", {"input_dim": 4, "output_dim": 2}, [(3,), (4, 3)], r"weight.*\(4, 3\).*\(4, 2\)"),
    ("Crop", {"h_w": (6, 3)}, [(1, 2, 5, 6)], r"\(6, 3\).*\(5, 6\)"),
    ("Crop", {"h_w": (2, 3), "offset": (4, 0)}, [(1, 2, 5, 6)], r"\(2, 3\).*\(4, 0\).*\(5, 6\)"),
    ("Crop", {"num_args": 2}, [(1, 2, 5, 6), (1, 2, 5, 7)], r"\(5, 7\).*\(5, 6\)"),
    ("Crop", {"num_args": 2}, [(1, 2, 5, 6), (5, 6)], r"\(5, 6\) is not \(N, C, H, W\)"),
    ("UpSampling", {"scale": 2, "sample_type": "nearest"}, [(1, 2, 3)], r"\(1, 2, 3\)"),
    (
        "UpSampling",
        {"scale": 2, "sample_type": "nearest", "num_args": 2},
        [(1, 2, 4, 4), (1, 2, 3, 3)],
        r"arg1.*\(1, 2, 3, 3\)",
    ),
]


@pytest.mark.parametrize(("op", "params", "shapes", "message"), SHAPES)
def test_shapes(op, params, shapes, message):
    prop = get_operator(op).prop(**params)
    with pytest.raises(ShapeError, match=message):
        prop.infer_shape(shapes, [None] * len(prop.list_outputs()))


@pytest.mark.parametrize(
    "op, params, shape",
    [
        ("Activation", {"act_type": "relu"}, (2, 3)),
        ("Pooling", {"kernel": (2, 2)}, (1, 1, 4, 4)),
        ("softmax", {}, (2, 3)),
        ("Dropout", {}, (2, 3)),
    ],
)
def test_types_and_devices(op, params, shape):
    prop = get_operator(op).prop(**params)
    with pytest.raises(ArgumentTypeError, match=f"{op}.*float32 or float64.*int32"):
        prop.create_operator(cpu(), [shape], ["int32"])
    with pytest.raises(ArgumentError, match=rf"{op}.*gpu\(0\)"):
        prop.create_operator(gpu(), [shape], ["float32"])


def test_mixed_types_are_refused():
    prop = get_operator("FullyConnected").prop(num_hidden=3)
    with pytest.raises(ArgumentTypeError, match="'weight' is float64 but 'data' is float32"):
        prop.create_operator(cpu(), [(2, 5), (3, 5), (3,)], ["float32", "float64", "float32"])


def test_softmax_length_must_be_an_integer():
    prop = get_operator("softmax").prop(use_length=True)
    with pytest.raises(ArgumentTypeError, match="length is float32"):
        prop.create_operator(cpu(), [(2, 3), (2,)], ["float32", "float32"])


def test_strings_are_parsed():
    prop = get_operator("Convolution").prop(
        kernel="(3, 3)", num_filter="4", no_bias="True", pad="[1,1]"
    )
    assert prop.kernel == (3, 3) and prop.num_filter == 4 and prop.no_bias and prop.pad == (1, 1)
    assert prop.list_arguments() == ["data", "weight"]
    shapes, out, _ = prop.infer_shape([(2, 3, 8, 8), None], [None])
    assert shapes == [(2, 3, 8, 8), (4, 3, 3, 3)] and out == [(2, 4, 8, 8)]


def test_convolution_infers_both_ways():
    prop = get_operator("Convolution").prop(kernel=(3, 3), num_filter=4, num_group=2)
    shapes, out, _ = prop.infer_shape([(0, 6, 8, 0), None, None], [None])
    assert shapes == [(0, 6, 8, 0), (4, 3, 3, 3), (4,)] and out == [(0, 4, 6, 0)]
    shapes, out, _ = prop.infer_shape([None, (4, 3, 3, 3), None], [(5, 4, 6, 7)])
    assert shapes[0] == (5, 6, 8, 9)


def test_embedding_never_reads_outside():
    from tests.operator.direct import Ready

    weight = np.arange(8.0).reshape(4, 2)
    index = np.array([np.nan, 1e20, -1e20, 1.99, -0.5, np.inf, -np.inf])
    (out,) = Ready("Embedding", [index, weight], {"input_dim": 4, "output_dim": 2}).forward()
    np.testing.assert_array_equal(out[:, 0] // 2, [0, 3, 0, 1, 0, 3, 0])
