"""Sizes, values and the loop of the workers that operators.py asks."""

import json
import sys
import time
from typing import NamedTuple

import numpy as np


class Sizes(NamedTuple):
    """The sizes of one column of the table."""

    n: int  # elements of vectors
    rows: int  # rows of matrices; the next field has their columns
    columns: int
    product: int  # rows and columns of the products' matrices
    batch: int  # square matrices in a batch
    image: tuple  # shape of the images for convolution, pooling and norm
    filters: int
    repeat: int  # calls between two looks at the clock


SIZES = {
    "10": Sizes(10, 5, 2, 4, 2, (1, 2, 4, 4), 4, 500),
    "10,000": Sizes(10_000, 100, 100, 64, 8, (1, 16, 25, 25), 16, 100),
    "10 M": Sizes(10_000_000, 10_000, 1000, 1024, 64, (32, 32, 100, 98), 32, 1),
}


def values(sizes):
    """NumPy arrays by name, the same in every process."""
    draw = np.random.RandomState(0)
    n, rows, columns, k = sizes.n, sizes.rows, sizes.columns, sizes.product

    def normal(*shape):
        return draw.standard_normal(shape).astype(np.float32)

    channels = sizes.image[1]
    return {
        "a": normal(n),
        "b": normal(n),
        "p": np.abs(normal(n)) + np.float32(0.5),
        "m": normal(rows, columns),
        "row": normal(1, columns),
        "col": normal(rows, 1),
        "i": draw.randint(0, rows, rows).astype(np.int32),
        "c": draw.randint(0, columns, rows).astype(np.int32),
        "few": draw.randint(0, columns, 10).astype(np.int32),
        "t": normal(rows // 5, 5, columns),
        "x": normal(k, k),
        "y": normal(k, k),
        "batch": normal(sizes.batch, k // 2, k // 2),
        "weight": normal(k, k),
        "bias": normal(k),
        "image": normal(*sizes.image),
        "kernel": normal(sizes.filters, channels, 3, 3),
        "ones": np.ones(channels, np.float32),
        "zeros": np.zeros(channels, np.float32),
        "flag": (draw.uniform(size=n) > 0.5).astype(np.float32),
    }


def alike(v, total, target):
    """The calls that are written alike for arrays of every package: `v` has the arrays of `values`,
    `total` and `target` are written, of the shapes of a and m."""
    a, b, p, m, row, col, i = (v[name] for name in ("a", "b", "p", "m", "row", "col", "i"))
    half = m.shape[1] // 2

    def write(index, value):
        target[index] = value

    return {
        "a + b": lambda: a + b,
        "a - b": lambda: a - b,
        "a * b": lambda: a * b,
        "a / b": lambda: a / b,
        "p ** b": lambda: p**b,
        "a > b": lambda: a > b,
        "a == b": lambda: a == b,
        "a + 1": lambda: a + 1,
        "1 - a": lambda: 1 - a,
        "a * 2": lambda: a * 2,
        "1 / a": lambda: 1 / a,
        "a ** 2": lambda: a**2,
        "p ** 2.5": lambda: p**2.5,
        "a % 2": lambda: a % 2,
        "a > 0": lambda: a > 0,
        "a += b": lambda: total.__iadd__(b),
        "a *= 1": lambda: total.__imul__(1),
        "-a": lambda: -a,
        "m + row": lambda: m + row,
        "m * col": lambda: m * col,
        "row + col": lambda: row + col,
        "m > col": lambda: m > col,
        "sum": lambda: a.sum(),
        "mean": lambda: a.mean(),
        "max": lambda: a.max(),
        "norm": lambda: a.norm(),
        "prod": lambda: a.prod(),
        "a[1:-1]": lambda: a[1:-1],
        "m[1]": lambda: m[1],
        "m[i], copied": lambda: m[i],
        "m[:] = 0": lambda: write(slice(None), 0),
        "m[1] = row": lambda: write(slice(0, 1), row),
        "m[:, :half] = 0": lambda: write((slice(None), slice(0, half)), 0),
        "m[:] = m": lambda: write(slice(None), m),
        "a += 1": lambda: total.__iadd__(1),
        "a -= b": lambda: total.__isub__(b),
        "m - col": lambda: m - col,
        "m / row": lambda: m / row,
        "a <= b": lambda: a <= b,
        "a != 0": lambda: a != 0,
        "min": lambda: a.min(),
        "mean, then -": lambda: a - a.mean(),
        "m[1:-1]": lambda: m[1:-1],
        "m[-1] = 0": lambda: write(-1, 0),
        "m[1, 1]": lambda: m[1, 1],
        "m[i, c]": lambda: m[i, v["c"]],
        "m[:, c]": lambda: m[:, v["few"]],
        "m[i] = 0": lambda: write(i, 0.0),
        "(a > b).sum()": lambda: (a > b).sum(),
    }


def seconds(call, wait, number, budget):
    """Seconds of one call: the median of turns of `number` calls and the wait for them."""
    call()
    wait()
    times, stop = [], time.perf_counter() + budget
    while len(times) < 3 or (len(times) < 15 and time.perf_counter() < stop):
        start = time.perf_counter()
        for _ in range(number):
            call()
        wait()
        times.append((time.perf_counter() - start) / number)
    return float(np.median(times))


def serve(calls, wait):
    """Answer lines ``[size, name, budget]`` of stdin with the seconds of that call; null: it is not
    to be had. One size at a time is kept."""
    kept, table = None, None
    for line in sys.stdin:
        size, name, budget = json.loads(line)
        if size != kept:
            kept, table = size, calls(size)
            wait()
        try:
            answer = seconds(table[name], wait, SIZES[size].repeat, budget)
        except Exception as error:
            print(f"{name}, {size}: {error!r}"[:300], file=sys.stderr)
            answer = None
        print(json.dumps(answer), flush=True)
