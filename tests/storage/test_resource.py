"""Resources: random streams per device and seed, temporary space per thread."""

import threading
import time

import numpy as np
import pytest

import cynet as mx
from cynet._resource import next_rng_stream, release_workspaces, seed_device, workspace_address


def streams(ctx, n=3):
    return [next_rng_stream(ctx) for _ in range(n)]


def test_a_seed_repeats_the_streams():
    seed_device(7)
    first = streams(mx.cpu())
    assert len(set(first)) == 3
    seed_device(7)
    assert streams(mx.cpu()) == first
    seed_device(8)
    assert streams(mx.cpu())[0] != first[0]


def test_devices_have_streams_of_their_own():
    seed_device(7)
    zero, one = streams(mx.cpu(0)), streams(mx.cpu(1))
    assert not set(zero) & set(one)
    assert zero == streams(mx.gpu(0))  # the same index on another kind of device: the same numbers
    assert one == streams(mx.gpu(1))


def test_one_device_can_be_seeded_alone():
    seed_device(7)
    expected = streams(mx.cpu(0), 2)
    seed_device(7)
    assert streams(mx.cpu(0), 1) == expected[:1]
    seed_device(7, mx.cpu(1))
    assert streams(mx.cpu(1), 2) == expected  # seeded by name: as index 0
    assert streams(mx.cpu(0), 1) == expected[1:]


@pytest.mark.parametrize("seed", [0, -3, 2**40, 2**70, np.int64(5)])
def test_any_integer_is_a_seed(seed):
    seed_device(seed)
    first = streams(mx.cpu())
    seed_device(seed)
    assert streams(mx.cpu()) == first


@pytest.mark.parametrize("seed", [1.5, "1", None, True])
def test_what_is_no_integer_is_refused(seed):
    with pytest.raises(ValueError, match="seed"):
        seed_device(seed)


@pytest.mark.parametrize("ctx", ["everything", 3])
def test_wrong_device_is_refused(ctx):
    with pytest.raises(mx.MXNetError, match="ctx"):
        seed_device(1, ctx)


def test_concurrent_draws_are_distinct():
    seed_device(1)
    drawn = [[] for _ in range(8)]

    def body(mine):
        for _ in range(500):
            mine.append(next_rng_stream(mx.cpu()))

    threads = [threading.Thread(target=body, args=(mine,)) for mine in drawn]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(s for _, s in (pair for mine in drawn for pair in mine)) == list(range(4000))


def test_space_is_kept_grows_and_is_aligned():
    release_workspaces()
    first = workspace_address(0, 100)
    assert first % 64 == 0
    assert workspace_address(0, 50) == first
    assert workspace_address(1, 50) != first
    assert workspace_address(0, 1 << 20) % 64 == 0
    release_workspaces()


def test_space_belongs_to_its_thread_and_goes_back_when_it_ends():
    release_workspaces()
    mx.storage.empty_cache(mx.cpu())
    before = mx.storage.stats(mx.cpu())["used_bytes"]
    mine = workspace_address(0, 1000)
    seen = []

    def body():
        seen.append(workspace_address(0, 1000))
        seen.append(mx.storage.stats(mx.cpu())["used_bytes"] - before)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert seen[0] != mine
    assert seen[1] == 2048
    deadline = time.monotonic() + 10  # the thread itself ends a little after join returns
    while mx.storage.stats(mx.cpu())["used_bytes"] - before != 1024:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    mx.storage.empty_cache(mx.cpu())
    assert mx.storage.stats(mx.cpu())["used_bytes"] == before


def test_space_index_is_checked():
    with pytest.raises(ValueError, match="index 64"):
        workspace_address(64, 10)


def test_space_too_large_raises():
    with pytest.raises(MemoryError, match="in use, 0 were cached and have been given back, peak"):
        workspace_address(0, 1 << 60)
    assert workspace_address(0, 10) % 64 == 0
