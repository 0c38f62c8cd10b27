"""Serve two models, and ask them by the Open Inference Protocol.

python examples/serving/v2_client.py [--by-hand]

With tritonclient where it is installed, else by requests that are written out.
"""

import argparse
import http.client
import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import cynet as mx

try:
    import tritonclient.http as triton
except (ImportError, RuntimeError):  # RuntimeError: installed without its HTTP client
    triton = None


def save(prefix, width):
    """Write the checkpoint of a network that adds up its `width` inputs."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, no_bias=True, name="sum")
    mx.model.save_checkpoint(prefix, 1, net, {"sum_weight": mx.nd.ones((1, width))}, {})


def ask_by_triton(address, model, rows):
    """The output of the model, requested by NVIDIA's client."""
    with triton.InferenceServerClient(address) as client:
        (output,) = client.get_model_metadata(model)["outputs"]
        each = triton.InferInput("data", list(rows.shape), "FP32")
        each.set_data_from_numpy(rows)
        return client.infer(model, [each]).as_numpy(output["name"])


def ask_by_hand(address, model, rows):
    """The output, by a request that is written out."""
    connection = http.client.HTTPConnection(address, timeout=30)
    data = rows.tobytes()
    tensor = {
        "name": "data",
        "shape": list(rows.shape),
        "datatype": "FP32",
        "parameters": {"binary_data_size": len(data)},
    }
    settings = {"binary_data_output": True}
    head = json.dumps({"inputs": [tensor], "parameters": settings}).encode()
    size = "Inference-Header-Content-Length"
    connection.request("POST", f"/v2/models/{model}/infer", head + data, {size: str(len(head))})
    answer = connection.getresponse()
    body, length = answer.read(), int(answer.getheader(size))
    (output,) = json.loads(body[:length])["outputs"]
    connection.close()
    return np.frombuffer(body[length:], "float32").reshape(output["shape"])


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--by-hand", action="store_true", help="without tritonclient")
    by_hand = options.parse_args().by_hand or triton is None
    with tempfile.TemporaryDirectory() as folder:
        for name, width in (("three", 3), ("five", 5)):
            save(str(Path(folder, name)), width)
        command = [sys.executable, "-m", "cynet.tools.serve", f"{folder}/three", "--port", "0"]
        command += ["--name", "three", "--shape", "3", "--also", f"five={folder}/five"]
        command += ["--shape", "five:data=5"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            address = server.stdout.readline().split()[-1].removeprefix("http://")
            ask = ask_by_hand if by_hand else ask_by_triton
            for name, width in (("three", 3), ("five", 5)):
                rows = np.arange(2 * width, dtype="float32").reshape(2, width)
                print(name, ask(address, name, rows).ravel().tolist())
            server.send_signal(signal.SIGTERM)
    return server.returncode


if __name__ == "__main__":
    sys.exit(main())
