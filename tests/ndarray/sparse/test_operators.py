"""Operators on sparse arrays equal NumPy on the dense ones; all others fall back or refuse."""

import warnings

import numpy as np
import pytest
from cynet.errors import ArgumentError, CynetError

import cynet as mx
from cynet.base import config
from cynet.ndarray.sparse import call
from cynet.operator import OPERATORS
from tests.ndarray.sparse.declared import ZERO_STAYS

sparse = mx.nd.sparse


@pytest.fixture(autouse=True)
def _no_fallback(monkeypatch):
    monkeypatch.setenv("CYNET_STORAGE_FALLBACK", "error")


def pair(rng, stype, dtype="float32", shape=(6, 5), low=-0.9, empty=False):
    """A sparse array and the same as NumPy's: some rows are empty."""
    values = rng.uniform(low, 0.9, shape) * (rng.random(shape) < 0.5)
    values[[0, 3]] = 0
    if empty:
        values[:] = 0
    values = values.astype(dtype) + 0  # no -0.0, which is no element
    return mx.nd.array(values, dtype=dtype).tostype(stype), values


def close(got, want, dtype="float32"):
    rtol = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(got.asnumpy(), want, rtol=rtol, atol=rtol)
    assert got.asnumpy().dtype == np.dtype(dtype)


NUMPY = {
    "arcsin": np.arcsin,
    "arcsinh": np.arcsinh,
    "arctan": np.arctan,
    "arctanh": np.arctanh,
    "fix": np.trunc,
    "round": lambda x: np.trunc(x + np.copysign(0.5, x)),
    "relu": lambda x: np.maximum(x, 0),
    "identity": lambda x: x,
    "_copy": lambda x: x,
    "BlockGrad": lambda x: x,
    "make_loss": lambda x: x,
    "_contrib_round_ste": np.round,
    "_contrib_sign_ste": np.sign,
    "zeros_like": np.zeros_like,
}


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("name", [n for n in ZERO_STAYS if n in NUMPY or hasattr(np, n)])
def test_zero_stays(rng, name, stype):
    for dtype in ("float32", "float64"):
        for empty in (False, True):
            a, x = pair(rng, stype, dtype, low=0 if name == "sqrt" else -0.9, empty=empty)
            got = getattr(mx.nd._internal, name)(a)
            assert got.stype == stype
            close(got, NUMPY.get(name, getattr(np, name, None))(x), dtype)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_scalars(rng, stype):
    a, x = pair(rng, stype)
    with np.errstate(all="ignore"):
        for got, want in (
            (a * 2, x * 2),
            (3 * a, 3 * x),
            (a / 4, x / 4),
            (a + 0, x),
            (a - 0, x),
            (-a, -x),
            (abs(a), abs(x)),
            (a > 0.1, x > 0.1),
            (a != 0, x != 0),
            (a == 3, x == 3),
            (a >= 0.2, x >= 0.2),
            (a < -0.1, x < -0.1),
            (a <= -0.1, x <= -0.1),
            (a.clip(-0.2, 0.3), x.clip(-0.2, 0.3)),
        ):
            assert got.stype == stype
            close(got, want.astype("float32"))
    b = a.copy()
    b *= 2
    assert b.stype == stype
    close(b, x * 2)
    assert a.astype("float64").stype == stype
    for refused in (
        lambda: a + 1,
        lambda: 1 - a,
        lambda: a > -1,
        lambda: a.clip(1, 2),
        lambda: a / 0,
        lambda: 1 / a,
        lambda: a.exp(),
    ):
        with pytest.raises(ArgumentError, match="has no form"):
            refused()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_two_arrays(rng, stype, dtype):
    for empty in ((False, False), (True, False), (False, True), (True, True)):
        a, x = pair(rng, stype, dtype, empty=empty[0])
        b, y = pair(rng, stype, dtype, empty=empty[1])
        d = mx.nd.array(y, dtype=dtype)
        for got, want, kind in (
            (a + b, x + y, stype),
            (a - b, x - y, stype),
            (a * b, x * y, stype),
            (a + a, x + x, stype),
            (a * a, x * x, stype),
            (sparse.add(a, b), x + y, stype),
            (sparse.elemwise_sub(a, b), x - y, stype),
            (mx.nd.add_n(a, b, a), x + y + x, stype),
            (a + d, x + y, "default"),
            (d + a, x + y, "default"),
            (a - d, x - y, "default"),
            (d - a, y - x, "default"),
            (a * d, x * y, stype),
            (d * a, x * y, "default"),
            (mx.nd.add_n(a, d), x + y, "default"),
        ):
            assert got.stype == kind
            close(got, want, dtype)
        d += a
        close(d, x + y, dtype)
        a += b
        assert a.stype == stype
        close(a, x + y, dtype)


def test_csr_with_vectors(rng):
    a, x = pair(rng, "csr")
    for shape in ((1, 5), (6, 1), (1, 1), (5,)):
        y = rng.uniform(1, 2, shape).astype("float32")
        for got, want in (
            (sparse.broadcast_mul(a, mx.nd.array(y)), x * y),
            (sparse.broadcast_div(a, mx.nd.array(y)), x / y),
        ):
            assert got.stype == "csr"
            close(got, want)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [None, 1, 3, 64, 130])
def test_dot(rng, width, dtype):
    for empty in (False, True):
        a, x = pair(rng, "csr", dtype, (9, 7), empty=empty)
        right = rng.standard_normal((7,) if width is None else (7, width)).astype(dtype)
        left = rng.standard_normal((9,) if width is None else (9, width)).astype(dtype)
        got = mx.nd.dot(a, mx.nd.array(right, dtype=dtype))
        assert got.stype == "default"
        close(got, x @ right, dtype)
        got = mx.nd.dot(a, mx.nd.array(left, dtype=dtype), transpose_a=True)
        assert got.stype == "row_sparse"
        got.check_format()
        close(got, x.T @ left, dtype)
        got = mx.nd.dot(
            a, mx.nd.array(left, dtype=dtype), transpose_a=True, forward_stype="default"
        )
        assert got.stype == "default"
        close(got, x.T @ left, dtype)
        if width is None:
            continue
        rows = right * (np.arange(7) % 3 == 1)[:, None]
        got = sparse.dot(a, mx.nd.array(rows, dtype=dtype).tostype("row_sparse"))
        assert got.stype == "default"
        close(got, x @ rows, dtype)
        rows = left * (np.arange(9) % 3 == 1)[:, None]
        got = sparse.dot(a, mx.nd.array(rows, dtype=dtype).tostype("row_sparse"), transpose_a=True)
        assert got.stype == "row_sparse"
        close(got, x.T @ rows, dtype)
        got = mx.nd.dot(mx.nd.array(left.T, dtype=dtype), a)
        assert got.stype == "csr"
        got.check_format()
        close(got, left.T @ x, dtype)
        got = mx.nd.dot(mx.nd.array(left.T, dtype=dtype), a, forward_stype="default")
        assert got.stype == "default"
        close(got, left.T @ x, dtype)


def test_dot_of_many_terms_is_as_exact_as_numpy_in_double(rng):
    x = rng.standard_normal((300, 5000)) * (rng.random((300, 5000)) < 0.3)
    y = rng.standard_normal((5000, 20)).astype("float32")
    x = x.astype("float32")
    got = mx.nd.dot(sparse.csr_matrix(x), mx.nd.array(y)).asnumpy()
    want = x.astype("float64") @ y.astype("float64")
    assert abs(got - want).max() < 5e-5
    left = rng.standard_normal((300, 70)).astype("float32")
    got = mx.nd.dot(sparse.csr_matrix(x), mx.nd.array(left), transpose_a=True).asnumpy()
    assert abs(got - x.T.astype("float64") @ left.astype("float64")).max() < 5e-5


@pytest.mark.parametrize(
    "call_, telling",
    [
        (lambda a: mx.nd.dot(a, mx.nd.ones((4, 2))), "sums over lengths 5 and 4"),
        (lambda a: mx.nd.dot(a, mx.nd.ones((5, 2)), transpose_a=True), "sums over lengths 6 and 5"),
        (lambda a: mx.nd.dot(a, mx.nd.ones((5, 2), dtype="float64")), "must be alike"),
        (lambda a: mx.nd.dot(mx.nd.ones((2, 5)), a), "sums over lengths 5 and 6"),
        (
            lambda a: mx.nd.dot(a, mx.nd.ones((4, 2)).tostype("row_sparse")),
            "sums over lengths 5 and 4",
        ),
        (lambda a: a + sparse.zeros("csr", (6, 4)), "do not broadcast: 5 against 4"),
        (lambda a: a + sparse.zeros("csr", (6, 5), dtype="float64"), "must be alike"),
        (lambda a: mx.nd.dot(a), "no form for storage types csr|needs 2|is missing"),
        (lambda a: mx.nd.dot(a, a, a), "'transpose_a' takes a bool"),
        (lambda a: mx.nd.dot(a, nonsense=a), "got lhs, nonsense"),
        (
            lambda a: mx.nd.abs(a, out=sparse.zeros("row_sparse", (6, 5))),
            "gives csr, and out is row_sparse",
        ),
        (lambda a: mx.nd.abs(a, out=sparse.zeros("csr", (6, 4))), "target .6, 4."),
        (lambda a: sparse.retain(a, mx.nd.array([0])), "no form for storage types csr, default"),
        (lambda a: mx.nd.contrib.getnnz(a, axis=2), "axis is None, 0 or 1, got 2"),
        (
            lambda a: sparse.retain(a.tostype("default").tostype("row_sparse"), mx.nd.array([6])),
            "from 0 to 5, found 6",
        ),
    ],
)
def test_bad_calls(rng, call_, telling):
    with pytest.raises((CynetError, TypeError), match=telling):
        call_(pair(rng, "csr")[0])


def test_a_call_that_was_right_is_checked_once(rng, monkeypatch):
    """Of each shape, dtype and parameter: what differs in one of them is checked anew."""
    checked, check = [], call._checked_property

    def counted(*given):
        checked.append(given)
        return check(*given)

    monkeypatch.setattr(call, "_checked_property", counted)
    monkeypatch.setattr(call, "_checked_calls", {})
    array, values = pair(rng, "csr")
    for _ in range(3):
        close(mx.nd.slice(array, begin=(1,), end=(4,)), values[1:4])
    assert len(checked) == 1
    close(mx.nd.slice(array, begin=(1,), end=(3,)), values[1:3])
    with pytest.raises(CynetError, match="begin"):  # equal to 1 as a key of a dict, and no int
        mx.nd.slice(array, begin=(1.5,), end=(4,))
    assert len(checked) == 3
    rows = [pair(rng, "row_sparse", shape=(n, 5)) for n in (6, 6, 7)]
    for _ in range(2):
        close(mx.nd.elemwise_add(rows[0][0], rows[1][0]), rows[0][1] + rows[1][1])
        with pytest.raises(CynetError, match="shape"):
            mx.nd.elemwise_add(rows[0][0], rows[2][0])
    assert len(checked) == 6
    double, values = pair(rng, "row_sparse", "float64")
    close(mx.nd.elemwise_add(double, double), 2 * values, "float64")
    assert len(checked) == 7


def test_gradient_of_dot(rng):
    a, x = pair(rng, "csr", "float64")
    for transpose, n in ((False, 5), (True, 6)):
        w = mx.nd.array(rng.standard_normal((n, 3)), dtype="float64")
        head = rng.standard_normal(((x.T if transpose else x) @ np.ones((n, 3))).shape)
        w.attach_grad()
        with mx.autograd.record():
            y = mx.nd.dot(a, w, transpose_a=transpose, forward_stype="default") ** 2
        y.backward(mx.nd.array(head, dtype="float64"))
        m = x.T if transpose else x
        close(w.grad, m.T @ (2 * head * (m @ w.asnumpy())), "float64")
    w, bias = mx.nd.ones((2, 5), dtype="float64"), mx.nd.ones((2,), dtype="float64")
    for each in (w, bias):
        each.attach_grad()
    with mx.autograd.record():
        y = mx.nd.FullyConnected(a, w, bias, num_hidden=2)
    y.backward()
    close(y, x @ np.ones((5, 2)) + 1, "float64")
    close(w.grad, np.ones((2, 6)) @ x, "float64")
    close(bias.grad, np.full(2, 6.0), "float64")


@pytest.mark.parametrize("name", ["sum", "mean"])
def test_reductions(rng, name):
    for empty in (False, True):
        a, x = pair(rng, "csr", empty=empty)
        for axis in (None, 0, 1, -1, (0, 1)):
            got = getattr(a, name)() if axis is None else getattr(a, name)(axis=axis)
            want = getattr(x, name)(axis=axis)
            close(got, np.reshape(want, got.shape))
            assert got.size == np.size(want)
        close(getattr(a, name)(axis=1, keepdims=True), getattr(x, name)(axis=1, keepdims=True))
    a, x = pair(rng, "row_sparse")
    close(getattr(a, name)(axis=0), getattr(x, name)(axis=0))
    close(getattr(a, name)(), getattr(x, name)().reshape(1))


def test_norm(rng):
    for stype in ("csr", "row_sparse"):
        a, x = pair(rng, stype)
        close(a.norm(), np.linalg.norm(x).reshape(1))


def test_retain(rng):
    a, x = pair(rng, "row_sparse")
    for wanted in ([1, 4], [0], [5, 1, 1], range(6)):
        keep = np.isin(np.arange(6), list(wanted))[:, None]
        got = sparse.retain(a, mx.nd.array(list(wanted)))
        close(got, x * keep)
        close(a.retain(mx.nd.array(list(wanted), dtype="int64")), x * keep)


def test_rows_and_columns(rng):
    a, x = pair(rng, "csr")
    for begin, end in (
        ((1,), (4,)),
        ((1, 1), (5, 4)),
        ((None, 2), (None, None)),
        ((0, -3), (-1, -1)),
    ):
        got = mx.nd.slice(a, begin=begin, end=end)
        assert got.stype == "csr"
        close(got, x[tuple(map(slice, begin, end))])
    got = mx.nd.concat(a, a[2:4], a, dim=0)
    assert got.stype == "csr"
    got.check_format()
    close(got, np.concatenate([x, x[2:4], x]))
    for mode in ("clip", "wrap"):
        got = mx.nd.take(a, mx.nd.array([5, 0, 1, 9, -1]), mode=mode)
        assert got.stype == "csr"
        close(got, np.take(x, [5, 0, 1, 9, -1], axis=0, mode=mode))
    got = mx.nd.where(a, mx.nd.ones((6, 5)), mx.nd.zeros((6, 5)))
    close(got, (x != 0).astype("float32"))


def test_embedding_of_rows(rng):
    a, x = pair(rng, "row_sparse")
    ids = rng.integers(0, 6, (4, 3))
    got = mx.nd.Embedding(mx.nd.array(ids), a, input_dim=6, output_dim=5)
    close(got, x[ids])


def test_getnnz(rng):
    a, x = pair(rng, "csr")
    assert mx.nd.contrib.getnnz(a).asnumpy().tolist() == [np.count_nonzero(x)]
    for axis in (0, 1):
        want = np.count_nonzero(x, axis=axis).tolist()
        assert mx.nd.contrib.getnnz(a, axis=axis).asnumpy().tolist() == want


def test_out(rng):
    a, x = pair(rng, "csr")
    out = sparse.zeros("csr", x.shape)
    assert mx.nd.abs(a, out=out) is out
    close(out, abs(x))
    dense = mx.nd.zeros(x.shape)
    mx.nd.abs(a, out=dense)
    close(dense, abs(x))


def test_fallback_warns_once(monkeypatch):
    monkeypatch.setenv("CYNET_STORAGE_FALLBACK", "warn")
    monkeypatch.setattr(call, "_warned_calls", set())
    a = sparse.csr_matrix(([1.0], [0], [0, 1, 1]), shape=(2, 3))
    with pytest.warns(UserWarning, match=r"operator exp has no form .* csr: .* 6 elements"):
        got = mx.nd.exp(a)
    np.testing.assert_allclose(got.asnumpy(), np.exp([[1, 0, 0], [0, 0, 0]]), rtol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mx.nd.exp(a)
    assert config.get("CYNET_STORAGE_FALLBACK") == "warn"


def test_every_operator_takes_or_refuses_sparse_arrays(rng, monkeypatch):
    """Each operator, with a sparse array as each of its inputs: what it gives is what it gives for
    the dense one, or an exception, never the values of no memory."""
    monkeypatch.setenv("CYNET_STORAGE_FALLBACK", "warn")
    monkeypatch.setattr(call, "_warned_calls", set())
    tried = compared = 0
    for name in sorted({entry.name for entry in map(OPERATORS.get, OPERATORS)}):
        entry = OPERATORS.get(name)
        if (
            getattr(entry.prop, "users", False)
            or "random" in name
            or "sample" in name
            or name == "_shuffle"
        ):
            continue
        try:
            n = len(entry.prop.with_defaults().list_inputs())
        except Exception:
            continue
        for at in range(n):
            for stype in ("csr", "row_sparse"):
                a, x = pair(rng, stype)
                given = [mx.nd.ones((6, 5)) for _ in range(n)]
                dense = [*given[:at], mx.nd.array(x), *given[at + 1 :]]
                function = getattr(mx.nd._internal, name)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        got = function(*given[:at], a, *given[at + 1 :])
                    except (CynetError, TypeError, ValueError, IndexError):
                        continue
                    finally:
                        tried += 1
                    want = function(*dense)
                pairs = zip(got, want) if isinstance(got, list) else [(got, want)]
                for g, w in pairs:
                    np.testing.assert_allclose(
                        g.asnumpy(), w.asnumpy(), rtol=1e-4, atol=1e-5, err_msg=name
                    )
                compared += 1
    assert tried > 300
    assert compared > 150


TENSORS = [
    ((5, 4), (4,)),
    ((5, 4), (4, 3)),
    ((5, 4), (4, 2, 3)),
    ((5,), (5, 4)),
    ((2, 3, 5), (5, 4)),
    ((5, 4), (4, 0)),
    ((0, 4), (4, 3)),
    ((0, 5), (5, 4)),
    ((5, 4), (5,)),
    ((5, 4), (5, 2, 3)),
]


@pytest.mark.filterwarnings("ignore:operator dot has no form")
@pytest.mark.parametrize("lhs, rhs", TENSORS)
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("stype", [None, "default", "csr", "row_sparse"])
def test_products_of_vectors_and_tensors(lhs, rhs, transpose, stype, rng, monkeypatch):
    """Of any number of axes, in every form, with gradients; against NumPy."""
    monkeypatch.setenv("CYNET_STORAGE_FALLBACK", "warn")
    x, y = (rng.uniform(1, 2, shape) * (rng.random(shape) < 0.5) for shape in (lhs, rhs))
    left = np.swapaxes(x, 0, -1) if transpose else x
    if left.shape[-1] != y.shape[0]:
        return
    want = np.tensordot(left, y, 1)
    head = rng.uniform(1, 2, want.shape)
    inner, more = tuple(range(left.ndim - 1, want.ndim)), tuple(range(1, y.ndim))
    to_x = (
        np.tensordot(y, head, (more, inner)) if transpose else np.tensordot(head, y, (inner, more))
    )
    rest = tuple(range(left.ndim - 1))
    to_y = np.tensordot(left, head, (rest, rest))
    options = {} if stype is None else {"forward_stype": stype}
    kinds = ("default", "csr", "row_sparse")
    for of_x, of_y in [(a, b) for a in kinds for b in kinds]:
        if (of_x == "csr" and x.ndim != 2) or (of_y == "csr" and y.ndim != 2):
            continue
        a, b = (mx.nd.array(v, dtype="float64").tostype(s) for v, s in ((x, of_x), (y, of_y)))
        for each in (a, b):
            each.attach_grad()
        with mx.autograd.record():
            out = mx.nd.dot(a, b, transpose_a=transpose, **options)
        assert out.shape == want.shape
        close(out, want, "float64")
        if 0 not in want.shape:
            out.backward(mx.nd.array(head, dtype="float64"))
            close(a.grad, to_x, "float64")
            close(b.grad, to_y, "float64")
