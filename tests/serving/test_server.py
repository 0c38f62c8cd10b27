"""The server: limits, what waitress refuses, and an end by which no request is lost."""

import contextlib
import http.client
import json
import os
import resource
import select
import socket
import threading
import time

import pytest

import cynet as mx
from cynet.serving import Application
from cynet.serving.server import Server

pytest.importorskip("waitress")
LIMIT = 3000
BODY = b"[[1, 2, 3]]"
ANSWER = b'{"outputs": [[[1.0, 2.0, 3.0]]]}'


class Slow(mx.gluon.Block):
    """Its input, after some seconds; more than there is room for in sockets, on request."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds

    def forward(self, x):
        time.sleep(self.seconds)
        return x if x.asnumpy()[0, 0] < 100 else mx.nd.ones((len(x), 4_000_000))


@contextlib.contextmanager
def server_of(seconds=0.0, **settings):
    predictor = mx.Predictor(Slow(seconds), shapes=(3,), max_batch=1, warm_up=False)
    app = Application(predictor, max_body=LIMIT)
    settings = {"host": "127.0.0.1", "port": 0, "threads": 4, "connections": 200, **settings}
    server = Server(app, idle=60, **settings)
    yield server
    server.stop()
    server.run(0.0)
    predictor.close(10)


@contextlib.contextmanager
def running(seconds=0.0, grace=10.0):
    """(server, end): `end` stops it, and says how many requests were left, and after how long."""
    with server_of(seconds) as server:
        left = []
        thread = threading.Thread(target=lambda: left.append(server.run(grace)))
        thread.start()

        def end(then=lambda: None):
            server.stop()
            begin = time.monotonic()
            then()
            thread.join(30)
            return left[0], time.monotonic() - begin

        try:
            yield server, end
        finally:
            server.stop()
            thread.join(30)


def port_of(server):
    return int(server.addresses[0].rsplit(":", 1)[1])


def connected(server):
    return socket.create_connection(("127.0.0.1", port_of(server)), timeout=20)


def post(body=BODY, more=b""):
    head = b"POST /predict HTTP/1.1\r\nHost: x\r\n" + more
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def all_of(line):
    """What comes until the end, which is no reset."""
    with line:
        return b"".join(iter(lambda: line.recv(1 << 16), b""))


def answer_of(line):
    """One answer, of a connection that goes on."""
    found = b""
    while not found.endswith(ANSWER):
        found += (piece := line.recv(1 << 16))
        assert piece, found
    return found


def is_good(answer, closed=True):
    head, _, body = answer.partition(b"\r\n\r\n")
    return (
        head.startswith(b"HTTP/1.1 200 OK")
        and body == ANSWER
        and ((b"\r\nConnection: close" in head) == closed)
    )


# --- the end --------------------------------------------------------------------------------------
def test_connections_that_the_system_holds_are_answered():
    """They were not accepted yet when the end came."""
    with server_of() as server:
        lines = [connected(server) for _ in range(50)]
        for each in lines:
            each.sendall(post())
        server.stop()
        assert server.run(10.0) == 0
        assert all(is_good(all_of(each)) for each in lines)
        with pytest.raises(ConnectionRefusedError, match="refused"):
            connected(server)


def test_requests_that_wait_for_their_turn_are_answered():
    with running(0.02) as (server, end):
        lines = [connected(server) for _ in range(20)]
        for each in lines:
            each.sendall(post())
        left, spent = end()
        assert left == 0 and spent < 8
        assert all(is_good(all_of(each)) for each in lines)


def test_a_request_that_arrives_just_after_the_end_of_listening():
    with running() as (server, end):
        line = connected(server)
        time.sleep(0.1)  # accepted

        def send():
            time.sleep(0.2)
            line.sendall(post())

        assert end(send)[0] == 0
        assert is_good(all_of(line))


def test_what_has_arrived_is_read_before_a_connection_is_closed(monkeypatch):
    """Nothing of it was read when the time for silent connections was over."""
    monkeypatch.setattr("cynet.serving.server._IDLE_SECONDS", -1.0)
    with server_of() as server:
        line, silent = connected(server), connected(server)
        line.sendall(post())
        server.stop()
        assert server.run(10.0) == 0
        assert is_good(all_of(line)) and all_of(silent) == b""


def test_idle_connections_are_closed_and_hold_up_nothing():
    with running() as (server, end):
        kept, silent = connected(server), connected(server)
        kept.sendall(post())
        assert is_good(answer_of(kept), closed=False)
        left, spent = end()
        assert left == 0 and 0.3 < spent < 4
        assert all_of(kept) == all_of(silent) == b""


def test_a_kept_connection_learns_of_the_end():
    with running() as (server, end):
        line = connected(server)
        line.sendall(post())
        assert is_good(answer_of(line), closed=False)
        assert end(lambda: line.sendall(post()))[0] == 0
        assert is_good(all_of(line))


def test_several_requests_in_one_piece_are_all_answered():
    with running(0.02) as (server, end):
        line = connected(server)
        line.sendall(post() * 3)
        time.sleep(0.01)
        assert end()[0] == 0
        found = all_of(line)
        assert found.count(b"HTTP/1.1 200 OK") == found.count(ANSWER) == 3
        assert found.count(b"Connection: close") == 1


def test_a_slow_client_is_waited_for():
    with running() as (server, end):
        line, whole = connected(server), post()
        line.sendall(whole[:60])

        def rest():
            for i in range(60, len(whole), 10):
                time.sleep(0.1)
                line.sendall(whole[i : i + 10])

        assert end(rest)[0] == 0
        assert is_good(all_of(line))


@pytest.mark.parametrize("how", ["half a head", "half a body", "reads nothing", "computes"])
def test_nobody_is_waited_for_beyond_the_limit(how):
    with running(2.0 if how == "computes" else 0.0, grace=0.8) as (server, end):
        line = connected(server)
        if how == "half a head":
            line.sendall(b"POST /predict HT")
        elif how == "half a body":
            line.sendall(post()[:-3])
        elif how == "computes":
            line.sendall(post())
        else:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.sendall(post(b"[[100, 2, 3]]", b"Accept: application/x-npy\r\n"))
            assert select.select([line], [], [], 20)[0]
        good = connected(server)
        if how != "computes":
            good.sendall(post())
        time.sleep(0.1)
        left, spent = end()
        assert left == 1 and 0.7 < spent < 2.5
        if how != "computes":
            assert is_good(all_of(good), closed=False)
        line.close()
        good.close()


@pytest.mark.timeout(30)
def test_connections_beyond_the_open_files_do_not_hold_up_the_end():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with server_of() as server, contextlib.ExitStack() as lines:
        for _ in range(3):
            lines.enter_context(connected(server))
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            server.stop()
            assert server.run(0.2) == 0
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_health_says_that_the_end_has_come():
    with running() as (server, end):
        line = http.client.HTTPConnection("127.0.0.1", port_of(server), timeout=20)
        for status in (200, 503):
            line.request("GET", "/health")
            answer = line.getresponse()
            assert answer.status == status, answer.read()
            answer.read()
            if status == 200:
                server.stop()
                time.sleep(0.2)
        assert end()[0] == 0
        line.close()


def test_a_closed_server_writes_to_no_file_of_others(caplog):
    """A thread whose answer comes after the end, and a late `stop`, must not write to the number
    of the pipe that woke the loop: another file can have it."""
    with server_of(2.0) as server:
        listening = list(server._listening)  # what a `stop` in another thread still walks
        thread = threading.Thread(target=server.run, args=(0.1,))
        thread.start()
        line = connected(server)
        line.sendall(post())
        while not server._server.task_dispatcher.active_count:
            time.sleep(0.01)
        server.stop()
        thread.join(20)
        assert server._server.task_dispatcher.active_count == 1  # its answer is still computed
        pipes = [os.pipe() for _ in range(50)]
        try:
            while server._server.task_dispatcher.active_count:
                time.sleep(0.01)
            server.stop()
            for each in listening:
                each.pull_trigger()
            assert select.select([read for read, _ in pipes], [], [], 0)[0] == []
        finally:
            for pipe in pipes:
                for end in pipe:
                    os.close(end)
            line.close()
    assert not [each for each in caplog.records if each.levelname == "ERROR"]


# --- limits ---------------------------------------------------------------------------------------
def asked(server, body, **headers):
    line = http.client.HTTPConnection("127.0.0.1", port_of(server), timeout=20)
    line.request("POST", "/predict", body, headers, encode_chunked=not isinstance(body, bytes))
    answer = line.getresponse()
    found = answer.status, answer.getheader("Content-Type"), json.loads(answer.read())
    line.close()
    return found


def test_the_longest_body_and_one_more():
    with running() as (server, _):
        assert asked(server, BODY.ljust(LIMIT))[0] == 200
        assert asked(server, BODY.ljust(LIMIT + 1))[0] == 413
        refused = (413, "application/json", {"error": f"a body of more than {LIMIT} bytes"})
        assert asked(server, BODY.ljust(LIMIT + 5000)) == refused
        pieces = [BODY.ljust(2000), b" " * 999, b" "]
        assert asked(server, iter(pieces), **{"Transfer-Encoding": "chunked"})[0] == 200
        found = asked(server, iter([*pieces, b" "]), **{"Transfer-Encoding": "chunked"})
        error = f"a body of {LIMIT + 1} bytes, at most {LIMIT} are taken"
        assert found == (413, "application/json", {"error": error})


def test_what_the_server_refuses_is_json():
    with running() as (server, _):
        for text in (
            b"x\r\n\r\n",
            b"GET / HTTP/1.1\r\nA b\r\n\r\n",
            post()[:24] + b"Content-Length: -1\r\n\r\n",
        ):
            with connected(server) as line:
                line.sendall(text)
                head, _, body = all_of(line).partition(b"\r\n\r\n")
            assert head.startswith((b"HTTP/1.0 400", b"HTTP/1.1 400", b"HTTP/1.0 404"))
            assert json.loads(body)["error"] and b"Content-Type: application/json" in head


def test_places_to_listen_on():
    with server_of() as server:
        port = port_of(server)
        with pytest.raises(mx.errors.CynetError, match=rf"cannot listen on 127\.0\.0\.1:{port}: "):
            Server(server._app, "127.0.0.1", port, 1, 10, 60)
    with pytest.raises(mx.errors.ArgumentError, match=r"no address 'nowhere\.invalid'"):
        Server(server._app, "nowhere.invalid", 0, 1, 10, 60)
    with pytest.raises(
        mx.errors.ArgumentError, match="1000000000 connections need 1000000064 open"
    ):
        Server(server._app, "127.0.0.1", 0, 1, 10**9, 60)


def test_more_connections_than_select_takes():
    """File descriptors from 1024 on."""
    with server_of(connections=1500) as server:
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= 1564
        thread = threading.Thread(target=server.run, args=(5.0,))
        thread.start()
        lines = [connected(server) for _ in range(520)]  # two descriptors each, in one process
        until = time.monotonic() + 20
        while len(server._map) < 522 and time.monotonic() < until:
            time.sleep(0.01)
        lines.append(connected(server))
        lines[-1].sendall(post())
        assert lines[-1].fileno() > 1024 and is_good(answer_of(lines[-1]), closed=False)
        server.stop()
        thread.join(20)
        assert all(all_of(each) == b"" for each in lines)
