"""Trains a network on MNIST, or on the bundled digits if MNIST is not found."""

import argparse
import logging

from common import data, fit, script
from common.network import get_network

# Networks for images of MNIST's size; the others of symbols/ need larger ones.
NETWORKS = ("mlp", "lenet", "resnet", "inception_bn", "lstm")


def parse_args(argv=None):
    """The command line; ``--help`` shows all options with their defaults."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=fit.Formatter)
    fit.add_fit_args(parser)
    data.add_data_args(parser)
    parser.add_argument("--num-classes", type=int, default=10, help="classes of the labels")
    return parser.parse_args(argv)


def main(argv=None):
    """Train, and report the validation accuracy of the last epoch."""
    args = parse_args(argv)
    script.begin()
    fit.seed_all(args.seed)
    network = get_network(args, data.IMAGE_SHAPE, NETWORKS)
    kv = fit.check(args)  # checks options before data is loaded
    train, val = data.iterators(args, kv)
    if args.test_io:
        fit.test_reading(args, train)
        return
    logging.info(
        "training %s on %d images of %s, validating on %d",
        args.network,
        train.num_data,
        " x ".join(map(str, data.IMAGE_SHAPE)),
        val.num_data,
    )
    _, history = fit.fit(args, network, train, val, kv)
    fit.report(history)


if __name__ == "__main__":
    main()
