"""Storage: size classes, counters, reuse, exhaustion, threads, forks, devices that are not
there."""

import gc
import itertools
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from cynet.storage.block import Memory
from cynet.storage.testing import seconds_per_allocation, stress_threads

import cynet as mx


@pytest.fixture
def ctx():
    """A device index no other test uses: its pool starts from nothing."""
    device = mx.cpu(41)
    mx.storage.empty_cache(device)
    return device


@pytest.mark.parametrize(
    "nbytes", [*range(0, 600, 7), *(2**k + d for k in range(9, 31) for d in (-1, 0, 1))]
)
def test_blocks_are_large_enough_aligned_and_waste_little(ctx, nbytes):
    block = Memory(nbytes, ctx)
    assert block.data_ptr % 64 == 0
    assert nbytes <= block.capacity <= max(64, nbytes + 63, nbytes * 1.25)
    del block
    mx.storage.empty_cache(ctx)


def test_counters(ctx):
    before = mx.storage.stats(ctx)
    assert before["cached_bytes"] == before["used_bytes"] == 0
    a = Memory(1000, ctx)
    b = Memory(1000, ctx)
    now = mx.storage.stats(ctx)
    assert now["used_bytes"] == 2048
    assert now["misses"] == before["misses"] + 2
    assert now["peak_bytes"] >= 2048
    del a
    now = mx.storage.stats(ctx)
    assert (now["used_bytes"], now["cached_bytes"]) == (1024, 1024)
    c = Memory(900, ctx)  # the same class: served from the cache
    now = mx.storage.stats(ctx)
    assert now["hits"] == before["hits"] + 1
    assert (now["used_bytes"], now["cached_bytes"]) == (2048, 0)
    del b, c
    mx.storage.empty_cache(ctx)
    assert mx.storage.stats(ctx)["cached_bytes"] == 0
    assert mx.storage.stats(ctx)["used_bytes"] == 0


def test_a_freed_block_is_the_next_one(ctx):
    address = Memory(5000, ctx).data_ptr
    assert Memory(5000, ctx).data_ptr == address


def figures(ctx):
    now = mx.storage.stats(ctx)
    return now["used_bytes"], now["cached_bytes"]


def fill(block, mark):
    array = np.asarray(block)
    array[:: max(1, array.size // 1000)] = mark
    array[-1] = mark


def test_large_blocks_are_split_and_joined(ctx):
    """What three blocks gave back serves one of their size together, and two of other sizes."""
    unit = 1 << 20
    before = mx.storage.stats(ctx)["misses"]
    blocks = [Memory(unit, ctx) for _ in range(3)]
    first = min(b.data_ptr for b in blocks)
    assert figures(ctx) == (3 * unit, 0)
    del blocks[1], blocks[1], blocks[0]
    assert figures(ctx) == (0, 3 * unit)
    whole = Memory(3 * unit, ctx)
    assert whole.data_ptr == first
    del whole
    parts = [Memory(unit // 2, ctx), Memory(2 * unit, ctx), Memory(unit // 2, ctx)]
    assert figures(ctx) == (3 * unit, 0)
    assert mx.storage.stats(ctx)["misses"] == before + 3
    assert len({p.data_ptr for p in parts}) == 3
    del parts
    mx.storage.empty_cache(ctx)
    assert figures(ctx) == (0, 0)


def test_blocks_of_any_sizes_do_not_overlap(ctx):
    seed = int.from_bytes(os.urandom(3), "little")
    print("seed", seed)
    rng = np.random.RandomState(seed)
    held = {}
    for i in range(3000):
        if held and rng.rand() < 0.5:
            block, mark = held.pop(list(held)[rng.randint(len(held))])
            array = np.asarray(block)
            assert (array[:: max(1, array.size // 1000)] == mark).all() and array[-1] == mark
            array = block = None
        else:
            block = Memory(int(np.exp(rng.uniform(np.log(1e4), np.log(3e7)))), ctx)
            assert block.data_ptr % (64 if block.capacity < 8 << 20 else 2 << 20) == 0
            fill(block, i % 256)
            held[i] = block, i % 256
            if len(held) > 30:
                del held[min(held)]
        if i % 1000 == 500:
            mx.storage.empty_cache(ctx)
    spans = sorted((b.data_ptr, b.capacity) for b, _ in held.values())
    assert all(p + n <= q for (p, n), (q, _) in itertools.pairwise(spans))
    assert mx.storage.stats(ctx)["used_bytes"] == sum(n for _, n in spans)
    block = None
    held.clear()
    mx.storage.empty_cache(ctx)
    assert figures(ctx) == (0, 0)


arenas = pytest.mark.skipif(os.name == "nt", reason="blocks of pages are not unmapped there")


@arenas
def test_a_huge_block_goes_back_when_it_was_needed_once():
    device = mx.cpu(44)
    Memory(100 << 20, device)
    assert figures(device)[1] >= 100 << 20
    for _ in range(40):
        Memory(100, device)
    assert figures(device)[1] < 1 << 20


@arenas
@pytest.mark.parametrize("megabytes, stays", [(20, True), (80, False)])
def test_some_megabytes_stay_though_nobody_needs_them(megabytes, stays):
    """What comes and goes below 32 MB of blocks of a kind would show as noise of the process."""
    device = mx.cpu(42 if stays else 41)
    held = [Memory(1 << 20, device) for _ in range(megabytes)]
    held.clear()
    for _ in range(20000):
        Memory(100, device)
    cached = figures(device)[1]
    assert cached >= megabytes << 20 if stays else cached < 12 << 20


def needed_again(device, times, between):
    """A huge block, so often, with so many small ones after each."""
    for _ in range(times):
        Memory(100 << 20, device)
        for _ in range(between):
            Memory(100, device)


@arenas
def test_a_huge_block_stays_when_it_is_needed_again_and_again():
    device = mx.cpu(43)
    needed_again(device, 12, 60)
    before = mx.storage.stats(device)["misses"]
    needed_again(device, 5, 60)
    assert mx.storage.stats(device)["misses"] == before
    for _ in range(1000):
        Memory(100, device)
    assert figures(device)[1] < 1 << 20


def run_apart(code):
    """Runs `code` in a process of its own that can ask for its mappings and address space."""
    if not os.path.exists("/proc/self/maps"):
        pytest.skip("needs /proc to measure the process")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@arenas
def test_holes_between_blocks_in_use_stay_few_mappings():
    """A system grants a process 65,530 mappings: after those nothing in it gets memory."""
    code = """
import cynet as mx, numpy as np
from cynet.storage.block import Memory
ctx = mx.cpu(5)
def mappings():
    return sum(1 for _ in open('/proc/self/maps'))
def resident():
    return int(open('/proc/self/statm').read().split()[1]) * 4096
blocks = [Memory(20480, ctx) for _ in range(20000)]
for i, block in enumerate(blocks):
    np.asarray(block)[:] = i % 251
before, full = mappings(), resident()
kept = blocks[::2]
del blocks, block
mx.storage.empty_cache(ctx)
assert mappings() - before < 1200, mappings() - before
assert full - resident() > 180 << 20, (full, resident())  # their pages went back all the same
stats = mx.storage.stats(ctx)
assert stats['used_bytes'] == 10000 * 20480, stats
again = [Memory(20480, ctx) for _ in range(8000)]
assert mx.storage.stats(ctx)['hits'] >= 8000
for block in again:
    np.asarray(block)[:] = 255
for i, block in enumerate(kept):
    assert (np.asarray(block) == 2 * i % 251).all(), i
del kept, again, block
mx.storage.empty_cache(ctx)
assert mx.storage.stats(ctx)['cached_bytes'] == mx.storage.stats(ctx)['used_bytes'] == 0
"""
    run_apart(code)


@arenas
def test_the_cache_goes_back_when_even_the_heap_is_exhausted():
    """Trimming makes holes, and records of them, when there is no memory for any record."""
    code = """
import ctypes, resource
import cynet as mx
from cynet.storage.block import Memory
ctx = mx.cpu(5)
malloc = ctypes.CDLL(None).malloc
malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
def fails():
    try:
        Memory(1 << 46, ctx)
    except MemoryError as e:
        return 'have been given back' in str(e)
assert fails()
blocks = [Memory(100000, ctx) for _ in range(400)]
del blocks[::2]
used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (8 << 20), resource.RLIM_INFINITY))
size = 1 << 20
while size >= 8:
    while malloc(size):
        pass
    size >>= 1
while malloc(24) or malloc(56):
    pass
failed = fails()
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert failed
del blocks
mx.storage.empty_cache(ctx)
assert mx.storage.stats(ctx)['cached_bytes'] == mx.storage.stats(ctx)['used_bytes'] == 0
assert Memory(100000, ctx).capacity >= 100000
"""
    run_apart(code)


@arenas
def test_a_huge_block_stays_when_each_of_a_loops_long_steps_needs_it():
    """Its pages would be faulted in anew each time: as long as thousands of small allocations."""
    device = mx.cpu(45)
    needed_again(device, 12, 1500)
    before = mx.storage.stats(device)["misses"]
    needed_again(device, 3, 1500)
    assert mx.storage.stats(device)["misses"] == before
    mx.storage.empty_cache(device)


def test_pools_of_devices_are_apart(ctx):
    other = mx.cpu(42)
    mx.storage.empty_cache(other)
    used = mx.storage.stats(other)["used_bytes"]
    block = Memory(100, ctx)
    assert mx.storage.stats(other)["used_bytes"] == used
    assert block.capacity == 128


@pytest.mark.parametrize("nbytes", [1 << 44, (1 << 47) - 5, 1 << 47, 1 << 60, 2**64 - 1])
def test_exhaustion_says_the_figures_and_the_next_request_succeeds(ctx, nbytes):
    Memory(4096, ctx)
    expected = rf"cpu\(41\) has no {nbytes} bytes: .* in use.*peak.*free"
    with pytest.raises(MemoryError, match=expected):
        Memory(nbytes, ctx)
    assert Memory(4096, ctx).capacity == 4096


def test_exhaustion_gives_the_cache_back_first():
    """A block larger than the cached one fits only where that one was."""
    code = """
import resource, sys
import cynet as mx
from cynet.storage.block import Memory
size = 300 << 20
used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + size + (100 << 20), resource.RLIM_INFINITY))
Memory(size, mx.cpu())
assert mx.storage.stats(mx.cpu())['cached_bytes'] >= size
small = Memory(1000, mx.cpu())
del small
larger = Memory(5 << 20, mx.cpu()), Memory(9 << 20, mx.cpu())  # of other arenas
del larger
Memory(9 << 20, mx.cpu())
held = Memory(size + (80 << 20), mx.cpu())
assert mx.storage.stats(mx.cpu())['cached_bytes'] < 20 << 20
del held
try:
    held = Memory(size, mx.cpu()), Memory(size, mx.cpu())
except MemoryError as e:
    assert 'cached and have been given back' in str(e), e
else:
    sys.exit('two blocks should not fit')
Memory(size // 4, mx.cpu())
"""
    if not os.path.exists("/proc/self/statm"):
        pytest.skip("needs /proc to measure the process")
    env = {**os.environ, "CYNET_STORAGE_CACHE_MB": "1000"}
    subprocess.run([sys.executable, "-c", code], check=True, env=env)


def test_cache_is_capped():
    code = """
import cynet as mx
from cynet.storage.block import Memory
blocks = [Memory(1 << 20, mx.cpu()) for _ in range(8)]
del blocks
assert mx.storage.stats(mx.cpu())['cached_bytes'] == 3 << 20, mx.storage.stats(mx.cpu())
"""
    env = {**os.environ, "CYNET_STORAGE_CACHE_MB": "3"}
    subprocess.run([sys.executable, "-c", code], check=True, env=env)


def test_gpu_without_backend_says_what_is_needed():
    with pytest.raises(mx.MXNetError, match=r"mx.gpu\(\) needs"):
        mx.storage.stats(mx.gpu())
    with pytest.raises(mx.MXNetError, match=r"mx.gpu\(\) needs"):
        Memory(10, mx.gpu(3))
    assert not mx.storage.has_backend("gpu")
    assert mx.storage.has_backend("cpu")


def test_device_index_out_of_range():
    with pytest.raises(ValueError, match=r"cpu_pinned\(64\) does not exist"):
        mx.storage.stats(mx.cpu_pinned(64))
    # the host's contexts are labels of one memory
    assert mx.storage.stats(mx.cpu(64 + 3)) == mx.storage.stats(mx.cpu(3))


def test_memory_info():
    available, total = mx.storage.memory_info(mx.cpu())
    assert 0 < available <= total


def test_buffer_is_writable_memory(ctx):
    block = Memory(64, ctx)
    array = np.asarray(block)
    array[:] = 7
    assert array.ctypes.data == block.data_ptr
    assert bytes(memoryview(block)) == b"\x07" * 64
    del block
    gc.collect()
    assert array.sum() == 7 * 64  # the array keeps the block


def test_backend_of_a_device():
    """A backend's four methods carry a whole device: pooled, trimmed on exhaustion."""
    program = Path(__file__).with_name("backend.py")
    subprocess.run([sys.executable, program], check=True)


def test_backend_is_checked():
    with pytest.raises(ValueError, match="'gpu' or 'cpu_pinned'"):
        mx.storage.register_backend("cpu", mx.storage.Backend())
    with pytest.raises(TypeError, match="Backend"):
        mx.storage.register_backend("gpu", object())


def test_native_threads_pass_blocks_around():
    before = mx.storage.stats(mx.cpu())["used_bytes"]
    assert stress_threads(threads=8, rounds=20000) == 0
    assert mx.storage.stats(mx.cpu())["used_bytes"] == before


def test_python_threads(ctx):
    wrong = []

    def body(mark):
        for n in range(1, 300):
            block = Memory(n * 13 % 5000 + 1, ctx)
            array = np.asarray(block)
            array[:] = mark
            if not (array == mark).all():
                wrong.append(n)

    threads = [threading.Thread(target=body, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert mx.storage.stats(ctx)["used_bytes"] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_while_threads_allocate():
    """A child forked in the middle of allocations can allocate: no lock comes over taken."""
    code = """
import os, threading, time
from cynet.storage.testing import stress_threads
from cynet.storage.block import Memory
import cynet as mx
going = True
def work():
    while going:
        stress_threads(2, 2000)
thread = threading.Thread(target=work)
thread.start()
for i in range(100):
    pid = os.fork()
    if pid == 0:
        block = Memory(777, mx.cpu())
        mx.storage.empty_cache(mx.cpu())
        mx._resource.seed_device(i)
        os._exit(0)
    deadline = time.monotonic() + 30
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert status == 0, status
            break
        assert time.monotonic() < deadline, 'child hangs'
        time.sleep(0.0005)
going = False
thread.join()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120)


def test_a_pooled_block_is_cheap():
    """A ceiling far above the usual 30 ns, in seconds of this thread: others do not count."""
    spent = []
    for _ in range(5):
        began = time.thread_time()
        seconds_per_allocation(64, 100000)
        spent.append((time.thread_time() - began) / 100000)
    assert min(spent) < 1e-6
