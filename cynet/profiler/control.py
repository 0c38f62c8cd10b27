"""Control of the profiler: set_config, set_state, dump, dumps."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, ArgumentTypeError, shown, warn_user
from ..base.files import write_atomically
from ..base.kinds import to_index
from ..engine import trace
from ..ndarray import waitall
from .tables import format_json, format_table, sorted_statistics
from .trace_file import trace_events

if TYPE_CHECKING:
    from ..typing import FileName

__all__ = ["dump", "dump_profile", "dumps", "is_running", "pause", "profiler_set_config"]
__all__ += ["profiler_set_state", "resume", "set_config", "set_kvstore_handle", "set_state"]
__all__ += ["start", "stop"]

_PART_FLAGS = ("profile_symbolic", "profile_imperative", "profile_memory", "profile_api")
_CONFIG_FLAGS = ("profile_all", *_PART_FLAGS, "continuous_dump", "aggregate_stats")  # of set_config
_MIN_TRACE_EVENTS = 16  # minimum of the setting max_events


class _Settings:  # settings of the profiler
    """Settings of the profiler, and whether the next start clears the records."""

    def __init__(self):
        self.filename = "profile.json"
        self.continuous_dump, self.dump_period = False, 1.0
        self.fresh = True
        self.paused = False
        self.dumper = None


_settings = _Settings()  # of this process
_lock = threading.RLock()  # guards _settings


def set_config(**kwargs: Any) -> None:
    """Set which events are recorded, and the trace file.

    Parameters
    ----------
    filename : str
        File of the trace; ``'profile.json'`` by default.
    profile_all : bool
        True sets the four below.
    profile_symbolic : bool
        Record steps of graphs: each operator by name, node and direction.
    profile_imperative : bool
        Record operators that are called one by one, and what else the engine runs (copies,
        updates).
    profile_memory : bool
        Record the bytes in use on the device, after each of these.
    profile_api : bool
        Record parts of training loops, layers of Gluon, loading of data, and waits. Of these four,
        what is not given is True.
    continuous_dump : bool
        Write the file every `dump_period` seconds while recording; False by default.
    dump_period : float
        Seconds between two writes of the file.
    aggregate_stats : bool
        Part of MXNet's signature; sums for `dumps` are always computed.
    profile_process : str
        Only ``'worker'``; there are no servers.
    max_events : int
        Number of events that each thread keeps for the trace, 65,536 by default; `dumps` counts
        all.

    Raises
    ------
    ArgumentError
        `dump_period` is not above 0, `max_events` is too small, or `profile_process` unknown.
    ArgumentTypeError
        There is no setting of that name.

    Examples
    --------
    >>> mx.profiler.set_config(profile_all=True, filename="lenet.json")
    """
    known = (*_CONFIG_FLAGS, "filename", "dump_period", "profile_process", "max_events")
    for name in kwargs:
        if name not in known:
            raise ArgumentTypeError(
                f"profiler.set_config has no parameter {shown(name)}; it takes {', '.join(known)}"
            )
    flags = {name: _convert_flag(name, kwargs[name]) for name in _CONFIG_FLAGS if name in kwargs}
    period = kwargs.get("dump_period", _settings.dump_period)
    if isinstance(period, bool) or not isinstance(period, (int, float)) or not period > 0:
        raise ArgumentError(
            f"profiler.set_config: dump_period must be seconds, more than 0, got {shown(period)}"
        )
    _check_process("set_config", kwargs.get("profile_process", "worker"))
    if "max_events" in kwargs:
        count = to_index("profiler.set_config: max_events", kwargs["max_events"])
        if count < _MIN_TRACE_EVENTS:
            raise ArgumentError(
                f"profiler.set_config: max_events must be at least {_MIN_TRACE_EVENTS}, got {count}"
            )
        trace.set_capacity(count)
    with _lock:
        _settings.filename = kwargs.get("filename", _settings.filename)
        _settings.dump_period = float(period)
        _settings.continuous_dump = flags.get("continuous_dump", _settings.continuous_dump)
        if any(name in flags for name in ("profile_all", *_PART_FLAGS)):
            every = flags.get("profile_all", False)
            trace.choose_traced_kinds(*(every or flags.get(name, True) for name in _PART_FLAGS))


def _convert_flag(name, value):
    if isinstance(value, (bool, int)) and value in (0, 1):
        return bool(value)
    raise ArgumentTypeError(f"profiler.set_config: {name} must be a bool, got {shown(value)}")


def _check_process(where, process):
    if process not in ("worker", "server"):
        raise ArgumentError(
            f"profiler.{where}: profile_process must be 'worker', got {shown(process)}"
        )
    if process == "server":
        raise ArgumentError(f"profiler.{where}: there are no server processes to profile")


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Start recording (``'run'``), or wait for the engine and stop recording (``'stop'``).

    To run again after a finished `dump` forgets what was recorded before.

    Raises
    ------
    ArgumentError
        If one of them is another word.

    Examples
    --------
    >>> mx.profiler.set_state("run")
    >>> _ = mx.nd.sqrt(mx.nd.ones(3))
    >>> mx.profiler.set_state("stop")
    >>> "sqrt" in mx.profiler.dumps(reset=True)
    True
    """
    if state not in ("run", "stop"):
        raise ArgumentError(
            f"profiler.set_state: state must be 'run' or 'stop', got {shown(state)}"
        )
    _check_process("set_state", profile_process)
    if state == "run":
        _start_recording()
        return
    try:
        waitall()
    finally:
        _stop_recording()


def _start_recording():
    with _lock:
        if _settings.fresh:
            trace.clear(True)
            _settings.fresh = False
        _settings.paused = False
        trace.switch_tracing(True)
        _update_dump_thread()


def _stop_recording(finished=False):
    with _lock:
        _settings.paused = False
        _settings.fresh = _settings.fresh or finished
        trace.switch_tracing(False)
        _update_dump_thread()


def start() -> None:
    """Begin to record: ``set_state('run')``.

    Examples
    --------
    >>> mx.profiler.start()
    >>> mx.profiler.is_running()
    True
    >>> mx.profiler.stop()
    """
    set_state("run")


def stop() -> None:
    """Wait for the engine's functions and stop recording: ``set_state('stop')``.

    Examples
    --------
    >>> mx.profiler.start()
    >>> mx.profiler.stop()
    >>> mx.profiler.is_running()
    False
    """
    set_state("stop")


def is_running() -> bool:
    """Return whether the profiler is recording.

    Examples
    --------
    >>> mx.profiler.is_running()
    False
    """
    return trace.is_running()


def pause(profile_process: str = "worker") -> None:
    """Pause recording until `resume`.

    Raises
    ------
    ArgumentError
        If it is another word.

    Examples
    --------
    >>> mx.profiler.set_state("run")
    >>> mx.profiler.pause()
    >>> _ = mx.nd.sqrt(mx.nd.ones(3))
    >>> mx.profiler.resume()
    >>> _ = mx.nd.square(mx.nd.ones(3))
    >>> mx.profiler.set_state("stop")
    >>> table = mx.profiler.dumps(reset=True)
    >>> "sqrt" in table, "square" in table
    (False, True)
    """
    _check_process("pause", profile_process)
    with _lock:
        _settings.paused = trace.is_running() or _settings.paused
        trace.switch_tracing(False)


def resume(profile_process: str = "worker") -> None:
    """Undo `pause`. Nothing changes if recording was not paused.

    Raises
    ------
    ArgumentError
        If it is another word.

    Examples
    --------
    >>> mx.profiler.start()
    >>> mx.profiler.pause()
    >>> mx.profiler.is_running()
    False
    >>> mx.profiler.resume()
    >>> mx.profiler.is_running()
    True
    >>> mx.profiler.stop()
    """
    _check_process("resume", profile_process)
    with _lock:
        if _settings.paused:
            _settings.paused = False
            trace.switch_tracing(True)


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Write the trace to the file of `set_config`: for chrome://tracing and ui.perfetto.dev.

    Parameters
    ----------
    finished : bool
        Whether recording ends, and the next ``set_state('run')`` begins anew.

    Raises
    ------
    ArgumentError
        If `profile_process` is another word.
    FileError
        If the file cannot be written.

    Examples
    --------
    >>> import json
    >>> from pathlib import Path
    >>> mx.profiler.set_config(profile_imperative=True, filename="trace.json")
    >>> mx.profiler.set_state("run")
    >>> _ = mx.nd.sqrt(mx.nd.ones(3))
    >>> mx.profiler.dump()
    >>> trace = json.loads(Path("trace.json").read_text())
    >>> {each["ph"] for each in trace["traceEvents"] if each["name"] == "sqrt"}
    {'X'}
    """
    _check_process("dump", profile_process)
    waitall()
    if finished:
        _stop_recording(True)
    _write_trace(_settings.filename)


def _write_trace(filename: FileName) -> None:
    write_atomically(filename, json.dumps(trace_events()).encode())


def dumps(
    reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False
) -> str:
    """Return sums of the records by category and name, as a table or JSON.

    Parameters
    ----------
    reset : bool
        Whether to set the sums back to 0; the trace stays.
    format : str
        ``'table'`` or ``'json'``; times are in milliseconds, memory in kB.
    sort_by : str
        Column to sort by: ``'total'``, ``'avg'``, ``'min'``, ``'max'`` or ``'count'``.
    ascending : bool
        Sort from the smallest value; if False, from the largest.

    Raises
    ------
    ArgumentError
        `format` is neither 'table' nor 'json', or `sort_by` is unknown.

    Examples
    --------
    >>> import json
    >>> mx.profiler.set_state("run")
    >>> for _ in range(3):
    ...     _ = mx.nd.sqrt(mx.nd.ones(3))
    >>> mx.profiler.set_state("stop")
    >>> sums = json.loads(mx.profiler.dumps(reset=True, format="json", sort_by="count"))
    >>> sums["Time"]["operator"]["sqrt"]["Count"]
    3
    """
    if format not in ("table", "json"):
        raise ArgumentError(
            f"profiler.dumps: format must be 'table' or 'json', got {shown(format)}"
        )
    sums = sorted_statistics(sort_by, bool(ascending))
    text = (format_table if format == "table" else format_json)(*sums)
    if reset:
        trace.clear(False)
    return text


def profiler_set_config(mode: str = "symbolic", filename: FileName = "profile.json") -> None:
    """Deprecated: ``set_config(profile_symbolic=True, ...)``.

    Parameters
    ----------
    mode : str
        What to record: ``'symbolic'``, ``'imperative'``, ``'memory'``, ``'api'`` or ``'all'``.
    filename : str
        File of the trace.

    Raises
    ------
    ArgumentError
        If `mode` is another word.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     mx.profiler.profiler_set_config("all", "trace.json")
    >>> print(caught[0].message)
    profiler_set_config is deprecated for set_config
    """
    warn_user("profiler_set_config is deprecated for set_config", DeprecationWarning)
    modes = ("all", "symbolic", "imperative", "memory", "api")
    if mode not in modes:
        raise ArgumentError(
            f"profiler_set_config: mode must be one of {', '.join(modes)}, got {shown(mode)}"
        )
    set_config(**{f"profile_{mode}": True}, filename=filename)


def profiler_set_state(state: str = "stop") -> None:
    """Deprecated: `set_state`.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     mx.profiler.profiler_set_state("stop")
    >>> print(caught[0].message)
    profiler_set_state is deprecated for set_state
    """
    warn_user("profiler_set_state is deprecated for set_state", DeprecationWarning)
    set_state(state)


def dump_profile() -> None:
    """Deprecated: `dump`.

    Examples
    --------
    >>> import warnings
    >>> mx.profiler.set_config(filename="trace.json")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     mx.profiler.dump_profile()
    >>> print(caught[0].message)
    dump_profile is deprecated for dump
    """
    warn_user("dump_profile is deprecated for dump", DeprecationWarning)
    dump(True)


def set_kvstore_handle(handle: Any) -> None:
    """Do nothing; MXNet's scripts may call it. cynet has no servers to profile through a KVStore.

    Parameters
    ----------
    handle : object
        Not used.

    Examples
    --------
    >>> mx.profiler.set_kvstore_handle(None)
    """


def _update_dump_thread():
    """Start or stop the thread that writes the file, by the settings; the caller holds `_lock`."""
    wanted = _settings.continuous_dump and trace.is_running()
    if wanted and _settings.dumper is None:
        _settings.dumper = threading.Event()
        threading.Thread(
            target=_dump_repeatedly, args=(_settings.dumper,), name="profiler", daemon=True
        ).start()
    elif not wanted and _settings.dumper is not None:
        _settings.dumper.set()
        _settings.dumper = None


def _dump_repeatedly(stop_event):
    while not stop_event.wait(_settings.dump_period):
        _write_trace(_settings.filename)
