"""Chains of arithmetic: a bound executor beside the same formula in C, on the same arrays.

``python benchmarks/chains.py`` prints a table, in microseconds: the median of rounds in which the
two take turns, and executor / C. It compiles with the system's C compiler (``--compiler``), for
this machine and without joining products and sums, and compares the bytes. ``--sizes 1e4,1e5``
chooses rows. The exit status is 1 where a ratio at 1e5 is above ``--limit``.
"""

import argparse
import ctypes
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import median_times

import cynet as mx

ROUNDS = 31
FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-shared", "-fPIC")
FORMULAS = {  # each formula in Python and in C
    "((2x+1)x+y)y-x/2": (
        lambda F, x, y: ((2 * x + 1) * x + y) * y - 0.5 * x,
        "((2 * x + 1) * x + y) * y - 0.5f * x",
    ),
    "ax+by": (lambda F, x, y: 0.9 * x + 0.1 * y, "0.9f * x + 0.1f * y"),
    "relu(ax+b)y": (
        lambda F, x, y: F.relu(x * 1.1 + 0.3) * y,
        "(x * 1.1f + 0.3f < 0 ? 0 : x * 1.1f + 0.3f) * y",
    ),
    "x-ay/n": (lambda F, x, y: x - 0.03 * y / 32.0, "x - 0.03f * y / 32.0f"),
    "(x-y)^2/2": (lambda F, x, y: F.square(x - y) / 2.0, "(x - y) * (x - y) / 2.0f"),
}
C = """
void chain{number}(const float* restrict a, const float* restrict b, float* restrict out, long n) {{
  for (long i = 0; i < n; ++i) {{
    const float x = a[i], y = b[i];
    out[i] = {text};
  }}
}}
"""


def compiled(compiler):
    """Name of a formula to the function in C."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "chains.c"), Path(folder, "chains.so")
        texts = [text for _, text in FORMULAS.values()]
        source.write_text("".join(C.format(number=i, text=t) for i, t in enumerate(texts)))
        subprocess.run([compiler, *FLAGS, str(source), "-o", str(library)], check=True)
        loaded = ctypes.CDLL(str(library))
    found = {name: getattr(loaded, f"chain{i}") for i, name in enumerate(FORMULAS)}
    for each in found.values():
        each.argtypes, each.restype = [ctypes.c_void_p] * 3 + [ctypes.c_long], None
    return found


def made(formula, in_c, size):
    """(the executor, C): functions that compute the formula once; its results have been compared.

    C reads and writes memory of the executor, so that both find it in the same caches."""
    rng = np.random.default_rng(3)
    arrays = {name: mx.nd.array(rng.standard_normal(size)) for name in "xy"}
    exe = formula(mx.sym, mx.sym.var("x"), mx.sym.var("y")).bind(mx.cpu(), arrays, grad_req="null")
    out = exe.forward(is_train=False)[0]
    expected = out.asnumpy()
    views = [np.from_dlpack(each) for each in (*arrays.values(), out)]
    address = [each.ctypes.data for each in views]
    out[:] = 0
    mx.nd.waitall()
    in_c(*address, size)
    if out.asnumpy().tobytes() != expected.tobytes():
        raise SystemExit("the compiled formula gives other bytes")

    def executor():
        exe.forward(is_train=False)
        mx.nd.waitall()

    return executor, lambda: in_c(*address, size), views


def main():
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1e4,6e4,1e5,1e6", help="elements of an array")
    parser.add_argument("--compiler", default="cc", help="of C")
    parser.add_argument("--limit", type=float, default=None, help="the highest ratio at 1e5")
    options = parser.parse_args()
    above, in_c = 0, compiled(options.compiler)
    print(f"{'':<20}{'elements':>10}{'executor':>11}{'C':>11}{'ratio':>8}")
    for name, (formula, _) in FORMULAS.items():
        for size in [int(float(text)) for text in options.sizes.split(",")]:
            executor, c, _views = made(formula, in_c[name], size)
            times = median_times((executor, c), max(1, int(1e6 / size)), ROUNDS)
            ratio = times[0] / times[1]
            above += options.limit is not None and size == 100000 and ratio > options.limit
            columns = "".join(f"{each * 1e6:>11.1f}" for each in times)
            print(f"{name:<20}{size:>10}{columns}{ratio:>8.2f}", flush=True)
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
