"""A factorization machine: csr data, row_sparse factors, squares of sums less sums of squares."""

import mxnet as mx
import numpy as np
import scipy.sparse as sp

FEATURES, FACTORS, BATCH = 400, 6, 50


def fm(factor_size, num_features, init):
    x = mx.symbol.Variable("data", stype="csr")
    v = mx.symbol.Variable("v", shape=(num_features, factor_size), init=init, stype="row_sparse")
    w1_weight = mx.symbol.var("w1_weight", shape=(num_features, 1), init=init, stype="row_sparse")
    w1_bias = mx.symbol.var("w1_bias", shape=(1,), init=mx.init.Zero())
    w1 = mx.symbol.broadcast_add(mx.symbol.dot(x, w1_weight), w1_bias)

    v_s = mx.symbol._internal._square_sum(data=v, axis=1, keepdims=True)
    x_s = mx.symbol.square(data=x)
    bd_sum = mx.symbol.sparse.dot(x_s, v_s)

    w2 = mx.symbol.sparse.dot(x, v)
    w2_squared = 0.5 * mx.symbol.square(data=w2)
    w_all = mx.symbol.Concat(w1, w2_squared, dim=1)
    sum1 = mx.symbol.sum(data=w_all, axis=1, keepdims=True)
    sum2 = -0.5 * bd_sum
    model = mx.symbol.elemwise_add(sum1, sum2)

    y = mx.symbol.Variable("softmax_label")
    return mx.symbol.LogisticRegressionOutput(data=model, label=y)


def main():
    mx.random.seed(1)
    np.random.seed(1)
    rng = np.random.default_rng(1)
    data = sp.random(1000, FEATURES, 0.02, "csr", "float32", 5)
    truth = rng.standard_normal((FEATURES, 2))
    inner = data @ truth
    pairs = 0.5 * ((inner**2).sum(1) - np.asarray(data.power(2) @ (truth**2)).sum(1))
    label = (pairs + data @ rng.standard_normal(FEATURES) > 0).astype("float32")
    train = mx.io.NDArrayIter(
        mx.nd.sparse.csr_matrix(data),
        mx.nd.array(label.reshape(-1, 1)),
        BATCH,
        label_name="softmax_label",
        last_batch_handle="discard",
    )
    model = fm(FACTORS, FEATURES, mx.initializer.Normal(sigma=0.05))
    mod = mx.mod.Module(model, label_names=["softmax_label"])
    mod.bind(data_shapes=train.provide_data, label_shapes=train.provide_label)
    mod.init_params()
    optimizer = mx.optimizer.Adam(learning_rate=0.03, wd=1e-5, rescale_grad=1.0 / BATCH)
    mod.init_optimizer(optimizer=optimizer)
    metric = mx.metric.MSE()
    seen = []
    for _ in range(25):
        train.reset()
        metric.reset()
        for batch in train:
            mod.prepare(
                batch,
                sparse_row_id_fn=lambda b: {"v": b.data[0].indices, "w1_weight": b.data[0].indices},
            )
            mod.forward(batch, is_train=True)
            mod.backward()
            mod.update()
            mod.update_metric(metric, batch.label)
        seen.append(metric.get()[1])
    grads = mod._exec_group.grad_arrays
    stypes = {name: grad[0].stype for name, grad in zip(mod._exec_group.param_names, grads)}
    assert stypes["v"] == stypes["w1_weight"] == "row_sparse", stypes
    assert seen[-1] < 0.1 < seen[0], seen
    print("mean square", seen[-1])


if __name__ == "__main__":
    main()
