"""Python's operators on symbols (names and operators are held to MXNet in
test_against_mxnet.py)."""

import numpy as np
import pytest

import cynet as mx


@pytest.fixture(autouse=True)
def fresh_names():
    with mx.name.NameManager():
        yield


@pytest.mark.parametrize("number", [2, 2.5, np.float32(2.5), np.int64(2), np.float64(2)])
def test_numbers_on_both_sides(number):
    x = mx.sym.Variable("x")
    assert (x - number).entries[0][0].op.name == "_minus_scalar"
    assert (number - x).entries[0][0].op.name == "_rminus_scalar"
    assert (number - x).attr("scalar") == str(number)


def test_in_place_makes_a_new_symbol():
    x = y = mx.sym.Variable("x")
    x += 1
    assert x.name == "_plusscalar0" and y.name == "x"


@pytest.mark.parametrize("other", [None, "a", [1], np.zeros(3), 1j])
@pytest.mark.parametrize("operator", ["__add__", "__rsub__", "__eq__", "__lt__", "__pow__"])
def test_other_operands_are_refused(operator, other):
    with pytest.raises(TypeError, match="parameter 'scalar' takes a|the other operand must"):
        getattr(mx.sym.Variable("x"), operator)(other)
