"""Who likes what: vectors of users and of items with row_sparse gradients, by Gluon."""

import numpy as np
from common import Clock, labels_of, options, report

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
    """Train and score; returns the accuracy and the share of rows that a step touches."""
    args = options(__doc__, argv, users=20_000, items=5_000, ratings=100_000, factors=16)
    rng = np.random.default_rng(args.seed)
    users = (args.users * rng.random(args.ratings) ** 3).astype(int)
    items = (args.items * rng.random(args.ratings) ** 3).astype(int)
    truth = rng.normal(size=(args.users, 2)), rng.normal(size=(args.items, 2))
    likes = labels_of((truth[0][users] * truth[1][items]).sum(1))
    net = Factors(args.users, args.items, args.factors)
    net.initialize()
    loss = gluon.loss.SigmoidBinaryCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": args.lr})
    clock, touched, steps = Clock(), 0, 0
    for _ in range(args.epochs):
        order = rng.permutation(args.ratings)
        for i in range(0, args.ratings - args.batch_size + 1, args.batch_size):
            part = order[i : i + args.batch_size]
            user, item, like = (nd.array(each[part]) for each in (users, items, likes))
            with clock:
                with autograd.record():
                    each = loss(net(user, item), like)
                each.backward()
                trainer.step(len(part))
            touched += len(np.unique(users[part])) + len(np.unique(items[part]))
            steps += 1
    found = net(nd.array(users), nd.array(items)).asnumpy() > 0
    rows = args.users + args.items
    return report((found == likes).mean(), touched / steps, rows, clock, steps)


if __name__ == "__main__":
    main()
