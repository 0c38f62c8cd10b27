"""Notices between ranks, and what a process leaves for its launcher; by an MPI that is made up."""

import json
import os
import socket
import sys
from types import SimpleNamespace

import pytest

from cynet.distributed import launched
from cynet.distributed.control_messages import (
    FAILURE,
    GOODBYE,
    STATUS,
    STATUS_REQUEST,
    ControlMessages,
)


class Gone(Exception):
    pass


class Comm:
    """Ranks 2 and 3 are gone: one says so at once, one later."""

    def __init__(self):
        self.sent, self.mail, self.tests = [], [], {}

    def Isend(self, data, rank, kind):
        if rank == 2:
            raise Gone
        self.sent.append((rank, kind, json.loads(bytes(data))))

        def test():
            if rank == 3:
                raise Gone
            return self.tests.get(rank, False)

        return SimpleNamespace(Test=test)

    def Iprobe(self, source, tag, status):
        assert (source, tag) == ("any source", "any tag")
        if self.mail:
            status.row = self.mail[0]
        return bool(self.mail)

    def Recv(self, data, source, kind):
        rank, tag, content = self.mail.pop(0)
        assert (rank, tag) == (source, kind) and len(data) == len(content)
        data[:] = content


class Status:
    def Get_count(self):
        return len(self.row[2])

    def Get_source(self):
        return self.row[0]

    def Get_tag(self):
        return self.row[1]


@pytest.fixture
def messages():
    library = SimpleNamespace(
        Exception=Gone, Status=Status, ANY_SOURCE="any source", ANY_TAG="any tag"
    )
    made = ControlMessages(library, Comm())
    made.comm = made._comm
    return made


def test_kinds():
    assert len({FAILURE, STATUS_REQUEST, STATUS, GOODBYE}) == 4


def test_ranks_that_are_gone_are_passed_over(messages):
    messages.send([0, 2, 1, 3], FAILURE, {"text": "ü"})
    messages.send([0], STATUS_REQUEST)
    wanted = [(rank, FAILURE, {"text": "ü"}) for rank in (0, 1, 3)]
    assert messages.comm.sent == [*wanted, (0, STATUS_REQUEST, None)] and messages.n_unsent == 4
    assert list(messages.receive()) == [] and messages.n_unsent == 3  # one to 3 never arrives
    messages.comm.tests[0] = True
    assert list(messages.receive()) == [] and messages.n_unsent == 1
    messages.comm.tests[1] = True
    assert list(messages.receive()) == [] and messages.n_unsent == 0


def test_all_that_is_there_is_collected(messages):
    messages.comm.mail += [
        (4, STATUS_REQUEST, b"null"),
        (1, STATUS, b"[3, 4, null]"),
        (4, GOODBYE, b'{"a": 1}'),
    ]
    assert list(messages.receive()) == [
        (4, STATUS_REQUEST, None),
        (1, STATUS, [3, 4, None]),
        (4, GOODBYE, {"a": 1}),
    ]
    assert list(messages.receive()) == []


# --- what is left for the launcher ----------------------------------------------------------------
@pytest.fixture
def job(tmp_path, monkeypatch):
    for name in launched._RANK_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CYNET_LAUNCH_JOB", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    "size, is_up, launched_", [(2, True, True), (1, True, False), (2, False, False)]
)
def test_a_program_that_uses_mpi_itself(size, is_up, launched_, job, monkeypatch):
    fake = SimpleNamespace(Is_initialized=lambda: is_up, COMM_WORLD=SimpleNamespace(size=size))
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", fake)
    assert launched.is_launched() is launched_


@pytest.mark.parametrize("names", [launched._RANK_VARIABLES[:2], launched._RANK_VARIABLES[::-1]])
def test_the_first_launcher_that_says_a_rank(names, job, monkeypatch):
    order = [each for each in launched._RANK_VARIABLES if each in names]
    for i, name in enumerate(order):
        monkeypatch.setenv(name, str(i + 3))
    assert launched.own_rank() == 3
    monkeypatch.setenv(order[0], "x")
    assert launched.own_rank() == 4


@pytest.mark.parametrize("code", [0, 2])
def test_whole_files_of_an_early_end(code, job, monkeypatch):
    monkeypatch.setattr(launched.time, "time", lambda: 5.5)
    monkeypatch.setenv("PMI_RANK", "4")
    launched.report_early_end(code, "its end")
    rows = {each.name: json.loads(each.read_text()) for each in job.iterdir()}
    wanted = {"4.ended": {"rank": 4, "code": code, "how": "its end", "time": 5.5}}
    if code:
        text = "ended before it joined the others: its end"
        wanted["4.json"] = {
            "rank": 4,
            "host": socket.gethostname(),
            "text": text,
            "dead": [],
            "is_own": True,
            "time": 5.5,
        }
    assert rows == wanted  # and no file that is half written
    assert launched.early_ended_ranks() == [(4, "its end")]


def test_files_that_cannot_be_written_or_read(job, monkeypatch):
    (job / "1.ended").mkdir()
    (job / "2.ended").write_text('{"rank": 2, "how": "x"}')
    (job / "3.json").write_text('{"rank": 3, "how": "x"}')
    assert launched.early_ended_ranks() == [(2, "x")]
    monkeypatch.setattr(launched.os, "replace", lambda *given: 1 / 0)
    with pytest.raises(ZeroDivisionError, match="division"):
        launched.report_failure(1, "h", "t")

    def fail(*given):
        raise OSError("the disk is full")

    monkeypatch.setattr(launched.os, "replace", fail)
    launched.report_failure(1, "h", "t")
    assert not (job / "1.json").exists()
    monkeypatch.setenv("CYNET_LAUNCH_JOB", os.devnull)
    launched.report_failure(1, "h", "t")
    assert launched.early_ended_ranks() == []
