"""What the communication thread does by itself, without MPI: the seconds that it counts, rounds,
names of what failed, and what ranks leave for their launcher."""

import json
import os
import time
from types import SimpleNamespace

import numpy as np
import pytest

from cynet.distributed import communication as file
from cynet.distributed import launched
from cynet.distributed.communication import Communication
from cynet.distributed.negotiation import ROUND_SIZE, Negotiation
from cynet.distributed.requests import Request, shorten_text


@pytest.fixture
def thread(monkeypatch):
    """A Communication that was never started, and a clock: ``thread.clock[0]``."""
    made, clock = Communication(5.0), [100.0]
    monkeypatch.setattr(file.time, "monotonic", lambda: clock[0])
    made._looked = made._moved = made._listened = clock[0]
    made._negotiation = SimpleNamespace(is_open=False, poll=lambda: None)
    made.clock = clock
    yield made
    for each in made._in, made._out:
        os.close(each)


# --- seconds --------------------------------------------------------------------------------------
def test_seconds_of_moving_and_waiting(thread):
    """Each second is of what stood at its end: data that moved, others that were not ready."""
    thread._read_pipe = lambda: False
    thread._advance_round = lambda now: False
    thread._handle_messages = lambda: None
    thread._report_stall = lambda now: None
    request = SimpleNamespace(what="a sum")

    def turn(seconds, flying=(), ready=(), queue=(), is_open=False):
        thread._flying, thread._ready = list(flying), dict(ready)
        thread._queue, thread._negotiation.is_open = list(queue), is_open
        thread.clock[0] += seconds
        thread._poll_once()
        return thread.moving, thread.waiting

    assert turn(1) == (0, 0)  # nothing was asked for
    assert turn(2, flying=[request]) == (2, 0)
    assert turn(0.5, flying=[request], is_open=True) == (2.5, 0)  # beside it others are waited for
    assert turn(4, is_open=True) == (2.5, 4)
    assert turn(0.25, ready={1: request}) == (2.5, 4.25)
    assert turn(0.25, queue=[request]) == (2.5, 4.5)
    assert turn(8) == (2.5, 4.5)
    thread._report_stall = lambda now: pytest.fail("it has not waited for long")
    thread._moved = thread.clock[0]
    turn(5, is_open=True)  # exactly the limit
    asked = []
    thread._report_stall = asked.append
    turn(0.25, is_open=True)
    assert asked == [thread.clock[0]]
    turn(9)  # and nobody is asked where nothing is waited for
    assert len(asked) == 1


def test_listening_now_and_then(thread):
    heard = []
    thread._read_pipe, thread._advance_round = lambda: False, lambda now: False
    thread._handle_messages = lambda: heard.append(thread.clock[0])
    for _ in range(10):
        thread.clock[0] += file._LISTEN_SECONDS / 2
        thread._poll_once()
    assert 4 <= len(heard) <= 5


def test_pauses(thread, monkeypatch):
    """It looks again at once where something has moved a moment ago, and sleeps longer and longer
    where others are waited for."""
    slept = []
    monkeypatch.setattr(file.select, "select", lambda r, w, x, seconds: slept.append(seconds))
    monkeypatch.setattr(file.os, "sched_yield", lambda: slept.append("spins"))
    thread._pause_thread(True)
    assert slept == [file._IDLE_SECONDS]  # nothing is asked of it
    thread._negotiation.is_open = True
    thread._pause_thread(True)
    thread.clock[0] += file._SPIN_SECONDS / 2
    thread._pause_thread(False)
    thread.clock[0] += file._SPIN_SECONDS
    for _ in range(9):
        thread._pause_thread(False)
    assert slept[1:3] == ["spins", "spins"]
    found = slept[3:]
    assert found[0] == file._MIN_SLEEP and found[-1] == file._MAX_SLEEP and found == sorted(found)
    assert found[1] == pytest.approx(1.5 * found[0])
    thread._negotiation.is_open, thread._leaving = False, True
    thread._pause_thread(False)
    assert slept[-1] == file._LISTEN_SECONDS


def test_two_operations_fly_at_once(thread):
    begun, done = [], []
    thread._data = "the communicator"
    thread._finish_request = lambda request, error=None: done.append(request.what)
    thread._join_round = lambda now: False
    ends = [SimpleNamespace(Test=lambda i=i: i in finished) for i in range(4)]
    finished = set()
    for i in range(4):
        request = Request(f"sum {i // 2}")
        request.left = 2
        if i % 2:
            request = thread._queue[-1][1]

        def start(comm, i=i):
            begun.append((comm, i))
            return ends[i]

        thread._queue.append((start, request))
    assert thread._advance_round(0) is False
    assert begun == [("the communicator", 0), ("the communicator", 1)]
    finished.add(1)
    assert thread._advance_round(0) is True and len(begun) == 3 and not done
    finished.add(0)
    assert thread._advance_round(0) is True and len(begun) == 4 and done == ["sum 0"]
    finished.update((2, 3))
    assert thread._advance_round(0) is True and done == ["sum 0", "sum 1"] and not thread._flying


# --- rounds ---------------------------------------------------------------------------------------
def round_of(*ranks):
    """The Round of ranks that offer (base, ready, marks, leaving)."""
    made, library = [], SimpleNamespace(MAX="max")
    for each in ranks:
        sent = []

        def reduce(mine, everything, how, sent=sent):
            assert how == "max"
            sent.append(mine.copy())
            return SimpleNamespace(Test=lambda: True)

        negotiation = Negotiation(library, SimpleNamespace(Iallreduce=reduce))
        assert not negotiation.is_open and negotiation.poll() is None
        negotiation.begin(*each)
        assert negotiation.is_open
        made.append((negotiation, sent[0]))
    together = np.max([sent for _, sent in made], axis=0)
    found = []
    for negotiation, _ in made:
        negotiation._all[:] = together
        found.append(negotiation.poll())
        assert not negotiation.is_open
    return found[0]


def numbered(*pairs):
    return [SimpleNamespace(number=number, mark=mark) for number, mark in pairs]


def test_what_all_are_ready_for():
    found = round_of(
        (5, numbered((5, 1), (6, 2), (8, 3), (4 + ROUND_SIZE, 9)), [], False),
        (5, numbered((6, 2), (7, 4), (8, 3), (4 + ROUND_SIZE, 9)), [], False),
    )
    assert found.common == [6, 8, 4 + ROUND_SIZE] and found.differs is None
    assert (found.left, found.all_left, found.free) == (False, False, None)


@pytest.mark.parametrize("number", [0, 1, ROUND_SIZE - 1])
def test_the_first_that_differs(number):
    same = numbered(*[(i, 7) for i in range(number)])
    found = round_of(
        (0, same + numbered((number, 1)), [], False), (0, same + numbered((number, 2)), [], False)
    )
    assert found.differs == number


def test_ranks_that_come_to_their_end():
    mine = (0, [], [], True)
    assert round_of(mine, mine).all_left and round_of(mine, mine).left
    found = round_of(mine, (0, numbered((0, 1)), [], False))
    assert found.left and not found.all_left


def test_requests_without_numbers():
    found = round_of((0, [], [3, 9], False), (0, [], [9], False))
    assert found.free == 9 and found.next_upper_bound is None
    found = round_of((0, [], [3, 9], False), (0, [], [3], False))
    assert found.free is None and found.next_upper_bound == 9
    found = round_of((0, [], [], False), (0, [], [], False))
    assert found.free is None and found.next_upper_bound is None
    comm = SimpleNamespace(Iallreduce=lambda mine, *_: mine)
    negotiation = Negotiation(SimpleNamespace(MAX=0), comm)
    negotiation._below = 9
    negotiation.begin(0, [], [3, 9, 12], False)
    assert negotiation._mine[-2:].tolist() == [3, -3]


# --- what is left for the launcher ----------------------------------------------------------------
@pytest.fixture
def job(tmp_path, monkeypatch):
    for name in launched._RANK_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CYNET_LAUNCH_JOB", str(tmp_path))
    return tmp_path


def test_reports(job):
    begin = time.time()
    launched.report_failure(3, "node", "it is over", {2, 1}, is_own=False)
    launched.report_failure(0, "node", "mine")
    rows = {each.name: json.loads(each.read_text()) for each in job.iterdir()}
    assert begin <= rows["3.json"].pop("time") <= rows["0.json"].pop("time") <= time.time()
    assert rows == {
        "3.json": {
            "rank": 3,
            "host": "node",
            "text": "it is over",
            "dead": [1, 2],
            "is_own": False,
        },
        "0.json": {"rank": 0, "host": "node", "text": "mine", "dead": [], "is_own": True},
    }


@pytest.mark.parametrize("code", [0, 3])
def test_an_end_before_joining(job, code, monkeypatch):
    assert launched.early_ended_ranks() == []
    for rank in (10, 2):
        monkeypatch.setenv("PMI_RANK", str(rank))
        launched.report_early_end(code, f"sys.exit {rank}")
    (job / "7.ended").write_text("[")  # half written
    assert launched.early_ended_ranks() == [(2, "sys.exit 2"), (10, "sys.exit 10")]
    names = sorted(each.name for each in job.iterdir())
    assert names == ["10.ended", "2.ended", "7.ended"] if not code else "10.json" in names
    if code:
        row = json.loads((job / "2.json").read_text())
        assert row["text"] == "ended before it joined the others: sys.exit 2" and row["is_own"]


def test_without_a_launcher_nothing_is_left(job, monkeypatch):
    for folder in ("", str(job / "gone")):
        monkeypatch.setenv("CYNET_LAUNCH_JOB", folder)
        launched.report_failure(0, "node", "mine")
        launched.report_early_end(1, "x")
        assert launched.early_ended_ranks() == [] and not [*job.iterdir()]


@pytest.mark.parametrize("name", launched._RANK_VARIABLES)
def test_numbers_that_launchers_give(job, name, monkeypatch):
    assert launched.own_rank() is None and not launched.is_launched()
    for text, rank in (("0", 0), ("12", 12), ("", None), ("x", None), ("-1", None)):
        monkeypatch.setenv(name, text)
        assert launched.own_rank() == rank and launched.is_launched() == bool(text)


# --- what is said of a failure --------------------------------------------------------------------
@pytest.fixture
def failing(thread):
    """The same as rank 1 of 3, and the errors that it fails with: ``thread.errors``."""
    thread.rank, thread.size, thread.hosts = 1, 3, ["a", "b", "a"]
    thread.errors, thread.told = [], []
    thread._fail_requests = lambda error, reason=None, tell=False: thread.errors.append(
        (str(error), tell)
    )
    thread._messages = SimpleNamespace(
        send=lambda ranks, kind, content=None: thread.told.append((list(ranks), kind, content)),
        receive=lambda: thread.heard,
        n_unsent=0,
    )
    return thread


def answers(thread, *texts):
    """Have the ranks say these; what this one says is kept."""
    said = []
    thread._exchange_texts = lambda text, until: said.append((text, until)) or list(texts)
    return said


def test_who_came_to_an_end(failing):
    said = answers(failing, "ended", "", "ended")
    failing._fail_for_ended_rank()
    failing._leaving = True
    failing._requests[0] = "one that waits"
    failing._fail_for_ended_rank()
    failing._requests.clear()
    answers_of_one = answers(failing, "", "ended", "")
    failing._fail_for_ended_rank()
    assert [text for text, _ in said] == ["", ""] and answers_of_one[0] == ("ended", 105.0)
    same = "all ranks must make the same calls"
    left = f"rank 0 (a), rank 2 (a) came to an end; {same}"
    own = f"rank 1 (b) came to an end while rank 0 (a), rank 2 (a) still waited for it; {same}"
    assert [text for text, _ in failing.errors] == [left, left, own]


@pytest.mark.parametrize("other", [1, 2])
def test_who_asks_for_something_else(failing, other):
    texts = ["sum of 'w' (3,) float32"] * 3
    texts[other] = "sum of 'w' (3,) float64"
    failing._ready[7] = Request(texts[1])
    said = answers(failing, *texts)
    failing._fail_for_mismatch(7)
    assert said == [(texts[1], 105.0)]
    assert failing.errors[0][0] == (
        f"call 7: rank 0 (a) asks for the sum of 'w' (3,) float32, rank {other}"
        f" ({'aba'[other]}) for the sum of 'w' (3,) float64; all ranks must make the same calls,"
        " of the same shapes and dtypes"
    )


def test_who_no_longer_answers(failing):
    failing._report_stall(100.0)
    assert failing.told == [([0, 2], file.STATUS_REQUEST, None)] and not failing.errors
    failing._answers[0] = (4, 2, None)
    failing._report_stall(100.0 + file._ANSWER_SECONDS - 0.01)
    assert len(failing.told) == 1 and not failing.errors
    failing._report_stall(100.0 + file._ANSWER_SECONDS)
    text = "no progress for 5 s (CYNET_DIST_STALL): rank 2 (a) no longer answers"
    assert failing.errors == [(text, True)] and failing._silent == {2}
    assert failing._living_ranks() == [0]


def test_ranks_that_wait_for_each_other(failing):
    failing._next = 9
    failing._report_stall(100.0)
    failing._answers.update({0: (4, 2, "a sum"), 2: (5, 3, None)})
    failing._report_stall(100.1)
    text = "no progress for 5 s (CYNET_DIST_STALL): rank 0 (a) has made 4 calls and is in step 2;"
    text += " rank 2 (a) has made 5 calls and is in step 3; this rank has made 9"
    assert failing.errors == [(text, True)]


def test_what_others_tell(failing):
    def told(**content):
        failing.heard = [(2, file.FAILURE, {"failed": None, "dead": [], "text": "all", **content})]
        failing._handle_messages()
        return failing.errors.pop()[0]

    assert told(failed="ValueError: x") == "rank 2 (a) failed: ValueError: x"
    assert told() == "rank 2 (a) tells: all"
    died = "died: killed, crashed, or its machine is gone"
    assert told(dead=[0]) == f"rank 0 (a) has {died}"
    assert told(dead=[2]) == f"rank 0 (a), rank 2 (a) have {died}"
    assert failing._living_ranks() == []
    failing._requests.update({5: Request("later"), 3: Request("first")})
    failing._next, failing.step = 6, 8
    failing.heard = [
        (0, file.STATUS_REQUEST, None),
        (0, file.STATUS, [1, 2, None]),
        (2, file.GOODBYE, None),
    ]
    failing._handle_messages()
    assert failing.told == [([0], file.STATUS, [6, 8, "first"])]
    assert failing._answers == {0: [1, 2, None]} and failing._byes == {2}


def test_parting_waits_for_the_others_but_not_for_long(failing):
    failing._leave_job(100.0)
    assert not failing.told  # it has not come to that
    failing._parting, failing._parted = True, 100.0
    failing._leave_job(100.0)
    failing._leave_job(100.0 + file._FAREWELL_SECONDS)
    assert failing.told == [([0, 2], file.GOODBYE, None)] and not failing._is_over
    failing._leave_job(100.0 + file._FAREWELL_SECONDS + 0.01)
    assert failing._is_over
    failing._is_over, failing._byes = False, {0, 2}
    failing._messages.n_unsent = 1
    failing._leave_job(100.0)
    assert not failing._is_over
    failing._messages.n_unsent = 0
    failing._leave_job(100.0)
    assert failing._is_over


def test_the_first_failure_stays(thread, job):
    """What comes behind it is its consequence; it is told once."""
    told = []
    thread._messages = SimpleNamespace(send=lambda *given: told.append(given))
    thread._fail_requests(ValueError("the first"), "the first")
    thread._fail_requests(ValueError("the second"), "the second")
    assert str(thread.failure) == "the first" and len(told) == 1
    assert json.loads((job / "0.json").read_text())["text"] == "the first"
    with pytest.raises(ValueError, match="^the first$"):
        thread.check()


def test_a_long_text_is_cut():
    names = ", ".join(f"'{i:02}'" for i in range(99))
    for length, wanted in ((100, "sum of '00'"), (101, "sum of '00' and")):
        text = f"sum of {names}"[: length - 1] + "x"
        assert shorten_text(text).startswith(wanted) and (shorten_text(text) == text) == (
            length == 100
        )
    for length in (200, 201):
        assert shorten_text("a" * length) == ("a" * 200 if length == 200 else "a" * 100 + "...")
