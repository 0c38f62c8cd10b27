"""How sparse arrays are made: each form of source with each setting, and whole refusals."""

import re

import numpy as np
import pytest
import scipy.sparse

import cynet as mx
from cynet.base.errors import CynetError

sparse = mx.nd.sparse
DENSE = np.array([[0, 1, 0], [2, 0, 3]], "float64")
CSR = scipy.sparse.csr_matrix(DENSE)
COO = CSR.tocoo()
ONE, TWO = mx.cpu(0), mx.cpu(1)


def csr_sources():
    """name -> (source, shape that it needs, dtype and device by default)."""
    array = mx.nd.array(DENSE, TWO, "float64")
    places = COO.data, (COO.row, COO.col)
    return {
        "parts": ((CSR.data, CSR.indices, CSR.indptr), (2, 3), "float64", ONE),
        "parts of lists": (([1.0, 2.0, 3.0], [1, 0, 2], [0, 1, 3]), (2, 3), "float32", ONE),
        "parts of arrays": (
            tuple(
                mx.nd.array(each, dtype=each.dtype) for each in (CSR.data, CSR.indices, CSR.indptr)
            ),
            None,
            "float64",
            ONE,
        ),
        "places": (places, (2, 3), "float64", ONE),
        "places without a shape": (places, None, "float64", ONE),
        "places in a list": ((COO.data, [COO.row, COO.col]), None, "float64", ONE),
        "places of ints": ((COO.data.astype("int32"), (COO.row, COO.col)), None, "int32", ONE),
        "a matrix": (CSR, None, "float64", ONE),
        "coordinates": (COO, (2, 3), "float64", ONE),
        "columns": (CSR.tocsc(), None, "float64", ONE),
        "NumPy": (DENSE, None, "float64", ONE),
        "NumPy's bools": (DENSE != 0, None, "float32", ONE),
        "lists": (DENSE.tolist(), None, "float32", ONE),
        "dense": (array, None, "float64", TWO),
        "its own": (array.tostype("csr"), (2, 3), "float64", TWO),
    }


@pytest.mark.parametrize("what", csr_sources())
def test_matrices(what):
    source, shape, own, place = csr_sources()[what]
    wanted = (DENSE != 0).astype(float) if "bools" in what else DENSE
    for ctx in (None, TWO):
        for dtype in (None, "float16", "int64"):
            found = sparse.csr_matrix(source, shape, ctx, dtype)
            assert found.stype == "csr" and found.shape == (2, 3)
            assert np.dtype(found.dtype) == np.dtype(dtype or own)
            assert found.context == (ctx or place)
            np.testing.assert_array_equal(found.asnumpy(), wanted)
            found.check_format()
    with pytest.raises(CynetError, match="shape|rows?|col"):
        sparse.csr_matrix(source, (1, 2)).asnumpy()


def test_rows():
    values, rows = [[1.0, 2.0], [3.0, 4.0]], [3, 1]
    wanted = np.zeros((5, 2))
    wanted[rows] = values
    sources = {
        "float32": ((values, rows), (5, 2)),
        "float64": ((np.array(values), np.array(rows)), (5, 2)),
        "int32": ((np.array(values, "int32"), mx.nd.array(rows)), (5, 2)),
    }
    for own, (source, shape) in sources.items():
        for ctx in (None, TWO):
            for dtype in (None, "float16"):
                found = sparse.row_sparse_array(source, shape, ctx, dtype)
                assert found.stype == "row_sparse" and found.shape == (5, 2)
                assert np.dtype(found.dtype) == np.dtype(dtype or own)
                assert found.context == (ctx or ONE)
                np.testing.assert_array_equal(found.asnumpy(), wanted)
        assert sparse.row_sparse_array(source).shape == (4, 2)  # the largest row and one
    for given in (mx.nd.array(wanted, TWO), mx.nd.array(wanted, TWO).tostype("row_sparse")):
        for ctx, dtype in ((None, None), (ONE, None), (None, "float16")):
            found = sparse.row_sparse_array(given, (5, 2), ctx, dtype)
            assert found.context == (ctx or TWO)
            assert np.dtype(found.dtype) == np.dtype(dtype or "float32")
            np.testing.assert_array_equal(found.asnumpy(), wanted)
            assert found is not given
    for more in (wanted, wanted.tolist()):
        np.testing.assert_array_equal(sparse.row_sparse_array(more).asnumpy(), wanted)
    one = sparse.row_sparse_array(([5.0], [2]))
    assert one.shape == (3,) and one.asnumpy().tolist() == [0, 0, 5]


@pytest.mark.parametrize("stype", ["csr", "row_sparse", "default"])
def test_zeros(stype):
    for make in (sparse.zeros, sparse.empty):
        for shape in ((2, 3), [2, 3], np.array([2, 3]), (0, 3), (np.int64(2), 0)):
            found = make(stype, shape)
            sizes = tuple(int(n) for n in shape)
            assert (found.stype, found.shape, found.context) == (stype, sizes, ONE)
            assert found.dtype == np.float32
        found = make(stype, (2, 3), TWO, "int8")
        assert found.context == TWO and found.dtype == np.int8
        if stype != "default" or make is sparse.zeros:
            assert not found.asnumpy().any()
    if stype != "csr":
        assert sparse.zeros(stype, 4).shape == (4,)
        assert sparse.zeros(stype, (2, 3, 4)).shape == (2, 3, 4)
    maker = {"csr": sparse.csr_matrix, "row_sparse": sparse.row_sparse_array}.get(stype)
    if maker is not None:
        for shape in (None, (2, 3), [2, 3]):
            found = maker((2, 3), shape, TWO, "float64")
            assert (found.shape, found.context, found.dtype) == ((2, 3), TWO, np.float64)
            assert found.data.size == 0


def test_copies():
    for given in (
        mx.nd.array(DENSE, TWO).tostype("csr"),
        mx.nd.array(DENSE, TWO).tostype("row_sparse"),
    ):
        found = sparse.array(given)
        assert found is not given and (found.stype, found.context) == (given.stype, TWO)
        found = sparse.array(given, ONE, "float64")
        assert (found.stype, found.context, found.dtype) == (given.stype, ONE, np.float64)
        np.testing.assert_array_equal(found.asnumpy(), DENSE)
    found = sparse.array(CSR, TWO, "float16")
    assert (found.stype, found.context, found.dtype) == ("csr", TWO, np.float16)
    np.testing.assert_array_equal(sparse.array(COO).asnumpy(), DENSE)


def test_a_matrix_of_scipy_stays_as_it_is():
    """One with places that come twice is summed in a copy."""
    twice = scipy.sparse.csr_matrix((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])), (2, 2))
    found = sparse.csr_matrix(twice)
    assert found.asnumpy().tolist() == [[0, 2], [1, 0]] and twice.nnz == 3
    coo = scipy.sparse.coo_matrix((np.ones(3), ([0, 0, 1], [1, 1, 0])), (2, 2))
    assert sparse.csr_matrix(coo).asnumpy().tolist() == [[0, 2], [1, 0]] and coo.nnz == 3


def test_places_that_come_several_times(rng):
    rows, columns = rng.integers(0, 3, 30), rng.integers(0, 4, 30)
    values = rng.uniform(1, 2, 30)
    wanted = scipy.sparse.coo_matrix((values, (rows, columns)), (5, 6)).toarray()
    for dtype in ("float64", "float32"):
        found = sparse.csr_matrix((values, (rows, columns)), (5, 6), dtype=dtype)
        found.check_format()
        np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-6)
    none = sparse.csr_matrix(([], ([], [])), (2, 3), TWO)
    assert none.context == TWO and none.asnumpy().tolist() == [[0] * 3] * 2


def test_numbers_of_other_kinds():
    for indices in ([0.0, 2.0], np.array([0, 2], "uint8"), mx.nd.array([0, 2]), (0, 2), [True, 2]):
        found = sparse.csr_matrix(([5.0, 6.0], indices, [0.0, 1.0, 2.0]), (2, 3))
        assert found.indices.asnumpy().tolist() == [
            int(i)
            for i in np.asarray(indices.asnumpy() if hasattr(indices, "asnumpy") else indices)
        ]
    given = np.array([0, 2])
    found = sparse.csr_matrix(([5.0, 6.0], given, [0, 1, 2]), (2, 3))
    given[:] = 1  # it was copied
    assert found.indices.asnumpy().tolist() == [0, 2]


REFUSED = {
    "csr_matrix: shape (2, 2) and (2, 3) are both given": lambda: sparse.csr_matrix((2, 3), (2, 2)),
    "row_sparse_array: shape (2, 2) and (2, 3) are both given": lambda: sparse.row_sparse_array(
        (2, 3), (2, 2)
    ),
    "csr_matrix takes (data, (row, col)), (data, indices, indptr)": lambda: sparse.csr_matrix(
        ([1.0], [0])
    ),
    "csr_matrix takes (data, (row, col)), (data, indices, indptr) ": lambda: sparse.csr_matrix(
        ([1.0], 3)
    ),
    "csr_matrix: data, indices and indptr have one axis, got (1, 1), (1,) and (2,)": lambda: (
        sparse.csr_matrix(([[1.0]], [0], [0, 1]))
    ),
    "csr_matrix: data, indices and indptr have one axis, got (1,), (1, 1) and (2,)": lambda: (
        sparse.csr_matrix(([1.0], [[0]], [0, 1]))
    ),
    "csr_matrix: data, indices and indptr have one axis, got (1,), (1,) and (1, 2)": lambda: (
        sparse.csr_matrix(([1.0], [0], [[0, 1]]))
    ),
    "csr_matrix: data, indices and indptr have one axis, got (1,), (1,) and (0,)": lambda: (
        sparse.csr_matrix(([1.0], [0], []))
    ),
    "csr_matrix: without elements the shape has to be given": lambda: sparse.csr_matrix(
        ([], [], [0, 0])
    ),
    "csr_matrix: without elements the shape has to be given ": lambda: sparse.csr_matrix(
        ([], ([], []))
    ),
    "csr_matrix: expected 2 sizes (of a csr matrix) that are not negative, got (2,)": lambda: (
        sparse.csr_matrix(([1.0], [0], [0, 1]), (2,))
    ),
    "csr_matrix: expected 2 sizes (of a csr matrix) that are not negative, got (1, -1)": lambda: (
        sparse.csr_matrix(([1.0], ([0], [0])), (1, -1))
    ),
    "csr_matrix: data, row and col are of one length, got (1,), (2,) and (1,)": lambda: (
        sparse.csr_matrix(([1.0], ([0, 1], [0])))
    ),
    "csr_matrix: data, row and col are of one length, got (2,), (1,) and (1,)": lambda: (
        sparse.csr_matrix(([1.0, 2.0], ([0], [0])))
    ),
    "csr_matrix: data, row and col are of one length, got (1,), (1,) and (2,)": lambda: (
        sparse.csr_matrix(([1.0], ([0], [0, 1])))
    ),
    "csr_matrix: data, row and col are of one length, got (1, 1), (1,) and (1,)": lambda: (
        sparse.csr_matrix(([[1.0]], ([0], [0])))
    ),
    "csr_matrix: row: expected numbers from 0 to 0, found 1": lambda: sparse.csr_matrix(
        ([1.0], ([1], [2])), (1, 3)
    ),
    "csr_matrix: row: expected numbers from 0 to 1, found -1": lambda: sparse.csr_matrix(
        ([1.0], ([-1], [0])), (2, 3)
    ),
    "csr_matrix: col: expected numbers from 0 to 2, found 3": lambda: sparse.csr_matrix(
        ([1.0], ([3], [3])), (4, 3)
    ),
    "csr_matrix: expected a csr array, got row_sparse: go through 'default'": lambda: (
        sparse.csr_matrix(mx.nd.array(DENSE).tostype("row_sparse"))
    ),
    "row_sparse_array: expected a row_sparse array, got csr: go through 'default'": lambda: (
        sparse.row_sparse_array(mx.nd.array(DENSE).tostype("csr"))
    ),
    "row_sparse_array: expected arrays, got a matrix of SciPy": lambda: sparse.row_sparse_array(
        CSR
    ),
    "csr_matrix: the array has shape (2, 3), not (3, 2)": lambda: sparse.csr_matrix(DENSE, (3, 2)),
    "row_sparse_array: the array has shape (2, 3), not (3, 2)": lambda: sparse.row_sparse_array(
        DENSE, (3, 2)
    ),
    "csr_matrix: the values are a dense array, got CSRNDArray": lambda: sparse.csr_matrix(
        (mx.nd.array(DENSE).tostype("csr"), [0], [0, 1])
    ),
    "row_sparse_array: data has rows and indices one axis, got (1,) and (1, 1)": lambda: (
        sparse.row_sparse_array(([1.0], [[0]]))
    ),
    "row_sparse_array: without rows the shape has to be given": lambda: sparse.row_sparse_array(
        (np.zeros((0, 2)), [])
    ),
    "row_sparse_array: rows of shape (2,) do not fit into shape (3, 3)": lambda: (
        sparse.row_sparse_array(([[1.0, 2.0]], [0]), (3, 3))
    ),
    "row_sparse_array: rows of shape (2,) do not fit into shape (3,)": lambda: (
        sparse.row_sparse_array(([[1.0, 2.0]], [0]), (3,))
    ),
    "row_sparse_array: expected sizes that are not negative, got ()": lambda: (
        sparse.row_sparse_array(([1.0], [0]), ())
    ),
    "row_sparse_array: expected sizes that are not negative, got (-1, 2)": lambda: (
        sparse.row_sparse_array(([[1.0, 2.0]], [0]), (-1, 2))
    ),
    "zeros takes stype, shape, ctx and dtype, got a, b": lambda: sparse.zeros(
        "csr", (2, 2), a=1, b=2
    ),
    "zeros: a shape is a tuple of ints, got 'x'": lambda: sparse.zeros("csr", "x"),
    "zeros: a shape is a tuple of ints, got (1.5, 2)": lambda: sparse.zeros("csr", (1.5, 2)),
    "zeros: a shape is a tuple of ints, got None": lambda: sparse.zeros("row_sparse", None),
    "zeros: expected 2 sizes (of a csr matrix) that are not negative, got (2, 2, 2)": lambda: (
        sparse.zeros("csr", (2, 2, 2))
    ),
    "indices: expected whole numbers, got float64 [0.5]": lambda: sparse.csr_matrix(
        ([1.0], [0.5], [0, 1])
    ),
    "indptr: expected whole numbers, got float64 [0, 0.5]": lambda: sparse.csr_matrix(
        ([1.0], [0], [0, 0.5])
    ),
    "row: expected whole numbers, got <U1 ['a']": lambda: sparse.csr_matrix(([1.0], (["a"], [0]))),
    "col: expected whole numbers, got float64 [nan]": lambda: sparse.csr_matrix(
        ([1.0], ([0], [float("nan")]))
    ),
    "indices: expected whole numbers, got object [None]": lambda: sparse.row_sparse_array(
        ([[1.0]], [None])
    ),
    "sparse.array takes sparse arrays and SciPy matrices, got NDArray; mx.nd.array(...)": lambda: (
        sparse.array(mx.nd.ones((2, 2)))
    ),
    "sparse.array takes sparse arrays and SciPy matrices, got list; mx.nd.array(...)": lambda: (
        sparse.array([[1]])
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(text):
    with pytest.raises(CynetError, match=re.escape(text.strip())):
        REFUSED[text]()


def test_the_largest_shape():
    assert sparse.zeros("row_sparse", (1 << 31, 1 << 31)).shape == (1 << 31, 1 << 31)
    with pytest.raises(CynetError, match="zeros: an array of shape .* has too many elements"):
        sparse.zeros("row_sparse", (1 << 31, (1 << 31) + 1))
