"""Groups of ranks: calls of some of them, in one order there, whatever the others do meanwhile."""

import re
import threading

import numpy as np
import pytest
from cynet.errors import ArgumentError, MismatchError, PeerError, StateError

import cynet as mx
from cynet import nd
from cynet.distributed import communication
from cynet.distributed.groups import group
from tests.distributed.together import run

SETS = [[0, 1, 2, 3], [2, 0], [1, 3], [3], [1, 2, 3]]


@pytest.mark.parametrize("ranks", SETS)
def test_calls_of_a_group(ranks, monkeypatch):
    def everything(world):
        some = group(ranks)
        assert (some.size, some.ranks, some.hosts) == (len(ranks), ranks, ["here"] * len(ranks))
        if world.rank not in ranks:
            assert (some.rank, some.is_member, some.local_rank, some.local_size) == (-1, 0, -1, 0)
            calls = [
                some.barrier,
                some.check,
                lambda: some.vote(True),
                lambda: some.gather(b""),
                lambda: some.allreduce(np.ones(1)),
                lambda: some.hand_in(None),
            ]
            for call in calls:
                with pytest.raises(StateError, match=f"rank {world.rank} is not of the group of"):
                    call()
            return None
        own = ranks.index(world.rank)
        assert (some.rank, some.is_member, some.local_rank) == (own, True, own)
        values = np.arange(5.0) + 10 * world.rank
        total = some.allreduce(values)
        np.testing.assert_array_equal(total, sum(np.arange(5.0) + 10 * r for r in ranks))
        assert some.gather(b"x" * world.rank) == [b"x" * r for r in ranks]
        assert some.vote(True)() and some.vote(world.rank != ranks[0])() is False
        some.barrier()
        free = some.allreduce(values, "of any order", in_order=False)
        np.testing.assert_array_equal(free, total)
        some.check()
        assert not some.has_failed
        return total.tobytes()

    assert len({each for each in run(monkeypatch, 4, everything) if each}) == 1


def test_groups_that_overlap_at_once(monkeypatch):
    """Each rank has several sums under way in each of its groups, begun in another order."""

    def everything(world):
        groups = [group(ranks) for ranks in ([0, 1], [1, 2], [2, 0], [0, 1, 2], [2, 1, 0])]
        found, threads = {}, []

        def sums(number, each):
            rows = [each.allreduce(np.full(300, world.rank + i)) for i in range(20)]
            found[number] = [row[0] for row in rows]

        for number, each in enumerate(groups):
            if each.is_member:
                threads.append(threading.Thread(target=sums, args=(number, each)))
        for each in threads[:: 1 if world.rank else -1]:
            each.start()
        totals = [world.allreduce(np.ones(2))[0] for _ in range(20)]
        for each in threads:
            each.join()
        for number, each in enumerate(groups):
            if each.is_member:
                assert found[number] == [sum(each.ranks) + i * each.size for i in range(20)]
        assert totals == [3] * 20
        return len(found)

    assert run(monkeypatch, 3, everything) == [4, 4, 4]


def test_a_store_of_a_group(monkeypatch):
    """Sums and first values are those of the members; the other rank trains alone."""

    def everything(world):
        pair, rest = group([2, 0]), group([1])
        store = mx.kv.create("dist_sync", group=pair if pair.is_member else rest)
        assert (store.num_workers, store.rank) == ((2, pair.rank) if world.rank != 1 else (1, 0))
        net = mx.gluon.nn.Dense(1, use_bias=False, in_units=1)
        net.initialize(mx.init.Constant(world.rank))
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1}, store)
        with mx.autograd.record():
            loss = net(nd.full((1, 1), world.rank + 1)).sum()
        loss.backward()
        trainer.step(1)
        assert net.weight.data().asscalar() == (1 - 2 if world.rank == 1 else 2 - 4)
        return store.rank

    assert run(monkeypatch, 3, everything) == [1, 0, 0]


def test_members_that_ask_for_other_things(monkeypatch):
    monkeypatch.setattr(communication, "_FAREWELL_SECONDS", 0.1)

    def everything(world):
        some = group([2, 1])
        if world.rank == 0:
            world.barrier()
        return some.allreduce(np.ones(world.rank)) is None

    for each in run(monkeypatch, 3, everything, end=False):
        text = "call 0: rank 2 .here. asks for the sum of values .2,. float64, rank 1 .here. for"
        assert isinstance(each, PeerError | MismatchError)
        assert re.search(text, str(each)), each


def test_a_member_that_leaves(monkeypatch):
    monkeypatch.setattr(communication, "_FAREWELL_SECONDS", 0.1)
    monkeypatch.setattr(communication, "_MEETING_SECONDS", 0.05)

    def everything(world):
        some = group([0, 1])
        return some.barrier() if world.rank == 1 else None

    found = run(monkeypatch, 3, everything, end=False)
    assert "came to an end" in str(found[1]) and "the barrier" in str(found[1])


def test_what_is_no_group(monkeypatch):
    def everything(world):
        for bad in ([], [0, 0], [2], [-1], ["0"], [0.0], [True]):
            with pytest.raises(ArgumentError, match="group: ranks are numbers from 0 to 1, each"):
                group(bad)
        assert "group of ranks [1] as rank" in repr(group([1]))

    run(monkeypatch, 2, everything)


def test_a_process_that_is_alone():
    alone = mx.distributed.group([0])
    assert alone.allreduce(np.ones(1)) == 1 and alone.gather(b"a") == [b"a"]
    with pytest.raises(ArgumentError, match="from 0 to 0"):
        mx.distributed.group([1])
    assert mx.kv.create("dist", group=alone).num_workers == 1
    with pytest.raises(ArgumentError, match="a group goes with 'dist_sync', got 'local'"):
        mx.kv.create("local", alone)
