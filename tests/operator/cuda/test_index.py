"""Indices that are refused on a device, too."""

import numpy as np
import pytest
from cynet.operator._testing import run_forward

from cynet.base.errors import ArgumentError
from cynet.operator import get_operator
from cynet.operator.cuda import build
from tests.operator.cuda.running import device


@pytest.mark.parametrize(
    "op, shape, params, index, message",
    [
        ("take", (4, 3), {"mode": "raise"}, [[1, 4]], "take: index 4 is out of bounds.* length 4"),
        ("gather_nd", (4, 3), {}, [[0, 1], [-1, -4]], "gather_nd: index -4 is out of .* axis 1"),
    ],
)
def test_index_out_of_bounds(op, shape, params, index, message):
    x, index = np.ones(shape, "f"), np.array(index, "i4")
    prop = get_operator(op).prop(**params)
    made = build(prop, [x.shape, index.shape], ["float32", "int32"], device())
    assert made.waits
    _, (out,), _ = prop.infer_shape([x.shape, index.shape], [None])
    with pytest.raises(ArgumentError, match=message):
        run_forward(made, [x, index], [1], [np.zeros(out, "f")])
    run_forward(made, [x, np.zeros_like(index)], [1], [np.zeros(out, "f")])  # the next call is good


@pytest.mark.parametrize("op", ["gather_nd", "scatter_nd"])
def test_negative_indices_count_from_the_end(op):
    x, index = np.arange(12, dtype="f").reshape(4, 3), np.array([[0, -1, -4], [2, -3, -2]], "i4")
    if op == "scatter_nd":
        x = np.arange(1, 4, dtype="f")
    prop = get_operator(op).prop(**({"shape": (4, 3)} if op == "scatter_nd" else {}))
    made = build(prop, [x.shape, index.shape], ["float32", "int32"], device())
    _, (shape,), _ = prop.infer_shape([x.shape, index.shape], [None])
    out = np.zeros(shape, "f")
    run_forward(made, [x, index], [1], [out])
    if op == "gather_nd":
        assert out.tolist() == [2, 9, 1]
    else:
        assert out.tolist() == [[0, 3, 1], [0, 0, 0], [0, 0, 0], [2, 0, 0]]


def test_sequence_longer_than_time():
    x, length = np.ones((3, 2, 4), "f"), np.array([3, 7], "f")
    prop = get_operator("SequenceLast").prop(use_sequence_length=True)
    made = build(prop, [x.shape, length.shape], ["float32", "float32"], device())
    with pytest.raises(ArgumentError, match="sequence_length 7 is outside of 1 to 3"):
        run_forward(made, [x, length], [1], [np.zeros((2, 4), "f")])


def test_values_at_one_place_add_up():
    x, index = np.arange(1, 5, dtype="f"), np.array([[2, 0, 2, -1]], "i4")
    made = build(
        get_operator("_backward_gather_nd").prop(shape=(3,)),
        [x.shape, index.shape],
        ["float32", "int32"],
        device(),
    )
    out = np.full(3, 9, "f")
    run_forward(made, [x, index], [1], [out])
    assert out.tolist() == [2, 0, 8]
    run_forward(made, [x, index], [3], [out])  # added to what there is
    assert out.tolist() == [4, 0, 16]
