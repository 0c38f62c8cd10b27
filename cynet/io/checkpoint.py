"""Checkpoints: a symbol and its parameters as files, as MXNet 1.x writes and reads them.

Parameters and optimizer states of one moment are a pair. The file of states names the digest of the
file of parameters, which is as MXNet writes it, so states beside parameters of another moment are
noticed. The states are put in place first; those that belong to the parameters that are still there
stay beside them as ``.states.old`` until the new parameters are in place, too.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import operator
import os
import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import ndarray as nd
from .. import symbol as sym
from ..base.errors import (
    ArgumentTypeError,
    CynetError,
    FileAccessError,
    FormatError,
    MissingFileError,
    shown,
)
from ..base.files import file_name, naming, open_for_reading, overwrite, read_file, write_atomically
from ..context import cpu
from ..ndarray.serialization import params_chunks
from ..optimizer.state_file import check_state_file, read_digest_and_time

if TYPE_CHECKING:
    from ..typing import FileName, NamedArrays, Symbol

_CHUNK_BYTES = 1 << 20  # bytes that are read at once


class Checkpoint(NamedTuple):  # epoch, file paths and saving time of a found checkpoint
    """Result of `find_checkpoint`: the epoch, the paths, and the time of saving in ns."""

    epoch: int
    params: str
    states: str | None
    saved: int


def save_checkpoint(
    prefix: FileName,
    epoch: int,
    symbol: Symbol | None,
    arg_params: NamedArrays,
    aux_params: NamedArrays,
    remove_amp_cast: bool = True,
    updater: Any = None,
) -> None:
    """Write ``prefix-symbol.json`` and ``prefix-0001.params`` (for epoch 1).

    Parameters
    ----------
    prefix : str
        Beginning of the files' names; it may contain a folder.
    epoch : int
        Number in the name of the parameters' file: ``prefix-0003.params`` for 3.
    symbol : Symbol or None
        None writes the parameters only.
    arg_params, aux_params : dict of str to NDArray
        Parameters and auxiliary states by name.
    remove_amp_cast : bool
        Leave out the casts that mixed precision inserted.
    updater : Updater, optional
        Its states are written to ``prefix-0003.states``.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> mx.model.save_checkpoint("model", 3, net, {"fc_weight": mx.nd.ones((2, 3))}, {})
    >>> symbol, args, auxs = mx.model.load_checkpoint("model", 3)
    >>> args["fc_weight"].shape
    (2, 3)
    """
    prefix = checked_prefix(prefix)
    path, states = _checkpoint_paths(prefix, epoch)
    if symbol is not None:
        symbol.save(f"{prefix}-symbol.json", remove_amp_cast=remove_amp_cast)
    if updater is None:
        save_params(path, arg_params, aux_params)
    else:
        _save_params_and_states(path, states, arg_params, aux_params, updater)
        logging.info('Saved optimizer state to "%s"', states)
    logging.info('Saved checkpoint to "%s"', path)


def checked_prefix(prefix):
    """Convert a prefix of file names to str."""
    return file_name(prefix, "the beginning of a checkpoint's file names")


def _checkpoint_paths(prefix, epoch):
    """Return the paths of an epoch's parameters and optimizer states."""
    prefix = checked_prefix(prefix)
    try:
        number = operator.index(epoch)
    except TypeError:
        raise ArgumentTypeError(
            f"checkpoint {shown(prefix)}: epoch must be an int, got {shown(epoch)}"
        ) from None
    return f"{prefix}-{number:04d}.params", f"{prefix}-{number:04d}.states"


def check_prefix(prefix: FileName) -> None:
    """Raise before training if the prefix's folder does not exist or is not writable."""
    prefix = checked_prefix(prefix)
    folder = os.path.dirname(os.path.abspath(prefix))
    if not os.path.isdir(folder):
        raise MissingFileError(
            errno.ENOENT,
            f"checkpoints '{prefix}-0001.params': the folder {folder} does not exist; make it"
            " first (os.makedirs)",
            prefix,
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FileAccessError(
            errno.EACCES,
            f"checkpoints '{prefix}-0001.params': the folder {folder} cannot be written to",
            prefix,
        )


def save_params(path: FileName, arg_params: NamedArrays, aux_params: NamedArrays) -> None:
    """Write parameters to one ``.params`` file, with the prefixes ``arg:`` and ``aux:``."""
    write_atomically(path, _params_chunks(arg_params, aux_params))


def _params_chunks(arg_params, aux_params):
    """Return the bytes of a ``.params`` file, in chunks."""
    named = {}
    for kind, given in (("arg", arg_params), ("aux", aux_params)):
        if not isinstance(given, dict):
            raise ArgumentTypeError(
                f"{kind}_params must be a dict of names to NDArrays, got {type(given).__name__}"
            )
        for name, array in given.items():
            is_array = isinstance(array, nd.NDArray)  # save names the object that it refuses
            named[f"{kind}:{name}"] = array.as_in_context(cpu()) if is_array else array
    return params_chunks(named)


def _save_params_and_states(params, states, arg_params, aux_params, updater):
    """Write parameters and states: if the process dies, the old or the new pair is complete."""
    digest = _new_digest()
    with overwrite(params) as file:
        for chunk in _params_chunks(arg_params, aux_params):
            digest.update(chunk)
            file.write(chunk)
        old = _keep_old_states(params, states)
        pair = {"params": digest.hexdigest(), "saved": time.time_ns()}
        write_atomically(states, updater.state_chunks(pair=pair))
    if old:
        with suppress(OSError):
            os.unlink(old)


def _keep_old_states(params, states):
    """Link the states that belong to the present parameters to ``.old`` as well; return that path,
    or None without such states."""
    old = f"{states}.old"
    if not (os.path.isfile(states) and os.path.isfile(params)):
        return None
    if os.path.exists(old):
        # an earlier process was killed between writing the two files, or after
        if _states_match_params(params, old) and not _states_match_params(params, states):
            return old
        with naming("write", old):
            os.unlink(old)
    try:
        os.link(states, old)
    except OSError:  # the file system has no links
        write_atomically(old, read_file(states))
    return old


def _new_digest():
    return hashlib.blake2b(digest_size=20)


def _digest_of(path):
    digest = _new_digest()
    with open_for_reading(path) as file:
        while piece := file.read(_CHUNK_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def _states_match_params(params, states):
    """Return whether the states contain the digest of the parameters."""
    try:
        pair = read_digest_and_time(states)
        if pair is None or pair[0] != _digest_of(params):
            return False
        check_state_file(states)
        return True
    except CynetError:
        return False


def states_path(prefix: FileName, epoch: int) -> str:
    """Return the path of the optimizer states that belong to the parameters of an epoch.

    Raises FormatError when there are none: the process that saved them was stopped in between, or
    one of the files was replaced. The message names the newest whole pair. Raises FileError.
    """
    params, states = _checkpoint_paths(prefix, epoch)
    pair = read_digest_and_time(states)
    # states of save_optimizer_states contain no digest
    if pair is None or pair[0] == _digest_of(params):
        return states
    if os.path.exists(f"{states}.old") and _states_match_params(params, f"{states}.old"):
        return f"{states}.old"
    newest = find_checkpoint(prefix)
    hint = f"; the newest whole pair is epoch {newest.epoch}" if newest else ""
    raise FormatError(
        f"{states} was saved with other parameters than {params} has: saving was stopped in"
        f" between, or a file was replaced{hint}"
    )


def _saved_epochs(prefix):
    """Return the epochs with a parameter file, sorted, spelled as in the file names."""
    folder, name = os.path.split(prefix)
    if not os.path.isdir(folder or "."):
        return []
    pattern = re.compile(re.escape(name) + r"-(\d{4,})\.params")
    matches = map(pattern.fullmatch, os.listdir(folder or "."))
    return sorted((match[1] for match in matches if match), key=int)


def find_checkpoint(prefix: FileName, states: bool = True) -> Checkpoint | None:
    """Find the newest complete checkpoint, or None.

    Parameters
    ----------
    prefix : str
        Beginning of the files' names, as of `save_checkpoint`.
    states : bool
        Look for parameters together with the optimizer states that were saved with them; else for
        parameters alone.

    Returns
    -------
    Checkpoint or None
        With ``epoch``, ``params``, ``states`` (paths) and ``saved``.

    Examples
    --------
    >>> import tempfile
    >>> prefix = os.path.join(tempfile.mkdtemp(), "net")
    >>> find_checkpoint(prefix) is None
    True
    >>> save_checkpoint(prefix, 3, None, {"w": nd.ones(2)}, {})
    >>> find_checkpoint(prefix, states=False).epoch
    3
    """
    prefix = file_name(prefix, "find_checkpoint: the beginning of file names")
    found = []
    with naming("read", os.path.dirname(prefix) or "."):
        for number in _saved_epochs(prefix):
            epoch = int(number)
            params = f"{prefix}-{number}.params"
            if not states:
                found.append(Checkpoint(epoch, params, None, os.stat(params).st_mtime_ns))
                continue
            for path in (f"{prefix}-{number}.states", f"{prefix}-{number}.states.old"):
                with suppress(CynetError):
                    pair = read_digest_and_time(path)
                    if pair is not None:
                        found.append(Checkpoint(epoch, params, path, pair[1]))
    found.sort(key=lambda each: (each.saved, each.epoch), reverse=True)
    return next((each for each in found if not states or _states_match_params(*each[1:3])), None)


def read_params(path: FileName) -> tuple[NamedArrays, NamedArrays]:
    """Read (arg_params, aux_params) from a ``.params`` file written by :func:`save_params`."""
    loaded = nd.load(path)
    if not isinstance(loaded, dict):
        if not loaded:
            return {}, {}
        raise FormatError(f"{path}: arrays have no names, parameters need arg:NAME or aux:NAME")
    parts = {"arg": {}, "aux": {}}
    for key, array in loaded.items():
        kind, _, name = key.partition(":")
        if kind not in parts or not name:
            raise FormatError(
                f"{path}: the name {shown(key)} is not of the form arg:NAME or aux:NAME"
            )
        parts[kind][name] = array
    return parts["arg"], parts["aux"]


def load_params(prefix: FileName, epoch: int) -> tuple[NamedArrays, NamedArrays]:
    """Load (arg_params, aux_params) from ``prefix-0001.params`` (for epoch 1).

    Parameters
    ----------
    prefix : str
        Beginning of the file's name.
    epoch : int
        Number in the file's name.

    Returns
    -------
    arg_params, aux_params : dict of str to NDArray
        By name; arrays lie on the CPU.

    Raises
    ------
    MissingFileError
        There is no such file; the message names the epochs that there are.
    FormatError
        The file is damaged, or holds something else.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> mx.model.save_checkpoint("model", 3, net, {"fc_weight": mx.nd.ones((2, 3))}, {})
    >>> args, auxs = mx.model.load_params("model", 3)
    >>> list(args)
    ['fc_weight']
    """
    path = _checkpoint_paths(prefix, epoch)[0]
    if not os.path.exists(path):
        numbers = [str(int(number)) for number in _saved_epochs(checked_prefix(prefix))]
        few = numbers if len(numbers) <= 10 else [*numbers[:4], "...", *numbers[-4:]]
        there = f"there is epoch {', '.join(few)}" if few else "there is no epoch of this prefix"
        raise MissingFileError(errno.ENOENT, f"{path}: no such file; {there}", path)
    return read_params(path)


def load_checkpoint(prefix: FileName, epoch: int) -> tuple[Symbol, NamedArrays, NamedArrays]:
    """Load a checkpoint of :func:`save_checkpoint`: (symbol, arg_params, aux_params).

    Parameters
    ----------
    prefix : str
        Beginning of the files' names.
    epoch : int
        Number in the name of the parameters' file: ``prefix-0003.params`` for 3.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> mx.model.save_checkpoint("model", 3, net, {"fc_weight": mx.nd.ones((2, 3))}, {})
    >>> symbol, args, auxs = mx.model.load_checkpoint("model", 3)
    >>> symbol.list_outputs(), args["fc_weight"].shape, auxs
    (['fc_output'], (2, 3), {})
    """
    prefix = checked_prefix(prefix)
    symbol = sym.load(f"{prefix}-symbol.json")
    return (symbol, *load_params(prefix, epoch))
