"""mx.np.linalg beside NumPy's, and its gradients."""

import numpy as np
import pytest

import cynet as mx

L = mx.np.linalg
RNG = np.random.default_rng(3)
A = RNG.normal(size=(2, 5, 3)).astype("float32")
S = (RNG.normal(size=(3, 3)) + 3 * np.eye(3)).astype("float32")
SPD = (S @ S.T).astype("float32")
T = RNG.normal(size=(4, 6, 8, 3)).astype("float32")
FLAT = np.arange(12, dtype="float32").reshape(3, 4)  # of rank 2, as far as float32 can tell
INF = float("inf")
CALLS = [
    ("qr", A), ("qr", A.swapaxes(1, 2)), ("qr", S), ("qr", S, "r"), ("pinv", A), ("pinv", S),
    ("pinv", A.swapaxes(1, 2)), ("pinv", FLAT, 1e-5), ("matrix_rank", FLAT), ("matrix_rank", A),
    ("matrix_rank", S[0]), ("matrix_rank", S, 100.0), ("lstsq", A[0], A[1]),
    ("lstsq", A[0], A[1, :, 0]), ("lstsq", A[0].T, S), ("lstsq", FLAT, S, None),
    *(("cond", S, p) for p in (None, 1, -1, 2, -2, INF, -INF, "fro")),
    *(("norm", A, p, (1, 2), keep) for p in (1, -1, 2, -2, INF, -INF, "fro", "nuc")
      for keep in (False, True)),
    *(("norm", S, p) for p in (None, 1, 2, "fro", "nuc")), ("norm", A),
    ("norm", A, None, None, True),
    *(("norm", A, p, 1) for p in (None, 0, 1, 2, 3, 0.5, INF, -INF, -1)),
    *(("norm", A[0, 0], p) for p in (None, 0, 1, 2, 3, INF)),
    *(("matrix_power", S, n) for n in (-2, -1, 0, 1, 2, 5)), ("multi_dot", [A[0], S, S]),
    ("multi_dot", [A[0, 0], S, S[0]]), ("tensorinv", T), ("tensorsolve", T, T[:, :, 0, 0]),
    ("diagonal", A), ("trace", A), ("vecdot", A, A), ("cross", A, A[::-1].copy()),
    ("outer", S[0], S[1]), ("svdvals", A), ("det", S), ("slogdet", S), ("inv", S),
    ("cholesky", SPD), ("eigvalsh", SPD), ("solve", S, A[0].T), ("solve", S, S[0]),
    ("matmul", A, S), ("matrix_transpose", A),
]  # fmt: skip


def given(value):
    if isinstance(value, np.ndarray):
        return mx.np.array(value, dtype=value.dtype)
    return [given(e) for e in value] if isinstance(value, list) else value


def compare(found, expected):
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for pair in zip(found, expected):
            compare(*pair)
        return
    found = found.asnumpy() if isinstance(found, mx.np.ndarray) else np.asarray(found)
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found, expected, 2e-3, 2e-4)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])
def test_beside_numpy(call):
    name, *args = call
    compare(getattr(L, name)(*map(given, args)), getattr(np.linalg, name)(*args))


def test_vector_norms_and_matrix_norms():
    for order in (0, 1, 2, 3, INF):
        for axis, keep in ((None, False), (1, True), ((0, 2), False)):
            more = {"axis": axis, "ord": order, "keepdims": keep}
            compare(L.vector_norm(given(A), **more), np.linalg.vector_norm(A, **more))
    for order in (1, 2, "nuc", "fro"):
        compare(L.matrix_norm(given(A), ord=order), np.linalg.matrix_norm(A, ord=order))


GRADIENTS = {
    "qr": A[0], "pinv": A[0], "inv": S, "det": S, "cholesky": SPD, "eigvalsh": SPD, "svdvals": A[0],
    "norm": A[0], "cond": S, "matrix_norm": A, "vector_norm": A, "trace": A, "diagonal": A,
}  # fmt: skip
MORE = {
    "nuc": lambda x: L.norm(x, "nuc"),
    "spectral": lambda x: L.norm(x, 2),
    "power": lambda x: L.matrix_power(x, 3),
    "minus": lambda x: L.matrix_power(x, -2),
    "lstsq": lambda x: L.lstsq(x, x[:, 0] ** 2)[0],
    "solve": lambda x: L.solve(x, x[0]),
    "multi_dot": lambda x: L.multi_dot([x, x, x]),
    "wide": lambda x: L.pinv(x[:2]),
    "wide qr": lambda x: L.qr(x[:2]),
}


@pytest.mark.parametrize("name", [*GRADIENTS, *MORE])
def test_gradients(name):
    run = MORE.get(name) or getattr(L, name)
    host = GRADIENTS.get(name, S).astype("float64")
    x = mx.np.array(host, dtype="float64")
    x.attach_grad()

    def total():
        found = run(x)
        found = found if isinstance(found, tuple) else (found,)
        if name in ("cholesky", "eigvalsh"):  # of the symmetric part
            y = (x + x.T) / 2
            found = (getattr(L, name)(y),)
        weights = [np.cos(np.arange(e.size)).reshape(e.shape) for e in found]
        heads = [(e * mx.np.array(w, dtype="float64")).sum() for e, w in zip(found, weights)]
        return sum(heads[1:], heads[0])

    with mx.autograd.record():
        y = total()
    y.backward()
    got = x.grad.asnumpy()
    for at in np.ndindex(host.shape):
        ends = []
        for step in (1e-6, -1e-6):
            other = host.copy()
            other[at] += step
            x[...] = other
            ends.append(total().item())
        x[...] = host
        slope = (ends[0] - ends[1]) / 2e-6
        assert abs(slope - got[at]) < 1e-4 * (1 + abs(slope))


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (lambda x: L.qr(x, "full"), "mode is 'reduced', 'complete' or 'r'"),
        (lambda x: L.norm(x, 3), "no norm 3"),
        (lambda x: L.norm(given(A), 1), "one or two axes|axes"),
        (lambda x: L.matrix_power(x, 1.5), "exponent is an int"),
        (lambda x: L.matrix_power(given(A), 2), r"square matrices, got shape \(2, 5, 3\)"),
        (lambda x: L.multi_dot([x]), "two arrays"),
        (lambda x: L.tensorinv(x, 0), "not square"),
        (lambda x: L.pinv(x[0]), "two axes"),
        (lambda x: L.lstsq(x, x[:2]), "as many right sides"),
    ],
)
def test_refusals(run, text):
    with pytest.raises((TypeError, ValueError), match=text):
        run(given(S))


def test_numpys_functions_write_our_arrays():
    host = np.arange(12.0).reshape(3, 4)
    low, high = host < 2, host > 5
    x = mx.np.array(host, dtype="float64")
    for run in (
        lambda a: np.copyto(a, 2.0, where=high), lambda a: np.fill_diagonal(a, 9),
        lambda a: np.put_along_axis(a, np.array([[0], [1], [2]]), -1, axis=1),
        lambda a: np.putmask(a, high, 7), lambda a: np.place(a, low, [4, 5]),
        lambda a: np.put(a, [3, 4], [8, 8]), lambda a: np.multiply.at(a, ([0, 0], [1, 1]), 3),
    ):  # fmt: skip
        run(host)
        run(x)
        assert x.tolist() == host.tolist()
    out = mx.np.zeros((3,), dtype="float64")
    assert np.nanmax(x, axis=1, out=out) is out and out.tolist() == np.nanmax(host, axis=1).tolist()
    assert mx.np.fill_diagonal(x, 1.0) is None and x[1, 1] == 1


@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3), (2, 5, 3), (1, 3)])
def test_square_factors(shape, rng):
    host = rng.normal(size=shape)
    a = mx.np.array(host)
    q, r = mx.np.linalg.qr(a, mode="complete")
    u, values, v = mx.np.linalg.svd(a, full_matrices=True)
    rows, columns = shape[-2:]
    expected = np.linalg.qr(host, mode="complete"), np.linalg.svd(host)
    assert (q.shape, r.shape) == tuple(e.shape for e in expected[0])
    assert (u.shape, values.shape, v.shape) == tuple(e.shape for e in expected[1])
    for square, n in ((q, rows), (u, rows), (v, columns)):
        product = square.asnumpy().swapaxes(-1, -2) @ square.asnumpy()
        np.testing.assert_allclose(product, np.broadcast_to(np.eye(n), product.shape), atol=1e-10)
    np.testing.assert_allclose((q @ r).asnumpy(), host, atol=1e-10)
    k = min(rows, columns)
    found = (u[..., :k] * values[..., None, :]) @ v[..., :k, :]
    np.testing.assert_allclose(found.asnumpy(), host, atol=1e-10)
    a.attach_grad()
    with mx.autograd.record():
        head = (mx.np.linalg.qr(a, mode="complete")[1] ** 2).sum()
    head.backward()
    np.testing.assert_allclose(a.grad.asnumpy(), 2 * host, atol=1e-9)  # the squares of a add up
    with pytest.raises(TypeError, match="'reduced', 'complete' or 'r', got 'full'"):
        mx.np.linalg.qr(a, mode="full")
