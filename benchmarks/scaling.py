"""What n processes make of a training step: a model, fitted and checked here, for 2 to 4,096.

``python benchmarks/scaling.py --data FILE`` measures on this machine with 1 to 4 processes (and, as
root, on two emulated hosts with 1 Gbit/s), keeps what it found in FILE, and prints tables. What a
file has is not measured again. ``--alpha-us 2 --gbit 100`` are figures of a cluster, ``--speed 16``
says how many times as fast as one thread of this machine a rank computes, ``--picture scaling.png``
draws (matplotlib, the extra ``viz``).

A message of n bytes takes alpha + beta n seconds, adding n bytes gamma n (R. Thakur,
R. Rabenseifner, W. Gropp, "Optimization of Collective Communication Operations in MPICH", 2005).
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import chain, combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from harness import readable

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples" / "image_classification"
HOSTS = ROOT / "tests" / "distributed" / "hosts"
SIZES = [1 << 12, 1 << 16, 1 << 20, 1 << 22, 1 << 24, 1 << 26]  # bytes
RANKS = [2**i for i in range(1, 13)]
PARTS = 8  # parts of the gradients, which become ready one after another
NETWORKS = {  # network, options, batch of a rank, shape of an image
    "MLP": ("mlp", {}, 128, (1, 28, 28)),
    "LeNet": ("lenet", {}, 64, (1, 28, 28)),
    "ResNet-20": ("resnet", {"num_layers": 20}, 64, (3, 32, 32)),
    "AlexNet": ("alexnet", {"num_classes": 1000}, 8, (3, 224, 224)),
    "ResNet-50": (
        "resnet",
        {"num_layers": 50, "num_classes": 1000, "image_shape": (3, 224, 224)},
        8,
        (3, 224, 224),
    ),
}
LIMIT = 1.0  # Gbit/s of the network between emulated hosts, both directions together
CHECKED = ("MLP", "LeNet", "ResNet-20")  # networks that are also run by real processes
CLUSTERS = {"10 Gbit/s, 30 µs": (30e-6, 10e9), "100 Gbit/s, 2 µs": (2e-6, 100e9)}


# --- the model ------------------------------------------------------------------------------------
class Link(NamedTuple):
    """Seconds: of a message, of a byte moved, of a byte added; of a request before it begins."""

    alpha: float
    beta: float
    gamma: float
    request: float = 0.0


def ring(n, p, link):
    """Seconds of a sum of n bytes over p ranks: pieces go around, once to add, once to tell."""
    share = (p - 1) / p * n
    return 2 * (p - 1) * link.alpha + 2 * share * link.beta + share * link.gamma


def doubling(n, p, link):
    """Each rank exchanges all n bytes with one twice as far away in each step."""
    return math.floor(math.log2(p)) * _exchange(n, link) + _folded(n, p, link)


def halving(n, p, link):
    """Half of what is left goes to the other side in each step, and comes back (Rabenseifner)."""
    steps = math.floor(math.log2(p))
    share = (1 - 2.0**-steps) * n
    moved = 2 * steps * link.alpha + 2 * share * link.beta + share * link.gamma
    return moved + _folded(n, p, link)


def _exchange(n, link):
    return link.alpha + n * (link.beta + link.gamma)


def _folded(n, p, link):
    """The extra cost of a number of ranks that is no power of two: some ranks send first, and get
    results."""
    return 0.0 if p & (p - 1) == 0 else _exchange(n, link) + link.alpha + n * link.beta


ALGORITHMS = {"ring": ring, "recursive doubling": doubling, "recursive halving": halving}


def summed(n, p, link, algorithm=None):
    """Seconds of a request that sums n bytes; without an algorithm, by the best one."""
    if p == 1:
        return 0.0
    kinds = ALGORITHMS.values() if algorithm is None else [ALGORITHMS[algorithm]]
    return link.request + min(kind(n, p, link) for kind in kinds)


class Codes(NamedTuple):
    """Seconds a byte of gradients: to make two-bit codes of it, and to count those of one rank."""

    encode: float
    decode: float


def summed_in_codes(n, p, link, codes):
    """Seconds of a request that gathers a sixteenth of n bytes of each rank, and counts them."""
    if p == 1:
        return 0.0
    moved = (p - 1) * n / 16 * link.beta + math.ceil(math.log2(p)) * link.alpha
    return link.request + moved + n * (codes.encode + p * codes.decode)


class Step(NamedTuple):
    """One rank's step: seconds of its parts, and its buckets, (seconds of backward until the last
    gradient is there, bytes), in the order in which they are sent."""

    forward: float
    backward: float
    update: float
    buckets: list

    @property
    def alone(self):
        """Seconds without any sum."""
        return self.forward + self.backward + self.update

    def scaled(self, factor):
        """A step whose computing takes `times` as long."""
        buckets = [(at * factor, n) for at, n in self.buckets]
        return Step(self.forward * factor, self.backward * factor, self.update * factor, buckets)

    def seconds(self, cost, overlap=True):
        """Of the whole step, where a bucket of n bytes takes ``cost(n)``: one after another, from
        the moment when it is there, or when backward has ended."""
        end = 0.0
        for at, n in self.buckets:
            end = max(end, at if overlap else self.backward) + cost(n)
        return self.forward + max(end, self.backward) + self.update


# --- what is measured here ------------------------------------------------------------------------
def module_of(name, kvstore=None):
    """A Module of a network, and a function that makes one step of it."""
    import cynet as mx

    file, options, batch, shape = NETWORKS[name]
    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))
    symbol = __import__(f"symbols.{file}", fromlist=["get_symbol"]).get_symbol(
        **{"num_classes": 10, **options}
    )
    rng = np.random.RandomState(0)
    module = mx.mod.Module(symbol)
    module.bind([("data", (batch, *shape))], [("softmax_label", (batch,))])
    module.init_params(mx.init.Xavier())
    settings = {"learning_rate": 0.01, "momentum": 0.9}
    module.init_optimizer(kvstore=kvstore, optimizer="sgd", optimizer_params=settings)
    data = mx.io.DataBatch(
        [mx.nd.array(rng.randn(batch, *shape))], [mx.nd.array(rng.randint(0, 10, batch))]
    )

    def step():
        module.forward_backward(data)
        module.update()
        mx.nd.waitall()

    return module, data, step


def least_time(function, n):
    """The least processor time of n calls: one thread's, which other processes hardly change."""
    times = []
    for _ in range(n + 1):
        begin = time.process_time()
        function()
        times.append(time.process_time() - begin)
    return min(times)


def profiled(name, n):
    """The Step of a network, by one thread of this process."""
    from cynet import waitall
    from cynet.graph.cuts import backward_cut_indices, set_gradient_parts
    from cynet.kvstore.buckets import make_buckets

    set_gradient_parts(PARTS)
    module, data, step = module_of(name)
    executor = module._exec_group.execs[0]
    graph = executor._graph

    def both():
        module.forward_backward(data)
        waitall()

    rows = executor.profile(both, n)
    whole = least_time(both, n)
    update = max(least_time(step, n) - whole, 0.0)
    cuts, roots = backward_cut_indices(graph), {value.root: k for k, value in graph.grads.items()}
    spent, waiting, ready = [0.0, 0.0], [], {}
    for i, (one, (_, _, microseconds)) in enumerate(zip(graph.steps, rows, strict=True)):
        spent[i >= graph.n_forward] += microseconds * 1e-6
        waiting += [roots[value.root] for _, value in one.written() if value.root in roots]
        if i in cuts or i == len(rows) - 1:
            ready.update(dict.fromkeys(waiting, spent[1]))
            waiting = []
    shapes = [(k, each.shape, "float32") for k, each in executor.grad_dict.items() if k in ready]
    buckets = [
        (max(ready[entry.key] for entry in bucket.entries), bucket.nbytes)
        for bucket in reversed(make_buckets("sum", shapes, 0))
    ]
    factor = whole / sum(spent)  # accounts for the time between the steps
    return Step(*spent, 0.0, buckets).scaled(factor)._replace(update=update)


def adding():
    """gamma: seconds a byte of a sum in place."""
    one, other = np.ones(1 << 22, np.float32), np.ones(1 << 22, np.float32)
    return least_time(lambda: np.add(one, other, out=one), 9) / one.nbytes


def coding():
    """Codes of this machine."""
    from cynet import nd
    from cynet.kvstore.buckets import Bucket, sum_two_bits
    from cynet.kvstore.compression import TwoBitQuantizer

    bucket = Bucket("sum", [("w", (1 << 20,), "float32")], 0)
    finish, compress = sum_two_bits(bucket, 0.5, 8).finish, TwoBitQuantizer(0.5)
    values = nd.random.normal(shape=(1 << 20,))
    flat = values.asnumpy()

    def encode():
        compress("w", [values])[0].wait_to_read()
        np.packbits(flat > 0), np.packbits(flat < 0)

    return Codes(least_time(encode, 5) / flat.nbytes, least_time(finish, 5) / 8 / flat.nbytes)


def measure(path, repeat):
    """What each rank does under the launcher: sums, and steps with and without them; rank 0
    writes the least times, since the machine may be busy."""
    import cynet as mx

    kv = mx.kv.create("dist_sync")
    out = {"ranks": kv.num_workers, "sums": {}, "steps": {}}

    def timed(*functions):
        rows = [[] for _ in functions]
        for i in range(repeat + 2):
            for function, row in zip(functions, rows):
                kv.barrier()
                begin = time.perf_counter()
                function()
                if i >= 2:  # the first steps warm up
                    row.append(time.perf_counter() - begin)
        return [min(row) for row in rows]

    for nbytes in SIZES:
        gradient = mx.nd.zeros(nbytes // 4)

        def add(gradient=gradient, nbytes=nbytes):
            kv.sum_up(str(nbytes), gradient)
            gradient.wait_to_read()

        out["sums"][nbytes] = timed(add)[0]
    for name in CHECKED:
        together, alone = module_of(name, kv)[2], module_of(name)[2]
        out["steps"][name] = timed(together, alone)
    if kv.rank == 0:
        Path(path).write_text(json.dumps(out))


def by_ranks(n, repeat, gbit=None):
    """What `measure` finds with n processes; with `gbit` two, on hosts whose network has so much
    for both directions together."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.json"
        command = [sys.executable, "-m", "cynet.launch", "-n", str(n), "--threads", "1"]
        if gbit is not None:
            two = (
                f"--prtemca if_base_retain_loopback 1 --prtemca plm_ssh_agent {HOSTS / 'fakessh'}"
                " --mca btl_tcp_if_include lo --mca pml ob1 --mca btl self,sm,tcp"
            )
            (Path(folder) / "hosts").write_text("node1 slots=1\nnode2 slots=1\n")
            limit = (  # the launcher wants a network beside the loopback device
                "ip link set lo up mtu 1500 && tc qdisc add dev lo root tbf"
                f" rate {gbit}gbit burst 64kb latency 100ms"
                " && ip link add v0 type veth peer name v1 && ip addr add 10.99.0.1/24 dev v0"
                ' && ip link set v0 up && ip link set v1 up && exec "$@"'
            )
            command = ["unshare", "--net", "bash", "-c", limit, "-", *command]
            command += ["-H", f"{folder}/hosts", "--mpi-args", two]
        command += [__file__, "--measure", str(path), "--repeat", str(repeat)]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(__file__).parent)])}
        subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
        return json.loads(path.read_text())


def parts(repeat):
    """Pairs of a name and a function that measures this part, with results for JSON."""
    yield "cores", lambda: len(os.sched_getaffinity(0))
    yield "gamma", adding
    yield "codes", coding
    for name in NETWORKS:
        yield name, lambda name=name: profiled(name, 3 if NETWORKS[name][2] == 8 else 9)
    for n in range(1, 5):
        yield f"{n} ranks", lambda n=n: by_ranks(n, repeat)
    if os.geteuid() == 0 and shutil.which("unshare") and shutil.which("tc"):
        yield f"{LIMIT:g} Gbit/s", lambda: by_ranks(2, max(3, repeat // 2), LIMIT)


def measured(path, repeat):
    """All measurements; parts that the file has are not measured again."""
    data = json.loads(path.read_text()) if path is not None and path.exists() else {}
    for name, function in parts(repeat):
        if name not in data:
            print(f"measures {name}", file=sys.stderr, flush=True)
            data[name] = json.loads(json.dumps(function()))
            if path is not None:
                path.write_text(json.dumps(data))
    return data


# --- fit and check --------------------------------------------------------------------------------
def fitted(found, gamma, cores, algorithm):
    """The Link that explains measured sums best, relative to each, and the mean error's logarithm;
    ranks that share cores take turns."""
    kind, rows, times = ALGORITHMS[algorithm], [], []
    for each in found:
        p = each["ranks"]
        for n, seconds in each["sums"].items() if p > 1 else ():
            busy = max(1.0, p / cores)
            fixed = kind(int(n), p, Link(0, 0, gamma)) * busy
            parts = (kind(int(n), p, Link(1, 0, 0)), kind(int(n), p, Link(0, 1, 0)), 1.0)
            rows.append([busy * part / seconds for part in parts])
            times.append(max(1 - fixed / seconds, 0.0))
    alpha, beta, request = least_squares(np.array(rows), np.array(times))
    link = Link(alpha, beta, gamma, request)
    errors = [
        abs(math.log(seconds / max(1.0, p / cores) / summed(int(n), p, link, algorithm)))
        for p, sums in ((each["ranks"], each["sums"]) for each in found)
        for n, seconds in (sums.items() if p > 1 else ())
    ]
    return link, float(np.mean(errors))


def least_squares(matrix, wanted):
    """The solution of which no entry is negative."""
    best, columns = None, range(matrix.shape[1])
    for chosen in chain.from_iterable(combinations(columns, k) for k in range(1, 4)):
        found = np.linalg.lstsq(matrix[:, chosen], wanted, rcond=None)[0]
        if (found < 0).any():
            continue
        out = np.zeros(matrix.shape[1])
        out[list(chosen)] = found
        error = float(((matrix @ out - wanted) ** 2).sum())
        if best is None or error < best[0]:
            best = error, out
    return tuple(map(float, best[1]))


def check(data):
    """Print how near the model comes to sums and steps of real processes; the fitted Link."""
    cores = data["cores"]
    runs = [data[f"{n} ranks"] for n in range(1, 5)]
    fits = {name: fitted(runs, data["gamma"], cores, name) for name in ALGORITHMS}
    best = min(fits, key=lambda name: fits[name][1])
    for name, (link, error) in fits.items():
        print(
            f"{name}: alpha {readable(link.alpha)}, 1 / beta {1e-9 / max(link.beta, 1e-15):.2f}"
            f" GB/s, a request {readable(link.request)}; off by a factor of"
            f" {math.exp(error):.2f}{', taken' if name == best else ''}"
        )
    link = fits[best][0]
    print(f"\n| | {' | '.join(f'{n >> 10} KB' for n in SIZES)} |\n|---|{'---|' * len(SIZES)}")
    for each in runs:
        p = each["ranks"]
        busy = max(1.0, p / cores)
        if p > 1:
            pairs = [(each["sums"][str(n)], busy * summed(n, p, link, best)) for n in SIZES]
            cells = [f"{readable(one)}, {readable(other)}" for one, other in pairs]
            print(f"| {p} ranks: measured, model | {' | '.join(cells)} |")
    print("\n| step | without sums | with them | model |\n|---|---|---|---|")
    for each in runs:
        p = each["ranks"]
        busy = max(1.0, p / cores)
        _row(data, each, f"{p} ranks", lambda n, p=p, b=busy: b * summed(n, p, link, best))
    limited = f"{LIMIT:g} Gbit/s"
    if limited in data:
        given = Link(link.alpha, 2 * 8 / (LIMIT * 1e9), data["gamma"], link.request)
        _row(data, data[limited], f"two hosts, {limited}", lambda n: summed(n, 2, given, "ring"))
    return link


def _row(data, found, where, cost):
    for name, (together, alone) in found["steps"].items():
        step = Step(*data[name])
        step = step.scaled(alone / step.alone)  # other processes share the cores
        model = step.seconds(cost)
        print(
            f"| {name}, {where} | {readable(alone)} | {readable(together)} | {readable(model)},"
            f" {model / together:.2f} x |"
        )


# --- what it foretells ----------------------------------------------------------------------------
def foretold(step, ranks, link, codes):
    """{way: efficiency of each number of ranks}: a step alone / a step among so many."""

    def of(cost, overlap=True):
        return [step.alone / step.seconds(lambda n, p=p: cost(n, p), overlap) for p in ranks]

    return {
        "overlapped": of(lambda n, p: summed(n, p, link)),
        "not overlapped": of(lambda n, p: summed(n, p, link), False),
        "ring alone": of(lambda n, p: summed(n, p, link, "ring")),
        "recursive doubling alone": of(lambda n, p: summed(n, p, link, "recursive doubling")),
        "2 bits, overlapped": of(lambda n, p: summed_in_codes(n, p, link, codes)),
    }


def tell(data, clusters, request, speed):
    """Print a table for each cluster; {cluster: {network: efficiencies}}."""
    out = {}
    codes = Codes(*(each / speed for each in data["codes"]))
    for where, (alpha, bits) in clusters.items():
        link = Link(alpha, 8 / bits, data["gamma"] / speed, request)
        shown = RANKS[::2] + RANKS[-1:]
        print(f"\n{where}; a rank computes as fast as {speed:g} threads here. Efficiency, %:\n")
        print(f"| network, bytes, a step alone | way | {' | '.join(map(str, shown))} |")
        print(f"|---|---|{'---|' * len(shown)}")
        out[where] = {}
        for name in NETWORKS:
            step = Step(*data[name]).scaled(1 / speed)
            found = out[where][name] = foretold(step, RANKS, link, codes)
            nbytes = sum(n for _, n in step.buckets)
            for way, values in found.items():
                cells = [f"{100 * values[RANKS.index(p)]:.0f}" for p in shown]
                head = f"{name}, {nbytes / 1e6:.1f} MB, {readable(step.alone)}"
                print(f"| {head} | {way} | {' | '.join(cells)} |")
    return out


def draw(found, path):
    """A panel for each cluster: efficiency over the number of ranks."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        1, len(found), figsize=(4.4 * len(found), 3.6), sharey=True, squeeze=False
    )
    styles = {"overlapped": "-", "not overlapped": "--", "2 bits, overlapped": ":"}
    for axes, (where, networks) in zip(panels[0], found.items()):
        for i, (name, ways) in enumerate(networks.items()):
            for way, style in styles.items():
                label = name if way == "overlapped" else None
                values = [100 * each for each in ways[way]]
                axes.plot(RANKS, values, style, color=f"C{i}", label=label, linewidth=1.4)
        axes.set_xscale("log", base=2)
        axes.set_ylim(0, 103)
        axes.set_title(where, fontsize=10)
        axes.set_xlabel("ranks")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0][0].set_ylabel("efficiency, %")
    panels[0][-1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.text(
        0.5,
        0.005,
        "solid: overlapped with backward; dashed: after it; dotted: two bits an entry, overlapped",
        ha="center",
        fontsize=8,
    )
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    figure.savefig(path, dpi=110)


def main():
    """Measure or read, check, and foretell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="JSON: what it lacks is measured")
    parser.add_argument("--repeat", type=int, default=11, help="of each sum and step")
    parser.add_argument("--alpha-us", type=float, help="of a cluster: microseconds of a message")
    parser.add_argument("--gbit", type=float, help="and its Gbit/s a direction")
    parser.add_argument("--speed", type=float, default=16.0, help="of a rank, in threads of here")
    parser.add_argument("--picture", help="file of the picture")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure, options.repeat)
        return
    if (options.alpha_us is None) != (options.gbit is None):
        parser.error("--alpha-us and --gbit come together")
    os.environ["OMP_NUM_THREADS"] = os.environ["CYNET_NUM_THREADS"] = "1"
    data = measured(options.data, options.repeat)
    link = check(data)
    clusters = CLUSTERS
    if options.gbit is not None:
        name = f"{options.gbit:g} Gbit/s, {options.alpha_us:g} µs"
        clusters = {name: (options.alpha_us * 1e-6, options.gbit * 1e9)}
    found = tell(data, clusters, link.request, options.speed)
    if options.picture:
        draw(found, options.picture)


if __name__ == "__main__":
    main()
