"""The Open Inference Protocol on the wire: 32 clients at once, whose bytes are written down here
from the protocol's text, and NVIDIA's tritonclient where it is installed."""

import asyncio
import os
import socket
import threading

import numpy as np
import pytest

from tests.serving.v2_cases import (
    LENGTH,
    WEIGHT,
    as_bytes,
    as_json,
    outputs_of,
    served,
    several,
    wanted_of_several,
)

pytest.importorskip("waitress")
CLIENTS = 32
REQUESTS = int(os.environ.get("CYNET_STRESS_REQUESTS", "480")) // CLIENTS  # of each client


@pytest.fixture(scope="module")
def port():
    with served() as found:
        yield found


# --- bytes ----------------------------------------------------------------------------------------
class Line:
    """A connection that is kept, as HTTP/1.1 says."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.file = self.socket.makefile("rb")

    def ask(self, method, path, body=b"", headers=()):
        lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in dict(headers).items()]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        status, found = int(self.file.readline().split()[1]), {}
        while line := self.file.readline().strip():
            name, _, value = line.decode().partition(": ")
            found[name.title()] = value
        return status, found, self.file.read(int(found["Content-Length"]))

    def close(self):
        self.file.close()
        self.socket.close()


def good_dense(line, rng):
    x = rng.integers(-9, 9, (rng.integers(1, 7), 3)).astype("float32")
    form = (as_json, as_bytes)[rng.integers(2)]
    more = {
        "parameters": {"binary_data_output": bool(rng.integers(2))},
        "id": str(rng.integers(99)),
    }
    status, headers, body = line.ask(
        "POST", "/v2/models/dense/infer", *form(("data", x, "FP32"), **more)
    )
    assert status == 200, body
    head, found = outputs_of(body, headers)
    assert (
        head["id"] == more["id"] and (LENGTH in headers) == more["parameters"]["binary_data_output"]
    )
    np.testing.assert_array_equal(found["fc_output"], x @ WEIGHT.T)


def good_several(line, rng):
    tensors = several(rng.integers(1, 6), rng.integers(1, 6), rng)
    form, version = (as_json, as_bytes)[rng.integers(2)], str(rng.integers(1, 3))
    path = f"/v2/models/several/versions/{version}/infer"
    status, headers, body = line.ask("POST", path, *form(*tensors))
    assert status == 200, body
    _, found = outputs_of(body, headers)
    for name, wanted in wanted_of_several(tensors, version).items():
        np.testing.assert_array_equal(found[name], wanted)


def bad(line, rng):
    x = np.ones((2, 3), "float32")
    (whole, headers), path = as_bytes(("data", x, "FP32")), "/v2/models/dense/infer"
    cases = [
        (path, whole[:-1], headers, 400),
        (path, b"{}", {}, 400),
        (path, whole, {}, 400),
        ("/v2/models/none/infer", whole, headers, 404),
        (path + "/x", whole, headers, 404),
        ("/v2/models/dense/versions/9/infer", whole, headers, 404),
    ]
    path, body, headers, wanted = cases[rng.integers(len(cases))]
    status, headers, body = line.ask("POST", path, body, headers)
    assert status == wanted and body.startswith(b'{"error": ') and LENGTH not in headers


def looks(line, rng):
    path = ["", "/health/live", "/health/ready", "/models/dense", "/models/several/ready"]
    assert line.ask("GET", "/v2" + path[rng.integers(len(path))])[0] == 200


def test_many_clients_that_write_bytes(port, seed):
    def client(number):
        line, rng = Line(port), np.random.default_rng([seed, number])
        try:
            for _ in range(REQUESTS):
                kinds = [good_dense, good_several] * 3 + [bad, looks]
                kinds[rng.integers(len(kinds))](line, rng)
                done.append(number)
        except BaseException as error:
            errors.append(error)
        finally:
            line.close()

    done, errors = [], []
    together([lambda i=i: client(i) for i in range(CLIENTS)])
    assert not errors, errors[0]
    assert len(done) == CLIENTS * REQUESTS


def test_a_body_that_is_too_long(port):
    line = Line(port)
    status, _, body = line.ask("POST", "/v2/models/dense/infer", b" " * 20_001)
    assert status == 413 and b"at most 20000 are taken" in body
    line.close()


def together(functions):
    threads = [threading.Thread(target=each) for each in functions]
    for each in threads:
        each.start()
    for each in threads:
        each.join(600)


# --- tritonclient ---------------------------------------------------------------------------------
class Asked:
    """Random requests by the names of tritonclient, and what each must give: (function of a
    client, check of its answer); the client may be of the module of threads or of asyncio."""

    def __init__(self, http, rng):
        self.http, self.rng = http, rng
        self.kinds = [self.dense, self.several] * 3 + [self.wrong, self.looks]

    def next(self):
        return self.kinds[self.rng.integers(len(self.kinds))]()

    def inputs(self, tensors):
        found = []
        for name, array, kind in tensors:
            found.append(each := self.http.InferInput(name, list(array.shape), kind))
            array = array.astype("int32" if kind == "INT32" else "float32")
            each.set_data_from_numpy(array, binary_data=bool(self.rng.integers(2)))
        return found

    def outputs(self, names):
        if self.rng.integers(2):
            return None
        flags = self.rng.integers(0, 2, len(names)).astype(bool).tolist()
        return [
            self.http.InferRequestedOutput(name, binary_data=flag)
            for name, flag in zip(names, flags)
        ]

    def dense(self):
        x = self.rng.integers(-9, 9, (self.rng.integers(1, 7), 3)).astype("float32")
        inputs, outputs = self.inputs([("data", x, "FP32")]), self.outputs(["fc_output"])

        def check(answer):
            np.testing.assert_array_equal(answer.as_numpy("fc_output"), x @ WEIGHT.T)
            assert answer.get_response()["id"] == "7"

        return lambda c: c.infer("dense", inputs, outputs=outputs, request_id="7"), check

    def several(self):
        tensors = several(self.rng.integers(1, 6), self.rng.integers(1, 6), self.rng)
        version = ["", "1", "2"][self.rng.integers(3)]
        inputs = self.inputs(tensors)
        outputs = self.outputs(["same_output", "scaled_output"])

        def check(answer):
            for name, wanted in wanted_of_several(tensors, version or "2").items():
                np.testing.assert_array_equal(answer.as_numpy(name), wanted)

        return lambda c: c.infer("several", inputs, model_version=version, outputs=outputs), check

    def wrong(self):
        x = np.ones((2, 3), "float32")
        cases = [
            ("none", "", "data", x, "404"),
            ("dense", "9", "data", x, "404"),
            ("dense", "", "self", x, "400"),
            ("dense", "", "data", x[:, :2], "400"),
            ("dense", "", "data", np.ones((2000, 3), "float32"), "413"),
        ]
        model, version, name, x, status = cases[self.rng.integers(len(cases))]
        inputs = [self.http.InferInput(name, list(x.shape), "FP32")]
        inputs[0].set_data_from_numpy(x)

        def check(error):
            assert error.status() == status and error.message()

        return lambda c: c.infer(model, inputs, model_version=version), check

    def looks(self):
        cases = [
            (lambda c: c.is_server_live(), lambda found: found),
            (lambda c: c.is_server_ready(), lambda found: found),
            (lambda c: c.is_model_ready("several", "2"), lambda found: found),
            (lambda c: c.is_model_ready("none"), lambda found: not found),
            (lambda c: c.get_server_metadata(), lambda found: found["name"] == "cynet"),
            (
                lambda c: c.get_model_metadata("dense"),
                lambda found: (
                    found["inputs"][0] == {"name": "data", "datatype": "FP32", "shape": [-1, 3]}
                ),
            ),
            (lambda c: c.get_model_repository_index(), lambda found: len(found) == 3),
        ]
        function, is_right = cases[self.rng.integers(len(cases))]

        def check(found):
            assert is_right(found)

        return function, check


@pytest.mark.filterwarnings("ignore")  # those of its packages
@pytest.mark.timeout(1200)
def test_tritonclient_of_threads_and_of_asyncio(port, seed):
    why = "pip install 'tritonclient[http]'"
    for each in ("gevent", "geventhttpclient", "aiohttp"):  # without them it raises RuntimeError
        pytest.importorskip(each, reason=why)
    http = pytest.importorskip("tritonclient.http", reason=why)
    aio = pytest.importorskip("tritonclient.http.aio", reason=why)
    from tritonclient.utils import InferenceServerException

    def client(number):
        try:
            one = http.InferenceServerClient(f"127.0.0.1:{port}", network_timeout=60)
            asked = Asked(http, np.random.default_rng([seed, 1, number]))
            for _ in range(REQUESTS):
                function, check = asked.next()
                try:
                    answer = function(one)
                except InferenceServerException as error:
                    answer = error
                check(answer)
                done.append(number)
            one.close()
        except BaseException as error:
            errors.append(error)

    async def coroutine(number):
        async with aio.InferenceServerClient(f"127.0.0.1:{port}") as one:
            asked = Asked(aio, np.random.default_rng([seed, 2, number]))
            for _ in range(REQUESTS):
                function, check = asked.next()
                try:
                    answer = await function(one)
                except InferenceServerException as error:
                    answer = error
                check(answer)
                done.append(number)

    async def every():
        await asyncio.gather(*(coroutine(i) for i in range(CLIENTS // 2)))

    def loop():
        try:
            asyncio.run(every())
        except BaseException as error:
            errors.append(error)

    done, errors = [], []
    together([*(lambda i=i: client(i) for i in range(CLIENTS // 2)), loop])
    assert not errors, errors[0]
    assert len(done) == CLIENTS * REQUESTS
