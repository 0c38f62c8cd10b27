"""Profiles the training of a small network: which operators take the time, and when they run."""

import json
import logging
import sys
from pathlib import Path

import numpy as np

import cynet as mx

sys.path.append(str(Path(__file__).parents[1] / "gluon"))
import common


def network():
    """Two convolutions with batch normalization, two linear maps."""
    net = mx.sym.Variable("data")
    for number, filters in enumerate((32, 64), 1):
        net = mx.sym.Convolution(
            net, kernel=(3, 3), pad=(1, 1), num_filter=filters, name=f"conv{number}"
        )
        net = mx.sym.relu(mx.sym.BatchNorm(net, name=f"norm{number}"))
        net = mx.sym.Pooling(
            net, kernel=(2, 2), stride=(2, 2), pool_type="max", name=f"pool{number}"
        )
    net = mx.sym.relu(mx.sym.FullyConnected(net, num_hidden=128, name="fc1"))
    net = mx.sym.FullyConnected(net, num_hidden=10, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def fit(module, batches, args, begin, end):
    return module.fit(
        batches,
        begin_epoch=begin,
        num_epoch=end,
        initializer=mx.init.Xavier(),
        optimizer="adam",
        optimizer_params={"learning_rate": args.lr},
        batch_end_callback=common.bar(-(-batches.num_data // args.batch_size)),
    )


def by_node(events):
    """{(node, direction): milliseconds} of the operators in a trace."""
    out = {}
    for each in events:
        node = each.get("args", {}).get("node")
        if node:
            key = node, each["args"].get("direction", "")
            out[key] = out.get(key, 0) + each["dur"] / 1000
    return out


def table(rows, steps):
    """Lines of the rows (node, direction), milliseconds, the longest first."""
    whole = sum(rows.values())
    yield f"{'node':24} {'direction':9} {'us a step':>9} {'share':>6}"
    for (node, direction), time in sorted(rows.items(), key=lambda row: -row[1]):
        yield f"{node:24} {direction:9} {1000 * time / steps:9.1f} {time / whole:6.1%}"


def fastest(events, steps):
    """The operators of the step that took the shortest time."""
    spans = sorted((x for x in events if x.get("args", {}).get("node")), key=lambda x: x["ts"])
    count = len(spans) // steps
    parts = [spans[i * count : (i + 1) * count] for i in range(steps)]
    return min(parts, key=lambda part: max(x["ts"] + x["dur"] for x in part) - part[0]["ts"])


def draw(path, rows, step):
    """Where the time goes, by node; and what ran on each thread in a step."""
    pyplot = common.matplotlib_or_word("plot")
    if pyplot is None:
        return
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, 4.5), layout="constrained")
    whole = sum(rows.values())
    largest = sorted(rows.items(), key=lambda row: row[1])[-12:]
    names = [" ".join(key) for key, _ in largest]
    left.barh(names, [100 * time / whole for _, time in largest])
    left.set(title="share of the operators' time, %")
    left.grid(axis="x", alpha=0.3)
    first = min(each["ts"] for each in step)
    threads = sorted({each["tid"] for each in step})
    for kind, colour in (("forward", "steelblue"), ("backward", "darkorange")):
        some = [each for each in step if each["args"].get("direction") == kind]
        right.barh(
            [threads.index(each["tid"]) for each in some],
            [each["dur"] for each in some],
            left=[each["ts"] - first for each in some],
            height=0.6,
            color=colour,
            edgecolor="white",
            linewidth=0.3,
            label=kind,
        )
    right.set(title="the fastest step", xlabel="microseconds", ylabel="thread")
    right.set(yticks=range(len(threads)), ylim=(-0.6, len(threads) - 0.1))
    right.legend(loc="upper right", ncols=2)
    figure.savefig(path, dpi=100, format="png")
    pyplot.close(figure)
    logging.info("plot: %s", path)


def main(argv=None):
    """Train with and without the profiler; returns {(node, direction): milliseconds}, steps."""
    parser = common.parser(__doc__, without=["workers", "eager"], epochs=2)
    common.add_dataset(parser)
    parser.add_argument("--rows", type=common.positive, default=12, help="rows of the table")
    args = parser.parse_args(argv)
    ctx = common.start(args)
    (images, labels), _ = common.arrays(args.dataset)
    logging.info("%d images, %d epochs with the profiler", len(images), args.epochs)
    batches = mx.io.NDArrayIter(images, labels, args.batch_size, shuffle=True)
    module = mx.mod.Module(network(), context=ctx)
    folder = Path(args.out)
    # the first epoch allocates memory and chooses algorithms, the next ones are what is looked at
    fit(module, batches, args, 0, 1)
    plain = fit(module, batches, args, 1, 1 + args.epochs).times
    mx.profiler.set_config(profile_all=True, filename=str(folder / "trace.json"))
    mx.profiler.set_state("run")
    history = fit(module, batches, args, 1 + args.epochs, 1 + 2 * args.epochs)
    mx.profiler.set_state("stop")
    steps = args.epochs * -(-len(images) // args.batch_size)
    (folder / "table.txt").write_text(mx.profiler.dumps(sort_by="total"))
    mx.profiler.dump()
    events = json.loads((folder / "trace.json").read_text())["traceEvents"]
    rows = by_node(events)
    for line in list(table(rows, steps))[: 1 + args.rows]:
        logging.info("%s", line)
    logging.info(
        "an epoch: %.0f ms without the profiler, %.0f ms with it",
        1000 * np.mean(plain),
        1000 * np.mean(history.times),
    )
    draw(folder / "profile.png", rows, fastest(events, steps))
    logging.info("table of all operators: %s", folder / "table.txt")
    logging.info("trace, for https://ui.perfetto.dev: %s", folder / "trace.json")
    return rows, steps


if __name__ == "__main__":
    main()
