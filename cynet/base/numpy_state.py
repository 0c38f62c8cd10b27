"""The state of NumPy's global random generator as JSON, for any kind of generator."""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random.mtrand import get_bit_generator, set_bit_generator

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence


def numpy_state() -> list[Any]:
    """Return the state of NumPy's global generator as ``[name, ...]``, of numbers, lists and dicts.

    >>> state = numpy_state()
    >>> a = np.random.rand()
    >>> set_numpy_state(state)
    >>> a == np.random.rand()
    True
    """
    state = np.random.get_state(legacy=False)
    if isinstance(get_bit_generator(), np.random.MT19937):
        inner = state["state"]
        return ["MT19937", inner["key"].tolist(), inner["pos"], state["has_gauss"], state["gauss"]]
    return [state["bit_generator"], _to_plain_values(state)]


def numpy_state_token() -> Hashable:
    """Return a short hashable value that changes whenever the generator draws."""
    state = np.random.get_state(legacy=False)
    inner = state["state"]
    if state["bit_generator"] == "MT19937":
        return inner["key"][:8].tobytes(), inner["pos"], state["has_gauss"]
    return repr(state), 0, state["has_gauss"]


def set_numpy_state(saved: Sequence[Any]) -> None:
    """Restore the state that `numpy_state` returned, and its type of generator.

    Raises TypeError or ValueError or KeyError or AttributeError: that is no such state.
    """
    name, first, *others = saved
    if type(get_bit_generator()).__name__ != name:
        set_bit_generator(getattr(np.random, name)())
    if isinstance(first, dict):
        np.random.set_state(first)
    else:
        np.random.set_state((name, np.asarray(first, np.uint32), *others))


def _to_plain_values(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _to_plain_values(each) for key, each in value.items()}
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


@contextmanager
def seeded_numpy(seed: int) -> Iterator[None]:
    """Seed NumPy's global generator for a block of code, then restore it.

    ``get_state`` and ``set_state`` take 45 us each, number by number. Here the words of a Mersenne
    twister are copied in its memory. The second of a pair of normal numbers, which NumPy keeps
    elsewhere, shows in that the next one changes no word.

    >>> np.random.seed(1)
    >>> with seeded_numpy(2):
    ...     a = np.random.rand()
    >>> b = np.random.rand()
    >>> np.random.seed(1)
    >>> b == np.random.rand() != a
    True
    """
    generator, words = get_bit_generator(), b""
    if _has_known_layout(generator):
        words = _generator_state_bytes(generator)
        normal = np.random.standard_normal()
        state = None
        if _generator_state_bytes(generator) == words:
            state = {**generator.state, "has_gauss": 1, "gauss": normal}
    else:
        state = np.random.get_state(legacy=False)
    try:
        set_bit_generator(generator)  # drops the second normal of a pair, which seed may keep
        np.random.seed(seed)
        yield
    finally:
        set_bit_generator(generator)
        if state is not None:
            np.random.set_state(state)
        else:
            with generator.lock:
                ctypes.memmove(generator.ctypes.state_address, words, _STATE_BYTES)


_STATE_BYTES = 624 * 4 + 4  # state of a Mersenne twister: 624 words and a position
_is_layout_known = None  # True: a generator's memory has the expected layout


def _has_known_layout(generator: np.random.BitGenerator) -> bool:
    """Return whether the generator's memory has the expected layout; checked once."""
    global _is_layout_known
    if type(generator) is not np.random.MT19937:
        return False
    if _is_layout_known is None:
        inner = generator.state["state"]
        found = np.frombuffer(_generator_state_bytes(generator), np.uint32)
        _is_layout_known = bool((found[:-1] == inner["key"]).all() and found[-1] == inner["pos"])
    return _is_layout_known


def _generator_state_bytes(generator: np.random.BitGenerator) -> bytes:
    with generator.lock:
        return ctypes.string_at(generator.ctypes.state_address, _STATE_BYTES)
