"""Splitting batches, and names that come twice."""

import pytest

import cynet as mx
from cynet.base.errors import ArgumentError
from cynet.executor_manager import _check_arguments, _split_input_slice


@pytest.mark.parametrize(
    "size, loads, expected",
    [
        (8, [1, 1], [(0, 4), (4, 8)]),
        (9, [1, 1], [(0, 4), (4, 9)]),
        (6, [1, 2], [(0, 2), (2, 6)]),
        (10, [1, 1, 1], [(0, 3), (3, 6), (6, 10)]),
        (3, [1], [(0, 3)]),
    ],
)
def test_slices(size, loads, expected):
    assert [(part.start, part.stop) for part in _split_input_slice(size, loads)] == expected


def test_refused():
    with pytest.raises(ArgumentError, match="Too many slices"):
        _split_input_slice(2, [1, 1, 1])
    with pytest.raises(ArgumentError, match="more than 0"):
        _split_input_slice(2, [0, 0])


def test_check_arguments():
    _check_arguments(mx.sym.var("a") + mx.sym.var("b"))
    with pytest.raises(ArgumentError, match="'a' comes twice"):
        _check_arguments(mx.sym.var("a") + mx.sym.var("a"))
