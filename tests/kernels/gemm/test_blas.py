"""Matrix products through the BLAS door against NumPy."""

import numpy as np
import pytest
from cynet.kernels.gemm.blas import _run_gemm, check_sizes

from cynet.base.errors import ArgumentError
from cynet.kernels.parallel import set_num_threads
from tests.pairs import pairwise
from tests.rounding import assert_summed_alike

SIZES = [
    (1, 1, 1),
    (3, 5, 7),
    (1, 700, 300),
    (700, 1, 300),
    (129, 65, 33),
    (200, 17, 400),
    (7, 33, 40),
    (16, 300, 129),
    (15, 1100, 600),
    (600, 1, 600),
    (90, 70, 1),
]


@pytest.mark.parametrize(
    "dtype, threads, size", pairwise(["float32", "float64"], [1, 2, 3, 6], SIZES), ids=str
)
def test_against_numpy(dtype, threads, size):
    m, n, k = size
    rng = np.random.RandomState(m * n + k)
    before = set_num_threads(threads, beyond_cores=True)
    try:
        for trans_a in (False, True):
            for trans_b in (False, True):
                a = rng.standard_normal((k, m) if trans_a else (m, k)).astype(dtype)
                b = rng.standard_normal((n, k) if trans_b else (k, n)).astype(dtype)
                x, y = a.T if trans_a else a, b.T if trans_b else b
                product, terms = x @ y, np.abs(x) @ np.abs(y)
                c = np.full((m, n), np.nan, dtype)
                _run_gemm(a, b, c, trans_a, trans_b, 1.0, 0.0)
                assert_summed_alike(c, product, k, terms)
                _run_gemm(a, b, c, trans_a, trans_b, 1.0, 1.0)
                assert_summed_alike(c, 2 * product, k + 1, 2 * terms)
                c[...] = product
                _run_gemm(a, b, c, trans_a, trans_b, 0.5, 2.0)
                assert_summed_alike(c, 2.5 * product, k + 2, 2.5 * terms)
    finally:
        set_num_threads(before)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "m, n, k", [(40, 1, 30), (1, 40, 30), (600, 1, 500), (1, 600, 500), (50, 60, 1), (9, 1, 1)]
)
def test_a_row_or_column_of_a_wider_matrix(dtype, m, n, k, rng):
    """What is multiplied and what comes out lie in matrices of more columns, which stay."""

    def inside(rows, columns):
        wide = rng.standard_normal((rows, columns + 3)).astype(dtype)
        return wide, wide[:, 1 : 1 + columns]

    for turned in range(4):
        trans_a, trans_b = bool(turned & 1), bool(turned & 2)
        _, a = inside(*((k, m) if trans_a else (m, k)))
        _, b = inside(*((n, k) if trans_b else (k, n)))
        whole, c = inside(m, n)
        before = whole.copy()
        product = (a.T if trans_a else a) @ (b.T if trans_b else b)
        for alpha, beta in ((1.0, 0.0), (1.0, 1.0), (0.5, 2.0)):
            want = before.copy()
            want[:, 1 : 1 + n] = alpha * product + beta * want[:, 1 : 1 + n]
            whole[...] = before
            _run_gemm(a, b, c, trans_a, trans_b, alpha, beta)
            assert_summed_alike(whole, want, k + 2, 10 * k)


def test_vectors_do_not_depend_on_threads():
    rng = np.random.RandomState(3)
    a = rng.standard_normal((999, 301)).astype(np.float32)
    x = rng.standard_normal((301, 1)).astype(np.float32)
    found = []
    for threads in (1, 2, 5):
        before = set_num_threads(threads)
        try:
            c, row = np.empty((999, 1), np.float32), np.empty((1, 999), np.float32)
            _run_gemm(a, x, c, False, False, 1.0, 0.0)
            _run_gemm(x, a, row, True, True, 1.0, 0.0)
        finally:
            set_num_threads(before)
        found += [c.ravel(), row.ravel()]
    exact = (a.astype(np.float64) @ x).ravel()
    assert_summed_alike(found[0], exact, 301, (np.abs(a) @ np.abs(x)).ravel())
    for other in found:
        np.testing.assert_array_equal(other, found[0])


@pytest.mark.parametrize("k", [2, 63, 10_000, 70_001, 1_500_007])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_two_vectors(dtype, k):
    """The inner product is exact to a rounding of its dtype, whatever the number of threads."""
    rng = np.random.RandomState(k)
    a, b = rng.standard_normal((2, k)).astype(dtype)
    exact = float(np.sum(a.astype(np.longdouble) * b))
    scale = float(np.sum(np.abs(a * b)))
    found = []
    for threads in (1, 2, 5):
        before = set_num_threads(threads, beyond_cores=True)
        try:
            for trans_a, trans_b in ((False, False), (False, True), (True, False), (True, True)):
                c = np.full((1, 1), np.nan, dtype)
                x, y = (
                    a.reshape((k, 1) if trans_a else (1, k)),
                    b.reshape((1, k) if trans_b else (k, 1)),
                )
                _run_gemm(x, y, c, trans_a, trans_b, 1.0, 0.0)
                found.append(c[0, 0])
                _run_gemm(x, y, c, trans_a, trans_b, 0.5, 2.0)
                np.testing.assert_allclose(c[0, 0], 2.5 * found[0], rtol=1e-6)
        finally:
            set_num_threads(before)
    assert abs(float(found[0]) - exact) <= 4 * np.finfo(dtype).eps * scale
    assert all(each == found[0] for each in found)


def test_sizes_beyond_blas_are_refused():
    check_sizes("dot", (1 << 31) - 1)
    with pytest.raises(ArgumentError, match="dot.*2147483648"):
        check_sizes("dot", 4, 1 << 31)
