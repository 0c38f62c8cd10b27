"""Products of csr matrices of all widths and sizes, against SciPy's."""

import numpy as np
import pytest
import scipy.sparse

import cynet as mx
from cynet.kernels.parallel import set_num_threads
from cynet.ndarray.sparse import product

WIDTHS = (1, 2, 3, 7, 8, 16, 31, 33, 64, 127, 128, 150)


def matrix_of(rng, rows, columns, dtype):
    """One with empty rows and columns, and with rows of more elements than one sum takes."""
    dense = rng.standard_normal((rows, columns)) * (rng.random((rows, columns)) < 0.1)
    dense[rows // 2] = rng.standard_normal(columns)
    dense[rows // 3] = 0
    dense[:, columns // 3] = 0
    return scipy.sparse.csr_matrix(dense.astype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("few", [(0, 0), (product.MAX_SUMMED_ROWS, product.MAX_SUMMED_COLUMNS)])
def test_every_width(rng, monkeypatch, dtype, few):
    monkeypatch.setattr(product, "MAX_SUMMED_ROWS", few[0])
    monkeypatch.setattr(product, "MAX_SUMMED_COLUMNS", few[1])
    matrix = matrix_of(rng, 90, 200, dtype)
    csr, close = mx.nd.sparse.array(matrix), 2e-5 if dtype == "float32" else 1e-12
    for width in WIDTHS:
        for transpose, own in ((False, matrix), (True, matrix.T)):
            rhs = rng.standard_normal((own.shape[1], width)).astype(dtype)
            got = mx.nd.dot(csr, mx.nd.array(rhs, dtype=dtype), transpose_a=transpose)
            np.testing.assert_allclose(got.asnumpy(), own.astype("f8") @ rhs, close, close)


@pytest.fixture
def several_threads():
    """Four threads, whatever the machine has."""
    before = set_num_threads(4, beyond_cores=True)
    yield
    set_num_threads(before, beyond_cores=True)


@pytest.mark.parametrize("width", [1, 40])
def test_threads_share_large_products_out(rng, width, several_threads):
    counts = rng.integers(0, 40, 30_000)  # a few columns have most of the elements
    rows = np.repeat(np.arange(len(counts)), counts)
    columns = np.minimum(rng.geometric(1e-3, len(rows)) - 1, 5_000)
    values = rng.random(len(rows)).astype("float32")
    for part in (10_000, 30_000):  # as sums in place, and by the transpose
        keep = rows < part
        matrix = scipy.sparse.csr_matrix(
            (values[keep], (rows[keep], columns[keep])), shape=(part, 6_000)
        )
        csr = mx.nd.sparse.array(matrix)
        for transpose, own in ((False, matrix), (True, matrix.T)):
            rhs = rng.random((own.shape[1], width)).astype("float32")
            got = mx.nd.dot(csr, mx.nd.array(rhs), transpose_a=transpose)
            np.testing.assert_allclose(got.asnumpy(), own.astype("f8") @ rhs, 2e-5)


def test_sums_of_many_rows_are_made_in_parts():
    """float32 has no 2**24 + 1: one by one, ones would be lost."""
    n = product.MAX_SUMMED_ROWS + 4096
    matrix = scipy.sparse.csr_matrix(
        (np.r_[np.float32(1 << 24), np.ones(n - 1, "f4")], np.zeros(n, int), np.arange(n + 1))
    )
    total = mx.nd.sparse.array(matrix).sum(axis=0).asscalar()
    assert abs(total - ((1 << 24) + n - 1)) <= 64
