"""``python -m cynet``: runs scripts written for MXNet; alone, describes build and machine."""

import subprocess
import sys
from pathlib import Path

import cynet as mx


def run(*arguments, cwd=None):
    done = subprocess.run(
        [sys.executable, "-m", "cynet", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


def test_alone():
    status, out, _ = run()
    rows = dict(line.split(None, 1) for line in out.splitlines())
    assert status == 0
    assert rows["cynet"].startswith(mx.__version__)
    assert rows["Python"].startswith(sys.version.split()[0])
    assert {"processor", "instructions", "threads", "OpenBLAS", "GPUs", "passes"} <= {*rows}
    assert "fuse" in rows["passes"].replace(",", " ").split()


SCRIPT = """
import sys
from pathlib import Path
import numpy as np
import mxnet as mx
from mxnet import gluon, nd
from mxnet.executor_manager import _split_input_slice
from mxnet.gluon.rnn.rnn_cell import LSTMCell
from mxnet.io.io import DataDesc
from mxnet.module.base_module import BaseModule, _check_input_names, _parse_data_desc
from mxnet.module.executor_group import _load_data, _load_label
from mxnet.optimizer.optimizer import SGD
import helper
if __name__ == "__main__":
    print(sys.argv[1:], helper.WORD, mx.__version__, np.int is int, np.float("2"))
    print(nd.ones((2,), dtype=np.float).sum().asscalar(), issubclass(mx.mod.Module, BaseModule))
    print(SGD is mx.optimizer.SGD, mx.io.DataDesc is DataDesc)
    for name in ("mxnet.library", "mxnet.nothing"):
        try:
            __import__(name)
        except ImportError as error:
            print(error)
    sys.exit(3)
"""
LIBRARY = "operators in Cython or CUDA are compiled modules: import them"
ANSWER = f"""['a', '-b'] beside 1.9.1 True 2.0
2.0 True
True True
mx.library is a name of MXNet 1.9.1 that cynet does not provide; {LIBRARY}
mx has no attribute 'nothing'
"""


def test_a_script(tmp_path):
    (tmp_path / "helper.py").write_text("WORD = 'beside'")
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    status, out, errors = run(script, "a", "-b")
    assert (status, out) == (3, ANSWER), errors


def test_a_module(tmp_path):
    (tmp_path / "job.py").write_text("import sys, mxnet; print(__name__, sys.argv[1:])")
    assert run("-m", "job", "x", cwd=tmp_path)[:2] == (0, "__main__ ['x']\n")


def test_no_such_script(tmp_path):
    status, _, errors = run(tmp_path / "none.py")
    assert status == 2 and "there is no script" in errors and "usage: python -m cynet" in errors
    assert run("--help")[0] == 0


def test_mxnet_that_is_loaded_is_refused():
    code = (
        "import sys, types; m = types.ModuleType('mxnet'); m.__file__ = 'x'\n"
        "sys.modules['mxnet'] = m\n"
        "import cynet\n"
        "try: cynet.install_as_mxnet()\n"
        "except cynet.CynetError as e: print(e)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "mxnet has been imported from 'x'" in done.stdout


def test_options():
    assert run("--version")[:2] == (0, f"cynet {mx.__version__}\n")
    status, out, _ = run("--help")
    assert status == 0 and all(f"--{o} " in out for o in ("check", "missing", "settings"))
    status, out, _ = run("--settings")
    assert status == 0 and "CYNET_CPU_WORKERS (default: " in out
    status, out, _ = run("--missing")
    assert status == 0 and "mx.library: operators in Cython" in out
    status, _, errors = run("--nothing")
    assert status == 2 and "unknown option --nothing" in errors and "usage" in errors


def words(*arguments):
    """What the program ``cynet`` prints, as its entry point calls it."""
    code = f"import sys; from cynet.__main__ import command; sys.exit(command({[*arguments]!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def test_the_command(tmp_path):
    """Each word does what ``python -m`` does; the entry point is in pyproject.toml."""
    status, out, _ = words("--help")
    assert status == 0 and words() == (0, out, "")
    listed = [line.split()[0] for line in out.splitlines()[2:]]
    assert listed == ["run", "check", "info", "serve", "launch", "convert", "im2rec", "rec"]
    for word in listed[3:]:
        status, out, _ = words(word, "--help")
        assert status == 0 and out.startswith(
            f"usage: python -m cynet.{'' if word == 'launch' else 'tools.'}{word}"
        )
    assert words("info")[1].splitlines()[0] == run()[1].splitlines()[0]
    assert words("--version")[1] == f"cynet {mx.__version__}\n"
    script = tmp_path / "s.py"
    script.write_text("import sys, mxnet; print(sys.argv[1:], mxnet.__version__)")
    assert words("run", str(script), "a") == (0, "['a'] 1.9.1\n", "")
    assert words("check", str(script))[0] == 0
    status, _, said = words("serv")
    assert status == 2 and said.startswith("cynet: there is no command serv, only run, check")
    text = (Path(mx.__file__).parents[1] / "pyproject.toml").read_text()
    assert 'cynet = "cynet.__main__:command"' in text
