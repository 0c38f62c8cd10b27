"""A job that runs: its environment, outputs, signals, limits of time; `run` around it. The jobs are
small programs, without MPI."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from cynet.launch import Job, run, sweep

GO_ON = "import time\nprint('begun', flush=True)\ntime.sleep(30)"
STUBBORN = f"import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n{GO_ON}"
TOLD = """
import json, os, time
path = os.path.join(os.environ["CYNET_LAUNCH_JOB"], "{rank}.json")
with open(path, "w") as file:
    json.dump(dict(rank={rank}, host="h", text="x", is_own=True, dead=[], time=time.time()), file)
"""


class OutputForwarder:
    """What is followed."""

    def __init__(self):
        self.followed = []

    def follow_pipe(self, pipe, target):
        self.followed.append((pipe, target))
        return SimpleNamespace(join=lambda seconds: self.followed.append(seconds))


@pytest.fixture
def begun(monkeypatch, tmp_path):
    """Begins a program as a job."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(run, "_STOP_SECONDS", 0.6)
    monkeypatch.setattr(run, "_POLL_SECONDS", 0.02)
    made = []

    def begin(text, grace=30.0, attempt=0, signals=(), env=(), size=2):
        swept, told = [], []
        monkeypatch.setattr(run, "command_line", lambda job: [sys.executable, "-c", text])
        monkeypatch.setattr(run, "remove_files", swept.append)
        outputs, guard = OutputForwarder(), SimpleNamespace(add_job_folder=told.append)
        job = Job(size, ["x"], env=env)
        each = run.RunningJob(job, outputs, grace, attempt, signals, guard)
        each.swept, each.told, each.outputs = swept, told, outputs
        made.append(each)
        return each

    yield begin
    for each in made:
        each._process.kill()
        each._process.wait()
        each._process.stdout.close()
        each._process.stderr.close()


def test_what_a_job_is_given(begun, monkeypatch, tmp_path):
    monkeypatch.setenv("CYNET_LOG", "1")
    monkeypatch.setenv("A", "of the launcher")
    text = "import os; print(*(os.environ[k] for k in ('CYNET_LAUNCH_ATTEMPT', 'CYNET_LAUNCH_JOB',"
    text += " 'CYNET_LOG', 'A', 'B')), sep='|'); os._exit(5)"
    began = time.time()
    job = begun(text, attempt=3, env=[("B", "own"), ("CYNET_LOG", "2")])
    (pipe, target), (errors, other) = job.outputs.followed
    assert target is sys.stdout and other is sys.stderr
    assert pipe is job._process.stdout and errors is job._process.stderr
    folder = Path(job._folder)
    assert folder.parent == tmp_path and folder.name.startswith("cynet-job-")
    assert job.told == [job._folder] and folder.is_dir()
    assert pipe.read().decode().strip() == f"3|{folder}|2|of the launcher|own"
    assert job.wait() == (5, [])
    assert not folder.exists() and job.outputs.followed[2:] == [2, 2]
    assert began <= job.swept[0] <= time.time() and job.swept == [job._began]


def test_what_ranks_have_told_is_read_at_the_end(begun):
    job = begun(TOLD.format(rank=1) + "raise SystemExit(1)")
    code, rows = job.wait()
    assert code == 1 and [(row["rank"], row["text"]) for row in rows] == [(1, "x")]


@pytest.mark.parametrize("grace", [0.3, 0.0])
def test_what_is_left_after_a_failure_is_ended(grace, begun, capsys):
    job = begun(TOLD.format(rank=0) + GO_ON, grace=grace)
    began = time.monotonic()
    code, rows = job.wait()
    assert code == -signal.SIGTERM and len(rows) == 1
    assert grace <= time.monotonic() - began < 10
    said = f"cynet.launch: ends what is left {grace:g} s after the first failure\n"
    assert capsys.readouterr().err == said


def test_a_job_that_does_not_fail_has_its_time(begun, capsys):
    job = begun("import time; time.sleep(0.4)", grace=0.0)
    assert job.wait() == (0, []) and capsys.readouterr().err == ""


@pytest.mark.parametrize("stubborn", [False, True])
def test_signals_are_passed_on(stubborn, begun, capsys, monkeypatch):
    """Once each; what does not end by them is ended after some seconds."""
    signals, ended = [], []
    monkeypatch.setattr(
        run,
        "end_processes",
        lambda *given: ended.append(given) or sweep.end_processes(given[0], 0.3),
    )
    job = begun(STUBBORN if stubborn else GO_ON, signals=signals)
    job._process.stdout.readline()
    signals.append(signal.SIGTERM)
    began = time.monotonic()
    code, rows = job.wait()
    spent = time.monotonic() - began
    assert rows == [] and capsys.readouterr().err == ""
    if stubborn:
        assert code == -signal.SIGKILL and 0.6 <= spent < 10
        assert [given[0] for given in ended[:2]] == [{}, {job._process.pid: None}]
    else:
        assert code == -signal.SIGTERM and spent < 5
    assert ended[-1][1:] == (1.0,) and len(ended) == (3 if stubborn else 1)


def test_the_last_signal_counts(begun):
    job = begun(
        "import signal, time\nsignal.signal(15, lambda *a: None)\n" + GO_ON,
        signals=[signal.SIGTERM, signal.SIGINT],
    )
    job._process.stdout.readline()
    code, _ = job.wait()
    assert code in (-signal.SIGINT, 130)


def test_what_was_below_a_job_is_ended_with_it(begun, tmp_path):
    """It may have left the job's own processes behind."""
    text = "import subprocess, sys, time\nchild = subprocess.Popen([sys.executable, '-c',"
    text += " 'import time; time.sleep(60)'], start_new_session=True)\n"
    text += f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\ntime.sleep(0.3)"
    assert begun(text).wait()[0] == 0
    row = sweep._process_status(int((tmp_path / "pid").read_text()))
    assert row is None or row[0] == "Z"


# --- around it ------------------------------------------------------------------------------------
def given(**more):
    options = {"dry_run": False, "no_prefix": False, "log_dir": None, "grace": 1.5, **more}
    return SimpleNamespace(**options)


def test_a_dry_run_prints_the_command_line(monkeypatch, capsys):
    monkeypatch.setattr(run, "command_line", lambda job: ["mpiexec", "a b", job.command[0]])
    monkeypatch.setattr(run, "_run_guarded", lambda *given: pytest.fail("it was begun"))
    assert run.run(given(dry_run=True), Job(2, ["x.py"]), ["a note"]) == 0
    assert capsys.readouterr() == ("mpiexec 'a b' x.py\n", "")


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("no_prefix", [False, True])
def test_notes_outputs_and_the_code(fails, no_prefix, monkeypatch, capsys, tmp_path):
    seen = []

    class Made:
        def __init__(self, prefix, folder):
            seen.append((prefix, folder))

        def close(self):
            seen.append("closed")

    def attempts(options, job, outputs):
        seen.append((options.grace, job.size, type(outputs)))
        if fails:
            raise ValueError("as it began")
        return 7

    monkeypatch.setattr(run, "OutputForwarder", Made)
    monkeypatch.setattr(run, "_run_guarded", attempts)
    options = given(no_prefix=no_prefix, log_dir=str(tmp_path))
    call = lambda: run.run(options, Job(2, ["x"]), ["a note", "one more"])  # noqa: E731
    if fails:
        with pytest.raises(ValueError, match="as it began"):
            call()
    else:
        assert call() == 7
    assert seen == [(not no_prefix, str(tmp_path)), (1.5, 2, Made), "closed"]
    said = "cynet.launch: a note\ncynet.launch: one more\n"
    assert capsys.readouterr() == ("", said)


@pytest.mark.parametrize("fails", [False, True])
def test_signals_are_gathered_while_it_runs(fails, monkeypatch):
    seen = []

    class Guard:
        def __enter__(self):
            return "the guard"

        def __exit__(self, kind, error, trace):
            seen.append(kind)

    def begun(options, job, outputs, signals, guard):
        seen.append((options, job, outputs, guard))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
            os.kill(os.getpid(), number)
        seen.append(list(signals))
        if fails:
            raise ValueError("as it ran")
        return 3

    monkeypatch.setattr(run, "Guard", Guard)
    monkeypatch.setattr(run, "_run_with_restarts", begun)
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    if fails:
        with pytest.raises(ValueError, match="as it ran"):
            run._run_guarded("options", "job", "outputs")
    else:
        assert run._run_guarded("options", "job", "outputs") == 3
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGINT]
    kind = ValueError if fails else None
    assert seen == [("options", "job", "outputs", "the guard"), numbers, kind]


def test_what_is_said_of_attempts(monkeypatch, capsys):
    """Every line, in order."""
    rows = [{"rank": 1, "host": "h", "text": "ValueError: x", "is_own": True, "dead": [2]}]
    attempts = [(1, rows), (-9, []), (0, [])]
    begun = []

    class Running:
        def __init__(self, *given):
            begun.append(given)

        def wait(self):
            return attempts[len(begun) - 1]

    monkeypatch.setattr(run, "RunningJob", Running)
    options = given(elastic=True, min_workers=2, restarts=1)
    job = Job(3, ["x"])
    assert run._run_with_restarts(options, job, "outputs", [], "guard") == 0
    smaller = job._replace(size=2)
    rest = [], "guard"
    assert begun == [
        (job, "outputs", 1.5, 0, *rest),
        (smaller, "outputs", 1.5, 1, *rest),
        (smaller, "outputs", 1.5, 2, *rest),
    ]
    died = "a process has died, was killed, or ended before it joined the others"
    assert capsys.readouterr().err.splitlines() == [
        f"cynet.launch: {line}"
        for line in (
            "the job has failed with code 1: rank 1 (h): ValueError: x",
            "goes on with 2 of 3 processes",
            "begins again (1)",
            f"the job has failed with code 137: {died}",
            "begins again (2)",
        )
    ]
    begun.clear()
    assert run._run_with_restarts(options, job, "outputs", [signal.SIGINT], "guard") == 130
    said = "SIGINT: all processes have ended; they were killed, so no script saw it"
    assert capsys.readouterr().err == f"cynet.launch: {said}\n"


# --- processes ------------------------------------------------------------------------------------
def waits():
    made = subprocess.Popen([sys.executable, "-c", GO_ON], stdout=subprocess.PIPE)
    made.stdout.readline()
    return made


def test_only_the_process_that_was_meant_is_ended():
    """Another one may have got its number since."""
    one = waits()
    try:
        began = sweep._process_status(one.pid)[2]
        sweep.end_processes({one.pid: str(int(began) + 1)}, 0.0)
        sweep.end_processes({}, 0.0)
        time.sleep(0.05)
        assert one.poll() is None
        sweep.end_processes({one.pid: began, 2**22 + 5: None})
        assert one.wait(5) == -signal.SIGTERM
        sweep.end_processes({one.pid: began})
    finally:
        one.kill()
        one.stdout.close()


def test_one_that_is_stopped_is_ended_too():
    one = waits()
    try:
        os.kill(one.pid, signal.SIGSTOP)
        sweep.end_processes({one.pid: None}, 5.0)
        assert one.wait(1) == -signal.SIGTERM
    finally:
        one.kill()
        one.stdout.close()


def test_descendants():
    text = "import subprocess, sys, time\nchild = subprocess.Popen([sys.executable, '-c',"
    text += " 'import time; print(1, flush=True); time.sleep(60)'], stdout=subprocess.PIPE)\n"
    text += "child.stdout.readline()\nprint(child.pid, flush=True)\ntime.sleep(60)"
    one = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    other = waits()
    try:
        child = int(one.stdout.readline())
        began = {pid: sweep._process_status(pid)[2] for pid in (child, one.pid, other.pid)}
        assert sweep.descendant_processes(one.pid) == {child: began[child]}
        below = sweep.descendant_processes(os.getpid())
        assert {pid: below.get(pid) for pid in began} == began and os.getpid() not in below
        assert sweep.descendant_processes(child) == {}
        assert (
            sweep._process_status(child)[1] == one.pid and sweep._process_status(2**22 + 5) is None
        )
    finally:
        sweep.end_processes(sweep.descendant_processes(one.pid), 0.0)
        for each in (one, other):
            each.kill()
            each.wait()
            each.stdout.close()
