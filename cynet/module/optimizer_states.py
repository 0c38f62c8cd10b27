"""A module's optimizer: its states in files, gradients that are clipped for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.errors import ArgumentError, CynetError, shown
from ..base.files import write_atomically
from ..base.guard import guarded
from ..io.checkpoint import save_checkpoint
from ..kvstore import DistKVStore
from ..optimizer.clipping import clip_global_norm
from ..optimizer.settings import check_real

if TYPE_CHECKING:
    from ..typing import FileName, NDArray


@guarded
class OptimizerStates:
    """The part of Module that saves states and clips; it lives on Module's attributes."""

    def save_checkpoint(
        self,
        prefix: FileName,
        epoch: int,
        save_optimizer_states: bool = False,
        remove_amp_cast: bool = True,
    ) -> None:
        """Write symbol and parameters, and if asked for ``prefix-0001.states``.

        Parameters
        ----------
        prefix : str
            Beginning of the names of files: ``PREFIX-symbol.json``, ``PREFIX-0001.params``.
        epoch : int
            The number in the names.
        save_optimizer_states : bool
            Also write ``PREFIX-0001.states``.
        remove_amp_cast : bool
            Leave out of the symbol what mixed precision inserted.

        Examples
        --------
        >>> import os, tempfile
        >>> import cynet as mx
        >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc")
        >>> module = mx.mod.Module(net, label_names=None)
        >>> module.bind([("data", (1, 2))], for_training=False)
        >>> module.init_params()
        >>> folder = tempfile.mkdtemp()
        >>> module.save_checkpoint(os.path.join(folder, "net"), 3)
        >>> sorted(os.listdir(folder))
        ['net-0003.params', 'net-symbol.json']
        """
        self._need("save_checkpoint", "params_initialized")
        updater = self._updater_of_states("save_checkpoint") if save_optimizer_states else None
        save_checkpoint(prefix, epoch, self._symbol, *self.get_params(), remove_amp_cast, updater)

    def _updater_of_states(self, purpose):
        """What holds the optimizer's states."""
        self._need(purpose, "optimizer_initialized")
        return self._kvstore.updater if self._update_on_kvstore else self._updater

    def save_optimizer_states(self, fname: FileName) -> None:
        """Write the optimizer's states, such as momenta, to a file.

        The count of updates is not among them, as in MXNet: Adam and its kin go on exactly where
        ``init_optimizer`` is given it as ``begin_num_update``. ``fit(resume=...)`` keeps it.

        Parameters
        ----------
        fname : str
            The file, usually ``PREFIX-0001.states``.
        """
        write_atomically(fname, self._updater_of_states("save_optimizer_states").chunks())

    def load_optimizer_states(self, fname: FileName) -> None:
        """Read what ``save_optimizer_states`` wrote.

        Parameters
        ----------
        fname : str
            A file that `save_optimizer_states` wrote.
        """
        self._updater_of_states("load_optimizer_states").load(fname)

    def clip_gradients(self, max_norm: float) -> NDArray:
        self._need("clip_gradients", "binded", "optimizer_initialized")
        check_real("clip_gradients: max_norm", max_norm)
        if not max_norm > 0:
            raise ArgumentError(f"clip_gradients: max_norm must be above 0, got {shown(max_norm)}")
        if len(self._context) > 1:
            raise CynetError(
                "clip_gradients: on several devices the gradients are summed up by update, so"
                " their norm is not known before"
            )
        if isinstance(self._kvstore, DistKVStore):  # the norm is that of the sum over the ranks
            self._sum_over_ranks()
        scale = self._optimizer.rescale_grad
        return clip_global_norm(self._updates[1], max_norm / scale, False) * scale

    def _sum_over_ranks(self):
        """Make the gradients of the last backward their sum over the ranks, once."""
        if not self._is_summed:
            rows = [
                (name, grads)
                for name, grads in zip(self._param_names, self._grad_arrays)
                if grads[0] is not None
            ]
            self._kvstore.sum_up([name for name, _ in rows], [grads for _, grads in rows])
            self._is_summed = True
