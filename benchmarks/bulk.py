"""Formulas written with arrays: call by call, in a bulk, and as a bound executor.

``python benchmarks/bulk.py`` prints a table, in microseconds: the median of rounds in which the
three take turns, and bulk / executor. ``--sizes 1e4,1e6`` and words choose rows. The exit status is
1 where a ratio is above ``--limit``.
"""

import argparse
import sys

import numpy as np
from harness import median_times

import cynet as mx

ROUNDS = 15


def adam(F, w, g, m, v):
    """A step of Adam."""
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * F.square(g)
    return w - 0.001 * m / (F.sqrt(v) + 1e-8), m, v


def logistic(F, z, y):
    """The logistic loss of logits, without its sum."""
    return F.relu(z) - z * y + F.log(1.0 + F.exp(-F.abs(z)))


def huber(F, p, y):
    """A smooth loss: squared near 0, linear far away."""
    d = F.abs(p - y)
    near = F.clip(d, a_min=0.0, a_max=1.0)
    return near * (d - 0.5 * near)


def gelu(F, x):
    """d2l's GELU by tanh."""
    return 0.5 * x * (1.0 + F.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def squared_loss(F, p, y):
    """d2l's squared loss."""
    return F.square(p - y) / 2.0


def sgd(F, w, g):
    """d2l's step of SGD, of a batch of 32."""
    return w - 0.03 * g / 32.0


FORMULAS = {
    "Adam": (adam, 4),
    "logistic loss": (logistic, 2),
    "Huber loss": (huber, 2),
    "GELU": (gelu, 1),
    "squared loss": (squared_loss, 2),
    "SGD": (sgd, 2),
}


def made(formula, count, size):
    """(call by call, in a bulk, executor): functions that compute the formula once."""
    rng = np.random.default_rng(3)
    values = [rng.random(size).astype("float32") for _ in range(count)]
    arrays = [mx.nd.array(v) for v in values]
    names = [f"a{i}" for i in range(count)]
    symbols = formula(mx.sym, *[mx.sym.var(name) for name in names])
    group = mx.sym.Group(symbols) if isinstance(symbols, tuple) else symbols
    exe = group.bind(mx.cpu(), dict(zip(names, [mx.nd.array(v) for v in values])), grad_req="null")

    def calls(n):
        with mx.engine.bulk(n):
            out = formula(mx.nd, *arrays)
        mx.nd.waitall()
        return out

    def executor():
        out = exe.forward(is_train=False)
        mx.nd.waitall()
        return out

    return lambda: calls(0), lambda: calls(30), executor


def main():
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="parts of the names of formulas (all)")
    parser.add_argument("--sizes", default="1e4,1e5,1e6,1e7", help="elements of an array")
    parser.add_argument("--limit", type=float, default=None, help="the highest ratio")
    options = parser.parse_args()
    above = 0
    print(f"{'':<16}{'elements':>10}{'calls':>11}{'bulk':>11}{'executor':>11}{'ratio':>8}")
    for name, (formula, count) in FORMULAS.items():
        if options.words and not any(word in name for word in options.words):
            continue
        for size in [int(float(text)) for text in options.sizes.split(",")]:
            times = median_times(made(formula, count, size), max(1, int(3e5 / size)), ROUNDS)
            ratio = times[1] / times[2]
            above += options.limit is not None and ratio > options.limit
            columns = "".join(f"{each * 1e6:>11.1f}" for each in times)
            print(f"{name:<16}{size:>10}{columns}{ratio:>8.2f}", flush=True)
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
