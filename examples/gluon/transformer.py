"""Trains a small transformer that sorts digits: 3 1 2 becomes 1 2 3."""

import logging
import math

import common
import numpy as np
from common import positive

import cynet as mx
from cynet import autograd, gluon
from cynet.gluon import nn


class Attention(gluon.HybridBlock):
    """Self-attention of several heads over (N, T, size), in plain mx.nd."""

    def __init__(self, size, heads, **kwargs):
        super().__init__(**kwargs)
        self._heads = heads
        with self.name_scope():
            self.qkv = nn.Dense(3 * size, flatten=False)
            self.out = nn.Dense(size, flatten=False)

    def forward(self, x):
        n, t, size = x.shape
        each = size // self._heads
        parts = self.qkv(x).reshape((n, t, 3, self._heads, each))
        q, k, v = (parts[:, :, i].transpose((0, 2, 1, 3)).reshape((-1, t, each)) for i in range(3))
        weights = mx.nd.softmax(mx.nd.batch_dot(q, k, transpose_b=True) / math.sqrt(each))
        mixed = mx.nd.batch_dot(weights, v).reshape((n, self._heads, t, each))
        return self.out(mixed.transpose((0, 2, 1, 3)).reshape((n, t, size)))


class Layer(gluon.HybridBlock):
    """Attention and two dense layers, each with a residual connection and normalization."""

    def __init__(self, size, heads, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.attention = Attention(size, heads)
            self.wide = nn.Dense(4 * size, flatten=False)
            self.act = nn.GELU()
            self.narrow = nn.Dense(size, flatten=False)
            self.norms = [nn.LayerNorm(), nn.LayerNorm()]

    def forward(self, x):
        x = self.norms[0](x + self.attention(x))
        return self.norms[1](x + self.narrow(self.act(self.wide(x))))


class Sorter(gluon.HybridBlock):
    """Digits (N, T) to scores of digits (N, T, 10)."""

    def __init__(self, length, size=48, heads=4, layers=2, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.embed = nn.Embedding(10, size)
            self.place = nn.Embedding(length, size)
            self.layers = [Layer(size, heads) for _ in range(layers)]
            self.out = nn.Dense(10, flatten=False)

    def forward(self, x):
        places = mx.nd.arange(x.shape[1])
        x = self.embed(x) + self.place(places)
        for layer in self.layers:
            x = layer(x)
        return self.out(x)


def main(argv=None):
    """Train; returns the share of sequences that are sorted rightly."""
    parser = common.parser(__doc__, epochs=8, lr=0.002)
    parser.add_argument("--length", type=positive, default=8, help="digits of a sequence")
    parser.add_argument("--samples", type=positive, default=6400, help="sequences of an epoch")
    args = parser.parse_args(argv)
    ctx = common.start(args)
    net = Sorter(args.length)
    net.initialize(mx.init.Xavier(), ctx=ctx)
    if not args.eager:
        net.hybridize()
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": args.lr})
    history = common.History("loss", "digits", "sequences")
    for _ in range(args.epochs):
        total, wholly, digits = mx.metric.Loss(), [], []
        for _ in common.progress(range(args.samples // args.batch_size), "epoch"):
            given = np.random.randint(0, 10, (args.batch_size, args.length))
            wanted = np.sort(given, axis=1)
            x, y = mx.nd.array(given, ctx=ctx), mx.nd.array(wanted, ctx=ctx)
            with autograd.record():
                scores = net(x)
                each = loss(scores, y)
            each.backward()
            gluon.utils.clip_global_norm(
                [p.grad(ctx) for p in net.collect_params().values()], args.batch_size
            )
            trainer.step(args.batch_size)
            total.update(None, each)
            right = scores.argmax(axis=2).asnumpy() == wanted
            digits.append(right.mean())
            wholly.append(right.all(axis=1).mean())
        history.add(total.get()[1], np.mean(digits), np.mean(wholly))
    x = mx.nd.array([np.random.randint(0, 10, args.length)], ctx=ctx)
    common.finish(args, "sorter", net, history, x)
    found = net(x).argmax(axis=2)
    logging.info("%s", f"{x.asnumpy()[0].astype(int)} -> {found.asnumpy()[0].astype(int)}")
    return history.rows[-1][2]


if __name__ == "__main__":
    main()
