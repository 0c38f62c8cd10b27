"""Conversion of the profiler's records to Chrome's trace format."""

import os
import threading

from ..context import Context
from ..engine import trace

_DURATION_KIND, _ASYNC_KIND, _MARKER_KIND, _COUNTER_KIND = (  # kinds of records
    trace.kinds[k] for k in ("lasts", "along", "mark", "counter")
)
_SCOPE_CODES = {"process": "p", "thread": "t", "global": "g"}  # marker's scope -> code
_HOST_PROCESS = 0  # process id of the host in the trace; GPU i is i + 1


def trace_events():
    """Convert all records to a dict in Chrome's trace format, times in microseconds.

    Processes are devices: the host with its threads, and each GPU. An operator of a graph has its
    node in ``args``, ``cpu(1)`` and the like its context.
    """
    threads = trace.records()
    events = [_metadata_event("process_name", _HOST_PROCESS, 0, f"host (process {os.getpid()})")]
    names = {each.native_id: each.name for each in threading.enumerate()}
    gpus = set()
    for number, label, lost, rows in threads:
        name = label or names.get(number) or "thread"
        if lost:
            name += f" ({lost} earlier events are not here)"
        events.append(_metadata_event("thread_name", _HOST_PROCESS, number, name))
        used = {}
        for row in rows:
            gpu = _gpu_index_of_record(row)
            if gpu is not None and (gpu, number) not in gpus:
                gpus.add((gpu, number))
                events.append(_metadata_event("process_name", gpu + 1, 0, f"gpu({gpu})"))
                events.append(_metadata_event("thread_name", gpu + 1, number, name))
            events.extend(_trace_events_of_record(row, number, used))
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {"events without memory": trace.dropped_records()},
    }


def _metadata_event(what, process, thread, name):
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}


def _gpu_index_of_record(row):
    kind, number = row[8], row[9]
    return number if kind == Context.devstr2type["gpu"] else None


def _trace_events_of_record(row, thread, used):
    """Return the trace events of a record; `used` has the last memory use of each device."""
    kind, name, node, category, backward, begin, end, value, dev_type, dev_id = row
    gpu = _gpu_index_of_record(row)
    event = {
        "name": operator_name(name, backward),
        "cat": category,
        "ts": begin / 1e3,
        "pid": _HOST_PROCESS if gpu is None else gpu + 1,
        "tid": thread,
    }
    if kind == _MARKER_KIND:
        yield {**event, "ph": "i", "s": _SCOPE_CODES[node or "process"]}
    elif kind == _COUNTER_KIND:
        yield {**event, "ph": "C", "args": {name: value}}
    elif kind == _ASYNC_KIND:
        yield {**event, "ph": "b", "id": value}
        yield {**event, "ph": "e", "id": value, "ts": end / 1e3}
    else:
        event.update(ph="X", dur=(end - begin) / 1e3)
        if dev_type >= 0:
            device = f"{Context.devtype2str[dev_type]}({dev_id})"
            event["args"] = {"device": device}
            if node is not None:
                event["args"]["node"] = node
            if category == "operator":
                event["args"]["direction"] = "backward" if backward else "forward"
            if value >= 0 and used.get(device) != value:
                used[device] = value
                memory = {"ph": "C", "pid": event["pid"], "tid": thread, "ts": end / 1e3}
                yield {
                    **memory,
                    "name": f"Memory: {device}",
                    "cat": "memory",
                    "args": {"bytes in use": value},
                }
        yield event


def operator_name(name, backward):
    """Return an operator's name in traces and tables; MXNet's ``_backward_X`` for its gradient."""
    return f"_backward_{name}" if backward else name
