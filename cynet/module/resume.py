"""``fit(..., resume="prefix")``: after each epoch all that training depends on, in one file."""

import os

import numpy as np

from .. import ndarray as nd
from ..base.errors import CynetError, FormatError, shown
from ..base.files import file_name
from ..io.checkpoint import check_prefix
from ..io.training_file import as_array, read_training, restore_random, write_training
from ..optimizer.state_file import unpack
from .asked import asked_of, reconcile

_FORM = "cynet fit 1"
_OPTIMIZER, _ARG, _AUX, _DATA = "optimizer", "arg:", "aux:", "data:"


class Resume:
    """The file of one training.

    Parameters
    ----------
    prefix : str
        The file is ``PREFIX.training``.
    """

    def __init__(self, prefix):
        prefix = file_name(prefix, "fit: resume, the beginning of a file name")
        check_prefix(prefix)
        self.path = f"{prefix}.training"
        self._read = None  # what the file says
        self._asked = None  # of the optimizer and fit; see asked.py

    def save(self, epoch, module, train_data, callbacks, history):
        """Write what `epoch`, which has ended, leaves."""
        updater = module._updater_of_states("fit(resume=...)")
        arg_params, aux_params = module.get_params()
        data = train_data.state_dict() if hasattr(train_data, "state_dict") else None
        meta = {
            "epoch": epoch,
            "data": None if data is None else {k: v for k, v in data.items() if not _is_array(v)},
            "callbacks": [
                [type(each).__name__, each.state_dict()]
                for each in callbacks
                if hasattr(each, "state_dict")
            ],
            "history": [history.epochs, history.times, list(history.metrics.items())],
            "reason": history.reason,
            "asked": self._asked,
        }
        arrays = {_OPTIMIZER: as_array(b"".join(updater.chunks(dump_optimizer=True)))}
        for prefix, given in ((_ARG, arg_params), (_AUX, aux_params)):
            arrays.update({f"{prefix}{name}": array for name, array in given.items()})
        for name, values in (data or {}).items():
            if _is_array(values):
                arrays[f"{_DATA}{name}"] = nd.array(values, dtype=values.dtype)
        write_training(self.path, _FORM, meta, arrays, "fit(resume=...)")

    def load_params(self, module):
        """Give the module the parameters of the file, if there is one.

        This comes before its optimizer is made: a KVStore takes the weights from there.
        """
        if os.path.exists(self.path):
            self._read = read_training(self.path, _FORM)
            try:
                module.set_params(_part(self._read[1], _ARG), _part(self._read[1], _AUX))
            except CynetError as error:
                raise FormatError(
                    f"fit: resume: {self.path} is of another network: {error}"
                ) from None

    def load(self, module, train_data, callbacks, history, clip_global_norm):
        """Go on where the file was written.

        Returns
        -------
        int or None
            The next epoch; None where there is no file.
        list of str
            What goes on otherwise than it was begun, because it is asked for now.
        """
        updater = module._updater_of_states("fit(resume=...)")
        wanted = updater.optimizer
        self._asked = asked_of(wanted, clip_global_norm)
        if self._read is None:
            return None, []
        (meta, arrays), self._read = self._read, None
        if _OPTIMIZER not in arrays:
            raise FormatError(f"{self.path}: it has no '{_OPTIMIZER}'")
        states, optimizer = unpack(arrays[_OPTIMIZER].asnumpy().tobytes())
        if optimizer is None:
            raise FormatError(f"{self.path}: its '{_OPTIMIZER}' has states alone")
        old = meta.get("asked")
        changed = reconcile(self.path, old, optimizer, self._asked, wanted)
        if old is not None and not changed:
            self._asked = old
        updater.take_over(states, optimizer)
        module._take_optimizer(optimizer)
        known = [each for each in callbacks if hasattr(each, "state_dict")]
        names = [type(each).__name__ for each in known]
        if names != [name for name, _ in meta["callbacks"]]:
            raise FormatError(
                f"{self.path}: it is of a training with the callbacks"
                f" {shown([name for name, _ in meta['callbacks']])}, these are {shown(names)}"
            )
        for each, (_, state) in zip(known, meta["callbacks"]):
            each.load_state_dict(state)
        epochs, times, metrics = meta["history"]
        history.epochs, history.times, history.metrics = epochs, times, dict(metrics)
        if meta["data"] is not None:
            if not hasattr(train_data, "load_state_dict"):
                raise FormatError(
                    f"{self.path}: it is of another kind of train_data than"
                    f" {type(train_data).__name__}"
                )
            data = {name: each.asnumpy() for name, each in _part(arrays, _DATA).items()}
            train_data.load_state_dict({**meta["data"], **data})
        history.reason = meta["reason"]
        restore_random(meta)
        return meta["epoch"] + 1, changed


def _is_array(value):
    return isinstance(value, np.ndarray)


def _part(arrays, prefix):
    return {k.removeprefix(prefix): each for k, each in arrays.items() if k.startswith(prefix)}
