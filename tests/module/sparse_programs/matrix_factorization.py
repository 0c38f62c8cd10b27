"""Matrix factorization: sparse embeddings of users and items, by Module and by Gluon."""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon

USERS, ITEMS, FACTORS, BATCH = 300, 200, 8, 250


def ratings(rng):
    p, q = rng.standard_normal((USERS, 3)), rng.standard_normal((ITEMS, 3))
    users, items = rng.integers(0, USERS, 5000), rng.integers(0, ITEMS, 5000)
    return users, items, (p[users] * q[items]).sum(1).astype("float32")


def by_module(users, items, scores, dense):
    stype = "default" if dense else "row_sparse"
    user, item = mx.symbol.Variable("user"), mx.symbol.Variable("item")
    score = mx.symbol.Variable("score")
    norm = mx.init.Normal(0.1)
    user_weight = mx.symbol.Variable("user_weight", stype=stype, init=norm)
    item_weight = mx.symbol.Variable("item_weight", stype=stype, init=norm)
    user = mx.symbol.Embedding(
        data=user, weight=user_weight, input_dim=USERS, output_dim=FACTORS, sparse_grad=not dense
    )
    item = mx.symbol.Embedding(
        data=item, weight=item_weight, input_dim=ITEMS, output_dim=FACTORS, sparse_grad=not dense
    )
    pred = mx.symbol.sum(data=user * item, axis=1)
    pred = mx.symbol.Flatten(data=pred)
    net = mx.symbol.LinearRegressionOutput(data=pred, label=score)
    it = mx.io.NDArrayIter(
        {"user": users.astype("float32"), "item": items.astype("float32")},
        {"score": scores},
        BATCH,
        shuffle=True,
    )
    mod = mx.module.Module(
        symbol=net, data_names=["user", "item"], label_names=["score"], context=[mx.cpu()]
    )
    mod.bind(data_shapes=it.provide_data, label_shapes=it.provide_label)
    mod.init_params(initializer=mx.init.Xavier(factor_type="in", magnitude=2.34))
    mod.init_optimizer(
        optimizer=mx.optimizer.create("adam", learning_rate=0.03, rescale_grad=1.0 / BATCH),
        kvstore="local",
    )
    metric = mx.metric.create(["MSE"])
    seen = []
    for _ in range(30):
        it.reset()
        metric.reset()
        for batch in it:
            named = dict(zip([each.name for each in it.provide_data], batch.data))
            ids = {f"{name}_weight": array.astype("int64") for name, array in named.items()}
            if not dense:
                mod.prepare(batch, sparse_row_id_fn=lambda _, ids=ids: ids)
            mod.forward_backward(batch)
            mod.update()
            mod.update_metric(metric, batch.label)
        seen.append(metric.get()[1][0])
    return seen


class Factors(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.users = gluon.nn.Embedding(USERS, FACTORS, sparse_grad=True)
            self.items = gluon.nn.Embedding(ITEMS, FACTORS, sparse_grad=True)

    def hybrid_forward(self, F, user, item):
        return F.sum(self.users(user) * self.items(item), axis=1)


class Rows(gluon.Block):
    """With SparseEmbedding, whose weights are row_sparse."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.users = gluon.contrib.nn.SparseEmbedding(USERS, FACTORS)
            self.items = gluon.contrib.nn.SparseEmbedding(ITEMS, FACTORS)

    def forward(self, user, item):
        return mx.nd.sum(self.users(user) * self.items(item), axis=1)


def by_gluon(net, users, items, scores):
    net.initialize(mx.init.Normal(0.1))
    if isinstance(net, gluon.HybridBlock):
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.03})
    loss_function, seen = gluon.loss.L2Loss(), []
    data = gluon.data.ArrayDataset(users.astype("float32"), items.astype("float32"), scores)
    loader = gluon.data.DataLoader(data, batch_size=BATCH, shuffle=True)
    for _ in range(30):
        total = 0.0
        for user, item, score in loader:
            with autograd.record():
                loss = loss_function(net(user, item), score)
            loss.backward()
            trainer.step(user.shape[0])
            total += loss.mean().asscalar()
        seen.append(total / len(loader))
    for weight in net.collect_params().values():
        assert weight.list_grad()[0].stype == "row_sparse", weight
    return seen


if __name__ == "__main__":
    mx.random.seed(2)
    np.random.seed(2)
    numbers = ratings(np.random.default_rng(2))
    for losses in (
        by_module(*numbers, False),
        by_module(*numbers, True),
        by_gluon(Factors(), *numbers),
        by_gluon(Rows(), *numbers),
    ):
        assert losses[-1] < 0.3 * losses[0], losses
    print("losses", losses[0], losses[-1])
