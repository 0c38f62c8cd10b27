"""What the programs of this folder share: options, data that they make, what is told in the end."""

import contextlib
import logging
import sys
import time
from pathlib import Path

import numpy as np

import cynet as mx

sys.path.append(str(Path(__file__).parents[1] / "gluon"))
import common

HELP = {
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


def options(description, argv, **sizes):
    """The options that all programs have, and whole numbers of their own with these defaults."""
    parser = common.parser(
        description, without=["workers", "eager", "gpu"], epochs=3, batch_size=500, lr=0.05, seed=1
    )
    for name, default in sizes.items():
        parser.add_argument(f"--{name}", type=common.positive, default=default, help=HELP[name])
    chosen = parser.parse_args(argv)
    common.start(chosen)
    logging.info("%s", ", ".join(f"{getattr(chosen, name)} {name}" for name in list(sizes)[:3]))
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


class Training:
    """Accuracies of the epochs, seconds of the steps, and how many rows of a table they touch.

    Parameters
    ----------
    rows : int
        Rows of the tables.
    *more : str
        Figures of an epoch beside the accuracy of training.
    """

    def __init__(self, rows, *more):
        self._rows = rows
        self._touched = self._steps = self._seconds = 0
        self._history = common.History("accuracy", *more, left=1 + len(more))

    @contextlib.contextmanager
    def step(self):
        """Count a step, and the seconds of what is done inside of ``with``."""
        since = time.perf_counter()
        yield
        mx.nd.waitall()
        self._seconds += time.perf_counter() - since
        self._steps += 1

    def touch(self, rows):
        """Note how many rows have a gradient in a step."""
        self._touched += rows

    def add(self, *figures):
        """Note an epoch."""
        self._history.add(*figures)

    def finish(self, args, name):
        """Draw, tell; the last figures, and which share of the rows a step touches."""
        self._history.plot(Path(args.out) / f"{name}.png")
        figures = self._history.rows[-1]
        share = self._touched / self._steps / self._rows
        logging.info(
            "accuracy %.3f; a step touches %.0f of %d rows (%.2f%%) and takes %.2f ms",
            figures[-1],
            self._touched / self._steps,
            self._rows,
            100 * share,
            1000 * self._seconds / self._steps,
        )
        return figures[-1], share


def train_module(args, module, batches, optimizer, metric, training):
    """Train a bound Module on csr batches; an epoch's accuracy is what `score` says."""
    module.init_params()
    module.init_optimizer(optimizer=optimizer, optimizer_params={"learning_rate": args.lr})
    for _ in range(args.epochs):
        batches.reset()
        for batch in common.progress(batches, "epoch"):
            with training.step():
                module.forward_backward(batch)
                module.update()
            training.touch(len(np.unique(batch.data[0].indices.asnumpy())))
        (_, accuracy), *_ = module.score(batches, metric)
        training.add(accuracy)


def save_module(args, module, name):
    """Write a checkpoint, and print how to read it."""
    prefix = Path(args.out) / name
    module.save_checkpoint(str(prefix), args.epochs)
    logging.info("use it: module = mx.mod.Module.load('%s', %d)", prefix, args.epochs)


def save_block(args, net, name):
    """Write a network's parameters, and print how to read them."""
    path = Path(args.out) / f"{name}.params"
    net.save_parameters(str(path))
    logging.info("use it: values = mx.nd.load('%s')", path)
