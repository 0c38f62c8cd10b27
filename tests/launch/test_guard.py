"""No process of a job outlives its launcher, however that ends."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from cynet.launch import guard, sweep
from cynet.launch.command import find_mpiexec
from tests import scripts
from tests.distributed.ranks import HOSTS, TWO_HOSTS, can_unshare, need_mpi

# seconds after the launcher's death; processes wait for a core where there are more of them
LIMIT = 2.0 * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
# a launcher that starts processes of a job, one of another job, and ends as argv[1] says
LAUNCHER = """
import json, os, signal, subprocess, sys, time
from cynet.launch.guard import Guard

def started(code, folder, **settings):
    env = {**os.environ, "CYNET_LAUNCH_JOB": folder}
    command = [sys.executable, "-c", code]
    child = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, **settings)
    child.stdout.readline()
    return child.pid

folder, how = sys.argv[1:]
GO_ON = "import sys, time; print(1, flush=True); time.sleep(60)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + GO_ON
FORKED = "import os; os.fork();" + GO_ON
try:
    with Guard() as guard:
        if how == "guard killed":
            os.kill(guard._pid, signal.SIGKILL)
            time.sleep(0.1)
        guard.add_job_folder(folder + "-before")
        guard.add_job_folder(folder)
        pids = [started(GO_ON, folder), started(STUBBORN, folder, start_new_session=True),
                started(GO_ON, folder), started(FORKED, folder), started(GO_ON, folder + "-before")]
        os.kill(pids[2], signal.SIGSTOP)
        others = [started(GO_ON, folder + "-other"), started(GO_ON, folder[:-1])]
        print(json.dumps([guard._pid, pids, others]), flush=True)
        if how in ("killed", "guard killed"):
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "group killed":
            os.killpg(os.getpgid(0), signal.SIGKILL)
        if how == "hung up":
            os.kill(os.getpid(), signal.SIGHUP)
        if how == "fails":
            raise ValueError("by itself")
except ValueError:
    os._exit(3)
"""


def lives(pid):
    row = sweep._process_status(pid)
    return row is not None and row[0] != "Z"


def gone_within(pids, seconds=LIMIT):
    until = time.monotonic() + seconds
    while any(map(lives, pids)) and time.monotonic() < until:
        time.sleep(0.02)
    return not any(map(lives, pids))


@pytest.mark.parametrize(
    "how", ["killed", "group killed", "hung up", "fails", "guard killed", "over"]
)
def test_processes_of_a_job_end_with_its_launcher(how, tmp_path):
    folder = tmp_path / "jobover"  # "over" alone is what a guard is told at the end
    folder.mkdir()
    (folder / "0.json").write_text("{}")
    process = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, str(folder), how],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(scripts.ROOT), "TMPDIR": str(tmp_path)},
    )
    watching, pids, others = json.loads(process.stdout.readline())
    try:
        process.wait(20)
        if how == "over":
            assert process.returncode == 0 and all(map(lives, pids)) and folder.exists()
            assert not lives(watching)
            return
        assert gone_within([*pids, *sweep.job_processes([str(folder)])])
        assert gone_within([watching], 5)
        assert not folder.exists()
        assert how == "group killed" or all(map(lives, others))
    finally:
        for pid in [*pids, *others, *sweep.job_processes([str(folder)])]:
            if lives(pid):
                os.kill(pid, signal.SIGKILL)
        process.stdout.close()


def test_members_are_known_by_their_whole_folder():
    process = subprocess.Popen(["sleep", "60"], env={"CYNET_LAUNCH_JOB": "/tmp/job-1", "B": "x"})
    try:
        until = time.monotonic() + 10
        while not (found := sweep.job_processes(["/tmp/job-1"])) and time.monotonic() < until:
            time.sleep(0.01)
        assert found == {process.pid: sweep._process_status(process.pid)[2]}
        assert sweep.job_processes(["/none", "/tmp/job-1"]) == found
        for other in ("/tmp/job-", "/tmp/job-11", "", "x"):
            assert not sweep.job_processes([other])
        assert not sweep.job_processes([])
    finally:
        process.kill()
        process.wait()


def test_what_the_guard_reads(monkeypatch, tmp_path):
    """The end of the pipe with and without the word that all is over."""
    seen = []
    monkeypatch.setattr(guard, "job_processes", lambda folders: seen.append(folders) or {})
    monkeypatch.setattr(guard, "remove_files", lambda began: seen.append("swept"))
    for text, wanted in (
        (b"", [[], [], "swept"]),
        (b"over\n", []),
        (b"/a\n/b c\n", [["/a", "/b c"], ["/a", "/b c"], "swept"]),
        (b"/a\nover\n", []),
        (b"/over\n/a", [["/over", "/a"], ["/over", "/a"], "swept"]),
    ):
        reading, writing = os.pipe()
        os.write(writing, text)
        os.close(writing)
        guard._watch_launcher(reading)
        os.close(reading)
        assert seen == wanted
        seen.clear()


def test_the_guard_is_no_part_of_its_launcher(monkeypatch):
    """Neither of its session and its signals, nor of its three pipes."""
    calls = []
    monkeypatch.setattr(guard.os, "setsid", lambda: calls.append("session"))
    monkeypatch.setattr(guard.os, "open", lambda path, how: calls.append((path, how)) or 9)
    monkeypatch.setattr(guard.os, "dup2", lambda one, other: calls.append((one, other)))
    monkeypatch.setattr(guard.signal, "signal", lambda *given: calls.append(given))
    guard._detach_from_launcher()
    ignored = [
        (number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    ]
    pipes = [(9, number) for number in range(3)]
    assert calls == ["session", *ignored, (os.devnull, os.O_RDWR), *pipes]


def test_what_the_guard_does_at_the_end(monkeypatch, tmp_path):
    """Processes are ended, also those that began meanwhile; folders go, and what MPI has left."""
    folders = [tmp_path / "a", tmp_path / "none", tmp_path / "b"]
    for each in (folders[0], folders[2]):
        each.mkdir()
        (each / "0.json").write_text("{}")
    found, calls = iter(({1: "x"}, {2: "y"})), []
    monkeypatch.setattr(guard, "job_processes", lambda given: calls.append(given) or next(found))
    monkeypatch.setattr(guard, "end_processes", lambda *given: calls.append(given))
    monkeypatch.setattr(guard, "remove_files", lambda began: calls.append(began))
    monkeypatch.setattr(guard.time, "time", lambda: 7.5)
    reading, writing = os.pipe()
    text = "\n".join(map(str, folders)).encode()
    os.write(writing, text[:20])
    os.write(writing, text[20:])
    os.close(writing)
    guard._watch_launcher(reading)
    os.close(reading)
    names = [str(each) for each in folders]
    assert calls == [names, ({1: "x"}, guard._TERM_SECONDS), names, ({2: "y"}, 0.0), 7.5]
    assert not any(each.exists() for each in folders)


# --- under mpiexec --------------------------------------------------------------------------------
PROGRAM = """
import os, sys, time
open(os.path.join(sys.argv[1], f"{os.environ.get('CYNET_LAUNCH_ATTEMPT')}-{os.getpid()}"), "w")
if os.environ["CYNET_LAUNCH_ATTEMPT"] == "0" and len(sys.argv) > 2:
    sys.exit(3)
time.sleep(60)
"""


def job(folder, n, *launch, before=(), after=()):
    """(launcher, pids of the ranks of its last attempt) of a job that goes on for a minute."""
    (folder / "program.py").write_text(PROGRAM)
    ranks = folder / "ranks"
    ranks.mkdir()
    command = [sys.executable, "-m", "cynet.launch", "-n", str(n), "--threads", "1", *launch]
    command += [sys.executable, "-u", str(folder / "program.py"), str(ranks), *after]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(scripts.ROOT)},
    )
    number, until = "1" if after else "0", time.monotonic() + 60
    while time.monotonic() < until:
        names = [each.split("-") for each in os.listdir(ranks)]
        pids = [int(pid) for attempt, pid in names if attempt == number]
        if len(pids) == n:
            return process, pids
        time.sleep(0.05)
    process.kill()
    pytest.fail(f"the ranks did not start: {names}")


@pytest.mark.parametrize("how", ["killed", "group killed", "begun again", "two hosts"])
def test_ranks_end_with_their_launcher(how):
    need_mpi()
    launch, after = [], []
    if how == "two hosts":
        if find_mpiexec()[1] != "openmpi" or not can_unshare("--uts", "--mount"):
            pytest.skip("two hosts are emulated by unshare, which needs root, and Open MPI 5")
        launch = ["-H", str(HOSTS / "hostfile"), "--mpi-args", TWO_HOSTS]
    if how == "begun again":
        launch, after = ["--restarts", "1", "--grace", "0.1"], ["fails"]
    with tempfile.TemporaryDirectory(prefix="t") as folder:
        process, pids = job(Path(folder), 3 if launch else 2, *launch, after=after)
        try:
            below = sweep.descendant_processes(process.pid)
            assert len(below) >= len(pids) + 2  # mpiexec, and the guard
            if how == "group killed":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
            process.wait()
            assert gone_within([*pids, *below], LIMIT + 1) and gone_within(pids, 0)
        finally:
            for pid in pids:
                if lives(pid):
                    os.kill(pid, signal.SIGKILL)
