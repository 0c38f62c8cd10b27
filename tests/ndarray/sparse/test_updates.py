"""Update operators with row_sparse gradients: the rows of the gradient move, against NumPy."""

import numpy as np
import pytest

from cynet import nd
from cynet.base.errors import ArgumentError, ArgumentTypeError

ROWS = [1, 4]


@pytest.fixture
def given(rng):
    """A weight, the values of the gradient's rows and the gradient."""
    w, g = rng.normal(size=(6, 3)).astype("f"), rng.normal(size=(2, 3)).astype("f")
    return w, g, nd.sparse.row_sparse_array((nd.array(g), ROWS), shape=(6, 3))


def moved(w, step):
    out = w.astype("f8")
    out[ROWS] -= step
    return out


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("in_place", [False, True])
def test_sgd(given, stype, in_place):
    w, g, grad = given
    weight = nd.array(w).tostype(stype)
    out = weight if in_place else None
    found = nd.sparse.sgd_update(weight, grad, lr=0.5, wd=0.1, rescale_grad=2, out=out)
    np.testing.assert_allclose(found.asnumpy(), moved(w, 0.5 * (2 * g + 0.1 * w[ROWS])), 1e-5)
    assert found.stype == stype and (found is weight) == in_place
    if not in_place:
        np.testing.assert_array_equal(weight.asnumpy(), w)


def test_momentum_adam_ftrl_and_adagrad(given):
    w, g, grad = given
    own = w[ROWS].astype("f8")
    mom = nd.ones((6, 3))
    found = nd.sgd_mom_update(nd.array(w), grad, mom, lr=0.5, momentum=0.9)
    np.testing.assert_allclose(found.asnumpy(), moved(w, 0.5 * g - 0.9), 1e-5, 1e-6)
    np.testing.assert_allclose(mom.asnumpy()[ROWS], 0.9 - 0.5 * g, 1e-5, 1e-6)
    assert (mom.asnumpy()[[0, 2, 3, 5]] == 1).all()
    mean, var = nd.zeros((6, 3)), nd.zeros((6, 3))
    found = nd.sparse.adam_update(nd.array(w), grad, mean, var, lr=0.5)
    # 1 - beta2 is 0.00100004673 in float32, 5e-5 from 0.001: in the dense operator and MXNet, too
    left = np.float64(np.float32(1) - np.float32(0.999))
    step = 0.5 * 0.1 * g / (np.sqrt(left * g * g) + 1e-8)
    np.testing.assert_allclose(found.asnumpy(), moved(w, step), 1e-6, 1e-6)
    z, n = nd.zeros((6, 3)), nd.zeros((6, 3))
    found = nd.sparse.ftrl_update(nd.array(w), grad, z, n, lr=0.5, lamda1=0.1)
    z_new = g - np.abs(g) * own / 0.5
    new = np.where(abs(z_new) > 0.1, (np.sign(z_new) * 0.1 - z_new) / ((1 + abs(g)) / 0.5), 0)
    np.testing.assert_allclose(found.asnumpy(), moved(w, own - new), 1e-4, 1e-6)
    history = nd.ones((6, 3))
    weight = nd.array(w)
    nd.sparse.adagrad_update(weight, grad, history, lr=0.5, epsilon=0, out=weight)
    np.testing.assert_allclose(weight.asnumpy(), moved(w, 0.5 * g / np.sqrt(1 + g * g)), 1e-5)
    whole = nd.sparse.adagrad_update(weight, grad.tostype("default"), nd.ones((6, 3)), lr=0.5)
    np.testing.assert_array_equal(whole.asnumpy()[[0, 2, 3, 5]], w[[0, 2, 3, 5]])


def test_float32_copies(given):
    w, g, grad = given
    half, copy = nd.array(w, dtype="float16"), nd.array(w)
    nd.mp_sgd_update(half, grad.astype("float16"), copy, lr=0.5, out=half)
    want = moved(w, 0.5 * g.astype("f2"))
    np.testing.assert_allclose(copy.asnumpy(), want, 1e-5, 1e-6)
    np.testing.assert_allclose(half.asnumpy(), want, 2e-3, 1e-3)


@pytest.mark.filterwarnings("ignore:operator sgd_update has no form")
def test_lazy_update_false_is_the_dense_update(given):
    w, _, grad = given
    sparse = nd.sgd_update(nd.array(w), grad, lr=0.5, wd=0.1, lazy_update=False)
    dense = nd.sgd_update(nd.array(w), grad.tostype("default"), lr=0.5, wd=0.1)
    np.testing.assert_array_equal(sparse.asnumpy(), dense.asnumpy())


def test_edge_id_and_sparse_embedding():
    matrix = nd.sparse.csr_matrix(([1.0, 2, 3], [3, 0, 2], [0, 1, 1, 3]), shape=(3, 4))
    found = nd.contrib.edge_id(matrix, nd.array([0, 0, 1, 2, 2]), nd.array([3, 2, 1, 0, 2]))
    assert found.asnumpy().tolist() == [1, -1, -1, 2, 3]
    with pytest.raises(ArgumentError, match="edge_id: v: expected numbers from 0 to 3, found 4"):
        nd.contrib.edge_id(matrix, nd.array([0]), nd.array([4]))
    weight = nd.array(np.arange(6).reshape(3, 2))
    found = nd.contrib.SparseEmbedding(nd.array([2, 0]), weight, input_dim=3, output_dim=2)
    assert found.asnumpy().tolist() == [[4, 5], [0, 1]]


def test_what_is_refused(given):
    w, _, grad = given
    few = nd.sparse.row_sparse_array(([[1.0, 2, 3]], [2]), shape=(6, 3))
    with pytest.raises(ArgumentError, match="has values for 1 rows"):
        nd.sparse.sgd_update(few, grad, lr=0.5, out=few)
    with pytest.raises(ArgumentTypeError, match="sgd_mom_update takes the inputs"):
        nd.sparse.sgd_mom_update(nd.array(w), grad, lr=0.5)
    with pytest.raises(ArgumentError, match="parameter 'lr'"):
        nd.sparse.adagrad_update(nd.array(w), grad, nd.array(w))
    with pytest.raises(ArgumentError, match="share memory"):
        weight = nd.array(w)
        nd.sparse.sgd_mom_update(weight, grad, weight, lr=0.5, out=weight)
