"""Linear classification on a LibSVM file: Module, a row_sparse weight, rows pulled from a store."""

import argparse
import os
import tempfile

import mxnet as mx
import numpy as np

FEATURES, EXAMPLES, BATCH = 2000, 1200, 100


def write_libsvm(path, rng):
    truth = rng.standard_normal(FEATURES)
    with open(path, "w") as out:
        for _ in range(EXAMPLES):
            columns = np.unique(rng.integers(0, FEATURES, 20))
            values = rng.random(len(columns)) + 0.5
            label = int((values * truth[columns]).sum() > 0)
            words = " ".join(f"{c}:{v:.4f}" for c, v in zip(columns, values))
            out.write(f"{label} {words}\n")


def linear_model(num_features, positive_class_weight):
    data = mx.symbol.Variable("data", stype="csr")
    label = mx.symbol.Variable("softmax_label")
    weight = mx.symbol.Variable(
        "weight",
        shape=(num_features, 2),
        init=mx.initializer.Normal(sigma=0.01),
        stype="row_sparse",
    )
    bias = mx.symbol.Variable("bias", shape=(2,), init=mx.init.Zero())
    pred = mx.symbol.broadcast_add(mx.symbol.sparse.dot(data, weight), bias)
    prob = mx.symbol.softmax(data=pred)
    scale = positive_class_weight * label + (1 - label)
    picked = mx.symbol.pick(mx.symbol.log(prob), label)
    loss = mx.symbol.MakeLoss(0 - picked * scale)
    return mx.symbol.Group([mx.symbol.BlockGrad(pred, name="pred"), loss])


def row_ids(batch):
    return {"weight": batch.data[0].indices}


def train(optimizer, store):
    rng = np.random.default_rng(3)
    mx.random.seed(3)
    np.random.seed(3)
    folder = tempfile.mkdtemp(dir=".")
    path = os.path.join(folder, "train.libsvm")
    write_libsvm(path, rng)
    it = mx.io.LibSVMIter(data_libsvm=path, data_shape=(FEATURES,), batch_size=BATCH)
    model = linear_model(FEATURES, 2.0)
    mod = mx.mod.Module(symbol=model, data_names=["data"], label_names=["softmax_label"])
    mod.bind(data_shapes=it.provide_data, label_shapes=it.provide_label)
    mod.init_params()
    kv = mx.kvstore.create(store) if store else None
    choices = {
        "sgd": mx.optimizer.SGD(momentum=0.9, learning_rate=0.5, rescale_grad=1.0 / BATCH),
        "adam": mx.optimizer.Adam(learning_rate=0.05, rescale_grad=1.0 / BATCH),
        "adagrad": mx.optimizer.AdaGrad(learning_rate=0.3, rescale_grad=1.0 / BATCH),
        "ftrl": mx.optimizer.Ftrl(learning_rate=0.5, rescale_grad=1.0 / BATCH),
    }
    mod.init_optimizer(kvstore=kv, optimizer=choices[optimizer])
    seen = []
    speedometer = mx.callback.Speedometer(BATCH, 6)
    for epoch in range(8):
        it.reset()
        correct = total = 0
        for nbatch, batch in enumerate(it):
            mod.prepare(batch, sparse_row_id_fn=row_ids)
            mod.forward_backward(batch)
            mod.update()
            pred = mod.get_outputs()[0].asnumpy().argmax(axis=1)
            correct += (pred == batch.label[0].asnumpy()).sum()
            total += len(pred)
            speedometer(mx.model.BatchEndParam(epoch, nbatch, None, locals()))
        seen.append(correct / total)
    if kv is not None:
        rows = mx.nd.arange(0, FEATURES, dtype="int64")
        mod.prepare(None, sparse_row_id_fn=lambda _: {"weight": rows})
    mod.save_checkpoint(os.path.join(folder, "checkpoint"), 8)
    _, args, _ = mx.model.load_checkpoint(os.path.join(folder, "checkpoint"), 8)
    assert args["weight"].shape == (FEATURES, 2), args["weight"]
    assert args["weight"].stype == "row_sparse"
    return seen


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--optimizer", default="adagrad")
    parser.add_argument("--kvstore", default=None)
    options = parser.parse_args()
    accuracy = train(options.optimizer, options.kvstore)
    assert accuracy[-1] > 0.85 > accuracy[0], accuracy
    print("accuracy", accuracy[-1])
