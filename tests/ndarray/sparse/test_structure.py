"""Structures of sparse arrays, and what is made of them, function by function; against SciPy and
NumPy. Every limit exactly, every refusal whole."""

import re

import numpy as np
import pytest
import scipy.sparse

import cynet as mx
from cynet.base.errors import ArgumentError, CynetError, SizeError
from cynet.ndarray.sparse import cells, convert, structure

sparse = mx.nd.sparse
SHAPES = [(4, 5), (1, 1), (3, 0), (0, 3), (5, 1), (1, 6)]


def matrix_of(rng, shape, share=0.5):
    dense = rng.uniform(1, 2, shape) * (rng.random(shape) < share)
    return scipy.sparse.csr_matrix(dense.astype("float32")), dense.astype("float32")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("share", [0, 0.4, 1])
def test_numbers_of_elements(shape, share, rng):
    own, dense = matrix_of(rng, shape, share)
    indices, indptr = own.indices.astype("int64"), own.indptr.astype("int64")
    rows, columns = np.nonzero(dense)
    np.testing.assert_array_equal(structure.row_of_each_element(indptr), rows)
    numbers = structure.row_major_indices(indices, indptr, shape[1])
    np.testing.assert_array_equal(numbers, np.flatnonzero(dense))
    back = structure.csr_from_row_major(numbers, shape)
    np.testing.assert_array_equal(back[0], columns)
    np.testing.assert_array_equal(back[1], indptr)
    found = structure.indptr_from_rows(rows, shape[0])
    assert found.dtype == np.int64 and found.tolist() == indptr.tolist()


def test_the_most_elements():
    many = structure.MAX_ELEMENTS
    assert many == 1 << 62
    structure.check_element_count("x", (1 << 31, 1 << 31))
    structure.check_element_count("x", ())
    for shape in ((1 << 31, (1 << 31) + 1), ((1 << 62) + 1,)):
        with pytest.raises(
            SizeError, match=rf"x: an array of shape \({shape[0]}, ?.* has too many"
        ):
            structure.check_element_count("x", shape)
    none = np.zeros(0, np.int64)
    two = np.zeros(3, np.int64)
    assert structure.row_major_indices(none, two, many // 2).tolist() == []
    with pytest.raises(ArgumentError, match=f"a csr matrix of 2 x {many // 2 + 1} has too many ce"):
        structure.row_major_indices(none, two, many // 2 + 1)


@pytest.mark.parametrize("rows", [[], [3], [1, 4, 7]])
def test_finding(rows):
    wanted = np.arange(-1, 10)
    at, there = structure.find_rows(np.array(rows, np.int64), wanted)
    assert there.tolist() == [each in rows for each in wanted]
    assert [rows[i] for i, is_there in zip(at, there) if is_there] == rows


def test_bounds():
    numbers = np.array([0, 4, 2])
    structure.check_bounds("x", numbers, 5)
    structure.check_bounds("x", numbers[:0], 0)
    for n, found in ((4, 4), (1, 4)):
        with pytest.raises(
            ArgumentError, match=f"^x: expected numbers from 0 to {n - 1}, found {found}$"
        ):
            structure.check_bounds("x", numbers, n)
    with pytest.raises(ArgumentError, match="^x: expected numbers from 0 to 4, found -2$"):
        structure.check_bounds("x", np.array([9, -2, -1]), 5)


CSR = {
    "indptr: expected 3 numbers, one more than rows, found (2,)": ([0, 1], [0, 2], 2),
    "indptr: expected 3 numbers, one more than rows, found (4,)": ([0, 1], [0, 1, 1, 2], 2),
    "indptr: expected 3 numbers, one more than rows, found (3, 1)": ([0, 1], [[0], [1], [2]], 2),
    "indices: expected one for each of 2 values, found shape (1,)": ([0], [0, 1, 2], 2),
    "indices: expected one for each of 2 values, found shape (2, 1)": ([[0], [1]], [0, 1, 2], 2),
    "indptr: expected 0 at first, 2 at last, found 1 and 2": ([0, 1], [1, 1, 2], 2),
    "indptr: expected 0 at first, 2 at last, found 0 and 1": ([0, 1], [0, 1, 1], 2),
    "indptr: expected numbers that do not fall, found [0, 3, 2]": ([0, 1], [0, 3, 2], 2),
    "indices: expected numbers from 0 to 3, found 4": ([0, 4], [0, 1, 2], 2),
    "indices: expected numbers from 0 to 3, found -1": ([-1, 3], [0, 1, 2], 2),
}
FULL = {
    "indices: expected numbers that rise in each row, found [1, 1]": ([1, 1], [0, 2, 2], 2),
    "indices: expected numbers that rise in each row, found [2, 0]": ([1, 2, 0], [0, 3, 3], 3),
    "indices: expected numbers that rise in each row, found [3, 2]": ([0, 3, 2], [0, 1, 3], 3),
}
SAFE = list(CSR)[:7]


def refused(text):
    return pytest.raises(ArgumentError, match="^" + re.escape(text) + "$")


@pytest.mark.parametrize("text", [*CSR, *FULL])
def test_what_is_no_csr_matrix(text):
    indices, indptr, nnz = {**CSR, **FULL}[text]
    given = np.array(indices), np.array(indptr), (2, 4), nnz
    with refused(f"csr {text}"):
        structure.check_csr(*given)
    if text in SAFE:
        with refused(f"csr {text}"):
            structure.check_csr(*given, False)
    else:
        structure.check_csr(*given, False)
    if text in CSR:
        with refused(f"csr {text}"):
            structure.sorted_csr(*given)


def test_rows_that_begin_again_may_fall():
    """Where one row ends and the next begins; empty ones between."""
    for indptr in ([0, 2, 4], [0, 2, 2, 4], [0, 0, 2, 4], [0, 2, 4, 4], [0, 2, 2, 2, 4, 4]):
        indices = np.array([1, 3, 0, 2])
        shape = len(indptr) - 1, 4
        structure.check_csr(indices, np.array(indptr), shape, 4)
        same, order = structure.sorted_csr(indices, np.array(indptr), shape, 4)
        assert same is indices and order is None


def test_sorting():
    indices, order = structure.sorted_csr(np.array([3, 1, 0, 2, 1]), np.array([0, 2, 5]), (2, 4), 5)
    assert indices.tolist() == [1, 3, 0, 1, 2] and order.tolist() == [1, 0, 2, 4, 3]
    for twice, where in (([3, 3, 1], "(0, 3)"), ([0, 2, 2], "(1, 2)"), ([1, 2, 2], "(1, 2)")):
        indptr = [0, 3, 3] if where[1] == "0" else [0, 1, 3]
        with refused(f"csr indices: expected each column of a row once, found {where} twice"):
            structure.sorted_csr(np.array(twice), np.array(indptr), (2, 4), 3)
    rows, order = structure.sorted_rows(np.array([3, 0, 2]), (4, 1), 3)
    assert rows.tolist() == [0, 2, 3] and order.tolist() == [1, 2, 0]
    rows = np.array([0, 2, 3])
    assert structure.sorted_rows(rows, (4, 1), 3) == (rows, None)
    with refused("row_sparse indices: expected each row once, found 2 twice"):
        structure.sorted_rows(np.array([2, 0, 2]), (4, 1), 3)


ROWS = {
    "expected one for each of 2 rows, found shape (1,)": ([0], False),
    "expected one for each of 2 rows, found shape (2, 1)": ([[0], [1]], False),
    "expected numbers from 0 to 3, found 4": ([0, 4], True),
    "expected numbers from 0 to 3, found -1": ([-1, 0], True),
    "expected numbers that rise, found [1, 1]": ([1, 1], True),
    "expected numbers that rise, found [2, 1]": ([2, 1], True),
}


@pytest.mark.parametrize("text", ROWS)
def test_what_are_no_rows(text):
    indices, in_full = ROWS[text]
    with refused(f"row_sparse indices: {text}"):
        structure.check_row_indices(np.array(indices), (4, 2), 2)
    if in_full:
        structure.check_row_indices(np.array(indices), (4, 2), 2, False)
    if "rise" not in text:
        with refused(f"row_sparse indices: {text}"):
            structure.sorted_rows(np.array(indices), (4, 2), 2)


# --- what is made of matrices ---------------------------------------------------------------------
@pytest.mark.parametrize("shape", [(5, 4), (1, 3), (4, 1)])
@pytest.mark.parametrize("share", [0, 0.5, 1])
def test_parts_of_matrices(shape, share, rng):
    own, dense = matrix_of(rng, shape, share)
    matrix = sparse.array(own)
    for begin in range(shape[0] + 1):
        for end in range(begin, shape[0] + 1):
            found = convert.slice_rows(matrix, begin, end)
            assert found.stype == "csr" and found.shape == (end - begin, shape[1])
            np.testing.assert_array_equal(found.asnumpy(), dense[begin:end])
            found.check_format()
    for rows in ([], [0], [shape[0] - 1, 0, 0], list(range(shape[0]))[::-1]):
        found = convert.rows_at_indices(matrix, np.array(rows, np.int64))
        np.testing.assert_array_equal(found.asnumpy(), dense[rows])
        found.check_format()
    columns = matrix._indices
    for keep in (columns >= 0, columns < 0, columns % 2 == 0):
        found = convert.mask_elements(matrix, keep)
        kept = np.array([k for k in range(shape[1]) if k in columns[keep]], int)
        wanted = np.zeros_like(dense)
        wanted[:, kept] = dense[:, kept]
        np.testing.assert_array_equal(found.asnumpy(), wanted)
        moved = convert.mask_elements(matrix, keep, columns + 2, shape[1] + 3)
        np.testing.assert_array_equal(moved.asnumpy(), np.pad(wanted, ((0, 0), (2, 1))))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float16"])
@pytest.mark.parametrize("context", [mx.cpu(0), mx.cpu(1)])
def test_rows_and_zeros(dtype, context):
    values = mx.nd.array([[1, 2], [3, 4], [5, 6]], context, dtype)
    for order in ([], [2], [1, 1, 0]):
        found = convert.take_rows(values, np.array(order, np.int64))
        assert (found.dtype, found.context) == (values.dtype, context)
        np.testing.assert_array_equal(found.asnumpy(), values.asnumpy()[order])
    for order, n in (([], 3), ([4, 0, 2], 5), ([0, 1, 2], 3)):
        found = convert.scatter_rows(
            values[: len(order)] if order else values[:1], np.array(order), n
        )
        wanted = np.zeros((n, 2))
        wanted[order] = values.asnumpy()[: len(order)]
        assert (found.dtype, found.context) == (values.dtype, context)
        np.testing.assert_array_equal(found.asnumpy(), wanted)
    empty = convert.zero_values(values, (2, 3))
    assert (empty.dtype, empty.context, empty.shape) == (values.dtype, context, (2, 3))
    for stype, shape in (("csr", (4, 3)), ("row_sparse", (4, 3)), ("row_sparse", (4, 3, 2))):
        none = convert.sparse_zeros(stype, shape, values)
        assert (none.stype, none.shape, none.dtype) == (stype, shape, values.dtype)
        assert none.context == context and none.data.size == 0
        none.check_format()
        assert none.data.shape == ((0,) if stype == "csr" else (0, *shape[1:]))
    every = convert.as_row_sparse(values)
    assert every._values_array is values and every.indices.asnumpy().tolist() == [0, 1, 2]


def test_dense_memory_of_sparse_arrays():
    dense = mx.nd.array([[1, 2], [3, 4]])
    whole = convert.as_row_sparse(dense)
    part = mx.nd.array([[0, 0], [3, 4]]).tostype("row_sparse")
    csr = dense.tostype("csr")
    assert convert.values_of_all_rows(None) is None and convert.values_of_all_rows(dense) is dense
    assert convert.values_of_all_rows(whole) is dense
    assert convert.values_of_all_rows((whole, [None, dense])) == (dense, (None, dense))
    for bad, rows in ((part, 1), (csr, 4)):
        text = (
            f"update: a weight or state that is {bad.stype} of shape (2, 2) has values for {rows}"
        )
        with pytest.raises(ArgumentError, match=re.escape(text) + " rows; expected a dense array"):
            convert.values_of_all_rows(bad)
    copies = []
    assert convert.dense_for_update(None, copies) is None
    assert convert.dense_for_update(dense, copies) is dense
    assert convert.dense_for_update(whole, copies) is dense and not copies
    found = convert.dense_for_update((part, [csr]), copies)
    assert [each for each, _ in copies] == [part, csr]
    assert found == (copies[0][1], (copies[1][1],))
    for each, wanted in zip((found[0], found[1][0]), ([[0, 0], [3, 4]], [[1, 2], [3, 4]])):
        assert each.stype == "default" and each.asnumpy().tolist() == wanted


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_functions_over_what_is_kept(stype, rng):
    """Joined: over what either keeps; common: over what both keep; alike structures keep theirs."""
    made = [matrix_of(rng, (6, 4), share)[1] for share in (0, 0.3, 0.6, 1)]
    for x in made:
        for y in made:
            a, b = (mx.nd.array(v).tostype(stype) for v in (x, y))
            for function, wanted in ((lambda p, q: p - 2 * q, x - 2 * y),):
                found = cells.apply_to_union(function, a, b)
                np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-6)
                found.check_format()
            found = cells.apply_to_intersection(lambda p, q: 3 * p * q, a, b)
            np.testing.assert_allclose(found.asnumpy(), 3 * x * y, rtol=1e-6)
            found.check_format()
            assert cells.same_structure(a, b) == np.array_equal(
                *((v != 0) if stype == "csr" else (v != 0).any(1) for v in (x, y))
            )


def test_arrays_that_are_alike():
    a = sparse.zeros("csr", (2, 3))
    assert cells.same_layout(a, sparse.zeros("csr", (2, 3)))
    for other in (
        sparse.zeros("csr", (3, 2)),
        sparse.zeros("row_sparse", (2, 3)),
        mx.nd.ones((2, 3)),
    ):
        assert not cells.same_layout(a, other) and not cells.same_layout(other, a)
    assert not cells.same_layout(mx.nd.ones(2), mx.nd.ones(2))


BROADCASTS = [(4,), (1,), (3, 1), (1, 4), (3, 4), (1, 1), (1, 3, 4), (2,), (4, 1), (3,), (0,)]


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("share", [0, 0.6])
def test_a_sparse_array_with_a_dense_one(stype, share, rng):
    """Where the dense one is broadcast to it; else None."""
    _, x = matrix_of(rng, (3, 4), share)
    array = mx.nd.array(x).tostype(stype)
    for shape in BROADCASTS:
        y = rng.uniform(1, 2, shape).astype("float32")
        found = cells.combine_with_dense(lambda a, b: a / b, array, mx.nd.array(y))
        fits = len(shape) <= 2 and all(n in (1, m) for n, m in zip(shape[::-1], (4, 3)))
        if fits:
            assert found.stype == stype and found.shape == (3, 4)
            np.testing.assert_allclose(found.asnumpy(), x / y, rtol=1e-6)
        else:
            assert found is None


# --- counts, places, storage types ----------------------------------------------------------------
def test_values_at_places(rng):
    own, dense = matrix_of(rng, (5, 4))
    matrix = sparse.array(own)
    u, v = (each.ravel() for each in np.meshgrid(range(5), range(4)))
    found = mx.nd.contrib.edge_id(matrix, mx.nd.array(u), mx.nd.array(v))
    np.testing.assert_array_equal(found.asnumpy(), np.where(dense, dense, -1)[u, v])
    assert found.dtype == np.float32
    out = mx.nd.zeros(len(u))
    assert mx.nd.contrib.edge_id(matrix, mx.nd.array(u), mx.nd.array(v), out=out) is out
    np.testing.assert_array_equal(out.asnumpy(), found.asnumpy())
    none = sparse.zeros("csr", (2, 2), dtype="float64")
    found = mx.nd.contrib.edge_id(none, mx.nd.array([1]), mx.nd.array([1]))
    assert found.asnumpy().tolist() == [-1] and found.dtype == np.float64


NO_PLACES = {
    "edge_id takes a csr matrix, got 'NDArray'": lambda m, a: (a, a, a),
    "edge_id takes NDArrays, got [1]": lambda m, a: (m, [1], a),
    "edge_id takes NDArrays, got None": lambda m, a: (m, a, None),
    "edge_id: u and v have one axis, got (1, 2) and (1, 2)": lambda m, a: (m, a[None], a[None]),
    "edge_id: u and v have one axis, got (2,) and (1,)": lambda m, a: (m, a, a[:1]),
    "edge_id: u: expected numbers from 0 to 2, found 3": lambda m, a: (m, a + 3, a),
    "edge_id: u: expected numbers from 0 to 2, found -1": lambda m, a: (m, a - 1, a),
    "edge_id: v: expected numbers from 0 to 1, found 2": lambda m, a: (m, a, a + 2),
}


@pytest.mark.parametrize("text", NO_PLACES)
def test_places_that_are_refused(text):
    matrix = sparse.csr_matrix(([1.0], [0], [0, 1, 1, 1]), shape=(3, 2))
    given = NO_PLACES[text](matrix, mx.nd.zeros(2))
    with pytest.raises(CynetError, match=re.escape(text) + "$"):
        mx.nd.contrib.edge_id(*given)


@pytest.mark.parametrize("shape", SHAPES)
def test_counts(shape, rng):
    own, dense = matrix_of(rng, shape)
    matrix = sparse.array(own)
    for axis in (None, 0, 1):
        found = mx.nd.contrib.getnnz(matrix, axis)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found.asnumpy(), np.atleast_1d(np.count_nonzero(dense, axis)))
        out = mx.nd.zeros(found.shape, dtype="int64")
        if out.size:
            assert mx.nd.contrib.getnnz(matrix, axis=axis, out=out) is out
            np.testing.assert_array_equal(out.asnumpy(), found.asnumpy())
    for bad in (2, -1, "0"):
        with pytest.raises(ArgumentError, match=f"getnnz: axis is None, 0 or 1, got {bad!r}"):
            mx.nd.contrib.getnnz(matrix, axis=bad)
    for other in (mx.nd.array(dense), None, 3):
        with pytest.raises(ArgumentError, match="getnnz takes a csr matrix, got '"):
            mx.nd.contrib.getnnz(other)


def test_storage_types_of_a_copy():
    dense = mx.nd.array([[0, 1], [2, 0]])
    for stype in ("default", "csr", "row_sparse"):
        for given in (dense, dense.tostype(stype)):
            found = sparse.cast_storage(given, stype)
            assert found.stype == stype and found is not given
            np.testing.assert_array_equal(found.asnumpy(), dense.asnumpy())
            out = mx.nd.zeros((2, 2)).tostype(stype)
            assert sparse.cast_storage(given, stype, out=out, name="x") is out
            np.testing.assert_array_equal(out.asnumpy(), dense.asnumpy())
    for bad in ([1], None, np.ones((2, 2))):
        with pytest.raises(CynetError, match="operator cast_storage takes NDArrays, got"):
            sparse.cast_storage(bad, "csr")
    for bad in ("coo", 3):
        with pytest.raises(CynetError, match="stype"):
            sparse.cast_storage(dense, bad)
    with pytest.raises(CynetError, match="more"):
        sparse.cast_storage(dense, "csr", more=1)


def test_gradients_that_are_no_rows():
    weight = mx.nd.ones((3, 2))
    with pytest.raises(
        ArgumentError, match="SparseEmbedding: its gradient is row_sparse; use Embed"
    ):
        mx.nd.contrib.SparseEmbedding(mx.nd.array([0]), weight, 3, 2, sparse_grad=False)
    weight.attach_grad(stype="row_sparse")
    with mx.autograd.record():
        out = mx.nd.contrib.SparseEmbedding(mx.nd.array([2, 0, 2]), weight, 3, 2)
    out.backward()
    assert weight.grad.stype == "row_sparse"
    assert weight.grad.asnumpy().tolist() == [[1, 1], [0, 0], [2, 2]]


def test_matrices_in_another_order_and_broken_ones():
    """What counts and looks up checks the structure first."""
    dense = np.array([[0, 1, 2], [3, 0, 4]], "float32")
    u, v = (mx.nd.array(each.ravel()) for each in np.indices((2, 3)))

    def made(indices=(2, 1, 2, 0)):
        return sparse.csr_matrix(([2.0, 1.0, 4.0, 3.0], indices, [0, 2, 4]), (2, 3))

    found = mx.nd.contrib.edge_id(made(), u, v).asnumpy()
    np.testing.assert_array_equal(found, np.where(dense, dense, -1).ravel())
    for axis in (None, 0, 1):
        found = mx.nd.contrib.getnnz(made(), axis).asnumpy()
        np.testing.assert_array_equal(found, np.atleast_1d(np.count_nonzero(dense, axis)))
    uses = [lambda a, axis=axis: mx.nd.contrib.getnnz(a, axis) for axis in (None, 0, 1)]
    for use in [lambda a: mx.nd.contrib.edge_id(a, u, v), *uses]:
        for indices in ((2, 2, 2, 0), (2, 3, 2, 0), (-1, 1, 2, 0)):
            with pytest.raises(ArgumentError, match="csr indices: expected"):
                use(made(indices))
