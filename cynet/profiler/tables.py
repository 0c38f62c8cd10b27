"""Sums of the profiler's records, as tables like MXNet's and as JSON."""

import json

from ..base.errors import ArgumentError, shown
from ..context import Context
from ..engine import trace
from .trace_file import operator_name

_SORT_KEYS = {  # value of sort_by -> sort key of a row
    "total": lambda row: row[2],
    "avg": lambda row: row[2] / row[1],
    "min": lambda row: row[3],
    "max": lambda row: row[4],
    "count": lambda row: row[1],
}
_TIME_COLUMNS = ("Time (ms)", "Min Time (ms)", "Max Time (ms)", "Avg Time (ms)")  # titles
_VALUE_COLUMNS = ("Min Value", "Max Value", "Avg Value")  # titles of counters' columns
_MEMORY_COLUMNS = ("Min Use (kB)", "Max Use (kB)", "Avg Use (kB)")  # titles
_FIRST_COLUMNS = ("Name", "Total Count")  # titles in all tables


def sorted_statistics(sort_by, ascending):
    """Return (times, values, memory): dicts of category to sorted (name, count, sum, min, max).

    Of times and memory `sum` is that; memory is what devices had in use after each event that the
    trace still has.
    """
    if sort_by not in _SORT_KEYS:
        raise ArgumentError(
            f"profiler.dumps: sort_by must be one of {', '.join(_SORT_KEYS)}, got {shown(sort_by)}"
        )
    times, values = {}, {}
    for kind, name, _, category, backward, *figures in trace.record_totals():
        if kind == trace.kinds["mark"]:
            continue
        kinds = values if kind == trace.kinds["counter"] else times
        rows = kinds.setdefault(category, {})
        name = operator_name(name, backward)
        rows[name] = _merge_statistics(rows.get(name), figures)
    return tuple(
        {
            category: sorted(
                ((name, *figures) for name, figures in rows.items()),
                key=_SORT_KEYS[sort_by],
                reverse=not ascending,
            )
            for category, rows in sorted(group.items())
        }
        for group in (times, values, _memory_statistics())
    )


def _merge_statistics(old, new):
    """Merge two tuples (count, sum, min, max)."""
    if old is None:
        return new
    return [old[0] + new[0], old[1] + new[1], min(old[2], new[2]), max(old[3], new[3])]


def _memory_statistics():
    rows = {}
    for _, _, _, events in trace.records():
        for *_, value, dev_type, dev_id in events:
            if dev_type >= 0 and value >= 0:
                name = f"Memory: {Context.devtype2str[dev_type]}({dev_id})"
                rows[name] = _merge_statistics(rows.get(name), [1, value, value, value])
    return {"Device Storage": rows} if rows else {}


def _scale_statistics(figures, unit):
    """Return [sum, min, max, average] in the table's unit."""
    count, total, least, maximum = figures
    return [each / unit for each in (total, least, maximum, total / count)]


def format_table(times, values, memory):
    """Return the text of `dumps`."""
    lines = ["", "Profile Statistics:", "\tTimes are in milliseconds, memory is in kB."]
    for kinds, heads, unit in (
        (memory, _MEMORY_COLUMNS, 1e3),
        (times, _TIME_COLUMNS, 1e6),
        (values, _VALUE_COLUMNS, 1),
    ):
        for category, rows in kinds.items():
            lines += [category, "=" * 17]
            body = []
            for name, *figures in rows:
                numbers = _scale_statistics(figures, unit)[-len(heads) :]
                body.append((name, str(figures[0]), *(f"{each:.4f}" for each in numbers)))
            lines += [*_format_columns((*_FIRST_COLUMNS, *heads), body), ""]
    return "\n".join(lines)


def _format_columns(heads, rows):
    """Return the lines of a table: names left-aligned, numbers right-aligned."""
    marks = tuple("-" * len(head) for head in heads)
    widths = [max(len(row[i]) for row in (heads, *rows)) for i in range(len(heads))]
    for row in (heads, marks, *rows):
        first, *others = (
            each.ljust(width) if i == 0 else each.rjust(width)
            for i, (each, width) in enumerate(zip(row, widths))
        )
        yield "    ".join([first, *others])


def format_json(times, values, memory):
    """Return the tables as JSON: ``{"Time": {category: {name: statistics}}, ...}``."""
    found = {}
    for key, kinds, unit in (("Time", times, 1e6), ("Memory", memory, 1e3), ("Value", values, 1)):
        found[key] = {
            category: {
                name: dict(
                    zip(
                        ("Count", "Total", "Min", "Max", "Avg"),
                        [figures[0], *_scale_statistics(figures, unit)],
                    )
                )
                for name, *figures in rows
            }
            for category, rows in kinds.items()
        }
    found["Unit"] = {"Time": "ms", "Memory": "kB"}
    return json.dumps(found, indent=4)
