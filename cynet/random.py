"""mx.random: the seed of all random numbers, and the functions of mx.nd.random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._resource import random_state, seed_device, set_random_state
from .base.errors import ArgumentError, shown
from .base.guard import guarded
from .ndarray.random import (
    exponential,
    gamma,
    generalized_negative_binomial,
    multinomial,
    negative_binomial,
    normal,
    poisson,
    randint,
    randn,
    shuffle,
    uniform,
)

if TYPE_CHECKING:
    from .typing import ContextLike

__all__ = [
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "get_state",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "randint",
    "randn",
    "seed",
    "set_state",
    "shuffle",
    "uniform",
]


@guarded
def seed(seed_state: int, ctx: ContextLike = "all") -> None:
    """Seed the random numbers of operators (dropout, random arrays, shuffles, initializers).

    One seed gives the same bytes whatever the number of workers and threads and whatever the
    engine.

    Parameters
    ----------
    seed_state : int
        Any integer, of which the low 64 bits are used.
    ctx : Context or 'all'
        Device to seed. With ``'all'``, devices of the same type but different index get different
        numbers; a device seeded by name gets those that ``'all'`` gives to index 0.

    Raises
    ------
    ArgumentError
        When the seed is not an integer or `ctx` no device.

    Examples
    --------
    >>> mx.random.seed(42)
    >>> first = mx.random.uniform(shape=3).asnumpy()
    >>> mx.random.seed(42)
    >>> bool((first == mx.random.uniform(shape=3).asnumpy()).all())
    True
    """
    seed_device(seed_state, ctx)
    if ctx == "all":
        _shuffle_state[:] = [int(seed_state), 0]


def get_state() -> dict[str, Any]:
    """Return the state of all random numbers, of devices and of shuffles of data, as a dict for
    JSON.

    Returns
    -------
    dict

    Examples
    --------
    >>> state = mx.random.get_state()
    >>> first = mx.random.uniform(shape=3).asnumpy()
    >>> mx.random.set_state(state)
    >>> bool((first == mx.random.uniform(shape=3).asnumpy()).all())
    True
    """
    return {"devices": random_state(), "shuffles": list(_shuffle_state)}


@guarded
def set_state(state: dict[str, Any]) -> None:
    """Restore the state that `get_state` returned.

    Parameters
    ----------
    state : dict
        What `get_state` returned.

    Raises
    ------
    ArgumentError
        If that is no such state.

    Examples
    --------
    >>> state = mx.random.get_state()
    >>> first = mx.random.normal(shape=(3,))
    >>> mx.random.set_state(state)
    >>> mx.test_utils.same(first, mx.random.normal(shape=(3,)))
    True
    """
    if not isinstance(state, dict) or not {"devices", "shuffles"} <= state.keys():
        raise ArgumentError(f"expected a state of random numbers, got {shown(state)}")
    _check_shuffle_state(state["shuffles"])
    set_random_state(state["devices"])
    _shuffle_state[:] = state["shuffles"]


_shuffle_state: list[int] = []  # [seed of all devices, number of shuffles since], or empty


def shuffle_state() -> list[int]:
    """Return the state of shuffles of data; an empty list if `seed` was not called."""
    return list(_shuffle_state)


def set_shuffle_state(state: list[int]) -> None:
    """Restore a state that `shuffle_state` returned."""
    _check_shuffle_state(state)
    _shuffle_state[:] = state


def _check_shuffle_state(state):
    if not isinstance(state, list) or len(state) not in (0, 2) or set(map(type, state)) - {int}:
        raise ArgumentError(f"expected seed and count of shuffles, got {shown(state)}")


def last_seed() -> int | None:
    """Return the argument of the last call of `seed`, or None."""
    return _shuffle_state[0] if _shuffle_state else None


def next_shuffle_number() -> tuple[int, int] | None:
    """Count a shuffle of data; returns (seed, number of shuffles since), or None before `seed`."""
    if not _shuffle_state:
        return None
    _shuffle_state[1] += 1
    return _shuffle_state[0], _shuffle_state[1]
