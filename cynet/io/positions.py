"""Checks of the saved position of an iterator, before `load_state_dict` changes anything."""

import numpy as np

from ..base.errors import ArgumentTypeError, FormatError, shown
from ..base.kinds import to_index


def check_keys(state, caller, keys, optional=()):
    """Refuse a state that is not a dict with these keys; `optional` keys may be missing."""
    names = state.keys() if isinstance(state, dict) else ()
    if not isinstance(state, dict) or not {*keys} <= names <= {*keys, *optional}:
        raise FormatError(
            f"expected a state of {caller}, which has {', '.join(keys)}, got {shown(state)}"
        )


def read_position(state, key, caller, low, high):
    """Return the int at `key` of a state, checked to be from `low` to `high`."""
    try:
        number = to_index(key, state[key])
    except ArgumentTypeError as error:
        raise FormatError(f"expected a state of {caller}: {error}") from None
    if not low <= number <= high:
        raise FormatError(
            f"{caller}: there is no such place: {key} is from {low} to {high}, got {shown(number)}"
        )
    return number


def check_item_count(state, key, caller, count, what):
    """Refuse a state of an iterator over another number of samples."""
    if key in state and read_position(state, key, caller, 0, 1 << 62) != count:
        raise FormatError(f"{caller}: a state of {state[key]} {what} for {count} {what}")


def read_row_indices(state, key, caller, count, all_of=None):
    """Return the row indices in a state, checked to be below `count`; with `all_of`,
    an array, they must be a permutation of it."""
    try:
        found = np.asarray(state[key])
    except Exception:  # the value's own methods may raise anything
        found = np.zeros((), object)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise FormatError(
            f"expected a state of {caller}, whose {key} are row numbers, got {shown(state[key])}"
        )
    if all_of is not None and len(found) != len(all_of):
        raise FormatError(f"{caller}: a state of {len(found)} rows for {len(all_of)}")
    found = found.astype(np.int64)
    good = not found.size or (found.min() >= 0 and found.max() < count)
    if not good or (all_of is not None and not np.array_equal(np.sort(found), np.sort(all_of))):
        raise FormatError(
            f"expected a state of {caller}, got one whose {key} names other rows than its own"
        )
    return found
