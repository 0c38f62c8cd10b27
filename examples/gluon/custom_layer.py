"""Trains a network with a layer whose gradient is written by hand, as an autograd.Function.

The layer rounds what goes through it to a few levels, which has the gradient 0 everywhere; backward
passes the gradient on as if nothing had been rounded (a straight-through estimator).
"""

import logging

import common

import cynet as mx
from cynet import autograd, gluon
from cynet.gluon import nn


class Quantize(autograd.Function):
    """Rounds to `levels` values between 0 and 1."""

    def __init__(self, levels):
        self.levels = levels

    def forward(self, x):
        inside = mx.nd.clip(x, 0, 1)
        self.save_for_backward(x)
        return mx.nd.round(inside * (self.levels - 1)) / (self.levels - 1)

    def backward(self, dy):
        (x,) = self.saved_tensors
        return dy * (x >= 0) * (x <= 1)


class QuantizedActivation(gluon.Block):
    """The quantization function as a layer."""

    def __init__(self, levels, **kwargs):
        super().__init__(**kwargs)
        self._levels = levels

    def forward(self, x):
        return Quantize(self._levels)(x)


def network(levels):
    net = nn.Sequential()
    with net.name_scope():
        net.add(nn.Flatten(), nn.Dense(64), QuantizedActivation(levels))
        net.add(nn.Dense(64), QuantizedActivation(levels), nn.Dense(10))
    return net


def main(argv=None):
    """Train; returns the validation accuracy."""
    parser = common.parser(__doc__, epochs=15, lr=0.005)
    parser.add_argument("--levels", type=int, default=4, help="values that an activation can have")
    args = parser.parse_args(argv)
    if args.levels < 2:
        parser.error(f"--levels is {args.levels}, expected at least 2")
    ctx = common.start(args)
    train, val = (
        gluon.data.ArrayDataset(images.astype("float32") / 255, labels)
        for images, labels in common.digits()
    )
    train = gluon.data.DataLoader(train, args.batch_size, shuffle=True, last_batch="discard")
    if not len(train):
        parser.error(f"--batch-size {args.batch_size} is more than there are samples")
    val = gluon.data.DataLoader(val, 256)
    net = network(args.levels)
    net.initialize(mx.init.Xavier(), ctx=ctx)
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": args.lr})
    history = common.History("loss", "accuracy")
    for _ in range(args.epochs):
        total, right = mx.metric.Loss(), mx.metric.Accuracy()
        for x, y in common.progress(train, "epoch"):
            x, y = x.as_in_context(ctx), y.as_in_context(ctx)
            with autograd.record():
                each = loss(net(x), y)
            each.backward()
            trainer.step(args.batch_size)
            total.update(None, each)
        for x, y in val:
            right.update(y, net(x.as_in_context(ctx)))
        history.add(total.get()[1], right.get()[1])
    history.plot(f"{args.out}/custom_layer.png")
    net.save_parameters(f"{args.out}/custom_layer.params")
    logging.info(
        "use it: from custom_layer import network; net = network(%d);"
        " net.load_parameters('%s/custom_layer.params')",
        args.levels,
        args.out,
    )
    return history.rows[-1][1]


if __name__ == "__main__":
    main()
