"""Functions of mx.nd that are those of mx.np, beside NumPy."""

import numpy as np
import pytest

import cynet as mx
from cynet import nd

M = np.array([[4, 1, 0.5], [1, 3, 0.25], [0.5, 0.25, 2]], "float32")
A = np.array([[1.5, 2], [3, 5], [6, 4], [0, 1]], "float32")
CALLS = [
    ("tril", A),
    ("tril", M, -1),
    ("triu", A),
    ("triu", M, 1),
    ("unique", A),
    ("nonzero", A > 2),
    ("quantile", A, 0.3),
    ("quantile", A, [0.1, 0.5], 0),
    ("diff", A),
    ("diff", A, 2, 0),
    ("bincount", A.astype("int32").ravel()),
    ("meshgrid", A[0], M[0]),
    ("isnan", np.array([1, np.nan], "float32")),
    ("linalg.norm", A),
    ("linalg.norm", M, 1),
    ("linalg.norm", M, "nuc"),
    ("linalg.inv", M),
    ("linalg.qr", A),
    ("linalg.qr", A.T),
    ("linalg.lstsq", A, A[:, 0] + 1, None),
    ("linalg.pinv", A),
    ("linalg.pinv", A.T),
    ("linalg.pinv", np.stack([M, M @ np.diag([1, 1, 0]).astype("float32")])),
]


def compare(found, wanted):
    if isinstance(wanted, (list, tuple)):
        assert len(found) == len(wanted)
        for each in zip(found, wanted):
            compare(*each)
        return
    if isinstance(found, nd.NDArray):
        assert type(found) is nd.NDArray
        found = found.asnumpy()
    np.testing.assert_allclose(found, np.reshape(wanted, np.shape(found)), 2e-4, 2e-5)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])
def test_beside_numpy(call):
    name, *args = call
    own, ours = nd, np
    for part in name.split("."):
        own, ours = getattr(own, part), getattr(ours, part)
    given = [nd.array(e, dtype=e.dtype) if isinstance(e, np.ndarray) else e for e in args]
    with np.errstate(all="ignore"):
        compare(own(*given), ours(*args))


@pytest.mark.parametrize("triangle", ["L", "U"])
def test_eigenvectors_beside_numpy_but_for_their_signs(triangle):
    given = np.stack([M, 2 * M])
    given[:, 0, 2] += 1  # in one of the triangles alone
    values, vectors = nd.linalg.eigh(nd.array(given), triangle)
    wanted = np.linalg.eigh(given, triangle)
    np.testing.assert_allclose(values.asnumpy(), wanted[0], 1e-5)
    np.testing.assert_allclose(abs(vectors.asnumpy()), abs(wanted[1]), 1e-4, 1e-5)


def test_gradients():
    x, b = nd.array(A), nd.array(A[:, 0] + 1)
    x.attach_grad()
    for run in (
        lambda: nd.quantile(x, 0.3),
        lambda: nd.linalg.norm(x),
        lambda: nd.tril(x).sum(),
        lambda: (nd.linalg.lstsq(x, b)[0] * nd.array([1, 2])).sum(),
        lambda: (nd.linalg.qr(x)[0] * nd.array(A)).sum(),
        lambda: (nd.linalg.pinv(x) * nd.array(A.T)).sum(),
        lambda: (nd.linalg.eigh(nd.dot(x.T, x))[0] * nd.array([1, 2])).sum(),
        lambda: (nd.diff(x) ** 2).sum(),
        lambda: nd.linalg.norm(x, "nuc"),
    ):
        with mx.autograd.record():
            y = run()
        y.backward()
        got = x.grad.asnumpy()
        for at in np.ndindex(A.shape):
            ends = []
            for step in (0.01, -0.01):
                moved = A.copy()
                moved[at] += step
                x[:] = moved
                ends.append(run().asscalar())
            x[:] = A
            assert abs((ends[0] - ends[1]) / 0.02 - got[at]) < 0.02 * (1 + abs(got[at]))


def test_gradient_of_weights():
    numbers, weights = nd.array([0, 2, 2]), nd.array([1, 2, 3])
    weights.attach_grad()
    with mx.autograd.record():
        y = (nd.bincount(numbers, weights, 4) * nd.array([1, 2, 3, 4])).sum()
    y.backward()
    assert y.asscalar() == 16 and weights.grad.tolist() == [1, 3, 3]


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (lambda: nd.quantile(nd.ones(2), 1.5), "q is within 0 and 1, got 1.5"),
        (lambda: nd.quantile(nd.ones(2), 0.5, method="odd"), "method is one of"),
        (lambda: nd.bincount(nd.array([-1, 2])), "negative"),
        (lambda: nd.bincount(nd.ones((2, 2))), "one axis"),
        (lambda: nd.tril([1, 2]), "takes NDArrays, got list"),
        (lambda: nd.linalg.qr(nd.ones(2)), "two axes at least"),
        (lambda: nd.linalg.lstsq(nd.ones((3, 2)), nd.ones(2)), r"\(3, 2\) and \(2,\)"),
        (lambda: nd.linalg.norm(nd.ones((2, 2)), "odd"), "no norm 'odd'"),
        (lambda: nd.linalg.eigh(nd.ones((2, 2)), "X"), "UPLO is 'L' or 'U', got 'X'"),
        (lambda: nd.linalg.eigh(nd.ones((2, 3))), "square"),
    ],
)
def test_refusals(run, text):
    with pytest.raises((ValueError, TypeError), match=text):
        run()
