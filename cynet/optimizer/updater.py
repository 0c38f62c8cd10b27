"""Updater: an optimizer with the states of the weights it updates, and their form as bytes."""

from .state_file import pack, unpack


class Updater:
    """Calls an optimizer with the state of each weight, making states when first needed.

    Parameters
    ----------
    optimizer : Optimizer

    Examples
    --------
    >>> import cynet as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5))
    >>> weight = mx.nd.ones(2)
    >>> update(0, mx.nd.ones(2), weight)
    >>> weight.asnumpy().tolist()
    [0.5, 0.5]
    """

    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.states = {}
        self.states_synced = {}

    def __call__(self, index, grad, weight):
        """One step of a weight, or of several (three lists)."""
        if not isinstance(index, (list, tuple)):
            index, grad, weight = (index,), (grad,), (weight,)
        self.optimizer.update_all(index, weight, grad, self._states_of(index, weight))

    def joined(self, index, grad, weight):
        """``optimizer.joined_update`` of several weights: what a call would push."""
        return self.optimizer.joined_update(index, weight, grad, self._states_of(index, weight))

    def _states_of(self, index, weight):
        states, synced = self.states, self.states_synced
        try:
            if False not in [synced[i] for i in index]:
                return [states[i] for i in index]
        except KeyError:  # of a weight that is new
            pass
        for i, each in zip(index, weight):
            if i not in states:
                states[i] = self.optimizer.create_state_multi_precision(i, each)
            elif not synced[i]:
                states[i] = self.sync_state_context(states[i], each.context)
            synced[i] = True
        return [states[i] for i in index]

    def sync_state_context(self, state, context):
        """The state with its arrays on `context`."""
        if isinstance(state, (tuple, list)):
            return type(state)(self.sync_state_context(each, context) for each in state)
        return None if state is None else state.as_in_context(context)

    def get_states(self, dump_optimizer=False):
        """All states as bytes, with `dump_optimizer` the optimizer's settings and counts too."""
        return pack(self.states, self.optimizer if dump_optimizer else None)

    def set_states(self, states):
        """Take over what ``get_states`` gave.

        Parameters
        ----------
        states : bytes

        Raises
        ------
        FormatError
            When the bytes are damaged, or a pickle, as MXNet writes: those are never loaded.
        """
        self.states, optimizer = unpack(states)
        self.states_synced = dict.fromkeys(self.states, False)
        if optimizer is not None:
            self.optimizer = optimizer


def get_updater(optimizer):
    """An :class:`Updater` of the optimizer."""
    return Updater(optimizer)
