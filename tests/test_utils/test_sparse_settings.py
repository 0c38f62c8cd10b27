"""Random sparse arrays: each setting of each function, and what is refused."""

import re

import numpy as np
import pytest
import scipy.sparse

import cynet as mx
from cynet import test_utils as utils
from cynet.base.errors import CynetError

SETTINGS = {
    "data_init": (2.5, lambda values: (values == 2.5).all()),
    "modifier_func": (lambda value: 7, lambda values: (values == 7).all()),
    "dtype": ("float64", lambda values: values.dtype == np.float64),
}


SHAPES = [("csr", (30, 20)), *(("row_sparse", shape) for shape in ((60, 3), (60,), (60, 2, 2)))]


@pytest.mark.parametrize("stype, shape", SHAPES)
@pytest.mark.parametrize("name", [None, *SETTINGS])
def test_values(stype, shape, name):
    options = {name: SETTINGS[name][0]} if name else {}
    array, parts = utils.rand_sparse_ndarray(shape, stype, 0.5, ctx=mx.cpu(1), **options)
    values = parts[0] if stype == "row_sparse" else parts[2]
    assert (array.stype, array.shape, array.context) == (stype, shape, mx.cpu(1))
    np.testing.assert_array_equal(array.data.asnumpy(), values)
    assert 0 < values.size < np.prod(shape)
    if name is None:
        assert values.dtype == np.float32 and (abs(values) <= 1).all()
        assert values.min() < -0.5 and values.max() > 0.5
    else:
        assert SETTINGS[name][1](values)
    numbers = array.indices.asnumpy()
    if stype == "row_sparse":
        assert numbers.tolist() == parts[1].tolist() == sorted({*numbers.tolist()})
    else:
        own = scipy.sparse.csr_matrix((values, parts[1], parts[0]), shape)
        np.testing.assert_array_equal(array.asnumpy(), own.toarray())
        assert array.indptr.asnumpy().tolist() == parts[0].tolist()
    made = utils.create_sparse_array(shape, stype, **options)
    assert (made.stype, made.shape) == (stype, shape)
    if name:
        assert SETTINGS[name][1](made.data.asnumpy())
    made = utils.create_sparse_array_zd(shape, stype, 0.5, **options)
    if name:
        assert SETTINGS[name][1](made.data.asnumpy())


@pytest.mark.parametrize("density", [0, 1])
def test_none_and_all(density):
    for stype, count in (("csr", 12), ("row_sparse", 4)):
        for array in (
            utils.rand_sparse_ndarray((4, 3), stype, density)[0],
            utils.create_sparse_array((4, 3), stype, density=density),
            utils.create_sparse_array_zd((4, 3), stype, density),
            utils.rand_ndarray((4, 3), stype, density),
        ):
            assert array.indices.shape == (density * count,)


def test_rows_that_are_asked_for():
    for rows, wanted in (([3, 0, 3], [0, 3]), ((2,), [2]), (np.array([1, 2]), [1, 2]), ([], [])):
        array, (values, found) = utils.rand_sparse_ndarray((5, 2), "row_sparse", rsp_indices=rows)
        assert array.indices.asnumpy().tolist() == found.tolist() == wanted
        assert values.shape == (len(wanted), 2)
        made = utils.create_sparse_array((5, 2), "row_sparse", rsp_indices=rows)
        assert made.indices.asnumpy().tolist() == wanted
        for density, kept in ((0.5, wanted), (0, [])):
            made = utils.create_sparse_array_zd((5, 2), "row_sparse", density, rsp_indices=rows)
            assert made.indices.asnumpy().tolist() == kept


def test_columns_in_another_order():
    """Some row is not sorted; what each row keeps is the same."""
    for make in (
        lambda: utils.rand_sparse_ndarray((20, 20), "csr", 1, shuffle_csr_indices=True)[0],
        lambda: utils.create_sparse_array((20, 20), "csr", density=1, shuffle_csr_indices=True),
        lambda: utils.create_sparse_array_zd((20, 20), "csr", 1, shuffle_csr_indices=True),
    ):
        array = make()
        numbers = array.indices.asnumpy().reshape(20, 20)
        assert (np.sort(numbers) == np.arange(20)).all() and (np.diff(numbers) < 0).any()
    own = scipy.sparse.csr_matrix(np.arange(1.0, 41).reshape(2, 20))
    before = own.data.copy()
    utils.shuffle_csr_column_indices(own)
    assert (own.data == before).all() and (np.diff(own.indices[:20]) < 0).any()
    assert {*own.indices[:20]} == {*own.indices[20:]} == {*range(20)}


@pytest.mark.parametrize(
    "density, counts",
    [(1, [1, 2, 4, 8, 8]), (0.5, [1, 2, 4, 8, 5]), (0.1, [1, 2, 1, 0, 0]), (0, [0] * 5)],
)
def test_rows_that_double(density, counts):
    array, (indptr, _, _) = utils.rand_sparse_ndarray(
        (5, 8), "csr", density, distribution="powerlaw"
    )
    assert np.diff(indptr).tolist() == counts
    assert (array.asnumpy() != 0).sum(1).tolist() == counts


REFUSED = {
    "stype is 'csr' or 'row_sparse', got 'default'": ((2, 2), "default", {}),
    "stype is 'csr' or 'row_sparse', got 3": ((2, 2), 3, {}),
    "density is from 0 to 1, got -0.1": ((2, 2), "csr", {"density": -0.1}),
    "density is from 0 to 1, got 1.1": ((2, 2), "csr", {"density": 1.1}),
    "rows are 'uniform', got 'powerlaw'": ((2, 2), "row_sparse", {"distribution": "powerlaw"}),
    "distribution is 'uniform' or 'powerlaw', got 'x'": ((2, 2), "csr", {"distribution": "x"}),
    "a csr matrix has two axes, got shape (2,)": ((2,), "csr", {}),
    "a csr matrix has two axes, got shape (2, 2, 2)": ((2, 2, 2), "csr", {}),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(text):
    shape, stype, options = REFUSED[text]
    with pytest.raises(CynetError, match=f"^rand_sparse_ndarray: {re.escape(text)}$"):
        utils.rand_sparse_ndarray(shape, stype, **options)
