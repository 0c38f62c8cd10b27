"""How the time to bind a network grows with its nodes: the same kind of graph in doubling sizes.

``python benchmarks/bind.py`` prints a table; ``--mxnet PYTHON`` puts
that Python's MXNet beside it, names of kinds choose rows, ``--largest N`` leaves larger ones out.
"Growth" is the time over that of half the nodes: 2 is linear. Every size runs in a process of its
own, and its time is the least of three unless it takes long.
"""

import argparse
import importlib
import json
import subprocess
import sys
import time


def by_channel(mx, net, channels, name):
    """`net` split into its channels, each with a convolution of its own, and joined again."""
    parts = mx.sym.SliceChannel(net, num_outputs=channels, axis=1)
    window = {"num_filter": 1, "kernel": (3, 3), "pad": (1, 1), "no_bias": True}
    made = [mx.sym.Convolution(parts[i], name=f"{name}{i}", **window) for i in range(channels)]
    return mx.sym.Concat(*made, dim=1)


def split_convolutions(mx, n):
    """Layers that are split into 256 channels, each with a convolution of its own."""
    net, channels = mx.sym.Variable("data"), min(256, n)
    for layer in range(n // channels):
        net = by_channel(mx, net, channels, f"c{layer}_")
        net = mx.sym.Activation(net, act_type="relu")
    return net, {"data": (1, channels, 4, 4)}


def xception(mx, n):
    """Residual units of two separable convolutions written out: a convolution a channel, one over
    all, BatchNorm, relu."""
    channels, count = 128, 0
    net = mx.sym.Variable("data")
    while count < n:
        before = net
        for half in range(2):
            name = f"u{count}_{half}"
            net = by_channel(mx, net, channels, f"{name}d")
            net = mx.sym.Convolution(
                net, num_filter=channels, kernel=(1, 1), no_bias=True, name=f"{name}p"
            )
            net = mx.sym.Activation(mx.sym.BatchNorm(net, name=f"{name}b"), act_type="relu")
            count += 2 * channels + 9
        net = net + before
    return net, {"data": (1, channels, 8, 8)}


def chain(mx, n):
    """Elementwise operators, one behind the other."""
    net = mx.sym.Variable("data")
    for i in range(n):
        net = mx.sym.tanh(net) if i % 2 else net * 0.5
    return net, {"data": (2, 8)}


def add_n(mx, n):
    """A network that sums all variables by one operator."""
    names = [f"x{i}" for i in range(n)]
    return mx.sym.add_n(*map(mx.sym.Variable, names)), {names[0]: (2, 8)}


def branches(mx, n):
    """One input, many branches of two layers, joined by Concat: a wide network."""
    data = mx.sym.Variable("data")
    parts = [
        mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=4, name=f"f{i}"), act_type="tanh")
        for i in range(n // 4)
    ]
    return mx.sym.FullyConnected(mx.sym.Concat(*parts, dim=1), num_hidden=4), {"data": (8, 8)}


def embeddings(mx, n):
    """The inputs of a recommender: an index and a table each."""
    names = [f"x{i}" for i in range(n // 3)]
    parts = [
        mx.sym.Embedding(mx.sym.Variable(name), input_dim=10, output_dim=4, name=f"e{i}")
        for i, name in enumerate(names)
    ]
    return mx.sym.Concat(*parts, dim=1), dict.fromkeys(names, (8,))


def recurrent(mx, n):
    """An LSTM written out, 20 nodes a step."""
    size, steps = 16, max(n // 20, 1)
    inputs = mx.sym.SliceChannel(
        mx.sym.Variable("data"), num_outputs=steps, axis=1, squeeze_axis=True
    )
    weights = {name: mx.sym.Variable(name) for name in ("i_weight", "i_bias", "h_weight", "h_bias")}
    hidden, cell = mx.sym.Variable("hidden"), mx.sym.Variable("cell")
    for i in range(steps):
        gates = mx.sym.FullyConnected(
            inputs[i], weights["i_weight"], weights["i_bias"], num_hidden=4 * size
        ) + mx.sym.FullyConnected(
            hidden, weights["h_weight"], weights["h_bias"], num_hidden=4 * size
        )
        a, b, c, d = mx.sym.SliceChannel(gates, num_outputs=4, axis=1)
        cell = mx.sym.sigmoid(a) * mx.sym.tanh(b) + mx.sym.sigmoid(c) * cell
        hidden = mx.sym.sigmoid(d) * mx.sym.tanh(cell)
    shapes = {"data": (4, steps, 8), "hidden": (4, size), "cell": (4, size)}
    return hidden, shapes


KINDS = {  # name: function, nodes, modes
    "split convolutions": (split_convolutions, (1024, 2048, 4096)),
    "Xception, a convolution a channel": (xception, (8750, 17500, 35000)),
    "chain of elementwise operators": (chain, (12500, 25000, 50000)),
    "sum of variables": (add_n, (1250, 2500, 5000)),
    "wide network": (branches, (5000, 10000, 20000)),
    "embeddings": (embeddings, (3750, 7500, 15000)),
    "LSTM written out": (recurrent, (5000, 10000, 20000)),
}
MODES = {"training": "write", "prediction": "null"}


def measure(package, kind, n, mode):
    """(nodes, seconds) of one row, in this process."""
    mx = importlib.import_module(package)
    net, shapes = KINDS[kind][0](mx, n)
    nodes = len(json.loads(net.tojson())["nodes"])
    times = []
    while not times or (len(times) < 3 and sum(times) < 5):
        start = time.perf_counter()
        net.simple_bind(mx.cpu(), grad_req=MODES[mode], **shapes)
        times.append(time.perf_counter() - start)
    return nodes, min(times)


def ask(python, package, kind, n, mode):
    """Measure in a process of its own; None where it fails."""
    command = [python, __file__, "--one", package, kind, str(n), mode]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", help="parts of names of kinds (default: all)")
    parser.add_argument("--mxnet", metavar="PYTHON", help="a Python that has MXNet 1.x")
    parser.add_argument("--largest", type=int, default=10**9, help="no more nodes than these")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        package, kind, n, mode = args.one
        print(json.dumps(measure(package, kind, int(n), mode)))
        return
    print("| graph | nodes | mode | seconds | growth | MXNet | x MXNet |")
    print("|---|---|---|---|---|---|---|")
    for kind, (_, sizes) in KINDS.items():
        if args.kinds and not any(each in kind for each in args.kinds):
            continue
        for mode in MODES:
            before = None
            for n in (each for each in sizes if each <= args.largest):
                nodes, seconds = ask(sys.executable, "cynet", kind, n, mode)
                growth = f"{seconds / before:.2f}" if before else ""
                before, beside = seconds, ("", "")
                if args.mxnet:
                    other = ask(args.mxnet, "mxnet", kind, n, mode)
                    beside = (
                        ("fails", "")
                        if other is None
                        else (f"{other[1]:.2f}", f"{other[1] / seconds:.2f}")
                    )
                row = (kind, f"{nodes:,}", mode, f"{seconds:.2f}", growth, *beside)
                print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
