"""Trains a network on MNIST, or on the bundled digits if MNIST is not found."""

import argparse
import importlib
import logging
import sys

from common import data, fit

# Networks for images of MNIST's size; the others of symbols/ need larger ones.
NETWORKS = ("mlp", "lenet", "resnet", "inception_bn", "lstm")


def parse_args(argv=None):
    """The command line; ``--help`` shows all options with their defaults."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    fit.add_fit_args(parser)
    data.add_data_args(parser)
    parser.add_argument("--num-classes", type=int, default=10)
    return parser.parse_args(argv)


def get_network(args, image_shape=data.IMAGE_SHAPE):
    """The Symbol of ``--network``, from the module of that name in symbols/."""
    if args.network not in NETWORKS:
        raise SystemExit(f"--network {args.network}: there are {', '.join(NETWORKS)}")
    module = importlib.import_module(f"symbols.{args.network}")
    options = {} if args.num_layers is None else {"num_layers": args.num_layers}
    if args.dtype != "float32":
        if args.network != "resnet":
            raise SystemExit(f"--dtype {args.dtype}: only resnet has it, not {args.network}")
        options["dtype"] = args.dtype
    try:
        return module.get_symbol(num_classes=args.num_classes, image_shape=image_shape, **options)
    except (TypeError, ValueError) as error:
        raise SystemExit(f"--network {args.network}: {error}") from None


def main(argv=None):
    """Train, and report the validation accuracy of the last epoch."""
    args = parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    logging.info("%s", " ".join(f"{k}={v}" for k, v in vars(args).items() if v is not None))
    fit.seed_all(args.seed)
    network = get_network(args)
    kv = fit.check(args)  # before the data is loaded, and perhaps fetched
    train, val = data.iterators(args, kv)
    logging.info(
        "training %s on %d images of %s, validating on %d",
        args.network,
        train.num_data,
        " x ".join(map(str, data.IMAGE_SHAPE)),
        val.num_data,
    )
    _, history = fit.fit(args, network, train, val, kv)
    if history.epochs:
        accuracy = history.epochs[-1]["validation"]["accuracy"]
        logging.info(
            "validation accuracy after epoch %d: %.2f %%",
            history.epochs[-1]["epoch"],
            100 * accuracy,
        )


if __name__ == "__main__":
    main()
