"""World: what ranks, threads over an MPI that is made up, compute together; and how they join."""

import itertools
import os
import re
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, MismatchError, PeerError, StateError
from cynet.distributed import shutdown
from cynet.distributed.requests import SUM_DTYPES, Request
from cynet.distributed.world import World
from tests.distributed.together import run

file = sys.modules["cynet.distributed.world"]  # its name is that of the function


@pytest.fixture
def soon(monkeypatch):
    """Ranks that have failed do not wait for long."""
    monkeypatch.setattr("cynet.distributed.communication._FAREWELL_SECONDS", 0.1)
    monkeypatch.setattr("cynet.distributed.communication._ANSWER_SECONDS", 0.2)


# --- what ranks compute together ------------------------------------------------------------------
@pytest.mark.parametrize("size", [1, 2, 5])
def test_sums_of_arrays(size, monkeypatch):
    def everything(world):
        found = []
        for dtype, in_order in itertools.product(SUM_DTYPES, (True, False)):
            base = np.arange(12).reshape(3, 4).astype(dtype)
            for values in (base, base[:, ::2], base.T, base[0, 0], base[:0]):
                given = values + world.rank
                given = given.astype(dtype)
                before = given.copy()
                out = world.allreduce(given, f"{dtype} {given.shape}", in_order=in_order)
                wanted = sum((values + rank).astype(dtype) for rank in range(size))
                assert out.dtype == dtype and out is not given
                np.testing.assert_array_equal(
                    out, np.atleast_1d(wanted.astype(dtype)).reshape(out.shape)
                )
                np.testing.assert_array_equal(given, before)
        for dtype in ("bool", "float16", "complex64", "uint16", "str"):
            with pytest.raises(ArgumentError, match="allreduce: a dtype of .'float32', .*got "):
                world.allreduce(np.zeros(2, dtype))
        return found

    run(monkeypatch, size, everything)


def test_bytes_and_votes(monkeypatch):
    size = 3

    def everything(world):
        for lengths in ([0, 0, 0], [3, 0, 1], [1, 70_000, 2]):
            rows = [bytes([65 + rank]) * n for rank, n in enumerate(lengths)]
            assert world.gather(rows[world.rank], "rows") == rows
            assert world.gather(bytearray(rows[world.rank])) == rows
        for votes in itertools.product([True, False], repeat=size):
            answer = world.vote(votes[world.rank])
            assert answer() is all(votes)
        for one in ([True] * 3, [1, "x", 2]):
            assert bool(world.vote(one[world.rank])()) is True

    run(monkeypatch, size, everything)


def test_a_barrier_waits_for_all(monkeypatch):
    passed = []

    def everything(world):
        for slow in range(3):
            if world.rank == slow:
                time.sleep(0.05)
                passed.append(slow)
            world.barrier()
            assert passed[-1] == slow
            world.barrier()

    run(monkeypatch, 3, everything)


def test_requests_of_each_call(monkeypatch):
    """Their texts, priorities and bytes, and the memory that they hold."""

    def everything(world):
        rows, talk = [], world._communication

        def note(request, reads=(), writes=(), in_order=True):
            kept = [each.nbytes for each in request.keep or ()]
            rows.append((request.what, request.priority, request.nbytes, kept, in_order))
            return type(talk).hand_in(talk, request, reads, writes, in_order)

        talk.hand_in = note
        world.barrier()
        world.allreduce(np.ones((2, 2)))
        world.allreduce(np.ones(3, "int8"), "figures", in_order=False)
        world.vote(True)()
        world.gather(b"ab", "notes")
        world.gather(b"c" * world.rank)
        return rows

    assert run(monkeypatch, 2, everything)[1] == [
        ("barrier", 0, 0, [], True),
        ("sum of values (2, 2) float64", 1, 32, [32, 32], True),
        ("sum of figures (3,) int8", 1, 3, [3, 3], False),
        ("vote", 1 << 20, 8, [8, 8], True),
        ("sum of sizes of notes (2,) int64", 1, 16, [16, 16], True),
        ("notes of all ranks", 1, 4, [2, 4], True),
        ("sum of sizes of messages (2,) int64", 1, 16, [16, 16], True),
        ("messages of all ranks", 1, 1, [1, 1], True),
    ]


def test_calls_of_functions_that_run_in_any_order(monkeypatch):
    """Threads of a rank call in their own order; ranks find one another by the text."""

    def everything(world):
        found = {}

        def call(i):
            found[i] = world.allreduce(np.array([i + world.rank]), f"of {i}", in_order=False)[0]

        order = range(8) if world.rank else range(7, -1, -1)
        threads = [threading.Thread(target=call, args=(i,)) for i in order]
        for each in threads:
            each.start()
        world.barrier()
        for each in threads:
            each.join(20)
        assert found == {i: 2 * i + 1 for i in range(8)}

    run(monkeypatch, 2, everything)


@pytest.mark.parametrize("hosts", [["a"] * 3, ["a", "b", "a"], ["a", "b", "c"]])
def test_places(hosts, monkeypatch):
    def everything(world):
        return world.local_rank, world.local_size, world.hosts, repr(world), world.pid

    for rank, row in enumerate(run(monkeypatch, 3, everything, hosts)):
        host = hosts[rank]
        assert row[:3] == (hosts[:rank].count(host), hosts.count(host), hosts)
        assert row[3] == f"<rank {rank} of 3 on {host}>" and row[4] == os.getpid()


def test_steps_are_counted(monkeypatch):
    def everything(world):
        for _ in range(3):
            world.count_step()
        world.check()
        steps, moving, waiting = world.times
        assert steps == 3 and moving >= 0 and waiting >= 0 and not world.has_failed

    run(monkeypatch, 2, everything)
    alone = World(None)
    alone.count_step()
    alone.check()
    alone.fail("nobody is told")
    assert alone.times == (0, 0.0, 0.0) and not alone.has_failed and alone._finish_at_exit() is None
    assert alone.rank == alone.local_rank == 0 and alone.size == alone.local_size == 1


# --- failures -------------------------------------------------------------------------------------
def test_a_forked_child_takes_no_part(monkeypatch):
    def everything(world):
        world.pid += 1
        try:
            for call in (
                world.barrier,
                world.check,
                lambda: world.allreduce(np.ones(1)),
                lambda: world.gather(b""),
                lambda: world.vote(True),
                lambda: world.hand_in(Request("x")),
            ):
                with pytest.raises(StateError, match="was forked from a rank and does not take"):
                    call()
            world.fail("it is no rank")
            assert world._finish_at_exit() is None
        finally:
            world.pid -= 1
        world.barrier()
        assert not world.has_failed

    run(monkeypatch, 2, everything)


def test_a_failure_is_told_to_all(soon, monkeypatch):
    def everything(world):
        world.barrier()
        world.count_step()
        if world.rank == 1:
            raise KeyError("no such row")
        world.allreduce(np.ones(2), "loss")

    found = run(monkeypatch, 3, everything, hosts=["a", "b", "c"], end=False)
    assert isinstance(found[1], KeyError)
    for rank in (0, 2):
        assert isinstance(found[rank], PeerError)
        assert str(found[rank]) == (
            f"rank 1 (b) failed: KeyError: 'no such row'; rank {rank} ({'abc'[rank]}) was in step"
            " 1, it waited for the sum of loss (2,) float64"
        )


def test_what_is_asked_for_after_a_failure(soon, monkeypatch):
    def everything(world):
        world.barrier()
        if world.rank:
            raise KeyError("no such row")
        texts = []
        while not world.has_failed:
            time.sleep(0.001)
        for call in (world.barrier, world.check, lambda: world.allreduce(np.ones(1))):
            with pytest.raises(PeerError, match="rank 1 .here. failed: KeyError: 'no such row'"):
                call()
        return texts

    assert run(monkeypatch, 2, everything, end=False)[0] == []


@pytest.mark.parametrize(
    ("calls", "says"),
    [
        (
            (lambda w: w.allreduce(np.ones(1)), lambda w: w.allreduce(np.ones(2))),
            "call 1: rank 0 (here) asks for the sum of values (1,) float64, rank 1 (here) for the"
            " sum of values (2,) float64; all ranks must make the same calls, of the same shapes",
        ),
        (
            (lambda w: w.barrier(), lambda w: w.vote(True)()),
            "call 1: rank 0 (here) asks for the barrier, rank 1 (here) for the vote; all ranks"
            " must",
        ),
        (
            (lambda w: w.gather(b"x", "notes"), lambda w: w.gather(b"x", "more")),
            "asks for the sum of sizes of notes (2,) int64, rank 1 (here) for the sum of sizes of",
        ),
    ],
)
def test_calls_that_differ(calls, says, soon, monkeypatch):
    def everything(world):
        world.barrier()
        calls[world.rank](world)

    for each in run(monkeypatch, 2, everything, end=False):
        assert isinstance(each, MismatchError) and says in str(each)


@pytest.mark.parametrize("first", [0, 1])
def test_a_rank_that_ends_early(first, soon, monkeypatch):
    def everything(world):
        if world.rank != first:
            world.barrier()
        return "ended"

    found = run(monkeypatch, 2, everything, end=False)
    assert found[first] == "ended"
    assert str(found[1 - first]).startswith(
        f"rank {first} (here) came to an end; all ranks must make the same calls"
    )


def test_ranks_that_wait_for_each_other(soon, monkeypatch):
    """Each of them is ready for what the other one never asks for."""
    monkeypatch.setattr(
        "cynet.distributed.communication._ANSWER_SECONDS", 20.0
    )  # on a busy machine

    def everything(world):
        world.barrier()
        if world.rank:
            time.sleep(1.2)
        else:
            world.barrier()

    found = run(monkeypatch, 2, everything, stall=0.5, end=False)
    assert isinstance(found[0], PeerError)
    assert "no progress for 0.5 s (CYNET_DIST_STALL): rank 1 (here) has made 1 calls and is in" in (
        str(found[0])
    )
    assert "; this rank has made 2" in str(found[0])


# --- how they join --------------------------------------------------------------------------------
class Joining:
    """A Communication that is made up."""

    made = None

    def __init__(self, stall):
        self.stall, self.begun, self.failure = stall, 0, None
        self.rank, self.size, self.hosts = 1, 2, ["a", "b"]
        self.waits, self.opened = [], SimpleNamespace(wait=self._wait)
        Joining.made = self

    def start(self):
        self.begun += 1

    def _wait(self, seconds):
        self.waits.append(seconds)
        Joining.clock[0] += seconds
        return len(self.waits) > Joining.opens_after


@pytest.fixture
def joining(monkeypatch):
    calls = []
    Joining.clock, Joining.opens_after = [10.0], 2
    monkeypatch.setattr(file, "Communication", Joining)
    monkeypatch.setattr(file, "_world", None)
    monkeypatch.setattr(file, "is_launched", lambda: True)
    monkeypatch.setattr(file, "own_rank", lambda: 7)
    monkeypatch.setattr(file, "socket", SimpleNamespace(gethostname=lambda: "node"))
    monkeypatch.setattr(file, "time", SimpleNamespace(monotonic=lambda: Joining.clock[0]))
    monkeypatch.setattr(file, "early_ended_ranks", list)
    monkeypatch.setattr(file, "report_failure", lambda *given, **more: calls.append((given, more)))
    monkeypatch.setattr(file, "set_gradient_parts", lambda n: calls.append(("cut", n)))
    fake = SimpleNamespace(
        install_exit_hooks=lambda find: calls.append(("watch", find)),
        abandon_startup=lambda: calls.append("abandon"),
    )
    monkeypatch.setattr(file, "shutdown", fake)
    monkeypatch.setenv("CYNET_DIST_STALL", "5")
    return calls


def test_joining_once(joining):
    assert not file.is_joined() and file.is_first()
    world = mx.distributed.world()
    assert mx.distributed.world() is world and Joining.made.begun == 1
    assert (world.rank, world.size, Joining.made.stall) == (1, 2, 5)
    assert Joining.made.waits == [0.5] * 3
    (name, find), cut = joining
    assert name == "watch" and find() is world and cut == ("cut", 8)
    assert file.is_joined() and not file.is_first()


def test_one_that_was_not_launched(joining, monkeypatch):
    monkeypatch.setattr(file, "is_launched", lambda: False)
    world = mx.distributed.world()
    assert world.size == 1 and not joining and not file.is_joined() and file.is_first()


def test_a_job_of_one_rank(joining, monkeypatch):
    class Alone(Joining):
        def __init__(self, stall):
            super().__init__(stall)
            self.rank, self.size, self.hosts = 0, 1, ["a"]

    monkeypatch.setattr(file, "Communication", Alone)
    mx.distributed.world()
    assert [each[0] for each in joining] == ["watch"] and not file.is_joined()


@pytest.mark.parametrize("stall", ["5", "90"])
def test_ranks_that_never_come(stall, joining, monkeypatch):
    monkeypatch.setenv("CYNET_DIST_STALL", stall)
    limit = max(60, int(stall))
    Joining.opens_after = 2 * limit
    mx.distributed.world()  # the last moment
    monkeypatch.setattr(file, "_world", None)
    joining.clear()
    Joining.opens_after += 1
    says = f"not all ranks have come within {limit} s (CYNET_DIST_STALL)"
    with pytest.raises(PeerError, match=re.escape(f"joining the other ranks: {says}") + "$"):
        mx.distributed.world()
    assert joining == [((7, "node", says), {"is_own": False}), "abandon"]


def test_ranks_that_ended_before_they_joined(joining, monkeypatch):
    monkeypatch.setattr(file, "early_ended_ranks", lambda: [(2, "its end"), (3, "sys.exit")])
    says = "rank 2 (its end), rank 3 (sys.exit) ended before joining the others"
    with pytest.raises(PeerError, match="joining the other ranks: rank 2 .its end., rank 3 .sys"):
        mx.distributed.world()
    assert joining[0][0] == (7, "node", says)


def test_a_communication_that_does_not_open(joining, monkeypatch):
    failing = ImportError("no library")
    monkeypatch.setattr(
        Joining, "_wait", lambda self, seconds: setattr(self, "failure", failing) or True
    )
    with pytest.raises(ImportError, match="no library"):
        mx.distributed.world()
    assert not joining


# --- the end --------------------------------------------------------------------------------------
class Ended:
    """A communication at its end."""

    def __init__(self, failure=None, then=None):
        self.failure, self.then, self.calls = failure, then, []
        self.rank, self.size, self.hosts = 0, 2, ["a", "a"]

    def leave(self):
        self.calls.append("leave")
        self.failure = self.then

    def join(self):
        self.calls.append("join")

    def wait_for_reports(self):
        self.calls.append("part")


@pytest.mark.parametrize(
    ("before", "then", "calls"),
    [
        (None, None, ["leave", "join"]),
        (None, "late", ["leave", "read", "part"]),
        ("early", None, ["read", "part"]),
    ],
)
def test_the_end(before, then, calls, monkeypatch):
    talk = Ended(before, then)
    monkeypatch.setattr(shutdown, "wait_until_read", lambda: talk.calls.append("read"))
    world = World(talk)
    assert world._finish_at_exit() == (before or then) and talk.calls == calls
