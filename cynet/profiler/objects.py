"""What scripts measure themselves: domains with tasks, frames, counters and markers; events."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING

from ..base.errors import ArgumentError, ArgumentTypeError, CynetError, shown
from ..base.guard import guarded
from ..engine import trace

if TYPE_CHECKING:
    from typing import Any

_numbers = itertools.count(1)


def _name(what, name):
    if not isinstance(name, str) or not name:
        raise ArgumentTypeError(f"profiler.{what}: name must be a str, got {shown(name)}")
    return name


def _category(what, domain):
    if not isinstance(domain, Domain):
        raise ArgumentTypeError(f"profiler.{what}: domain must be a Domain, got {shown(domain)}")
    return domain.name


@guarded
class Domain:
    """What tasks, frames, counters and markers belong to: their category in the trace.

    Parameters
    ----------
    name : str
        Its name.

    Examples
    --------
    >>> import cynet as mx
    >>> domain = mx.profiler.Domain("loader")
    >>> task = domain.new_task("read")
    >>> with task:
    ...     pass
    """

    def __init__(self, name: str) -> None:
        self.name = _name("Domain", name)

    def __str__(self) -> str:
        return self.name

    def new_task(self, name: str) -> Task:
        """A Task of this domain.

        Parameters
        ----------
        name : str
            Its name.
        """
        return Task(self, name)

    def new_frame(self, name: str) -> Frame:
        """A Frame of this domain.

        Parameters
        ----------
        name : str
            Its name.
        """
        return Frame(self, name)

    def new_counter(self, name: str, value: int | None = None) -> Counter:
        """A Counter of this domain.

        Parameters
        ----------
        name : str
            Its name.
        """
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Marker:
        """A Marker of this domain.

        Parameters
        ----------
        name : str
            Its name.
        """
        return Marker(self, name)


class _Lasting:
    """What has a start and a stop, on any threads, and may be a scope."""

    def __init__(self, name, category, kind):
        self.name, self._category_name, self._kind = name, category, trace.kinds[kind]
        self._begun = None

    def __str__(self) -> str:
        return self.name

    def start(self) -> None:
        """It begins now; again before `stop`: it begins anew."""
        self._begun = trace.now()

    def stop(self) -> None:
        """It has ended; recorded if the profiler runs.

        Raises
        ------
        CynetError
            It was not started.
        """
        if self._begun is None:
            raise CynetError(
                f"profiler: {type(self).__name__} {shown(self.name)} was stopped before it started"
            )
        begin, self._begun = self._begun, None
        trace.note(self._kind, self.name, self._category_name, begin, trace.now(), next(_numbers))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *args: object) -> None:
        self.stop()


@guarded
class Task(_Lasting):
    """Work that may overlap others: `start`, `stop`, or ``with task:``.

    Parameters
    ----------
    name : str
        Its name.
    """

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(_name("Task", name), _category("Task", domain), "along")


@guarded
class Frame(_Lasting):
    """A pass through something that repeats, as of a batch.

    Parameters
    ----------
    name : str
        Its name.
    """

    def __init__(self, domain: Domain, name: str) -> None:
        category = f"{_category('Frame', domain)},frame"
        super().__init__(_name("Frame", name), category, "along")


@guarded
class Event(_Lasting):
    """A part of what one thread does, within the parts around it.

    Parameters
    ----------
    name : str
        Its name.
    """

    def __init__(self, name: str) -> None:
        super().__init__(_name("Event", name), "event", "lasts")


@guarded
class Counter:
    """A number over time.

    Parameters
    ----------
    domain : Domain
    name : str
    value : int, optional
        Recorded at once.
    """

    def __init__(self, domain: Domain, name: str, value: int | None = None) -> None:
        self.name, self._domain = _name("Counter", name), _category("Counter", domain)
        self._lock = threading.Lock()
        self._value = 0
        if value is not None:
            self.set_value(value)

    def __str__(self) -> str:
        return self.name

    def set_value(self, value: int) -> None:
        """The number from now on."""
        with self._lock:
            self._set(value)

    def increment(self, delta: int = 1) -> None:
        """Add to it."""
        with self._lock:
            self._set(self._value + delta)

    def decrement(self, delta: int = 1) -> None:
        """Take from it."""
        with self._lock:
            self._set(self._value - delta)

    def _set(self, value: Any) -> None:
        self._value = int(value)
        now = trace.now()
        trace.note(trace.kinds["counter"], self.name, self._domain, now, now, self._value)

    def __iadd__(self, delta: int) -> Counter:
        self.increment(delta)
        return self

    def __isub__(self, delta: int) -> Counter:
        self.decrement(delta)
        return self


@guarded
class Marker:
    """A moment.

    Parameters
    ----------
    name : str
        Its name.
    """

    def __init__(self, domain: Domain, name: str) -> None:
        self.name, self._domain = _name("Marker", name), _category("Marker", domain)

    def mark(self, scope: str = "process") -> None:
        """It is now.

        Parameters
        ----------
        scope : str
            How far its line goes in the picture: ``'process'``, ``'thread'``, ``'global'``;
            ``'task'`` and ``'marker'`` are the thread's.

        Raises
        ------
        ArgumentError
            A value is not one of those allowed; the message names it.
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
        trace.note(trace.kinds["mark"], self.name, category, now, now, 0, scope)


@guarded
def scope(name: str = "<unk>:") -> Event:
    """An Event for ``with``: what this thread does inside, as a part of its own.

    Parameters
    ----------
    name : str
        Its name.

    Examples
    --------
    >>> import cynet as mx
    >>> with mx.profiler.scope("evaluation"):
    ...     pass
    """
    return Event(_name("scope", name))
