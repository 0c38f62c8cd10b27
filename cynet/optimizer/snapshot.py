"""OptimizerSnapshot: the present state of an optimizer and its Updaters, for restoring it later."""


class OptimizerSnapshot:
    """A copy of the states, counts and numbers of Updaters that share one optimizer.

    updaters: list of Updater
    """

    def __init__(self, updaters):
        self._updaters, self._optimizer = list(updaters), updaters[0].optimizer
        held = vars(self._optimizer).items()
        self._numbers = {name: each for name, each in held if isinstance(each, (int, float))}
        counts = self._optimizer._all_index_update_counts
        self._counts = {device: dict(each) for device, each in counts.items()}
        self._states = [
            {index: copy_state(state) for index, state in each.states.items()} for each in updaters
        ]

    def restore(self):
        """Restore the copied values; only once, because the Updaters then own the copied states."""
        for name, value in self._numbers.items():
            setattr(self._optimizer, name, value)
        for device, counts in self._optimizer._all_index_update_counts.items():
            counts.clear()
            counts.update(self._counts.get(device, {}))
        for updater, states in zip(self._updaters, self._states):
            updater.replace_states(states, None)


def copy_state(state):
    """Copy a state: None, an array, or nested tuples."""
    if isinstance(state, (tuple, list)):
        return tuple(map(copy_state, state))
    return None if state is None else state.copy()
