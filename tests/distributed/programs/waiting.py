"""How long ranks wait for one another, what they say of it, and what it costs."""

import time

import cynet as mx


def times(world):
    """Ranks wait while one is late; data move while sums of all are on their way."""
    kv, array = mx.kv.create("dist_sync"), mx.nd.ones(1 << 22)
    world.barrier()
    _, moved, waited = world.times
    if world.rank == 0:
        time.sleep(0.4)
    kv.sum_up("late", mx.nd.ones(3))
    mx.nd.waitall()
    world.barrier()
    _, moving, waiting = world.times
    if world.rank:
        assert waiting - waited > 0.3 > moving - moved, (waited, waiting, moved, moving)
    for _ in range(3):
        kv.sum_up("large", array)
        array.wait_to_read()
    assert world.times[1] > moving


def share(world):
    """A rank that waits takes a tenth of a core at the most."""
    world.barrier()
    begin, used = time.perf_counter(), time.process_time()
    if world.rank == 0:
        time.sleep(0.8)
    world.barrier()
    if world.rank:
        share = (time.process_time() - used) / (time.perf_counter() - begin)
        assert share <= 0.1, share
