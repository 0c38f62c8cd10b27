"""Graphs with sparse arrays, which run node by node: the numbers of the dense graph."""

import numpy as np
import pytest

import cynet as mx
from cynet import nd
from cynet.base.errors import ArgumentError, CynetError, ShapeError


def random_csr(rng, shape, density=0.4):
    dense = (rng.random(shape) * (rng.random(shape) < density)).astype("f")
    return nd.array(dense).tostype("csr"), dense


def linear(stype="row_sparse"):
    x = mx.sym.Variable("x", stype="csr")
    w = mx.sym.Variable("w", stype=stype, shape=(5, 3))
    return mx.sym.broadcast_add(mx.sym.sparse.dot(x, w), mx.sym.Variable("b"), name="y")


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("req", ["write", "add"])
def test_simple_bind(rng, stype, req):
    exe = linear(stype).simple_bind(mx.cpu(), x=(4, 5), b=(3,), grad_req={"w": req, "b": req})
    assert [each.stype for each in exe.arg_arrays] == ["csr", stype, "default"]
    assert exe.grad_dict["w"].stype == stype and exe.grad_dict["x"] is None
    matrix, m = random_csr(rng, (4, 5))
    w, b, head = rng.random((5, 3)), rng.random(3), rng.random((4, 3))
    exe.copy_params_from({"w": nd.array(w), "b": nd.array(b)})
    outputs = exe.outputs
    for i in range(1, 3):
        (out,) = exe.forward(True, x=matrix)
        assert out is outputs[0]
        np.testing.assert_allclose(out.asnumpy(), m @ w + b, 1e-5)
        exe.backward(nd.array(head))
        times = i if req == "add" else 1
        np.testing.assert_allclose(exe.grad_dict["w"].asnumpy(), times * m.T @ head, 1e-5, 1e-6)
        np.testing.assert_allclose(exe.grad_dict["b"].asnumpy(), times * head.sum(0), 1e-5)
    words = exe.debug_str()
    assert f"dot dot0: (csr, {stype}) -> (default)" in words.replace(
        words.split("dot ")[1].split(":")[0], "dot0"
    )


def test_bind_by_arrays(rng):
    matrix, m = random_csr(rng, (4, 5))
    w, b = rng.random((5, 3)).astype("f"), rng.random(3).astype("f")
    grad = nd.sparse.zeros("row_sparse", (5, 3))
    args = {"x": matrix, "w": nd.array(w), "b": nd.array(b)}
    exe = linear().bind(mx.cpu(), args, args_grad={"w": grad})
    exe.forward(True)
    exe.backward([nd.ones((4, 3))])
    assert grad.indices.asnumpy().tolist() == np.flatnonzero((m != 0).any(0)).tolist()
    np.testing.assert_allclose(grad.asnumpy(), m.T @ np.ones((4, 3)), 1e-5)
    (out,) = linear().eval(mx.cpu(), **args)
    np.testing.assert_allclose(out.asnumpy(), m @ w + b, 1e-5)


def test_a_loss_needs_no_head_and_others_do(rng):
    x, w = mx.sym.Variable("x", stype="csr"), mx.sym.Variable("w")
    score = mx.sym.sparse.dot(x, w)
    loss = mx.sym.Group([mx.sym.LinearRegressionOutput(score, name="l"), mx.sym.BlockGrad(score)])
    exe = loss.simple_bind(mx.cpu(), x=(4, 5), w=(5, 1), grad_req={"w": "write"})
    matrix, m = random_csr(rng, (4, 5))
    label = rng.random((4, 1)).astype("f")
    exe.forward(True, x=matrix, l_label=label.ravel())
    exe.backward()
    np.testing.assert_allclose(exe.grad_dict["w"].asnumpy(), m.T @ -label, 1e-5)
    exe = score.simple_bind(mx.cpu(), x=(4, 5), w=(5, 1), grad_req={"w": "write"})
    exe.forward(True, x=matrix)
    with pytest.raises(ArgumentError, match="is not a loss function"):
        exe.backward()
    exe.backward(nd.ones((4, 1)))
    with pytest.raises(CynetError, match="call forward first"):
        exe.backward(nd.ones((4, 1)))


def test_states_and_modes(rng):
    """BatchNorm moves its states in training alone; Dropout does nothing in prediction."""
    x, w = mx.sym.Variable("x", stype="csr"), mx.sym.Variable("w")
    net = mx.sym.BatchNorm(mx.sym.Dropout(mx.sym.sparse.dot(x, w), p=0.5), name="n")
    exe = net.simple_bind(mx.cpu(), x=(4, 5), w=(5, 2))
    matrix, m = random_csr(rng, (4, 5))
    exe.arg_dict["w"][:] = 1
    exe.aux_dict["n_moving_var"][:] = 1
    (out,) = exe.forward(False, x=matrix)
    np.testing.assert_allclose(out.asnumpy(), m @ np.ones((5, 2)) / np.sqrt(1.001), 1e-4)
    assert exe.aux_dict["n_moving_mean"].asnumpy().max() == 0
    exe.forward(True)
    exe.backward(nd.ones((4, 2)))
    assert exe.aux_dict["n_moving_mean"].asnumpy().max() > 0


def test_reshape_and_monitor(rng):
    exe = linear().simple_bind(mx.cpu(), x=(4, 5), b=(3,))
    exe.copy_params_from({"w": nd.ones((5, 3)), "b": nd.ones(3)})
    again = exe.reshape(x=(2, 5))
    assert again.arg_dict["w"] is exe.arg_dict["w"]
    seen = {}
    again.set_monitor_callback(lambda name, array: seen.update({name: array.asnumpy()}))
    matrix, m = random_csr(rng, (2, 5))
    (out,) = again.forward(x=matrix)
    np.testing.assert_allclose(out.asnumpy(), m @ np.ones((5, 3)) + 1, 1e-5)
    assert out.shape == (2, 3) and "y_output" in seen
    with pytest.raises(ShapeError, match=r"lhs=\(4, 6\), rhs=\(5, 3\)"):
        exe.reshape(x=(4, 6))


def test_a_graph_without_gradients(rng):
    exe = linear().simple_bind(mx.cpu(), x=(4, 5), b=(3,), grad_req="null")
    exe.forward()
    exe.backward()
    assert exe.outputs[0].asnumpy().max() == 0


def test_what_no_output_depends_on_gets_zeros(rng):
    x, w = mx.sym.Variable("x", stype="csr"), mx.sym.Variable("w", stype="row_sparse")
    net = mx.sym.BlockGrad(mx.sym.sparse.dot(x, w))
    exe = net.simple_bind(mx.cpu(), x=(4, 5), w=(5, 2), grad_req={"w": "write"})
    exe.grad_dict["w"][:] = nd.ones((5, 2))
    exe.forward(True)
    exe.backward()
    assert exe.grad_dict["w"].indices.shape == (0,)


def test_what_is_refused():
    with pytest.raises(ArgumentError, match="group2ctx and sparse"):
        linear().simple_bind(mx.cpu(), x=(4, 5), b=(3,), group2ctx={"a": mx.cpu(1)})
    exe = linear().simple_bind(mx.cpu(), x=(4, 5), b=(3,))
    with pytest.raises(ShapeError, match="'x' has shape"):
        exe.forward(x=nd.ones((2, 5)))
    with pytest.raises(CynetError, match="node by node"):
        exe.profile(exe.forward)


@pytest.mark.parametrize("axis", [0, 1])
def test_square_sum(rng, axis):
    dense = rng.random((5, 3)).astype("f")
    dense[[1, 3]] = 0
    w = mx.sym.Variable("w", stype="row_sparse")
    net = mx.sym._internal._square_sum(data=w, axis=axis, keepdims=True)
    exe = net.bind(mx.cpu(), {"w": nd.array(dense).tostype("row_sparse")}, grad_req="null")
    want = (dense**2).sum(axis, keepdims=True)
    np.testing.assert_allclose(exe.forward()[0].asnumpy(), want, 1e-6)
    found = nd._internal._square_sum(nd.array(dense).tostype("row_sparse"), axis=axis)
    np.testing.assert_allclose(found.asnumpy(), (dense**2).sum(axis), 1e-6)
