"""What the Gluon examples share: options, data, progress, a plot, the saved model."""

import argparse
import logging
import sys
import time
from pathlib import Path

import numpy as np

import cynet as mx

FOLDER = Path(__file__).parent
DIGITS = FOLDER.parent / "image_classification" / "data" / "digits.npz"


def positive(text):
    """A whole number above 0, for options."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def parser(description, **defaults):
    """The options of all examples; `defaults` are this one's."""
    out = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    out.add_argument("--epochs", type=positive, default=defaults.get("epochs", 5))
    out.add_argument("--batch-size", type=positive, default=defaults.get("batch_size", 64))
    out.add_argument("--lr", type=float, default=defaults.get("lr", 0.001), help="learning rate")
    out.add_argument("--seed", type=int, default=0)
    out.add_argument("--workers", type=int, default=0, help="processes that make batches")
    out.add_argument("--eager", action="store_true", help="do not hybridize")
    out.add_argument("--gpu", type=int, metavar="N", help="train on this GPU")
    out.add_argument("--out", metavar="DIR", default="out", help="folder of the model and the plot")
    return out


def start(args):
    """Seed everything; the context to train on."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    np.random.seed(args.seed)
    mx.random.seed(args.seed)
    Path(args.out).mkdir(parents=True, exist_ok=True)
    return mx.cpu() if args.gpu is None else mx.gpu(args.gpu)


def digits():
    """The digits that ship: images (N, 8, 8, 1) of uint8, labels; every fifth is for validation."""
    with np.load(DIGITS) as file:
        images = (file["images"].astype(np.float32) * 15.9375).astype(np.uint8)[..., None]
        labels = file["labels"].astype(np.int32)
    validation = np.arange(len(labels)) % 5 == 4
    return (images[~validation], labels[~validation]), (images[validation], labels[validation])


class History:
    """Figures of each epoch: printed as they come, and drawn."""

    def __init__(self, *names):
        self.names = names
        self.rows = []
        self._since = time.time()

    def add(self, *values):
        """Note an epoch."""
        self.rows.append(values)
        now = time.time()
        text = "  ".join(f"{name} {value:.4f}" for name, value in zip(self.names, values))
        logging.info("epoch %d  %s  (%.1f s)", len(self.rows), text, now - self._since)
        self._since = now

    def plot(self, path):
        """Draw all figures over the epochs into an SVG file."""
        width, height, border = 480, 300, 40
        values = np.array(self.rows, float)
        low, high = float(values.min()), float(values.max())
        span = (high - low) or 1.0
        colours = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd")
        lines = []
        for k, (name, column) in enumerate(zip(self.names, values.T)):
            x = np.linspace(border, width - border, max(len(column), 2))
            y = height - border - (column - low) / span * (height - 2 * border)
            points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, np.resize(y, len(x))))
            colour = colours[k % len(colours)]
            lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}"/>')
            lines.append(
                f'<text x="{border + 110 * k}" y="20" fill="{colour}" font-size="12">{name}</text>'
            )
        for value, y in ((low, height - border), (high, border)):
            lines.append(f'<text x="2" y="{y}" font-size="10">{value:.3g}</text>')
        corners = f"{border},{border} {border},{height - border} {width - border},{height - border}"
        lines.append(f'<polyline points="{corners}" fill="none" stroke="grey"/>')
        for text, x in ((1, border), ("epoch", width // 2), (len(values), width - border)):
            lines.append(f'<text x="{x}" y="{height - 20}" font-size="10">{text}</text>')
        body = "\n".join(lines)
        Path(path).write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">\n'
            f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
        )


def finish(args, name, net, history, example):
    """Write the plot and the model, and say how it is used; `example` is a batch."""
    folder = Path(args.out)
    history.plot(folder / f"{name}.svg")
    if args.eager:
        net.hybridize()
    net(example)
    net.export(folder / name)
    logging.info("plot: %s", folder / f"{name}.svg")
    logging.info(
        "use it: net = mx.gluon.SymbolBlock.imports('%s', 'data', '%s')",
        folder / f"{name}-symbol.json",
        folder / f"{name}-0000.params",
    )
