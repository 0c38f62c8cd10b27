"""Trains a network on the digits that ship, or on sentences that it makes, brings it into integers
of 8 bits, compares both."""

import argparse
import logging
import sys
import time
from pathlib import Path

import numpy as np

import cynet as mx
from cynet.contrib import quantization
from cynet.gluon import nn

DIGITS = Path(__file__).parents[1] / "image_classification" / "data" / "digits.npz"


def digits():
    """Images (N, 1, 8, 8) from 0 to 1 and labels; every fifth is for validation."""
    with np.load(DIGITS) as file:
        images = file["images"].astype(np.float32)[:, None]
        labels = file["labels"].astype(np.float32)
    images /= images.max()
    validation = np.arange(len(labels)) % 5 == 4
    return (images[~validation], labels[~validation]), (images[validation], labels[validation])


WORDS = 60  # of which the first 20 say something good, the next 20 something bad, 3 turn it round
NOT = range(40, 43)


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


def train(net, images, labels, epochs, batch_size):
    """Adam over shuffled batches."""
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.003})
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    for epoch in range(epochs):
        order, total = np.random.permutation(len(images)), 0.0
        for first in range(0, len(order), batch_size):
            chosen = order[first : first + batch_size]
            data, label = mx.nd.array(images[chosen]), mx.nd.array(labels[chosen])
            with mx.autograd.record():
                error = loss(net(data), label)
            error.backward()
            trainer.step(len(chosen))
            total += error.sum().asscalar()
        logging.info("epoch %d: loss %.4f", epoch + 1, total / len(images))


def measure(net, images, labels):
    """Accuracy in percent, and the milliseconds that one pass over all images takes."""
    data = mx.nd.array(images)
    net(data).wait_to_read()
    start = time.perf_counter()
    found = net(data).asnumpy().argmax(1)
    return 100 * float((found == labels).mean()), 1e3 * (time.perf_counter() - start)


class Formatter(argparse.ArgumentDefaultsHelpFormatter):
    """Help that says the default of an option that has one."""

    def _get_help_string(self, action):
        return action.help if action.default is None else super()._get_help_string(action)


def options(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=Formatter)
    parser.add_argument(
        "--network", choices=("lenet", "resnet20", "text"), default="lenet",
        help="the network to train",
    )
    parser.add_argument("--epochs", type=int, default=10, help="epochs to train")
    parser.add_argument("--batch-size", type=int, default=64, help="samples of a batch")
    parser.add_argument(
        "--calib-mode", choices=("none", "naive", "entropy"), default="naive",
        help="how limits are found",
    )  # fmt: skip
    parser.add_argument(
        "--calib-examples", type=int, default=512, help="images that limits are found on"
    )
    parser.add_argument(
        "--tolerance", type=float, metavar="X",
        help="keep the layers in float32 without which outputs lose more than this",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="seed of all random numbers")
    parser.add_argument("--out", metavar="DIR", default="out", help="folder of the model")
    return parser.parse_args(arguments)


def main(arguments=None):
    args = options(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    np.random.seed(args.seed)
    mx.random.seed(args.seed)
    (images, labels), (others, answers) = sentences() if args.network == "text" else digits()
    net = {"lenet": lenet, "resnet20": resnet20, "text": TextCNN}[args.network]()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    train(net, images, labels, args.epochs, args.batch_size)
    chosen = [mx.nd.array(images[: args.calib_examples])]
    small = quantization.quantize_net(
        net, calib_mode=args.calib_mode, calib_data=chosen, tolerance=args.tolerance,
        logger=logging.getLogger(),
    )  # fmt: skip
    small.hybridize()
    before, time_before = measure(net, others, answers)
    after, time_after = measure(small, others, answers)
    logging.info("float32: %.2f %% in %.1f ms", before, time_before)
    logging.info("int8: %.2f %% in %.1f ms", after, time_after)
    Path(args.out).mkdir(parents=True, exist_ok=True)
    small.export(str(Path(args.out) / f"{args.network}-int8"))
    return before, after


if __name__ == "__main__":
    main()
