"""Trains a spatial transformer network on digits that are turned, shrunk and moved: a small network
looks at the image and says where to look, a classifier sees what is there, upright."""

import logging
from pathlib import Path

import common
import numpy as np

import cynet as mx
from cynet import autograd, gluon
from cynet.gluon import nn

SIDE, WINDOW = 24, 12  # pixels of an image, and of what the classifier sees


class SpatialTransformerNet(gluon.HybridBlock):
    """Scores of 10 digits (N, 10) from images (N, 1, H, W), read through a window.

    `transform` False: the classifier sees the whole image, shrunk to the window.
    """

    def __init__(self, window=WINDOW, transform=True, **kwargs):
        super().__init__(**kwargs)
        self._window = (window, window)
        with self.name_scope():
            self.where = None
            if transform:
                self.where = nn.HybridSequential(prefix="where_")
                with self.where.name_scope():
                    self.where.add(nn.Conv2D(16, 5, padding=2, activation="relu"), nn.MaxPool2D())
                    self.where.add(nn.Conv2D(32, 3, padding=1, activation="relu"), nn.MaxPool2D())
                    self.where.add(nn.Dense(48, activation="relu"))
                    # at first the whole image: x = 1 * u + 0 * v + 0, y = 0 * u + 1 * v + 0
                    self.where.add(
                        nn.Dense(
                            6,
                            weight_initializer="zeros",
                            bias_initializer=mx.init.Constant(mx.nd.array([1, 0, 0, 0, 1, 0])),
                        )
                    )
            self.what = nn.HybridSequential(prefix="what_")
            with self.what.name_scope():
                self.what.add(nn.Conv2D(20, 3, padding=1, activation="relu"), nn.MaxPool2D())
                self.what.add(nn.Conv2D(40, 3, padding=1, activation="relu"), nn.MaxPool2D())
                self.what.add(nn.Dense(96, activation="relu"), nn.Dense(10))

    def seen(self, F, x):
        """The part of the image that the classifier gets."""
        if self.where is None:
            height, width = self._window
            return F.contrib.BilinearResize2D(x, height=height, width=width)
        return F.SpatialTransformer(
            x,
            self.where(x),
            target_shape=self._window,
            transform_type="affine",
            sampler_type="bilinear",
        )

    def hybrid_forward(self, F, x):
        return self.what(self.seen(F, x))


def moved(images, rng):
    """Digits (N, 8, 8, 1) of uint8 in larger images (N, 1, SIDE, SIDE), each turned by up to 45
    degrees, at a size and a place of its own."""
    n = len(images)
    angle = rng.uniform(-np.pi / 4, np.pi / 4, n)
    size = rng.uniform(0.4, 0.75, n)  # size of the digit, in halves of the image
    place = rng.uniform(-1, 1, (n, 2)) * (0.95 - size[:, None])
    turned = np.stack([np.cos(angle), np.sin(angle), -np.sin(angle), np.cos(angle)], 1)
    turned = turned.reshape(n, 2, 2) / size[:, None, None]
    shift = -np.einsum("nij,nj->ni", turned, place)
    theta = np.concatenate([turned, shift[:, :, None]], 2).reshape(n, 6)
    data = mx.nd.array(images.transpose(0, 3, 1, 2) / 255.0)
    grid = mx.nd.GridGenerator(
        mx.nd.array(theta), transform_type="affine", target_shape=(SIDE, SIDE)
    )
    return mx.nd.BilinearSampler(data, grid)


def accuracy(net, loader, ctx):
    metric = mx.metric.Accuracy()
    for x, y in loader:
        metric.update(y, net(x.as_in_context(ctx)))
    return metric.get()[1]


def seen(net, images):
    """A picture: a row of images, and below each image the part that the classifier gets."""
    below = net.seen(mx.nd, images)
    below = mx.nd.contrib.BilinearResize2D(below, height=SIDE, width=SIDE)
    rows = [np.concatenate(list(each.asnumpy()[:, 0]), 1) for each in (images, below)]
    return np.clip(np.concatenate(rows), 0, 1)


def main(argv=None):
    """Train; returns the validation accuracy."""
    parser = common.parser(__doc__, epochs=15, lr=0.002)
    parser.add_argument(
        "--window", type=int, default=WINDOW, help="pixels that the classifier sees"
    )
    parser.add_argument("--plain", action="store_true", help="without the transformer, to compare")
    args = parser.parse_args(argv)
    ctx = common.start(args)

    rng = np.random.RandomState(args.seed)
    train, val = (
        gluon.data.ArrayDataset(moved(images, rng), labels) for images, labels in common.digits()
    )
    train = gluon.data.DataLoader(
        train, args.batch_size, shuffle=True, last_batch="discard", num_workers=args.workers
    )
    val = gluon.data.DataLoader(val, 4 * args.batch_size, num_workers=args.workers)

    net = SpatialTransformerNet(args.window, not args.plain)
    net.initialize(mx.init.Xavier(), ctx=ctx)
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    if not args.eager:
        net.hybridize(static_alloc=True)
        loss.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": args.lr})

    history = common.History("loss", "accuracy")
    for _ in range(args.epochs):
        total = mx.metric.Loss()
        for x, y in common.progress(train, "epoch"):
            x, y = x.as_in_context(ctx), y.as_in_context(ctx)
            with autograd.record():
                each = loss(net(x), y)
            each.backward()
            trainer.step(args.batch_size)
            total.update(None, each)
        history.add(total.get()[1], accuracy(net, val, ctx))
    common.finish(args, "spatial_transformer", net, history, x)
    what = "images, and what the classifier sees of them"
    common.picture(seen(net, x[:8]), Path(args.out) / "seen.png", what)
    logging.info("validation accuracy: %.2f %%", 100 * history.rows[-1][1])
    return history.rows[-1][1]


if __name__ == "__main__":
    main()
