"""Initial states: the functions that make them, and their face (mx.nd or mx.np)."""

from ... import ndarray
from ...base.np_shape import np_arrays
from ...ndarray import NDArray


def makes_arrays(func):
    """Return whether a function of the states' shapes makes arrays, not symbols."""
    return getattr(func, "__module__", "").startswith((ndarray.__name__, _NUMPY))


_NUMPY = f"{ndarray.__name__.partition('.')[0]}.numpy"


def to_thread_array_class(state):
    """A state as an array of mx.np, where the thread works with these."""
    return state.as_np_ndarray() if np_arrays() and isinstance(state, NDArray) else state
