"""What goes wrong on one rank is an error on all others that says what; nothing is left behind."""

import os
import re
import tempfile

import pytest

from cynet.launch.command import find_mpiexec
from tests.distributed.ranks import Memory, can_unshare, finish, need_mpi, start

need_mpi()
# what rank 1 does in step 5: what the others raise
WAYS = {
    "dies": r"PeerError: rank 1 \(\S+\) has died: .*; rank 0 \(\S+\) was in step \d+, it waited for"
    r" the sum of '\w+' \(3,\) float32",
    "raises": r"PeerError: rank 1 \(\S+\) failed: ValueError: this is not my day; rank 0",
    "exits": r"PeerError: rank 1 \(\S+\) came to an end; all ranks must make the same calls;",
    "stops": r"PeerError: no progress for 2 s \(CYNET_DIST_STALL\): rank 1 \(\S+\) no longer",
    "no rank returns from MPI": r"PeerError: MPI has not returned for \d s \(CYNET_DIST_STALL\)",
    "fails in the engine": r"PeerError: rank 1 \(\S+\) failed: .*sum of 'bad'.*",
    "has no data": r"PeerError: rank 1 \(\S+\) failed: .*fit: train_data gives no batch",
    "another shape": r"MismatchError: call \d+: rank 0 \(\S+\) asks for the sum of 'w' \(3,\)"
    r" float32, rank 1 \(\S+\) for the sum of 'w' \(4,\) float32; all ranks must make the same",
    "another dtype": r"MismatchError: .*sum of 'w' \(3,\) float32, rank 1 .*'w' \(3,\) float64",
    "another key": r"MismatchError: .*sum of 'w' \(3,\) float32, rank 1 .*'v' \(3,\) float32",
    "another rate": r"MismatchError: .*'w' \(3,\) float32 for a step with learning_rate=0.1, rank 1"
    r" .*'w' \(3,\) float32 for a step with learning_rate=0.2;",
    "another rate in the store": r"MismatchError: .*'w' \(3,\) float32 for a step with"
    r" learning_rate=0.1, rank 1 .*'w' \(3,\) float32 for a step with learning_rate=0.2;",
    "sets an optimizer alone": r"MismatchError: .*rank 0 \(\S+\) asks for the sum of 'w' .*, rank 1"
    r" \(\S+\) for the sum of sizes of what set_optimizer is given",
    "never comes": r"rank 1 \(\S+\): ended before it joined the others: sys.exit",
}
LONG = (  # of `make stress`
    *("no rank returns from MPI", "fails in the engine", "has no data", "exits"),
    *("another shape", "another dtype", "another key"),  # test_turns.py reads what is said of them
)
if not os.environ.get("CYNET_STRESS_KILLS"):
    WAYS = {how: text for how, text in WAYS.items() if how not in LONG}
BY_LAUNCHER = ["never comes"]  # it tells of these, and ends all other ranks by a signal
if find_mpiexec()[1] != "openmpi":
    BY_LAUNCHER.append("dies")
    WAYS["dies"] = "a process has died"
SILENT = ("stops", "no rank returns from MPI")
CODES = {"exits": (1, 5), "never comes": (1, 3)}


@pytest.fixture(scope="module")
def temporary():
    """Where the jobs have their temporary files; its path is short, for there are sockets in it."""
    with tempfile.TemporaryDirectory(prefix="t") as folder:
        yield folder


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    return Memory(tmp_path_factory.mktemp("shm"))


@pytest.fixture(scope="module")
def ended(tmp_path_factory, temporary, memory):
    """{way: (exit code, stdout, stderr, folder)}: three at a time, since they mostly wait."""
    out, waiting = {}, [*WAYS]
    running = {}
    while waiting or running:
        while waiting and len(running) < 3:
            how = waiting.pop(0)
            folder = tmp_path_factory.mktemp(how.replace(" ", "_"))
            env = {"CYNET_DIST_STALL": "2" if how in SILENT else "60", "TMPDIR": temporary}
            grace = ["--grace", "8" if how in SILENT else "3"]
            before = memory.before
            process = start(2, "fails.py", how, folder, launch=grace, before=before, **env)
            running[how] = process, folder
        how = next(iter(running))
        process, folder = running.pop(how)
        out[how] = *finish(process), folder
    return out


@pytest.mark.parametrize("how", WAYS)
def test_the_others_raise(ended, how):
    code, out, err, folder = ended[how]
    mark = "cynet.launch: " if how in BY_LAUNCHER else "[0] "
    shown = [line for line in err.splitlines() if line.startswith(mark)]
    assert re.search(WAYS[how], "\n".join(shown)), out + err
    assert code in CODES.get(how, (1,)) or how in BY_LAUNCHER, err
    assert "cynet.launch: the job has failed with code" in err
    seconds = 0 if how in BY_LAUNCHER else float((folder / "0.seconds").read_text())
    assert seconds < (10 if how in SILENT else 5)


def test_an_exception_shows_its_own_traceback_first(ended):
    _, _, err, _ = ended["raises"]
    assert "nobody waited" not in err
    own, other = err.index("[1] ValueError: this is not my day"), err.index("[0] cynet.errors.")
    assert own < other
    assert "_rank.py" not in err and "runpy" not in err
    assert "rank 1 (" in err.splitlines()[-1] and "ValueError: this is not my day" in err


FULL = ["tmpfs"] if can_unshare("--mount") else ["limit"]  # a full file system needs root
if os.environ.get("CYNET_STRESS_KILLS"):
    FULL = ["limit", "tmpfs"]


@pytest.mark.parametrize("how", FULL)
def test_a_full_disk_at_the_checkpoint_of_rank_0(how, tmp_path):
    before = ()
    if how == "tmpfs":
        if not can_unshare("--mount"):
            pytest.skip("mounting a small file system needs root")
        mount = f'mount -t tmpfs -o size=8k none {tmp_path} && exec "$@"'
        before = ["unshare", "--mount", "bash", "-c", mount, "-"]
    code, out, err = finish(start(2, "full_disk.py", how, tmp_path, before=before))
    assert code == 1
    why = "no space left on device" if how == "tmpfs" else "file too large"
    said = rf"FileError: cannot write '{tmp_path}/net\.training': {why}"
    assert re.search(rf"\[0\] .*{said}", err), out + err
    assert re.search(rf"\[1\] .*PeerError: rank 0 \(\S+\) failed: {said}", err), out + err
    assert "2 epochs" not in err and not os.listdir(tmp_path)  # whole or not at all


def test_nothing_is_left(ended, temporary, memory):
    """No process, no shared memory, no session folder of these jobs."""
    del ended
    commands = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/cmdline", "rb") as file:
                commands.append(file.read())
        except OSError:
            continue
    assert not [each for each in commands if b"fails.py" in each]
    assert not memory.left()
    assert not os.listdir(temporary)
