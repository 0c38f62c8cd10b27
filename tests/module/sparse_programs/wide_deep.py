"""Wide & deep: a linear model on csr crosses beside a network on embeddings and numbers."""

import mxnet as mx
import numpy as np
import scipy.sparse as sp

WIDE, CATEGORIES, NUMBERS, BATCH, EXAMPLES = 1000, (50, 30), 6, 100, 1000


def wide_deep_model():
    csr_data = mx.symbol.Variable("csr_data", stype="csr")
    label = mx.symbol.Variable("softmax_label")
    norm_init = mx.initializer.Normal(sigma=0.01)
    weight = mx.symbol.Variable(
        "linear_weight", shape=(WIDE, 2), init=norm_init, stype="row_sparse"
    )
    bias = mx.symbol.Variable("linear_bias", shape=(2,), init=mx.initializer.Zero())
    dot = mx.symbol.sparse.dot(csr_data, weight)
    linear_out = mx.symbol.broadcast_add(dot, bias)

    dns_data = mx.symbol.Variable("dns_data")
    features = []
    for i, size in enumerate(CATEGORIES):
        x = mx.symbol.slice(dns_data, begin=(None, i), end=(None, i + 1))
        x = mx.symbol.reshape(x, (-1,))
        table = mx.symbol.Variable(f"embed_{i}_weight", stype="row_sparse")
        embed = (
            mx.symbol.contrib.SparseEmbedding(
                data=x, weight=table, input_dim=size, output_dim=8, name=f"embed_{i}"
            )
            if i
            else mx.symbol.Embedding(
                data=x, weight=table, input_dim=size, output_dim=8, sparse_grad=True
            )
        )
        features.append(embed)
    features.append(mx.symbol.slice(dns_data, begin=(None, len(CATEGORIES)), end=(None, None)))
    hidden = mx.symbol.concat(*features, dim=1)
    hidden = mx.symbol.FullyConnected(data=hidden, num_hidden=32)
    hidden = mx.symbol.Activation(data=hidden, act_type="relu")
    hidden = mx.symbol.Dropout(hidden, p=0.1)
    deep_out = mx.symbol.FullyConnected(data=hidden, num_hidden=2)
    out = mx.symbol.SoftmaxOutput(linear_out + deep_out, label, name="model")
    return out


def main():
    mx.random.seed(4)
    np.random.seed(4)
    rng = np.random.default_rng(4)
    wide = sp.random(EXAMPLES, WIDE, 0.01, "csr", "float32", 6)
    codes = np.stack([rng.integers(0, n, EXAMPLES) for n in CATEGORIES], 1)
    numbers = rng.standard_normal((EXAMPLES, NUMBERS))
    dense = np.concatenate([codes, numbers], 1).astype("float32")
    score = wide @ rng.standard_normal(WIDE) + numbers @ rng.standard_normal(NUMBERS)
    score += sum(rng.standard_normal(n)[codes[:, i]] for i, n in enumerate(CATEGORIES))
    label = (score > 0).astype("float32")
    wide = mx.nd.sparse.csr_matrix((wide.data, wide.indices, wide.indptr), shape=wide.shape)
    train = mx.io.NDArrayIter(
        {"csr_data": wide, "dns_data": dense},
        {"softmax_label": label},
        BATCH,
        last_batch_handle="discard",
    )
    mod = mx.mod.Module(
        wide_deep_model(), data_names=["csr_data", "dns_data"], label_names=["softmax_label"]
    )
    mod.bind(data_shapes=train.provide_data, label_shapes=train.provide_label)
    mod.init_params(mx.init.Xavier())
    optimizer = mx.optimizer.create("adam", learning_rate=0.01, rescale_grad=1.0 / BATCH)
    mod.init_optimizer(optimizer=optimizer)
    metric = mx.metric.create(["acc"])
    for _ in range(20):
        train.reset()
        metric.reset()
        for batch in train:
            mod.prepare(batch, sparse_row_id_fn=lambda b: {"linear_weight": b.data[0].indices})
            mod.forward_backward(batch)
            mod.update()
            mod.update_metric(metric, batch.label)
    assert metric.get()[1][0] > 0.9, metric.get()
    train.reset()
    found = mod.score(train, ["acc", "nll_loss"])
    assert dict(found)["accuracy"] > 0.9, found
    print("accuracy", dict(found)["accuracy"])


if __name__ == "__main__":
    main()
