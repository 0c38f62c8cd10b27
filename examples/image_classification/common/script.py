"""What the scripts that train on records do, from the command line to the last line."""

import logging
import shlex
import sys
from pathlib import Path

import cynet as mx

from . import fit, records
from .network import get_network


def begin():
    """Log to the terminal, and print the options."""
    if not logging.getLogger().handlers:
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
        logging.info("%s", shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]))


def train(args, network=None, params=(None, None)):
    """Train on records as `args` say.

    Parameters
    ----------
    args : argparse.Namespace
    network : Symbol, optional
        None: that of ``--network``.
    params : (dict, dict)
        Weights and auxiliary states to begin with.
    """
    begin()
    fit.seed_all(args.seed)
    if network is None:
        network = get_network(args, args.image_shape)
    kv = fit.check(args)
    images, val = records.iterators(args, kv)
    if args.test_io:
        fit.test_reading(args, images)
        return
    logging.info(
        "training %s on %d %s of %s, validating on %s",
        args.network,
        args.num_examples or images.num_data,
        "random images" if args.benchmark else "images",
        " x ".join(map(str, args.image_shape)),
        "none" if val is None else val.num_data,
    )
    try:
        _, history = fit.fit(args, network, images, val, kv, params)
    except mx.base.MXNetError as error:  # mostly wrong labels or images
        raise SystemExit(f"error: {error}") from None
    fit.report(history)
