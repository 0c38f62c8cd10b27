"""Module with csr data and row_sparse weights: it trains as the dense one, by rows."""

import numpy as np
import pytest

import cynet as mx


@pytest.fixture
def data(rng):
    x = (rng.random((60, 30)) * (rng.random((60, 30)) < 0.15)).astype("f")
    return x, (x @ rng.normal(size=30) > 0).astype("f")


def network(stype):
    sparse = stype == "row_sparse"
    x = mx.sym.Variable("data", stype="csr" if sparse else None)
    w = mx.sym.Variable("weight", shape=(30, 2), stype=stype, init=mx.init.One())
    score = mx.sym.broadcast_add(mx.sym.sparse.dot(x, w), mx.sym.Variable("bias", shape=(2,)))
    return mx.sym.SoftmaxOutput(score, name="softmax")


def trained(data, stype, kvstore, optimizer="sgd", wd=0.0, contexts=1, prepare=False):
    x, y = data
    given = mx.nd.array(x).tostype("csr") if stype == "row_sparse" else x
    batches = mx.io.NDArrayIter(given, y, 10)
    module = mx.mod.Module(network(stype), context=[mx.cpu(i) for i in range(contexts)])
    module.bind(batches.provide_data, batches.provide_label)
    module.init_params(mx.init.Zero())
    settings = {"learning_rate": 0.1, "wd": wd}
    module.init_optimizer(kvstore, optimizer, settings)
    for _ in range(2):
        batches.reset()
        for batch in batches:
            if prepare:
                module.prepare(batch, lambda b: {"weight": b.data[0].indices})
            module.forward_backward(batch)
            module.update()
    return module, batches


@pytest.mark.parametrize("store", [None, "local", "object"])
@pytest.mark.parametrize("contexts", [1, 2])
def test_it_trains_as_the_dense_one(data, store, contexts):
    found = []
    for stype in ("row_sparse", "default"):
        kvstore = mx.kv.create("local") if store == "object" else store
        module, batches = trained(data, stype, kvstore, contexts=contexts, prepare=True)
        found.append(module.get_params()[0]["weight"].asnumpy())
        score = dict(module.score(batches, "acc"))
    np.testing.assert_allclose(found[0], found[1], 1e-4, 1e-6)
    assert score["accuracy"] > 0.4


def test_gradients_are_row_sparse_and_adam_is_lazy(data):
    """Rows of columns that no example has stay at 1, whatever momentum they would have."""
    x, y = data
    x = x.copy()
    x[:, [3, 17]] = 0
    module, _ = trained((x, y), "row_sparse", None, "adam", wd=0.1)
    (grad,) = module._exec_group.grad_arrays[0]
    assert grad.stype == "row_sparse"
    weight = module.get_params()[0]["weight"].asnumpy()
    assert (weight[[3, 17]] == 1).all() and (weight[[0, 1]] != 1).any()


def test_fit_score_predict_and_checkpoints(data, tmp_path):
    x, y = data
    batches = mx.io.NDArrayIter(mx.nd.array(x).tostype("csr"), y, 16)
    module = mx.mod.Module(network("row_sparse"))
    module.fit(batches, num_epoch=4, optimizer="adagrad", optimizer_params={"learning_rate": 0.5})
    accuracy = dict(module.score(batches, "acc"))["accuracy"]
    assert accuracy > 0.8
    module.save_checkpoint(str(tmp_path / "m"), 1)
    again = mx.mod.Module.load(str(tmp_path / "m"), 1)
    again.bind(batches.provide_data, batches.provide_label, for_training=False)
    assert dict(again.score(batches, "acc"))["accuracy"] == accuracy
    batches.reset()
    assert again.predict(batches).shape == (60, 2)


def test_factorization_machine(rng):
    """MXNet's example: products of all pairs of features through factors of two."""
    x = (rng.random((400, 20)) < 0.2).astype("f")
    pairs = np.triu(rng.normal(size=(20, 2)) @ rng.normal(size=(2, 20)), 1)
    y = ((x @ pairs * x).sum(1) > 0).astype("f")
    data = mx.sym.Variable("data", stype="csr")
    v = mx.sym.Variable("v", shape=(20, 4), stype="row_sparse", init=mx.init.Normal(0.1))
    w = mx.sym.Variable("w", shape=(20, 1), stype="row_sparse", init=mx.init.Normal(0.1))
    w1 = mx.sym.sparse.dot(data, w)
    v_s = mx.sym._internal._square_sum(data=v, axis=1, keepdims=True)
    half = 0.5 * mx.sym.square(mx.sym.sparse.dot(data, v))
    both = mx.sym.Concat(w1, half, dim=1)
    sum1 = mx.sym.sum(both, axis=1, keepdims=True)
    sum2 = 0.5 * mx.sym.negative(mx.sym.sparse.dot(data.square(), v_s))
    net = mx.sym.LogisticRegressionOutput(mx.sym.elemwise_add(sum1, sum2), name="out")
    batches = mx.io.NDArrayIter(mx.nd.array(x).tostype("csr"), y, 40, label_name="out_label")
    module = mx.mod.Module(net, label_names=["out_label"])
    mx.random.seed(3)
    np.random.seed(3)
    metric = mx.metric.create(lambda label, pred: ((pred.ravel() > 0.5) == label).mean())
    settings = {"optimizer": "adam", "optimizer_params": {"learning_rate": 0.05}}
    module.fit(batches, eval_metric=metric, num_epoch=25, **settings)
    assert module.score(batches, metric)[0][1] > 0.75
