"""Logistic regression on csr data in LibSVM's format, with a row_sparse weight, by Module."""

import tempfile
from pathlib import Path

import numpy as np
from made_up import Training, csr_examples, labels_of, options, save_module, train_module

import cynet as mx


def write(path, data, labels):
    """A file in LibSVM's format."""
    matrix = data.asscipy()
    with open(path, "w") as file:
        for i, label in enumerate(labels):
            words = " ".join(f"{k}:1" for k in matrix[i].indices)
            file.write(f"{label:.0f} {words}\n")


def network(features):
    """Two scores, of which the softmax is the prediction."""
    x = mx.sym.Variable("data", stype="csr")
    weight = mx.sym.Variable(
        "weight", shape=(features, 2), stype="row_sparse", init=mx.init.Normal(0.01)
    )
    score = mx.sym.broadcast_add(
        mx.sym.sparse.dot(x, weight), mx.sym.Variable("bias", shape=(2,), init=mx.init.Zero())
    )
    return mx.sym.SoftmaxOutput(score, name="softmax")


def main(argv=None):
    """Train and score; returns the accuracy and the share of rows that a step touches."""
    args = options(__doc__, argv, features=100_000, examples=20_000, each=20)
    rng = np.random.default_rng(args.seed)
    data = csr_examples(args.examples, args.features, args.each, rng)
    labels = labels_of(data.asscipy() @ rng.normal(size=args.features))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.svm"
        write(path, data, labels)
        batches = mx.io.LibSVMIter(
            data_libsvm=path, data_shape=(args.features,), batch_size=args.batch_size
        )
    module = mx.mod.Module(network(args.features))
    module.bind(batches.provide_data, batches.provide_label)
    training = Training(args.features)
    train_module(args, module, batches, "adagrad", "acc", training)
    save_module(args, module, "linear_classification")
    return training.finish(args, "linear_classification")


if __name__ == "__main__":
    main()
