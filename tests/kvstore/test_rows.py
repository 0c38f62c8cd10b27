"""Row_sparse values, pushes and pulls of the stores of one process."""

import numpy as np
import pytest

import cynet as mx
from cynet import nd
from cynet.base.errors import ArgumentError

SHAPE = (7, 2)


def rows(indices, value=1.0):
    values = nd.full((len(indices), SHAPE[1]), value)
    return nd.sparse.row_sparse_array((values, indices), shape=SHAPE)


def table(**values):
    out = np.zeros(SHAPE)
    for row, value in values.items():
        out[int(row[1:])] = value
    return out


@pytest.fixture(params=["local", "device"])
def store(request):
    return mx.kv.create(request.param)


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_pull_of_rows(store, rng, stype):
    start = rng.random(SHAPE).astype("f")
    store.init("w", nd.array(start).tostype(stype))
    out = nd.sparse.zeros("row_sparse", SHAPE)
    store.row_sparse_pull("w", out=out, row_ids=nd.array([[5, 1], [5, 5]]))
    assert out.indices.asnumpy().tolist() == [1, 5]
    np.testing.assert_array_equal(out.data.asnumpy(), start[[1, 5]])
    outs = [nd.sparse.zeros("row_sparse", SHAPE) for _ in range(2)]
    store.row_sparse_pull("w", out=outs, row_ids=[nd.array([0]), nd.array([6, 2], dtype="int64")])
    assert [each.indices.asnumpy().tolist() for each in outs] == [[0], [2, 6]]
    store.row_sparse_pull(["w"], out=[outs], row_ids=nd.array([3]))
    assert [each.indices.asnumpy().tolist() for each in outs] == [[3], [3]]
    with pytest.raises(ArgumentError, match="from 0 to 6, found 7"):
        store.row_sparse_pull("w", out=out, row_ids=nd.array([7]))


def test_pushes_are_summed_by_rows(store):
    store.init(3, nd.sparse.zeros("row_sparse", SHAPE))
    store.push(3, [rows([1, 2]), rows([2, 4], 2.0)])
    out = nd.sparse.zeros("row_sparse", SHAPE)
    store.row_sparse_pull(3, out=out, row_ids=nd.arange(7))
    assert out.indices.asnumpy().tolist() == [1, 2, 4]
    np.testing.assert_array_equal(out.asnumpy(), table(r1=1, r2=3, r4=2))


@pytest.mark.parametrize("stored", ["default", "row_sparse"])
def test_pull_leaves_sparse_arrays_alone_unless_told(store, stored):
    store.init("v", rows([1]).tostype(stored))
    dense, sparse = nd.full(SHAPE, 2), rows([0, 3])
    before = sparse.asnumpy()
    store.pull(["v", "v"], out=[dense, sparse])
    np.testing.assert_array_equal(dense.asnumpy(), table(r1=1))
    np.testing.assert_array_equal(sparse.asnumpy(), before)
    store.pull("v", out=sparse, ignore_sparse=False)
    np.testing.assert_array_equal(sparse.asnumpy(), table(r1=1))


def test_rows_for_each_device_of_each_key(store):
    for key in ("a", "b"):
        store.init(key, rows([0, 1, 2]))
    outs = [[nd.sparse.zeros("row_sparse", SHAPE) for _ in range(2)] for _ in range(2)]
    ids = [[nd.array([1]), nd.array([2, 0])], [nd.array([2]), nd.array([0, 1])]]
    store.row_sparse_pull(["a", "b"], out=outs, row_ids=ids)
    found = [[each.indices.asnumpy().tolist() for each in row] for row in outs]
    assert found == [[[1], [0, 2]], [[2], [0, 1]]]


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_the_optimizer_updates_the_rows_that_were_pushed(store, stype):
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, momentum=0.9, wd=0.1))
    store.init("w", nd.ones(SHAPE).tostype(stype))
    want, momentum = np.ones(SHAPE), np.zeros(SHAPE)
    for pushed in ([1, 2], [2, 6]):
        store.push("w", [rows(pushed), rows([2], 2.0)])
        grad = table(r2=2)
        grad[pushed] += 1
        touched = sorted({*pushed, 2})
        momentum[touched] = (0.9 * momentum - 0.5 * (grad + 0.1 * want))[touched]
        want[touched] += momentum[touched]
    out = nd.sparse.zeros("row_sparse", SHAPE)
    store.row_sparse_pull("w", out=out, row_ids=nd.arange(7))
    np.testing.assert_allclose(out.asnumpy(), want, 1e-6)


def test_an_updater_gets_the_gradient_as_row_sparse(store):
    seen = []
    store.set_updater(lambda key, grad, weight: seen.append((key, grad.stype, weight.stype)))
    store.init("w", nd.ones(SHAPE))
    store.push("w", [rows([1]), rows([1])])
    assert seen == [("w", "row_sparse", "default")]


def test_compression_is_for_dense_arrays():
    store = mx.kv.create("device")
    store.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    store.init("w", nd.ones(SHAPE))
    with pytest.raises(ArgumentError, match="compression is for dense arrays"):
        store.push("w", rows([1]))


@pytest.mark.parametrize("on_kvstore", [True, False])
def test_trainer_over_two_contexts(store, on_kvstore):
    """Rows of both contexts' gradients move, the others stay."""
    layer = mx.gluon.nn.Embedding(*SHAPE, sparse_grad=True)
    contexts = [mx.cpu(0), mx.cpu(1)]
    layer.initialize(mx.init.One(), ctx=contexts)
    settings = {"learning_rate": 1.0, "wd": 0.5}
    trainer = mx.gluon.Trainer(
        layer.collect_params(), "sgd", settings, kvstore=store, update_on_kvstore=on_kvstore
    )
    with mx.autograd.record():
        losses = [layer(nd.array([i, 3], ctx=ctx)).sum() for i, ctx in enumerate(contexts)]
    mx.autograd.backward(losses)
    trainer.step(1)
    for each in layer.weight.list_data():
        assert each.asnumpy()[:, 0].tolist() == [-0.5, -0.5, 1, -1.5, 1, 1, 1]
