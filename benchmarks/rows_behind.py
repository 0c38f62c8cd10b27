"""Calls that were behind a peer: this build beside an earlier one, NumPy, PyTorch and MXNet.

``python benchmarks/rows_behind.py [--before PYTHON] [--torch PYTHON] [--mxnet PYTHON] [WORD ...]``
prints a table in microseconds of one thread, the wait for the result included: the median over
`--rounds` processes of each package, which take turns, of the least of each; x is the best peer's
time over this build's: above 1, cynet is faster. WORDS choose rows.
"""

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as onp

ALONE = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS", "CYNET")}
ALONE["CYNET_CPU_WORKERS"] = "1"  # else independent calls run at once
PEERS = ("NumPy", "PyTorch", "MXNet")
MILLION, MILLIONS = 10**6, 10**7


def _wave(*shape):
    return onp.sin(onp.arange(onp.prod(shape), dtype="float32")).reshape(shape)


def _places(n, size):
    return onp.random.RandomState(0).randint(0, size, n)


# --- rows: label -> the call of a package, made of its arrays -----------------------------------
def alike(array):
    """Rows that all packages write alike; `array` makes an array of NumPy's."""
    rows = {}
    for n in (10, 10_000, MILLIONS):
        x = array(_wave(n))
        mask = array(_wave(n) > 0)
        rows[f"x[mask], {n}"] = lambda x=x, mask=mask: x[mask]
        rows[f"argmax, {n}"] = lambda x=x: x.argmax(0)
    rows["std, 10"] = array(_wave(10)).std
    table, places = array(_wave(10_000)), array(_places(10_000, 10_000))
    rows["x[i], 10000 int64"] = lambda: table[places]
    matrix, few = array(_wave(1000, 64)), array(_places(100, 1000))
    rows["m[i], 100 of 1000 x 64"] = lambda: matrix[few]
    return rows


def of_numpy(np):
    """Rows of NumPy, or of a module that has its names."""
    array = np.array
    rows = alike(array)
    m, wide = array(_wave(100_000, 100)), array(_wave(100, 100))
    rows["mean, axis 1, 100000 x 100"] = lambda: np.mean(m, 1)
    rows["mean, axis 1, 100 x 100"] = lambda: np.mean(wide, 1)
    for n in (10, 10_000):
        x = array(_wave(n))
        rows[f"sort, {n}"] = lambda x=x: np.sort(x)
        rows[f"expand_dims, {n}"] = lambda x=x: np.expand_dims(x, 0)
    x = array(_wave(MILLION))
    places = array(_places(MILLION, MILLION))
    rows["take, 1 M of 1 M"] = lambda: np.take(x, places)
    rows["einsum ij,ij->i, 100"] = lambda: np.einsum("ij,ij->i", wide, wide)
    square = array(_wave(64, 64))
    rows["einsum ij,jk->ik, 64"] = lambda: np.einsum("ij,jk->ik", square, square)
    many, positive = array(_wave(MILLIONS)), array(_wave(MILLIONS) > 0)
    rows["where, 10 M"] = lambda: np.where(positive, many, many)
    if np is onp:
        for n in (1_000, 65_536, MILLION):
            each = [abs(_wave(n)) for _ in range(5)]
            rows[f"ftml_update, {n}"] = lambda a=each: _ftml(a, onp.sqrt)
    small = array(_wave(2, 5))
    rows["concatenate, two of 2 x 5"] = lambda: np.concatenate([small, small], 0)
    rows["stack, two of 2 x 5"] = lambda: np.stack([small, small])
    return rows


def of_nd(mx):
    """Rows of mx.nd."""
    nd = mx.nd

    def array(x):
        return nd.array(x, dtype=x.dtype)

    rows = {}
    for n in (10, 10_000, MILLIONS):
        x = array(_wave(n))
        where = array((_wave(n) > 0).astype("float32"))
        rows[f"boolean_mask, {n}"] = lambda x=x, where=where: nd.contrib.boolean_mask(x, where)
        rows[f"argmax, {n}"] = lambda x=x: x.argmax(0)
        if mx.__name__ == "cynet":
            mask = array(_wave(n) > 0)
            rows[f"x[mask], {n}"] = lambda x=x, mask=mask: x[mask]
    table, places = array(_wave(10_000)), array(_places(10_000, 10_000))
    rows["x[i], 10000 int64"] = lambda: table[places]
    matrix, few = array(_wave(1000, 64)), array(_places(100, 1000))
    rows["m[i], 100 of 1000 x 64"] = lambda: matrix[few]
    m, wide = array(_wave(100_000, 100)), array(_wave(100, 100))
    rows["mean, axis 1, 100000 x 100"] = lambda: m.mean(1)
    rows["mean, axis 1, 100 x 100"] = lambda: wide.mean(1)
    for n in (10, 10_000):
        x = array(_wave(n))
        rows[f"sort, {n}"] = lambda x=x: nd.sort(x)
        rows[f"expand_dims, {n}"] = lambda x=x: nd.expand_dims(x, axis=0)
    for kind in ("int32", "float32"):
        x, i = array(_wave(MILLION)), array(_places(MILLION, MILLION).astype(kind))
        rows[f"take, 1 M of 1 M, {kind}"] = lambda x=x, i=i: nd.take(x, i)
    rows["take, 1 M of 1 M"] = rows["take, 1 M of 1 M, int32"]
    weight, words = array(_wave(20_000, 64)), array(_places(100_000, 20_000).astype("float32"))
    rows["Embedding, 100000 of 20000 x 64"] = lambda: nd.Embedding(
        words, weight, input_dim=20_000, output_dim=64
    )
    for n, k in ((5, 2), (100, 100), (10_000, 1000)):
        of, columns = array(_wave(n, k)), array(_places(n, k).astype("int32"))
        rows[f"pick, {n} x {k}"] = lambda of=of, columns=columns: nd.pick(of, columns)
    condition = array((_wave(MILLIONS) > 0).astype("float32"))
    many = array(_wave(MILLIONS))
    rows["where, 10 M"] = lambda: nd.where(condition, many, many)
    small = array(_wave(2, 5))
    rows["concatenate, two of 2 x 5"] = lambda: nd.concat(small, small, dim=0)
    rows["stack, two of 2 x 5"] = lambda: nd.stack(small, small)
    for n in (1_000, 65_536, MILLION):
        ftml = [array(_wave(n)) for _ in range(5)]
        rows[f"ftml_update, {n}"] = lambda a=ftml: nd.ftml_update(*a, out=a[0], lr=0.01, t=3)
        adam = [array(abs(_wave(n))) for _ in range(4)]
        rows[f"adam_update, {n}"] = lambda a=adam: nd.adam_update(*a, out=a[0], lr=0.01)
    return rows


def _ftml(p, sqrt):
    """One step of FTML in a package's elementwise functions: weight, gradient, d, v and z."""
    w, g, d, v, z = p
    v = 0.999 * v + 0.001 * g * g
    new = (1 - 0.6**3) / 0.01 * (sqrt(v / (1 - 0.999**3)) + 1e-8)
    z = 0.6 * z + 0.4 * g - (new - 0.6 * d) * w
    return -z / new


def of_torch(torch):
    """Rows of PyTorch."""
    torch.set_num_threads(1)
    array = torch.from_numpy
    rows = alike(array)
    m, wide = array(_wave(100_000, 100)), array(_wave(100, 100))
    rows["mean, axis 1, 100000 x 100"] = lambda: m.mean(1)
    rows["mean, axis 1, 100 x 100"] = lambda: wide.mean(1)
    for n in (10, 10_000, MILLIONS):
        rows[f"boolean_mask, {n}"] = rows[f"x[mask], {n}"]
    for n in (10, 10_000):
        x = array(_wave(n))
        rows[f"sort, {n}"] = lambda x=x: torch.sort(x)
        rows[f"expand_dims, {n}"] = lambda x=x: torch.unsqueeze(x, 0)
    x, places = array(_wave(MILLION)), array(_places(MILLION, MILLION))
    rows["take, 1 M of 1 M"] = lambda: torch.take(x, places)
    narrow = places.int()
    for kind in ("int32", "float32"):
        rows[f"take, 1 M of 1 M, {kind}"] = lambda: torch.index_select(x, 0, narrow)
    weight, words = array(_wave(20_000, 64)), array(_places(100_000, 20_000))
    rows["Embedding, 100000 of 20000 x 64"] = lambda: torch.nn.functional.embedding(words, weight)
    for n, k in ((5, 2), (100, 100), (10_000, 1000)):
        of, columns = array(_wave(n, k)), array(_places(n, k))[:, None]
        rows[f"pick, {n} x {k}"] = lambda of=of, columns=columns: torch.gather(of, 1, columns)
    rows["einsum ij,ij->i, 100"] = lambda: torch.einsum("ij,ij->i", wide, wide)
    for n in (1_000, 65_536, MILLION):
        each = [array(abs(_wave(n))) for _ in range(5)]
        rows[f"ftml_update, {n}"] = lambda a=each: _ftml(a, torch.sqrt)
    square = array(_wave(64, 64))
    rows["einsum ij,jk->ik, 64"] = lambda: torch.einsum("ij,jk->ik", square, square)
    condition, many = array(_wave(MILLIONS) > 0), array(_wave(MILLIONS))
    rows["where, 10 M"] = lambda: torch.where(condition, many, many)
    small = array(_wave(2, 5))
    rows["concatenate, two of 2 x 5"] = lambda: torch.cat([small, small], 0)
    rows["stack, two of 2 x 5"] = lambda: torch.stack([small, small])
    return rows


def package(name):
    """(rows by label, the wait for a result) of a package, as ``np`` of cynet."""
    if name == "NumPy":
        return of_numpy(onp), lambda x: x
    if name == "PyTorch":
        return of_torch(importlib.import_module("torch")), lambda x: x
    mx = importlib.import_module("mxnet" if name == "MXNet" else "cynet")
    rows = {f"nd {label}": call for label, call in of_nd(mx).items()}
    if name != "MXNet" and hasattr(mx, "npx"):  # earlier builds have no mx.npx
        mx.npx.set_np()
        array = mx.np.array
        mx.np.array = lambda x: array(x, dtype=x.dtype)
        rows |= {f"np {label}": call for label, call in of_numpy(mx.np).items()}
        mx.np.array = array
    return rows, lambda x: x.wait_to_read()


# --- measuring ------------------------------------------------------------------------------------
def seconds(call, wait, budget=0.1):
    """Seconds of a call: the least of turns of calls and the wait for the last."""
    wait(call())
    start = time.perf_counter()
    wait(call())
    count = max(1, int(1e-3 / max(time.perf_counter() - start, 1e-7)))
    times, stop = [], time.perf_counter() + budget
    while len(times) < 3 or time.perf_counter() < stop:
        start = time.perf_counter()
        for _ in range(count):
            out = call()
        wait(out)
        times.append((time.perf_counter() - start) / count)
    return min(times)


def wanted(label, words):
    """Whether a row was named on the command line."""
    return not words or any(word in label for word in words)


def worker(name, words):
    """The rows of one package as a line of JSON."""
    rows, wait = package(name)
    print(json.dumps({k: seconds(f, wait) for k, f in rows.items() if wanted(k, words)}))


def ask(python, name, words):
    """The rows of a package in a process of its own."""
    command = [python, "-W", "ignore", os.path.abspath(__file__), "--worker", name, *words]
    done = subprocess.run(
        command, env=os.environ | ALONE, check=True, stdout=subprocess.PIPE, text=True, cwd="/"
    )
    return json.loads(done.stdout.splitlines()[-1])


def lines(times):
    """The lines of the table, of {package: {label: seconds}}."""
    peers = [name for name in PEERS if name in times]
    names = [*(["before"] if "before" in times else []), "now", *peers]
    yield f"| row | {' | '.join(names)} | x |"
    yield "|---" * (len(names) + 2) + "|"
    for label, now in times["now"].items():
        plain = label.split(" ", 1)[1]
        found = {name: times[name].get(label, times[name].get(plain)) for name in names}
        best = [found[name] for name in peers if found[name]]
        cells = ["-" if each is None else f"{each * 1e6:.4g}" for each in found.values()]
        yield f"| {label} | {' | '.join(cells)} | {f'{min(best) / now:.2f}' if best else '-'} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", metavar="PYTHON", help="a Python with an earlier cynet")
    parser.add_argument("--torch", metavar="PYTHON", help="a Python with PyTorch")
    parser.add_argument("--mxnet", metavar="PYTHON", help="a Python with MXNet 1.9.1")
    parser.add_argument("--rounds", type=int, default=5, help="processes of each package")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("words", nargs="*", help="parts of the rows' labels (default: all)")
    args = parser.parse_args()
    if args.worker:
        worker(args.worker, args.words)
        return
    pythons = {"before": args.before, "now": sys.executable, "NumPy": sys.executable}
    pythons |= {"PyTorch": args.torch, "MXNet": args.mxnet}
    pythons = {name: python for name, python in pythons.items() if python}
    plain = [word.split(" ", 1)[1] if word[:3] in ("nd ", "np ") else word for word in args.words]
    found = {name: [] for name in pythons}
    for _ in range(args.rounds):
        for name, python in pythons.items():
            words = args.words if name in ("before", "now", "MXNet") else plain
            found[name].append(ask(python, name, words))
    medians = {
        name: {label: statistics.median(each[label] for each in turns) for label in turns[0]}
        for name, turns in found.items()
    }
    print("\n".join(lines(medians)))


if __name__ == "__main__":
    main()
