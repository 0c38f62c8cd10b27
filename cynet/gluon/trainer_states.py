"""Files of a Trainer: the optimizer, with counts and schedule, and its states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import optimizer as opt
from ..base.files import read_file, write_atomically
from ..base.overrides import is_internal
from ..kvstore import DistKVStore
from ..optimizer.snapshot import copy_state
from .errors import MismatchError
from .parameter.parameter_dict import brief_list

if TYPE_CHECKING:
    from ..typing import FileName


class TrainerStates:  # base of Trainer: saves and loads optimizer states
    """Base of Trainer: saves and loads the states of its optimizer."""

    def save_states(self, fname: FileName) -> None:
        """Write the optimizer, with counts and schedule, and its states by the parameters' names.

        Names are structural (``0.weight``) where the parameters come from ``collect_params()``, so
        that no prefix matters.

        Parameters
        ----------
        fname : str
            The file to write.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> trainer = mx.gluon.Trainer(net.collect_params(), "adam")
        >>> trainer.save_states("net.states")
        >>> trainer.load_states("net.states")
        """
        self._prepare_kvstore()
        if self._update_on_kvstore and self._is_user_store:
            self._kvstore.save_optimizer_states(fname, dump_optimizer=True)
            return
        write_atomically(fname, self._state_file_chunks())

    def _state_file_chunks(self):
        """Yield the content of a file of `save_states` in pieces."""
        if self._update_on_kvstore and self._is_user_store:
            raise MismatchError(
                f"Trainer: {type(self._kvstore).__name__} keeps the optimizer's states itself;"
                " save_states and load_states ask it for them"
            )
        return self._full_updater().state_chunks(dump_optimizer=True)

    def load_states(self, fname: FileName) -> None:
        """Load a file of `save_states`.

        Parameters
        ----------
        fname : str
            The file that `save_states` wrote.

        Raises
        ------
        FormatError
            MXNet's files are pickles, which are not loaded.
        MismatchError
            An AssertionError: the states are of other parameters.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
        >>> trainer.save_states("net.states")
        >>> again = mx.gluon.Trainer(net.collect_params(), "adam")
        >>> again.load_states("net.states")
        >>> again.learning_rate
        0.02
        """
        self._prepare_kvstore()
        if self._update_on_kvstore and self._is_user_store:
            self._kvstore.load_optimizer_states(fname)
            return
        if not all(is_internal(each.set_states) for each in self._updaters):
            content = read_file(fname)
            for each in self._updaters:
                each.set_states(content)
            self._optimizer = self._updaters[0].optimizer
            return
        loaded = opt.get_updater(self._optimizer)
        loaded.load(fname)
        self._adopt_updater(loaded, fname)

    def _adopt_updater(self, loaded, fname):
        """Replace optimizer and states by those of a loaded Updater."""
        self._prepare_kvstore()
        first = self._updaters[0]
        strange = [name for name in loaded.states if name not in self._optimizer.param_dict]
        if strange:
            raise MismatchError(
                f"{fname}: there are states of {brief_list(map(str, strange))}, which are not among"
                f" the parameters {brief_list(self._names)}"
            )
        self._restore_groups(self._optimizer, loaded.optimizer)
        if isinstance(self._kvstore, DistKVStore):
            loaded.optimizer.param_dict = self._param_dict()
            self._kvstore.agree_on_states(loaded, "load_states")
        own = self._states_of_this_rank(loaded.states)
        for updater in self._updaters:
            updater.states = {name: copy_state(state) for name, state in own.items()}
            updater.states_synced = dict.fromkeys(own, False)
            updater.optimizer = loaded.optimizer
        self._optimizer = first.optimizer
        self._optimizer.param_dict = self._param_dict()
