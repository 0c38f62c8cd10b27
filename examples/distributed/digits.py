"""The bundled digits as arrays, and what both scripts ask on the command line."""

import argparse
from pathlib import Path

import numpy as np

FILE = Path(__file__).parent.parent / "image_classification" / "data" / "digits.npz"


def load():
    """(training images, labels), (validation images, labels): (N, 64) in 0 to 1, and 0 to 9."""
    with np.load(FILE) as content:
        images, labels = content["images"].reshape(-1, 64) / np.float32(16), content["labels"]
    order = np.random.RandomState(0).permutation(len(images))
    images, labels = images[order], labels[order].astype(np.float32)
    return (images[:1500], labels[:1500]), (images[1500:], labels[1500:])


def arguments(about, argv=None, resume=False):
    """The command line."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--batch-size", type=int, default=25, help="examples a step, of one rank")
    parser.add_argument("--epochs", type=int, default=6, help="how many epochs (6)")
    parser.add_argument("--lr", type=float, default=0.1, help="learning rate (0.1)")
    if resume:
        parser.add_argument("--resume", help="beginning of the file from which training goes on")
    return parser.parse_args(argv)
