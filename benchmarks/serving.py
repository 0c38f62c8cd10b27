"""python -m cynet.tools.serve beside the simplest servers of ONNX Runtime and PyTorch.

python benchmarks/serving.py --onnxruntime PYTHON --torch PYTHON [--seconds S] [--rounds N]

Both need waitress, too. Requests of one row as .npy, and for cynet also by the Open Inference
Protocol with binary tensors, over connections that stay open; the clients are one process with an
event loop. Servers take turns; of the rounds the medians are printed.
"""

import argparse
import io
import json
import os
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SHAPE, CLIENTS = (1, 28, 28), (1, 16)
NETWORKS = {"mlp": "MLP 784-128-64-10", "cnn": "two convolutions, 28x28"}
WORKER = Path(__file__).parent / "peers" / "serving_worker.py"


def write_network(mx, network, folder):
    """A checkpoint with random weights, the same as ONNX, and the parameters as arrays."""
    x = mx.sym.Variable("data")
    if network == "mlp":
        sizes, x = (128, 64, 10), mx.sym.Flatten(x)
    else:
        sizes = (64, 10)
        for i, filters in enumerate((8, 16)):
            x = mx.sym.Convolution(x, kernel=(5, 5), num_filter=filters, name=f"conv{i}")
            x = mx.sym.Activation(x, act_type="relu")
            x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max")
        x = mx.sym.Flatten(x)
    for i, size in enumerate(sizes):
        x = mx.sym.Activation(x, act_type="relu") if i else x
        x = mx.sym.FullyConnected(x, num_hidden=size, name=f"fc{i}")
    symbol = mx.sym.softmax(x, name="softmax")
    module = mx.mod.Module(symbol, label_names=None)
    module.bind([("data", (1, *SHAPE))], for_training=False)
    module.init_params(mx.init.Xavier())
    prefix = str(folder / network)
    module.save_checkpoint(prefix, 0)
    params = module.get_params()[0]
    names = [name for name in symbol.list_arguments() if name in params]
    np.savez(folder / f"{network}.npz", **{name: params[name].asnumpy() for name in names})
    mx.onnx.export_model(
        f"{prefix}-symbol.json",
        f"{prefix}-0000.params",
        [(1, *SHAPE)],
        np.float32,
        f"{prefix}.onnx",
    )


class Server:
    """A process that says its address in its first line."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"it did not start: {' '.join(map(str, command))}")
        self.port = int(line.rsplit(":", 1)[1])

    def cpu_seconds(self):
        """What it has used of the processor; neighbours on the machine hardly change that."""
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        """End the process."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Client:
    """One connection that sends the same request again and again."""

    def __init__(self, port, request):
        self.request, self.answer = request, b""
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self):
        """Send the request."""
        self.answer, self.begin = b"", time.perf_counter()
        self.socket.sendall(self.request)

    def read(self):
        """Read the body of an answer, until it is complete."""
        part = self.socket.recv(65536)
        if not part:
            raise SystemExit("a server has closed a connection")
        self.answer += part
        head, blank, body = self.answer.partition(b"\r\n\r\n")
        if not blank:
            return None
        lines = head.lower().split(b"\r\n")
        if b" 200 " not in lines[0] + b" ":
            raise SystemExit(f"a server has refused a request: {self.answer[:300]!r}")
        size = next(
            int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length")
        )
        return body if len(body) == size else None


def request_v2(rows):
    """The bytes of a request of the Open Inference Protocol."""
    data = rows.tobytes()
    each = {
        "name": "data",
        "shape": list(rows.shape),
        "datatype": "FP32",
        "parameters": {"binary_data_size": len(data)},
    }
    settings = {"binary_data_output": True}
    head = json.dumps({"inputs": [each], "parameters": settings}).encode()
    lines = (
        "POST /v2/models/model/infer HTTP/1.1\r\nHost: localhost\r\n"
        f"Inference-Header-Content-Length: {len(head)}\r\n"
        f"Content-Length: {len(head) + len(data)}\r\n\r\n"
    )
    return lines.encode() + head + data


def read_v2(body):
    """The output in an answer of the v2 protocol."""
    text, end = json.JSONDecoder().raw_decode(body.decode("latin-1"))
    return np.frombuffer(body[end:], "f4").reshape(text["outputs"][0]["shape"])


def read_npy(body):
    """The array of a .npy file."""
    return np.load(io.BytesIO(body))


def request_npy(rows):
    """The bytes of a request of a .npy file."""
    file = io.BytesIO()
    np.save(file, rows)
    body = file.getvalue()
    head = (
        "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-npy\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def measured(port, clients, seconds, wanted, form=(request_npy, read_npy)):
    """Requests a second, and the seconds of each; every answer is near `wanted`."""
    rows = np.random.default_rng(0).random((1, *SHAPE), "float32")
    found, loop = [], selectors.DefaultSelector()
    every = [Client(port, form[0](rows)) for _ in range(clients)]
    for each in every:
        loop.register(each.socket, selectors.EVENT_READ, each)
        each.ask()
    start = time.perf_counter()
    end, busy, last = start + seconds, clients, None
    while busy:
        for key, _ in loop.select():
            client = key.data
            body = client.read()
            if body is None:
                continue
            now, last = time.perf_counter(), body
            found.append(now - client.begin)
            if now < end:
                client.ask()
            else:
                busy -= 1
    passed = time.perf_counter() - start
    for each in every:
        each.socket.close()
    answer = form[1](last)
    if wanted is not None and not np.allclose(answer, wanted, rtol=1e-3, atol=1e-5):
        raise SystemExit(f"the servers disagree: {answer}, {wanted}")
    return len(found) / passed, found, answer


FORMS = (request_npy, read_npy), (request_v2, read_v2)


def main():
    """Measure, and print the rows of a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--onnxruntime", metavar="PYTHON", help="one that has onnxruntime")
    parser.add_argument("--torch", metavar="PYTHON", help="one that has PyTorch")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--networks", nargs="*", default=list(NETWORKS), choices=list(NETWORKS))
    args = parser.parse_args()
    import cynet as mx  # imported late: --help stays quick

    columns = (
        "network, clients",
        "server",
        "requests/s",
        "p50, ms",
        "p99, ms",
        "CPU, ms a request",
    )
    print("|", " | ".join((*columns, "x it")), "|")
    print("|---" * (len(columns) + 1) + "|")
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for network in args.networks:
            write_network(mx, network, folder)
            shape = ",".join(map(str, SHAPE))
            commands = {
                "cynet": [
                    sys.executable,
                    "-m",
                    "cynet.tools.serve",
                    folder / network,
                    "--port",
                    "0",
                    "--shape",
                    shape,
                ]
            }
            peers = {
                "ONNX Runtime": (args.onnxruntime, "onnxruntime", folder / f"{network}.onnx"),
                "PyTorch": (args.torch, "torch", network, folder / f"{network}.npz"),
            }
            for name, (python, *what) in peers.items():
                if python:
                    commands[name] = [python, WORKER, "0", *what]
                    commands[f"{name}, 1 thread"] = [python, WORKER, "1", *what]
            servers = {}
            try:
                for name, command in commands.items():
                    servers[name] = Server(command)
                    if name == "cynet":
                        servers["cynet, v2"] = servers[name]
                wanted = None
                for clients in CLIENTS:
                    rows = {name: [] for name in servers}
                    for turn in range(args.rounds + 1):
                        for name, server in servers.items():
                            # the first turn warms up
                            length = args.seconds if turn else args.seconds / 4
                            used = server.cpu_seconds()
                            rate, times, wanted = measured(
                                server.port, clients, length, wanted, FORMS[name[-2:] == "v2"]
                            )
                            used = (server.cpu_seconds() - used) / len(times)
                            if turn:
                                percentiles = np.percentile(times, [50, 99])
                                rows[name].append((rate, *percentiles * 1e3, used * 1e3))
                    tell(NETWORKS[network], clients, rows, results)
            finally:
                for server in dict.fromkeys(servers.values()):
                    server.stop()
    print(json.dumps(results))


def tell(network, clients, rows, results):
    """Print the medians of each server."""
    medians = {name: [statistics.median(c) for c in zip(*each)] for name, each in rows.items()}
    for name, (rate, p50, p99, used) in medians.items():
        ratio = medians["cynet"][0] / rate
        cells = f"{network}, {clients}", name, f"{rate:,.0f}"
        cells += f"{p50:.2f}", f"{p99:.2f}", f"{used:.2f}", f"{ratio:.2f}"
        print("|", " | ".join(cells), "|", flush=True)
        results[f"{network}, {clients}, {name}"] = [rate, p50, p99, used]


if __name__ == "__main__":
    main()
