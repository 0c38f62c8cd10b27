"""Resident memory in 10,000 imperative calls on ever new shapes, beside PyTorch and MXNet.

``python benchmarks/peers/resident.py --torch PYTHON --mxnet PYTHON`` prints for each loop below and
each seed the most that was resident from call 501 to 1,500 and by how much the most of the last
thousand is above it. Each run is a process of its own. Linux only.
"""

import argparse
import gc
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np

CALLS = 10000


class Small:
    """Seven functions of arrays of one to four dimensions, each 1 to 40."""

    def __init__(self, package, rng):
        self.package, self.rng = package, rng

    def __call__(self):
        p, shape = self.package, dims(self.rng, 1, 40, self.rng.randint(1, 5))
        if np.prod(shape) > 100000:
            shape = shape[:2]
        a = p.array(self.rng.rand(*shape))
        b = p.exp(a * 0.5) + a
        c = p.sum_first(b)
        e = p.softmax(p.transpose(b)) - 1
        f = p.concat(e, e)
        f[0] = 3.0
        p.numpy(c)


class Mixed:
    """Convolution and pooling, a dense layer, products, normalization, sorting, calls in place."""

    def __init__(self, package, rng):
        self.package, self.rng = package, rng
        self.kinds = [
            self.convolution,
            self.dense,
            self.products,
            self.normalized,
            self.ordered,
            self.in_place,
        ]

    def __call__(self):
        self.package.numpy(self.kinds[self.rng.randint(len(self.kinds))]())

    def dims(self, low, high, n):
        """`n` random numbers."""
        return dims(self.rng, low, high, n)

    def convolution(self):
        """Up to four images of up to 16 channels, 30x30."""
        batch, (channels, filters) = self.dims(1, 4, 1), self.dims(1, 16, 2)
        size, k = self.dims(5, 30, 2), int(self.rng.choice([1, 3, 5]))
        p = self.package
        return p.pooled_convolution(
            p.ones((*batch, channels, *size)), p.ones((filters, channels, k, k))
        )

    def dense(self):
        """Up to 200 rows, 200 to 200."""
        p, (n, k, m) = self.package, self.dims(1, 200, 3)
        return p.dense(p.normal((n, k)), p.ones((m, k)), p.ones((m,)))

    def products(self):
        """Products of matrices of up to 200x200, and of up to 40 matrices of 40x40."""
        p, (m, n, k) = self.package, self.dims(1, 200, 3)
        batch, a, b, c = self.dims(1, 40, 4)
        p.numpy(p.batch_dot(p.ones((batch, a, b)), p.ones((batch, b, c))))
        return p.dot(p.ones((m, n)), p.ones((n, k)))

    def normalized(self):
        """Normalization of arrays of up to 4 x 20 x 20 x 20."""
        p, shape = self.package, self.dims(1, 4, 1) + self.dims(1, 20, 3)
        return p.batch_norm(p.normal(shape), p.ones((shape[1],)))

    def ordered(self):
        """Rows taken, sorted, and the first ones of, up to 300x300."""
        p = self.package
        data = p.normal(self.dims(1, 300, 2))
        p.numpy(p.take(data, self.rng.randint(0, data.shape[0], 50)))
        p.numpy(p.sort(data))
        return p.topk(data, 1 + data.shape[1] // 3)

    def in_place(self):
        """Operations in place on arrays of up to 40 x 40 x 40."""
        p = self.package
        data = p.normal(self.dims(1, 40, 3))
        data += 1
        data *= 2
        data[:, 0] = 1
        p.numpy(data[0])
        return p.half(data)


LOOPS = {"small": Small, "mixed": Mixed}


def dims(rng, low, high, n):
    """`n` random numbers from `low` to `high`."""
    return tuple(int(k) for k in rng.randint(low, high + 1, n))


def mx_package(name):
    """Calls in cynet or mxnet whose memory is measured."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    nd = __import__(name).nd
    return SimpleNamespace(
        wait=nd.waitall,
        array=nd.array,
        ones=nd.ones,
        normal=lambda shape: nd.random.normal(shape=shape),
        numpy=lambda a: a.asnumpy(),
        exp=nd.exp,
        softmax=nd.softmax,
        transpose=nd.transpose,
        concat=lambda a, b: nd.concat(a, b, dim=0),
        sum_first=lambda a: nd.sum(a, axis=0) if a.ndim > 1 else nd.sum(a),
        pooled_convolution=lambda x, w: nd.Pooling(
            nd.Convolution(x, w, no_bias=True, kernel=w.shape[2:], num_filter=w.shape[0]),
            kernel=(1, 1),
            pool_type="max",
        ),
        dense=lambda x, w, b: nd.relu(nd.FullyConnected(x, w, b, num_hidden=w.shape[0])).mean(),
        dot=nd.dot,
        batch_dot=nd.batch_dot,
        batch_norm=lambda x, one: nd.BatchNorm(x, one, one, one * 0, one * 1),
        take=lambda a, rows: nd.take(a, nd.array(rows)),
        sort=nd.sort,
        topk=lambda a, k: nd.topk(a, k=k),
        half=lambda a: a.astype("float16"),
    )


def torch_package():
    """Calls in PyTorch whose memory is measured."""
    import torch
    from torch.nn import functional

    torch.set_grad_enabled(False)
    return SimpleNamespace(
        wait=lambda: None,
        array=lambda a: torch.from_numpy(a.astype("float32")),
        ones=torch.ones,
        normal=torch.randn,
        numpy=lambda a: a.numpy(),
        exp=torch.exp,
        softmax=lambda a: torch.softmax(a, -1),
        transpose=lambda a: a.permute(*reversed(range(a.dim()))).contiguous(),
        concat=lambda a, b: torch.cat([a, b], 0),
        sum_first=lambda a: a.sum(0) if a.dim() > 1 else a.sum(),
        pooled_convolution=lambda x, w: functional.max_pool2d(functional.conv2d(x, w), 1),
        dense=lambda x, w, b: torch.relu(functional.linear(x, w, b)).mean(),
        dot=torch.mm,
        batch_dot=torch.bmm,
        batch_norm=lambda x, one: functional.batch_norm(x, one * 0, one * 1, one, one),
        take=lambda a, rows: a[torch.from_numpy(rows)],
        sort=lambda a: torch.sort(a)[0],
        topk=lambda a, k: torch.topk(a, k)[1].float(),
        half=lambda a: a.half(),
    )


def run(package, loop, seed):
    """Bytes of memory early in a run, and their relative growth until its end."""
    calls = torch_package() if package == "torch" else mx_package(package)
    body, page = LOOPS[loop](calls, np.random.RandomState(seed)), os.sysconf("SC_PAGE_SIZE")
    early = late = 0  # nothing is collected, which would be resident itself
    for i in range(1, CALLS + 1):
        body()
        if i % 20 == 0:
            calls.wait()
            gc.collect()
            with open("/proc/self/statm") as file:
                now = int(file.read().split()[1]) * page
            if 500 < i <= 1500:
                early = max(early, now)
            elif i > CALLS - 1000:
                late = max(late, now)
    print(f"{early / 1e6:.1f} MB {100 * (late / early - 1):+.2f} %")


def main():
    """Print the table, or do one run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", metavar="PYTHON")
    parser.add_argument("--mxnet", metavar="PYTHON")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--run", nargs=2, metavar=("PACKAGE", "LOOP"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        run(*args.run, args.seeds[0])
        return
    pythons = {"cynet": sys.executable, "torch": args.torch, "mxnet": args.mxnet}
    for loop in LOOPS:
        for seed in args.seeds:
            for package, python in pythons.items():
                if python:
                    command = [python, "-W", "ignore", __file__, "--run", package, loop]
                    done = subprocess.run(
                        [*command, "--seeds", str(seed)],
                        check=True,
                        stdout=subprocess.PIPE,
                        text=True,
                    )
                    print(f"{loop:6} seed {seed:3} {package:6} {done.stdout.strip()}", flush=True)


if __name__ == "__main__":
    main()
