"""Exact limits, dtypes and refusals of the operators on integers of 8 bits."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError, ShapeError
from cynet.operator import get_operator
from cynet.operator.quantization.int8_form import int8_class

S = mx.sym
C = S.contrib


def v(name="data", **more):
    return S.var(name, **more)


LAYER = {"kernel": (1, 1), "num_filter": 2}
CALIBRATED = {
    "quantize_v2": lambda **how: C.quantize_v2(v(), **how),
    "quantize_asym": lambda **how: C.quantize_asym(v(), **how),
    "requantize": lambda **how: C.requantize(v(), v("a"), v("b"), **how),
    "layer": lambda **how: S._internal._int8_convolution(
        *map(v, "abcdef"), out_type="int8", **LAYER, **how
    ),
}


@pytest.mark.parametrize("name", CALIBRATED)
def test_ranges_that_are_given(name):
    """Both ends or none, in their order; one value twice is a range."""
    make = CALIBRATED[name]
    for low, high in ((0.0, 0.0), (-1.0, -1.0), (-2.0, 3.0)):
        make(min_calib_range=low, max_calib_range=high)
    with pytest.raises(ArgumentError, match="min_calib_range 1.0 is larger than max_calib_range"):
        make(min_calib_range=1.0, max_calib_range=0.5)
    for one in ({"min_calib_range": 1.0}, {"max_calib_range": 1.0}):
        with pytest.raises(ArgumentError, match="must be given together"):
            make(**one)


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [
        (0.0, 1.0, "uint8"),
        (0.0, 0.0, "uint8"),
        (-1e-6, 1.0, "int8"),
        (None, None, "int8"),
        (1.0, 2.0, "uint8"),
        (-2.0, -1.0, "int8"),
    ],
)
def test_the_type_that_is_chosen(low, high, dtype):
    given = {} if low is None else {"min_calib_range": low, "max_calib_range": high}
    for make in (CALIBRATED["quantize_v2"], CALIBRATED["requantize"]):
        symbol = make(out_type="auto", **given)
        assert symbol.infer_type()[1][0] == np.dtype(dtype).type
        for fixed in ("int8", "uint8"):
            assert make(out_type=fixed, **given).infer_type()[1][0] == np.dtype(fixed).type


@pytest.mark.parametrize("kind", ["quantize", "dequantize"])
def test_integers_that_stand_for_0(kind):
    """Those of the dtype: the least and the largest, and one more."""
    for dtype, low, high in (("uint8", 0, 255), ("int8", -128, 127)):
        for zero, good in ((low, True), (high, True), (low - 1, False), (high + 1, False)):
            more = {"out_type": dtype} if kind == "quantize" else {}
            data = v(dtype="float32" if kind == "quantize" else dtype)
            make = getattr(S._internal, f"_{kind}_linear")
            if good:
                make(data, scale=0.5, zero_point=zero, **more).infer_type()
            else:
                with pytest.raises(ArgumentError, match=f"zero_point.* {zero}"):
                    make(data, scale=0.5, zero_point=zero, **more).infer_type()


def test_the_smallest_step():
    for scale in (1e-38, 1.0):
        S._internal._quantize_linear(v(), scale=scale)
    for scale in (9e-39, 0.0, -1.0):
        with pytest.raises(ArgumentError, match="scale"):
            S._internal._quantize_linear(v(), scale=scale)


def conv(**dtypes):
    names = [
        "data",
        "weight",
        "bias",
        *(f"{e}_{n}" for n in ("data", "weight", "bias") for e in ("min", "max")),
    ]
    made = (v(n, **({"dtype": dtypes[n]} if n in dtypes else {})) for n in names)
    return C.quantized_conv(*made, **LAYER)


def layer(**dtypes):
    names = ["data", "weight", "scale", "bias", "low", "high", "residual", "low2", "high2"]
    made = (v(n, **({"dtype": dtypes[n]} if n in dtypes else {})) for n in names)
    return S._internal._int8_convolution(*made, with_residual=True, **LAYER)


DTYPES = [
    (lambda d: C.quantize(v(dtype=d), v("a"), v("b")), "data", {"float32"}),
    (lambda d: C.quantize_v2(v(dtype=d)), "data", {"float32", "int8", "uint8"}),
    (lambda d: C.quantize_asym(v(dtype=d)), "data", {"float32"}),
    (lambda d: C.requantize(v(dtype=d), v("a"), v("b")), "data", {"int32"}),
    (lambda d: C.dequantize(v(dtype=d), v("a"), v("b")), "data", {"int8", "uint8"}),
    (lambda d: S._internal._quantize_linear(v(dtype=d), scale=1.0), "data", {"float32"}),
    (lambda d: S._internal._dequantize_linear(v(dtype=d), scale=1.0), "data", {"int8", "uint8"}),
    (lambda d: C.quantized_flatten(v(dtype=d), v("a"), v("b")), "data", {"int8", "uint8"}),
    (
        lambda d: C.quantized_act(v(dtype=d), v("a"), v("b"), act_type="relu"),
        "data",
        {"int8", "uint8"},
    ),
    (
        lambda d: C.quantized_pooling(v(dtype=d), v("a"), v("b"), kernel=(2, 2)),
        "data",
        {"int8", "uint8"},
    ),
    *(
        (lambda d, n=n: conv(**{"data": "uint8", n: d}), n, w)
        for n, w in (("data", {"int8", "uint8"}), ("weight", {"int8"}), ("bias", {"int8"}))
    ),
    *(
        (lambda d, n=n: layer(**{"data": "uint8", "residual": "int8", n: d}), n, w)
        for n, w in (
            ("data", {"int8", "uint8"}),
            ("weight", {"int8"}),
            ("residual", {"float32", "int8", "uint8"}),
        )
    ),
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint8", "int32"])
@pytest.mark.parametrize(("make", "name", "taken"), DTYPES)
def test_dtypes_of_inputs(make, name, taken, dtype):
    if dtype in taken:
        make(dtype).infer_type()
    else:
        with pytest.raises(ArgumentTypeError, match=f"input '{name}' is {dtype}"):
            make(dtype).infer_type()


@pytest.mark.parametrize("pool", ["max", "avg", "sum", "lp"])
def test_kinds_of_pooling(pool):
    how = {"kernel": (2, 2), "pool_type": pool, **({"p_value": 2} if pool == "lp" else {})}
    if pool in ("max", "avg"):
        C.quantized_pooling(v(), v("a"), v("b"), **how)
    else:
        with pytest.raises(ArgumentError, match=f"pool_type '{pool}' is not available"):
            C.quantized_pooling(v(), v("a"), v("b"), **how)


@pytest.mark.parametrize(
    ("how", "fits"),
    [
        ({"pool_type": "max"}, True),
        ({"pool_type": "max", "global_pool": True}, True),
        ({"pool_type": "avg"}, True),
        ({"pool_type": "avg", "global_pool": True}, False),
        ({"pool_type": "sum"}, False),
    ],
)
def test_pooling_that_stays_in_8_bits(how, fits):
    prop = get_operator("Pooling").prop
    assert int8_class(prop).int8_form.fits(prop(kernel=(2, 2), **how)) == fits


def test_what_int8_operators_take_over():
    """The parameters that a node was given, and no others."""
    wanted = {
        "Convolution": (
            {"kernel": (3, 1), "num_filter": 4, "stride": (2, 1), "pad": (1, 0)},
            {"no_bias": True, "workspace": 99},
        ),
        "FullyConnected": ({"num_hidden": 3, "flatten": False}, {"no_bias": True}),
        "Pooling": (
            {
                "kernel": (3, 1),
                "pool_type": "max",
                "stride": (2, 1),
                "pad": (1, 0),
                "pooling_convention": "full",
                "count_include_pad": False,
            },
            {"cudnn_off": True},
        ),
        "Flatten": ({}, {}),
    }
    for name, (kept, left) in wanted.items():
        (node, _), *_ = getattr(S, name)(v(), **kept, **left, name="n").entries
        form = int8_class(node.op.prop).int8_form
        assert form.params_to_copy(node) == kept
        assert form.is_layer == (name in ("Convolution", "FullyConnected"))
    assert int8_class(get_operator("softmax").prop) is None


@pytest.mark.parametrize(
    ("bins", "edges", "kept", "told"),
    [
        (9, 10, 9, None),
        (9, 10, 8, None),
        (11, 12, 9, None),
        (9, 10, 10, "hist has 9 bins"),
        (10, 11, 9, "hist has 10 bins"),
        (9, 9, 5, "hist"),
        (9, 11, 5, "hist"),
        (1, 2, 1, None),
    ],
)
def test_shapes_of_histograms(bins, edges, kept, told):
    made = C.calibrate_entropy(v("h"), v("e"), num_quantized_bins=kept)
    if told is None:
        assert made.infer_shape(h=(bins,), e=(edges,))[1] == [(1,), (1,)]
        assert made.infer_shape(h=(bins,))[0] == [(bins,), (edges,)]
        assert made.infer_shape(e=(edges,))[0] == [(bins,), (edges,)]
    else:
        with pytest.raises(ShapeError, match=told):
            made.infer_shape(h=(bins,), e=(edges,))


def test_bytes_are_quantized_already():
    """They stay, with the range in which a step is 1, or the one that is given."""
    for dtype, ends in (("int8", (-127.5, 127.5)), ("uint8", (0.0, 255.5))):
        data = mx.nd.array([0, 5, 100], dtype=dtype)
        for how, wanted in (
            ({}, ends),
            ({"min_calib_range": -3.0, "max_calib_range": 2.0}, (-3.0, 2.0)),
        ):
            out, low, high = mx.nd.contrib.quantize_v2(data, out_type="auto", **how)
            assert out.dtype == np.dtype(dtype).type and out.asnumpy().tolist() == [0, 5, 100]
            assert (low.asscalar(), high.asscalar()) == wanted


def test_types_of_a_layer_and_its_range():
    """Integers need a range, floats have none."""
    make = S._internal._int8_fully_connected
    args, known = list(map(v, "abcdef")), {"min_calib_range": 0.0, "max_calib_range": 1.0}
    for out, how in (("float32", known), ("int8", {}), ("auto", {}), ("uint8", {})):
        with pytest.raises(ArgumentError, match=f"out_type '{out}' with min_calib_range"):
            make(*args, num_hidden=2, out_type=out, **how)
    assert len(make(*args, num_hidden=2).list_outputs()) == 1
    for out in ("int8", "auto", "uint8"):
        made = make(*args, num_hidden=2, out_type=out, **known)
        assert len(made.list_outputs()) == 3
        assert made.infer_type(a="int8")[1] == [
            np.int8 if out == "int8" else np.uint8,
            np.float32,
            np.float32,
        ]


@pytest.mark.parametrize("layout", ["NHWC", "NWC", "NDHWC"])
def test_sums_have_channels_first(layout):
    n = len(layout) - 2
    with pytest.raises(ArgumentError, match=f"quantized_conv: layout '{layout}' is not available"):
        C.quantized_conv(*map(v, "abcdefghi"), kernel=(1,) * n, num_filter=2, layout=layout)


@pytest.mark.parametrize("with_residual", [False, True])
def test_shapes_of_a_layer(with_residual):
    names = ["d", "w", "s", "b", "low", "high"] + ["r", "low2", "high2"] * with_residual
    made = S._internal._int8_convolution(
        *map(v, names), kernel=(3, 3), num_filter=4, with_residual=with_residual
    )
    shapes, outs, _ = made.infer_shape(d=(2, 3, 8, 7))
    assert outs == [(2, 4, 6, 5)]
    wanted = [(2, 3, 8, 7), (4, 3, 3, 3), (4,), (4,), (1,), (1,)]
    assert shapes == wanted + [(2, 4, 6, 5), (1,), (1,)] * with_residual
    for name, shape, told in (
        ("s", (3,), "scale"),
        ("b", (5,), "bias"),
        ("w", (4, 3, 3, 2), "weight"),
        ("low", (2,), "min_data"),
        ("high", (2,), "max_data"),
    ):
        with pytest.raises(ShapeError, match=f"{told} has shape .*, expected"):
            made.infer_shape(d=(2, 3, 8, 7), **{name: shape})
