"""Reshape: shapes that follow from partly known ones, as MXNet 1.9.1 infers them."""

import pytest

import cynet as mx
from cynet.operator.tensor.reshape import resolve_shape


@pytest.mark.parametrize(
    "codes, shape, expected",
    [
        ((-1, 3, 1), (0, 3), (0, 3, 1)),
        ((0, -1), (0, 3), (0, 0)),
        ((0, -1), (2, 0), (2, 0)),
        ((-2, 1), (0, 4, 3), (0, 4, 3, 1)),
        ((-3, 0), (0, 4, 3), (0, 3)),
        ((-4, 2, -1, 0), (0, 3), (2, 0, 3)),
        ((-4, -1, 2, -2), (4, 0), (2, 2, 0)),
    ],
)
def test_unknown_dimensions(codes, shape, expected):
    assert resolve_shape(shape, codes) == expected


def test_one_unknown_dimension_follows_from_the_output():
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    net = mx.sym.Reshape(x, shape=(-1, 6)) + y
    assert net.infer_shape(x=(0, 2, 3), y=(4, 6))[0] == [(4, 2, 3), (4, 6)]
    with pytest.raises(ValueError, match="do not fill"):
        net.infer_shape(x=(0, 5), y=(4, 6))


def test_expand_dims_of_an_unknown_batch():
    net = mx.sym.expand_dims(mx.sym.Variable("x"), axis=1)
    assert net.infer_shape_partial(x=(0, 3))[1] == [(0, 1, 3)]
