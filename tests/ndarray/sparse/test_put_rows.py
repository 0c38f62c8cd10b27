"""Rows of one array copied into another, in engine order; against NumPy."""

import numpy as np
import pytest
from cynet._core.put_rows import put_rows

import cynet as mx
from cynet.base.errors import ArgumentError


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int64", "bool"])
@pytest.mark.parametrize("tail", [(), (3,), (2, 2)])
@pytest.mark.parametrize("rows", [[], [0], [4], [3, 0, 4], [0, 1, 2, 3, 4], [2, 2]])
def test_rows_of_numpy(dtype, tail, rows, rng):
    target = rng.integers(0, 2, (5, *tail)).astype(dtype)
    source = rng.integers(0, 2, (len(rows), *tail)).astype(dtype)
    array = mx.nd.array(target, dtype=dtype)
    given = mx.nd.array(source, dtype=dtype).reshape(source.shape)
    put_rows(array, given, np.array(rows, np.int64))
    target[rows] = source
    np.testing.assert_array_equal(array.asnumpy(), target)
    np.testing.assert_array_equal(given.asnumpy(), source)


def test_it_is_in_order():
    """What was asked for before it, and what after it."""
    target, source = mx.nd.zeros((1000, 500)), mx.nd.ones((1000, 500))
    for i in range(20):
        source += 1
        target *= 2
        put_rows(target, source[:500], np.arange(500))
        target += 1
        wanted = i + 3
        assert (target[:500].asnumpy() == wanted).all()
    assert target[999].asnumpy()[0] == 2**20 - 1


def test_nothing_to_put():
    for shape in ((0, 3), (3, 0)):
        target = mx.nd.zeros(shape)
        put_rows(target, mx.nd.zeros((0, *shape[1:])), np.zeros(0, np.int64))
        assert target.shape == shape
    put_rows(mx.nd.zeros((3, 0)), mx.nd.zeros((1, 0)), np.zeros(1, np.int64))


@pytest.mark.parametrize("row", [-1, 5, 1 << 40])
def test_a_row_that_is_not_there(row):
    target = mx.nd.zeros((5, 2))
    with pytest.raises(ArgumentError, match=f"^put_rows: row {row} of 5$"):
        put_rows(target, mx.nd.ones((2, 2)), np.array([0, row]))
    assert not target.asnumpy().any()


@pytest.mark.parametrize(
    "target, source, count",
    [((5, 2), (2, 2), 3), ((5, 2), (2, 3), 2), ((5, 2), (2,), 2), ((5, 2), (2, 2, 1), 2)],
)
def test_shapes_that_do_not_fit(target, source, count):
    with pytest.raises(
        ArgumentError, match=rf"put_rows: {count} rows from shape \(2.* to \(5, 2\)"
    ):
        put_rows(mx.nd.zeros(target), mx.nd.zeros(source), np.zeros(count, np.int64))


def test_arrays_that_do_not_fit():
    target = mx.nd.zeros((2, 2))
    for source in (mx.nd.zeros((2, 2), dtype="float64"), target, target[:]):
        with pytest.raises(
            ArgumentError, match=r"put_rows: 2 rows from shape \(2, 2\) to \(2, 2\)"
        ):
            put_rows(target, source, np.array([0, 1]))
    for bad in ((None, target), (target, None)):
        with pytest.raises(TypeError, match="NoneType|None"):
            put_rows(*bad, np.array([0, 1]))
