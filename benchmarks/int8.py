"""Prediction in int8 beside float32: ResNet-50 and MobileNet v2, batch 1 and 8; with --peers also
ONNX Runtime and OpenVINO, which predict with the same integers (the network exported as QDQ) and
with those of ONNX Runtime's own quantizer ("own": of uint8, which both prefer).

    python benchmarks/int8.py [--networks mobilenet_v2 ...] [--peers PYTHON]

Weights are random; limits are found on the batch itself. Rounds of all forms are interleaved, the
best of each counts. Which instructions there are, says the first line: with VNNI or AMX int8 has
two to eight times the products of float32, with AVX2 alone, whose exact products are those of
integers of 16 bits, 1.7 times. PYTHON is one that has onnxruntime and openvino.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from cynet.kernels.conv.onednn_int8 import uses_onednn_int8

import cynet as mx
from cynet.contrib import quantization
from cynet.kernels.isa.dispatch import cpu_capability

NETWORKS = {
    "resnet50": mx.gluon.model_zoo.vision.resnet50_v1,
    "mobilenet_v2": mx.gluon.model_zoo.vision.mobilenet_v2_1_0,
}
PEERS = "onnxruntime", "openvino"
WORKER = Path(__file__).parent / "peers" / "worker_int8.py"


class Peer:
    """A process in which a library predicts with a file."""

    def __init__(self, python, library, path, threads):
        self.process = subprocess.Popen(
            [python, "-W", "ignore", WORKER, library, path, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.read()

    def read(self):
        """Read the worker's next answer."""
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args[3]} has ended, status {self.process.wait()}")
        return json.loads(line)

    def seconds(self):
        """Seconds of one prediction, as the worker measures them."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.read()

    def end(self):
        """Let the process go."""
        self.process.stdin.close()
        self.process.wait()


def timed(block, data):
    """A function that predicts and gives the seconds."""
    block.hybridize(static_alloc=True, static_shape=True)

    def seconds():
        start = time.perf_counter()
        block(data).wait_to_read()
        return time.perf_counter() - start

    return seconds


def forms(make, batch, python, folder):
    """Name of a form to a function that predicts, how far int8 is from float32, peers to end."""
    data = mx.nd.random.uniform(shape=(batch, 3, 224, 224))
    net = make()
    net.initialize(mx.init.Xavier())
    net(data)
    small = quantization.quantize_net(net, calib_mode="naive", calib_data=[data])
    found, peers = {"float32": timed(net, data), "int8": timed(small, data)}, []
    wanted, made = net(data).asnumpy(), small(data).asnumpy()
    error = np.sqrt(np.square(made - wanted).mean() / np.square(wanted).mean())
    if python is not None:
        ours = exported(small, folder / "int8", data.shape)
        floats, own = exported(net, folder / "net", data.shape), f"{folder}/own.onnx"
        command = [python, "-W", "ignore", WORKER, "quantize", floats, own]
        subprocess.run(command, check=True, capture_output=True)
        for library in PEERS:
            for words, path in (("", ours), (" own", own)):
                peers.append(Peer(python, library, path, mx.get_num_threads()))
                found[library + words] = peers[-1].seconds
    return found, error, peers


def exported(block, prefix, shape):
    """The path of an ONNX file of a hybridized block."""
    block.export(str(prefix))
    return mx.onnx.export_model(
        f"{prefix}-symbol.json", f"{prefix}-0000.params", [shape], onnx_file_path=f"{prefix}.onnx"
    )


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", nargs="*", default=list(NETWORKS), choices=NETWORKS)
    parser.add_argument("--batches", nargs="*", type=int, default=[1, 8])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--peers", metavar="PYTHON")
    args = parser.parse_args()
    print(f"level: {cpu_capability()}; int8 by {'oneDNN' if uses_onednn_int8() else 'own loops'}")
    for name in args.networks:
        for batch in args.batches:
            with tempfile.TemporaryDirectory() as folder:
                made, error, peers = forms(NETWORKS[name], batch, args.peers, Path(folder))
            best = dict.fromkeys(made, float("inf"))
            for _ in range(args.rounds):
                for form, seconds in made.items():
                    best[form] = min(best[form], seconds())
            for peer in peers:
                peer.end()
            times = ", ".join(f"{form} {1e3 * each:.1f} ms" for form, each in best.items())
            gains = ", ".join(
                f"{best[form] / best['int8']:.2f} x {form}" for form in best if form != "int8"
            )
            told = f"{name}, batch {batch}: {times}; {gains}; outputs differ {error:.3f}"
            print(told, flush=True)


if __name__ == "__main__":
    main()
