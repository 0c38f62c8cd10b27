"""Checkpoints: a symbol and its parameters as files, as MXNet 1.x writes and reads them."""

import logging
import os

from . import ndarray as nd
from . import symbol as sym
from .context import cpu
from .errors import ArgumentError, FormatError


def save_checkpoint(prefix, epoch, symbol, arg_params, aux_params, remove_amp_cast=True):
    """Write ``prefix-symbol.json`` and ``prefix-0001.params`` (for epoch 1).

    Parameters
    ----------
    prefix : str
        Path and beginning of the file names.
    epoch : int
    symbol : Symbol or None
        None writes the parameters only.
    arg_params, aux_params : dict of str to NDArray
    remove_amp_cast : bool
        Handed to ``Symbol.save``.
    """
    if symbol is not None:
        symbol.save(f"{prefix}-symbol.json", remove_amp_cast=remove_amp_cast)
    path = f"{prefix}-{epoch:04d}.params"
    save_params(path, arg_params, aux_params)
    logging.info('Saved checkpoint to "%s"', path)


def check_prefix(prefix):
    """Refuse a prefix of checkpoints whose folder is not there or cannot be written to, before
    hours are spent on what is to be saved."""
    folder = os.path.dirname(os.path.abspath(prefix))
    if not os.path.isdir(folder):
        raise ArgumentError(
            f"checkpoints '{prefix}-0001.params': the folder {folder} does not exist; make it"
            " first (os.makedirs)"
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ArgumentError(
            f"checkpoints '{prefix}-0001.params': the folder {folder} cannot be written to"
        )


def save_params(path, arg_params, aux_params):
    """Write parameters to one ``.params`` file, with the prefixes ``arg:`` and ``aux:``."""
    named = {f"arg:{name}": array.as_in_context(cpu()) for name, array in arg_params.items()}
    named.update({f"aux:{name}": array.as_in_context(cpu()) for name, array in aux_params.items()})
    nd.save(path, named)


def read_params(path):
    """The pair (arg_params, aux_params) in a ``.params`` file written by :func:`save_params`."""
    loaded = nd.load(path)
    if not isinstance(loaded, dict):
        if not loaded:
            return {}, {}
        raise FormatError(f"{path}: arrays have no names, parameters need arg:NAME or aux:NAME")
    parts = {"arg": {}, "aux": {}}
    for key, array in loaded.items():
        kind, _, name = key.partition(":")
        if kind not in parts or not name:
            raise FormatError(f"{path}: the name '{key}' is not of the form arg:NAME or aux:NAME")
        parts[kind][name] = array
    return parts["arg"], parts["aux"]


def load_params(prefix, epoch):
    """The pair (arg_params, aux_params) of ``prefix-0001.params`` (for epoch 1)."""
    return read_params(f"{prefix}-{epoch:04d}.params")


def load_checkpoint(prefix, epoch):
    """What :func:`save_checkpoint` wrote: (symbol, arg_params, aux_params).

    Parameters
    ----------
    prefix : str
    epoch : int

    Returns
    -------
    symbol : Symbol
    arg_params, aux_params : dict of str to NDArray
    """
    symbol = sym.load(f"{prefix}-symbol.json")
    return (symbol, *load_params(prefix, epoch))
