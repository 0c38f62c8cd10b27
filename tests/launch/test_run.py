"""What the launcher does when a job has ended: codes, beginning again, what it says. No MPI."""

import json
import signal
from types import SimpleNamespace

import pytest

from cynet.launch import Job, run

JOB = Job(3, ["train.py"])


def row(rank, text="x", own=True, dead=(), when=0.0):
    return {"rank": rank, "host": "h", "text": text, "is_own": own, "dead": [*dead], "time": when}


def ended(monkeypatch, attempts, options=(), signals=()):
    """(exit code, sizes of the jobs that were begun, their numbers) of attempts that end in turn
    as (code, rows)."""
    begun = []

    class Running:
        def __init__(self, job, outputs, grace, attempt, signals, guard):
            begun.append((job.size, attempt))

        def wait(self):
            return attempts[len(begun) - 1]

    monkeypatch.setattr(run, "RunningJob", Running)
    given = {"grace": 1.0, "elastic": False, "min_workers": 1, "restarts": 0, **dict(options)}
    code = run._run_with_restarts(SimpleNamespace(**given), JOB, None, list(signals), None)
    return code, begun


@pytest.mark.parametrize("code, wanted", [(0, 0), (1, 1), (7, 7), (-9, 137), (-15, 143)])
def test_the_code_of_a_job(code, wanted, monkeypatch, capsys):
    assert ended(monkeypatch, [(code, [])]) == (wanted, [(3, 0)])
    said = capsys.readouterr().err
    assert (f"the job has failed with code {wanted}: a process has died" in said) == bool(wanted)


def test_the_code_of_a_signal(monkeypatch, capsys):
    found = ended(monkeypatch, [(1, [])], {"restarts": 3}, [signal.SIGTERM, signal.SIGINT])
    assert found == (128 + signal.SIGTERM, [(3, 0)])
    assert "SIGTERM: all processes have ended" in capsys.readouterr().err


@pytest.mark.parametrize("restarts, begun", [(0, 1), (1, 2), (2, 3), (3, 3)])
def test_restarts(restarts, begun, monkeypatch, capsys):
    attempts = [(1, []), (1, []), (0 if restarts == 2 else 5, [])]
    attempts = [*attempts[:2], (0, [])] if restarts > 1 else attempts
    code, found = ended(monkeypatch, attempts, {"restarts": restarts})
    assert found == [(3, i) for i in range(begun)]
    assert code == (0 if restarts > 1 else 1)
    assert capsys.readouterr().err.count("begins again") == begun - 1


@pytest.mark.parametrize("least, sizes", [(1, [3, 2, 1]), (2, [3, 2]), (3, [3])])
def test_elastic_goes_on_with_those_that_are_left(least, sizes, monkeypatch, capsys):
    attempts = [
        (1, [row(0, own=False, dead=[2])]),
        (1, [row(0, dead=[1]), row(1, dead=[1])]),
        (4, []),
    ]
    code, found = ended(monkeypatch, attempts, {"elastic": True, "min_workers": least})
    assert found == [(size, i) for i, size in enumerate(sizes)]
    assert code == (4 if least == 1 else 1)
    assert ("goes on with 2 of 3 processes" in capsys.readouterr().err) == (least < 3)


def test_elastic_without_a_death_is_no_reason_to_go_on(monkeypatch):
    assert ended(monkeypatch, [(1, [row(0)])], {"elastic": True}) == (1, [(3, 0)])
    both = {"elastic": True, "restarts": 1}
    assert ended(monkeypatch, [(1, [row(0)]), (0, [])], both) == (0, [(3, 0), (3, 1)])


def test_why():
    assert run._failure_report([]).startswith("a process has died, was killed, or ended")
    other, own = row(0, "rank 2 has died", own=False), row(2, "ValueError: x")
    assert run._failure_report([other]) == "rank 2 has died"
    assert run._failure_report([other, own, row(1, "y")]) == "rank 2 (h): ValueError: x"


def test_what_ranks_have_told(tmp_path):
    running = object.__new__(run.RunningJob)
    running._folder = str(tmp_path)
    for rank, when in ((0, 3.0), (1, 1.0), (2, 2.0)):
        (tmp_path / f"{rank}.json").write_text(json.dumps(row(rank, when=when)))
    (tmp_path / "3.ended").write_text(json.dumps(row(3)))
    (tmp_path / "4.json.new").write_text(json.dumps(row(4)))
    (tmp_path / "5.json").write_text('{"rank": 5,')  # half written
    (tmp_path / "6.json").write_text("[" * 100_000)
    assert [each["rank"] for each in running._read_rank_reports()] == [1, 2, 0]
