"""Imperative calls on thousands of random shapes: resident memory stays where it was.

``make stress`` runs 10,000 shapes, the normal run CYNET_STRESS_SHAPES or 6,000 of them.
"""

import os
import subprocess
import sys

import pytest

SHAPES = int(os.environ.get("CYNET_STRESS_SHAPES", "6000"))

SCRIPT = """
import gc, os, sys
import numpy as np
import cynet as mx

seed, shapes = int(sys.argv[1]), int(sys.argv[2])
print("seed", seed)
rng = np.random.RandomState(seed)
page = os.sysconf("SC_PAGE_SIZE")

def resident():
    mx.nd.waitall()
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * page

def step():
    shape = tuple(int(n) for n in rng.randint(1, 40, rng.randint(1, 5)))
    if np.prod(shape) > 100000:
        shape = shape[:2]
    a = mx.nd.array(rng.rand(*shape))
    b = mx.nd.exp(a * 0.5) + a
    c = mx.nd.sum(b, axis=0) if len(shape) > 1 else mx.nd.sum(b)
    d = mx.nd.transpose(b)
    e = mx.nd.softmax(d) - 1
    f = mx.nd.concat(e, e, dim=0)
    assert f.shape[0] == 2 * shape[-1]
    f[0] = 3.0
    c.asnumpy()

most = []  # of each quarter
for quarter in range(4):
    seen = 0
    for i in range(shapes // 4):
        step()
        if i % 50 == 49:
            seen = max(seen, resident())
    most.append(seen)
print("resident bytes", *most)
assert most[3] <= 1.01 * most[2], most
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc")
@pytest.mark.timeout(1800)
def test_memory_stays_flat():
    seed = int.from_bytes(os.urandom(3), "little")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(seed), str(SHAPES)], capture_output=True, text=True
    )
    print(done.stdout)
    assert done.returncode == 0, done.stderr[-2000:]
