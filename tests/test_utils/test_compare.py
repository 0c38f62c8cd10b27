"""Random arrays and comparisons."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentTypeError

UTILS = mx.test_utils


def test_shapes_and_arrays(seed):
    np.random.seed(seed)
    assert len(UTILS.rand_shape_nd(4)) == 4 and max(UTILS.rand_shape_2d(3, 5)) <= 5
    assert min(UTILS.rand_shape_3d()) >= 1
    with pytest.raises(mx.base.MXNetError, match="num_dim must be from 0 to 8"):
        UTILS.rand_shape_nd(2**31)
    array = UTILS.rand_ndarray((2, 3), dtype="float64")
    assert array.shape == (2, 3) and array.dtype == np.float64
    first, second = UTILS.random_arrays((2, 3), (4,))
    assert first.shape == (2, 3) and second.shape == (4,)


def test_equal():
    one = mx.nd.ones(2)
    assert UTILS.same(one, np.ones(2)) and not UTILS.same(one, np.ones(3))
    assert UTILS.almost_equal(one, np.ones(2) + 1e-6)
    assert not UTILS.almost_equal(one, np.ones(2) + 1)
    assert not UTILS.almost_equal(np.ones(2), np.ones((1, 2)), use_broadcast=False)
    nan = np.array([np.nan])
    assert UTILS.almost_equal(nan, nan, equal_nan=True) and not UTILS.almost_equal(nan, nan)


def test_assert_almost_equal():
    UTILS.assert_almost_equal(mx.nd.ones(3), np.ones(3) + 1e-4)
    with pytest.raises(AssertionError, match=r"1 of 3(.|\n)*\(1,\)"):
        UTILS.assert_almost_equal(np.array([1.0, 2, 3]), np.array([1.0, 2.1, 3]))
    with pytest.raises(AssertionError, match="x and y"):
        UTILS.assert_almost_equal(np.zeros(2), np.ones(2), names=("x", "y"))
    with pytest.raises(AssertionError, match="shape"):
        UTILS.assert_almost_equal(np.zeros(2), np.zeros((1, 2)), use_broadcast=False)
    with pytest.raises(AssertionError, match="a and b differ in 1 of 1 entries"):
        UTILS.assert_almost_equal(np.array([np.nan]), np.array([1.0]))


def test_tolerances_follow_the_coarser_dtype():
    assert UTILS.get_tols(np.zeros(1, "f4"), np.zeros(1)) == (1e-4, 1e-3)
    assert UTILS.get_tols(np.zeros(1, "f2"), np.zeros(1), rtol=1.0) == (1.0, 1e-1)


def test_default_context():
    assert UTILS.default_context() == mx.cpu()
    with pytest.raises(ArgumentTypeError, match="set_default_context takes a Context, got 'cpu'"):
        UTILS.set_default_context("cpu")
    with pytest.raises(AssertionError, match="did not raise ValueError"):
        UTILS.assert_exception(lambda: None, ValueError)
    UTILS.assert_exception(int, ValueError, "x")


def test_the_context_that_is_set_is_the_current_one_of_the_thread():
    UTILS.set_default_context(mx.cpu(2))
    try:
        assert mx.current_context() == UTILS.default_context() == mx.cpu(2)
        assert mx.nd.ones(1).context == mx.cpu(2)
        with mx.cpu(1):
            assert UTILS.default_context() == mx.cpu(1)
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(UTILS.default_context).result() == mx.cpu(0)
    finally:
        UTILS.set_default_context(mx.cpu(0))
    assert mx.current_context() == mx.cpu(0)
