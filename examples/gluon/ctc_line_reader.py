"""Reads lines of digits: a picture of many digits to its text, learnt without their places."""

import logging

import common
import numpy as np
from common import positive

import cynet as mx
from cynet import autograd, gluon
from cynet.gluon import nn, rnn

BLANK = 10  # the class behind the ten digits


class Reader(gluon.HybridBlock):
    """Pictures of lines (N, 1, 8, width) to scores of digits and the blank (N, steps, 11): columns
    of convolutions, read in both directions by an LSTM. A step is two columns wide."""

    def __init__(self, size=32, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.near = nn.Conv2D(16, 3, padding=1, in_channels=1, activation="relu")
            self.half = nn.MaxPool2D(2, 2)
            self.far = nn.Conv2D(32, 3, padding=1, in_channels=16, activation="relu")
            self.flat = nn.MaxPool2D((2, 1), (2, 1))
            self.lstm = rnn.LSTM(size, layout="NTC", bidirectional=True, input_size=64)
            self.out = nn.Dense(BLANK + 1, flatten=False, in_units=2 * size)

    def hybrid_forward(self, F, x):
        x = self.flat(self.far(self.half(self.near(x))))  # (N, 32, 2, steps)
        x = F.reshape(F.transpose(x, axes=(0, 3, 1, 2)), shape=(0, 0, -1))
        return self.out(self.lstm(x))


def lines(images, labels, count, maximum, rng):
    """Pictures (count, 1, 8, width) of 3 to `maximum` digits with gaps between them, and the digits
    (count, most), -1 behind the last."""
    width = 12 * maximum
    pictures = np.zeros((count, 1, 8, width), np.float32)
    texts = np.full((count, maximum), -1, np.float32)
    for picture, text in zip(pictures[:, 0], texts):
        n, at = rng.randint(3, maximum + 1), rng.randint(0, 4)
        for i, which in enumerate(rng.randint(0, len(images), n)):
            picture[:, at : at + 8] = images[which, :, :, 0] / 255.0
            text[i] = labels[which]
            at += 8 + rng.randint(0, 4)
    return pictures, texts


def read(scores):
    """The texts that scores (N, steps, 11) say: the best class of each step, repetitions merged,
    then blanks taken out."""
    texts = []
    for best in scores.asnumpy().argmax(-1):
        changed = np.append(True, best[1:] != best[:-1])
        texts.append("".join(str(k) for k in best[changed] if k != BLANK))
    return texts


def written(texts):
    """Labels (N, most) as texts."""
    return ["".join(str(int(k)) for k in row if k >= 0) for row in texts]


def main(argv=None):
    """Train; returns the share of validation lines that are read without a mistake."""
    parser = common.parser(__doc__, epochs=6, batch_size=32, lr=0.005)
    parser.add_argument("--digits", type=int, default=6, help="most digits of a line, at least 3")
    parser.add_argument("--samples", type=positive, default=3200, help="lines of an epoch")
    args = parser.parse_args(argv)
    if args.digits < 3:
        parser.error(f"--digits is {args.digits}, expected at least 3")
    ctx = common.start(args)
    train, validation = common.digits()
    rng = np.random.RandomState(args.seed)
    held = lines(*validation, 400, args.digits, rng)
    net = Reader()
    net.initialize(mx.init.Xavier(), ctx=ctx)
    if not args.eager:
        net.hybridize()
    loss = gluon.loss.CTCLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": args.lr})
    history = common.History("loss", "lines")
    for _ in range(args.epochs):
        total = mx.metric.Loss()
        for _ in common.progress(range(args.samples // args.batch_size), "epoch"):
            pictures, texts = lines(*train, args.batch_size, args.digits, rng)
            x, y = mx.nd.array(pictures, ctx=ctx), mx.nd.array(texts, ctx=ctx)
            with autograd.record():
                each = loss(net(x), y)
            each.backward()
            gluon.utils.clip_global_norm(
                [p.grad(ctx) for p in net.collect_params().values()], args.batch_size
            )
            trainer.step(args.batch_size)
            total.update(None, each)
        found = read(net(mx.nd.array(held[0], ctx=ctx)))
        right = np.mean([a == b for a, b in zip(found, written(held[1]))])
        history.add(total.get()[1], right)
    common.finish(args, "reader", net, history, mx.nd.array(held[0][:1], ctx=ctx))
    for wanted, text in list(zip(written(held[1]), found))[:3]:
        logging.info("%s read as %s", wanted, text)
    return history.rows[-1][1]


if __name__ == "__main__":
    main()
