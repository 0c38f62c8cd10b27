"""``python -m cynet --check``: what scripts use that is not here, found without running them."""

import subprocess
import sys

import pytest

SCRIPT = """import mxnet as mx
from mxnet import np, nd, gluon, library
from mxnet.gluon import nn
from mxnet.metric import *
try:
    from mxnet import npx
except ImportError:
    npx = None
raise SystemExit("this script must not run")

class Net(gluon.HybridBlock):
    def __init__(self, nd=None):
        nd.of_the_argument()
        self.a = nn.Linear(2)

def train(mx2):
    net = mx.mod
    x = mx.nd.ones((2,), typo=1)
    y = mx.nd.imdecode(x)
    net.Modul
    for nd in x:
        nd.whatever
    mx.metric.create("acc").nothing_is_known_of_objects
    return Accuracy(), mx.sym.FullyConnected, mx.metric.Acuracy
"""
FOUND = {
    2: "mx.library is a name of MXNet 1.9.1 that cynet does not provide",
    14: "mx.gluon.nn has no attribute 'Linear'; what other packages call Linear: nn.Dense",
    18: "ones has no parameter 'typo'",
    19: "mx.nd.imdecode is a name of MXNet 1.9.1",
    20: "mx.module has no attribute 'Modul'; did you mean",
    24: "mx.metric has no attribute 'Acuracy'; did you mean Accuracy",
}


def check(*paths):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "cynet", "--check", *map(str, paths)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout.splitlines(), done.stderr


def test_a_script(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    status, lines, errors = check(script)
    assert status == 1, errors
    *found, summary = lines
    lines_of = {int(line[len(str(script)) :].split(":")[1]): line for line in found}
    assert lines_of.keys() == FOUND.keys(), lines
    for number, words in FOUND.items():
        assert f"{script}:{number}: " in lines_of[number] and words in lines_of[number]
    assert summary == "1 files checked: 0 use only what cynet has, 1 do not"


def test_folders_and_files_that_cannot_be_read(tmp_path):
    (tmp_path / "a.py").write_text("import mxnet as mx\nmx.nd.ones((2,)).sum()\n")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.py").write_text("from cynet import gluon\ngluon.Trainer\n")
    assert check(tmp_path)[:2] == (0, ["2 files checked: 2 use only what cynet has, 0 do not"])
    (tmp_path / "old.py").write_text("print 'python 2'\n")
    (tmp_path / "nul.py").write_bytes(b"\x00")
    status, lines, errors = check(tmp_path, tmp_path / "none.py")
    assert status == 2 and lines[-1].startswith("2 files checked")
    assert "old.py:1: not Python 3" in errors and "none.py" in errors and "nul.py" in errors


@pytest.mark.parametrize("path", ["examples"])
def test_the_examples_use_what_is_here(path, request):
    status, lines, _ = check(request.config.rootpath / path)
    assert status == 0, lines


def test_without_files():
    assert check()[0] == 2


TOOLS = ["c_predict", "check", "convert", "im2rec", "rec", "serve"]


def test_the_tools_are_listed():
    done = subprocess.run([sys.executable, "-m", "cynet.tools"], capture_output=True, text=True)
    names = [line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ")]
    assert done.returncode == 0 and names == TOOLS
