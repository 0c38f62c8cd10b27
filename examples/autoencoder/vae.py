"""A variational autoencoder: learns what images are like, and draws new ones."""

import logging
import math
import sys
from pathlib import Path

import numpy as np

import cynet as mx
from cynet import autograd, gluon
from cynet.gluon import nn

sys.path.append(str(Path(__file__).parents[1] / "gluon"))
import common


class Encoder(gluon.HybridBlock):
    """Images (N, 1, h, w) to the means and the logarithms of the variances of their codes."""

    def __init__(self, code, width, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.body = nn.Dense(width, activation="relu")
            self.mean = nn.Dense(code)
            self.log_variance = nn.Dense(code)

    def hybrid_forward(self, F, x):
        x = self.body(x)
        return self.mean(x), self.log_variance(x)


class Decoder(gluon.HybridBlock):
    """Codes (N, code) to the logits of pixels (N, 1, h, w)."""

    def __init__(self, shape, width, **kwargs):
        super().__init__(**kwargs)
        self._shape = shape
        with self.name_scope():
            self.body = nn.Dense(width, activation="relu")
            self.out = nn.Dense(math.prod(shape))

    def hybrid_forward(self, F, z):
        return F.reshape(self.out(self.body(z)), shape=(-1, *self._shape))


class Bound(gluon.HybridBlock):
    """Images to the two parts of the negative evidence lower bound, (N,) each, in nats.

    What the decoder fails to say of the pixels, with one code drawn for each image; and how far
    the distribution of codes is from a standard normal one.
    """

    def __init__(self, encoder, decoder, pixels, **kwargs):
        super().__init__(**kwargs)
        self._pixels = pixels
        self.encoder, self.decoder = encoder, decoder
        self.miss = gluon.loss.SigmoidBinaryCrossEntropyLoss(from_sigmoid=False)

    def hybrid_forward(self, F, x):
        mean, log_variance = self.encoder(x)
        noise = F.random.normal_like(mean)
        logits = self.decoder(mean + noise * F.exp(0.5 * log_variance))
        miss = self._pixels * self.miss(logits, x)  # the loss is a mean over pixels
        far = 0.5 * F.sum(mean**2 + F.exp(log_variance) - 1 - log_variance, axis=1)
        return miss, far


def mean_bound(images, others):
    """The bound where nothing but the mean of each pixel is known."""
    mean = images.mean(axis=0).clip(1e-4, 1 - 1e-4)
    return -(others * np.log(mean) + (1 - others) * np.log(1 - mean)).sum(axis=(1, 2, 3)).mean()


def latent_grid(side):
    """Codes (side * side, 2) at equal shares of a standard normal distribution."""
    from statistics import NormalDist

    at = [NormalDist().inv_cdf((i + 0.5) / side) for i in range(side)]
    return np.array([(x, y) for y in at[::-1] for x in at], np.float32)


def main(argv=None):
    """Train; returns the bound of the validation images in nats, and that of the pixels' means."""
    parser = common.parser(__doc__, without=["workers"], epochs=60, lr=0.003)
    common.add_dataset(parser)
    parser.add_argument(
        "--code", type=common.positive, default=2, help="numbers of an image; 2: a map is drawn"
    )
    parser.add_argument("--width", type=common.positive, default=256, help="of hidden layers")
    args = parser.parse_args(argv)
    ctx = common.start(args)
    (images, _), (others, _) = common.arrays(args.dataset)
    logging.info("%d images of %d x %d, %d numbers each", len(images), *images.shape[2:], args.code)
    encoder, decoder = Encoder(args.code, args.width), Decoder(images.shape[1:], args.width)
    net = Bound(encoder, decoder, images[0].size)
    net.initialize(mx.init.Xavier(), ctx=ctx)
    if not args.eager:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": args.lr})
    dataset = gluon.data.ArrayDataset(mx.nd.array(images))
    loader = gluon.data.DataLoader(dataset, args.batch_size, shuffle=True)
    unseen = mx.nd.array(others, ctx=ctx)
    history = common.History("bound", "validation", "divergence", left=2)
    for _ in range(args.epochs):
        total = mx.metric.Loss()
        for x in common.progress(loader, "epoch"):
            x = x.as_in_context(ctx)
            with autograd.record():
                miss, far = net(x)
                each = miss + far
            each.backward()
            trainer.step(len(x))
            total.update(None, each)
        miss, far = (part.mean().asscalar() for part in net(unseen))
        history.add(total.get()[1], miss + far, far)
    side = 12
    codes = latent_grid(side) if args.code == 2 else np.random.randn(side * side, args.code)
    made = mx.nd.sigmoid(decoder(mx.nd.array(codes, ctx=ctx))).asnumpy()
    made = made.reshape(side, side, *images.shape[2:])
    common.picture(common.tiles(made), Path(args.out) / "made.png", "images that it made")
    common.finish(args, "decoder", decoder, history, mx.nd.array(codes[:1], ctx=ctx))
    bound, known = float(history.rows[-1][1]), float(mean_bound(images, others))
    logging.info("bound of the validation images: %.2f nats; by pixels' means %.2f", bound, known)
    return bound, known


if __name__ == "__main__":
    main()
