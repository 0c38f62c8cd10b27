"""The state of NumPy's global random generator, as JSON holds it, whichever generator it is."""

import numpy as np


def numpy_state():
    """What decides the numbers to come: ``[name, ...]`` of numbers, lists and dicts.

    >>> state = numpy_state()
    >>> a = np.random.rand()
    >>> set_numpy_state(state)
    >>> a == np.random.rand()
    True
    """
    state = np.random.get_state(legacy=False)
    if isinstance(np.random.get_bit_generator(), np.random.MT19937):
        inner = state["state"]
        return ["MT19937", inner["key"].tolist(), inner["pos"], state["has_gauss"], state["gauss"]]
    return [state["bit_generator"], _plain(state)]


def place_of_numpy():
    """A short hashable value that changes whenever the generator draws."""
    state = np.random.get_state(legacy=False)
    inner = state["state"]
    if state["bit_generator"] == "MT19937":
        return inner["key"][:8].tobytes(), inner["pos"], state["has_gauss"]
    return repr(state), 0, state["has_gauss"]


def set_numpy_state(saved):
    """Go on where `numpy_state` was called, with the generator of then.

    Raises
    ------
    TypeError, ValueError, KeyError, AttributeError
        That is no such state.
    """
    name, first, *others = saved
    if type(np.random.get_bit_generator()).__name__ != name:
        np.random.set_bit_generator(getattr(np.random, name)())
    if isinstance(first, dict):
        np.random.set_state(first)
    else:
        np.random.set_state((name, np.asarray(first, np.uint32), *others))


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
