"""Indices that are refused on a device, too."""

import numpy as np
import pytest
from cynet.operator._testing import run_forward

from cynet.base.errors import ArgumentError
from cynet.operator import get_operator
from cynet.operator.cuda import build
from tests.operator.cuda.running import device


@pytest.mark.parametrize("op, shape, params, index, message", [
    ("take", (4, 3), {"mode": "raise"}, [[1, 4]], "take: index 4 is out of bounds.* length 4"),
    ("gather_nd", (4, 3), {}, [[0, 1], [0, -1]], "gather_nd: index -1 is out of .* axis 1"),
])  # fmt: skip
def test_index_out_of_bounds(op, shape, params, index, message):
    x, index = np.ones(shape, "f"), np.array(index, "i4")
    prop = get_operator(op).prop(**params)
    made = build(prop, [x.shape, index.shape], ["float32", "int32"], device())
    assert made.waits
    _, (out,), _ = prop.infer_shape([x.shape, index.shape], [None])
    with pytest.raises(ArgumentError, match=message):
        run_forward(made, [x, index], [1], [np.zeros(out, "f")])
    run_forward(made, [x, np.zeros_like(index)], [1], [np.zeros(out, "f")])  # the next call is good


def test_sequence_longer_than_time():
    x, length = np.ones((3, 2, 4), "f"), np.array([3, 7], "f")
    prop = get_operator("SequenceLast").prop(use_sequence_length=True)
    made = build(prop, [x.shape, length.shape], ["float32", "float32"], device())
    with pytest.raises(ArgumentError, match="sequence_length 7 is outside of 1 to 3"):
        run_forward(made, [x, length], [1], [np.zeros((2, 4), "f")])
