"""The command lines that `python -m cynet.launch` builds, whole, and what it refuses."""

import mmap
import os
import sys

import pytest

from cynet.base.errors import ArgumentError
from cynet.launch import Job, command_line, options
from cynet.launch import __main__ as launch_main
from cynet.launch import command as command_file
from cynet.launch.command import find_mpiexec, read_hosts
from cynet.launch.options import parse_arguments
from cynet.launch.sweep import _find_files, remove_files
from tests import scripts

SCRIPT = os.path.join(os.path.dirname(__file__), "scripts", "module_script.py")
RANK = [sys.executable, "-m", "cynet.launch._rank"]
OPENMPI = [
    "/bin/mpiexec",
    "--with-ft",
    "ulfm",
    "--output",
    "tag",
    "--oversubscribe",
    "--bind-to",
    "none",
    "--mca",
    "coll",
    "^han",
]
OPENMPI4 = ["/bin/mpiexec", "--tag-output", *OPENMPI[5:]]
MPICH = ["/bin/mpiexec", "-prepend-rank"]
VARIABLES = ("OMP_NUM_THREADS", "CYNET_NUM_THREADS", "CYNET_CPU_WORKERS")


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """None of the variables that are passed on, and 8 cores."""
    for name in [*os.environ]:
        if name.startswith(("CYNET_", "MXNET_", "OMP_", "PYTHON")):
            monkeypatch.delenv(name)
    monkeypatch.setattr(command_file, "usable_cores", lambda: 8)


@pytest.fixture
def mpi(tmp_path, monkeypatch):  # pytest asks who owns the folder
    def set_kind(kind, uid=1000):
        monkeypatch.setattr(command_file.os, "getuid", lambda: uid)
        monkeypatch.setattr(command_file, "find_mpiexec", lambda: ("/bin/mpiexec", kind))

    set_kind("openmpi")
    return set_kind


@pytest.fixture
def hosts(tmp_path):
    path = tmp_path / "hosts"
    path.write_text("node1\nnode2 slots=2  # the other one\n\n# node3\nnode1\n")
    return str(path)


def lines(*arguments):
    _, job, notes = parse_arguments([*arguments])
    return command_line(job), notes


def given(kind, *values):
    """How a launcher is told variables."""
    pairs = list(zip(VARIABLES, values))
    if kind == "mpich":
        return [part for name, value in pairs for part in ("-genv", name, value)]
    return [part for name, value in pairs for part in ("-x", f"{name}={value}")]


@pytest.mark.parametrize("root", [False, True])
@pytest.mark.parametrize("kind", ["openmpi", "openmpi4", "mpich"])
def test_a_whole_command_line(kind, root, hosts, mpi, monkeypatch):
    mpi(kind, 0 if root else 1000)
    monkeypatch.setenv("CYNET_LOG", "1")
    monkeypatch.setenv("OTHER", "1")
    program = [*RANK, SCRIPT, "-n", "7", "--x"]
    begin = {"openmpi": OPENMPI, "openmpi4": OPENMPI4, "mpich": MPICH}[kind]
    as_root = ["--allow-run-as-root"] if root else []
    found, notes = lines("-n", "3", SCRIPT, "-n", "7", "--x")
    shared = given(kind, "2", "2", "2")
    if kind == "mpich":
        assert found == [*begin, "-n", "3", *shared, *program]
    else:
        assert found == [*begin, *as_root, *shared, "-n", "3", *program]
    assert not notes
    # 5 processes on two machines: 3 on the first one
    arguments = ["-n", "5", "-H", hosts, "--mpi-args", "--a 'b c'", "--env", "D:1:2"]
    found, _ = lines(*arguments, SCRIPT, "-n", "7", "--x")
    own = [("CYNET_LOG", "1"), ("D", "1:2")]
    if kind == "mpich":
        own = [part for name, value in own for part in ("-genv", name, value)]
        place = ["-n", "5", "-f", hosts]
        assert found == [*begin, *place, *shared, *own, "--a", "b c", *program]
    else:
        own = [part for name, value in own for part in ("-x", f"{name}={value}")]
        place = ["--hostfile", hosts, *as_root]
        assert found == [*begin, *place, *shared, *own, "-n", "5", "--a", "b c", *program]


def test_a_whole_command_line_of_slurm(mpi, hosts):
    """No death of a process ends the others; nothing is asked of an mpiexec."""
    mpi("none")
    arguments = ["-n", "2", "--launcher", "slurm", "--mpi-args=--mpi=pmix", "-H", hosts]
    found, _ = lines(*arguments, SCRIPT, "1")
    assert found == ["srun", "-n", "2", "--kill-on-bad-exit=0", "--mpi=pmix", *RANK, SCRIPT, "1"]


@pytest.mark.parametrize(
    "size, threads, values",
    [
        (1, None, "888"),
        (2, None, "444"),
        (3, None, "222"),
        (8, None, "112"),
        (9, None, "112"),
        (500, None, "112"),
        (2, 1, "112"),
        (2, 2, "222"),
        (2, 3, "333"),
        (500, 30, ["30"] * 3),
    ],
)
def test_threads_are_shared_out(size, threads, values, mpi):
    job = Job(size, ["hostname"], threads=threads)
    assert command_line(job) == [*OPENMPI, *given("", *values), "-n", str(size), "hostname"]


@pytest.mark.parametrize("name", VARIABLES[:2])
def test_threads_that_are_said_are_left_alone(name, mpi, monkeypatch, hosts):
    monkeypatch.setenv(name, "5")
    assert command_line(Job(2, ["hostname"])) == [*OPENMPI, "-n", "2", "hostname"]
    passed = ["--hostfile", hosts, "-x", f"{name}=5"]
    assert command_line(Job(2, ["a"], hosts)) == [*OPENMPI, *passed, "-n", "2", "a"]
    monkeypatch.delenv(name)
    own = ["-x", f"{name}=6"]
    assert command_line(Job(2, ["a"], env=[(name, "6")])) == [*OPENMPI, *own, "-n", "2", "a"]
    shared = given("", "1", "1", "2")
    shared[1 + 2 * VARIABLES.index(name)] = f"{name}=6"
    found = command_line(Job(2, ["a"], env=[(name, "6")], threads=1))
    assert found == [*OPENMPI, *shared, "-n", "2", "a"]


@pytest.mark.parametrize("prefix", ["CYNET_", "MXNET_", "OMP_", "PYTHON"])
def test_what_other_machines_get(prefix, mpi, monkeypatch, hosts):
    monkeypatch.setenv(f"{prefix}ZZ", "a b")
    monkeypatch.setenv(f"X{prefix}", "1")
    job = Job(2, ["a"], hosts, threads=1)
    passed = [*given("", "1", "1", "2"), "-x", f"{prefix}ZZ=a b"]
    assert command_line(job) == [*OPENMPI, "--hostfile", hosts, *passed, "-n", "2", "a"]
    assert f"{prefix}ZZ=a b" not in command_line(job._replace(hostfile=None))


def test_hosts_of_a_file(hosts, tmp_path):
    assert read_hosts(hosts) == ["node1", "node2", "node1"]
    (tmp_path / "empty").write_text("# nobody\n\n")
    for slurm in False, True:
        with pytest.raises(ValueError, match=r"host file '.*empty' names no machine"):
            command_line(Job(1, ["a"], str(tmp_path / "empty"), slurm))


@pytest.mark.parametrize(
    "text, kind",
    [
        ("mpirun (Open MPI) 5.0.11", "openmpi"),
        ("mpiexec (OpenRTE) 4.1.4", "openmpi4"),
        ("mpirun (Open MPI) 4.0.3", "openmpi4"),
        ("prterun (PRRTE) 3.0", "openmpi"),
        ("HYDRA build details:\n Version: 4.2", "mpich"),
        ("Intel(R) MPI Library", "mpich"),
    ],
)
@pytest.mark.parametrize("beside", [True, False])
def test_which_mpiexec_is_found(text, kind, beside, tmp_path, monkeypatch):
    bins = [tmp_path / "a", tmp_path / "b"]
    for each in bins[beside - 1 :]:
        each.mkdir(exist_ok=True)
        (each / "mpiexec").write_text(f"#!/bin/sh\ncat <<'E'\n{text}\nE\n")
        (each / "mpiexec").chmod(0o755)
    bins[0].mkdir(exist_ok=True)
    monkeypatch.setattr(sys, "executable", str(bins[0] / "python"))
    monkeypatch.setenv("PATH", f"{bins[1]}:{os.environ['PATH']}")
    assert find_mpiexec.__wrapped__() == (str(bins[not beside] / "mpiexec"), kind)


def test_no_mpiexec(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"there is no mpiexec: pip install 'cynet-mx\[mpi\]'"):
        find_mpiexec.__wrapped__()


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


def test_options_of_mxnets_launcher(mpi, hosts):
    command, notes = lines(
        *("-n", "4", "-s", "4", "-H", hosts, "--launcher", "ssh", "--sync-dst-dir", "/x"),
        *("--env", "A:1", "--env", "B:x:y", "--env-worker", "C:3", "python", SCRIPT),
    )
    own = [part for each in ("A=1", "B=x:y", "C=3") for part in ("-x", each)]
    place = ["--hostfile", hosts, *given("", "4", "4", "4")]
    program = ["python", *RANK[1:], SCRIPT]
    assert command == [*OPENMPI, *place, *own, "-n", "4", *program]
    assert notes == [
        "there are no servers: every process keeps the parameters",
        "--sync-dst-dir is not done: the script must be there on all machines",
    ]
    for more in ["--p3"], ["--env-server", "A:1"], ["-s", "1"]:
        assert lines("-n", "1", *more, "a")[1] == notes[:1]


def test_options_by_default_and_as_given():
    found, job, _ = parse_arguments(["-n", "2", "a", "-n", "3"])
    assert job == Job(2, ["a", "-n", "3"], None, False, [], None, "")
    assert (found.log_dir, found.no_prefix, found.restarts) == (None, False, 0)
    assert (found.elastic, found.min_workers, found.grace) == (False, 1, 10.0)
    assert (found.dry_run, found.launcher) == (False, "auto")
    text = "-n 3 --threads 2 --log-dir d --no-prefix --restarts 4 --elastic --min-workers 2"
    found, job, _ = parse_arguments([*text.split(), "--grace", "0.5", "--dry-run", "a"])
    assert (job.size, job.threads) == (3, 2)
    assert (found.log_dir, found.no_prefix, found.restarts) == ("d", True, 4)
    assert (found.elastic, found.min_workers, found.grace) == (True, 2, 0.5)
    assert found.dry_run


@pytest.mark.parametrize("option", ["-n", "--threads", "--min-workers"])
def test_counts_begin_with_one(option, capsys):
    before = [] if option == "-n" else ["-n", "2"]
    assert options.make_parser().parse_args([*before, option, "1", "a"]).command == ["a"]
    for text in ("0", "-1", "x", "1.5"):
        with pytest.raises(SystemExit):
            parse_arguments([*before, option, text, "a"])
        assert option in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["-n", "0", SCRIPT], "must be 1 or more"),
        (["-n", "2"], "which script"),
        (["-n", "2", "--launcher", "yarn", SCRIPT], "start mpiexec in a job of that system"),
        (["-n", "2", "--env", "A=1", SCRIPT], "NAME:VALUE"),
        (["-n", "2", "--launcher", "sge", SCRIPT], "start mpiexec in a job of that system"),
        (["-n", "2", "--env", ":1", SCRIPT], "NAME:VALUE"),
        (["-n", "2", "--env", "A=B:1", SCRIPT], "NAME:VALUE"),
        (["-n", "2", "--restarts", "-1", SCRIPT], "must not be negative"),
        ([SCRIPT], "required: -n"),
    ],
)
def test_refusals(arguments, text, capsys):
    with pytest.raises(SystemExit):
        parse_arguments(arguments)
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


@pytest.mark.parametrize("threads", [None, "1"])
@pytest.mark.parametrize("more", [[], ["--threads", "2"], ["--launcher", "slurm"]])
def test_files_that_are_not_there(threads, more, tmp_path, mpi, monkeypatch):
    """Also where nobody needs to count machines."""
    if threads:
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
    with pytest.raises(FileNotFoundError, match="there is no script 'nowhere.py'"):
        lines("-n", "2", *more, "nowhere.py")
    with pytest.raises(FileNotFoundError, match="cannot read"):
        lines("-n", "2", *more, "-H", str(tmp_path / "none"), SCRIPT)


@pytest.fixture
def places(tmp_path, monkeypatch):
    """(shared memory, temporary folder) of a machine of one's own."""
    found = tmp_path / "shm", tmp_path / "tmp"
    for each in found:
        each.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(found[1]))
    return found


def test_what_is_left_is_swept(places):
    memory, folder = places
    left = [folder / name for name in ("prterun.host.1", "prted.2", "prte.x", "ompi.h.3", "prun.4")]
    for each in left:
        each.mkdir()
        (each / "file").write_text("x")
    left += [memory / name for name in ("sm_segment.h.1", "mpich_shm_2", "vader_segment.h.3")]
    for each in left[5:]:
        each.write_text("x")
    used, mapped = folder / "ompi.host.9", memory / "sm_segment.h.9"
    kept = [folder / "results", folder / "myompi.1", memory / "sem.x", memory / "asm_segment.1"]
    for each in (used, *kept[:2]):
        each.mkdir()
    for each in (mapped, *kept[2:]):
        each.write_text("x")
    with open(used / "file", "w"), open(mapped):  # a process uses them
        assert sorted(remove_files(0, str(memory))) == sorted(map(str, left))
    assert all(each.exists() for each in (used, mapped, *kept))
    assert not any(each.exists() for each in left)


def test_what_a_process_has_mapped_is_in_use(places):
    """Also where it has closed the file; a part of a folder keeps the folder."""
    memory, folder = places
    (memory / "sm_segment.1").write_bytes(bytes(100))
    (folder / "ompi.x").mkdir()
    (folder / "ompi.x" / "inner").write_bytes(bytes(100))
    paths = [memory / "sm_segment.1", folder / "ompi.x" / "inner"]
    maps = []
    for each in paths:
        with open(each, "r+b") as file:
            maps.append(mmap.mmap(file.fileno(), 100))
    assert remove_files(0, str(memory)) == [] and all(each.exists() for each in paths)
    for each in maps:
        each.close()
    assert sorted(remove_files(0, str(memory))) == sorted([str(paths[0]), str(folder / "ompi.x")])


def test_only_what_is_of_this_user_and_younger_is_swept(places, monkeypatch):
    memory, _ = places
    (memory / "sm_segment.1").write_text("x")
    os.utime(memory / "sm_segment.1", (1000, 1000))
    for uid, since, count in ((0, 1001, 1), (0, 1001.5, 0), (0, 1e9, 0), (1, 0, 0)):
        owner = memory.stat().st_uid + uid
        monkeypatch.setattr(os, "getuid", lambda owner=owner: owner)
        assert len([*_find_files(str(memory), ("sm_",), since)]) == count
        if not count:
            assert remove_files(since, str(memory)) == []
    assert [*_find_files("/nowhere", ("sm_",), 0)] == []
    assert (memory / "sm_segment.1").exists()


def test_sweeping_nothing_looks_at_no_process(places, monkeypatch):
    monkeypatch.setattr("cynet.launch.sweep._find_open_paths", lambda: 1 / 0)
    assert remove_files(0, str(places[0])) == []


@pytest.mark.parametrize(
    "line, code, said",
    [
        ("sys.exit(3)", 3, ""),
        ("sys.exit(0)", 0, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit('no data')", 1, "no data"),
        ("raise ValueError('no data')", 1, "ValueError: no data"),
        ("raise KeyboardInterrupt", 1, "KeyboardInterrupt"),
        ("pass", 0, ""),
    ],
)
@pytest.mark.parametrize("as_module", [False, True])
def test_a_rank_ends_with_the_code_of_its_script(line, code, said, as_module, tmp_path):
    """And shows what Python would; also where no launcher listens."""
    (tmp_path / "job.py").write_text(f"import sys\nprint(sys.argv[1:])\n{line}\n")
    script = ["-m", "job"] if as_module else [str(tmp_path / "job.py")]
    done = scripts.run("cynet.launch._rank", *script, "a", "-n", cwd=tmp_path)
    assert done.stdout == "['a', '-n']\n" and done.returncode == code
    assert done.stderr.strip().endswith(said) and bool(done.stderr) == bool(said)


OURS = ["-m", "cynet.launch._rank"]
FOUND = {"python", "python3.11", "/a/python"}  # that are there


@pytest.mark.parametrize(
    "command, wanted",
    [
        (["python"], ["python"]),
        (["python", "-c", "x"], ["python", "-c", "x"]),
        (["python", "-m", "a", "-c"], ["python", *OURS, "-m", "a", "-c"]),
        (["python", "-u", "a.py"], ["python", "-u", "a.py"]),
        (["python", "-O", "-m", "a"], ["python", "-O", "-m", "a"]),
        (["python", "a"], ["python", *OURS, "a"]),
        (["python3.11", "a.py", "-m"], ["python3.11", *OURS, "a.py", "-m"]),
        (["/a/python", "a.py"], ["/a/python", *OURS, "a.py"]),
        (["python9", "a.py"], ["python9", "a.py"]),
        (["pythonic.py"], [*RANK, "pythonic.py"]),
        (["a.py", "b"], [*RANK, "a.py", "b"]),
        (["-m", "a", "b"], [*RANK, "-m", "a", "b"]),
        (["./run", "a.py"], ["./run", "a.py"]),
        (["ipython", "a.py"], ["ipython", "a.py"]),
    ],
)
def test_what_each_process_runs(command, wanted, monkeypatch):
    monkeypatch.setattr(command_file.shutil, "which", lambda name: name if name in FOUND else None)
    monkeypatch.setattr(
        command_file.os.path, "isfile", lambda path: path in ("a.py", "pythonic.py")
    )
    before = list(command)
    assert command_file.process_command(command) == wanted and command == before


def test_a_script_that_is_not_there():
    for name in ("nowhere.py", "/tmp/nowhere.py"):
        with pytest.raises(FileNotFoundError, match=f"there is no script '{name}'") as caught:
            command_file.process_command([name, "x"])
        assert (caught.value.errno, caught.value.filename) == (2, name)


def test_the_mpiexec_is_asked_once_what_it_is(monkeypatch, tmp_path):
    """By --version; one that cannot be run beside this Python is not taken."""
    calls = []
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    (tmp_path / "mpiexec").write_text("no program")
    monkeypatch.setattr(command_file.shutil, "which", lambda name: f"/site/{name}")

    def run(command, **settings):
        calls.append((command, settings))
        return command_file.subprocess.CompletedProcess(command, 1, "", "PRTE of some version")

    monkeypatch.setattr(command_file.subprocess, "run", run)
    find_mpiexec.cache_clear()
    try:
        for _ in range(2):
            assert find_mpiexec() == ("/site/mpiexec", "openmpi")
    finally:
        find_mpiexec.cache_clear()
    settings = {"capture_output": True, "text": True, "check": False}
    assert calls == [(["/site/mpiexec", "--version"], settings)]


def test_where_nobody_is_root(mpi, monkeypatch):
    """Windows has no such users."""
    mpi("openmpi", 0)
    assert "--allow-run-as-root" in command_line(Job(1, ["a"], threads=1))
    monkeypatch.delattr(command_file.os, "getuid")
    assert "--allow-run-as-root" not in command_line(Job(1, ["a"], threads=1))


@pytest.mark.parametrize("value", [("-n", "2"), ("--threads", "3"), ("--min-workers", "4")])
def test_counts_that_are_refused_say_what_they_got(value, capsys):
    with pytest.raises(SystemExit):
        parse_arguments([*(() if value[0] == "-n" else ("-n", "1")), value[0], "-4", "a"])
    assert f"argument {value[0]}" in (err := capsys.readouterr().err)
    assert "must be 1 or more, got -4" in err


def test_no_restart_is_the_least():
    assert parse_arguments(["-n", "1", "--restarts", "0", "a"])[0].restarts == 0
    for launcher, slurm in (
        ("slurm", True),
        ("auto", False),
        ("local", False),
        ("mpi", False),
        ("ssh", False),
    ):
        assert parse_arguments(["-n", "1", "--launcher", launcher, "a"])[1].slurm is slurm


HELP = {
    "-h": "show this help message and exit",
    "-n": "how many processes",
    "-H": "file with the machines, one a line; default: this machine",
    "--launcher": "mpiexec (auto, local, ssh, mpi), or srun (slurm)",
    "--env": "set an environment variable in each process; may be given several times",
    "--threads": "threads of a process; default: cores over processes",
    "--log-dir": "also write what each process prints to rank-N.log in this folder",
    "--no-prefix": "show lines without the number of their rank",
    "--restarts": "how often to begin again after a failure",
    "--elastic": "begin again without the processes that have died, down to --min-workers",
    "--min-workers": "the fewest that --elastic goes on with",
    "--grace": "seconds from a failure until all that is left is killed (default 10)",
    "--mpi-args": "further arguments of mpiexec or srun, in one string",
    "--no-check": "do not look at the machines of -H first",
    "--dry-run": "print the command line and do nothing",
}


def test_what_help_says():
    """Of each option that means something, and of no other one."""
    parser = options.make_parser()
    shown = {each.option_strings[0]: each.help for each in parser._actions if each.option_strings}
    assert {name: text for name, text in shown.items() if text != "==SUPPRESS=="} == HELP
    text = " ".join(parser.format_help().split())
    assert all(each in text for each in HELP.values())
    for line in (
        "python -m cynet.launch -n 4 train.py --batch-size 64",
        "or `name slots=4`.",
        "looks after the processes",
    ):
        assert line in text
    assert "\n  python -m cynet.launch" in parser.format_help()  # lines stay as they are
    with pytest.raises(SystemExit):
        parse_arguments(["--num", "2", "a"])  # nothing is abbreviated
