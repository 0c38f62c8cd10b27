"""python -m cynet.tools.serve: good, bad, slow and dropped requests of many clients; SIGTERM."""

import contextlib
import http.client
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import cynet as mx
from cynet.tools.serve import main, parser

pytest.importorskip("waitress")
CLIENTS = 32
REQUESTS = int(os.environ.get("SERVED_REQUESTS", "12"))  # of each client


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    prefix = str(tmp_path_factory.mktemp("model") / "model")
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    weight = mx.nd.array([[1, 1, 1], [1, 2, 3]])
    mx.model.save_checkpoint(prefix, 1, net, {"fc_weight": weight}, {})
    return prefix


@pytest.fixture
def served(model):
    """(process, port) of a server, ended after the test."""
    command = [sys.executable, "-m", "cynet.tools.serve", model, "--shape", "data=3"]
    command += ["--port", "0", "--max-body", "20000", "--idle", "2"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    assert "serving" in line, process.stderr.read()
    yield process, int(line.rsplit(":", 1)[1])
    process.kill()
    process.communicate()


def request(connection, body, kind="application/json", path="/predict"):
    connection.request("POST", path, body, {"Content-Type": kind})
    answer = connection.getresponse()
    return answer.status, answer.read()


def expected(rows):
    return (np.asarray(rows, "float32") @ np.array([[1, 1], [1, 2], [1, 3]], "float32")).tolist()


def good_json(connection, rng):
    rows = rng.integers(0, 9, (rng.integers(1, 5), 3)).tolist()
    status, body = request(connection, json.dumps(rows))
    assert (status, json.loads(body)) == (200, {"outputs": [expected(rows)]})


def good_npy(connection, rng):
    rows = rng.integers(0, 9, (rng.integers(1, 40), 3)).astype("float32")
    file = io.BytesIO()
    np.save(file, rows)
    status, body = request(connection, file.getvalue(), "application/x-npy")
    assert status == 200 and np.load(io.BytesIO(body)).tolist() == expected(rows)


def bad(connection, rng):
    body = [b"", b"[[1, 2]]", b'{"x": 1}', b"[[1, 2, 3", b"[[null, 1, 2]]"][rng.integers(5)]
    status, answer = request(connection, body)
    assert status == 400 and json.loads(answer)["error"]


def too_long(connection, rng):
    """Refused, and the connection is closed."""
    with contextlib.suppress(ConnectionError, http.client.HTTPException):  # closed too early
        assert request(connection, b" " * 30_000)[0] == 413
    connection.close()


def dropped(connection, rng):
    """A client that goes away in the middle of its body."""
    with socket.create_connection((connection.host, connection.port), timeout=30) as line:
        line.sendall(b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n[[1,")


def slow(connection, rng):
    """A client that sends its body in pieces."""
    with socket.create_connection((connection.host, connection.port), timeout=30) as line:
        line.sendall(b"POST /predict HTTP/1.1\r\nHost: x\r\nConnection: close\r\n")
        for piece in (b"Content-Length: 11\r\n\r\n", b"[[1,", b" 2, ", b"3]]"):
            time.sleep(0.02)
            line.sendall(piece)
        answer = b"".join(iter(lambda: line.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 200") and b"[[6.0, 14.0]]" in answer


def memory(process):
    with open(f"/proc/{process.pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) >> 10


def test_good_bad_slow_and_dropped_requests_of_many_clients(served, seed):
    process, port = served
    kinds = [good_json] * 4 + [good_npy] * 3 + [bad] * 2 + [too_long, dropped, slow]
    errors, seconds = [], []

    def client(number):
        rng = np.random.default_rng([seed, number])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            for _ in range(REQUESTS):
                kind = kinds[rng.integers(len(kinds))]
                start = time.monotonic()
                kind(connection, rng)
                if kind in (good_json, good_npy, slow):
                    seconds.append(time.monotonic() - start)
        except BaseException as error:
            errors.append((kind.__name__, error))
        finally:
            connection.close()

    def round_of_clients():
        threads = [threading.Thread(target=client, args=(i,)) for i in range(CLIENTS)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    round_of_clients()
    assert not errors
    before = memory(process)
    round_of_clients()
    assert not errors
    assert memory(process) < before + 64  # MiB
    assert sorted(seconds)[int(0.99 * len(seconds))] < 10
    assert process.poll() is None
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    assert f"\ncynet_request_seconds_count {len(seconds)}\n" in text
    assert "\ncynet_waiting_rows 0\n" in text


def test_silent_connections_are_closed(served):
    _, port = served
    with socket.create_connection(("127.0.0.1", port), timeout=30) as line:
        line.sendall(b"POST /predict HTTP/1.1\r\n")
        start = time.monotonic()
        while line.recv(100):
            pass
        assert time.monotonic() - start < 20


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 0), (signal.SIGKILL, -9)]
)
def test_a_signal_ends_it_and_it_starts_again(served, model, number, status):
    process, port = served
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    assert request(connection, b"[[1, 2, 3]]")[0] == 200
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (status, "")
    connection.close()
    with pytest.raises(ConnectionError):
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    again = subprocess.Popen(
        [sys.executable, "-m", "cynet.tools.serve", model, "--shape", "3", "--port", str(port)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert str(port) in again.stdout.readline()
        assert request(connection, b"[[1, 2, 3]]")[0] == 200
    finally:
        connection.close()
        again.kill()
        again.communicate()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "--shape", "3"], "nowhere-NNNN.params"),
        (["MODEL", "--shape", "x=3"], "inputs are ['data']"),
        (["MODEL", "--shape", "3", "--shape", "data=3"], "named twice"),
        (["MODEL", "--shape", "data=3", "--max-batch", "0"], "max_batch"),
        (["MODEL", "--shape", "data=3", "--classes", "nowhere.txt"], "nowhere.txt"),
    ],
)
def test_what_cannot_be_served_is_said_in_one_line(arguments, message, model, capsys):
    assert main([model if each == "MODEL" else each for each in arguments]) == 1
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


@pytest.mark.parametrize("arguments", [["m"], ["m", "--shape", "a,b"], ["m", "--dtype", "int8"]])
def test_the_command_line_is_read(arguments):
    with pytest.raises(SystemExit) as found:
        parser().parse_args(arguments)
    assert found.value.code == 2
