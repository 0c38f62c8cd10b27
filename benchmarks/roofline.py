"""How near training steps come to the machine's measured matrix product.

The arithmetic of a step is counted from its plan: convolutions and matrix products, forward and
backward, two operations a multiply-add (`cynet.graph.cost.flops`). The peak is the best product of
two 2048 x 2048 matrices that cynet reaches, by dot and by FullyConnected, before or after the step:
the machine's speed changes. Winograd's convolutions do less arithmetic than is counted. The last
two columns: which share of the step's time the products take, step by step, and how much of the
peak they reach by themselves. ``CYNET_NUM_THREADS=1`` gives one core's.
"""

import argparse
import importlib
import sys
from pathlib import Path

import numpy as np
from harness import median_time
from peers import networks_mx

import cynet as mx
from cynet.graph.cost import flops

EXAMPLE = Path(__file__).parent.parent / "examples" / "image_classification"
CASES = {  # name: file of symbols/, options, batch size, shape of an image
    "MLP, batch 128": ("mlp", {}, 128, (1, 28, 28)),
    "LeNet, batch 128": ("lenet", {}, 128, (1, 28, 28)),
    "ResNet-20, 32x32, batch 64": (
        "resnet",
        {"num_layers": 20, "image_shape": (3, 32, 32), "version": 1},
        64,
        (3, 32, 32),
    ),
    "Inception-BN, 64x64, batch 32": (
        "inception_bn",
        {"image_shape": (3, 64, 64)},
        32,
        (3, 64, 64),
    ),
    "LSTM, 28 steps, batch 64": ("lstm", {}, 64, (1, 28, 28)),
    "ResNet-50, 112x112, batch 8": (
        "resnet",
        {"num_layers": 50, "image_shape": (3, 112, 112)},
        8,
        (3, 112, 112),
    ),
    "VGG-16, 112x112, batch 4": ("vgg", {"num_layers": 16}, 4, (3, 112, 112)),
    # networks of peers/networks_mx.py
    "GELU MLP, batch 128": (networks_mx.gelu_mlp, {}, 128, (1, 28, 28)),
    "dense autoencoder, batch 128": (networks_mx.autoencoder, {}, 128, (1, 28, 28)),
    "attention, batch 16": (networks_mx.attention, {}, 16, (64, 256)),
}


def peak(n=2048):
    """Operations a second of the fastest product of two n x n matrices."""
    rng = np.random.default_rng(0)
    a, b = (mx.nd.array(rng.standard_normal((n, n), "float32")) for _ in range(2))
    times = [
        median_time(lambda: mx.nd.dot(a, b).wait_to_read()),
        median_time(lambda: mx.nd.FullyConnected(a, b, num_hidden=n, no_bias=True).wait_to_read()),
    ]
    return 2 * n**3 / min(times)


def symbol_of(source, options):
    """The Symbol of a file of symbols/, or what a function makes."""
    if callable(source):
        return source(mx)
    return importlib.import_module(f"symbols.{source}").get_symbol(10, **options)


def step(source, options, batch, shape):
    """(operations, seconds, seconds of the operators that do them) of forward and backward of one
    batch."""
    symbol = symbol_of(source, options)
    requests = dict.fromkeys(symbol.list_arguments(), "write")
    given = [name for name in requests if name == "data" or name.endswith("label")]
    requests |= dict.fromkeys(given, "null")  # data and labels get no gradient
    executor = symbol.simple_bind(mx.cpu(), grad_req=requests, data=(batch, *shape))
    rng = np.random.default_rng(0)
    for name, array in executor.arg_dict.items():
        if not name.endswith("label"):
            array[:] = 0.05 * rng.standard_normal(array.shape)

    def run():
        executor.forward(is_train=True)
        executor.backward()
        mx.nd.waitall()

    each = list(map(flops, executor._graph.steps))
    seconds = median_time(run, repeat=5, warm_up=2)
    times = [time for _, _, time in executor.profile(run)]
    products = sum(time for time, work in zip(times, each) if work) * 1e-6
    return sum(each), seconds, seconds * products / (sum(times) * 1e-6)


def main():
    """Print the peak and the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="beginnings of rows (default: all)")
    args = parser.parse_args()
    sys.path.insert(0, str(EXAMPLE))
    head = "GFLOP | ms | GFLOP/s | peak then | of it | products' time | of the peak"
    print(f"| forward and backward | {head} |")
    print("|---" * 8 + "|")
    before = peak()
    for name, case in CASES.items():
        if args.names and not name.startswith(tuple(args.names)):
            continue
        operations, seconds, products = step(*case)
        rate, after = operations / seconds, peak()
        best, before = max(before, after), after
        cells = f"{operations / 1e9:.3g} | {seconds * 1e3:.3g} | {rate / 1e9:.0f}"
        cells += f" | {best / 1e9:.0f} | {rate / best:.0%} | {products / seconds:.0%}"
        print(f"| {name} | {cells} | {operations / products / best:.0%} |", flush=True)


if __name__ == "__main__":
    main()
