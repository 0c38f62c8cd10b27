"""Methods that arrays have as in NumPy: values of NumPy, gradients by differences, errors."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, nd

MATMULS = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (6, 3, 4)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((1, 2, 3), (4, 3, 1)),
]
EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij, jk", (2, 3), (3, 4)),
    ("ba,c", (2, 3), (4,)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("iijj->ij", (3, 3, 2, 2)),
    ("iii->i", (3, 3, 3)),
    ("ij->", (2, 3)),
    ("ij->j", (2, 3)),
    ("ij->ji", (2, 3)),
    ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)),
    ("...ij,...jk->...ik", (5, 2, 3), (3, 4)),
    ("...ij,...jk->...ik", (5, 1, 2, 3), (6, 3, 4)),
    ("...,...", (2, 3), (2, 3)),
    ("i...->...", (2, 3, 4)),
    ("i,j->ij", (2,), (3,)),
    ("ij,ij->", (2, 3), (2, 3)),
    ("ij,ij->ij", (2, 3), (2, 3)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
    ("abc,cd,bde->ae", (2, 3, 4), (4, 5), (3, 5, 6)),
    ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("iij,jk->ik", (3, 3, 2), (2, 4)),
    ("i,i,i->", (3,), (3,), (3,)),
    ("ijk->ki", (2, 3, 4)),
    ("i->i", (3,)),
    ("ij,kl->", (2, 3), (4, 5)),
    ("a,b,c->cab", (2,), (3,), (4,)),
]


def draw(rng, *shape):
    return rng.standard_normal(shape).astype("float64")


@pytest.mark.parametrize("left, right", MATMULS)
def test_matmul(left, right, rng):
    a, b = draw(rng, *left), draw(rng, *right)
    wanted = np.atleast_1d(a @ b)
    for out in (
        nd.array(a, dtype="float64") @ nd.array(b, dtype="float64"),
        nd.matmul(nd.array(a, dtype="float64"), nd.array(b, dtype="float64")),
    ):
        assert out.shape == wanted.shape
        np.testing.assert_allclose(out.asnumpy(), wanted, 1e-12, 1e-12)


@pytest.mark.parametrize("subscripts, shapes", [(s, shapes) for s, *shapes in EINSUMS])
def test_einsum(subscripts, shapes, rng):
    given = [draw(rng, *shape) for shape in shapes]
    wanted = np.atleast_1d(np.einsum(subscripts, *given))
    arrays = [nd.array(x, dtype="float64") for x in given]
    out = nd.einsum(subscripts, *arrays)
    assert out.shape == wanted.shape
    np.testing.assert_allclose(out.asnumpy(), wanted, 1e-11, 1e-11)
    np.testing.assert_array_equal(
        arrays[0].einsum(subscripts, *arrays[1:]).asnumpy(), out.asnumpy()
    )


@pytest.mark.parametrize(
    "function, shapes",
    [
        (lambda a, b: a @ b, [(2, 1, 2, 3), (3, 3, 2)]),
        (lambda a, b: a @ b, [(3,), (3, 2)]),
        (lambda a, b, c: nd.einsum("ab,bc,dc->ad", a, b, c), [(2, 3), (3, 2), (4, 2)]),
        (lambda a: nd.einsum("iij->j", a), [(3, 3, 2)]),
        (lambda a: a.var(axis=1, ddof=1), [(3, 4)]),
        (lambda a: a.std(axis=(0, 1)), [(3, 4)]),
        (lambda a: a.cumsum(axis=0), [(3, 4)]),
        (lambda a: a.tril(-1) + 2 * a.triu(1), [(2, 3, 4)]),
    ],
)
def test_gradients(function, shapes, rng):
    """Against central differences of the sum of the outputs, weighted."""
    values = [draw(rng, *shape) for shape in shapes]
    arrays = [nd.array(x, dtype="float64") for x in values]
    for each in arrays:
        each.attach_grad()
    with autograd.record():
        out = function(*arrays)
    weights = draw(rng, *out.shape)
    out.backward(nd.array(weights, dtype="float64"))

    def total(which, index, step):
        moved = [x.copy() for x in values]
        moved[which][index] += step
        return (function(*[nd.array(x, dtype="float64") for x in moved]).asnumpy() * weights).sum()

    for which, x in enumerate(values):
        wanted = np.empty_like(x)
        for index in np.ndindex(x.shape):
            wanted[index] = (total(which, index, 1e-5) - total(which, index, -1e-5)) / 2e-5
        np.testing.assert_allclose(arrays[which].grad.asnumpy(), wanted, 1e-6, 1e-8)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(axis, keepdims, rng):
    x = draw(rng, 3, 4)
    x[:, 1] = 0
    array = nd.array(x, dtype="float64")
    for name, params in (("var", {}), ("var", {"ddof": 1}), ("std", {}), ("std", {"ddof": 2})):
        wanted = np.atleast_1d(getattr(x, name)(axis=axis, keepdims=keepdims, **params))
        out = getattr(array, name)(axis=axis, keepdims=keepdims, **params).asnumpy()
        assert out.shape == wanted.shape
        np.testing.assert_allclose(out, wanted, 1e-12, 1e-12)
    for name in ("any", "all"):
        wanted = np.atleast_1d(getattr(x, name)(axis=axis, keepdims=keepdims))
        np.testing.assert_array_equal(getattr(array, name)(axis, keepdims).asnumpy(), wanted)


def test_integers(rng):
    x = rng.integers(0, 100, (3, 5)).astype("int32")
    array = nd.array(x, dtype="int32")
    assert array.var().dtype == np.float64
    np.testing.assert_allclose(array.std(axis=1).asnumpy(), x.std(axis=1))
    np.testing.assert_array_equal(array.cumsum(axis=1).asnumpy(), x.cumsum(axis=1))
    for k in (-1, 0, 2):
        np.testing.assert_array_equal(array.tril(k).asnumpy(), np.tril(x, k))
        np.testing.assert_array_equal(array.triu(k).asnumpy(), np.triu(x, k))


def test_values(rng):
    x = rng.integers(-2, 3, (3, 4)).astype("float32")
    array = nd.array(x)
    assert array.tolist() == x.tolist()
    assert array.item(1, 2) == x[1, 2] and array.item(5) == x.ravel()[5]
    assert nd.array([7], dtype="int64").item() == 7 and type(array.item(0)) is float
    for found, wanted in zip(array.nonzero(), x.nonzero()):
        np.testing.assert_array_equal(found.asnumpy(), wanted)
        assert found.dtype == np.int64
    found = array.unique(return_index=True, return_inverse=True, return_counts=True)
    wanted = np.unique(x.ravel(), True, True, True)
    for a, b in zip(found, wanted):
        np.testing.assert_array_equal(a.asnumpy(), b)
    np.testing.assert_array_equal(array.unique().asnumpy(), wanted[0])
    assert nd.zeros((0,)).unique().shape == (0,) and nd.zeros((0,)).tolist() == []


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda x: x.item(), ValueError, r"item: expected an array of one element.*\(2, 3\)"),
        (lambda x: x.item(2, 0), IndexError, r"item: index \(2, 0\) of shape \(2, 3\)"),
        (lambda x: x.item("a"), TypeError, "item"),
        (lambda x: x @ x, ValueError, r"\(2, 3\) and \(2, 3\) do not fit: 3 columns, 2 rows"),
        (lambda x: x @ np.ones((3, 2)), TypeError, "expected two NDArrays, got ndarray"),
        (lambda x: np.ones((3, 2)) @ x, TypeError, "expected two NDArrays, got ndarray"),
        (lambda x: x @ 2, TypeError, "expected two NDArrays, got int"),
        (lambda x: nd.ones((2, 2, 3)) @ nd.ones((3, 3, 2)), ValueError, "axes before the last two"),
        (lambda x: x.var(axis=2), ValueError, "axis"),
        (lambda x: x.std(axis=(0, 0)), ValueError, "twice"),
        (lambda x: nd.ones((3,)).tril(), ValueError, r"two axes or more, got \(3,\)"),
        (lambda x: x.tril(0.5), TypeError, "k must be an int"),
        (lambda x: nd.einsum("ij,jk->ik", x), ValueError, "2 terms for 1 operands"),
        (lambda x: nd.einsum("i->i", x), ValueError, r"term 'i' does not fit .*\(2, 3\)"),
        (lambda x: nd.einsum("ij,ij->k", x, x), ValueError, "not of the form"),
        (lambda x: nd.einsum("ij->ii", x), ValueError, "not of the form"),
        (lambda x: nd.einsum("i1->i", x), ValueError, "not of the form"),
        (lambda x: nd.einsum("ij,jk->ik", x, x), ValueError, "axis j has lengths 3 and 2"),
        (lambda x: nd.einsum(3, x), TypeError, "subscripts must be a str"),
    ],
)
def test_errors(call, error, words):
    with pytest.raises(error, match=words) as said:
        call(nd.ones((2, 3)))
    assert isinstance(said.value, mx.MXNetError)


def test_in_a_traced_forward(rng):
    """A Block's plain forward that uses them is hybridized, and gives the same."""

    class Net(mx.gluon.HybridBlock):
        def forward(self, x):
            y = (x @ x.T).std(axis=1) + x.tril().sum() + nd.einsum("ij,kj->i", x, x)
            return y + (x > 0).any() + x.cumsum(axis=1).sum() + x.var(ddof=1)

    net, x = Net(), nd.array(draw(rng, 3, 3), dtype="float64")
    net.initialize()
    wanted = net(x).asnumpy()
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), wanted, 1e-12)
