"""DP-SGD (Abadi et al. 2016) on digits: gradients of each sample, clipped, summed, with noise.

No single image can change the weights by more than the noise hides. What is printed as epsilon is a
bound for the whole training by zero-concentrated privacy (Bun and Steinke 2016) without the gain
that drawing batches at random brings: the true one is smaller. An epoch takes each image once, so
it counts as one release of noise.
"""

import logging
import math

import common

import cynet as mx
from cynet import gluon, nd
from cynet.gluon import nn


def network():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(16, 3, padding=1, activation="relu"), nn.GroupNorm(4), nn.MaxPool2D())
    net.add(nn.Conv2D(32, 3, padding=1, activation="relu"), nn.GroupNorm(4), nn.MaxPool2D())
    net.add(nn.Dense(32, activation="relu"), nn.Dense(10))
    return net


def epsilon(noise, releases, delta):
    """The privacy loss that `releases` sums of clipped gradients with noise stay below."""
    if noise == 0:
        return math.inf
    rho = releases / (2 * noise**2)
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def set_private_gradients(params, grads, clip, noise):
    """Write the sum of clipped gradients, and noise, where the Trainer finds them."""
    squares = [(each.reshape((each.shape[0], -1)) ** 2).sum(axis=1) for each in grads.values()]
    norms = nd.sqrt(nd.add_n(*squares))
    factors = clip / nd.maximum(norms, clip)
    for name, each in grads.items():
        flat = each.reshape((each.shape[0], -1))
        total = nd.dot(factors, flat).reshape(each.shape[1:])
        drawn = nd.random.normal(0, 1, shape=total.shape, ctx=total.context)
        params[name].grad(total.context)[:] = total + noise * clip * drawn
    return (norms > clip).mean().asscalar()


def main(argv=None):
    """Train; returns the validation accuracy."""
    parser = common.parser(__doc__, without=("workers",), epochs=12, lr=0.5, batch_size=128)
    common.add_dataset(parser)
    parser.add_argument("--clip", type=float, default=1.0, help="largest norm of a gradient")
    parser.add_argument("--noise", type=float, default=1.5, help="of the noise, in units of --clip")
    parser.add_argument("--delta", type=float, default=1e-4, help="of (epsilon, delta)")
    args = parser.parse_args(argv)
    for name in ("clip", "delta"):
        if not getattr(args, name) > 0:
            parser.error(f"--{name} must be above 0")
    if args.noise < 0:
        parser.error("--noise must not be below 0")
    ctx = common.start(args)

    (images, labels), (held_out, answers) = common.arrays(args.dataset)
    net = network()
    net.initialize(mx.init.Xavier(), ctx=ctx)
    if not args.eager:
        net.hybridize()
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": args.lr})
    data = gluon.data.DataLoader(
        gluon.data.ArrayDataset(nd.array(images), nd.array(labels)), args.batch_size, shuffle=True
    )
    answers = nd.array(answers)
    history = common.History("loss", "clipped", "accuracy", left=1)
    for epoch in range(args.epochs):
        total, clipped = mx.metric.Loss(), 0
        for x, y in common.progress(data, "epoch"):
            x, y = x.as_in_context(ctx), y.as_in_context(ctx)
            grads = gluon.per_sample_gradients(net, loss, x, y)
            params = net._collect_params_with_prefix()
            clipped += set_private_gradients(params, grads, args.clip, args.noise) / len(data)
            trainer.step(args.batch_size)
            total.update(None, loss(net(x), y))
        metric = mx.metric.Accuracy()
        metric.update(answers, net(nd.array(held_out, ctx=ctx)))
        history.add(total.get()[1], clipped, metric.get()[1])
        spent = epsilon(args.noise, epoch + 1, args.delta)
        logging.info("epsilon below %.2f at delta %g", spent, args.delta)
    common.finish(args, "private_training", net, history, x)
    return history.rows[-1][-1]


if __name__ == "__main__":
    main()
