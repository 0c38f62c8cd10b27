"""Networks, and requests of the Open Inference Protocol written down from its text, for tests of
the protocol: each request with what the answer must be, computed by NumPy."""

import contextlib
import json
import logging
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np

import cynet as mx
from cynet.serving import Application
from cynet.serving.server import Server

WEIGHT = np.array([[1, 2, 3], [4, 5, 6]], "float32")
DTYPES = {
    "BOOL": "bool",
    "UINT8": "u1",
    "UINT16": "<u2",
    "UINT32": "<u4",
    "UINT64": "<u8",
    "INT8": "i1",
    "INT16": "<i2",
    "INT32": "<i4",
    "INT64": "<i8",
    "FP16": "<f2",
    "FP32": "<f4",
    "FP64": "<f8",
}
ROOT = Path(__file__).parents[2]
LENGTH = "Inference-Header-Content-Length"


def predictors(**settings):
    """A product with one input, and a network of two inputs and outputs, one of varying length."""
    dense = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    words, scale = mx.sym.var("words"), mx.sym.var("scale")
    vectors = mx.sym.Embedding(words, input_dim=5, output_dim=2, name="embed")
    scaled = mx.sym.broadcast_mul(vectors.sum(axis=1), scale, name="scaled")
    both = mx.sym.Group([scaled, mx.sym.identity(words, name="same")])
    return {
        "dense": mx.Predictor(dense, {"fc_weight": mx.nd.array(WEIGHT)}, shapes=(3,), **settings),
        "several": {
            version: mx.Predictor(
                both,
                {"embed_weight": mx.nd.ones((5, 2)) * int(version)},
                **settings,
                shapes={"words": (-1,), "scale": (1,)},
                input_dtypes={"words": "int32"},
            )
            for version in ("1", "2")
        },
    }


def application(**settings):
    return Application(predictors(max_batch=4), **settings)


def tensor(name, array, kind="FP32", **more):
    return {"name": name, "shape": list(array.shape), "datatype": kind, **more}


def as_json(*tensors, **more):
    """A body of (name, array, datatype), and its headers."""
    inputs = [tensor(name, a, kind, data=a.ravel().tolist()) for name, a, kind in tensors]
    return json.dumps({"inputs": inputs, **more}).encode(), {}


def as_bytes(*tensors, **more):
    """The same by the binary extension."""
    inputs, parts = [], []
    for name, array, kind in tensors:
        parts.append(np.asarray(array, DTYPES[kind]).tobytes())
        inputs.append(tensor(name, array, kind, parameters={"binary_data_size": len(parts[-1])}))
    head = json.dumps({"inputs": inputs, **more}).encode()
    return b"".join([head, *parts]), {LENGTH: str(len(head))}


def outputs_of(body, headers):
    """(the JSON of an answer, its arrays by name)."""
    length = headers.get(LENGTH)
    head = json.loads(body[: int(length)] if length else body)
    rest, found = body[int(length) :] if length else b"", {}
    for each in head["outputs"]:
        dtype = DTYPES[each["datatype"]]
        if "data" in each:
            array = np.array(each["data"], dtype)
        else:
            size = each["parameters"]["binary_data_size"]
            array, rest = np.frombuffer(rest[:size], dtype), rest[size:]
        found[each["name"]] = array.reshape(each["shape"])
    assert rest == b""
    return head, found


def several(rows, words, rng):
    """Inputs of the network of two inputs."""
    inputs = rng.integers(0, 5, (rows, words)), rng.integers(1, 4, (rows, 1)).astype("float32")
    return [("words", inputs[0], "INT32"), ("scale", inputs[1], "FP32")]


def wanted_of_several(tensors, version="2"):
    (_, words, _), (_, scale, _) = tensors
    each = np.full((len(words), 2), words.shape[1] * int(version), "float32")
    return {"scaled_output": each * scale, "same_output": words}


@contextlib.contextmanager
def served():
    """The port of a server in a process of its own, which ends when nobody reads from it."""
    command = [sys.executable, "-m", "tests.serving.v2_cases"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe) as process:
        try:
            yield int(process.stdout.readline())
            process.stdin.close()
            assert process.wait(30) == 0  # nothing was left unanswered
        finally:
            process.kill()


def main():
    """Serve until the end of what is written to this process."""
    logging.disable(logging.CRITICAL)  # that requests wait is no news
    app = application(max_body=20_000)
    server = Server(app, "127.0.0.1", 0, threads=8, connections=200, idle=60)
    print(server.addresses[0].rsplit(":", 1)[1], flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), server.stop()), daemon=True).start()
    left = server.run(10.0)
    return int(left > 0 or not app.close(10.0))


if __name__ == "__main__":
    sys.exit(main())
