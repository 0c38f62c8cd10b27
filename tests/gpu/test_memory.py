"""A GPU's pool: reuse without waiting, figures, what happens when memory runs out."""

import gc
import re

import numpy as np
import pytest

import cynet as mx


def test_figures(gpu):
    mx.nd.waitall()
    gc.collect()
    mx.storage.empty_cache(gpu)
    before = mx.storage.stats(gpu)
    free, total = mx.context.gpu_memory_info(0)
    assert 0 < free <= total
    a = mx.nd.empty((1 << 18,), ctx=gpu)
    assert mx.storage.stats(gpu)["used_bytes"] == before["used_bytes"] + (1 << 20)
    assert mx.context.gpu_memory_info(0)[0] <= free - (1 << 20)
    address = a.data_ptr
    del a
    assert mx.storage.stats(gpu)["cached_bytes"] >= 1 << 20
    assert mx.nd.empty((1 << 18,), ctx=gpu).data_ptr == address
    mx.storage.empty_cache(gpu)
    assert mx.storage.stats(gpu)["cached_bytes"] == 0
    assert mx.context.gpu_memory_info(0)[0] >= free - (1 << 20)


def test_out_of_memory_and_the_next_smaller_request(gpu):
    mx.storage.empty_cache(gpu)
    total = mx.context.gpu_memory_info(0)[1]
    with pytest.raises(MemoryError, match=r"gpu\(0\) has no") as caught:
        mx.nd.empty((total // 2 * 3,), ctx=gpu, dtype="uint8")
    text = str(caught.value)
    assert re.search(rf"gpu\(0\) has no {total // 2 * 3} bytes: \d+ in use, \d+ were cached", text)
    assert re.search(rf"the device has \d+ of {total} bytes free", text)
    a = mx.nd.zeros((total // 8,), ctx=gpu, dtype="uint8")
    assert a[:3].asnumpy().tolist() == [0, 0, 0]


def test_cached_memory_is_given_back_when_it_is_needed(gpu):
    mx.storage.empty_cache(gpu)
    free = mx.context.gpu_memory_info(0)[0]
    part = int(free * 0.55)
    a = mx.nd.zeros((part,), ctx=gpu, dtype="uint8")
    del a  # kept by the pool
    b = mx.nd.zeros((int(free * 0.7),), ctx=gpu, dtype="uint8")  # fits only once it is given back
    assert b[-1:].asnumpy().tolist() == [0]
    del b
    mx.nd.waitall()
    mx.storage.empty_cache(gpu)


def test_memory_is_reused_in_the_order_of_the_stream(gpu, rng):
    # Each array is given up while work on it is on its way; the next one gets its memory.
    x = rng.standard_normal((200, 1000)).astype("f")
    kept = []
    for i in range(50):
        a = mx.nd.array(x + i, ctx=gpu)
        b = a.copyto(gpu)
        del a
        c = mx.nd.zeros((200, 1000), ctx=gpu)
        c[:] = -1
        del c
        kept.append(b.copyto(mx.cpu()))
        del b
    for i, each in enumerate(kept):
        np.testing.assert_array_equal(each.asnumpy(), x + np.float32(i))
