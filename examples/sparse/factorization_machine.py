"""A factorization machine on csr data: weights of features and of all their pairs, by Module."""

import numpy as np
from made_up import Training, csr_examples, labels_of, options, save_module, train_module

import cynet as mx


def network(features, factors):
    """The probability of label 1. The pairs' sum is half of ``(x v)**2 - x**2 v**2``."""
    x = mx.sym.Variable("data", stype="csr")
    init = mx.init.Normal(0.05)
    v = mx.sym.Variable("v", shape=(features, factors), stype="row_sparse", init=init)
    w = mx.sym.Variable("w", shape=(features, 1), stype="row_sparse", init=init)
    linear = mx.sym.sparse.dot(x, w)
    both = mx.sym.sum(mx.sym.square(mx.sym.sparse.dot(x, v)), axis=1, keepdims=True)
    own = mx.sym.sum(mx.sym.sparse.dot(x.square(), mx.sym.square(v)), axis=1, keepdims=True)
    return mx.sym.LogisticRegressionOutput(linear + 0.5 * (both - own), name="softmax")


def main(argv=None):
    """Train and score; returns the accuracy and the share of rows that a step touches."""
    args = options(__doc__, argv, features=20_000, examples=10_000, each=10, factors=8)
    rng = np.random.default_rng(args.seed)
    data = csr_examples(args.examples, args.features, args.each, rng)
    x, v = data.asscipy(), rng.normal(size=(args.features, 2))
    scores = ((x @ v) ** 2 - x.power(2) @ v**2).sum(1)
    labels = labels_of(scores)
    batches = mx.io.NDArrayIter(data, labels, args.batch_size, last_batch_handle="discard")
    module = mx.mod.Module(network(args.features, args.factors))
    module.bind(batches.provide_data, batches.provide_label)
    right = mx.metric.np(lambda label, found: ((found.ravel() > 0.5) == label).mean())
    training = Training(args.features)
    train_module(args, module, batches, "adam", right, training)
    save_module(args, module, "factorization_machine")
    return training.finish(args, "factorization_machine")


if __name__ == "__main__":
    main()
