"""Squeezes images into a few numbers and draws them again; compared with principal components."""

import logging
import sys
from pathlib import Path

import numpy as np

import cynet as mx
from cynet import autograd, gluon
from cynet.gluon import nn

sys.path.append(str(Path(__file__).parents[1] / "gluon"))
import common


class Autoencoder(gluon.HybridBlock):
    """Images (N, 1, h, w) to `code` numbers each (encoder), and back (decoder)."""

    def __init__(self, shape, code, width, **kwargs):
        super().__init__(**kwargs)
        self._shape = shape
        with self.name_scope():
            self.encoder = nn.HybridSequential()
            self.encoder.add(
                nn.Dense(width, activation="relu"),
                nn.Dense(width, activation="relu"),
                nn.Dense(code),
            )
            self.decoder = nn.HybridSequential()
            self.decoder.add(
                nn.Dense(width, activation="relu"),
                nn.Dense(width, activation="relu"),
                nn.Dense(int(np.prod(shape)), activation="sigmoid"),
            )

    def hybrid_forward(self, F, x):
        return F.reshape(self.decoder(self.encoder(x)), shape=(-1, *self._shape))


def principal_components(train, images, code):
    """`images` reconstructed from the `code` directions in which `train` varies most."""
    flat = train.reshape(len(train), -1)
    mean = flat.mean(axis=0)
    covariance = (flat - mean).T @ (flat - mean)
    directions = np.linalg.eigh(covariance)[1][:, -code:]  # ascending eigenvalues
    rest = images.reshape(len(images), -1) - mean
    return (rest @ directions @ directions.T + mean).reshape(images.shape)


def main(argv=None):
    """Train; returns the mean squared errors of both on the validation images."""
    parser = common.parser(__doc__, without=["workers"], epochs=60, lr=0.002)
    common.add_dataset(parser)
    parser.add_argument("--code", type=common.positive, default=8, help="numbers of an image")
    parser.add_argument("--width", type=common.positive, default=256, help="of hidden layers")
    args = parser.parse_args(argv)
    ctx = common.start(args)
    (images, _), (others, _) = common.arrays(args.dataset)
    logging.info("%d images of %d x %d, %d numbers each", len(images), *images.shape[2:], args.code)
    net = Autoencoder(images.shape[1:], args.code, args.width)
    net.initialize(mx.init.Xavier(), ctx=ctx)
    if not args.eager:
        net.hybridize()
    loss = gluon.loss.L2Loss()  # half of the squared error
    rates = mx.lr_scheduler.CosineScheduler(
        args.epochs * -(-len(images) // args.batch_size), base_lr=args.lr
    )
    trainer = gluon.Trainer(net.collect_params(), "adam", {"lr_scheduler": rates})
    dataset = gluon.data.ArrayDataset(mx.nd.array(images))
    loader = gluon.data.DataLoader(dataset, args.batch_size, shuffle=True)
    unseen = mx.nd.array(others, ctx=ctx)
    history = common.History("squared error", "validation", left=2)
    for _ in range(args.epochs):
        total = mx.metric.Loss()
        for x in common.progress(loader, "epoch"):
            x = x.as_in_context(ctx)
            with autograd.record():
                each = loss(net(x), x)
            each.backward()
            trainer.step(len(x))
            total.update(None, 2 * each)
        history.add(total.get()[1], ((net(unseen) - unseen) ** 2).mean().asscalar())
    linear = principal_components(images, others, args.code)
    linear_error = float(((linear - others) ** 2).mean())
    drawn = net(unseen[:12]).asnumpy()
    rows = np.stack([others[:12], drawn, linear[:12].clip(0, 1)])
    what = "images, as the network draws them, and by principal components"
    common.picture(common.tiles(rows[:, :, 0]), Path(args.out) / "drawn.png", what)
    common.finish(args, "autoencoder", net, history, unseen[:1])
    error = float(history.rows[-1][1])
    logging.info(
        "squared error %.4f; of %d principal components %.4f", error, args.code, linear_error
    )
    return error, linear_error


if __name__ == "__main__":
    main()
