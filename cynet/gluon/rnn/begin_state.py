"""Initial states of recurrent cells: arrays of mx.nd, arrays of mx.np, or symbols."""

from ... import ndarray
from ...base.np_shape import uses_np_arrays
from ...ndarray import NDArray


def returns_arrays(func):
    """Return whether `func`, which makes initial states, returns arrays and not symbols."""
    return getattr(func, "__module__", "").startswith((ndarray.__name__, _NUMPY_MODULE))


_NUMPY_MODULE = f"{ndarray.__name__.partition('.')[0]}.numpy"


def to_active_array_class(state):
    """Convert a state to an array of mx.np if the thread uses mx.np's arrays."""
    return state.as_np_ndarray() if uses_np_arrays() and isinstance(state, NDArray) else state
