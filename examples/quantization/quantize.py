"""Trains a network on the digits that ship, or on sentences that it makes, brings it into integers
of 8 bits, compares both."""

import logging
import sys
import time
from pathlib import Path

import numpy as np

import cynet as mx
from cynet.contrib import quantization
from cynet.gluon import nn

sys.path.append(str(Path(__file__).parents[1] / "gluon"))
import common

WORDS = 60  # number of words: 0 .. 19 are good, 20 .. 39 bad, 40 .. 42 mean "not"
NOT = range(40, 43)
PART = 500  # images that are predicted at once: 10,000 of them need 24 GB in few bits


def sentences(n=2400, length=24):
    """Words (N, length) and labels: whether more is praised than blamed, where "not" turns the word
    behind it round; every fifth is for validation."""
    words = np.random.randint(0, WORDS, (n, length))
    value = np.where(words < 20, 1, np.where(words < 40, -1, 0))
    value[:, 1:] *= np.where(np.isin(words[:, :-1], NOT), -1, 1)
    total = value.sum(1)
    words, labels = words[total != 0].astype(np.float32), (total[total != 0] > 0).astype(np.float32)
    validation = np.arange(len(labels)) % 5 == 4
    return (words[~validation], labels[~validation]), (words[validation], labels[validation])


class TextCNN(nn.HybridBlock):
    """Windows of two and three words, their means and maxima over the sentence, a linear map."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, 32)
        self.windows = nn.HybridSequential()
        for size in (2, 3):
            self.windows.add(nn.Conv1D(48, size, activation="relu"))
        self.dense = nn.HybridSequential()
        self.dense.add(nn.Dense(64, activation="relu"), nn.Dense(2))

    def hybrid_forward(self, F, x):
        x = F.transpose(self.embed(x), axes=(0, 2, 1))
        found = [window(x) for window in self.windows]
        parts = [F.mean(each, axis=2) for each in found] + [F.max(each, axis=2) for each in found]
        return self.dense(F.concat(*parts, dim=1))


def lenet():
    """Two convolutions with maxima, two linear maps."""
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(20, 3, padding=1, activation="relu"),
        nn.MaxPool2D(2, 2),
        nn.Conv2D(50, 3, padding=1, activation="relu"),
        nn.MaxPool2D(2, 2),
        nn.Dense(128, activation="relu"),
        nn.Dense(10),
    )
    return net


class Residual(nn.HybridBlock):
    """Two convolutions beside a shortcut."""

    def __init__(self, channels, stride):
        super().__init__()
        self.body = nn.HybridSequential()
        self.body.add(
            nn.Conv2D(channels, 3, stride, 1, use_bias=False),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.Conv2D(channels, 3, 1, 1, use_bias=False),
            nn.BatchNorm(),
        )
        self.shortcut = nn.HybridSequential()
        if stride > 1:
            self.shortcut.add(nn.Conv2D(channels, 1, stride, use_bias=False), nn.BatchNorm())

    def hybrid_forward(self, F, x):
        return F.relu(self.body(x) + self.shortcut(x))


def resnet20():
    """Three stages of three residual blocks."""
    net = nn.HybridSequential()
    net.add(nn.Conv2D(16, 3, 1, 1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
    for channels in (16, 32, 64):
        for i in range(3):
            net.add(Residual(channels, 2 if channels > 16 and i == 0 else 1))
    net.add(nn.GlobalAvgPool2D(), nn.Dense(10))
    return net


NETWORKS = {"lenet": lenet, "resnet20": resnet20, "text": TextCNN}


def train(net, samples, unseen, args):
    """Adam over shuffled batches; returns the History."""
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": args.lr})
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    dataset = mx.gluon.data.ArrayDataset(*samples)
    loader = mx.gluon.data.DataLoader(dataset, args.batch_size, shuffle=True)
    history = common.History("loss", "accuracy")
    for _ in range(args.epochs):
        total = mx.metric.Loss()
        for data, label in common.progress(loader, "epoch"):
            with mx.autograd.record():
                error = loss(net(data), label)
            error.backward()
            trainer.step(len(data))
            total.update(None, error)
        history.add(total.get()[1], measure(net, *unseen)[0] / 100)
    return history


def measure(net, images, labels):
    """Accuracy in percent, and the milliseconds that one pass over all images takes."""
    parts = [mx.nd.array(images[i : i + PART]) for i in range(0, len(images), PART)]
    for data in parts[:1] + parts[-1:]:  # plans for both shapes
        net(data).wait_to_read()
    start = time.perf_counter()
    found = np.concatenate([net(data).asnumpy().argmax(1) for data in parts])
    return 100 * float((found == labels).mean()), 1e3 * (time.perf_counter() - start)


def main(argv=None):
    """Train and quantize; returns the accuracies of both in percent."""
    parser = common.parser(__doc__, without=["workers", "eager", "gpu"], epochs=10, lr=0.003)
    add = parser.add_argument
    add("--network", choices=NETWORKS, default="lenet", help="the network to train")
    modes = ("none", "naive", "entropy")
    add("--calib-mode", choices=modes, default="naive", help="how limits are found")
    add(
        "--calib-examples",
        type=common.positive,
        default=512,
        help="samples that limits are found on",
    )
    add(
        "--tolerance",
        type=float,
        metavar="X",
        help="keep the layers in float32 without which outputs lose more than this",
    )
    args = parser.parse_args(argv)
    common.start(args)
    samples, unseen = sentences() if args.network == "text" else common.arrays("digits")
    logging.info("%d samples for %s", len(samples[0]), args.network)
    net = NETWORKS[args.network]()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    history = train(net, samples, unseen, args)
    some = [mx.nd.array(samples[0][: args.calib_examples])]
    small = quantization.quantize_net(
        net,
        calib_mode=args.calib_mode,
        calib_data=some,
        tolerance=args.tolerance,
        logger=logging.getLogger(),
    )
    small.hybridize()
    before, time_before = measure(net, *unseen)
    after, time_after = measure(small, *unseen)
    common.finish(args, f"{args.network}-int8", small, history, mx.nd.array(unseen[0][:1]))
    logging.info("float32: %.2f %% in %.1f ms", before, time_before)
    logging.info("int8: %.2f %% in %.1f ms", after, time_after)
    return before, after


if __name__ == "__main__":
    main()
