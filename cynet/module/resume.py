"""``fit(..., resume="prefix")``: a file with the whole state of training after each epoch."""

from __future__ import annotations

import json

import numpy as np

from .. import ndarray as nd
from ..base.errors import ArgumentError, CynetError, FormatError, shown
from ..base.files import file_name
from ..base.kinds import settings_of
from ..io.checkpoint import check_prefix
from ..io.training_file import (
    bytes_array,
    read_training,
    read_training_part,
    restore_random_states,
    training_bytes,
    write_training,
)
from ..optimizer.settings import accepted_setting_names
from ..optimizer.state_file import unpack_states

_FORMAT = "cynet fit 1"  # marks the file format
_OPTIMIZER_KEY, _ARG_PREFIX, _AUX_PREFIX = "optimizer", "arg:", "aux:"  # keys of arrays
_DATA_PREFIX, _RANK_PREFIX, _CALLBACK_PREFIX = "data:", "rank:", "callback:"  # keys of arrays
_CALLER = "fit(resume=...)"  # named in errors


class Resume:  # saves and loads the file that ``fit`` resumes from
    """Saves and loads the file from which a training is resumed.

    prefix (str): The file is ``PREFIX.training``.
    ranks (SingleProcess or Ranks): Rank 0 writes and reads the file, with a part for each rank's
        random states and data positions.
    """

    def __init__(self, prefix, ranks):
        prefix = file_name(prefix, "fit: resume, the beginning of a file name")
        check_prefix(prefix)
        self.path = f"{prefix}.training"
        self._ranks = ranks
        self._read = None  # content of the file
        self._settings = None  # settings of the optimizer and fit; see `training_settings`

    def save(self, epoch, module, train_data, callbacks, history):
        """Write the state of training after `epoch` to the file."""
        updater = module._updater_to_save(_CALLER)
        arg_params, aux_params = module.get_params()
        data = train_data.state_dict() if hasattr(train_data, "state_dict") else None
        own_meta = None if data is None else {k: v for k, v in data.items() if not _is_array(v)}
        own = {
            f"{_DATA_PREFIX}{k}": nd.array(v, dtype=v.dtype)
            for k, v in (data or {}).items()
            if _is_array(v)
        }
        parts = {}
        if self._ranks.size > 1:
            part = b"" if self._ranks.is_first else training_bytes({"data": own_meta}, own, _CALLER)
            parts = dict(enumerate(self._ranks.gather_bytes(part)))
            if not self._ranks.is_first:
                return
        known = [each for each in callbacks if hasattr(each, "state_dict")]
        states = [each.state_dict() for each in known]
        meta = {
            "epoch": epoch,
            "data": own_meta,
            "callbacks": [
                [type(each).__name__, {k: v for k, v in state.items() if not _is_nd(v)}]
                for each, state in zip(known, states)
            ],
            "history": [history.epochs, history.times, list(history.metrics.items())],
            "reason": history.reason,
            "asked": self._settings,
            "ranks": self._ranks.size,
        }
        arrays = {_OPTIMIZER_KEY: bytes_array(b"".join(updater.state_chunks(dump_optimizer=True)))}
        for prefix, given in ((_ARG_PREFIX, arg_params), (_AUX_PREFIX, aux_params)):
            arrays.update({f"{prefix}{name}": array for name, array in given.items()})
        arrays.update(own)
        for i, state in enumerate(states):
            arrays.update({f"{_CALLBACK_PREFIX}{i}:{k}": v for k, v in state.items() if _is_nd(v)})
        arrays.update(
            (f"{_RANK_PREFIX}{rank}", bytes_array(part)) for rank, part in parts.items() if rank
        )
        write_training(self.path, _FORMAT, meta, arrays, _CALLER)

    def load_params(self, module):
        """Set the module's parameters from the file, if there is one.

        This comes before its optimizer is made: a KVStore takes the weights from there.
        """
        self._read = self._load_content()
        if self._read is not None:
            try:
                module.set_params(
                    _arrays_with_prefix(self._read[1], _ARG_PREFIX),
                    _arrays_with_prefix(self._read[1], _AUX_PREFIX),
                )
            except CynetError as error:
                raise FormatError(
                    f"fit: resume: {self.path} is of another network: {error}"
                ) from None

    def _load_content(self):
        """Return the content of the file, which rank 0 reads for all ranks; None without a file."""
        with self._ranks.first_rank_file(self.path) as path:
            return None if path is None else read_training(path, _FORMAT)

    def load(self, module, train_data, callbacks, history, clip_global_norm):
        """Restore the state of training from the file; return where to continue.

        Returns int or None: the next epoch; None where there is no file. Returns list of str: what
        goes on otherwise than it was begun, because the call says so.
        """
        updater = module._updater_with_states(_CALLER)
        wanted = updater.optimizer
        self._settings = training_settings(wanted, clip_global_norm)
        if self._read is None:
            return None, []
        (meta, arrays), self._read = self._read, None
        if _OPTIMIZER_KEY not in arrays:
            raise FormatError(f"{self.path}: it has no '{_OPTIMIZER_KEY}'")
        states, optimizer = unpack_states(arrays[_OPTIMIZER_KEY].asnumpy().tobytes())
        if optimizer is None:
            raise FormatError(f"{self.path}: its '{_OPTIMIZER_KEY}' has states alone")
        old, written = meta.get("asked"), meta.get("ranks", 1)
        if written != self._ranks.size:  # rescale_grad depends on the number of ranks
            optimizer.rescale_grad = wanted.rescale_grad
            if old is not None:
                old["settings"]["rescale_grad"] = self._settings["settings"].get("rescale_grad")
        changed = apply_changed_settings(self.path, old, optimizer, self._settings, wanted)
        if old is not None and not changed:
            self._settings = old
        updater.replace_states(states, optimizer)
        module._replace_optimizer(optimizer)
        known = [each for each in callbacks if hasattr(each, "state_dict")]
        names = [type(each).__name__ for each in known]
        if names != [name for name, _ in meta["callbacks"]]:
            raise FormatError(
                f"{self.path}: it is of a training with the callbacks"
                f" {shown([name for name, _ in meta['callbacks']])}, these are {shown(names)}"
            )
        for i, (each, (_, state)) in enumerate(zip(known, meta["callbacks"])):
            each.load_state_dict(
                {**state, **_arrays_with_prefix(arrays, f"{_CALLBACK_PREFIX}{i}:")}
            )
        epochs, times, metrics = meta["history"]
        history.epochs, history.times, history.metrics = epochs, times, dict(metrics)
        history.reason = meta["reason"]
        if written != self._ranks.size:  # another number of ranks divides the data differently
            changed.append(f"{self._ranks.size} ranks instead of {written}: data begin anew")
            if self._ranks.is_first:
                restore_random_states(meta)
            return meta["epoch"] + 1, changed
        if not self._ranks.is_first:
            own, arrays = read_training_part(arrays[f"{_RANK_PREFIX}{self._ranks.rank}"], self.path)
            meta = {**meta, **own}
        if meta["data"] is not None:
            if not hasattr(train_data, "load_state_dict"):
                raise FormatError(
                    f"{self.path}: it is of another kind of train_data than"
                    f" {type(train_data).__name__}"
                )
            data = {
                name: each.asnumpy()
                for name, each in _arrays_with_prefix(arrays, _DATA_PREFIX).items()
            }
            train_data.load_state_dict({**meta["data"], **data})
        restore_random_states(meta)
        return meta["epoch"] + 1, changed


def _is_array(value):
    return isinstance(value, np.ndarray)


def _is_nd(value):  # True for an NDArray
    return isinstance(value, nd.NDArray)


def _arrays_with_prefix(arrays, prefix):
    return {k.removeprefix(prefix): each for k, each in arrays.items() if k.startswith(prefix)}


# optimizer parameter -> attribute with another name
_ATTRIBUTE_NAMES = {"learning_rate": "lr", "eps": "float_stable_eps", "begin_epoch": "init_updates"}
# settings that cannot be compared, or are compared elsewhere
_EXCLUDED_SETTINGS = ("sym", "param_idx2name", "param_dict", "lr_scheduler")
_MISSING = object()  # a setting that is not there


def training_settings(optimizer, clip_global_norm):
    """Return the settings of the optimizer and of ``fit`` as JSON values.

    An optimizer that has worked is described as it is now: a callback may have changed its rate.
    """
    settings, scheduler = settings_of(optimizer), optimizer.lr_scheduler
    found = {}
    for name in accepted_setting_names(type(optimizer)):
        attribute = name if name in settings else _ATTRIBUTE_NAMES.get(name)
        if name not in _EXCLUDED_SETTINGS and attribute in settings:
            found[name] = settings[attribute]
    wanted = {
        "optimizer": type(optimizer).__name__,
        "settings": found,
        "lr_mult": sorted(map(list, optimizer.lr_mult.items()), key=str),
        "wd_mult": sorted(map(list, optimizer.wd_mult.items()), key=str),
        "lr_scheduler": scheduler
        and {"name": type(scheduler).__name__, "settings": settings_of(scheduler)},
        "clip_global_norm": clip_global_norm,
    }
    return json.loads(json.dumps(wanted))  # as JSON from a file returns them


def apply_changed_settings(path, old, optimizer, now, wanted):
    """Apply the settings of this ``fit`` that may change when a training is resumed.

    Parameters
    ----------
    path : str
        The file, for messages.
    old : dict or None
        The settings with which the file was begun; None: the file is too old to say it.
    optimizer : Optimizer
        That of the file, which goes on.
    now : dict
        The settings of this call.
    wanted : Optimizer
        The one that was made for it.

    Returns list of str: what has changed, in words. Raises ArgumentError: something else was asked
    for that cannot be changed: another optimizer, momentum, ...
    """
    found = training_settings(optimizer, now["clip_global_norm"])
    old = found if old is None else old

    def setting_differs(*path_of_key):
        a, b, c = (_setting_at(each, path_of_key) for each in (old, found, now))
        # callbacks may have changed the value in the file, and in a used optimizer
        return c != a and c != b

    def refuse_change(what, path_of_key):
        values = (shown(_setting_at(each, path_of_key)) for each in (old, now))
        raise ArgumentError(
            "fit: resume: {}: the file was begun with {} {}, asked for is {}; ask for the old"
            " one, or begin a training of another name".format(path, what, *values)
        )

    if now["optimizer"] != found["optimizer"]:
        refuse_change("optimizer", ("optimizer",))
    for name in now["settings"]:
        if name != "learning_rate" and setting_differs("settings", name):
            refuse_change(f"{now['optimizer']}'s {name}", ("settings", name))
    if setting_differs("wd_mult"):
        refuse_change("wd_mult", ("wd_mult",))
    changed = []
    if setting_differs("lr_scheduler"):
        changed.append(f"lr_scheduler {_difference_text(old, now, 'lr_scheduler')}")
    elif now["lr_scheduler"] is None and setting_differs("settings", "learning_rate"):
        changed.append(f"learning_rate {_difference_text(old, now, 'settings', 'learning_rate')}")
    if changed:
        optimizer.lr, optimizer.lr_scheduler = wanted.lr, wanted.lr_scheduler
    if setting_differs("lr_mult"):
        changed.append(f"lr_mult {_difference_text(old, now, 'lr_mult')}")
        optimizer.lr_mult = dict(wanted.lr_mult)
    if now["clip_global_norm"] != old["clip_global_norm"]:
        changed.append(f"clip_global_norm {_difference_text(old, now, 'clip_global_norm')}")
    return changed


def _setting_at(settings, key_path):  # _MISSING if there is none
    for name in key_path:
        settings = settings.get(name, _MISSING)
    return settings


def _difference_text(old, now, *key_path):
    return "{} instead of {}".format(*(shown(_setting_at(each, key_path)) for each in (now, old)))
