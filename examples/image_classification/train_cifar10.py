"""Trains a network on CIFAR-10, from its binary files or from files of records."""

import argparse

from common import cifar10, fit, records, script


def parser():
    """The command line; ``--help`` shows all options with their defaults."""
    out = argparse.ArgumentParser(description=__doc__, formatter_class=fit.Formatter)
    fit.add_fit_args(out)
    records.add_data_args(out)
    records.add_augmentation_args(out)
    records.set_augmentation_level(out, 2)
    out.add_argument(
        "--data-dir",
        metavar="DIR",
        help="folder of CIFAR-10's binary files or of cifar-10-binary.tar.gz, where --data-train "
        "names no records; they are made there once (default: CYNET_DATA_DIR, else "
        "~/.mxnet/datasets/cifar10)",
    )
    out.set_defaults(
        network="resnet",
        num_layers=110,
        num_classes=10,
        image_shape="3,28,28",
        pad_size=4,
        batch_size=128,
        num_epochs=300,
        lr=0.05,
        lr_step_epochs="200,250",
    )
    return out


def main(argv=None):
    """Train, and report the validation accuracy of the last epoch."""
    args = parser().parse_args(argv)
    if not args.benchmark and not args.data_train:
        script.begin()
        args.data_train, val = cifar10.records(args.data_dir)
        args.data_val = args.data_val or val
    script.train(args)


if __name__ == "__main__":
    main()
