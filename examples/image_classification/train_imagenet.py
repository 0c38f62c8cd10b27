"""Trains a network on images from files of records, ImageNet for example; with --benchmark 1 on
random ones, to see how fast it is."""

import argparse

from common import fit, records, script


def parser():
    """The command line; ``--help`` shows all options with their defaults."""
    out = argparse.ArgumentParser(description=__doc__, formatter_class=fit.Formatter)
    fit.add_fit_args(out)
    records.add_data_args(out)
    records.add_augmentation_args(out)
    records.set_augmentation_level(out, 1)
    out.set_defaults(
        network="resnet",
        num_layers=50,
        num_epochs=80,
        lr=0.1,
        lr_step_epochs="30,60",
        batch_size=128,
    )
    return out


def main(argv=None):
    """Train, and report the validation accuracy of the last epoch."""
    script.train(parser().parse_args(argv))


if __name__ == "__main__":
    main()
