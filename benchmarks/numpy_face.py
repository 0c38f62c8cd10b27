"""mx.np beside NumPy, PyTorch and MXNet's np: small calls and large arrays, in microseconds.

``python benchmarks/numpy_face.py [--torch PYTHON] [--mxnet PYTHON] [--write]`` prints the table, or
writes it into numpy_face.md. One thread, the least of five times, each package in its process.
"""

import argparse
import importlib
import json
import math
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import numpy as onp

SIZES = (10, 10_000, 10_000_000)
OUT = Path(__file__).with_suffix(".md")
NUMPY, CYNET, TORCH, MXNET = "NumPy", "cynet", "PyTorch", "MXNet"


def _wave(*shape):
    return onp.sin(onp.arange(math.prod(shape), dtype="float32")).reshape(shape)


class Package:
    """A package's functions under NumPy's names."""

    def __init__(self, name):
        self.name, self.wait = name, lambda x: x
        if name == NUMPY:
            self.np, self.array = onp, onp.array
        elif name == TORCH:
            self.np = importlib.import_module("torch")
            self.np.set_num_threads(1)
            self.array = self.np.from_numpy
        else:
            mx = importlib.import_module("cynet" if name == CYNET else "mxnet")
            mx.npx.set_np()
            self.np, self.wait = mx.np, lambda x: x.wait_to_read()
            self.array = lambda x: mx.np.array(x, dtype=x.dtype)


def rows(p):
    """(label, size or None, function without arguments) of each row."""
    np, torch = p.np, p.name == TORCH
    axis = "dim" if torch else "axis"
    for n in SIZES:
        x = p.array(_wave(n))
        m = p.array(_wave(n // 100, 100)) if n >= 100 else p.array(_wave(1, 10))
        yield "a + a", n, lambda x=x: x + x
        yield "exp(-x*x)*sin(x)+.5*x", n, lambda x=x: np.exp(-x * x) * np.sin(x) + 0.5 * x
        yield "sum", n, lambda x=x: x.sum()
        yield "mean of rows", n, lambda m=m: m.mean(**{axis: 1})
        yield "std", n, lambda x=x: x.std()
        yield "cumsum", n, lambda x=x: np.cumsum(x, 0)
        yield "where(x > 0, x, y)", n, lambda x=x: np.where(x > 0, x, -x)
        yield "x[x > 0]", n, lambda x=x: x[x > 0]
        yield "argmax", n, lambda x=x: x.argmax()
        if n <= 10_000:
            yield "sort", n, lambda x=x: np.sort(x)[0] if torch else np.sort(x)

        def softmax(m=m):
            e = np.exp(m - (np.amax(m, 1, keepdim=True) if torch else m.max(1, keepdims=True)))
            return e / e.sum(**{axis: 1, "keepdim" if torch else "keepdims": True})

        yield "softmax by hand", n, softmax
    a, b = p.array(_wave(64, 64)), p.array(_wave(100, 100))
    yield "einsum ij,jk->ik 64", None, lambda: np.einsum("ij,jk->ik", a, a)
    yield "einsum ij,ij->i 100", None, lambda: np.einsum("ij,ij->i", b, b)
    ten, more = p.array(_wave(10)), p.array(_wave(10_000))
    yield "concatenate two of 10", None, lambda: np.concatenate([ten, ten])
    yield "stack two of 10", None, lambda: np.stack([ten, ten])
    whole = p.array(onp.arange(10_000) * 7919 % 10_007)
    yield "sort 1e4 int64", None, lambda: np.sort(whole)[0] if torch else np.sort(whole)
    large = p.array(_wave(10_000_000))
    for n, x in ((10_000, more), (1_000_000, large)):
        places = p.array((onp.arange(n) * 7919) % x.shape[0])
        yield f"take, {n:.0e} int64", None, lambda x=x, i=places: np.take(x, i)
    yield "expand_dims", None, lambda: ten.unsqueeze(0) if torch else np.expand_dims(ten, 0)
    yield "64x64 @ 64x64", None, lambda: np.matmul(a, a)
    yield "x[10:20]", None, lambda: more[10:20]
    yield "concatenate two 64x64", None, lambda: np.concatenate([a, a], 0)
    i = p.array((onp.arange(10_000) * 7919) % 10_000)
    yield "x[idx], 1e4 of 1e4", None, lambda: more[i]
    yield "x * 2., x * .5 in turn", None, lambda: (ten * 2.0, ten * 0.5)[1]


def _least(run, wait):
    wait(run())
    best, since, count = math.inf, time.perf_counter(), 1
    while time.perf_counter() - since < 0.2 or best is math.inf:
        start = time.perf_counter()
        for _ in range(count):
            out = run()
        wait(out)
        took = time.perf_counter() - start
        best = min(best, took / count)
        if took < 0.005:
            count *= 2
    return best * 1e6


def measure(name):
    """Measure the rows of one package."""
    package = Package(name)
    found = {}
    for label, n, run in rows(package):
        try:
            found[f"{label}|{n or ''}"] = _least(run, package.wait)
        except Exception as error:  # the package lacks this function
            print(f"{name}: {label}: {error!r}"[:200], file=sys.stderr)
    return found


def _ask(python, name):
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [python, "-W", "ignore", __file__, "--worker", name],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    sys.stderr.write(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def table(found):
    """The lines of the table; times in microseconds."""
    names = list(found)
    yield "| work | elements | " + " | ".join(names) + " |"
    yield "|---" * (len(names) + 2) + "|"
    for key in found[CYNET]:
        label, n = key.split("|")
        times = [found[name].get(key) for name in names]
        yield (
            f"| `{label}` | {n} | "
            + " | ".join("-" if each is None else f"{each:.3g}" for each in times)
            + " |"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch", help="Python with PyTorch")
    parser.add_argument("--mxnet", help="Python with MXNet 1.9.1")
    parser.add_argument("--write", action="store_true", help=f"write {OUT.name}")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(measure(options.worker)))
        return
    found = {CYNET: _ask(sys.executable, CYNET), NUMPY: _ask(sys.executable, NUMPY)}
    for name, python in ((TORCH, options.torch), (MXNET, options.mxnet)):
        if python:
            found[name] = _ask(python, name)
    lines = list(table(found))
    print("\n".join(lines))
    if options.write:
        OUT.write_text(
            "# mx.np beside NumPy and its peers\n\nWritten by `numpy_face.py`: microseconds of one "
            f"call in float32, one thread of {platform.processor() or platform.machine()}, "
            f"NumPy {onp.__version__}.\n\n" + "\n".join(lines) + "\n"
        )


if __name__ == "__main__":
    main()
