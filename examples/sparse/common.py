"""What the programs of this folder share: options, data that they make, what is saved."""

import argparse
import time

import numpy as np

import cynet as mx


def positive(text):
    """A whole number of 1 or more; a type of options."""
    if int(text) < 1:
        raise ValueError
    return int(text)


HELP = {
    "epochs": "epochs to train",
    "batch_size": "examples of a batch",
    "seed": "seed of all random numbers",
    "features": "columns of the data that is made",
    "examples": "rows of the data that is made",
    "each": "features of a row",
    "factors": "numbers that stand for a feature, a user or an item",
    "users": "users of the ratings that are made",
    "items": "items of the ratings that are made",
    "ratings": "ratings that are made",
    "categories": "categories of a field",
    "fields": "fields of a row, each of one category",
    "size": "numbers that stand for a category",
}


class Formatter(argparse.ArgumentDefaultsHelpFormatter):
    """Help that says the default of an option that has one."""

    def _get_help_string(self, action):
        return action.help if action.default is None else super()._get_help_string(action)


def options(description, argv, **sizes):
    """The options that all programs have, and whole numbers of their own with these defaults."""
    parser = argparse.ArgumentParser(description=description, formatter_class=Formatter)
    sizes = {"epochs": 3, "batch_size": 500, "seed": 1, **sizes}
    for name, default in sizes.items():
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=positive, default=default, help=HELP[name])
    parser.add_argument("--lr", type=float, default=0.05, help="learning rate")
    chosen = parser.parse_args(argv)
    mx.random.seed(chosen.seed)
    np.random.seed(chosen.seed)
    return chosen


def csr_examples(examples, features, each, rng):
    """A csr matrix with about `each` features of 1 in every row, few of them frequent."""
    columns = (features * rng.random((examples, each)) ** 3).astype(np.int64)
    rows = np.repeat(np.arange(examples), each)
    places = np.unique(rows * features + columns.ravel())
    values = np.ones(len(places), np.float32)
    return mx.nd.sparse.csr_matrix(
        (values, (places // features, places % features)), shape=(examples, features)
    )


def labels_of(scores):
    """0 or 1: which half of the scores each is in."""
    return (scores > np.median(scores)).astype(np.float32)


class Clock:
    """Seconds of training, without the first epoch, in which memory is taken."""

    def __init__(self):
        self.seconds = self.steps = 0

    def __enter__(self):
        self.since = time.perf_counter()

    def __exit__(self, *error):
        mx.nd.waitall()
        self.seconds += time.perf_counter() - self.since


def report(accuracy, touched, rows, clock, steps):
    """Print the accuracy, and which share of the rows of a table a step touches."""
    share = touched / rows
    print(
        f"accuracy {accuracy:.3f}; a step touches {touched:.0f} of {rows} rows ({share:.2%}) and"
        f" takes {1000 * clock.seconds / steps:.2f} ms"
    )
    return accuracy, share
