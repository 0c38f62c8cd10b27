"""The cache of plans: all caches of the process share one limit of memory."""

from __future__ import annotations

import heapq
import os
import threading
import weakref
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from .._storage import memory_info
from ..base import config
from ..context import cpu
from .cached_results import cached_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..graph.ir import Graph


_STEP_BYTES = 4096  # approximate bytes of a plan's step in Python objects and tables
_PRIMITIVE_BYTES = 8192  # approximate bytes of a oneDNN primitive
_caches: weakref.WeakSet[PlanCache] = weakref.WeakSet()  # caches whose plans count for the limit
_lock = threading.RLock()  # guards all caches
_cache_age = 0.0  # the rank of the last dropped plan


def _renew_lock_after_fork() -> None:
    global _lock
    _lock = threading.RLock()  # the forked child has no thread that could release the old lock


os.register_at_fork(after_in_child=_renew_lock_after_fork)


def cache_limit_bytes() -> int:
    """Return the maximum total bytes of cached plans."""
    setting: int = config.get("CYNET_PLAN_CACHE_MB") << 20
    return setting or memory_info(cpu())[1] // 4


def bytes_of_graph(graph: Graph, arrays: Iterable[Any] = ()) -> int:
    """Return the bytes of a plan of `graph` without its arena, with the `arrays` that it owns."""
    chosen = [choice for step in graph.steps for choice in step.algorithms.values()]
    primitives = sum(choice is not None and choice.name == "onednn" for choice in chosen)
    size: int = _STEP_BYTES * len(graph.steps) + _PRIMITIVE_BYTES * primitives
    owned: int = sum(each.size * np.dtype(each.dtype).itemsize for each in arrays)
    return size + owned


class _CachedPlan:
    """A plan, and its rank by GreedyDual-Size (Cao and Irani, 1997): the caches' age at its last
    use plus the planning time per byte. The lowest rank is evicted first."""

    __slots__ = ("plan", "rank", "worth")

    def __init__(self, plan: Any, seconds: float) -> None:
        self.plan = plan
        self.worth = seconds / max(plan.nbytes, 1)
        self.rank = _cache_age + self.worth


class PlanCache:
    """A dict of key -> plan; all caches of the process share the limit CYNET_PLAN_CACHE_MB.

    A plan says by `nbytes` what it takes, and by `cached_results` what it shares with
    others; that counts once, and goes with the last plan that has it. Where they take too much in
    all, the one that was not used for longest goes, weighed by what it costs to plan it again. The
    plan that a cache gave last stays whatever it takes. Threads may use a cache at the same time.

    apart: Whether its plans count and may go one by one. False: they are parts of a plan of another
        cache, whose `nbytes` has them.
    """

    def __init__(self, apart: bool = True) -> None:
        self._entries: dict[Any, _CachedPlan] = {}
        self._last: _CachedPlan | None = None
        if apart:
            with _lock:
                _caches.add(self)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._entries))

    def values(self) -> list[Any]:
        """Return the cached plans."""
        return [entry.plan for entry in list(self._entries.values())]

    @property
    def nbytes(self) -> int:
        return sum(plan.nbytes for plan in self.values())

    @property
    def cached_results(self) -> list[Any]:
        """The CachedResults of the plans, which other plans may share."""
        return [each for plan in self.values() for each in _cached_results_of(plan)]

    def get(self, key: Any) -> Any:
        """Return the plan of `key` and mark it as most recently used; None if there is none."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        entry.rank = _cache_age + entry.worth
        self._last = entry
        return entry.plan

    def add_plan(self, key: Any, plan: Any, seconds: float) -> Any:
        """Add a plan that took `seconds` to build.

        Returns object: the plan that is stored: another one where a thread was faster.
        """
        with _lock:
            known = self.get(key)
            if known is not None:
                return known
            entry = self._last = self._entries[key] = _CachedPlan(plan, seconds)
            dropped = _evict_plans()
        del dropped  # deleted without the lock, which their finalizers may take
        return entry.plan

    def clear(self) -> None:
        """Drop all plans."""
        self.keep_only()

    def keep_only(self, *keys: Any) -> None:
        """Drop all plans except the plans of `keys`."""
        with _lock:
            dropped, self._last = self._entries, None
            self._entries = {key: entry for key, entry in dropped.items() if key in keys}
        del dropped


def _cached_results_of(plan: Any) -> set[Any]:
    return set(plan.cached_results)


def _evict_plans() -> Sequence[_CachedPlan]:
    """Drop plans of the lowest rank until the limit holds; returns the dropped ones."""
    global _cache_age
    caches = list(_caches)
    total, maximum = sum(cache.nbytes for cache in caches), cache_limit_bytes()
    if total + cached_bytes() <= maximum:
        return ()
    users = Counter(
        each for cache in caches for plan in cache.values() for each in _cached_results_of(plan)
    )
    total += sum(each.nbytes for each in users)
    ranked = [
        (entry.rank, number, key, cache)
        for number, (cache, key, entry) in enumerate(
            (cache, key, entry)
            for cache in caches
            for key, entry in list(cache._entries.items())
            if entry is not cache._last
        )
    ]
    heapq.heapify(ranked)
    dropped: list[_CachedPlan] = []
    while total > maximum and ranked:
        rank, _, key, cache = heapq.heappop(ranked)
        entry = cache._entries.pop(key)
        total -= entry.plan.nbytes
        users.subtract(_cached_results_of(entry.plan))
        total -= sum(each.nbytes for each in _cached_results_of(entry.plan) if not users[each])
        _cache_age = max(_cache_age, rank)
        dropped.append(entry)
    return dropped
