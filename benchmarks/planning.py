"""What a new input shape costs, and many known ones: plans of hybridized Blocks and Modules.

``python benchmarks/planning.py`` prints both tables: the time of making a plan and of its first
run, in ms an operator of the network, and steps over 8, 24, 40 and 200 shapes in turn, with
the resident memory behind them. Names of networks choose rows; ``plans`` or ``shapes`` one table.
Every row runs in a process of its own. Times are the process's CPU time, so that other work on the
machine does not count.
"""

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from peers.networks_gluon import encoder

ORDER = 37  # shapes are taken in steps of it, so that neither larger nor smaller ones come first
COUNTS = 8, 24, 40, 200
MODES = "prediction", "training", "Module prediction", "Module training"


def bert(mx, layers=4, width=128, heads=2, words=1000):
    """A small BERT: embedding, encoder blocks of post-norm attention, a classifier."""
    nn = mx.gluon.nn

    net = nn.HybridSequential()
    net.add(nn.Embedding(words, width))
    for _ in range(layers):
        net.add(encoder(mx, width, heads, "gelu"))
    net.add(nn.HybridLambda(lambda F, x: F.mean(x, axis=1)), nn.Dense(10, in_units=width))
    return net


def cnn(mx, layers=60, channels=2):
    """Convolution, BatchNorm and relu, many times, and a classifier."""
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    for _ in range(layers):
        net.add(nn.Conv2D(channels, 3, padding=1, in_channels=channels, activation="relu"))
        net.add(nn.BatchNorm(in_channels=channels))
    net.add(nn.GlobalAvgPool2D(), nn.Dense(10, in_units=channels))
    return net


def resnet50(mx):
    """ResNet-50 of the model zoo."""
    return mx.gluon.model_zoo.vision.resnet50_v1(classes=10)


# name: (network, function of a number from 0 to 199 that gives a shape of its own)
NETWORKS = {
    "small BERT": (bert, lambda i: (2, 8 + i)),
    "60-layer CNN": (cnn, lambda i: (1, 2, 8 + i % 20, 6 + i // 20)),
    "ResNet-50": (resnet50, lambda i: (1, 3, 32 + 2 * (i % 20), 32 + 2 * (i // 20))),
}


def resident():
    """MiB of memory that this process has."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0


def worker(mx, name, mode):
    """(function of a shape that takes a step and waits for it, number of operators)."""
    make, _ = NETWORKS[name]
    net = make(mx)
    net.initialize(mx.init.Uniform(0.05))
    arrays = {}

    def data(shape):
        if shape not in arrays:
            arrays[shape] = mx.nd.ones(shape)
        return arrays[shape]

    symbol = net(mx.sym.Variable("data"))
    nodes = json.loads(symbol.tojson())["nodes"]
    count = sum(node["op"] != "null" for node in nodes)
    if mode.startswith("Module"):
        return module_worker(mx, symbol, mode.endswith("training"), data), count
    net(mx.nd.ones((1, 3, 64, 64)) if name == "ResNet-50" else data(NETWORKS[name][1](0)))
    net.hybridize()
    if mode == "prediction":

        def step(shape):
            net(data(shape)).wait_to_read()

        return step, count

    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1e-3})

    def step(shape):
        with mx.autograd.record():
            loss = net(data(shape)).sum()
        loss.backward()
        trainer.step(shape[0])
        mx.nd.waitall()

    return step, count


def module_worker(mx, symbol, training, data):
    """The step of a Module."""
    module, batches = [], {}
    if training:
        symbol = mx.sym.SoftmaxOutput(symbol, name="softmax")

    def batch(shape):
        if shape not in batches:
            label = [mx.nd.zeros(shape[:1])] if training else None
            batches[shape] = mx.io.DataBatch([data(shape)], label)
        return batches[shape]

    def bound(shape):
        names = ["softmax_label"] if training else None
        made = mx.mod.Module(symbol, label_names=names)
        labels = [("softmax_label", shape[:1])] if training else None
        made.bind([("data", shape)], labels, for_training=training)
        made.init_params(mx.init.Uniform(0.05))
        if training:
            made.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 1e-3})
        module.append(made)

    def step(shape):
        if not module:
            bound(shape)
        if training:
            module[0].forward_backward(batch(shape))
            module[0].update()
        else:
            module[0].forward(batch(shape), is_train=False)
        mx.nd.waitall()

    return step


def shapes_of(name, count):
    """The first `count` shapes, small and large mixed."""
    return [NETWORKS[name][1](i * ORDER % 200) for i in range(count)]


def timed(step, shape):
    """CPU seconds of one step."""
    start = time.process_time()
    step(shape)
    return time.process_time() - start


def plans(mx, name, mode):
    """(operators, ms of planning and first run, ms of a step): the median of ten new shapes."""
    step, count = worker(mx, name, mode)
    first, later = [], []
    for shape in shapes_of(name, 14):
        first.append(timed(step, shape))
        later.append(min(timed(step, shape) for _ in range(5)))
        gc.collect()
    new = statistics.median(a - b for a, b in zip(first[4:], later[4:]))
    return count, new * 1e3, statistics.median(later[4:]) * 1e3


def in_turn(mx, name, mode, maximum=COUNTS[-1]):
    """For each count: ms a step over so many shapes in turn, that of the same shapes one by one
    (each many times), and MiB of memory."""
    step, _ = worker(mx, name, mode)
    rows = []
    for count in (each for each in COUNTS if each <= maximum):
        shapes = shapes_of(name, count)
        for shape in shapes:
            step(shape)
        turns = []
        for _ in range(7 if count < 100 else 3):
            turns.append([timed(step, shape) for shape in shapes])
        turn = sum(map(min, zip(*turns)))
        once = sum(min(timed(step, shape) for _ in range(5)) for shape in shapes)
        rows.append((count, turn / count * 1e3, once / count * 1e3, resident()))
    return rows


def ask(table, name, mode):
    """The times that a process of its own measures."""
    command = [sys.executable, __file__, "--one", table, name, mode]
    # every shape has a plan at once: this measures plans, new_shapes.py the calls before
    setting = {**os.environ, "CYNET_RUNS_BEFORE_PLAN": "0"}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=setting)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of names of networks; plans; shapes")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        import cynet as mx

        table, name, mode = args.one
        print(json.dumps((plans if table == "plans" else in_turn)(mx, name, mode)))
        return
    asked = {each for each in args.names if each in ("plans", "shapes")} or {"plans", "shapes"}
    parts = [each for each in args.names if each not in ("plans", "shapes")]
    names = [each for each in NETWORKS if not parts or any(part in each for part in parts)]
    if "plans" in asked:
        print("| network | mode | operators | plan, ms | ms an operator | step, ms |")
        print("|---|---|---|---|---|---|")
        for name in names:
            for mode in MODES:
                count, new, later = ask("plans", name, mode)
                print(
                    f"| {name} | {mode} | {count} | {new:.1f} | {new / count:.2f} | {later:.2f} |",
                    flush=True,
                )
    if "shapes" in asked:
        print("| network | mode | shapes | ms a step | one after the other | MiB |")
        print("|---|---|---|---|---|---|")
        for name in names:
            for mode in MODES:
                for count, turn, once, size in ask("shapes", name, mode):
                    row = f"{count} | {turn:.2f} | {once:.2f} | {size:.0f}"
                    print(f"| {name} | {mode} | {row} |", flush=True)


if __name__ == "__main__":
    main()
