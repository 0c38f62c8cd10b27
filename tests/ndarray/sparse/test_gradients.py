"""Gradients that are row_sparse, and gradients through sparse arrays, against NumPy."""

import itertools

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, nd
from cynet.base.errors import GradientError, ShapeError
from cynet.ndarray.sparse.gradients import add_gradients

DTYPES = ("float32", "float64")


def random_csr(rng, shape, density=0.4, dtype="float32"):
    dense = rng.random(shape) * (rng.random(shape) < density)
    dense = dense.astype(dtype)
    return nd.array(dense, dtype=dtype).tostype("csr"), dense


def random_rows(rng, shape, rows, dtype="float32"):
    dense = np.zeros(shape, dtype)
    dense[rows] = rng.random((len(rows), *shape[1:]))
    values = nd.array(dense[rows], dtype=dtype)
    return nd.sparse.row_sparse_array((values, rows), shape=shape), dense


def with_grad(rng, shape, dtype="float32", req="write"):
    dense = rng.random(shape).astype(dtype)
    array = nd.array(dense, dtype=dtype)
    array.attach_grad(req, stype="row_sparse")
    return array, dense


def scattered(ids, grads, shape):
    out = np.zeros(shape, "float64")
    np.add.at(out, ids.astype(int).ravel(), grads.reshape(-1, shape[1]))
    return out


@pytest.mark.parametrize("dtype", [*DTYPES, "float16"])
def test_embedding_gives_the_rows_that_occur(rng, dtype):
    weight, _ = with_grad(rng, (9, 3), dtype)
    ids = np.array([[1, 7, 1], [4, 1, 7]])
    head = rng.random((2, 3, 3)).astype(dtype)
    with autograd.record():
        out = nd.Embedding(nd.array(ids), weight, input_dim=9, output_dim=3, sparse_grad=True)
    out.backward(nd.array(head, dtype=dtype))
    assert weight.grad.stype == "row_sparse" and weight.grad.dtype == np.dtype(dtype)
    assert weight.grad.indices.asnumpy().tolist() == [1, 4, 7]
    close = 1e-2 if dtype == "float16" else 1e-6
    np.testing.assert_allclose(weight.grad.asnumpy(), scattered(ids, head, (9, 3)), close)


@pytest.mark.filterwarnings("ignore:operator Embedding.* names none of")
def test_indices_out_of_range_count_as_the_nearest(rng):
    weight, _ = with_grad(rng, (4, 2))
    with autograd.record():
        out = nd.Embedding(nd.array([-3, 9, 2]), weight, input_dim=4, output_dim=2)
    out.backward()
    assert weight.grad.indices.asnumpy().tolist() == [0, 2, 3]


def test_uses_are_summed(rng):
    """An Embedding twice, a product with a csr matrix and a dense use of some rows."""
    weight, w = with_grad(rng, (6, 2))
    matrix, m = random_csr(rng, (3, 6))
    with autograd.record():
        first = nd.Embedding(nd.array([1, 2, 1]), weight, input_dim=6, output_dim=2)
        second = nd.Embedding(nd.array([2]), weight, input_dim=6, output_dim=2)
        loss = (first**2).sum() + second.sum() + (nd.sparse.dot(matrix, weight) ** 2).sum()
    loss.backward()
    want = scattered(np.array([1, 2, 1]), 2 * w[[1, 2, 1]], (6, 2)) + 2 * m.T @ (m @ w)
    want[2] += 1
    np.testing.assert_allclose(weight.grad.asnumpy(), want, 1e-5, 1e-6)
    assert weight.grad.stype == "row_sparse"
    with autograd.record():
        loss = nd.Embedding(nd.array([5]), weight, input_dim=6, output_dim=2).sum() + weight.sum()
    loss.backward()
    want = np.ones((6, 2))
    want[5] += 1
    np.testing.assert_array_equal(weight.grad.asnumpy(), want)


def test_add_gathers_rows_over_steps(rng):
    weight, _ = with_grad(rng, (6, 2), req="add")
    want = np.zeros((6, 2))
    for ids in ([0, 3], [3, 5], [3, 3]):
        with autograd.record():
            out = nd.Embedding(nd.array(ids), weight, input_dim=6, output_dim=2)
        out.backward()
        np.add.at(want, ids, 1)
        np.testing.assert_array_equal(weight.grad.asnumpy(), want)
    weight.grad[:] = 0
    assert weight.grad.indices.shape == (0,)


def test_write_forgets_the_step_before(rng):
    weight, _ = with_grad(rng, (6, 2))
    for ids in ([0, 3], [4]):
        with autograd.record():
            out = nd.Embedding(nd.array(ids), weight, input_dim=6, output_dim=2)
        out.backward()
        assert weight.grad.indices.asnumpy().tolist() == ids


def test_dense_and_sparse_parts_of_a_dense_gradient(rng):
    """A dense variable whose gradient is dense gets the same numbers."""
    dense = rng.random((6, 2)).astype("float32")
    matrix, m = random_csr(rng, (3, 6))
    weight = nd.array(dense)
    weight.attach_grad()
    with autograd.record():
        loss = (nd.sparse.dot(matrix, weight) ** 2).sum() + weight.sum()
    loss.backward()
    assert weight.grad.stype == "default"
    np.testing.assert_allclose(weight.grad.asnumpy(), 1 + 2 * m.T @ (m @ dense), 1e-5)


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_dot_of_csr(rng, transpose, stype, dtype):
    matrix, m = random_csr(rng, (4, 5), dtype=dtype)
    m = m.T if transpose else m
    w = rng.random((m.shape[1], 3)).astype(dtype)
    weight = nd.array(w, dtype=dtype)
    if stype == "row_sparse":
        weight = weight.tostype(stype)
    weight.attach_grad(stype="row_sparse")
    head = rng.random((m.shape[0], 3)).astype(dtype)
    with autograd.record():
        out = nd.sparse.dot(matrix, weight, transpose_a=transpose)
    out.backward(nd.array(head, dtype=dtype))
    np.testing.assert_allclose(out.asnumpy(), m @ w, 1e-5)
    np.testing.assert_allclose(weight.grad.asnumpy(), m.T @ head, 1e-5, 1e-6)
    if not transpose:
        occur = np.flatnonzero((m != 0).any(0))
        assert weight.grad.indices.asnumpy().tolist() == occur.tolist()


def test_dot_of_dense_and_csr(rng):
    matrix, m = random_csr(rng, (4, 5))
    x = rng.random((2, 4)).astype("float32")
    lhs = nd.array(x)
    lhs.attach_grad()
    head = rng.random((2, 5)).astype("float32")
    for stype in ("csr", "default"):
        with autograd.record():
            out = nd.sparse.dot(lhs, matrix, forward_stype=stype)
        assert out.stype == stype
        out.backward(nd.array(head))
        np.testing.assert_allclose(lhs.grad.asnumpy(), head @ m.T, 1e-5)


def test_the_gradient_of_a_csr_matrix(rng):
    matrix, _ = random_csr(rng, (3, 4))
    w = rng.random((4, 2)).astype("float32")
    matrix.attach_grad()
    with autograd.record():
        out = nd.sparse.dot(matrix, nd.array(w))
    out.backward()
    assert matrix.grad.stype == "csr"
    np.testing.assert_allclose(matrix.grad.asnumpy(), np.ones((3, 2)) @ w.T, 1e-6)


def test_fully_connected_of_csr(rng):
    data, x = random_csr(rng, (3, 5))
    w, b = rng.random((2, 5)).astype("float32"), rng.random(2).astype("float32")
    weight, bias = nd.array(w), nd.array(b)
    weight.attach_grad()
    bias.attach_grad()
    head = rng.random((3, 2)).astype("float32")
    with autograd.record():
        out = nd.sparse.FullyConnected(data, weight, bias, num_hidden=2)
    out.backward(nd.array(head))
    np.testing.assert_allclose(out.asnumpy(), x @ w.T + b, 1e-5)
    np.testing.assert_allclose(weight.grad.asnumpy(), head.T @ x, 1e-5)
    np.testing.assert_allclose(bias.grad.asnumpy(), head.sum(0), 1e-5)


def test_embedding_of_a_row_sparse_weight(rng):
    weight, w = random_rows(rng, (8, 2), [1, 3, 6])
    weight.attach_grad()
    with autograd.record():
        out = nd.sparse.Embedding(nd.array([3, 2, 3]), weight, input_dim=8, output_dim=2)
    out.backward()
    np.testing.assert_array_equal(out.asnumpy(), w[[3, 2, 3]])
    assert weight.grad.indices.asnumpy().tolist() == [2, 3]
    assert weight.grad.data.asnumpy().tolist() == [[1, 1], [2, 2]]


def test_retain(rng):
    weight, _ = random_rows(rng, (8, 2), [1, 3, 6])
    weight.attach_grad()
    with autograd.record():
        out = nd.sparse.retain(weight, nd.array([3, 4, 6])) * 2
    out.backward()
    want = np.zeros((8, 2))
    want[[3, 4, 6]] = 2  # MXNet, too, gives rows that the array does not keep
    np.testing.assert_array_equal(weight.grad.asnumpy(), want)


UNARY = {"square": lambda x: 2 * x, "sin": np.cos, "relu": lambda x: 1.0 * (x > 0), "abs": np.sign}


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_elementwise_gradients_are_those_of_dense_arrays(rng, name, stype):
    """Also where nothing is kept: the derivative of sin at 0 is 1."""
    array, dense = random_csr(rng, (5, 4))
    if stype == "row_sparse":
        array = nd.array(dense).tostype(stype)
    array.attach_grad()
    with autograd.record():
        out = getattr(nd.sparse, name)(array)
    assert out.stype == stype
    out.backward()
    assert array.grad.stype == stype
    np.testing.assert_allclose(array.grad.asnumpy(), UNARY[name](dense), 1e-5)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_two_operands(rng, stype):
    a, b = rng.random((2, 5, 4)) * (rng.random((2, 5, 4)) < 0.5)
    lhs, rhs = (nd.array(x).tostype(stype) for x in (a, b))
    lhs.attach_grad()
    rhs.attach_grad(stype="default")
    with autograd.record():
        loss = (lhs * rhs + rhs).sum()
    loss.backward()
    np.testing.assert_allclose(lhs.grad.asnumpy(), b, 1e-6)
    assert rhs.grad.stype == "default"
    np.testing.assert_allclose(rhs.grad.asnumpy(), 1 + a, 1e-6)


def test_storage_types_and_copies_pass_gradients(rng):
    dense = rng.random((3, 4)).astype("float32")
    x = nd.array(dense)
    x.attach_grad()
    with autograd.record():
        loss = (x.tostype("csr").astype("float64").copy()[1:] * 3).tostype("default").sum()
    loss.backward()
    want = np.zeros((3, 4))
    want[1:] = 3
    np.testing.assert_array_equal(x.grad.asnumpy(), want)
    assert x.grad.dtype == np.float32


def test_grad_of_a_row_sparse_variable(rng):
    weight, _ = with_grad(rng, (6, 2))
    with autograd.record():
        loss = nd.Embedding(nd.array([4, 1]), weight, input_dim=6, output_dim=2).sum()
    (grad,) = autograd.grad([loss], [weight], retain_graph=True)
    assert grad.stype == "row_sparse" and grad.indices.asnumpy().tolist() == [1, 4]
    assert weight.grad.indices.shape == (0,)


def test_sparse_gradients_of_heads(rng):
    weight, w = random_rows(rng, (5, 2), [1, 2])
    weight.attach_grad()
    head, h = random_rows(rng, (5, 2), [2, 4])
    with autograd.record():
        out = weight * weight
    out.backward(head)
    np.testing.assert_allclose(weight.grad.asnumpy(), 2 * w * h, 1e-6)
    with autograd.record():
        out = weight * 1
    with pytest.raises(ShapeError, match=r"head 0 has shape \(3, 2\)"):
        out.backward(nd.ones((3, 2)))


@pytest.mark.parametrize("sparse", ["head", "gradient", "both"])
def test_gradients_of_heads_of_another_shape(sparse, rng):
    weight, _ = random_rows(rng, (5, 2), [1, 2])
    weight.attach_grad()
    given = random_rows(rng, (3, 2), [0])[0] if sparse != "head" else nd.ones((3, 2))
    with autograd.record():
        out = weight.tostype("default") if sparse == "gradient" else nd.sparse.square(weight)
    assert (out.stype == "default") == (sparse == "gradient")
    said = r"the gradient of head 0 has shape \(3, 2\), the head has shape \(5, 2\)"
    with pytest.raises(ShapeError, match=said):
        out.backward(given)


def test_sums_of_gradients_of_any_two_forms(rng):
    """In a new array, and in that of the first."""
    dense = nd.array(rng.random((5, 2)))
    forms = random_rows(rng, (5, 2), [1, 2])[0], random_csr(rng, (5, 2))[0], dense
    for a, b in itertools.product(forms, forms):
        if a.stype == b.stype == "default":
            continue
        wanted = a.asnumpy() + b.asnumpy()
        for out in (None, a.copy()):
            found = add_gradients(a if out is None else out, b, out)
            np.testing.assert_allclose(found.asnumpy(), wanted, 1e-6)
            assert found.stype == (a.stype if a.stype == b.stype else "default")


def test_what_is_refused(rng):
    weight, _ = with_grad(rng, (5, 2))
    with pytest.raises(ShapeError, match="the gradient of a variable of shape"):
        autograd.mark_variables(weight, nd.sparse.zeros("row_sparse", (4, 2)))
    sparse = nd.ones((2, 2)).tostype("csr")
    sparse.attach_grad()
    with autograd.record():
        out = (sparse * 2).tostype("default").sum()
        with pytest.raises(
            GradientError, match="inside a record scope; make a new array, or write outside the"
        ):
            sparse[:] = 0
    with pytest.raises(GradientError, match="gradients of gradients"):
        autograd.grad([out], [sparse], create_graph=True)


def test_ids_that_are_overwritten_before_backward(rng):
    weight, _ = random_rows(rng, (5, 2), [0, 1, 2, 3, 4])
    weight.attach_grad()
    ids = nd.array([1, 2])
    with autograd.record():
        out = nd.sparse.Embedding(ids, weight, input_dim=5, output_dim=2)
    ids[:] = 4
    with pytest.raises(GradientError, match="changed in place"):
        out.backward()


def test_foreach_with_a_row_sparse_gradient(rng):
    """Control flow writes whole gradients, which become row_sparse."""
    weight, _ = with_grad(rng, (4, 2))
    with autograd.record():
        out, _ = mx.nd.contrib.foreach(lambda x, s: (nd.dot(x, weight), s), nd.ones((3, 2, 4)), [])
        loss = out.sum()
    loss.backward()
    assert weight.grad.stype == "row_sparse"
    np.testing.assert_allclose(weight.grad.asnumpy(), np.full((4, 2), 6.0))


class Doubled(autograd.Function):
    def forward(self, x):
        return 2 * x

    def backward(self, dy):
        return (2 * dy).tostype("row_sparse")


def _block():
    net = mx.gluon.nn.HybridLambda(lambda F, x: F.exp(x))
    net.hybridize()
    return net


DENSE_STEPS = {
    "operator": lambda x: mx.nd.exp(x),
    "operator given its own output": lambda x: mx.nd.sqrt(x),
    "view": lambda x: x.reshape((3, 2)),
    "copy": lambda x: x.copy(),
    "device": lambda x: x.copyto(mx.cpu(1)),
    "cast": lambda x: x.astype("float64"),
    "index": lambda x: mx.nd.concat(x, x, dim=0)[1:4],
    "Function": lambda x: Doubled()(x),
    "Function of an operator": lambda x: Doubled()(mx.nd.exp(x)),
    "hybridized Block": lambda x: _block()(x),
    "foreach": lambda x: mx.nd.contrib.foreach(lambda row, s: (row * row, s), x, [])[0],
    "sum of two": lambda x: x * 2 + mx.nd.exp(x),
    "written": lambda x: mx.nd.maximum(x, 0.5),
    "passes": lambda x: x + 1,
}
HEADS = ("default", "csr", "row_sparse")


@pytest.mark.filterwarnings("ignore:operator")
@pytest.mark.parametrize("source", ["default", "csr", "row_sparse"])
@pytest.mark.parametrize("name", DENSE_STEPS)
def test_dense_steps_get_dense_gradients(rng, name, source):
    """Whatever the storage type of the head's gradient, or of a sparse step behind it."""
    values = rng.uniform(0.6, 1.4, (3, 2))
    head = rng.uniform(-1, 1, (3, 2)) * [[1, 0], [0, 0], [1, 1]]
    ends = {
        "itself": lambda y: y,
        "csr": lambda y: y.tostype("csr"),
        "row_sparse": lambda y: y.tostype("row_sparse"),
        "retain": lambda y: mx.nd.sparse.retain(y.tostype("row_sparse"), mx.nd.array([0, 2])),
        "dense again": lambda y: (y.tostype("row_sparse") * 1).tostype("default") * 1,
    }
    want = {}
    for (end, last), stype in itertools.product(ends.items(), HEADS):
        x = mx.nd.array(values).tostype(source)
        x.attach_grad()
        with autograd.record():
            step = DENSE_STEPS[name](x if source == "default" else x.tostype("default"))
            y = last(step)
        given = mx.nd.array(head, dtype=y.dtype, ctx=y.context).tostype(stype)
        y.backward(given)
        want.setdefault(name, x.grad.asnumpy())
        np.testing.assert_allclose(x.grad.asnumpy(), want[name], 1e-5, err_msg=f"{end} {stype}")
        if source == "default" and end == "itself":
            found = autograd.grad([_again(x, name)], [x], head_grads=[given])[0]
            np.testing.assert_allclose(found.asnumpy(), want[name], 1e-5, err_msg=stype)


def _again(x, name):
    with autograd.record():
        return DENSE_STEPS[name](x)
