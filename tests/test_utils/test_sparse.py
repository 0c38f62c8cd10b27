"""Random sparse arrays: what they are made of, densities, orders of columns."""

import numpy as np
import pytest
import scipy.sparse

import cynet as mx
from cynet import test_utils as utils
from cynet.base.errors import ArgumentError, ShapeError


@pytest.mark.parametrize("density", [0, 0.3, 1, None])
def test_rows(seed, density):
    array, (values, rows) = utils.rand_sparse_ndarray((50, 3), "row_sparse", density)
    dense = np.zeros((50, 3), "f")
    dense[rows] = values
    np.testing.assert_array_equal(array.asnumpy(), dense)
    array.check_format()
    if density is not None:
        assert abs(len(rows) - 50 * density) <= 15
    array, (values, rows) = utils.rand_sparse_ndarray(
        (9, 2), "row_sparse", rsp_indices=[7, 2], data_init=4, modifier_func=lambda x: x + 1
    )
    assert rows.tolist() == [2, 7] and array.data.asnumpy().tolist() == [[5, 5], [5, 5]]


@pytest.mark.parametrize("density", [0, 0.3, 1])
@pytest.mark.parametrize("shuffle", [False, True])
def test_csr(seed, density, shuffle):
    array, (indptr, indices, values) = utils.rand_sparse_ndarray(
        (20, 30), "csr", density, "float64", shuffle_csr_indices=shuffle
    )
    want = scipy.sparse.csr_matrix((values, indices, indptr), shape=(20, 30)).toarray()
    np.testing.assert_array_equal(array.asnumpy(), want)
    assert array.dtype == np.float64 and abs(len(values) - 600 * density) <= 60


def test_powerlaw():
    array = utils.rand_ndarray((6, 16), "csr", 0.5, distribution="powerlaw")
    assert np.diff(array.indptr.asnumpy()).tolist() == [1, 2, 4, 8, 16, 16]
    array = utils.rand_ndarray((6, 16), "csr", 0.25, distribution="powerlaw")
    assert np.diff(array.indptr.asnumpy()).tolist() == [1, 2, 4, 8, 9, 0]


def test_columns_are_shuffled_in_their_rows(seed):
    matrix = scipy.sparse.csr_matrix(np.ones((2, 40)))
    utils.shuffle_csr_column_indices(matrix)
    assert (np.diff(matrix.indices[:40]) < 0).any()
    assert sorted(matrix.indices[40:]) == list(range(40))


def test_arrays_of_both_kinds(seed):
    assert utils.create_sparse_array((4, 5), "csr", data_init=2).stype == "csr"
    assert utils.create_sparse_array_zd((4, 5), "row_sparse", 0).indices.shape == (0,)
    array = utils.rand_ndarray((4, 5), "row_sparse", 1)
    assert array.stype == "row_sparse" and abs(array.asnumpy()).max() <= 1


def test_what_is_refused():
    for error, call in (
        (ShapeError, lambda: utils.rand_ndarray((2,), "csr")),
        (ArgumentError, lambda: utils.rand_ndarray((2, 2), "coo")),
        (ArgumentError, lambda: utils.rand_ndarray((2, 2), "csr", 2)),
        (ArgumentError, lambda: utils.rand_ndarray((2, 2), "csr", 1, distribution="normal")),
        (ArgumentError, lambda: utils.rand_ndarray((2, 2), "row_sparse", 1, distribution="x")),
    ):
        with pytest.raises(error, match="rand_sparse_ndarray"):
            call()
    assert mx.nd.sparse.zeros("csr", (0, 3)).asnumpy().shape == (0, 3)
