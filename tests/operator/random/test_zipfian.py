"""Zipfian draws: without repetition (_sample_unique_zipfian) and rand_zipfian."""

import numpy as np
import pytest

import cynet as mx
from cynet import nd


def unique(range_max, shape):
    return [
        x.asnumpy() for x in nd._internal._sample_unique_zipfian(range_max=range_max, shape=shape)
    ]


def probabilities(range_max):
    x = np.arange(range_max)
    return np.log((x + 2) / (x + 1)) / np.log(range_max + 1)


def test_rows_hold_different_numbers():
    mx.random.seed(3)
    numbers, tries = unique(50, (200, 20))
    assert numbers.dtype == tries.dtype == np.int64
    assert numbers.min() >= 0 and numbers.max() < 50
    assert all(len(set(row)) == 20 for row in numbers)
    assert tries.shape == (200,) and tries.min() >= 20 and len(set(tries)) > 5
    mx.random.seed(3)
    again, _ = unique(50, (200, 20))
    np.testing.assert_array_equal(numbers, again)


def test_all_numbers_of_a_small_range():
    numbers, tries = unique(7, (3, 7))
    assert all(sorted(row) == list(range(7)) for row in numbers)
    assert tries.min() >= 7
    numbers, tries = unique(1, (2, 1))
    assert numbers.tolist() == [[0], [0]] and tries.tolist() == [1, 1]


def test_first_draws_are_zipfian():
    mx.random.seed(5)
    first = unique(20, (40000, 2))[0][:, 0]
    found = np.bincount(first, minlength=20) / len(first)
    wanted = probabilities(20)
    assert (np.abs(found - wanted) < 5 * np.sqrt(wanted / len(first))).all()


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"range_max": 5, "shape": (2, 6)}, "no 6 different numbers below 5"),
        ({"range_max": 5, "shape": (6,)}, "'shape' is .rows, count."),
        ({"range_max": 0, "shape": (2, 2)}, "range_max"),
    ],
)
def test_refused(params, says):
    with pytest.raises(mx.MXNetError, match=says):
        nd._internal._sample_unique_zipfian(**params)


@pytest.mark.parametrize("symbolic", [False, True])
def test_rand_zipfian(symbolic):
    mx.random.seed(1)
    classes = nd.array([0, 3, 19])
    if symbolic:
        group = mx.sym.Group(list(mx.sym.contrib.rand_zipfian(mx.sym.var("t"), 20000, 20)))
        outs = group.bind(mx.cpu(), {"t": classes}, grad_req="null").forward()
    else:
        outs = nd.contrib.rand_zipfian(classes, 20000, 20)
    drawn, of_true, of_drawn = (x.asnumpy() for x in outs)
    assert drawn.dtype == np.int64 and of_true.dtype == of_drawn.dtype == np.float64
    wanted = probabilities(20) * 20000
    np.testing.assert_allclose(of_true, wanted[[0, 3, 19]], 1e-12)
    np.testing.assert_allclose(of_drawn, wanted[drawn], 1e-12)
    found = np.bincount(drawn, minlength=20)
    assert (np.abs(found - wanted) < 5 * np.sqrt(wanted)).all()


def test_rand_zipfian_refuses():
    for bad in ((0, 5), (5, 0), (2.5, 5)):
        with pytest.raises(mx.MXNetError, match="rand_zipfian: "):
            nd.contrib.rand_zipfian(nd.array([1]), *bad)
        with pytest.raises(mx.MXNetError, match="rand_zipfian: "):
            mx.sym.contrib.rand_zipfian(mx.sym.var("t"), *bad)
