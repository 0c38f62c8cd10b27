"""What the server asks of waitress and of the system, and the command around it: all settings, all
limits, without a connection."""

import logging
import signal
import socket
from types import SimpleNamespace

import pytest

from cynet.base.errors import ArgumentError, CynetError
from cynet.serving import server as file
from cynet.serving.server import Server
from cynet.tools import serve as tool


class Listening:
    """A server of waitress that listens."""

    def __init__(self, host, port):
        self.effective_host, self.effective_port, self.active_channels = host, port, {}
        self.channel_class, self.calls = Channel, []
        self.adj = SimpleNamespace(backlog=3)
        self.socket = SimpleNamespace(close=lambda: self.calls.append("close"))
        self.task_dispatcher = SimpleNamespace(
            shutdown=lambda timeout: self.calls.append(("shutdown", timeout))
        )

    def pull_trigger(self):
        self.calls.append("trigger")

    def handle_accept(self):
        self.calls.append("accept")

    def del_channel(self):
        self.calls.append("deaf")


class Channel:
    """A connection of waitress."""

    class task_class:
        def __init__(self, channel=None):
            self.channel, self.is_last = channel, False

        def set_close_on_finish(self):
            self.is_last = True

        def build_response_header(self):
            return "header"

    class error_task_class:
        def __init__(self, request):
            self.request, self.response_headers, self.calls = request, [], []

        def set_close_on_finish(self):
            self.calls.append("last")

        def write(self, body):
            self.calls.append(body)


@pytest.fixture
def waitress(monkeypatch):
    """waitress, made up: what `create_server` is given, and what it makes."""
    made = SimpleNamespace(given=None, asked=[], error=None, polls=[])
    made.found = [Listening("127.0.0.1", 80)]

    def create(app, **settings):
        made.given = app, settings
        if made.error is not None:
            raise made.error
        settings["map"].update(enumerate([*made.found, "a trigger"]))
        return made.found[0]

    def close_all(map, ignore_all):
        made.polls.append(("close", map, ignore_all))

    made.library = SimpleNamespace(
        create_server=create,
        BaseWSGIServer=Listening,
        wasyncore=SimpleNamespace(
            close_all=close_all, poll2=lambda seconds, map: made.polls.append(seconds)
        ),
    )
    monkeypatch.setattr(file, "optional", lambda *given: made.asked.append(given) or made.library)
    monkeypatch.setattr(file, "_raise_file_limit", lambda count: made.asked.append(count))
    return made


APP = SimpleNamespace(max_body=8000, closing=False)


@pytest.mark.parametrize(
    "idle, interval", [(1, 1), (2, 1), (3, 1), (4, 2), (59, 29), (60, 30), (61, 30), (999, 30)]
)
def test_what_waitress_is_asked_for(idle, interval, waitress):
    server = Server(APP, "a host", 81, 5, 100, idle)
    app, settings = waitress.given
    assert app is APP and settings.pop("map") is server._map
    assert settings == {
        "host": "a host",
        "port": 81,
        "threads": 5,
        "connection_limit": 102,
        "ident": None,
        "channel_timeout": idle,
        "cleanup_interval": interval,
        "max_request_body_size": 8000 + 1000 + 4096,
        "clear_untrusted_proxy_headers": True,
    }
    assert waitress.asked == [("waitress.server", "python -m cynet.tools.serve"), 164]
    assert server._listening == waitress.found and not server._is_stopping
    assert issubclass(waitress.found[0].channel_class, Channel)
    assert waitress.found[0].channel_class is not Channel


def test_addresses(waitress):
    waitress.found = [Listening("127.0.0.1", 80), Listening("::1", 81), Listening("a.b", 0)]
    server = Server(APP, "x", 0, 1, 1, 1)
    assert server.addresses == ["http://127.0.0.1:80", "http://[::1]:81", "http://a.b:0"]
    server.stop()
    assert server._is_stopping and [each.calls for each in waitress.found] == [["trigger"]] * 3


@pytest.mark.parametrize(
    "error, kind, says",
    [
        (ValueError("x"), ArgumentError, "there is no address 'x' to listen on"),
        (OSError(98, "Address in use"), CynetError, "cannot listen on x:7: Address in use"),
        (socket.gaierror("odd"), CynetError, "cannot listen on x:7: odd"),
    ],
)
def test_where_it_cannot_listen(error, kind, says, waitress):
    waitress.error = error
    with pytest.raises(kind, match=f"^{says}$"):
        Server(APP, "x", 7, 1, 1, 1)
    assert waitress.polls == [("close", {}, True)]  # what it has opened


@pytest.mark.parametrize(
    "stops, waits, sent, last",
    [
        (False, 1, False, False),
        (True, 1, False, True),
        (True, 2, False, False),
        (True, 1, True, False),
        (True, 0, False, True),
    ],
)
def test_which_answer_is_a_connections_last(stops, waits, sent, last, waitress, monkeypatch):
    """None behind which another request waits, or is on its way."""
    server = Server(APP, "x", 7, 1, 1, 1)
    monkeypatch.setattr(file, "_is_readable", lambda one: sent)
    kind = waitress.found[0].channel_class.task_class
    task = kind(SimpleNamespace(requests=[1] * waits, socket=None))
    server._is_stopping = stops
    assert task.build_response_header() == "header" and task.is_last == last


@pytest.mark.parametrize("code", [400, 413])
def test_what_waitress_refuses(code, waitress):
    Server(APP, "x", 7, 1, 1, 1)
    word = "Bad"
    error = SimpleNamespace(code=code, reason=word, body="y" * 400)
    task = waitress.found[0].channel_class.error_task_class(SimpleNamespace(error=error))
    task.execute()
    last, body = task.calls
    assert last == "last" and task.status == f"{code} Bad"
    assert task.response_headers == [("Content-Type", "application/json")]
    assert task.content_length == len(body)
    if code == 413:
        assert body == b'{"error": "a body of more than 8000 bytes"}'
    else:
        assert body.startswith(b'{"error": "yyyy') and 250 < len(body) < 350


def connection(**more):
    calls = []
    given = {"requests": [], "request": None, "total_outbufs_len": 0, "socket": None, **more}
    made = SimpleNamespace(**given)
    made.calls, made.handle_close = calls, lambda: calls.append("closed")
    return made


@pytest.mark.parametrize(
    "more, busy",
    [
        ({}, False),
        ({"requests": [1]}, True),
        ({"request": "half"}, True),
        ({"total_outbufs_len": 1}, True),
    ],
)
def test_which_connections_are_busy(more, busy):
    assert file._is_busy(connection(**more)) is busy


def test_the_end_with_and_without_requests_that_are_left(waitress, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(file, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(file, "_is_readable", lambda one: False)

    def poll(seconds, map):
        waitress.polls.append(seconds)
        clock[0] += seconds
        if len(waitress.polls) == 2:
            server.stop()

    waitress.library.wasyncore.poll2 = poll
    server = Server(APP, "x", 7, 1, 1, 1)
    silent, busy = connection(), connection(request="half")
    waitress.found[0].active_channels = {1: silent, 2: busy}
    APP.closing = False
    assert server.run(1.0) == 1 and APP.closing
    looks = [each for each in waitress.polls[2:] if not isinstance(each, tuple)]
    assert waitress.polls[:2] == [1.0, 1.0] and set(looks) == {0.02}
    assert len(looks) in (50, 51)
    assert silent.calls[0] == "closed" and busy.calls == ["closed"]
    assert waitress.found[0].calls == ["trigger", "deaf", "close"]  # no thread is waited for
    assert waitress.polls[-1] == ("close", server._map, True) and server._listening == []


def test_connections_that_say_nothing_are_closed_after_a_moment(waitress, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(file, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(file, "_is_readable", lambda one: one == "on its way")
    server = Server(APP, "x", 7, 1, 1, 1)
    one, other = connection(), connection(socket="on its way")
    channels = {1: one, 2: other}
    waitress.found[0].active_channels = channels
    for key, each in ((1, one), (2, other)):

        def close(key=key, each=each):
            each.calls.append(round(clock[0], 2))
            channels.pop(key, None)

        each.handle_close = close

    def poll(seconds, map):
        clock[0] += seconds

    waitress.library.wasyncore.poll2 = poll
    server._is_stopping = True
    assert server.run(2.0) == 0
    assert 0.49 < one.calls[0] < 0.54 and other.calls[0] >= 2.0
    assert ("shutdown", 1) in waitress.found[0].calls


def test_connections_that_wait_to_be_accepted(waitress, monkeypatch):
    server = Server(APP, "x", 7, 1, 1, 1)
    for count in (0, 2, 3, 4, 9):
        left = [count]

        def waits(one, left=left):
            left[0] -= 1
            return left[0] >= 0

        monkeypatch.setattr(file, "_is_readable", waits)
        waitress.found[0].calls.clear()
        server._accept_queued_connections()
        accepted = min(count, 4)  # no more than the system holds
        assert waitress.found[0].calls == ["accept"] * accepted + ["deaf", "close"]


def test_what_has_been_sent():
    one, other = socket.socketpair()
    with one, other:
        assert file._is_readable(one) is False
        other.send(b"x")
        assert file._is_readable(one) is True
    assert file._is_readable(one) is False  # it is closed


@pytest.mark.parametrize(
    "soft, hard, count, after",
    [
        (100, 200, 99, None),
        (100, 200, 100, None),
        (100, 200, 101, (101, 200)),
        (100, 200, 200, (200, 200)),
        (100, 200, 201, "this process may have 200"),
        (-1, -1, 10**9, None),
        (100, -1, 10**9, (10**9, -1)),
    ],
)
def test_open_files(soft, hard, count, after, monkeypatch):
    seen = []
    fake = SimpleNamespace(
        RLIMIT_NOFILE="files",
        RLIM_INFINITY=-1,
        getrlimit=lambda what: (soft, hard),
        setrlimit=lambda what, limits: seen.append((what, limits)),
    )
    monkeypatch.setattr(file, "resource", fake)
    if isinstance(after, str):
        says = f"{count - 64} connections need {count} open files, {after} .ulimit -n."
        with pytest.raises(ArgumentError, match=says):
            file._raise_file_limit(count)
    else:
        file._raise_file_limit(count)
    assert seen == ([("files", after)] if isinstance(after, tuple) else [])
    monkeypatch.setattr(file, "resource", None)  # Windows
    file._raise_file_limit(count)


# --- the command ----------------------------------------------------------------------------------
@pytest.fixture
def command(monkeypatch):
    """The command with a server that is made up: what it was made with, what it did."""
    made = SimpleNamespace(calls=[], left=0, closes=True, then=lambda: None, handlers={})
    clock = [100.0]

    class Serves:
        def __init__(self, *given):
            made.calls.append(given)
            self.addresses = ["http://a:1", "http://b:2"]

        def stop(self):
            made.calls.append("stop")

        def run(self, grace):
            made.calls.append(("run", grace))
            made.handlers[signal.SIGTERM](signal.SIGTERM, None)
            clock[0] += made.spends
            made.then()
            return made.left

    def leave(code):
        made.calls.append(("exit", code))
        raise SystemExit(code)

    def close(seconds):
        made.calls.append(("close", seconds))
        return made.closes

    made.spends, made.app = 2.0, SimpleNamespace(close=close)
    monkeypatch.setattr(tool, "Server", Serves)
    monkeypatch.setattr(tool.os, "_exit", leave)
    monkeypatch.setattr(tool.signal, "signal", made.handlers.__setitem__)
    monkeypatch.setattr(tool, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(tool, "application", lambda args: made.app)
    before = logging.getLogger("waitress.queue").level
    yield made
    logging.getLogger("waitress.queue").setLevel(before)


LINE = ["model", "--shape", "3", "--host", "h", "--port", "7", "--threads", "2"]
LINE += ["--connections", "9", "--idle", "4", "--grace", "5"]


@pytest.mark.parametrize("left", [0, 1, 3])
@pytest.mark.parametrize("spends", [2.0, 9.0])
def test_the_command(left, spends, command, capsys):
    command.left, command.spends = left, spends
    assert tool.main(LINE) == int(left > 0)
    assert command.calls == [
        (command.app, "h", 7, 2, 9, 4),
        ("run", 5.0),
        "stop",
        ("close", max(0.0, 5.0 - spends)),
    ]
    out, err = capsys.readouterr()
    assert out == "serving model on http://a:1 and http://b:2\n"
    assert err == (f"serve: {left} requests were not answered in 5 s\n" if left else "")
    assert {*command.handlers} == {signal.SIGTERM, signal.SIGINT}
    assert logging.getLogger("waitress.queue").level == logging.ERROR


def test_a_batch_that_nobody_waits_for(command):
    command.closes = False
    with pytest.raises(SystemExit):
        tool.main(LINE)
    assert command.calls[-1] == ("exit", 1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_asked_twice(number, command):
    command.then = lambda: command.handlers[number](number, None)
    with pytest.raises(SystemExit):
        tool.main(LINE)
    assert command.calls[-1] == ("exit", 128 + number) and command.calls.count("stop") == 1


@pytest.mark.parametrize("error", [CynetError("no model"), OSError("no disk")])
def test_what_goes_wrong_is_one_line(error, command, monkeypatch, capsys):
    def fail(args):
        raise error

    monkeypatch.setattr(tool, "application", fail)
    assert tool.main(LINE) == 1
    assert capsys.readouterr() == ("", f"serve: {error}\n")


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("3", ("data", (3,))),
        ("a=3,4", ("a", (3, 4))),
        ("a=b=-1", ("a=b", (-1,))),
        ("", ("data", ())),
        ("a=", ("a", ())),
        ("3,,4,", ("data", (3, 4))),
        ("=3", ("", (3,))),
    ],
)
def test_shapes_of_a_command_line(text, wanted):
    assert tool._parse_shape(text) == wanted


@pytest.mark.parametrize(
    "option, bad, says",
    [
        ("--shape", "a,b", "'a,b': expected NAME=LENGTH,LENGTH,..."),
        ("--port", "65536", "'65536': expected a whole number from 0 to 65535"),
        ("--top", "0", "'0': expected a whole number from 1 on"),
        ("--threads", str((1 << 40) + 1), f"'{(1 << 40) + 1}': expected a whole number from 1 on"),
        ("--timeout", "3600", "'3600': expected seconds from 0 to less than 3600"),
        ("--mean", "1,x", "'1,x': expected numbers between commas"),
    ],
)
def test_words_of_a_command_line(option, bad, says, capsys):
    with pytest.raises(SystemExit):
        tool.parser().parse_args(["m", "--shape", "3", option, bad])
    assert f"error: argument {option}: {says}\n" in capsys.readouterr().err


def test_the_largest_number_of_a_command_line():
    found = tool.parser().parse_args(["m", "--shape", "3", "--threads", str(1 << 40)])
    assert found.threads == 1 << 40
    assert tool._parse_floats("1.5") == 1.5 and tool._parse_floats("1,2") == [1.0, 2.0]


def test_which_inputs_take_images(monkeypatch):
    seen = []

    class Seen(tool.Predictor):
        def __init__(self, model, **more):
            seen.append((model, more))

    monkeypatch.setattr(tool, "Predictor", Seen)
    for shapes, taken in (
        (["3,4,6"], True),
        (["4,6,3"], True),
        (["3,4"], False),
        (["3,-1,4"], False),
        (["a=3,4,6", "b=3"], False),
    ):
        line = ["m", *(part for each in shapes for part in ("--shape", each))]
        app = tool.application(
            tool.parser().parse_args([*line, "--dtype", "float16", "--epoch", "3"])
        )
        assert (app.images is not None) == taken
    assert seen[0] == (
        "m",
        {
            "shapes": {"data": (3, 4, 6)},
            "dtype": "float16",
            "epoch": 3,
            "max_batch": 32,
            "max_delay": 0.0,
            "max_waiting": 1024,
            "timeout": 30.0,
        },
    )
