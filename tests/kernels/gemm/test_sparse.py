"""Products that leave out zeros against sums in float64, by level; when they are chosen."""

import functools

import numpy as np
import pytest
from cynet.kernels.gemm.small import _product_arrays
from cynet.kernels.isa.dispatch import cpu_capabilities

from tests.kernels.gemm.test_small import COPIES, SIZES, check_copies, check_products, close, draw
from tests.pairs import pairwise

LEVELS = cpu_capabilities()
MORE = [(128, 300, 129), (300, 64, 64), (17, 33, 257)]  # several blocks of rows and chunks of sums


def thinned(a, share, seed):
    """`a` with that share of zeros, some of them negative."""
    rng = np.random.RandomState(seed)
    a[rng.random_sample(a.shape) < share] = 0
    a[rng.random_sample(a.shape) < share / 4] = -0.0
    return a


@pytest.mark.parametrize("size, threads, level", pairwise(SIZES + MORE, [1, 2, 3], LEVELS), ids=str)
def test_products(size, threads, level):
    for share in (0.6, 1):
        thin = functools.partial(thinned, share=share, seed=2)
        check_products(size, thin, threads=threads, level=level, way="sparse")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("threads", [2, 3])
def test_shared_out_by_rows_where_all_have_read_b(threads, level):
    for size in (128, 784, 128), (64, 130, 33), (300, 50, 600):
        thin = functools.partial(thinned, share=0.6, seed=2)
        check_products(size, thin, threads=threads, level=level, way="sparse", b_shared=True)


@pytest.mark.parametrize(
    "size, threads, level", pairwise(COPIES + MORE, [1, 2, 3, 4], LEVELS), ids=str
)
def test_a_is_copied_on_the_way(size, threads, level):
    for share in (0.6, 1):
        thin = functools.partial(thinned, share=share, seed=11)
        check_copies(size, thin, threads=threads, level=level, way="sparse")


@pytest.mark.parametrize("level", LEVELS)
def test_relu_comes_last(level):
    a, b, c, bias = draw(3, (20, 400), (400, 40), (20, 40), (40,))
    a = thinned(a, 0.5, 4)
    wanted = np.maximum(a.astype(np.float64) @ b + bias + c, 0)
    _product_arrays(a, b, c, bias=bias, relu=True, add=True, level=level, way="sparse")
    close(c, wanted)
    assert (c == 0).any() and (c > 0).any()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("b_turned", [False, True])
def test_zeros_times_infinity(level, b_turned):
    """As in any other product: NaN, in that column and no other."""
    a, b, c = draw(5, (40, 300), (300, 200), (40, 200))
    a = thinned(a, 0.7, 6)
    a[:, 7], a[:, 260] = 0, 0
    b[7, 30], b[260, 31], b[260, 199] = np.inf, -np.inf, np.nan
    given = np.ascontiguousarray(b.T) if b_turned else b
    _product_arrays(a, given, c, b_turned=b_turned, level=level, way="sparse")
    bad = np.isin(np.arange(200), (30, 31, 199))
    assert np.isnan(c[:, bad]).all()
    close(c[:, ~bad], a.astype(np.float64) @ b[:, ~bad])


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_not_finite_counts(level):
    a, b, c = draw(7, (32, 100), (100, 64), (32, 64))
    a = thinned(a, 0.8, 8)
    a[3, 5], a[9, 99] = np.nan, np.inf
    _product_arrays(a, b, c, level=level, way="sparse")
    with np.errstate(invalid="ignore"):
        wanted = a.astype(np.float64) @ b
    assert np.isnan(c[3]).all() and np.isinf(c[9]).all()
    np.testing.assert_array_equal(np.sign(c[9]), np.sign(wanted[9]))
    rest = np.delete(np.arange(32), [3, 9])
    close(c[rest], wanted[rest])


@pytest.mark.parametrize("level", LEVELS)
def test_results_do_not_depend_on_threads(level):
    a, b, first, other = draw(9, (150, 200), (200, 130), (150, 130), (150, 130))
    a = thinned(a, 0.5, 10)
    _product_arrays(a, b, first, level=level, way="sparse", threads=1)
    _product_arrays(a, b, other, level=level, way="sparse", threads=2)
    assert first.tobytes() == other.tobytes()


@pytest.mark.parametrize("turned", [False, True])
def test_chosen_where_enough_is_zero(turned):
    for level in LEVELS:
        for share, wanted in ((0, False), (0.1, False), (0.8, True), (0.99, True)):
            a, b, c = draw(11, (128, 128), (128, 784), (128, 784))
            a = thinned(a, share, 12)
            chosen = _product_arrays(a, b, c, a_turned=turned, level=level)[1]
            assert (chosen == "sparse") == wanted
        a, b, c = draw(13, (128, 128), (128, 10), (128, 10))
        assert _product_arrays(a * 0, b, c, a_turned=turned, level=level)[1] != "sparse"
