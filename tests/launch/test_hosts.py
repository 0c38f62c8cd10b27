"""Machines are looked at before a job: what each lacks is said by its name. Beside ssh stands a
program that runs the same lines here, in a shell, with one thing missing."""

import os
import platform
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import cynet as mx
from cynet.launch import Job, hosts
from cynet.launch.hosts import HostError, check_hosts, remote_shell
from cynet.launch.options import parse_arguments
from tests.distributed.ranks import HOSTS, ROOT, TWO_HOSTS, can_unshare, need_mpi

AGENT = """#!/bin/bash
while [[ "$1" == -* ]]; do shift; done
host=$1; shift; text="$*"
case $host in
    no-ssh) echo "motd: welcome"; echo "Permission denied (publickey)." >&2; exit 255;;
    no-folder) text="${text/cd /cd \\/nowhere}";;
    no-script) text="${text/job.py/gone.py}";;
    no-python) text="${text//PYTHON_HERE/\\/nowhere\\/python}";;
    no-cynet) text="${text/import cynet/raise ImportError(\\"No module named cynet\\")}";;
    other-python) text="${text/platform.python_version()/\\"3.7.1\\"}"
        text="${text/import cynet/raise ImportError(\\"cynet is not compiled\\")}";;
    broken-python) text="${text/import platform/raise SystemExit(\\"no encodings\\")}";;
    old-python) text="${text/platform.python_version()/\\"3.7.1\\"}";;
    old-cynet) text="${text/cynet.__version__/\\"0.0.9\\"}";;
    slow) sleep 60;;
esac
echo "motd: welcome to $host"
exec sh -c "$text"
"""
WHY = {
    "no-ssh": r"{agent} does not reach it: Permission denied \(publickey\)\.",
    "no-folder": "there is no folder {cwd}: .*nowhere",
    "no-script": "there is no script job.py in {cwd}",
    "no-python": "there is no program {python}",
    "no-cynet": "{python} cannot import cynet: ImportError: No module named cynet",
    "old-python": "its Python is 3.7.1, here it is {version}",
    "other-python": r"its Python is 3.7.1, here it is {version} \(",  # cynet is not compiled for it
    "broken-python": "{python} is no Python that runs: no encodings",
    "old-cynet": "its cynet is 0.0.9, here it is {cynet}",
    "slow": "no answer within 0.5 s",
}


@pytest.fixture
def job(tmp_path, monkeypatch):
    """A function of names of machines that gives a Job with them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    agent = tmp_path / "agent"
    agent.write_text(AGENT.replace("PYTHON_HERE", sys.executable.replace("/", "\\/")))
    agent.chmod(0o755)
    (tmp_path / "job.py").write_text("")

    def make(*names, command=("job.py",)):
        (tmp_path / "hosts").write_text("".join(f"{name} slots=2\n" for name in names))
        more = f"--prtemca plm_ssh_agent {agent}"
        return Job(2, command, hostfile=str(tmp_path / "hosts"), more=more)

    return make


def test_machines_that_do(job):
    assert check_hosts(job("one", "two", "one", "localhost")) == ["one", "two"]
    assert check_hosts(job("one", command=["-m", "json.tool"])) == ["one"]
    assert check_hosts(job("one", command=["hostname", "-f"])) == ["one"]
    assert check_hosts(job("localhost", command=["nowhere"])) == []


@pytest.mark.parametrize("name", WHY)
def test_what_a_machine_lacks_is_said(name, job, monkeypatch, tmp_path):
    monkeypatch.setattr(hosts, "_HOST_SECONDS", 0.5 if name == "slow" else 60.0)
    why = WHY[name].format(
        agent=tmp_path / "agent",
        cwd=tmp_path,
        python=sys.executable,
        version=platform.python_version(),
        cynet=mx.__version__,
    )
    with pytest.raises(HostError, match=f"^{name}: {why}"):
        check_hosts(job(name))


def test_all_that_lack_something_are_named(job):
    with pytest.raises(HostError, match=r"^no-script: [^;]*; no-python: [^;]* \(--no-check"):
        check_hosts(job("good", "no-script", "fine", "no-python"))
    for command in (["nowhere", "-x"], ["-m", "json.tool"]):
        with pytest.raises(HostError, match=r"no-python: there is no program"):
            check_hosts(job("no-python", command=[*command] if command[0] == "-m" else command))


def test_machines_are_looked_at_together(job, monkeypatch):
    """Each waits until four are asked."""
    waited = threading.Barrier(4)

    def problem(agent, name, look):
        waited.wait(30)

    monkeypatch.setattr(hosts, "_find_host_problem", problem)
    assert check_hosts(job("a", "b", "c", "d")) == ["a", "b", "c", "d"]


def test_the_program_that_reaches_machines(monkeypatch):
    for name in ("PRTE_MCA_plm_ssh_agent", "OMPI_MCA_plm_rsh_agent", "HYDRA_LAUNCHER_EXEC"):
        monkeypatch.delenv(name, raising=False)
    assert remote_shell("") == remote_shell("--mca btl tcp") == ["ssh"]
    assert remote_shell("--prtemca plm_ssh_agent '/a b -p 3'") == ["/a", "b", "-p", "3"]
    assert (
        remote_shell("--mca plm_rsh_agent rsh --x") == remote_shell("-launcher-exec rsh") == ["rsh"]
    )
    for name in ("PRTE_MCA_plm_ssh_agent", "OMPI_MCA_plm_rsh_agent", "HYDRA_LAUNCHER_EXEC"):
        monkeypatch.setenv(name, "mine -q")
        assert remote_shell("") == ["mine", "-q"]
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", "/nowhere")
    look = hosts.HostCheck("true", ["reached"], ["x"])
    assert (
        hosts._find_host_problem(["ssh"], "x", look)
        == "ssh cannot be run: No such file or directory"
    )


def test_ssh_asks_no_question(monkeypatch):
    lines = []

    def run(line, **settings):
        lines.append(line)
        return subprocess.CompletedProcess(line, 0, "cynet-host:reached\n", "")

    monkeypatch.setattr(hosts.subprocess, "run", run)
    look = hosts.HostCheck("true", ["reached"], ["x"])
    assert hosts._find_host_problem(["/usr/bin/ssh", "-p", "3"], "h", look) is None
    assert lines == [
        ["/usr/bin/ssh", "-p", "3", "-oBatchMode=yes", "-oConnectTimeout=10", "h", "true"]
    ]


def launched(*arguments, cwd):
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "cynet.launch", *arguments],
        cwd=cwd,
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_launcher_ends_before_the_job(job, tmp_path):
    given = job("no-python", "good")
    line = ["-n", "2", "-H", given.hostfile, "--mpi-args", given.more]
    done = launched(*line, "job.py", cwd=tmp_path)
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.startswith("cynet.launch: no-python: there is no program")
    assert done.stderr.count("\n") == 1
    assert launched(*line, "--dry-run", "job.py", cwd=tmp_path).returncode == 0
    assert parse_arguments([*line, "--no-check", "job.py"])[0].no_check


def test_two_hosts_that_do(tmp_path):
    need_mpi()
    if not can_unshare("--uts", "--mount"):
        pytest.skip("two hosts are emulated by unshare, which needs root")
    Path(tmp_path, "job.py").write_text("import socket\nprint('on', socket.gethostname())\n")
    line = ["-n", "4", "-H", str(HOSTS / "hostfile"), "--mpi-args", TWO_HOSTS]
    done = launched(*line, "job.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (
        sorted(each.split()[-1] for each in done.stdout.splitlines())
        == ["node1"] * 2 + ["node2"] * 2
    )
    done = launched(*line, "gone.py", cwd=tmp_path)
    assert done.returncode == 2 and "there is no script 'gone.py'" in done.stderr
