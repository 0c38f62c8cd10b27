"""NaN has no integer: every operator that makes integers of floats refuses it by name, and what
passes it on gives NaN. Each float input of each operator gets one."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError
from cynet.operator import OPERATORS

BYTES = np.array([[3, -4, 5, 100], [7, 0, -128, 9]], "int8")
FLOATS = np.array([[0.5, -4, 2, 3], [1, 2, -3, 0.25]], "float32")
IMAGE = np.arange(-16, 16, dtype="int8").reshape(1, 2, 4, 4)
ENDS = [np.float32([-4]), np.float32([4])]
STEPS = np.float32([0.1, 0.2])
SUMS = np.array([[3, -400], [70000, 5]], "int32")
CALIBRATED = {"min_calib_range": -5, "max_calib_range": 5}
LAYER = [np.ones((2, 4), "int8"), STEPS, STEPS]
CONV = [np.ones((2, 2, 3, 3), "int8"), STEPS, STEPS]

# operator, inputs, parameters
CALLS = [
    ("_contrib_quantize", [FLOATS, *ENDS], {"out_type": "int8"}),
    ("_contrib_quantize", [FLOATS, *ENDS], {"out_type": "uint8"}),
    ("_contrib_quantize_v2", [FLOATS], {}),
    ("_contrib_quantize_v2", [FLOATS], {**CALIBRATED, "out_type": "int8"}),
    ("_contrib_quantize_v2", [FLOATS], {**CALIBRATED, "out_type": "uint8"}),
    ("_contrib_quantize_asym", [FLOATS], {}),
    ("_contrib_quantize_asym", [FLOATS], CALIBRATED),
    ("_contrib_requantize", [SUMS, *ENDS], {}),
    ("_contrib_requantize", [SUMS, *ENDS], CALIBRATED),
    ("_contrib_dequantize", [BYTES, *ENDS], {}),
    ("_quantize_linear", [FLOATS], {"scale": 0.1, "out_type": "int8"}),
    ("_quantize_linear", [FLOATS], {"scale": 0.1, "out_type": "uint8", "zero_point": 7}),
    ("_dequantize_linear", [BYTES], {"scale": 0.1}),
    ("_contrib_quantized_flatten", [IMAGE, *ENDS], {}),
    ("_contrib_quantized_act", [BYTES, *ENDS], {"act_type": "relu"}),
    ("_contrib_quantized_pooling", [IMAGE, *ENDS], {"kernel": (2, 2), "pool_type": "max"}),
    ("_contrib_quantized_pooling", [IMAGE, *ENDS], {"kernel": (2, 2), "pool_type": "avg"}),
    ("_contrib_quantized_embedding", [STEPS * 5, BYTES, *ENDS], {"input_dim": 2, "output_dim": 4}),
    ("_contrib_quantized_elemwise_add", [BYTES, BYTES, *ENDS, *ENDS], {}),
    ("_contrib_quantized_elemwise_add", [BYTES, BYTES, *ENDS, *ENDS], CALIBRATED),
    ("_contrib_quantized_elemwise_mul", [BYTES, BYTES, *ENDS, *ENDS], {}),
    ("_contrib_quantized_elemwise_mul", [BYTES, BYTES, *ENDS, *ENDS], CALIBRATED),
    (
        "_contrib_quantized_elemwise_mul",
        [BYTES, BYTES, *ENDS, *ENDS],
        {"enable_float_output": True},
    ),
    ("_contrib_quantized_concat", [BYTES, BYTES, *ENDS, *ENDS], {"num_args": 2, "dim": 1}),
    (
        "_contrib_quantized_batch_norm",
        [IMAGE, STEPS, STEPS, STEPS, STEPS, *ENDS],
        {**CALIBRATED, "fix_gamma": False},
    ),
    (
        "_contrib_quantized_conv",
        [IMAGE, CONV[0], np.int8([1, 2]), *ENDS, *ENDS, *ENDS],
        {"kernel": (3, 3), "num_filter": 2},
    ),
    (
        "_contrib_quantized_fully_connected",
        [BYTES, LAYER[0], np.int8([1, 2]), *ENDS, *ENDS, *ENDS],
        {"num_hidden": 2},
    ),
    *(
        (op, [data, *more, *ENDS, *residual], {**size, **out, "with_residual": bool(residual)})
        for op, data, more, size, shape in (
            ("_int8_convolution", IMAGE, CONV, {"kernel": (3, 3), "num_filter": 2}, (1, 2, 2, 2)),
            ("_int8_fully_connected", BYTES, LAYER, {"num_hidden": 2}, (2, 2)),
        )
        for out in ({}, {"a_min": 0}, {**CALIBRATED, "out_type": "int8"})
        for residual in ([], [np.ones(shape, "float32"), *ENDS], [np.ones(shape, "int8"), *ENDS])
    ),
    (
        "_contrib_calibrate_entropy",
        [np.float32([1, 2, 9, 2, 1]), np.linspace(-1, 1, 6, dtype="float32")],
        {"num_quantized_bins": 3},
    ),
]


def run(op, inputs, params):
    made = getattr(mx.nd._internal, op)(*[mx.nd.array(v, dtype=v.dtype) for v in inputs], **params)
    return [each.asnumpy() for each in (made if isinstance(made, list) else [made])]


def kinds(entry):
    return set(entry.aliases) | {entry.name}


def test_no_operator_is_missing():
    there = {name for name in dict(OPERATORS.items()) if "quant" in name or "int8" in name}
    called = {op for op, _, _ in CALLS}
    missing = {name for name in there if not kinds(OPERATORS.get(name)) & called}
    assert not missing


NAMES = [f"{i}{call[0]}" for i, call in enumerate(CALLS)]


@pytest.mark.parametrize("op, inputs, params", CALLS, ids=NAMES)
def test_nan_is_refused_or_stays(op, inputs, params):
    assert all(np.isfinite(each).all() for each in run(op, inputs, params))
    names = OPERATORS.get(op).prop(**params).list_arguments()
    for i, (name, value) in enumerate(zip(names, inputs)):
        if value.dtype != np.float32:
            continue
        for place in {0, value.size - 1}:
            bad = value.copy()
            bad.flat[place] = np.nan
            given = [*inputs[:i], bad, *inputs[i + 1 :]]
            try:
                found = run(op, given, params)
            except ArgumentError as error:
                assert f"'{name}' is nan" in str(error) and op in str(error), error
                assert f"element {place}" in str(error), error
            else:
                assert any(np.isnan(each).any() for each in found if each.dtype.kind == "f"), name
