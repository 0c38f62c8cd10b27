"""Who likes what: vectors of users and of items with row_sparse gradients, by Gluon."""

import numpy as np
from made_up import Training, common, labels_of, options, save_block

import cynet as mx
from cynet import autograd, gluon, nd


class Factors(gluon.Block):
    """The product of a user's vector and an item's."""

    def __init__(self, users, items, size):
        super().__init__()
        with self.name_scope():
            init = mx.init.Normal(0.3)
            self.user = gluon.contrib.nn.SparseEmbedding(users, size, weight_initializer=init)
            self.item = gluon.contrib.nn.SparseEmbedding(items, size, weight_initializer=init)

    def forward(self, user, item):
        return (self.user(user) * self.item(item)).sum(axis=1)


def main(argv=None):
    """Train; returns the accuracy of ratings held back, and the share of rows of a step."""
    args = options(__doc__, argv, users=5_000, items=2_000, ratings=200_000, factors=8)
    rng = np.random.default_rng(args.seed)
    users = (args.users * rng.random(args.ratings) ** 3).astype(int)
    items = (args.items * rng.random(args.ratings) ** 3).astype(int)
    truth = rng.normal(size=(args.users, 2)), rng.normal(size=(args.items, 2))
    likes = labels_of((truth[0][users] * truth[1][items]).sum(1))
    net = Factors(args.users, args.items, args.factors)
    net.initialize()
    loss = gluon.loss.SigmoidBinaryCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": args.lr})
    training = Training(args.users + args.items, "held back")
    *train, val = np.array_split(rng.permutation(args.ratings), 10)
    train = np.concatenate(train)

    def rated(part):
        return [nd.array(each[part]) for each in (users, items, likes)]

    for _ in range(args.epochs):
        metric, order = mx.metric.Accuracy(), rng.permutation(train)
        begins = range(0, len(order) - args.batch_size + 1, args.batch_size)
        for part in common.progress([order[i : i + args.batch_size] for i in begins], "epoch"):
            user, item, like = rated(part)
            with training.step():
                with autograd.record():
                    score = net(user, item)
                    each = loss(score, like)
                each.backward()
                trainer.step(len(part))
            training.touch(len(np.unique(users[part])) + len(np.unique(items[part])))
            metric.update(like, score > 0)
        user, item, like = rated(val)
        training.add(metric.get()[1], ((net(user, item) > 0) == like).mean().asscalar())
    save_block(args, net, "matrix_factorization")
    return training.finish(args, "matrix_factorization")


if __name__ == "__main__":
    main()
