"""mx.nd.sparse and mx.sym.sparse have the public names of MXNet 1.9.1's modules, and use them."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.mxnet_globals import globals_of_mxnet
from cynet.operator.sparse.names import OPERATORS


def public(path):
    """The names of MXNet's module that are not modules, nor private but for operators."""
    homes = globals_of_mxnet()[path].items()
    private = ("_contrib_round_ste", "_contrib_sign_ste")
    return sorted(
        name
        for name, (_, there) in homes
        if (name[0] != "_" or (name in private and path == "symbol.sparse")) and there is not None
    )


@pytest.mark.parametrize(
    "module, path, count",
    [(mx.nd.sparse, "ndarray.sparse", 98), (mx.sym.sparse, "symbol.sparse", 74)],
)
def test_every_public_name_is_there(module, path, count):
    names = public(path)
    assert len(names) >= count
    for name in names:
        assert getattr(module, name) is not None
    assert {*names} <= {*dir(module)}


def test_every_operator_has_both_faces():
    for name in OPERATORS:
        assert callable(getattr(mx.nd.sparse, name)) and callable(getattr(mx.sym.sparse, name))


def test_what_belongs_to_others_is_theirs():
    assert mx.nd.sparse.Context is mx.Context and mx.nd.sparse.NDArray is mx.nd.NDArray
    assert mx.nd.sparse.NotSupportedForSparseNDArray is mx.base.NotSupportedForSparseNDArray
    assert mx.nd.sparse.current_context() == mx.cpu() and mx.nd.sparse.py_sum([1, 2]) == 3
    assert mx.nd.sparse.py_slice is slice and mx.nd.sparse.integer_types[0] is int
    assert mx.nd.sparse.gs_retain is mx.nd.sparse.retain
    with pytest.raises(AttributeError, match=r"mx.nd.sparse has no"):
        _ = mx.nd.sparse.nothing
    with pytest.raises(AttributeError, match=r"mx.sym.sparse has no"):
        _ = mx.sym.sparse.nothing


def test_graphs_cast_and_retain(rng):
    """cast_storage makes csr of a dense variable inside of a graph; retain keeps rows."""
    data, weight = rng.random((4, 6)).astype("f"), rng.random((6, 3)).astype("f")
    data[data < 0.5] = 0
    csr = mx.sym.sparse.cast_storage(mx.sym.var("data"), stype="csr", name="cast")
    kept = mx.sym.sparse.retain(mx.sym.var("weight", stype="row_sparse"), mx.sym.var("rows"))
    out = mx.sym.Group([csr, mx.sym.sparse.dot(csr, kept)])
    args = {
        "data": mx.nd.array(data),
        "weight": mx.nd.array(weight).tostype("row_sparse"),
        "rows": mx.nd.array([1, 4]),
    }
    found = out.bind(mx.cpu(), args).forward()
    masked = np.zeros_like(weight)
    masked[[1, 4]] = weight[[1, 4]]
    assert found[0].stype == "csr"
    np.testing.assert_array_equal(found[0].asnumpy(), data)
    np.testing.assert_allclose(found[1].asnumpy(), data @ masked, rtol=1e-5)


def test_a_graph_that_casts_dense_variables(rng):
    """No variable is sparse, what cast_storage gives is: with gradients."""
    x = rng.random((4, 6)).astype("f") * (rng.random((4, 6)) < 0.4)
    csr = mx.sym.cast_storage(mx.sym.var("x"), "csr")
    out = mx.sym.sparse.dot(csr, mx.sym.var("w"))
    net = out.simple_bind(mx.cpu(), x=(4, 6), w=(6, 2))
    w = rng.random((6, 2)).astype("f")
    net.arg_dict["x"][:], net.arg_dict["w"][:] = mx.nd.array(x), mx.nd.array(w)
    found = net.forward(is_train=True)[0]
    net.backward(mx.nd.ones((4, 2)))
    np.testing.assert_allclose(found.asnumpy(), x @ w, rtol=1e-5)
    np.testing.assert_allclose(net.grad_dict["w"].asnumpy(), x.T @ np.ones((4, 2)), rtol=1e-5)
    np.testing.assert_allclose(net.grad_dict["x"].asnumpy(), np.ones((4, 2)) @ w.T, rtol=1e-5)
    assert csr.bind(mx.cpu(), {"x": mx.nd.array(x)}).forward()[0].stype == "csr"
