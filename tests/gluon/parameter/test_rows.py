"""Parameters with row_sparse gradients or storage, and networks that train them."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd
from cynet.gluon import nn


def test_row_sparse_data(rng):
    values = rng.random((6, 2)).astype("f")
    w = gluon.Parameter("w", shape=(6, 2), stype="row_sparse", grad_stype="row_sparse")
    w.initialize()
    w.set_data(nd.array(values))
    rows = w.row_sparse_data(nd.array([[4, 1], [4, 4]]))
    assert rows.stype == "row_sparse" and rows.indices.asnumpy().tolist() == [1, 4]
    np.testing.assert_array_equal(rows.data.asnumpy(), values[[1, 4]])
    (rows,) = w.list_row_sparse_data(nd.array([0]))
    assert rows.indices.asnumpy().tolist() == [0] and w.stype == w.grad_stype == "row_sparse"
    for call in (w.data, w.list_data):
        with pytest.raises(RuntimeError, match="take row_sparse_data"):
            call()
    with pytest.raises(RuntimeError, match="take data"):
        gluon.Parameter("v", shape=(2, 2)).row_sparse_data(nd.array([0]))
    with pytest.raises(mx.MXNetError, match="from 0 to 5, found 6"):
        w.row_sparse_data(nd.array([6]))


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("hybridize", [False, True])
def test_an_embedding_learns_by_rows(rng, stype, hybridize):
    """SGD with momentum and decay: rows that no batch named stay exactly as they were."""
    if stype == "row_sparse":
        layer = gluon.contrib.nn.SparseEmbedding(20, 4)
    else:
        layer = nn.Embedding(20, 4, sparse_grad=True)
    layer.initialize()
    layer.hybridize(hybridize)
    start = rng.normal(size=(20, 4)).astype("f")
    layer.weight.set_data(nd.array(start))
    settings = {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}
    trainer = gluon.Trainer(layer.collect_params(), "sgd", settings)
    want, momentum = start.astype("f8"), np.zeros((20, 4))
    for _ in range(5):
        ids = rng.integers(0, 12, (3, 2))
        with autograd.record():
            loss = (layer(nd.array(ids)) ** 2).sum()
        loss.backward()
        grad = layer.weight.grad()
        rows = np.unique(ids)
        assert grad.stype == "row_sparse" and grad.indices.asnumpy().tolist() == rows.tolist()
        trainer.step(1)
        full = np.zeros((20, 4))
        np.add.at(full, ids.ravel(), 2 * want[ids.ravel()])
        momentum[rows] = 0.9 * momentum[rows] - 0.1 * (full[rows] + 0.01 * want[rows])
        want[rows] += momentum[rows]
    found = layer.weight._reduce().asnumpy()
    np.testing.assert_allclose(found, want, 1e-4, 1e-6)
    np.testing.assert_array_equal(found[12:], start[12:])


def test_a_network_behind_an_embedding_equals_the_dense_one(rng):
    """The same numbers as with a dense gradient, with hybridized layers behind it."""
    ids, target = rng.integers(0, 30, (4, 8, 5)), rng.normal(size=(4, 8, 2))
    found = []
    for sparse in (True, False):
        mx.random.seed(1)
        np.random.seed(1)
        net = nn.HybridSequential()
        net.add(nn.Embedding(30, 6, sparse_grad=sparse), nn.Dense(7, "tanh"), nn.Dense(2))
        net.initialize()
        net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        for x, y in zip(ids, target):
            with autograd.record():
                loss = gluon.loss.L2Loss()(net(nd.array(x)), nd.array(y))
            loss.backward()
            assert net[0].weight.grad().stype == ("row_sparse" if sparse else "default")
            trainer.step(8)
        found.append([each.data().asnumpy() for each in net.collect_params().values()])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, 1e-5, 1e-6)


def test_files_and_zero_grad(tmp_path):
    layer = gluon.contrib.nn.SparseEmbedding(5, 2)
    layer.initialize()
    layer.save_parameters(str(tmp_path / "w.params"))
    saved = nd.load(str(tmp_path / "w.params"))["weight"]
    assert saved.stype == "row_sparse" and saved.indices.shape == (5,)
    again = gluon.contrib.nn.SparseEmbedding(5, 2)
    again.load_parameters(str(tmp_path / "w.params"))
    x = nd.array([0, 4])
    np.testing.assert_array_equal(again(x).asnumpy(), layer(x).asnumpy())
    with autograd.record():
        layer(x).sum().backward()
    layer.weight.zero_grad()
    assert layer.weight.grad().indices.shape == (0,)


def test_grad_req_add_and_clipping(rng):
    layer = nn.Embedding(8, 2, sparse_grad=True)
    layer.initialize()
    layer.weight.grad_req = "add"
    for ids in ([1, 1], [1, 5]):
        with autograd.record():
            layer(nd.array(ids)).sum().backward()
    grad = layer.weight.grad()
    assert grad.indices.asnumpy().tolist() == [1, 5]
    for wait in (True, False):
        norm = gluon.utils.clip_global_norm([grad], 0.5, check_isfinite=wait)
        norm = norm if wait else norm.asscalar()
        np.testing.assert_allclose(norm, 20**0.5 if wait else 0.5, 1e-5)
    want = np.zeros((8, 2))
    want[1], want[5] = 3, 1
    np.testing.assert_allclose(grad.asnumpy(), want * 0.5 / 20**0.5, 1e-5)


def test_two_contexts_without_a_store(rng):
    layer = nn.Embedding(8, 2, sparse_grad=True)
    contexts = [mx.cpu(0), mx.cpu(1)]
    layer.initialize(mx.init.One(), ctx=contexts)
    trainer = gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 1.0}, kvstore=None)
    with autograd.record():
        losses = [layer(nd.array([i, 3], ctx=ctx)).sum() for i, ctx in enumerate(contexts)]
    autograd.backward(losses)
    trainer.step(1)
    for each in layer.weight.list_data():
        assert each.asnumpy()[:, 0].tolist() == [0, 0, 1, -1, 1, 1, 1, 1]


def test_names_and_printing():
    layer = gluon.contrib.nn.SparseEmbedding(10, 4)
    assert repr(layer) == "SparseEmbedding(10 -> 4, float32)"
    assert layer.weight.stype == "row_sparse"
    with pytest.raises(
        AssertionError, match="Parameter 'w': stype must be 'default' or 'row_sparse', got"
    ):
        gluon.Parameter("w", stype="csr")
