"""Draws the pictures of docs/architecture/performance.md: where time goes, a fit's threads, memory.

``python benchmarks/pictures.py [NAME ...] [--out FOLDER]`` measures on this machine and writes
``time.png``, ``fit.png`` and ``memory.png``. It needs matplotlib (the extra ``viz``).
"""

import argparse
import sys
import threading
import time
from collections import defaultdict
from math import prod
from pathlib import Path

import matplotlib
import numpy as np

import cynet as mx
from cynet.graph.compile import lower
from cynet.graph.cost import flops
from cynet.graph.ir import TEMP
from cynet.graph.memory_plan import plan_memory

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parent.parent
OUT = ROOT / "docs" / "architecture" / "pictures"
INK, QUIET = "#222222", "#8a8a8a"
KINDS = {  # kind: (colour, beginnings of the operators' names)
    "convolution": ("#3b6fb6", ("Convolution", "Deconvolution")),
    "matrix product": ("#7aa6d8", ("FullyConnected", "dot", "batch_dot")),
    "recurrent layer": ("#5e4b8b", ("RNN",)),
    "BatchNorm": ("#3d9a74", ("BatchNorm",)),
    "pooling": ("#a3cf8f", ("Pooling",)),
    "elementwise": ("#e0b04a", ("Activation", "elemwise", "_fused", "relu", "broadcast", "_plus")),
    "update": ("#c8553d", ("update",)),
    "the rest": ("#bdbdbd", ("",)),
}
plt.rcParams.update(
    {
        "font.size": 9,
        "axes.edgecolor": QUIET,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "text.color": INK,
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "hatch.linewidth": 0.6,
    }
)


def kind_of(operator):
    """The kind of KINDS that an operator belongs to."""
    return next(k for k, (_, begins) in KINDS.items() if operator.startswith(begins))


# --- where the time of a training step goes -------------------------------------------------------
def recurrent(num_classes=10):
    """Two LSTM layers in one operator over the rows of an image, and a classifier."""
    rows = mx.sym.transpose(mx.sym.reshape(mx.sym.Variable("data"), (0, -1, 28)), axes=(1, 0, 2))
    params = mx.sym.Variable("lstm_parameters", init=mx.init.Uniform(0.05))
    begin = [mx.sym.Variable(n, init=mx.init.Zero(), shape=(2, 64, 128)) for n in ("h", "c")]
    out = mx.sym.RNN(rows, params, *begin, mode="lstm", state_size=128, num_layers=2, name="lstm")
    last = mx.sym.reshape(mx.sym.slice_axis(out, axis=0, begin=-1, end=None), (-1, 128))
    return mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(last, num_hidden=num_classes, name="fc"), name="softmax"
    )


def networks():
    """Name, symbol, batch size and shape of an image of each bar."""
    sys.path.insert(0, str(ROOT / "examples" / "image_classification"))
    import symbols.lenet
    import symbols.mlp
    import symbols.resnet

    image = (1, 28, 28)
    small = symbols.resnet.get_symbol(10, num_layers=20, image_shape=(3, 32, 32), version=1)
    yield "MLP,\nbatch 128", symbols.mlp.get_symbol(10), 128, image
    yield "LeNet,\nbatch 128", symbols.lenet.get_symbol(10), 128, image
    yield "ResNet-20,\nbatch 64", small, 64, (3, 32, 32)
    yield "LSTM (RNN),\nbatch 64", recurrent(), 64, image


def operations_of(step):
    """Additions and multiplications of a step's products, those of recurrent layers included."""
    forward = step.origin or step
    if not hasattr(forward.prop, "state_size"):
        return flops(step)
    length, batch, width = forward.in_data[0].shape
    size, total = forward.prop.state_size, 0
    for layer in range(forward.prop.num_layers):
        below, weights = (size if layer else width), 4 * size  # an LSTM has 4 gates
        total += 2 * length * batch * weights * (size + below)
        if step.origin:  # products of weight and input gradients; layer 0 has no input gradient
            total += 2 * length * batch * weights * (size + (below if layer else 0))
    return total


def step_times(symbol, batch, shape, n=30):
    """Microseconds of a step by (direction, kind), and its operations of products."""
    rng = np.random.RandomState(0)
    module = mx.mod.Module(symbol, context=mx.cpu())
    module.bind([("data", (batch, *shape))], [("softmax_label", (batch,))])
    module.init_params(mx.init.Uniform(0.05))
    module.init_optimizer(optimizer_params={"learning_rate": 1e-3, "momentum": 0.9})
    data = mx.io.DataBatch(
        [mx.nd.array(rng.rand(batch, *shape))], [mx.nd.array(rng.randint(0, 10, batch))]
    )
    executor = module._exec_group.execs[0]

    def run():
        module.forward_backward(data)
        mx.nd.waitall()

    times = defaultdict(float)
    for direction, step, microseconds in executor.profile(run, n):
        times[direction, kind_of(step)] += microseconds
    updates = []
    for _ in range(n):
        run()
        begin = time.perf_counter()
        module.update()
        mx.nd.waitall()
        updates.append(time.perf_counter() - begin)
    times["update", "update"] = float(np.median(updates)) * 1e6
    return times, sum(map(operations_of, executor._graph.steps))


def draw_times(rows, peak):
    """A bar for each (name, times, operations): shares of time by kind; beside it, of the peak."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(8.6, 0.62 * len(rows) + 1.9), width_ratios=(3.4, 1), sharey=True
    )
    shown = set()
    for y, (_, times, operations) in enumerate(rows):
        whole, at = sum(times.values()), 0.0
        for direction in ("forward", "backward", "update"):
            for kind, (colour, _) in KINDS.items():
                share = 100 * times.get((direction, kind), 0.0) / whole
                if share <= 0:
                    continue
                left.barh(
                    y,
                    share,
                    left=at,
                    height=0.62,
                    color=colour,
                    edgecolor="white",
                    linewidth=0.6,
                    hatch="////" if direction == "backward" else None,
                )
                shown.add(kind)
                at += share
        left.text(101, y, f"{whole / 1e3:.2f} ms", va="center", fontsize=8)
        reached = 100 * operations / (whole * 1e-6) / peak
        right.barh(y, reached, height=0.62, color="#4a4a4a")
        right.text(
            4 if reached > 40 else reached + 4,
            y,
            f"{reached:.0f} %",
            va="center",
            fontsize=8,
            color="white" if reached > 40 else INK,
        )
    left.set_yticks(range(len(rows)), [name for name, _, _ in rows])
    left.invert_yaxis()
    left.set_xlim(0, 113)
    left.set_xticks(range(0, 101, 20))
    left.set_xlabel("share of a training step's time, %  (hatched: backward)")
    right.axvline(100, color=QUIET, linewidth=0.8, linestyle="--")
    right.set_xlim(0, 175)
    right.set_xticks((0, 50, 100, 150))
    right.set_xlabel(f"operations, % of a matrix\nproduct's {peak / 1e9:.0f} GFLOP/s")
    handles = [plt.Rectangle((0, 0), 1, 1, color=c) for k, (c, _) in KINDS.items() if k in shown]
    figure.legend(
        handles,
        [k for k in KINDS if k in shown],
        loc="upper center",
        ncols=len(shown),
        frameon=False,
        fontsize=8,
        handlelength=1.2,
        columnspacing=1.2,
    )
    figure.tight_layout(rect=(0, 0, 1, 0.92))
    return figure


def draw_time():
    from roofline import peak

    rows, peaks = [], [peak()]
    for name, *case in networks():
        rows.append((name, *step_times(*case)))
        peaks.append(peak())
    return draw_times(rows, max(peaks))


# --- the threads of a fit -------------------------------------------------------------------------
class Augmented(mx.io.NDArrayIter):
    """Batches of images that are shifted, mirrored and given noise as they are taken."""

    def next(self):
        batch = super().next()
        images = batch.data[0].asnumpy()
        images = np.roll(images[..., ::-1], 2, axis=-1)
        images += np.random.default_rng(0).normal(0, 0.1, images.shape).astype("float32")
        batch.data = [mx.nd.array(images)]
        return batch


def record_fit(symbol, batch, shape, batches=10):
    """Spans (lane, what, begin, end) in seconds of a fit whose batches are made ahead."""
    spans, clock = [], time.perf_counter

    def timed(owner, method, what):
        inner = getattr(owner, method)

        def wrapper(*args, **kwargs):
            begin = clock()
            try:
                return inner(*args, **kwargs)
            finally:
                me = threading.current_thread() is threading.main_thread()
                spans.append(("main thread" if me else "prefetch", what, begin, clock()))

        setattr(owner, method, wrapper)

    rng = np.random.RandomState(0)
    classes = symbol.infer_shape(data=(batch, *shape))[1][0][1]
    source = Augmented(
        rng.rand(batch * batches, *shape).astype("float32"),
        rng.randint(0, classes, batch * batches),
        batch_size=batch,
    )
    module = mx.mod.Module(symbol, context=mx.cpu())
    data = mx.io.PrefetchingIter(source)
    module.fit(data, num_epoch=1)
    timed(source, "next", "make a batch")
    timed(module, "forward_backward", "push the step")
    timed(module, "update", "push the step")
    timed(module, "update_metric", "metric: wait for the outputs")
    timed(data, "next", "take a batch")
    data.reset()
    module.fit(data, num_epoch=2, begin_epoch=1)
    return spans


def draw_spans(spans, steps=3):
    """The steps in the middle of a recorded fit, a lane for each thread."""
    colours = {
        "make a batch": "#e0b04a",
        "take a batch": "#8c510a",
        "push the step": "#3b6fb6",
        "metric: wait for the outputs": "#b9cfe8",
    }
    begins = sorted(b for _, what, b, _ in spans if what == "push the step")[::2]
    first = begins[len(begins) // 2 - 1]
    last = begins[min(len(begins) // 2 - 1 + steps, len(begins) - 1)]
    lanes = ["prefetch", "main thread"]
    figure, axes = plt.subplots(figsize=(8.6, 2.3))
    for lane, what, begin, end in spans:
        if end < first or begin > last:
            continue
        begin, end = max(begin, first), min(end, last)
        axes.barh(
            lanes.index(lane),
            1e3 * (end - begin),
            left=1e3 * (begin - first),
            height=0.6,
            color=colours[what],
        )
    for begin in begins:
        if first <= begin <= last:
            axes.axvline(1e3 * (begin - first), color=QUIET, linewidth=0.8, linestyle=":")
    axes.set_yticks(range(len(lanes)), lanes)
    axes.set_ylim(-0.5, len(lanes) - 0.5)
    axes.set_xlim(0, 1e3 * (last - first))
    axes.set_xlabel("time, ms  (dotted: a step begins)")
    handles = [plt.Rectangle((0, 0), 1, 1, color=c) for c in colours.values()]
    figure.legend(
        handles,
        list(colours),
        loc="upper center",
        ncols=len(colours),
        frameon=False,
        fontsize=8,
        handlelength=1.2,
    )
    figure.tight_layout(rect=(0, 0, 1, 0.9))
    return figure


def draw_fit():
    *_, (_, symbol, batch, shape), _ = networks()
    return draw_spans(record_fit(symbol, batch, shape))


# --- memory over a plan's steps -------------------------------------------------------------------
def live_bytes(symbol, data, mirror):
    """(bytes of temporaries living at each step, steps of forward, MemoryReport) of training."""
    requests = dict.fromkeys(symbol.list_arguments(), "write")
    with mx.config.environment("CYNET_BACKWARD_DO_MIRROR", str(int(mirror))):
        graph = plan_memory(lower(symbol.entries, mx.cpu(), {"data": data}, {}, requests))
    first, last = {}, {}
    for index, step in enumerate(graph.steps):
        for value in (*step.read(), *(v for _, v in step.written())):
            if value.root.kind == TEMP:
                first.setdefault(value.root, index)
                last[value.root] = index
    change = np.zeros(len(graph.steps) + 1)
    for root, begin in first.items():
        size = -(-prod(root.shape) * np.dtype(root.dtype).itemsize // 64) * 64
        change[begin] += size
        change[last[root] + 1] -= size
    return np.cumsum(change)[:-1], graph.n_forward, graph.memory


def draw_lives(symbol, data):
    """Bytes that live at each step of a training plan, with and without mirroring."""
    figure, axes = plt.subplots(figsize=(8.6, 3.4))
    for mirror, colour, text in ((False, "#3b6fb6", "values kept"), (True, "#c8553d", "mirrored")):
        lives, n_forward, report = live_bytes(symbol, data, mirror)
        at = np.linspace(0, 100, len(lives))
        axes.fill_between(at, lives / 2**20, step="mid", color=colour, alpha=0.25, linewidth=0)
        axes.step(
            at,
            lives / 2**20,
            where="mid",
            color=colour,
            linewidth=1.1,
            label=f"{text}: {len(lives)} steps, plan {report.planned / 2**20:.0f} MB",
        )
        axes.axhline(
            report.live / 2**20,
            color=colour,
            linewidth=0.9,
            linestyle="--",
            label=f"least possible: {report.live / 2**20:.0f} MB",
        )
        turn = 100 * n_forward / len(lives)
        axes.plot([turn], [0], marker="^", color=colour, markersize=7, clip_on=False, zorder=5)
    axes.set_xlim(0, 100)
    axes.set_ylim(0)
    axes.set_xlabel("steps of the plan, % done  (triangles: backward begins)")
    axes.set_ylabel("living temporaries, MB")
    figure.legend(loc="upper center", ncols=2, frameon=False, fontsize=8)
    figure.tight_layout(rect=(0, 0, 1, 0.86))
    return figure


def draw_memory():
    from memory import DATA, network

    return draw_lives(network(mx, "ResNet-50"), DATA)


PICTURES = {"time": draw_time, "fit": draw_fit, "memory": draw_memory}


def main():
    """Draw and save the pictures that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(PICTURES)} (default: all)")
    parser.add_argument("--out", type=Path, default=OUT, help="folder (default: of the docs)")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.names or PICTURES:
        PICTURES[name]().savefig(args.out / f"{name}.png", dpi=120, metadata={"Software": None})
        print(args.out / f"{name}.png")


if __name__ == "__main__":
    main()
