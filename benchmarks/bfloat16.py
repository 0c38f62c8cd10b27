"""bfloat16 beside float32, and beside PyTorch's: a matrix product and convolutions.

    python benchmarks/bfloat16.py --torch PYTHON

cynet and PyTorch are measured in turns, in processes of their own; the best round counts.
"""

import argparse
import json
import subprocess
import sys

import numpy as np
from harness import median_time, readable

WORK = {
    "FullyConnected, 1024 x 1024 x 1024": ("dense", 1024),
    "convolution 3x3, 64 channels, 56x56, batch 16": ("conv", 64, 56, 16),
    "convolution 3x3, 256 channels, 14x14, batch 32": ("conv", 256, 14, 32),
}
DTYPES = "float32", "bfloat16"


def arrays(kind, *sizes):
    """Data and weight."""
    rng = np.random.RandomState(0)
    if kind == "dense":
        return rng.randn(sizes[0], sizes[0]).astype("f"), rng.randn(sizes[0], sizes[0]).astype("f")
    channels, side, batch = sizes
    return (
        rng.randn(batch, channels, side, side).astype("f"),
        rng.randn(channels, channels, 3, 3).astype("f"),
    )


def of_cynet(kind, dtype, data, weight):
    """Functions that run forward, and forward and backward."""
    import cynet as mx

    options = {"no_bias": True, "name": "layer"}
    if kind == "dense":
        net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=len(weight), **options)
    else:
        options.update(kernel=(3, 3), pad=(1, 1), num_filter=len(weight))
        net = mx.sym.Convolution(mx.sym.var("data"), **options)

    def bound(grad_req):
        types = {"data": dtype, "layer_weight": dtype}
        made = net.simple_bind(mx.cpu(), data=data.shape, type_dict=types, grad_req=grad_req)
        made.arg_dict["data"][:], made.arg_dict["layer_weight"][:] = data, weight
        return made

    predictor, trainer = bound("null"), bound("write")
    head = mx.nd.ones(predictor.outputs[0].shape, dtype=dtype)

    def forward():
        predictor.forward(is_train=False)
        mx.nd.waitall()

    def both():
        trainer.forward(is_train=True)
        trainer.backward([head])
        mx.nd.waitall()

    return forward, both


def of_torch(kind, dtype, data, weight):
    """The same; channels-last, as PyTorch is fastest."""
    import torch

    data, weight = (torch.from_numpy(a).to(getattr(torch, dtype)) for a in (data, weight))
    if kind == "conv":
        data, weight = (a.to(memory_format=torch.channels_last) for a in (data, weight))

    def call():
        if kind == "dense":
            return torch.nn.functional.linear(data, weight)
        return torch.nn.functional.conv2d(data, weight, padding=1)

    def forward():
        with torch.no_grad():
            call()

    def both():
        data.grad = weight.grad = None
        data.requires_grad_(), weight.requires_grad_()
        out = call()
        out.backward(torch.ones_like(out))

    return forward, both


def worker(package):
    """Print {work, dtype, kind of run: seconds} of one process, as JSON."""
    make = of_torch if package == "torch" else of_cynet
    found = {}
    for name, (kind, *sizes) in WORK.items():
        for dtype in DTYPES:
            for what, function in zip(
                ("forward", "both"), make(kind, dtype, *arrays(kind, *sizes))
            ):
                found[f"{name}, {what}, {dtype}"] = median_time(function, repeat=9)
    print(json.dumps(found))


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--torch", metavar="PYTHON", help="a Python with PyTorch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker(options.worker)
    pythons = {"cynet": sys.executable}
    if options.torch:
        pythons["torch"] = options.torch
    best = {package: {} for package in pythons}
    for _ in range(options.rounds):
        for package, python in pythons.items():
            command = [python, __file__, "--worker", package]
            text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            for name, seconds in json.loads(text.splitlines()[-1]).items():
                best[package][name] = min(seconds, best[package].get(name, seconds))
    print(f"{'':<58}{'cynet':>10}{'float32':>10}{'torch':>10}")
    for name, seconds in best["cynet"].items():
        wide = best["cynet"][name.rpartition(", ")[0] + ", float32"]
        peer = best.get("torch", {}).get(name)
        ratio = "-" if peer is None else f"x {peer / seconds:.2f}"
        print(f"{name:<58}{readable(seconds):>10}{f'x {wide / seconds:.2f}':>10}{ratio:>10}")


if __name__ == "__main__":
    main()
