"""Symbols made from numbers, and functions that take a symbol or a number."""

import numpy as np
import pytest

import cynet as mx


def test_shapes_and_types():
    assert mx.sym.zeros((2, 3), dtype="float64").infer_shape() == ([], [(2, 3)], [])
    assert mx.sym.zeros((2, 3), dtype="float64").infer_type()[1] == [np.float64]
    assert mx.sym.full((2,), 3).infer_shape()[1] == [(2,)]
    assert mx.sym.arange(1, 5, 2, repeat=2).infer_shape()[1] == [(4,)]
    assert mx.sym.arange(5).infer_shape()[1] == [(5,)]
    assert mx.sym.ones(shape=3, name="one").list_outputs() == ["one_output"]


def test_unknown_dimension_follows_from_the_other_operand():
    net = mx.sym.zeros((0, 3)) + mx.sym.Variable("x")
    assert net.infer_shape(x=(2, 3)) == ([(2, 3)], [(2, 3)], [])


def test_two_numbers_stay_numbers():
    assert mx.sym.maximum(2, 3) == 3 and mx.sym.minimum(2, 3) == 2 and mx.sym.pow(2, 3) == 8


@pytest.mark.parametrize("name", ["maximum", "minimum", "power", "hypot"])
def test_wrong_operand(name):
    with pytest.raises(TypeError, match=f"{name}: .*str"):
        getattr(mx.sym, name)(mx.sym.Variable("x"), "a")
