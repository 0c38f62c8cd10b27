"""Trains a network on MNIST, or on the digits that ship where MNIST is not found."""

import logging

import common

import cynet as mx
from cynet import autograd, gluon
from cynet.gluon import nn
from cynet.gluon.data.vision import transforms


def mlp():
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Dense(128, activation="relu"), nn.Dense(64, activation="relu"), nn.Dense(10))
    return net


def lenet():
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Conv2D(20, 3, padding=1, activation="relu"), nn.MaxPool2D())
        net.add(nn.Conv2D(50, 3, padding=1, activation="relu"), nn.MaxPool2D())
        net.add(nn.Flatten(), nn.Dense(128, activation="relu"), nn.Dropout(0.3), nn.Dense(10))
    return net


def resnet():
    return gluon.model_zoo.vision.get_resnet(1, 18, classes=10, thumbnail=True)


NETWORKS = {"mlp": mlp, "lenet": lenet, "resnet": resnet}


def datasets(which):
    """(training, validation) datasets of uint8 images (H, W, 1) and labels."""
    if which in ("auto", "mnist"):
        try:
            return [gluon.data.vision.MNIST(train=part) for part in (True, False)]
        except OSError as error:
            if which == "mnist":
                raise SystemExit(f"--dataset mnist: {error}") from None
    return [
        gluon.data.ArrayDataset(mx.nd.array(images, dtype="uint8"), labels)
        for images, labels in common.digits()
    ]


def accuracy(net, loader, ctx):
    metric = mx.metric.Accuracy()
    for x, y in loader:
        metric.update(y, net(x.as_in_context(ctx)))
    return metric.get()[1]


def main(argv=None):
    """Train; returns the validation accuracy."""
    parser = common.parser(__doc__, epochs=5, lr=0.002)
    parser.add_argument(
        "--network", choices=sorted(NETWORKS), default="lenet", help="what is trained"
    )
    parser.add_argument(
        "--dataset",
        choices=("auto", "mnist", "digits"),
        default="auto",
        help="auto: MNIST if it is on disk, else the digits that ship",
    )
    args = parser.parse_args(argv)
    ctx = common.start(args)

    to_tensor = transforms.Compose([transforms.ToTensor(), transforms.Normalize(0.13, 0.31)])
    train, val = (each.transform_first(to_tensor, lazy=True) for each in datasets(args.dataset))
    train = gluon.data.DataLoader(
        train, args.batch_size, shuffle=True, last_batch="discard", num_workers=args.workers
    )
    if not len(train):
        parser.error(f"--batch-size {args.batch_size} is more than there are samples")
    val = gluon.data.DataLoader(val, 4 * args.batch_size, num_workers=args.workers)

    net = NETWORKS[args.network]()
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
    common.finish(args, args.network, net, history, x)
    logging.info("validation accuracy: %.2f %%", 100 * history.rows[-1][1])
    return history.rows[-1][1]


if __name__ == "__main__":
    main()
