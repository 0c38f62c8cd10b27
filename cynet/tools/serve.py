"""Serve networks over HTTP: POST /predict, GET /health, GET /metrics, the Open Inference
Protocol below /v2.

python -m cynet.tools.serve model --shape data=3,224,224     model-symbol.json, model-NNNN.params
python -m cynet.tools.serve model                            the same, if it has a card
python -m cynet.tools.serve model.onnx --shape 16 --port 80  an ONNX file with one input
python -m cynet.tools.serve cnn --name cnn --shape 1,28,28 --also mlp=mlp.onnx --shape mlp:data=784

It needs the package waitress: pip install 'cynet-mx[serve]'.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, CynetError
from ..model import load_card
from ..serving import Application, Predictor
from ..serving.bodies import Images
from ..serving.networks import DTYPES
from ..serving.server import Server

if TYPE_CHECKING:
    from collections.abc import Sequence


def _parse_shape(text):
    """Parse ``data=3,224,224``, or ``3,224,224``, into (name, shape)."""
    name, equals, sizes = text.rpartition("=")
    try:
        return name if equals else "data", tuple(int(n) for n in sizes.split(",") if n.strip())
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected NAME=LENGTH,LENGTH,...") from None


def _parse_model(text):
    """Parse ``NAME=MODEL`` into (name, path)."""
    name, equals, path = text.partition("=")
    if not (name and equals and path):
        raise argparse.ArgumentTypeError(f"{text!r}: expected NAME=MODEL")
    return name, path


def _int_parser(low, high=1 << 40):
    """Make a parser of an int from `low` to `high`."""

    def read(text):
        try:
            number = int(text)
        except ValueError:
            number = low - 1
        if not low <= number <= high:
            maximum = f" to {high}" if high < 1 << 40 else " on"
            raise argparse.ArgumentTypeError(
                f"{text!r}: expected a whole number from {low}{maximum}"
            )
        return number

    return read


def _parse_seconds(text):
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < 3600:
        raise argparse.ArgumentTypeError(f"{text!r}: expected seconds from 0 to less than 3600")
    return number


def _parse_floats(text):
    try:
        found = [float(each) for each in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected numbers between commas") from None
    return found[0] if len(found) == 1 else found


class _HelpFormatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Help formatter that preserves line breaks of the description and appends defaults."""

    def _get_help_string(self, action):
        return action.help if action.default is None else super()._get_help_string(action)


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    found = argparse.ArgumentParser(
        prog="python -m cynet.tools.serve", description=__doc__, formatter_class=_HelpFormatter
    )
    add = found.add_argument
    add("model", help="prefix of a checkpoint, or an .onnx file")
    add(
        "--shape",
        type=_parse_shape,
        action="append",
        default=[],
        metavar="[MODEL:]NAME=N,N,...",
        help="shape of one row of an input, -1 for a length that varies; once for each input, but"
        " for a model whose card says it",
    )
    add("--name", default="model", help="name of the model in paths below /v2")
    add(
        "--also",
        type=_parse_model,
        action="append",
        default=[],
        metavar="NAME=MODEL",
        help="a further model, below /v2; its inputs are given by --shape NAME:INPUT=N,N,...",
    )
    add("--epoch", type=_int_parser(0), help="epoch of the checkpoint (else the last one)")
    add("--dtype", choices=DTYPES, default="float32", help="type in which products are computed")
    add("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 for all")
    add(
        "--port",
        type=_int_parser(0, 65535),
        default=8080,
        help="port to listen on; 0 for any free one",
    )
    add(
        "--threads",
        type=_int_parser(1),
        default=32,
        help="requests that are handled at the same time",
    )
    add("--connections", type=_int_parser(1), default=1000, help="connections that are held")
    add("--max-batch", type=_int_parser(1), default=32, help="rows of a batch")
    add(
        "--max-delay",
        type=_parse_seconds,
        default=0.0,
        help="seconds that a batch waits for more rows",
    )
    add("--max-waiting", type=_int_parser(1), default=1024, help="rows that may wait")
    add("--max-body", type=_int_parser(1), default=16 << 20, help="bytes of a body")
    add("--max-pixels", type=_int_parser(1), default=1 << 25, help="pixels of an image")
    add(
        "--timeout",
        type=_parse_seconds,
        default=30.0,
        help="seconds within which a request gets its turn",
    )
    add(
        "--idle",
        type=_int_parser(1),
        default=60,
        help="seconds after which a silent connection is closed",
    )
    add(
        "--grace",
        type=_parse_seconds,
        default=8.0,
        help="seconds from SIGTERM until the process ends",
    )
    add("--scale", type=float, default=1 / 255, help="factor of an image's pixels")
    add("--mean", type=_parse_floats, default=0.0, help="mean of each channel, after the factor")
    add("--std", type=_parse_floats, default=1.0, help="standard deviation of each channel")
    add("--classes", type=Path, help="file with the name of a class in each line")
    add("--top", type=_int_parser(1), default=5, help="classes that an answer names")
    return found


def application(args: argparse.Namespace) -> Application:
    """Make the WSGI application of a command line.

    args: What `parser` read.
    """
    models = dict([(args.name, args.model), *args.also])
    if len(models) < 1 + len(args.also):
        raise ArgumentError("--also: a name is given twice")
    shapes: dict[str, dict[str, Any]] = {name: {} for name in models}
    for word, shape in args.shape:
        name, colon, of_it = word.partition(":")  # a name may contain a colon
        name, word = (name, of_it) if colon and name in models else (args.name, word)
        if word in shapes[name]:
            raise ArgumentError(f"--shape: the input {word!r} of {name!r} is named twice")
        shapes[name][word] = shape
    predictors, cards = {}, {}
    for name, model in models.items():
        if Path(f"{model}-card.json").exists():
            cards[name] = load_card(model)
        if not shapes[name] and name in cards:
            shapes[name] = {each["name"]: tuple(each["shape"]) for each in cards[name]["inputs"]}
        if not shapes[name]:
            raise ArgumentError(f"--shape: no input of {name!r} has one ({name}:INPUT=N,N,...)")
        predictors[name] = Predictor(
            model,
            shapes=shapes[name],
            dtype=args.dtype,
            epoch=args.epoch if name == args.name else None,
            max_batch=args.max_batch,
            max_delay=args.max_delay,
            max_waiting=args.max_waiting,
            timeout=args.timeout,
        )
    images = classes = None
    first = list(shapes[args.name].values())
    if len(first) == 1 and len(shape := first[0]) == 3 and -1 not in shape:
        images = Images.for_rows(
            shape, scale=args.scale, mean=args.mean, std=args.std, maximum=args.max_pixels
        )
    if args.classes is not None:
        classes = args.classes.read_text("utf-8").splitlines()
    return Application(predictors, args.max_body, images, classes, args.top, cards)


def serve(app: Application, args: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT; then answer the running requests, and return.

    app: Or another WSGI application that has its `close` and `max_body`.
    args: What `parser` read.

    Returns int: the exit status: 1 if something could not be answered within ``args.grace``
    seconds.
    """
    server = Server(app, args.host, args.port, args.threads, args.connections, args.idle)
    begun: list[float] = []

    def stop_server(number, frame):
        if begun:  # the second signal: end at once
            os._exit(128 + number)
        begun.append(time.monotonic())
        server.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop_server)
    print(f"serving {args.model} on {' and '.join(server.addresses)}", flush=True)
    left = server.run(args.grace)
    if left:
        print(f"serve: {left} requests were not answered in {args.grace:g} s", file=sys.stderr)
    if not app.close(max(0.0, begun[0] + args.grace - time.monotonic())):
        sys.stderr.flush()
        os._exit(1)  # a batch is still running, and nobody waits for it
    return int(left > 0)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    argv: Arguments; those of the process by default.

    Returns int: the exit status.
    """
    args = parser().parse_args(argv)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # waiting requests need no warning
    try:
        return serve(application(args), args)
    except (CynetError, OSError) as error:
        print(f"serve: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
