"""Wide and deep: a linear model on csr features beside a network on embeddings, by Gluon."""

import numpy as np
from made_up import Training, common, csr_examples, labels_of, options, save_block

import cynet as mx
from cynet import autograd, gluon, nd
from cynet.gluon import nn


class WideDeep(gluon.Block):
    """Two scores: those of the csr features, and of a network on the vectors of categories."""

    def __init__(self, features, categories, size):
        super().__init__()
        with self.name_scope():
            self.wide = self.params.get(
                "wide", shape=(features, 2), init=mx.init.Zero(), grad_stype="row_sparse"
            )
            self.embedding = nn.Embedding(categories, size, sparse_grad=True)
            self.deep = nn.HybridSequential()
            self.deep.add(nn.Dense(64, activation="relu"), nn.Dense(2))

    def forward(self, x, categories):
        wide = nd.sparse.dot(x, self.wide.data())
        return wide + self.deep(self.embedding(categories))


def main(argv=None):
    """Train and score; returns the accuracy and the share of rows that a step touches."""
    args = options(
        __doc__, argv, features=50_000, examples=20_000, each=10, categories=5_000, fields=4, size=8
    )
    rng = np.random.default_rng(args.seed)
    data = csr_examples(args.examples, args.features, args.each, rng)
    fields = (args.categories * rng.random((args.examples, args.fields)) ** 3).astype(int)
    truth = rng.normal(size=args.categories)[fields].sum(1)
    labels = labels_of(data.asscipy() @ rng.normal(size=args.features) + truth)
    batches = mx.io.NDArrayIter(
        {"a": data, "b": fields}, labels, args.batch_size, last_batch_handle="discard"
    )
    net = WideDeep(args.features, args.categories, args.size)
    net.initialize(mx.init.Xavier())
    net.deep.hybridize()
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": args.lr})
    training = Training(args.features + args.categories)
    for _ in range(args.epochs):
        batches.reset()
        metric = mx.metric.Accuracy()
        for batch in common.progress(batches, "epoch"):
            with training.step():
                with autograd.record():
                    scores = net(*batch.data)
                    each = loss(scores, batch.label[0])
                each.backward()
                trainer.step(args.batch_size)
            training.touch(net.wide.grad().indices.size + net.embedding.weight.grad().indices.size)
            metric.update(batch.label, [scores])
        training.add(metric.get()[1])
    save_block(args, net, "wide_deep")
    return training.finish(args, "wide_deep")


if __name__ == "__main__":
    main()
