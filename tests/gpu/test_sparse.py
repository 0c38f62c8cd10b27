"""Sparse arrays on a GPU: what has no form there goes through the host, with a warning."""

import numpy as np
import pytest
import scipy.sparse

from cynet import autograd, nd
from cynet.base.errors import ArgumentError
from cynet.ndarray.sparse import through_host


@pytest.fixture(autouse=True)
def untold(monkeypatch):
    monkeypatch.setattr(through_host, "_warned_functions", set())


@pytest.fixture
def matrix():
    return scipy.sparse.random(6, 5, 0.4, "csr", "float32", 2)


def test_arrays_go_there_and_back(gpu, matrix):
    a = nd.sparse.array(matrix, ctx=gpu)
    assert a.context == gpu and a.data.context == gpu and a.stype == "csr"
    np.testing.assert_array_equal(a.asnumpy(), matrix.toarray())
    np.testing.assert_array_equal(a.asscipy().toarray(), matrix.toarray())
    again = a.tostype("default")
    assert again.context == gpu
    for stype in ("csr", "row_sparse"):
        back = again.tostype(stype)
        assert back.context == gpu
        np.testing.assert_array_equal(back.asnumpy(), matrix.toarray())
        assert back.as_in_context(nd.zeros(1).context).context.device_type == "cpu"
    np.testing.assert_array_equal(a[2:5].asnumpy(), matrix.toarray()[2:5])
    assert nd.sparse.zeros("row_sparse", (3, 2), ctx=gpu).context == gpu


def test_forms_of_values_and_structure_run_there(gpu, matrix):
    a, dense = nd.sparse.array(matrix, ctx=gpu), matrix.toarray()
    for found, want in (
        (nd.sparse.square(a), dense**2),
        (a * 2, dense * 2),
        (a + nd.sparse.array(matrix[::-1].tocsr(), ctx=gpu), dense + dense[::-1]),
        (a * nd.ones((6, 5), ctx=gpu), dense),
    ):
        assert found.stype == "csr" and found.context == gpu
        np.testing.assert_allclose(found.asnumpy(), want, 1e-6)
    rows = nd.array(dense, ctx=gpu).tostype("row_sparse")
    kept = nd.sparse.retain(rows, nd.array([1, 3], ctx=gpu))
    assert kept.context == gpu and kept.indices.asnumpy().tolist() == [1, 3]


def test_products_go_through_the_host(gpu, matrix):
    a, w = nd.sparse.array(matrix, ctx=gpu), nd.ones((5, 2), ctx=gpu)
    w.attach_grad(stype="row_sparse")
    with pytest.warns(UserWarning, match=r"dot of a csr matrix has no form for .* on gpu\(0\)"):
        with autograd.record():
            out = nd.sparse.dot(a, w)
        out.backward()
    assert out.context == gpu and w.grad.context == gpu and w.grad.stype == "row_sparse"
    np.testing.assert_allclose(out.asnumpy(), matrix @ np.ones((5, 2)), 1e-6)
    np.testing.assert_allclose(w.grad.asnumpy(), matrix.T @ np.ones((6, 2)), 1e-6)


@pytest.mark.filterwarnings("ignore:dot of a csr")
def test_gradients_of_embeddings(gpu):
    w = nd.ones((9, 2), ctx=gpu)
    w.attach_grad(stype="row_sparse")
    with autograd.record():
        out = nd.Embedding(nd.array([3, 7, 3], ctx=gpu), w, 9, 2, sparse_grad=True)
    out.backward()
    assert w.grad.context == gpu and w.grad.indices.asnumpy().tolist() == [3, 7]
    assert w.grad.data.asnumpy().tolist() == [[2, 2], [1, 1]]


def test_lazy_updates_go_through_the_host(gpu):
    weight, mom = nd.ones((5, 2), ctx=gpu), nd.ones((5, 2), ctx=gpu)
    grad = nd.sparse.row_sparse_array(([[1.0, 2.0]], [3]), shape=(5, 2), ctx=gpu)
    with pytest.warns(UserWarning, match="update sgd_mom of rows has no form"):
        nd.sparse.sgd_mom_update(weight, grad, mom, lr=0.5, momentum=0.5, out=weight)
    want = np.ones((5, 2))
    want[3] = [1, 0.5]
    np.testing.assert_allclose(weight.asnumpy(), want)
    assert weight.context == gpu and mom.asnumpy()[3].tolist() == [0, -0.5]


def test_the_setting_refuses_the_host(gpu, matrix, monkeypatch):
    monkeypatch.setenv("CYNET_STORAGE_FALLBACK", "error")
    a = nd.sparse.array(matrix, ctx=gpu)
    with pytest.raises(ArgumentError, match="CYNET_STORAGE_FALLBACK=error refuses that"):
        nd.sparse.dot(a, nd.ones((5, 2), ctx=gpu))
