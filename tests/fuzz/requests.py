"""Hostile requests and bodies for the application and the server: python -m tests.fuzz.requests

Each is answered by what is right for it, or by a sentence and a status that blames the request
(never 500), soon, and without memory that stays.
"""

import gzip
import io
import json
import math
import socket
import sys
import threading

import numpy as np

from tests.fuzz.worker import Fault, command_line

GROWTH = 48 << 20  # bytes that a process may have more after any number of requests
LIMIT = 40_000  # of a body
REFUSALS = (400, 404, 405, 411, 413, 415)
WORDS = [
    *(b"NaN", b"-Infinity", b"1e999", b"-0.0", b"1e-999", b"9" * 400, b"1" * 5000, b"null"),
    *(b"true", b"[", b"]", b"{", b"}", b"[" * 3000, b'{"a":' * 2000, b'"', b",", b":", b"\\"),
    *(b"[]," * 3000, b"{}," * 3000, b'"x",' * 300, b'"' + b"y" * 9000 + b'"', rb"\ud800", b"\x00"),
    *(b'"inputs"', b'"data"', b'"self"', b'"timeout"', b'"words"', b"\xff\xfe", b"\x93NUMPY"),
    *(b"'shape'", b"'descr'", b"'<f8'", b"'|O'", b"'<U99999999'", b"(1, 3)", b"(" * 500),
    *(str(2**62).encode(), str(2**64 + 1).encode(), b"-1", b"0", b"(1,)" * 66, b"1, " * 66),
    *(b"\xff\xc0\x00\x11\x08\xff\xff\xff\xff", b"IHDR\x7f\xff\xff\xff\x7f\xff\xff\xff"),
    *(b"\xff\xda\x00\x02" * 200, b"\x1f\x8b", b"\r\n", b"__class__", b"1.5", b" " * 100),
]
NAMES = ["data", "words", "scale", "timeout", "self", "inputs", "", "\x00", "é", "args", "x" * 3000]
KINDS = [
    *("application/json", "", "application/x-npy", "application/octet-stream", "image/png"),
    *("image/jpeg", "text/html", "application/json; charset=utf-16", "IMAGE/PNG", "\x00"),
    "a" * 999,
]
PATHS = ["/predict"] * 150 + [
    "/health",
    "/metrics",
    "/",
    "",
    "//predict",
    "/predict/..",
    "/é\x00",
    "*",
]
METHODS = ["POST"] * 150 + ["GET", "HEAD", "PUT", "OPTIONS", "\x00", "post", "X" * 999]
LENGTHS = ["", "-1", "0", "1e3", "+5", " 5", "９", "99999999999", "9" * 5000, "0x10", "5, 5"]
CODINGS = [None] * 150 + ["gzip", "identity", "br", "\x00", "gzip, gzip"]


def number(rng):
    """What may stand in JSON for a number."""
    if rng.random() < 0.7:
        return rng.choice([0, 1, -1, 2.5, 1e-40, 3e38, 1e39, 1e308, 2**31, 2**53 + 1, 2**63]).item()
    return [10**400, None, True, "1", "", [], {}, [1], {"a": 1}, "x" * 2000][rng.integers(10)]


def rows(rng, depth=0):
    if depth > 3 or rng.random() < 0.1:
        return number(rng)
    few = rng.integers(0, 5) if rng.random() < 0.97 else 2000
    if rng.random() < 0.6:  # a table
        return [[number(rng) if rng.random() < 0.03 else 1 for _ in range(3)] for _ in range(few)]
    return [rows(rng, depth + 1) for _ in range(min(few, 5))]


def json_body(rng):
    found = rows(rng)
    if rng.random() < 0.7:
        found = {NAMES[rng.integers(len(NAMES))]: rows(rng) for _ in range(rng.integers(1, 4))}
    if rng.random() < 0.6:
        found = {"inputs": found}
    return json.dumps(found).encode()[: 2 * LIMIT]


def npy_body(rng):
    kinds = ["<f4", ">f8", "<i8", "|b1", "<f2", "<U3", "|u1", "<c8"]
    shape = [(1, 3), (2, 3), (0, 3), (3,), (), (1, 3, 8, 8), (2, 1), (1,) * 9][rng.integers(8)]
    file = io.BytesIO()
    np.save(file, np.ones(shape, kinds[rng.integers(len(kinds))]))
    return file.getvalue()


def image_body(rng):
    return IMAGES[rng.integers(len(IMAGES))]


def v2_body(rng):
    """A request of the Open Inference Protocol; most of its tensors are right."""
    parts, inputs = [], []
    for name in (["data"], ["words", "scale"], NAMES)[rng.choice(3, p=[0.6, 0.35, 0.05])]:
        shape = [[1, 3], [2, 3], [1, 1], [0, 3], [1, 3, 8, 8], [2**40, 3], [1, 2**62]][
            rng.choice(7, p=[0.5, 0.1, 0.2, 0.05, 0.05, 0.05, 0.05])
        ]
        kind = list(TYPES)[rng.integers(len(TYPES))] if rng.random() < 0.5 else "FP32"
        count = min(200, math.prod(shape))
        each = {"name": name, "shape": shape, "datatype": kind}
        if rng.random() < 0.5:
            each["data"] = [number(rng) if rng.random() < 0.03 else 1 for _ in range(count)]
        else:
            parts.append(np.ones(count, TYPES[kind]).tobytes())
            each["parameters"] = {"binary_data_size": len(parts[-1])}
        if rng.random() < 0.15:
            each[list(each)[rng.integers(len(each))]] = rows(rng)
        inputs.append(each)
    found = {"inputs": inputs, "parameters": {"binary_data_output": bool(rng.integers(2))}}
    if rng.random() < 0.2:
        more = ["id", "parameters", "outputs", "inputs", "timeout"][rng.integers(5)]
        found[more] = [rows(rng), {"timeout": number(rng)}, [{"name": "output0"}]][rng.integers(3)]
    head = json.dumps(found).encode()
    return b"".join([head, *parts]), len(head)


TYPES = {
    "FP32": "<f4",
    "INT32": "<i4",
    "BOOL": "?",
    "UINT8": "u1",
    "INT64": "<i8",
    "FP64": "<f8",
    "FP16": "<f2",
    "BF16": "<u2",
    "BYTES": "u1",
}
V2_PATHS = ["/v2/models/model/infer"] * 20 + [
    *("/v2/models/model/versions/1/infer", "/v2/models/self/infer", "/v2/models/model", "/v2"),
    *("/v2/models/model/versions/\x00/infer", "/v2/models//infer", "/v2/health/ready", "/v2/\xff"),
]


def junk(rng):
    return rng.bytes(rng.integers(0, 300))


IMAGES = [b"\xff\xd8\xff\xe0", b"\x89PNG\r\n\x1a\n", b"RIFF....WEBPVP8X", b"BM"]
MAKERS = [json_body] * 5 + [npy_body] * 3 + [image_body] * 2 + [v2_body] * 5 + [junk]


def damaged(rng, body):
    """A body after some changes."""
    for _ in range(max(0, rng.integers(-2, 5))):
        at = int(rng.integers(len(body) + 1))
        end = min(len(body), at + int(rng.integers(0, 20)))
        word = WORDS[rng.integers(len(WORDS))]
        how = rng.integers(6)
        if how == 0:
            body = body[:at]
        elif how == 1:
            body = body[:at] + word + body[at:]
        elif how == 2:
            body = body[:at] + word + body[end:]
        elif how == 3:
            body = body[:at] + body[end:]
        elif how == 4 and body:
            body = bytearray(body)
            for i in rng.integers(len(body), size=rng.integers(1, 5)):
                body[i] = rng.integers(256)
            body = bytes(body)
        else:
            body = body[:end] + body[at:end] * int(rng.integers(1, 50)) + body[end:]
    return gzip.compress(body) if rng.random() < 0.03 else body


def request_of(rng):
    """(environ of WSGI, the body) of one request."""
    maker = MAKERS[rng.integers(len(MAKERS))]
    if maker is v2_body:
        body, length = v2_body(rng)
        body = damaged(rng, body) if rng.random() < 0.5 else body
    else:
        body, length = damaged(rng, maker(rng)), None
    kind = {json_body: 0, npy_body: 2, image_body: 4}.get(maker, 0)
    if rng.random() < 0.15:
        kind = rng.integers(len(KINDS))
    environ = {
        "REQUEST_METHOD": METHODS[rng.integers(len(METHODS))],
        "PATH_INFO": PATHS[rng.integers(len(PATHS))],
        "CONTENT_TYPE": KINDS[kind],
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
    }
    if maker is v2_body:
        environ["PATH_INFO"] = V2_PATHS[rng.integers(len(V2_PATHS))]
        if rng.random() < 0.9:
            environ["HTTP_INFERENCE_HEADER_CONTENT_LENGTH"] = str(length)
        elif rng.random() < 0.5:
            environ["HTTP_INFERENCE_HEADER_CONTENT_LENGTH"] = LENGTHS[rng.integers(len(LENGTHS))]
    if rng.random() < 0.05:
        environ["CONTENT_LENGTH"] = LENGTHS[rng.integers(len(LENGTHS))]
    if (coding := CODINGS[rng.integers(len(CODINGS))]) is not None:
        environ["HTTP_CONTENT_ENCODING"] = coding
    if rng.random() < 0.2:
        environ["HTTP_ACCEPT"] = ["application/x-npy", "*/*", "\x00"][rng.integers(3)]
    return environ, body


def check(status, kind, length, body, method):
    """Refuse an answer that no request may get."""
    if method != "HEAD" and length != len(body):
        raise Fault(f"Content-Length {length} of {len(body)} bytes")
    if status == 200:
        if kind == "application/json" and method != "HEAD":
            json.loads(body, parse_constant=lambda word: 1 / 0)
        return
    if status not in REFUSALS:
        raise Fault(f"status {status}: {body[:300]}")
    if method != "HEAD":
        text = json.loads(body)["error"]
        if not isinstance(text, str) or not 5 < len(text) < 1000 or "Traceback" in text:
            raise Fault(f"an error of {len(text)} characters: {text[:300]}")


def raw(rng, environ, body):
    """(the same as bytes of HTTP, perhaps damaged; whether it is a whole request)."""
    whole = environ["CONTENT_LENGTH"] == str(len(body)) and method_is_known(environ)
    headers = {"Content-Length": environ["CONTENT_LENGTH"], "Content-Type": environ["CONTENT_TYPE"]}
    for name in ("HTTP_ACCEPT", "HTTP_CONTENT_ENCODING", "HTTP_INFERENCE_HEADER_CONTENT_LENGTH"):
        if name in environ:
            headers[name[5:].title().replace("_", "-")] = environ[name]
    lines = [f"{environ['REQUEST_METHOD']} {environ['PATH_INFO'] or '/'} HTTP/1.1", "Host: x"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if rng.random() < 0.1:
        lines.append("Transfer-Encoding: chunked")
        whole = False
        body = b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in (body[:7], body[7:], b""))
    head = ("\r\n".join(lines) + "\r\n\r\n").encode()
    if rng.random() < 0.2:
        head, whole = damaged(rng, head), False
    return head + body, whole


def method_is_known(environ):
    return environ["REQUEST_METHOD"] in ("POST", "GET", "PUT") and environ["PATH_INFO"].isascii()


def statuses_of(answer):
    """(status, type, length, body) of each answer in what a server sent."""
    file = io.BytesIO(answer)
    while first := file.readline():
        headers = {}
        while line := file.readline().strip():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        length = int(headers.get("content-length", 0))
        status = int(first.split()[1])
        if status != 100:
            yield status, headers.get("content-type"), length, file.read(length)


# --- cases ---------------------------------------------------------------------------------------
def networks():
    """Applications: one of rows, one of several inputs of varying length, one of images."""
    import cynet as mx
    from cynet.serving import Application
    from cynet.serving.bodies import Images

    dense = mx.gluon.nn.Dense(2, in_units=3, use_bias=False)
    dense.initialize(mx.init.One())
    words, scale = mx.sym.var("words"), mx.sym.var("scale")
    vectors = mx.sym.Embedding(words, input_dim=5, output_dim=2, name="embed")
    several = mx.sym.Group([mx.sym.broadcast_mul(vectors.sum(axis=1), scale), words])
    predictors = [
        mx.Predictor(dense, shapes=(3,), max_batch=4, timeout=5),
        mx.Predictor(
            several,
            {"embed_weight": mx.nd.ones((5, 2))},
            timeout=5,
            max_batch=4,
            shapes={"words": (-1,), "scale": (1,)},
            input_dtypes={"words": "int32"},
        ),
        mx.Predictor(mx.gluon.nn.Flatten(), shapes=(3, 8, 8), max_batch=4, timeout=5),
    ]
    images = [None, None, Images.for_rows((3, 8, 8), maximum=100_000)]
    return [Application(p, LIMIT, i) for p, i in zip(predictors, images)]


def server_for(app):
    """The port of a server in a thread of this process."""
    from cynet.serving.server import Server

    server = Server(app, "127.0.0.1", 0, threads=2, connections=50, idle=60)
    threading.Thread(target=server.run, args=(0.0,), daemon=True).start()
    return int(server.addresses[0].rsplit(":", 1)[1])


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def prepare(seed):
    """What a worker does first; gives the function that runs case number `n`."""
    import logging

    logging.disable(logging.CRITICAL)
    try:
        import cv2

        for form in (".png", ".jpg", ".webp", ".bmp"):
            for size in (8, 40):
                pixels = np.random.RandomState(size).randint(0, 256, (size, 9, 3)).astype("uint8")
                IMAGES.append(cv2.imencode(form, pixels)[1].tobytes())
    except ImportError:  # the types of images are refused then
        pass
    apps = networks()
    port = server_for(apps[0])
    memory = []

    def run(number):
        rng = np.random.default_rng([seed, number])
        environ, body = request_of(rng)
        method = environ["REQUEST_METHOD"]
        if rng.random() < 0.05:
            text, whole = raw(rng, environ, body)
            send(port, text, method, whole)
        else:
            check(*answer_of(apps[rng.integers(len(apps))], environ), method)
        if number % 100 == 0:
            good(apps[0])
            memory.append(resident())
            if len(memory) > 20 and memory[-1] > memory[20] + GROWTH:
                more = memory[-1] - memory[20] >> 20
                raise Fault(f"{more} MiB more after {100 * len(memory)} requests")

    return run


def answer_of(app, environ):
    """(status, type, length, body) of an application's answer."""
    found = []
    body = b"".join(app(environ, lambda status, headers: found.append((status, dict(headers)))))
    ((status, headers),) = found
    return int(status[:3]), headers["Content-Type"], int(headers["Content-Length"]), body


def good(app):
    body = b"[[1, 2, 3]]"
    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/predict",
        "wsgi.input": io.BytesIO(body),
        "CONTENT_LENGTH": "11",
    }
    if (found := answer_of(app, environ))[::3] != (200, b'{"outputs": [[[6.0, 6.0]]]}'):
        raise Fault(f"a good request: {found}")


def send(port, text, method, whole):
    """Send bytes to the server, and check its answer, which a `whole` request must get."""
    with socket.create_connection(("127.0.0.1", port), timeout=10 if whole else 0.2) as line:
        answer = b""
        try:
            line.sendall(text)
            while not ended(answer, method):
                answer += (piece := line.recv(1 << 16))
                if not piece:
                    break
        except TimeoutError:
            if whole:
                raise Fault(f"no answer to {text[:300]}") from None
        except OSError:  # it has refused the request before its end
            return
    if not ended(answer, method):
        return
    # what is behind the first answer is one to what was behind the request, and perhaps not whole
    status, kind, length, body = next(statuses_of(answer))
    if status not in (431, 501):  # of waitress: headers, and codings of transfers
        check(status, kind, length, body, method)


def ended(answer, method):
    """Whether all of an answer is there."""
    head, mark, body = answer.partition(b"\r\n\r\n")
    if mark and head.startswith(b"HTTP/1.1 100"):
        return ended(body, method)
    length = head.lower().partition(b"\ncontent-length:")[2].split(b"\r")[0]
    return bool(mark) and (method == "HEAD" or len(body) >= int(length or 0))


if __name__ == "__main__":
    sys.exit(command_line("tests.fuzz.requests", __doc__, lambda seed, n: prepare(seed)(n)))
