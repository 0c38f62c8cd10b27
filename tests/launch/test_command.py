"""The command line that `python -m cynet.launch` builds, and what it refuses."""

import os
import shlex
import sys

import pytest

from cynet.base.errors import ArgumentError
from cynet.launch import Job, command_line
from cynet.launch import __main__ as launch_main
from cynet.launch.command import find_mpiexec
from cynet.launch.options import read
from cynet.launch.sweep import sweep
from tests.distributed.ranks import need_mpi

need_mpi()
SCRIPT = os.path.join(os.path.dirname(__file__), "scripts", "module_script.py")


def lines(*arguments):
    _, job, notes = read([*arguments])
    return command_line(job), notes


def settings(command):
    """The variables that a command line sets: ``-x A=1`` of Open MPI, ``-genv A 1`` of MPICH."""
    after = {part: [command[i + 1 : i + 3] for i, each in enumerate(command) if each == part]
             for part in ("-x", "-genv")}  # fmt: skip
    return dict([pair[0].split("=", 1) for pair in after["-x"]] + after["-genv"])


def test_a_script_runs_under_the_wrapper():
    command, notes = lines("-n", "3", SCRIPT, "--kv-store", "dist_sync", "-n", "7")
    assert command[0] == find_mpiexec()[0] and not notes
    assert command[command.index("-n") + 1] == "3"
    assert command[command.index(sys.executable) :] == [
        *(sys.executable, "-m", "cynet.launch._rank", SCRIPT, "--kv-store", "dist_sync", "-n", "7")
    ]


@pytest.mark.skipif(find_mpiexec()[1] != "openmpi", reason="these are options of Open MPI 5")
def test_open_mpi_survives_a_death_and_leaves_cores_free():
    text = shlex.join(lines("-n", "2", SCRIPT)[0])
    for part in ("--with-ft ulfm", "--oversubscribe", "--bind-to none", "--mca coll '^han'"):
        assert part in text
    assert ("--allow-run-as-root" in text) == (os.getuid() == 0)


def test_threads_are_shared_out(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("CYNET_NUM_THREADS", raising=False)
    assert settings(lines("-n", "500", SCRIPT)[0])["OMP_NUM_THREADS"] == "1"
    assert settings(lines("-n", "2", "--threads", "3", SCRIPT)[0])["OMP_NUM_THREADS"] == "3"
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert not [part for part in settings(lines("-n", "2", SCRIPT)[0]) if "NUM_THREADS" in part]


@pytest.mark.parametrize(
    "command, wanted",
    [
        (["python", SCRIPT, "-x"], ["python", "-m", "cynet.launch._rank", SCRIPT, "-x"]),
        (
            ["-m", "pkg.mod", "1"],
            [sys.executable, "-m", "cynet.launch._rank", "-m", "pkg.mod", "1"],
        ),
        (["python", "-m", "cynet", SCRIPT], ["python", "-m", "cynet.launch._rank", "-m", "cynet"]),
        (["python", "-c", "print(1)"], ["python", "-c", "print(1)"]),
        (["python", "-u", SCRIPT], ["python", "-u", SCRIPT]),
        (["hostname"], ["hostname"]),
    ],
)
def test_programs(command, wanted):
    found = command_line(Job(2, command, slurm=True, threads=1))
    place = found.index(wanted[0])
    assert found[place : place + len(wanted)] == wanted


def test_options_of_mxnets_launcher(tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("node1\nnode2 slots=2  # the other one\n\n")
    command, notes = lines(
        *("-n", "4", "-s", "4", "-H", str(hosts), "--launcher", "ssh", "--sync-dst-dir", "/x"),
        *("--env", "A:1", "--env", "B:x:y", "--env-worker", "C:3", "python", SCRIPT),
    )
    text = shlex.join(command)
    assert f"--hostfile {hosts}" in text or f"-f {hosts}" in text
    assert all(part in text for part in ("A=1", "B=x:y", "C=3")) or "-genv A 1" in text
    assert len(notes) == 2 and "no servers" in notes[0] and "--sync-dst-dir" in notes[1]
    assert "srun -n 2" in shlex.join(lines("-n", "2", "--launcher", "slurm", SCRIPT)[0])


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["-n", "0", SCRIPT], "must be 1 or more"),
        (["-n", "2"], "which script"),
        (["-n", "2", "--launcher", "yarn", SCRIPT], "start mpiexec in a job of that system"),
        (["-n", "2", "--env", "A=1", SCRIPT], "NAME:VALUE"),
        (["-n", "2", "--restarts", "-1", SCRIPT], "must not be negative"),
    ],
)
def test_refusals(arguments, text, capsys):
    with pytest.raises(SystemExit):
        read(arguments)
    assert text in capsys.readouterr().err


def test_an_error_of_the_launch_is_told_and_is_the_exit_code(monkeypatch, capfd):
    """2, as argparse ends with; what ranks end with is another one."""

    def refused(*given):
        raise ArgumentError("no such host")

    monkeypatch.setattr(launch_main, "run", refused)
    assert launch_main.main(["-n", "2", SCRIPT]) == 2
    assert "no such host" in "".join(capfd.readouterr())
    monkeypatch.setattr(launch_main, "run", lambda *given: 7)
    assert launch_main.main(["-n", "2", SCRIPT]) == 7


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no script 'nowhere.py'"):
        lines("-n", "2", "nowhere.py")
    with pytest.raises(FileNotFoundError, match="cannot read"):
        lines("-n", "2", "-H", str(tmp_path / "none"), SCRIPT)


def test_what_is_left_is_swept(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left = tmp_path / "prterun.host.1"
    left.mkdir()
    (left / "file").write_text("x")
    used, mine = tmp_path / "ompi.host.1", tmp_path / "results"
    for each in used, mine:
        each.mkdir()
    with open(used / "file", "w"):  # a process uses it
        assert sweep(0) == [str(left)]
    assert used.exists() and mine.exists() and not left.exists()
    assert sweep(left.parent.stat().st_mtime + 100) == []
