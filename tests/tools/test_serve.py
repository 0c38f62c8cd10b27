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
from cynet.tools.serve import application, main, parser

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
    assert f'\ncynet_request_seconds_count{{model="model",version="1"}} {len(seconds)}\n' in text
    assert '\ncynet_waiting_rows{model="model",version="1"} 0\n' in text


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
    with pytest.raises(ConnectionError, match="Connection refused"):
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


def test_what_was_sent_before_sigterm_is_answered(served):
    """Under load, by clients that connect anew for each request."""
    process, port = served
    told, lost, answered = [], [], []

    def client():
        while process.poll() is None:
            connection, sent = http.client.HTTPConnection("127.0.0.1", port, timeout=20), None
            try:
                connection.request("POST", "/predict", b"[[1, 2, 3]]")
                sent = time.monotonic()
                answered.append(connection.getresponse().status)
            except ConnectionRefusedError:
                return
            except (OSError, http.client.HTTPException) as error:
                if sent and told and sent < told[0]:
                    lost.append(error)
            finally:
                connection.close()

    threads = [threading.Thread(target=client) for _ in range(8)]
    for each in threads:
        each.start()
    time.sleep(0.5)
    told.append(time.monotonic())
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0 and time.monotonic() - told[0] < 5
    for each in threads:
        each.join(25)
    assert not lost and set(answered) == {200}


def test_a_second_signal_ends_it_at_once(served):
    process, port = served
    with socket.create_connection(("127.0.0.1", port), timeout=30) as line:
        line.sendall(b"POST /predict HTTP/1.1\r\n")  # it would be waited for
        time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(2) == 128 + signal.SIGTERM


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "--shape", "3"], "nowhere-NNNN.params"),
        (["MODEL", "--shape", "x=3"], "inputs are ['data']"),
        (["MODEL", "--shape", "3", "--shape", "data=3"], "named twice"),
        (["MODEL", "--shape", "data=3", "--max-waiting", "31"], "max_waiting"),
        (["MODEL", "--shape", "3", "--also", "b=MODEL"], "no input of 'b' has one"),
        (["MODEL", "--shape", "3", "--also", "model=x"], "name is given twice"),
        (["MODEL", "--shape", "3", "--name", "a/b"], "the name of a model has letters"),
        (["MODEL", "--shape", "3", "--host", "nowhere.invalid"], "'nowhere.invalid' to listen on"),
        (["MODEL", "--shape", "3", "--host", "203.0.113.7"], "cannot listen on 203.0.113.7:8080"),
        (["MODEL", "--shape", "3", "--connections", "1000000000"], "open files"),
        (["MODEL", "--shape", "data=3", "--classes", "nowhere.txt"], "nowhere.txt"),
    ],
)
def test_what_cannot_be_served_is_said_in_one_line(arguments, message, model, capsys):
    assert main([model if each == "MODEL" else each for each in arguments]) == 1
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


WRONG = [
    ["--shape", "a,b"],
    ["--dtype", "int8"],
    ["--also", "a"],
    ["--also", "=a"],
    ["--also", "a="],
]


@pytest.mark.parametrize("arguments", [["m", "--shape", "3", *each] for each in WRONG])
def test_the_command_line_is_read(arguments):
    with pytest.raises(SystemExit) as found:
        parser().parse_args(arguments)
    assert found.value.code == 2


COUNTS = {"--port": 0, "--epoch": 0} | dict.fromkeys(
    [
        "--threads",
        "--connections",
        "--max-batch",
        "--max-waiting",
        "--max-body",
        "--max-pixels",
        "--idle",
        "--top",
    ],
    1,
)
SECONDS = ["--max-delay", "--timeout", "--grace"]


@pytest.mark.parametrize("option", [*COUNTS, *SECONDS])
def test_the_least_and_the_largest_of_each_number(option, capsys):
    def read(text):
        return vars(parser().parse_args(["m", "--shape", "3", option, text]))[name]

    name = option[2:].replace("-", "_")
    least = COUNTS.get(option, 0)
    good = {least, least + 1} | ({65535} if option == "--port" else {0.5} - {*COUNTS})
    good = [each for each in good if option in SECONDS or each == int(each)]
    for value in good:
        assert read(str(value)) == value
    bad = [str(least - 1), "x", "", "1e999", "nan", "99999999999999"]
    bad += ["65536", "99999"] if option == "--port" else ["3600"] if option in SECONDS else ["0.5"]
    for text in bad:
        with pytest.raises(SystemExit):
            read(text)
        assert f"argument {option}: {text!r}: expected" in capsys.readouterr().err


def test_options_are_those_that_are_documented():
    """All of a command line, by default and as given."""
    found = vars(parser().parse_args(["m", "--shape", "a=1,-1", "--shape", "2"]))
    assert found == {
        "model": "m",
        "shape": [("a", (1, -1)), ("data", (2,))],
        "epoch": None,
        "dtype": "float32",
        "host": "127.0.0.1",
        "port": 8080,
        "threads": 32,
        "connections": 1000,
        "max_batch": 32,
        "max_delay": 0.0,
        "max_waiting": 1024,
        "max_body": 1 << 24,
        "max_pixels": 1 << 25,
        "timeout": 30.0,
        "idle": 60,
        "grace": 8.0,
        "scale": 1 / 255,
        "mean": 0.0,
        "std": 1.0,
        "classes": None,
        "top": 5,
        "name": "model",
        "also": [],
    }


def test_several_models(model, tmp_path):
    """Inputs whose names have a colon, too."""
    x = mx.sym.var("in:0") + mx.sym.var("b:x")
    mx.model.save_checkpoint(str(tmp_path / "two"), 3, x, {}, {})
    text = f"{model} --name a --shape data=3 --epoch 1 --also b={tmp_path}/two"
    text += " --shape b:in:0=2 --shape b:b:x=2"
    app = application(parser().parse_args(text.split()))
    assert [(each.name, each.version, each.predictor.shapes) for each in app.models] == [
        ("a", "1", {"data": (3,)}),
        ("b", "1", {"in:0": (2,), "b:x": (2,)}),
    ]
    assert app.predictor is next(iter(app.models)).predictor and app.images is None


def test_options_reach_what_they_name(model, tmp_path):
    (tmp_path / "classes").write_text("a\nb\n")
    names = ["--max-batch", "--max-waiting", "--max-body", "--max-pixels", "--top"]
    numbers = [part for i, name in enumerate(names) for part in (name, str(7 + i))]
    text = [model, "--shape", "3", "--max-delay", "0.25", "--timeout", "2.5", *numbers]
    app = application(parser().parse_args([*text, "--classes", str(tmp_path / "classes")]))
    assert (app.max_body, app.top, app.classes, app.images) == (9, 11, ["a", "b"], None)
    assert (app.predictor.max_batch, app.predictor.timeout) == (7, 2.5)
    assert (app.predictor._batches._delay, app.predictor._batches._waiting) == (0.25, 8)
    net = mx.sym.Flatten(mx.sym.var("data"))
    mx.model.save_checkpoint(str(tmp_path / "flat"), 1, net, {}, {})
    more = ["--scale", "2", "--mean", "1,2,3", "--std", "4"]
    args = parser().parse_args([str(tmp_path / "flat"), "--shape", "3,4,6", *numbers, *more])
    assert application(args).images == ((4, 6), True, True, 2.0, [1.0, 2.0, 3.0], 4.0, 10)
