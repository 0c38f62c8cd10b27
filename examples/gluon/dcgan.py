"""Trains a DCGAN on the digits that ship, and draws digits with it."""

import common
import numpy as np
from common import positive

import cynet as mx
from cynet import autograd, gluon
from cynet.gluon import nn


def generator(width):
    """Noise (N, 32, 1, 1) to images (N, 1, 8, 8) from -1 to 1."""
    net = nn.HybridSequential(prefix="generator_")
    with net.name_scope():
        net.add(nn.Conv2DTranspose(2 * width, 2, use_bias=False), nn.BatchNorm())
        net.add(nn.Activation("relu"))
        net.add(nn.Conv2DTranspose(width, 4, 2, 1, use_bias=False), nn.BatchNorm())
        net.add(nn.Activation("relu"))
        net.add(nn.Conv2DTranspose(1, 4, 2, 1, activation="tanh"))
    return net


def discriminator(width):
    """Images to scores (N, 1, 1, 1) of being real."""
    net = nn.HybridSequential(prefix="discriminator_")
    with net.name_scope():
        net.add(nn.Conv2D(width, 4, 2, 1), nn.LeakyReLU(0.2))
        net.add(nn.Conv2D(2 * width, 4, 2, 1, use_bias=False), nn.BatchNorm(), nn.LeakyReLU(0.2))
        net.add(nn.Conv2D(1, 2))
    return net


def grid(images, columns=8):
    """Images (N, 1, h, w) from -1 to 1 side by side, as pixels from 0 to 1."""
    images = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-1)
    n, _, h, w = images.shape
    rows = images.reshape(n // columns, columns, h, w).transpose(0, 2, 1, 3)
    return np.clip((rows.reshape(-1, columns * w) + 1) / 2, 0, 1)


def main(argv=None):
    """Train; returns the generator's last loss."""
    parser = common.parser(__doc__, epochs=20, lr=0.001)
    parser.add_argument("--width", type=positive, default=32, help="channels")
    args = parser.parse_args(argv)
    ctx = common.start(args)
    images = np.concatenate([part[0] for part in common.digits()])
    images = images.transpose(0, 3, 1, 2).astype("float32") / 127.5 - 1
    loader = gluon.data.DataLoader(images, args.batch_size, shuffle=True, last_batch="discard")
    make, judge = generator(args.width), discriminator(args.width)
    loss = gluon.loss.SigmoidBinaryCrossEntropyLoss()
    for net in (make, judge):
        net.initialize(mx.init.Normal(0.05), ctx=ctx)
        if not args.eager:
            net.hybridize()
    settings = {"learning_rate": args.lr, "beta1": 0.5}
    trainers = [gluon.Trainer(net.collect_params(), "adam", settings) for net in (make, judge)]
    real = mx.nd.ones(args.batch_size, ctx=ctx)
    fake = mx.nd.zeros(args.batch_size, ctx=ctx)

    def noise(count=args.batch_size):
        return mx.nd.random.normal(shape=(count, 32, 1, 1), ctx=ctx)

    def scores(x):
        return judge(x).reshape((-1,))

    history = common.History("generator", "discriminator")
    for _ in range(args.epochs):
        totals = mx.metric.Loss(), mx.metric.Loss()
        for x in common.progress(loader, "epoch"):
            x, z = x.as_in_context(ctx), noise()
            with autograd.record():
                each = loss(scores(x), real) + loss(scores(make(z).detach()), fake)
            each.backward()
            trainers[1].step(args.batch_size)
            totals[1].update(None, each)
            with autograd.record():
                each = loss(scores(make(z)), real)
            each.backward()
            trainers[0].step(args.batch_size)
            totals[0].update(None, each)
        history.add(*(each.get()[1] for each in totals))
    common.picture(grid(make(noise(64)).asnumpy()), f"{args.out}/digits.png", "digits")
    common.finish(args, "generator", make, history, noise(1))
    return history.rows[-1][0]


if __name__ == "__main__":
    main()
