"""What a Predictor counts, in Prometheus' text form."""

from __future__ import annotations

from typing import Any

from .counters import BOUNDS


def text_of(stats: dict[str, Any]) -> str:
    """The lines of ``/metrics``, of ``Predictor.stats()``."""
    lines: list[str] = []

    def add(name: str, kind: str, what: str, *values: tuple[str, float]) -> None:
        lines.append(f"# HELP cynet_{name} {what}")
        lines.append(f"# TYPE cynet_{name} {kind}")
        lines.extend(f"cynet_{name}{labels} {value!r}" for labels, value in values)

    total, buckets = 0, []
    for bound, count in zip((*BOUNDS, "+Inf"), stats["buckets"]):
        total += count
        buckets.append((f'_bucket{{le="{bound}"}}', total))
    sums = ("_sum", stats["seconds"]), ("_count", stats["requests"])
    add("request_seconds", "histogram", "Seconds of answered requests.", *buckets, *sums)
    add("rows_total", "counter", "Rows of answered requests.", ("", stats["rows"]))
    add("batches_total", "counter", "Batches that were run.", ("", stats["batches"]))
    failed = [(f'{{kind="{kind}"}}', n) for kind, n in sorted(stats["failed"].items())]
    add("failed_requests_total", "counter", "Requests that ended in an error.", *failed)
    add("waiting_rows", "gauge", "Rows that wait for a batch.", ("", stats["waiting"]))
    return "\n".join(lines) + "\n"
