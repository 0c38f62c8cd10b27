"""A graph of tasks without networks: a Cholesky factorization by blocks, run by the engine."""

import heapq
import logging
import os
import sys
import threading
import time
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # NumPy uses one thread: tasks run in parallel

import numpy as np

import cynet as mx

sys.path.append(str(Path(__file__).parents[1] / "gluon"))
import common

COLOURS = {"factor": "crimson", "solve": "darkorange", "update": "steelblue"}


def positive_definite(size, rng):
    """A symmetric matrix whose factor exists."""
    root = rng.standard_normal((size, size))
    return root @ root.T / size + np.eye(size)


class Blocks:
    """The lower blocks of a symmetric matrix, a variable of the engine for each.

    The engine runs a task when the blocks that it reads and writes are free, in the order of the
    pushes where two tasks want the same block, and at once where they do not.
    """

    def __init__(self, matrix, side, engine):
        self._engine = engine
        self._side = side
        self.count = len(matrix) // side
        self.block = {
            (i, j): matrix[i * side : (i + 1) * side, j * side : (j + 1) * side].copy()
            for i in range(self.count)
            for j in range(i + 1)
        }
        self.variable = {place: engine.new_variable() for place in self.block}
        self.ran = []  # (kind, block, thread, begin, end) of each task
        self.reads = []  # (block written, blocks read) of each task, as pushed

    def push(self, kind, function, target, *sources, priority=0):
        """Have ``function(target's block, blocks of the sources)`` change the target's block."""

        def task(run_ctx):
            begin = time.perf_counter()
            function(self.block[target], *(self.block[each] for each in sources))
            thread = threading.get_ident()
            self.ran.append((kind, target, thread, begin, time.perf_counter()))

        self.reads.append((target, sources))
        self._engine.push_sync(
            task,
            mx.cpu(),
            [self.variable[each] for each in sources],
            [self.variable[target]],
            priority,
            f"{kind} {target}",
        )

    def lower(self):
        """Wait for all tasks; the blocks as a lower triangular matrix."""
        side = self._side
        out = np.zeros((self.count * side, self.count * side))
        for (i, j), block in self.block.items():
            self._engine.wait_for_var(self.variable[i, j])
            out[i * side : (i + 1) * side, j * side : (j + 1) * side] = block
        return out


def factor(block):
    block[:] = np.linalg.cholesky(block)


def solve(block, corner):
    """block @ inverse(corner).T"""
    block[:] = np.linalg.solve(corner, block.T).T


def update(block, left, right):
    block -= left @ right.T


def cholesky(blocks):
    """Push all tasks; this returns at once, while they run."""
    for k in range(blocks.count):
        ahead = blocks.count - k  # tasks that most others need run first
        blocks.push("factor", factor, (k, k), priority=3 * ahead)
        for i in range(k + 1, blocks.count):
            blocks.push("solve", solve, (i, k), (k, k), priority=2 * ahead)
        for i in range(k + 1, blocks.count):
            for j in range(k + 1, i + 1):
                sources = [(i, k), (j, k)] if i > j else [(i, k)]
                function = update if i > j else lambda block, left: update(block, left, left)
                blocks.push("update", function, (i, j), *sources, priority=ahead)


def longest_chain(blocks):
    """How many tasks have to run one after the other, however many processors there are."""
    after = {}  # block -> tasks up to its last write
    for target, sources in blocks.reads:
        after[target] = 1 + max([after.get(each, 0) for each in (target, *sources)])
    return max(after.values())


def at_once(ran):
    """The largest number of tasks that ran at the same time."""
    running, maximum = [], 0
    for *_, begin, end in sorted(ran, key=lambda each: each[3]):
        while running and running[0] <= begin:
            heapq.heappop(running)
        heapq.heappush(running, end)
        maximum = max(maximum, len(running))
    return maximum


def draw(path, ran):
    """Draw the time of each task, a row for each thread."""
    pyplot = common.matplotlib_or_word("plot")
    if pyplot is None:
        return
    first = min(begin for *_, begin, _ in ran)
    threads = sorted({thread for _, _, thread, _, _ in ran})
    figure, axis = pyplot.subplots(figsize=(11, 2 + 0.3 * len(threads)), layout="constrained")
    for kind, colour in COLOURS.items():
        of_kind = [each for each in ran if each[0] == kind]
        axis.barh(
            [threads.index(thread) for _, _, thread, _, _ in of_kind],
            [1e3 * (end - begin) for *_, begin, end in of_kind],
            left=[1e3 * (begin - first) for *_, begin, _ in of_kind],
            height=0.8,
            color=colour,
            edgecolor="white",
            linewidth=0.3,
            label=kind,
        )
    axis.set(xlabel="milliseconds", ylabel="thread", yticks=range(len(threads)))
    figure.legend(loc="outside upper right", ncols=3)
    figure.savefig(path, dpi=100, format="png")
    pyplot.close(figure)
    logging.info("plot: %s", path)


def main(argv=None):
    """Factorize; returns how far the product of the factors is from the matrix, and the order."""
    without = ["epochs", "batch_size", "lr", "workers", "eager", "gpu"]
    parser = common.parser(__doc__, without=without)
    parser.add_argument("--blocks", type=common.positive, default=8, help="blocks of a row")
    parser.add_argument("--side", type=common.positive, default=128, help="rows of a block")
    parser.add_argument(
        "--naive", action="store_true", help="each task runs at once where it is pushed"
    )
    args = parser.parse_args(argv)
    common.start(args)
    size = args.blocks * args.side
    logging.info("a matrix of %d x %d in blocks of %d", size, size, args.side)
    matrix = positive_definite(size, np.random.default_rng(args.seed))
    engine = mx.engine.NaiveEngine() if args.naive else mx.engine.get()
    blocks = Blocks(matrix, args.side, engine)
    begin = time.perf_counter()
    cholesky(blocks)
    pushed = time.perf_counter() - begin
    tasks = len(blocks.reads)
    if sys.stderr.isatty():
        for _ in common.progress(range(tasks), "task"):
            while len(blocks.ran) < _ + 1:
                time.sleep(0.001)
    lower = blocks.lower()
    took = time.perf_counter() - begin
    error = float(abs(lower @ lower.T - matrix).max())
    chain = longest_chain(blocks)
    logging.info("%d tasks, %d of them one after the other at least", tasks, chain)
    logging.info("pushed in %.1f ms, done after %.1f ms", 1e3 * pushed, 1e3 * took)
    logging.info(
        "at most %d at once, on %d threads",
        at_once(blocks.ran),
        len({each[2] for each in blocks.ran}),
    )
    folder = Path(args.out)
    draw(folder / "tasks.png", blocks.ran)
    np.save(folder / "lower.npy", lower)
    logging.info("use it: lower = np.load('%s')", folder / "lower.npy")
    logging.info("largest error of lower @ lower.T: %.1e", error)
    return error, blocks.ran


if __name__ == "__main__":
    main()
