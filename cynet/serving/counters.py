"""Counters of a Predictor: requests, rows, batches, refusals, seconds."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import deque
from typing import Any

BUCKET_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_MAX_RECENT = 2048  # requests whose seconds are stored for quantiles


class Counters:  # counts and times of requests
    """Counters that several threads increase, and quantiles of recent requests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recent: deque[float] = deque(maxlen=_MAX_RECENT)
        self._buckets = [0] * (len(BUCKET_SECONDS) + 1)
        self._seconds = 0.0
        self._rows = self._batches = self._batched_rows = 0
        self._failed: dict[str, int] = {}

    def count_answer(self, rows: int, seconds: float) -> None:
        """Count an answered request with this many rows."""
        with self._lock:
            self._recent.append(seconds)
            self._buckets[bisect_left(BUCKET_SECONDS, seconds)] += 1
            self._seconds += seconds
            self._rows += rows

    def count_batch(self, rows: int) -> None:
        """Count a run of the network on this many rows."""
        with self._lock:
            self._batches += 1
            self._batched_rows += rows

    def count_failure(self, kind: str) -> None:
        """Count a request that ended in an exception of this name."""
        with self._lock:
            self._failed[kind] = self._failed.get(kind, 0) + 1

    def read(self) -> dict[str, Any]:
        """Read all counters at one moment."""
        with self._lock:
            recent, buckets = sorted(self._recent), list(self._buckets)
            found = {
                "requests": sum(buckets),
                "rows": self._rows,
                "batches": self._batches,
                "rows_per_batch": self._batched_rows / self._batches if self._batches else 0.0,
                "failed": dict(self._failed),
                "seconds": self._seconds,
                "buckets": buckets,
            }
        for percent in (50, 90, 99):
            place = min(len(recent) - 1, len(recent) * percent // 100)
            found[f"p{percent}"] = recent[place] if recent else 0.0
        return found
