"""Serve a network and ask it from many clients: requests a second and latencies.

python examples/serving/load_test.py [--clients N] [--requests N] [--model PREFIX --shape N,N,...]
"""

import argparse
import http.client
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

import cynet as mx


def lenet(prefix, shape):
    """Write the checkpoint of a small network with random weights."""
    x = mx.sym.Variable("data")
    for i, filters in enumerate((8, 16)):
        x = mx.sym.Convolution(x, kernel=(5, 5), num_filter=filters, name=f"conv{i}")
        x = mx.sym.Activation(x, act_type="relu")
        x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=64, name="fc0")
    x = mx.sym.FullyConnected(mx.sym.Activation(x, act_type="relu"), num_hidden=10, name="fc1")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(x, name="softmax"))
    module.bind([("data", (1, *shape))], [("softmax_label", (1,))])
    module.init_params(mx.init.Xavier())
    module.save_checkpoint(prefix, 1)


class Server:
    """python -m cynet.tools.serve in a process of its own."""

    def __init__(self, model, shape, *settings):
        command = [sys.executable, "-m", "cynet.tools.serve", model, "--port", "0"]
        command += ["--shape", ",".join(map(str, shape)), *settings]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the server did not start")
        self.port = int(line.rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=30)

    def rows_per_batch(self):
        """Mean of all batches until now."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        connection.close()
        found = (line.rsplit(" ", 1) for line in lines if line[0] != "#")
        values = {name.partition("{")[0]: float(value) for name, value in found}
        return values["cynet_rows_total"] / values["cynet_batches_total"]


def ask(port, shape, requests, clients):
    """Seconds of each request, and of all requests together."""
    file = io.BytesIO()
    np.save(file, np.random.default_rng(0).random((1, *shape), "float32"))
    body, seconds, left = file.getvalue(), [], iter(range(requests))
    failures, lock = [], threading.Lock()

    def client():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while True:
            with lock:
                if next(left, None) is None or failures:
                    break
            start = time.perf_counter()
            connection.request("POST", "/predict", body, {"Content-Type": "application/x-npy"})
            answer = connection.getresponse()
            content = answer.read()
            seconds.append(time.perf_counter() - start)
            if answer.status != 200:
                failures.append(json.loads(content)["error"])
        connection.close()

    threads = [threading.Thread(target=client) for _ in range(clients)]
    start = time.perf_counter()
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    if failures:
        raise SystemExit(f"the server refused a request: {failures[0]}")
    return seconds, time.perf_counter() - start


class Formatter(argparse.ArgumentDefaultsHelpFormatter):
    """Help that says the default of an option that has one."""

    def _get_help_string(self, action):
        return action.help if action.default is None else super()._get_help_string(action)


def main():
    about = __doc__.splitlines()[0]
    parser = argparse.ArgumentParser(description=about, formatter_class=Formatter)
    parser.add_argument("--model", help="prefix of a checkpoint (default: a LeNet is made)")
    parser.add_argument("--shape", default="1,28,28", help="shape of one row of its input")
    parser.add_argument("--clients", type=int, default=32, help="clients at the same time")
    parser.add_argument("--requests", type=int, default=500, help="requests of all together")
    args = parser.parse_args()
    shape = tuple(int(n) for n in args.shape.split(","))
    with tempfile.TemporaryDirectory() as folder:
        model = args.model
        if model is None:
            model = os.path.join(folder, "lenet")
            lenet(model, shape)
        print(f"{args.requests} requests from {args.clients} clients")
        print("max batch  requests/s   p50 ms   p99 ms  rows/batch")
        for maximum in (1, 32):
            with Server(model, shape, "--max-batch", str(maximum)) as server:
                ask(server.port, shape, args.clients, args.clients)  # connections, threads
                seconds, total = ask(server.port, shape, args.requests, args.clients)
                p50, p99 = np.percentile(seconds, [50, 99]) * 1000
                rows = server.rows_per_batch()
            print(f"{maximum:9}{len(seconds) / total:12.0f}{p50:9.1f}{p99:9.1f}{rows:12.1f}")


if __name__ == "__main__":
    main()
