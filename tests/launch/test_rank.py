"""What each process of a job runs around its script, here in this process."""

import json
import os
import sys
from types import SimpleNamespace

import pytest

from cynet.launch import _rank
from tests import scripts

PROGRAM = """
import json, sys
told = {"argv": sys.argv, "path": sys.path[0], "name": __name__}
with open(told["argv"][-1], "w") as file:
    json.dump(told, file)
"""


@pytest.fixture
def seen(monkeypatch):
    """What `main` does beside running the script."""
    found = SimpleNamespace(calls=[], joined=False)
    note = found.calls.append
    monkeypatch.setattr(_rank, "is_joined", lambda: found.joined)
    monkeypatch.setattr(_rank, "report_early_end", lambda *given: note(("early", *given)))
    monkeypatch.setattr(_rank.shutdown, "set_exit_code", lambda code: note(("code", code)))
    monkeypatch.setattr(
        sys, "excepthook", lambda kind, error, trace: note(("shown", kind, error, trace))
    )
    for name, value in (("argv", ["x"]), ("path", ["first", *sys.path[1:]])):
        monkeypatch.setattr(sys, name, value)
    return found


@pytest.mark.parametrize("as_module", [False, True])
def test_a_script_sees_what_python_would_give_it(as_module, seen, tmp_path, monkeypatch):
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "job_of_rank.py").write_text(PROGRAM)
    out = str(tmp_path / "told.json")
    streams = []
    stderr = SimpleNamespace(reconfigure=lambda **given: streams.append(given))
    monkeypatch.setattr(sys, "stderr", stderr)
    if as_module:
        monkeypatch.chdir(folder)
        arguments = ["-m", "job_of_rank", "--lr", "0.1", out]
        argv, path = [str(folder / "job_of_rank.py"), "--lr", "0.1", out], str(folder)
    else:
        monkeypatch.chdir(tmp_path)
        arguments = [os.path.join("scripts", "job_of_rank.py"), "--lr", "0.1", out]
        argv, path = arguments, str(folder)
    _rank.main(arguments)
    with open(out) as file:
        assert json.load(file) == {"argv": argv, "path": path, "name": "__main__"}
    assert seen.calls == [("code", 0), ("early", 0, "its end")]
    assert streams == [{"line_buffering": True, "write_through": False}]


def test_streams_that_have_no_settings(seen, tmp_path, monkeypatch):
    (tmp_path / "job.py").write_text("")
    monkeypatch.setattr(sys, "stderr", SimpleNamespace())
    _rank.main([str(tmp_path / "job.py")])
    assert seen.calls == [("code", 0), ("early", 0, "its end")]


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize(
    ("line", "code", "text"),
    [
        ("sys.exit()", 0, ""),
        ("sys.exit(0)", 0, "0"),
        ("sys.exit(3)", 3, "3"),
        ("sys.exit('no data')", 1, "no data"),
        ("sys.exit('')", 1, ""),
        ("sys.exit(2.5)", 1, "2.5"),
    ],
)
def test_the_code_that_a_script_ends_with(line, code, text, joined, seen, tmp_path):
    (tmp_path / "job.py").write_text(f"import sys\n{line}\n")
    seen.joined = joined
    with pytest.raises(SystemExit, match=f"^{text}$"):
        _rank.main([str(tmp_path / "job.py")])
    assert seen.calls == [("code", code), ("early", code, "sys.exit")][: 1 if joined else 2]


@pytest.mark.parametrize("error", ["ValueError('x')", "KeyboardInterrupt('x')", "SyntaxError('x')"])
@pytest.mark.parametrize("joined", [False, True])
def test_an_exception_of_a_script(error, joined, seen, tmp_path):
    """It is shown from the script on, whoever is told, and the code is 1."""
    path = tmp_path / "job.py"
    path.write_text(f"def inner():\n    raise {error}\n\ninner()\n")
    seen.joined = joined
    with pytest.raises(SystemExit, match="^1$"):
        _rank.main([str(path)])
    (_, kind, raised, trace), *rest = seen.calls
    assert kind is type(raised) and repr(raised) == error and raised.__traceback__ is trace
    lines = []
    while trace is not None:
        lines.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    assert lines == [(str(path), 4), (str(path), 2)]
    how = error.replace("('", ": ").replace("')", "")
    assert rest == [("code", 1), ("early", 1, how)][: 1 if joined else 2]


def test_a_script_that_is_not_there(seen, tmp_path):
    """The error comes from Python itself, below no frame of a script."""
    with pytest.raises(SystemExit, match="^1$"):
        _rank.main([str(tmp_path / "nowhere.py")])
    (_, kind, _, trace), code, (_, number, how) = seen.calls
    assert kind is FileNotFoundError and trace.tb_next is None and code == ("code", 1)
    assert number == 1 and how.startswith("FileNotFoundError: ")


@pytest.mark.parametrize("module", ["cynet.launch._rank", "cynet.launch"])
def test_as_a_program(module, tmp_path):
    (tmp_path / "job.py").write_text("import sys\nprint(sys.argv[1:])\nsys.exit(4)\n")
    before = [] if module.endswith("_rank") else ["-n", "2", "--dry-run", "--threads", "1"]
    before += ["--launcher", "slurm"] if before else []
    done = scripts.run(module, *before, str(tmp_path / "job.py"), "a b")
    if before:
        assert done.returncode == 0 and done.stdout == (
            f"srun -n 2 --kill-on-bad-exit=0 {sys.executable} -m cynet.launch._rank"
            f" {tmp_path / 'job.py'} 'a b'\n"
        )
    else:
        assert (done.returncode, done.stdout) == (4, "['a b']\n")
