"""Objects by which scripts record: Domain, Task, Frame, Event, Counter, Marker."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING

from ..base.errors import ArgumentError, ArgumentTypeError, CynetError, shown
from ..engine import trace

if TYPE_CHECKING:
    from typing import Any

__all__ = ["Counter", "Domain", "Event", "Frame", "Marker", "Task", "scope"]

_event_ids = itertools.count(1)  # ids of the intervals in a trace


def _check_name(what, name):
    if not isinstance(name, str) or not name:
        raise ArgumentTypeError(f"profiler.{what}: name must be a str, got {shown(name)}")
    return name


def _domain_category(what, domain):
    if not isinstance(domain, Domain):
        raise ArgumentTypeError(f"profiler.{what}: domain must be a Domain, got {shown(domain)}")
    return domain.name


class Domain:
    """A category of tasks, frames, counters and markers in the trace.

    Examples
    --------
    >>> import json
    >>> from pathlib import Path
    >>> mx.profiler.set_config(filename="loader.json")
    >>> mx.profiler.set_state("run")
    >>> domain = mx.profiler.Domain("loader")
    >>> with domain.new_frame("batch"), domain.new_task("read"):
    ...     domain.new_counter("waiting", 3).increment()
    ...     domain.new_marker("full").mark()
    >>> mx.profiler.dump()
    >>> events = json.loads(Path("loader.json").read_text())["traceEvents"]
    >>> sorted({each["name"] for each in events if "loader" in each.get("cat", "")})
    ['batch', 'full', 'read', 'waiting']
    """

    def __init__(self, name: str) -> None:
        self.name = _check_name("Domain", name)

    def __str__(self) -> str:
        return self.name

    def new_task(self, name: str) -> Task:
        """Make a Task of this domain.

        Examples
        --------
        >>> task = mx.profiler.Domain("loader").new_task("read")
        >>> with task:
        ...     pass
        """
        return Task(self, name)

    def new_frame(self, name: str) -> Frame:
        """Make a Frame of this domain.

        Parameters
        ----------
        name : str
            Name in the trace.
        """
        return Frame(self, name)

    def new_counter(self, name: str, value: int | None = None) -> Counter:
        """Make a Counter of this domain.

        Parameters
        ----------
        value : int, optional
            First value, which is recorded at once.
        """
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Marker:
        """Make a Marker of this domain.

        Parameters
        ----------
        name : str
            Name in the trace.
        """
        return Marker(self, name)


class _Interval:  # base of Task, Frame and Event
    """Base of objects with `start` and `stop`, on any threads; also context managers."""

    def __init__(self, name, category, kind):
        self.name, self._category_name, self._kind = name, category, trace.kinds[kind]
        self._begun = None

    def __str__(self) -> str:
        return self.name

    def start(self) -> None:
        """Begin the interval now; a further call before `stop` begins it anew.

        Examples
        --------
        >>> task = mx.profiler.Domain("loader").new_task("read")
        >>> task.start()
        >>> task.stop()
        """
        self._begun = trace.now()

    def stop(self) -> None:
        """End now. It is recorded if the profiler runs.

        Raises
        ------
        CynetError
            If it was not started.

        Examples
        --------
        >>> mx.profiler.Event("evaluation").stop()
        Traceback (most recent call last):
            ...
        cynet.errors.CynetError: profiler: Event 'evaluation' was stopped before it started
        """
        if self._begun is None:
            raise CynetError(
                f"profiler: {type(self).__name__} {shown(self.name)} was stopped before it started"
            )
        begin, self._begun = self._begun, None
        trace.record(
            self._kind, self.name, self._category_name, begin, trace.now(), next(_event_ids)
        )

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *args: object) -> None:
        self.stop()


class Task(_Interval):
    """A task that may overlap other tasks: `start`, `stop`, or ``with task:``.

    Examples
    --------
    >>> mx.profiler.set_state("run")
    >>> domain = mx.profiler.Domain("loader")
    >>> first, second = mx.profiler.Task(domain, "read"), mx.profiler.Task(domain, "decode")
    >>> first.start(); second.start(); first.stop(); second.stop()
    >>> mx.profiler.set_state("stop")
    >>> table = mx.profiler.dumps(reset=True)
    >>> "read" in table, "decode" in table
    (True, True)
    """

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(_check_name("Task", name), _domain_category("Task", domain), "along")


class Frame(_Interval):
    """One pass of a repeated task, such as one batch.

    Examples
    --------
    >>> import json
    >>> mx.profiler.set_state("run")
    >>> frame = mx.profiler.Frame(mx.profiler.Domain("training"), "one batch")
    >>> for _ in range(3):
    ...     with frame:
    ...         _ = mx.nd.ones((2, 2)) * 2
    >>> mx.profiler.set_state("stop")
    >>> sums = json.loads(mx.profiler.dumps(reset=True, format="json"))
    >>> "one batch" in str(sums)
    True
    """

    def __init__(self, domain: Domain, name: str) -> None:
        category = f"{_domain_category('Frame', domain)},frame"
        super().__init__(_check_name("Frame", name), category, "along")


class Event(_Interval):
    """An interval of one thread's work, nested in enclosing events.

    Examples
    --------
    >>> mx.profiler.set_state("run")
    >>> with mx.profiler.Event("evaluation"):
    ...     _ = mx.nd.ones((2, 2)) * 2
    >>> mx.profiler.set_state("stop")
    >>> "evaluation" in mx.profiler.dumps(reset=True)
    True
    """

    def __init__(self, name: str) -> None:
        super().__init__(_check_name("Event", name), "event", "lasts")


class Counter:
    """A number over time.

    Parameters
    ----------
    value : int, optional
        First value, which is recorded at once.

    Examples
    --------
    >>> import json
    >>> from pathlib import Path
    >>> mx.profiler.set_config(filename="counted.json")
    >>> mx.profiler.set_state("run")
    >>> waiting = mx.profiler.Counter(mx.profiler.Domain("loader"), "waiting", 2)
    >>> waiting.increment(5)
    >>> waiting.decrement()
    >>> waiting += 1
    >>> waiting.set_value(0)
    >>> mx.profiler.dump()
    >>> events = json.loads(Path("counted.json").read_text())["traceEvents"]
    >>> [each["args"] for each in events if each["name"] == "waiting"]
    [{'waiting': 2}, {'waiting': 7}, {'waiting': 6}, {'waiting': 7}, {'waiting': 0}]
    """

    def __init__(self, domain: Domain, name: str, value: int | None = None) -> None:
        self.name, self._domain = _check_name("Counter", name), _domain_category("Counter", domain)
        self._lock = threading.Lock()
        self._value = 0
        if value is not None:
            self.set_value(value)

    def __str__(self) -> str:
        return self.name

    def set_value(self, value: int) -> None:
        """Set the counter.

        Parameters
        ----------
        value : int
            The new value.
        """
        with self._lock:
            self._record_value(value)

    def increment(self, delta: int = 1) -> None:
        """Add `delta` to the counter.

        Parameters
        ----------
        delta : int
            How much to add.
        """
        with self._lock:
            self._record_value(self._value + delta)

    def decrement(self, delta: int = 1) -> None:
        """Subtract `delta` from the counter.

        Parameters
        ----------
        delta : int
            How much to subtract.
        """
        with self._lock:
            self._record_value(self._value - delta)

    def _record_value(self, value: Any) -> None:
        self._value = int(value)
        now = trace.now()
        trace.record(trace.kinds["counter"], self.name, self._domain, now, now, self._value)

    def __iadd__(self, delta: int) -> Counter:
        self.increment(delta)
        return self

    def __isub__(self, delta: int) -> Counter:
        self.decrement(delta)
        return self


class Marker:
    """A point in time, shown as a line in the trace.

    Examples
    --------
    >>> import json
    >>> from pathlib import Path
    >>> mx.profiler.set_config(filename="marked.json")
    >>> mx.profiler.set_state("run")
    >>> mx.profiler.Marker(mx.profiler.Domain("training"), "warm").mark("global")
    >>> mx.profiler.dump()
    >>> events = json.loads(Path("marked.json").read_text())["traceEvents"]
    >>> [(each["ph"], each["s"]) for each in events if each["name"] == "warm"]
    [('i', 'g')]
    """

    def __init__(self, domain: Domain, name: str) -> None:
        self.name, self._domain = _check_name("Marker", name), _domain_category("Marker", domain)

    def mark(self, scope: str = "process") -> None:
        """Record the marker at the current time.

        Parameters
        ----------
        scope : str
            Extent of its line in the picture: ``'process'``, ``'thread'`` or ``'global'``;
            ``'task'`` and ``'marker'`` mean the thread.

        Raises
        ------
        ArgumentError
            `scope` is not one of its names.
        """
        scopes = {"task": "thread", "marker": "thread"}
        scope = scopes.get(scope, scope)
        if scope not in ("process", "thread", "global"):
            raise ArgumentError(
                "profiler.Marker.mark: scope must be 'process', 'thread', 'global', 'task' or"
                f" 'marker', got {shown(scope)}"
            )
        now = trace.now()
        category = f"{self._domain},instant_marker"
        trace.record(trace.kinds["mark"], self.name, category, now, now, 0, scope)


def scope(name: str = "<unk>:") -> Event:
    """Make an Event for a ``with`` statement: the thread's work inside of the block.

    Examples
    --------
    >>> with mx.profiler.scope("evaluation"):
    ...     pass
    """
    return Event(_check_name("scope", name))
