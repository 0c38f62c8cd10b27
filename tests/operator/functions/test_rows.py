"""Rows of mathematical functions: what they say of functors, zeros and signs is so."""

import operator

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentTypeError
from cynet.kernels.table import functors, reducers
from cynet.operator import get_operator
from cynet.operator.array_methods import BINARY as OPERATORS
from cynet.operator.functions import BINARY, REDUCTIONS, UNARY
from cynet.operator.functions.row import BOOL, FLOAT, Unary

NUMBERS = (0.0, 2.0, -3.0, 0.5, float("nan"), float("inf"))


@pytest.mark.parametrize("row", UNARY, ids=lambda row: row.name)
def test_functors_of_one_element_exist(row):
    whole = functors("unary")[row.functor or row.name]
    assert row.gradient is None or row.gradient in functors("unary_grad")
    assert (row.reads != "") <= (row.gradient is not None)
    assert row.reads in ("", "x", "y")
    # what has no loops of integers has results that are floats
    assert whole or row.result == FLOAT
    assert (row.derivative is None) == (row.gradient is None)


@pytest.mark.parametrize("row", BINARY, ids=lambda row: row.functor)
def test_functors_of_two_elements_exist(row):
    whole = functors("binary")[row.functor]
    for each in row.gradient[:2]:
        assert each is None or each in functors("binary_grad")
    assert whole or row.result == FLOAT
    assert row.gradient.exists == (row.result != BOOL)
    for form in row.forms().values():
        has = get_operator(form.name).prop.second_order is not None
        assert has == row.gradient.exists, form.name


@pytest.mark.parametrize("row", REDUCTIONS, ids=lambda row: row.name)
def test_reducers_exist(row):
    assert row.reduction in reducers()
    assert row.gradient in functors("binary_grad")


@pytest.mark.parametrize("row", [row for row in UNARY if row.zero_stays], ids=lambda row: row.name)
def test_zero_stays_zero(row):
    made = mx.nd.array([0, -0.0], dtype="float64")
    assert (getattr(mx.nd.op, row.name)(made).asnumpy() == 0).all()


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    "row", [row for row in BINARY if row.scalar.at_zero], ids=lambda row: row.function
)
def test_functions_of_zero_and_a_number(row, number):
    scalar = getattr(mx.nd.op, row.scalar.name)
    found = scalar(mx.nd.zeros(1, dtype="float64"), scalar=number).asnumpy()[0]
    np.testing.assert_array_equal(float(row.scalar.at_zero(number)), found)


@pytest.mark.parametrize("name", [name for name, row in OPERATORS.items() if row.method])
def test_signs_are_those_of_python(name):
    row = OPERATORS[name]
    a, b = np.array([5.0, 2, 3]), np.array([2.0, 2, 4])
    want = getattr(operator, row.method)(a, b)
    for made in (row.same, row.broadcast):
        found = getattr(mx.nd.op, made)(mx.nd.array(a), mx.nd.array(b)).asnumpy()
        np.testing.assert_array_equal(found, want)
    found = getattr(mx.nd.op, row.reflected)(mx.nd.array(b), scalar=3.0).asnumpy()
    np.testing.assert_allclose(found, getattr(operator, row.method)(3.0, b), rtol=1e-6)


def test_a_row_has_no_other_fields():
    with pytest.raises(ArgumentTypeError, match="Unary 'f' has no field derivativ$"):
        Unary("f", "A function.", derivativ=None)
