"""Trains a network on MNIST, or on the bundled digits where MNIST is not to be had."""

import argparse
import importlib
import logging
import sys

from common import data, fit

import cynet as mx


def parse_args(argv=None):
    """The command line; ``--help`` shows all options with their defaults."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    fit.add_fit_args(parser)
    data.add_data_args(parser)
    parser.add_argument("--num-classes", type=int, default=10)
    return parser.parse_args(argv)


def get_network(args):
    """The Symbol of ``--network``, from the module of that name in symbols/."""
    try:
        module = importlib.import_module(f"symbols.{args.network}")
    except ModuleNotFoundError:
        raise SystemExit(f"--network {args.network}: there are mlp, lenet and resnet") from None
    options = {} if args.num_layers is None else {"num_layers": args.num_layers}
    return module.get_symbol(num_classes=args.num_classes, **options)


def main(argv=None):
    """Train, and report the validation accuracy of the last epoch."""
    args = parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    logging.info("%s", " ".join(f"{k}={v}" for k, v in vars(args).items() if v is not None))
    fit.seed_all(args.seed)
    kv = mx.kvstore.create(args.kv_store)
    train, val = data.iterators(args, kv)
    _, history = fit.fit(args, get_network(args), train, val, kv)
    if history.epochs:
        accuracy = history.epochs[-1]["validation"]["accuracy"]
        logging.info(
            "validation accuracy after epoch %d: %.2f %%",
            history.epochs[-1]["epoch"],
            100 * accuracy,
        )


if __name__ == "__main__":
    main()
