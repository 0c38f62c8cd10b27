"""Updater: an optimizer with the states of its weights, and their serialization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.dtype import name_of
from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..base.files import read_file
from ..base.guard import guarded, refuse
from ..base.overrides import is_internal
from .state_file import pack_states, read_state_file, unpack_states

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import NDArray, Optimizer


@guarded(but=("__call__",))
class Updater:
    """Updates weights by an optimizer; creates and stores the state of each weight.

    One thread at a time uses it (docs/guide/threads.md).

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer, or an object that has its ``update``, ``create_state`` and so on.

    Raises
    ------
    ArgumentTypeError
        `optimizer` has no ``update``.

    Examples
    --------
    >>> update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5, momentum=0.9))
    >>> weight = mx.nd.ones(2)
    >>> update(0, mx.nd.ones(2), weight)
    >>> weight.asnumpy().tolist()
    [0.5, 0.5]
    >>> update.states[0].asnumpy()
    array([-0.5, -0.5], dtype=float32)
    >>> update.aggregate_updates
    True
    """

    def __init__(self, optimizer: Optimizer) -> None:
        if not hasattr(optimizer, "update"):  # a user's optimizer need not be a subclass
            raise ArgumentTypeError(f"Updater: expected an Optimizer, got {shown(optimizer)}")
        self.optimizer = optimizer
        self.states = {}
        self.states_synced = {}

    @property
    def aggregate_updates(self) -> bool:
        """Whether a user's `update` gets several weights in one call."""
        return getattr(self.optimizer, "aggregate_num", 0) > 0

    def __call__(
        self, index: Any, grad: NDArray | Sequence[NDArray], weight: NDArray | Sequence[NDArray]
    ) -> None:
        """Update a weight, or several weights (three lists)."""
        if not isinstance(index, (list, tuple)):
            index, grad, weight = (index,), (grad,), (weight,)
        try:
            states = self._weight_states(index, weight)
        except Exception as error:  # faster than a guarded function
            refuse(error, Updater.__call__, self, index, grad, weight)
        self.optimizer.update_all(index, weight, grad, states)

    def make_joined_update(self, index, grad, weight):
        """Return ``optimizer.joined_update`` of several weights: what a call would push.

        Parameters
        ----------
        index : list of int or str
            Numbers or names of the weights.
        grad, weight : list of NDArray
            The gradients and the weights.

        Returns
        -------
        (JoinedUpdate, tuple) or None
            See ``Optimizer.joined_update``.

        Examples
        --------
        >>> update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5))
        >>> weight = mx.nd.ones(2)
        >>> joined, numbers = update.make_joined_update([0], [mx.nd.ones(2)], [weight])
        >>> joined(*numbers)
        >>> weight.asnumpy()
        array([0.5, 0.5], dtype=float32)
        """
        return self.optimizer.joined_update(index, weight, grad, self._weight_states(index, weight))

    def _weight_states(self, index, weight):  # creates those that are missing
        states, synced = self.states, self.states_synced
        try:
            if False not in [synced[i] for i in index]:
                return [states[i] for i in index]
        except KeyError:  # first update of the weight
            pass
        for i, each in zip(index, weight):
            if i not in states:
                states[i] = self.optimizer.create_state_multi_precision(i, each)
            elif not synced[i]:
                self._check_loaded_state(i, each, states[i])
                states[i] = self.sync_state_context(states[i], each.context)
            synced[i] = True
        return [states[i] for i in index]

    def _check_loaded_state(self, index, weight, state):
        """Raise an error if a state from a file does not fit the optimizer and the weight."""
        made = self.optimizer.create_state_multi_precision(index, weight)
        # the optimizer may need no state (momentum 0)
        if _state_layout(state) == _state_layout(made):
            return
        whole = (weight.shape, weight.dtype)
        if (state is None or made is None) and whole in (_state_layout(state), _state_layout(made)):
            return
        name = self.optimizer.idx2name.get(index, index)
        raise ArgumentError(
            f"optimizer {type(self.optimizer).__name__}: the loaded state of weight {shown(name)}"
            f" is {_layout_text(state)}, expected {_layout_text(made)}: is it of another"
            " optimizer or network?"
        )

    def sync_state_context(self, state, context):
        """Return the state with its arrays on `context`.

        Parameters
        ----------
        state : None, NDArray or nested tuple of NDArray
            The state of a weight.
        context : Context
            Device of the weight.

        Returns
        -------
        None, NDArray or nested tuple of NDArray
            Arrays that are on `context` already are not copied.

        Examples
        --------
        >>> update = mx.optimizer.get_updater(mx.optimizer.Adam())
        >>> state = mx.nd.zeros(2), mx.nd.zeros(2)
        >>> [each.context for each in update.sync_state_context(state, mx.cpu(1))]
        [cpu(1), cpu(1)]
        """
        if isinstance(state, (tuple, list)):
            return type(state)(self.sync_state_context(each, context) for each in state)
        return None if state is None else state.as_in_context(context)

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """Return all states as bytes; `dump_optimizer` adds the optimizer's settings and counts.

        Examples
        --------
        >>> update = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9))
        >>> update(0, mx.nd.ones(2), mx.nd.ones(2))
        >>> other = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9))
        >>> other.set_states(update.get_states())
        >>> other.states[0].asnumpy()
        array([-0.01, -0.01], dtype=float32)
        """
        return b"".join(self._file_chunks(dump_optimizer))

    def state_chunks(self, dump_optimizer=False, pair=None):
        """Yield the bytes of ``get_states`` in pieces, without a copy of the arrays.

        Where a user has defined ``get_states``, what that gives.

        Parameters
        ----------
        pair : dict, optional
            What to write about the parameters that the states belong to.

        Returns
        -------
        list of bytes-like

        Examples
        --------
        >>> update = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9))
        >>> update(0, mx.nd.ones(2), mx.nd.ones(2))
        >>> other = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9))
        >>> b"".join(update.state_chunks()) == update.get_states()
        True
        """
        if not is_internal(self.get_states):
            return [self.get_states(dump_optimizer)]
        return self._file_chunks(dump_optimizer, pair)

    def _file_chunks(self, dump_optimizer, pair=None):  # parts of a file's content
        return pack_states(self.states, self.optimizer if dump_optimizer else None, pair)

    def set_states(self, states: bytes) -> None:
        """Load the result of ``get_states``.

        Parameters
        ----------
        states : bytes
            What `get_states` returned; an optimizer in it takes the place of this one's.

        Raises
        ------
        FormatError
            The bytes are damaged, or a pickle, as MXNet writes: those are never loaded.

        Examples
        --------
        >>> update = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9))
        >>> update(0, mx.nd.ones(2), mx.nd.ones(2))
        >>> other = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9))
        >>> other.set_states(update.get_states(dump_optimizer=True))
        >>> other.optimizer.num_update
        1
        """
        self.replace_states(*unpack_states(states, self.optimizer))

    def load(self, fname):
        """Load a file with the result of ``get_states``.

        Parameters
        ----------
        fname : str
            A file with what `get_states` returned.

        Raises
        ------
        MissingFileError
            There is no such file.
        FormatError
            The file is damaged, or a pickle, as MXNet writes: those are never loaded.

        Examples
        --------
        >>> update = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9))
        >>> update(0, mx.nd.ones(2), mx.nd.ones(2))
        >>> other = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9))
        >>> with open("momenta.states", "wb") as file:
        ...     size = file.write(update.get_states())
        >>> other.load("momenta.states")
        >>> other.states[0].asnumpy()
        array([-0.01, -0.01], dtype=float32)
        """
        if is_internal(self.set_states):
            self.replace_states(*read_state_file(fname, self.optimizer))
        else:
            self.set_states(read_file(fname))

    def replace_states(self, states, optimizer):
        """Replace the states, and the optimizer if given.

        Parameters
        ----------
        states : dict of int or str to state
            States by weight. The next step moves them to the weights' devices, and refuses those of
            another optimizer or network.
        optimizer : Optimizer or None
            Takes the place of the present one; None keeps that.

        Examples
        --------
        >>> update = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9))
        >>> update(0, mx.nd.ones(2), mx.nd.ones(2))
        >>> other = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9))
        >>> other.replace_states(update.states, None)
        >>> other.states[0].asnumpy()
        array([-0.01, -0.01], dtype=float32)
        """
        self.states = states
        self.states_synced = dict.fromkeys(self.states, False)
        if optimizer is not None:
            self.optimizer = optimizer


def _state_layout(state):
    """Return the shapes and dtypes in a state, as nested tuples."""
    if isinstance(state, (tuple, list)):
        return [_state_layout(each) for each in state]
    return None if state is None else (state.shape, state.dtype)


def _layout_text(state):
    if isinstance(state, (tuple, list)):
        return f"({', '.join(map(_layout_text, state))})"
    return "None" if state is None else f"{name_of(state.dtype)} {state.shape}"


@guarded
def get_updater(optimizer: Optimizer) -> Updater:
    """Return an :class:`Updater` of the optimizer.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer that makes the steps.

    Raises
    ------
    ArgumentTypeError
        `optimizer` has no ``update``.

    Examples
    --------
    >>> update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5))
    >>> weight = mx.nd.ones(2)
    >>> update(0, mx.nd.ones(2), weight)
    >>> weight.asnumpy()
    array([0.5, 0.5], dtype=float32)
    """
    return Updater(optimizer)
