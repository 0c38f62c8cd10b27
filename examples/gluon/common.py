"""What the examples share: options, data, progress, a plot, the saved model."""

import argparse
import logging
import sys
import time
from pathlib import Path

import numpy as np
from tqdm import tqdm

import cynet as mx

FOLDER = Path(__file__).parent
DIGITS = FOLDER.parent / "image_classification" / "data" / "digits.npz"


def positive(text):
    """A whole number above 0, for options."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


class Formatter(argparse.ArgumentDefaultsHelpFormatter):
    """Help that says the default of an option that has one."""

    def _get_help_string(self, action):
        return action.help if action.default is None else super()._get_help_string(action)


def parser(description, without=(), **defaults):
    """The options of all examples but those in `without`; `defaults` are this one's."""
    out = argparse.ArgumentParser(description=description, formatter_class=Formatter)
    common = {
        "epochs": {"type": positive, "default": 5, "help": "epochs to train"},
        "batch_size": {"type": positive, "default": 64, "help": "samples of a batch"},
        "lr": {"type": float, "default": 0.001, "help": "learning rate"},
        "seed": {"type": int, "default": 0, "help": "seed of all random numbers"},
        "workers": {"type": int, "default": 0, "help": "processes that make batches"},
        "eager": {"action": "store_true", "help": "do not hybridize"},
        "gpu": {"type": int, "metavar": "N", "help": "train on this GPU"},
        "out": {"metavar": "DIR", "default": "out", "help": "folder of what is written"},
    }
    for name, settings in common.items():
        if name in defaults:
            settings["default"] = defaults[name]
        if name not in without:
            out.add_argument(f"--{name.replace('_', '-')}", **settings)
    return out


def start(args, quiet=False):
    """Seed everything; the context to train on. `quiet` processes log no progress."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    if quiet:
        logging.disable(logging.INFO)
    if "seed" in args:
        np.random.seed(args.seed)
        mx.random.seed(args.seed)
    Path(args.out).mkdir(parents=True, exist_ok=True)
    return mx.cpu() if getattr(args, "gpu", None) is None else mx.gpu(args.gpu)


def progress(items, what, total=None, quiet=False):
    """Go through `items`; on a terminal a bar shows how far it is, unless `quiet`."""
    return tqdm(items, desc=what, total=total, leave=False, disable=True if quiet else None)


def digits():
    """The digits that ship: images (N, 8, 8, 1) of uint8, labels; every fifth is for validation."""
    with np.load(DIGITS) as file:
        images = (file["images"].astype(np.float32) * 15.9375).astype(np.uint8)[..., None]
        labels = file["labels"].astype(np.int32)
    validation = np.arange(len(labels)) % 5 == 4
    return (images[~validation], labels[~validation]), (images[validation], labels[validation])


def bar(batches):
    """What `fit` calls after each of so many batches: a bar on a terminal, else None."""
    return mx.callback.ProgressBar(batches) if sys.stderr.isatty() else None


def add_dataset(parser):
    """The option whose value `arrays` takes."""
    parser.add_argument(
        "--dataset",
        choices=("digits", "mnist"),
        default="digits",
        help="digits: 1,797 that ship; mnist: from CYNET_DATA_DIR, a cache folder or the net",
    )


def arrays(which):
    """(images, labels) to train on and those to validate on; images (N, 1, h, w) from 0 to 1."""
    if which == "digits":
        return [(x.transpose(0, 3, 1, 2) / np.float32(255), y) for x, y in digits()]
    try:
        data = mx.test_utils.get_mnist()
    except OSError as error:
        raise SystemExit(f"--dataset mnist: {error}") from None
    return [(data[f"{part}_data"], data[f"{part}_label"]) for part in ("train", "test")]


class History:
    """Figures of each epoch: printed as they come, and drawn.

    Parameters
    ----------
    *names : str
        What the figures are; the first `left` of them are drawn on the left, others on the right.
    unit : str
        What training is counted in.
    every : int
        How many of these lie between two rows.
    """

    def __init__(self, *names, left=1, unit="epoch", every=1):
        self.names = names
        self.rows = []
        self._left = left
        self._unit = unit
        self.every = every
        self._since = time.time()

    def add(self, *values):
        """Note an epoch."""
        self.rows.append(values)
        now = time.time()
        text = "  ".join(f"{name} {value:.4f}" for name, value in zip(self.names, values))
        done = len(self.rows) * self.every
        logging.info("%s %d  %s  (%.1f s)", self._unit, done, text, now - self._since)
        self._since = now

    def plot(self, path):
        """Draw the figures over the rows to the PNG file `path`, and say where it is."""
        pyplot = matplotlib_or_word("plot")
        if pyplot is None:
            return
        columns = list(zip(self.names, zip(*self.rows)))
        parts = [each for each in (columns[: self._left], columns[self._left :]) if each]
        figure, axes = pyplot.subplots(
            1, len(parts), figsize=(5 * len(parts), 4), layout="constrained", squeeze=False
        )
        for axis, part in zip(axes[0], parts):
            for name, values in part:
                at = range(self.every, len(values) * self.every + 1, self.every)
                axis.plot(at, values, marker="o" if len(values) < 30 else "", label=name)
            axis.set(xlabel=self._unit, title=", ".join(name for name, _ in part))
            axis.xaxis.get_major_locator().set_params(integer=True)
            axis.grid(alpha=0.3)
            axis.legend()
        figure.savefig(path, dpi=100, format="png")
        pyplot.close(figure)
        logging.info("plot: %s", path)


def matplotlib_or_word(what):
    """``matplotlib.pyplot`` for files; None, with a word of what is not drawn, without it."""
    try:
        import matplotlib
    except ImportError:
        logging.info("no %s: it needs matplotlib, pip install 'cynet-mx[viz]'", what)
        return None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def plot_fit(history, path, metrics=None):
    """Draw what `fit` returned to the PNG file `path`, and say where it is."""
    if matplotlib_or_word("plot") is not None:
        history.plot(path, metrics)
        logging.info("plot: %s", path)


def tiles(images, least=48):
    """Images (rows, columns, h, w) from 0 to 1 as one, each `least` pixels high or more."""
    images = np.asarray(images)
    zoom = -(-least // images.shape[2])
    large = images.repeat(zoom, 2).repeat(zoom, 3)
    framed = np.pad(large, ((0, 0), (0, 0), (2, 0), (2, 0)), constant_values=1)
    rows, columns, height, width = framed.shape
    whole = framed.transpose(0, 2, 1, 3).reshape(rows * height, columns * width)
    return np.pad(whole, ((0, 2), (0, 2)), constant_values=1)


def picture(pixels, path, what):
    """Write gray pixels (h, w) from 0 to 1 to the PNG file `path`; `what` is for the log."""
    pyplot = matplotlib_or_word("picture")
    if pyplot is not None:
        pyplot.imsave(path, pixels, cmap="gray", vmin=0, vmax=1, format="png")
        logging.info("%s: %s", what, path)


def finish(args, name, net, history, example):
    """Draw the plot, write the model, and say how it is used; `example` is a batch."""
    folder = Path(args.out)
    history.plot(folder / f"{name}.png")
    if getattr(args, "eager", False):
        net.hybridize()
    net(example)
    net.export(folder / name)
    logging.info(
        "use it: net = mx.gluon.SymbolBlock.imports('%s', 'data', '%s')",
        folder / f"{name}-symbol.json",
        folder / f"{name}-0000.params",
    )
