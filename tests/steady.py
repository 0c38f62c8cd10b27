"""Runs a loop body thousands of times in a fresh interpreter and compares resident memory early
and late."""

import ctypes
import os
import statistics
import subprocess
import sys

import pytest

from tests.long_runs import STRESS

ROUNDS = int(os.environ.get("CYNET_STRESS_SHAPES", "3000"))

PRELUDE = """
import gc, os, sys
import numpy as np
import cynet as mx
from cynet import nd
from cynet.operator.algorithms import Algorithms

for each in gc.get_objects():
    if type(each) is Algorithms:  # which remembers so many choices that they grow for long
        each.limit_cache(128)

seed, rounds = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.RandomState(seed)
page = os.sysconf("SC_PAGE_SIZE")

def resident():
    nd.waitall()
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * page

def dims(low, high, n):
    return tuple(int(k) for k in rng.randint(low, high + 1, n))
"""

HEAP = """
import ctypes

class Info(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = Info

def in_use():
    nd.waitall()
    gc.collect()
    return mallinfo().uordblks

def measure(function):
    def body():
        rng.seed(seed)
        function().asnumpy()
    for _ in range(200):
        body()
    growth = []
    for _ in range(3):
        before = in_use()
        for _ in range(rounds):
            body()
        growth.append((in_use() - before) / rounds)
    print(function.__name__, min(growth))  # what is made once, whenever, is in one of them
"""

LOOP = """
for i in range(1, rounds + 1):
    body()
    if i % 20 == 0:
        print(i, resident())
"""


def heap_growth(script, rounds=1000 if STRESS else 100, seed=7):
    """What each function that the script hands to ``measure`` leaves in the C library's heap: a
    dict of its name to bytes a call. `rng` gives every call the same numbers."""
    if not hasattr(ctypes.CDLL(None), "mallinfo2"):
        pytest.skip("the C library has no mallinfo2")
    # what a thread keeps of the blocks that it freed, up to seven of a size, counts as in use
    done = _run(PRELUDE + HEAP + script, seed, rounds, GLIBC_TUNABLES="glibc.malloc.tcache_count=0")
    return {name: float(n) for name, n in map(str.split, done.splitlines())}


def _run(script, seed, rounds, **environment):
    done = subprocess.run(
        [sys.executable, "-c", script, str(seed), str(rounds)],
        capture_output=True,
        text=True,
        # few signatures, so that all that can be remembered of them soon are
        env=os.environ | {"CYNET_CALL_CACHE": "512"} | environment,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def resident_bytes(script, rounds=ROUNDS, seed=None):
    """What was resident early and late while `rounds` calls of the script's ``body()`` ran.

    Early is from a sixth of the rounds (500 at most) to a half (1,500 at most): what comes and goes
    shows its whole range in a thousand calls, not in 500. Late is the last tenth. Two lists of
    bytes, one for each 20 rounds.
    """
    if not os.path.exists("/proc/self/statm"):
        pytest.skip("no /proc")
    if seed is None:
        seed = int.from_bytes(os.urandom(3), "little")
    print("seed", seed)
    lines = _run(PRELUDE + script + LOOP, seed, rounds).splitlines()
    seen = [tuple(map(int, line.split())) for line in lines]
    early = [b for i, b in seen if min(500, rounds // 6) < i <= min(1500, rounds // 2)]
    late = [b for i, b in seen if i > rounds - rounds // 10]
    print(
        f"resident MB: early at most {max(early) / 1e6:.2f}, late {max(late) / 1e6:.2f}; "
        f"median {statistics.median(early) / 1e6:.2f}, {statistics.median(late) / 1e6:.2f}"
    )
    return early, late


def assert_flat(script, rounds=ROUNDS, seed=None, of=max, within=0.01):
    """`of` the bytes of the end (see `resident_bytes`) is at most `within` above the start's."""
    early, late = resident_bytes(script, rounds, seed)
    assert of(late) <= (1 + within) * of(early), (of(early), of(late))
