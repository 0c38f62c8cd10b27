"""csr and row_sparse arrays: how they are made, looked at, copied and refused; against SciPy."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from cynet.errors import ArgumentError, CynetError

import cynet as mx

sparse = mx.nd.sparse


def matrix(rng, rows=7, columns=5, density=0.3, dtype="float32"):
    values = rng.standard_normal((rows, columns)) * (rng.random((rows, columns)) < density)
    return values.astype(dtype)


def test_csr_from_each_form_of_source(rng):
    dense = matrix(rng)
    want = scipy.sparse.csr_matrix(dense)
    coo = want.tocoo()
    sources = {
        "parts": ((want.data, want.indices, want.indptr), dense.shape),
        "places": ((coo.data, (coo.row, coo.col)), dense.shape),
        "dense": (mx.nd.array(dense), None),
        "numpy": (dense, None),
        "list": (dense.tolist(), None),
        "scipy csr": (want, None),
        "scipy coo": (coo, None),
        "scipy csc": (want.tocsc(), None),
    }
    for name, (source, shape) in sources.items():
        got = sparse.csr_matrix(source, shape=shape)
        assert type(got) is sparse.CSRNDArray, name
        assert isinstance(got, mx.nd.NDArray)
        assert got.shape == dense.shape
        assert got.stype == "csr"
        np.testing.assert_array_equal(got.asnumpy(), dense, err_msg=name)
        np.testing.assert_array_equal(got.indices.asnumpy(), want.indices)
        np.testing.assert_array_equal(got.indptr.asnumpy(), want.indptr)
        np.testing.assert_array_equal(got.data.asnumpy(), want.data)
        assert got.indices.dtype == np.int64
        got.check_format()
        back = got.asscipy()
        assert (back != want).nnz == 0


def test_equal_places_are_summed_as_scipy_does(rng):
    rows, columns = rng.integers(0, 4, 40), rng.integers(0, 3, 40)
    data = rng.standard_normal(40)
    want = scipy.sparse.coo_matrix((data, (rows, columns)), shape=(4, 3)).toarray()
    got = sparse.csr_matrix((data, (rows, columns)), shape=(4, 3))
    assert got.dtype == np.float64
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-12)


def test_dtypes_are_those_of_mxnet():
    assert sparse.csr_matrix(([1.0], [0], [0, 1]), shape=(1, 1)).dtype == np.float32
    assert sparse.csr_matrix((np.ones(1), [0], [0, 1]), shape=(1, 1)).dtype == np.float64
    assert sparse.zeros("csr", (2, 2), dtype="int32").dtype == np.int32


@pytest.mark.parametrize("shape", [(6, 2), (6,), (6, 2, 3), (6, 0)])
def test_row_sparse(rng, shape):
    dense = np.zeros(shape, "float32")
    dense[[1, 4]] = rng.standard_normal((2, *shape[1:]))
    got = sparse.row_sparse_array((dense[[1, 4]], [1, 4]), shape=shape)
    assert got.stype == "row_sparse"
    assert got.shape == shape
    np.testing.assert_array_equal(got.asnumpy(), dense)
    again = mx.nd.array(dense).tostype("row_sparse")
    np.testing.assert_array_equal(again.asnumpy(), dense)
    assert again.indices.asnumpy().tolist() == ([1, 4] if dense.size else [])


def test_unsorted_indices_are_sorted_when_used():
    got = sparse.csr_matrix(([1.0, 2.0, 3.0], [3, 1, 0], [0, 2, 3]), shape=(2, 4))
    with pytest.raises(ArgumentError, match="rise"):
        got.check_format()
    assert got.asnumpy().tolist() == [[0, 2, 0, 1], [3, 0, 0, 0]]
    got.check_format()
    rows = sparse.row_sparse_array(([[1.0], [2.0]], [3, 2]), shape=(5, 1))
    with pytest.raises(ArgumentError, match="rise"):
        rows.check_format()
    assert rows.asnumpy().ravel().tolist() == [0, 0, 2, 1, 0]


BROKEN = {
    "column out of range": (([1.0, 2.0], [3, 9], [0, 2]), (1, 5)),
    "negative column": (([1.0, 2.0], [-1, 3], [0, 2]), (1, 5)),
    "fewer values than indptr says": (([1.0, 2.0], [1, 3], [0, 3]), (1, 5)),
    "more values than indptr says": (([1.0, 2.0], [1, 3], [0, 1]), (1, 5)),
    "indptr falls": (([1.0, 2.0], [1, 3], [0, 2, 1, 2]), (3, 5)),
    "indptr is negative": (([1.0, 2.0], [1, 3], [0, -5, 2]), (2, 5)),
    "indptr begins late": (([1.0, 2.0], [1, 3], [1, 2]), (1, 5)),
    "indptr too short": (([1.0, 2.0], [1, 3], [0, 2]), (2, 5)),
    "indices too short": (([1.0, 2.0], [1], [0, 2]), (1, 5)),
    "twice": (([1.0, 2.0], [1, 1], [0, 2]), (1, 5)),
    "twice, unsorted": (([1.0, 2.0, 3.0], [2, 1, 2], [0, 3]), (1, 5)),
}
USES = {
    "check_format": lambda a: a.check_format(),
    "asnumpy": lambda a: a.asnumpy(),
    "dot": lambda a: mx.nd.dot(a, mx.nd.ones((5, 2))),
    "dot transposed": lambda a: mx.nd.dot(a, mx.nd.ones((len(a), 2)), transpose_a=True),
    "add": lambda a: a + a,
    "fallback": lambda a: mx.nd.softmax(a),
    "row": lambda a: a[0],
    "scalar": lambda a: a * 2,
    "sum": lambda a: a.sum(axis=0),
    "save": lambda a: mx.nd.save_tobuffer(a),
    "where": lambda a: mx.nd.dot(mx.nd.ones((2, len(a))), a),
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_structures_are_refused_where_they_are_used(what):
    parts, shape = BROKEN[what]
    for name, use in USES.items():
        with pytest.raises(ArgumentError, match=r"csr ind(ices|ptr): expected"):
            use(sparse.csr_matrix(parts, shape=shape))
            pytest.fail(name)


@pytest.mark.parametrize(
    ("indices", "n"), [([3, 9], 2), ([-1, 3], 2), ([3, 3], 2), ([1], 2), ([4, 1, 4], 3)]
)
def test_broken_rows_are_refused(indices, n):
    for use in (
        lambda a: a.check_format(),
        lambda a: a.asnumpy(),
        lambda a: a + a,
        lambda a: sparse.retain(a, mx.nd.array([1])),
        lambda a: mx.nd.save_tobuffer(a),
    ):
        array = sparse.row_sparse_array((np.ones((n, 2), "float32"), indices), shape=(5, 2))
        with pytest.raises(ArgumentError, match="row_sparse indices"):
            use(array)


@pytest.mark.parametrize(
    "make, telling",
    [
        (
            lambda: sparse.csr_matrix(([1.0], [0.5], [0, 1]), shape=(1, 1)),
            "expected whole numbers, got float64",
        ),
        (lambda: sparse.csr_matrix(([[1.0]], [0], [0, 1]), shape=(1, 1)), "one axis, got .1, 1."),
        (lambda: sparse.csr_matrix(([], [], [0])), "the shape has to be given"),
        (lambda: sparse.csr_matrix((1, 2), shape=(2, 1)), "are both given"),
        (
            lambda: sparse.csr_matrix(([1.0], ([0], [7])), shape=(2, 2)),
            "col: expected numbers from 0 to 1, found 7",
        ),
        (
            lambda: sparse.csr_matrix(([1.0], ([0, 1], [0])), shape=(2, 2)),
            "of one length, got .1,., .2,. and",
        ),
        (lambda: sparse.csr_matrix(([1.0], [0], [0, 1]), shape=(1, 2, 3)), "got .1, 2, 3."),
        (lambda: sparse.csr_matrix(([1.0], [0], [0, 1]), shape=(1, -2)), "got .1, -2."),
        (lambda: sparse.csr_matrix(mx.nd.ones((2, 2, 2))), "has 2 axes, this array has shape"),
        (lambda: sparse.csr_matrix("ab"), "got 'ab'"),
        (
            lambda: sparse.row_sparse_array(([[1.0]], [0]), shape=(2, 2)),
            "do not fit into shape .2, 2.",
        ),
        (
            lambda: sparse.row_sparse_array(scipy.sparse.eye(3)),
            "expected arrays, got a matrix of SciPy",
        ),
        (lambda: sparse.array(mx.nd.ones((2, 2))), "got NDArray; mx"),
        (lambda: sparse.zeros("coo", (2, 2)), "'coo' is not one of"),
        (lambda: sparse.zeros("csr", (2, 2, 2)), "got .2, 2, 2."),
        (lambda: sparse.zeros("csr", (1 << 40, 1 << 40)), "has too many elements"),
        (lambda: mx.nd.zeros((2, 2), stype="no"), "'no' is not one of"),
        (lambda: mx.nd.ones((2, 2)).tostype("no"), "'no' is not one of"),
        (lambda: mx.nd.ones((2, 2, 2)).tostype("csr"), "has 2 axes, this array"),
        (
            lambda: sparse.zeros("csr", (2, 2)).tostype("row_sparse"),
            "csr does not become row_sparse",
        ),
    ],
)
def test_bad_arguments(make, telling):
    with pytest.raises(CynetError, match=telling):
        make()


def test_rows_are_scipys(rng):
    dense = matrix(rng)
    a = sparse.csr_matrix(dense)
    for key in (slice(1, 4), slice(None, 2), slice(-3, None), slice(5, 2), slice(0, 99)):
        got = a[key]
        assert got.stype == "csr"
        np.testing.assert_array_equal(got.asnumpy(), dense[key])
    for i in (0, 6, -1, -7):
        np.testing.assert_array_equal(a[i].asnumpy(), dense[[i]])
    assert a[:] is a
    np.testing.assert_array_equal(np.concatenate([row.asnumpy() for row in a]), dense)
    for key in (7, -8, (0, 1), slice(0, 4, 2), [0], None, mx.nd.array([0])):
        with pytest.raises(CynetError, match="a csr matrix"):
            a[key]
    rows = a.tostype("default").tostype("row_sparse")
    assert rows[:] is rows
    for key in (0, slice(1, 2)):
        with pytest.raises(CynetError, match="a row_sparse array is indexed by"):
            rows[key]


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_copies(rng, stype):
    dense = matrix(rng)
    a = mx.nd.array(dense).tostype(stype)
    for got in (
        a.copy(),
        a.copyto(mx.cpu(1)),
        a.as_in_context(mx.cpu(1)),
        a.detach(),
        pickle.loads(pickle.dumps(a)),
        sparse.array(a),
        mx.nd.array(a),
        a.astype("float32"),
        a.tostype(stype),
    ):
        assert got.stype == stype
        np.testing.assert_array_equal(got.asnumpy(), dense)
    assert a.as_in_context(mx.cpu(1)).context == mx.cpu(1)
    assert a.astype("float64").asnumpy().dtype == np.float64
    target = sparse.zeros(stype, dense.shape)
    assert a.copyto(target) is target
    np.testing.assert_array_equal(target.asnumpy(), dense)
    full = mx.nd.zeros(dense.shape)
    a.copyto(full)
    np.testing.assert_array_equal(full.asnumpy(), dense)
    full[:] = 0
    full[:] = a
    np.testing.assert_array_equal(full.asnumpy(), dense)
    target[:] = 0
    assert not target.asnumpy().any()
    target[:] = full
    np.testing.assert_array_equal(target.asnumpy(), dense)
    full.copyto(target)
    target[:] = dense * 2
    np.testing.assert_array_equal(target.asnumpy(), dense * 2)
    with pytest.raises(CynetError, match="copy: source has shape"):
        a.copyto(sparse.zeros(stype, (3, 3)))


@pytest.mark.parametrize("number", [2, 0.5, True, -1, np.float32(3), np.int64(2), float("nan")])
def test_a_row_sparse_array_filled_with_a_number(number):
    for shape in ((3, 2), (3,), (0, 2), (2, 0), (2, 3, 4)):
        array = sparse.zeros("row_sparse", shape)
        array[:] = number
        np.testing.assert_array_equal(array.asnumpy(), np.full(shape, number, "float32"))
        array.check_format()
        array[:] = 0
        assert not array.asnumpy().any()
        assert not array.indices.size
    for rule in (mx.init.One(), mx.init.Constant(number), mx.init.Zero()):
        array = sparse.zeros("row_sparse", (3, 2))
        dense = mx.nd.zeros((3, 2))
        for each in (array, dense):
            rule(mx.init.InitDesc("fc_weight"), each)
        np.testing.assert_array_equal(array.asnumpy(), dense.asnumpy())


def test_what_no_sparse_array_is_filled_with():
    with pytest.raises(CynetError, match="a csr matrix takes arrays and 0, got 1"):
        sparse.zeros("csr", (3, 2))[:] = 1
    for wrong in ("1", None, [1], 1j):
        with pytest.raises(CynetError, match="a row_sparse array takes arrays and numbers, got"):
            sparse.zeros("row_sparse", (3, 2))[:] = wrong


def test_printing_is_mxnets():
    assert repr(sparse.zeros("csr", (3, 4))) == "\n<CSRNDArray 3x4 @cpu(0)>"
    assert repr(sparse.zeros("row_sparse", (3, 4))) == "\n<RowSparseNDArray 3x4 @cpu(0)>"


def test_what_is_given_out_is_a_copy():
    a = sparse.csr_matrix(([1.0, 2.0], [0, 1], [0, 2]), shape=(1, 3))
    a.data[:] = 9
    a.indices[:] = 7
    a.indptr[:] = 5
    assert a.asnumpy().tolist() == [[1, 2, 0]]


DENSE_ONLY = {
    "reshape": lambda a: a.reshape((2, 2)),
    "buffer": memoryview,
    "dlpack": lambda a: mx.nd.from_dlpack(a),
    "to_dlpack": lambda a: mx.nd.to_dlpack_for_read(a),
    "from its dlpack": lambda a: a.__dlpack__(),
    "data_ptr": lambda a: a.data_ptr,
    "asscalar": lambda a: a.asscalar(),
    "expand_dims in place": lambda a: a.expand_dims(0, inplace=True),
    "squeeze in place": lambda a: a[:1].squeeze(inplace=True),
    "flatten in place": lambda a: a.flatten(inplace=True),
    "broadcast_to more axes": lambda a: a.broadcast_to((2, 2, 2)),
    "mark_variables": lambda a: mx.autograd.mark_variables([a], [mx.nd.zeros((3, 2))]),
    "gradient": lambda a: mx.autograd.mark_variables([mx.nd.zeros((3, 2))], [a]),
    "backward": lambda a: a.backward(),
    "as an index": lambda a: mx.nd.ones((4, 4))[a],
    "among indices": lambda a: mx.nd.ones((4, 4))[a, 0],
    "index written": lambda a: mx.nd.ones((4, 4)).__setitem__(a, 1),
    "int": int,
    "float": float,
    "bool": bool,
    "shares_memory": lambda a: mx.nd.ones(2).shares_memory(a) or a.shares_memory(a),
    "numpy operand": lambda a: a + np.ones((2, 2), "float32"),
    "npz": lambda a: mx.nd.save("x.npz", a),
    "CachedOp": lambda a: mx.executor.CachedOp(mx.sym.exp(mx.sym.Variable("x")))(a),
}


@pytest.mark.parametrize("name", DENSE_ONLY)
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_what_needs_dense_memory_refuses(name, stype, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = "dense|cannot read|gradient of a variable|recorded|one element|ambiguous|no form|alone"
    with pytest.raises((CynetError, TypeError, ValueError), match=said):
        DENSE_ONLY[name](mx.nd.array([[1, 0], [0, 2]]).tostype(stype))


def test_no_elements():
    for stype in ("csr", "row_sparse"):
        a = sparse.zeros(stype, (3, 4))
        assert a.asnumpy().tolist() == np.zeros((3, 4)).tolist()
        assert (a + a).asnumpy().tolist() == np.zeros((3, 4)).tolist()
        assert (a + a).stype == stype
        assert (a * 3).stype == stype
        assert mx.nd.zeros((3, 4), stype=stype).stype == stype
        assert mx.nd.empty((3, 4), stype=stype).stype == stype
        assert sparse.zeros(stype, (0, 4)).asnumpy().shape == (0, 4)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_copied_from_takes_arrays(stype):
    array = mx.nd.sparse.zeros(stype, (2, 3))
    with pytest.raises(TypeError, match="expected an NDArray, got 1.5"):
        array.assign_copy_of(1.5)


METHODS = {
    "broadcast_to": lambda x: x.broadcast_to((3, 3)),
    "broadcast_to itself": lambda x: x.broadcast_to((1, 3)),
    "expand_dims": lambda x: x.expand_dims(1),
    "squeeze": lambda x: x.squeeze(),
    "flatten": lambda x: x.flatten(),
    "split_v2": lambda x: x.split_v2(3, axis=1)[2],
    "broadcast_like": lambda x: x.broadcast_like(mx.nd.ones((2, 3))),
    "asscalar": lambda x: mx.nd.array(
        [
            x[:, 2].asscalar()
            if x.stype == "default"
            else x.slice_axis(axis=1, begin=2, end=3).asscalar()
        ]
    ),
}


@pytest.mark.filterwarnings("ignore:operator")
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("name", METHODS)
def test_methods_that_no_form_has_are_the_dense_ones(name, stype):
    dense = mx.nd.array([[1, 0, 2]])
    got, want = (METHODS[name](x) for x in (dense.tostype(stype), dense))
    assert got.shape == want.shape
    np.testing.assert_array_equal(got.asnumpy(), want.asnumpy())


@pytest.mark.filterwarnings("ignore:operator")
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("c", [0, 1.5])
def test_quadratic_stays_sparse_without_a_constant(stype, c):
    dense = mx.nd.array([[1, 0, 2], [0, 0, 0]])
    got = mx.nd.contrib.quadratic(dense.tostype(stype), a=2, b=3, c=c)
    assert got.stype == ("default" if c else stype)
    values = dense.asnumpy()
    np.testing.assert_allclose(got.asnumpy(), 2 * values**2 + 3 * values + c)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_what_is_written_stays_on_its_device(stype):
    """Whatever device and form the values come from."""
    values = np.array([[0, 1], [2, 0]], "float32")
    dense = mx.nd.array(values, mx.cpu(0))
    for source in (dense, dense.tostype(stype)):
        for write in (
            lambda target, source: (
                source.copyto(target)
                if source.stype == stype
                else (target.__setitem__(slice(None), source))
            ),
            lambda target, source: target.assign_copy_of(source),
            lambda target, source: target.__setitem__(slice(None), source),
            lambda target, source: target.__setitem__(slice(None), values),
        ):
            target = mx.nd.ones((2, 2), mx.cpu(1)).tostype(stype)
            write(target, source)
            assert target.context == target.data.context == mx.cpu(1)
            np.testing.assert_array_equal(target.asnumpy(), values)
            assert source.context == mx.cpu(0)
