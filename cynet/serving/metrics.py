"""Counts of Predictors, in Prometheus' text form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .counters import BUCKET_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable


def metrics_text(stats: Iterable[tuple[str, str, dict[str, Any]]]) -> str:
    """Return the lines of ``/metrics`` for [(name, version, ``Predictor.stats()``)] of models."""
    lines: list[str] = []
    stats = [(f'model="{name}",version="{version}"', of_it) for name, version, of_it in stats]

    def add_metric(name: str, kind: str, what: str, values: Any) -> None:
        lines.append(f"# HELP cynet_{name} {what}")
        lines.append(f"# TYPE cynet_{name} {kind}")
        for labels, found in stats:
            for suffix, label, value in values(found):
                lines.append(f"cynet_{name}{suffix}{{{labels}{label}}} {value!r}")

    def single_value(key: str) -> Any:  # reads one value of the stats
        return lambda found: [("", "", found[key])]

    add_metric("request_seconds", "histogram", "Seconds of answered requests.", _histogram_lines)
    add_metric("rows_total", "counter", "Rows of answered requests.", single_value("rows"))
    add_metric("batches_total", "counter", "Batches that were run.", single_value("batches"))
    add_metric(
        "failed_requests_total",
        "counter",
        "Requests that ended in an error.",
        lambda found: [("", f',kind="{kind}"', n) for kind, n in sorted(found["failed"].items())],
    )
    add_metric("waiting_rows", "gauge", "Rows that wait for a batch.", single_value("waiting"))
    return "\n".join(lines) + "\n"


def _histogram_lines(stats):
    total = 0
    for upper_bound, count in zip((*BUCKET_SECONDS, "+Inf"), stats["buckets"]):
        total += count
        yield "_bucket", f',le="{upper_bound}"', total
    yield "_sum", "", stats["seconds"]
    yield "_count", "", stats["requests"]
