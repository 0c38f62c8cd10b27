"""Linear algebra: what the table does not say: failures, singular matrices, symmetric gradients."""

import os
import subprocess
import sys

import numpy as np
import pytest

import cynet as mx
from cynet import autograd as ag
from cynet import nd

L = nd.linalg
STEP = 1e-5


def stack(good, bad, at):
    """Five matrices, of which number `at` is bad."""
    return nd.array([bad if i == at else good for i in range(5)], dtype="float64")


@pytest.mark.parametrize(
    ("name", "bad", "says"),
    [
        ("potrf", [[1, 2], [2, 1]], "matrix 3 of 5 is not positive definite: .*size 2"),
        ("inverse", [[1, 2], [2, 4]], "matrix 3 of 5 is singular: pivot 2"),
        ("potri", [[0, 0], [1, 1]], "matrix 3 of 5 is not a Cholesky factor: .*row 1"),
    ],
)
def test_a_bad_matrix_is_named(name, bad, says):
    x = stack([[2, 1], [1, 2]], bad, 3)
    with pytest.raises(ValueError, match=says) as caught:
        getattr(L, name)(x).asnumpy()
    assert f"_linalg_{name}" in str(caught.value)
    symbol = getattr(mx.sym.linalg, name)(mx.sym.var("x"))
    with pytest.raises(mx.MXNetError, match=says):
        symbol.bind(mx.cpu(), {"x": x}, grad_req="null").forward()[0].asnumpy()


def test_nan_is_no_crash():
    x = nd.array(np.full((4, 4), np.nan), dtype="float64")
    for function in (L.potrf, L.syevd, L.inverse, L.det, L.gelqf, L.slogdet):
        try:
            outs = function(x)
            values = [o.asnumpy() for o in (outs if isinstance(outs, list) else [outs])]
            assert any(np.isnan(v).any() for v in values), function.__name__
        except mx.MXNetError:
            pass


def test_determinant_of_singular_matrices():
    """The gradient is the matrix of cofactors."""
    rng = np.random.default_rng(3)
    one = rng.standard_normal((4, 4))
    one[3] = one[0] + 2 * one[1]
    two = np.zeros((4, 4))
    two[:2] = rng.integers(-3, 4, (2, 4))
    exact = np.array([[1.0, 2, 3, 4], [2, 4, 6, 8], [0, 1, 0, 2], [5, 0, 1, 1]])
    for a in (one, two, exact, np.zeros((1, 1))):
        x = nd.array(a, dtype="float64")
        x.attach_grad()
        with ag.record():
            y = L.det(x)
        y.backward()
        wanted = np.zeros_like(a)
        for i, j in np.ndindex(*a.shape):
            minor = np.delete(np.delete(a, i, 0), j, 1)
            wanted[i, j] = (-1) ** (i + j) * (np.linalg.det(minor) if minor.size else 1)
        np.testing.assert_allclose(x.grad.asnumpy(), wanted, 1e-8, 1e-9)


def test_equal_eigenvalues():
    """A gradient of eigenvalues alone needs no unique vectors."""
    x = nd.array(np.diag([2.0, 2.0, 5.0]), dtype="float64")
    x.attach_grad()
    with ag.record():
        _, values = L.syevd(x)
        y = (values * values).sum()
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), np.diag([4.0, 4, 10]), 1e-12)


def gradient(function, a, weights):
    x = nd.array(a, dtype="float64")
    x.attach_grad()
    with ag.record():
        loss = total(function, x, weights)
    loss.backward()
    return x.grad.asnumpy()


def total(function, x, weights):
    """A number made of a function of the symmetric positive definite x x' + 2."""
    eye = nd.array(2 * np.eye(x.shape[-2]) * np.ones((*x.shape[:-2], 1, 1)), dtype="float64")
    outs = function(L.gemm(x, x, eye, transpose_b=True))
    outs = outs if isinstance(outs, list) else [outs]
    return sum((o * o * o * w).sum() for o, w in zip(outs, weights))


@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 3)])
@pytest.mark.parametrize("function", [L.potrf, L.syevd])
def test_symmetric_gradients_of_both_orders(function, shape):
    """By differences of a matrix whose product with itself is decomposed."""
    rng = np.random.default_rng(7)
    a, v = rng.uniform(-1, 1, (2, *shape))
    weights = [nd.array(rng.uniform(0.5, 1.5, s), dtype="float64") for s in (shape, shape[:-1])]
    x = nd.array(a, dtype="float64")
    x.attach_grad()
    with ag.record():
        loss = total(function, x, weights)
        (first,) = ag.grad(loss, [x], create_graph=True)
        product = (first * nd.array(v, dtype="float64")).sum()
    product.backward()
    change = [
        total(function, nd.array(a + s * v, dtype="float64"), weights).asscalar()
        for s in (STEP, -STEP)
    ]
    np.testing.assert_allclose(
        (first.asnumpy() * v).sum(), (change[0] - change[1]) / (2 * STEP), 1e-6, 1e-7
    )
    np.testing.assert_allclose(first.asnumpy(), gradient(function, a, weights), 1e-9, 1e-11)
    up, down = (gradient(function, a + s * v, weights) for s in (STEP, -STEP))
    wanted = (up - down) / (2 * STEP)
    np.testing.assert_allclose(x.grad.asnumpy(), wanted, 1e-5, 1e-5 * np.abs(wanted).max())


SCRIPT = """
import hashlib, sys
import numpy as np
import cynet as mx
from cynet import autograd as ag
L, digest = mx.nd.linalg, hashlib.sha256()
rng = np.random.RandomState(0)
for shape in ((40, 24, 24), (160, 160)):
    a = rng.standard_normal(shape).astype("float32")
    a = a @ np.swapaxes(a, -1, -2) / shape[-1] + np.eye(shape[-1], dtype="float32")
    for name in sys.argv[1].split(","):
        x = mx.nd.array(a)
        x.attach_grad()
        with ag.record():
            y = getattr(L, name)(x) if name != "gemm2" else L.gemm2(x, x)
        ag.backward(y)
        for each in [*(y if isinstance(y, list) else [y]), x.grad]:
            digest.update(each.asnumpy().tobytes())
print(digest.hexdigest())
"""


def test_threads_change_nothing():
    names = "potrf,potri,inverse,det,slogdet,syevd,gelqf,syrk,gemm2,extracttrian,sumlogdiag"
    found = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT, names],
            env={**os.environ, "CYNET_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    }
    assert len(found) == 1
