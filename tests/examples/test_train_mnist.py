"""examples/image_classification/train_mnist.py: learns, resumes, draws, and says what it uses."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import scripts
from tests.long_runs import only_in_stress

ROOT = Path(__file__).parent.parent.parent
SCRIPT = ROOT / "examples" / "image_classification" / "train_mnist.py"


@pytest.fixture
def train(tmp_path):
    """Run the script in an empty folder, where no MNIST is found; returns what it prints."""

    def run(*args, fails=False, **environment):
        env = {
            "CYNET_HOME": str(tmp_path / "home"),
            "CYNET_DATA_DIR": str(tmp_path / "nothing"),
            **environment,
        }
        done = scripts.run(SCRIPT, *args, cwd=tmp_path, **env)
        assert (done.returncode != 0) == fails, done.stdout[-2000:] + done.stderr[-3000:]
        return done.stdout + done.stderr

    return run


def accuracy(output):
    """Percent in the closing line."""
    return float(re.search(r"validation accuracy after epoch \d+: ([\d.]+) %", output)[1])


def test_lenet_on_digits(train, tmp_path):
    """Accuracy, checkpoints, Speedometer lines and the plot of one run; no bar off a terminal."""
    output = train(
        "--network",
        "lenet",
        "--dataset",
        "digits",
        "--num-epochs",
        6,
        "--disp-batches",
        10,
        "--model-prefix",
        "lenet",
        "--save-period",
        3,
        "--top-k",
        3,
        "--plot",
        "curves.png",
    )
    assert accuracy(output) >= 95
    assert len(re.findall(r"^Epoch\[\d\] Validation-accuracy=", output, re.M)) == 6
    assert re.search(
        r"^Epoch\[0\] Batch \[0-10\]\tSpeed: [\d.]+ samples/sec\taccuracy=", output, re.M
    )
    assert "top_k_accuracy_3" in output
    assert "\r" not in output and "%|" not in output
    assert sorted(p.name for p in tmp_path.glob("lenet*")) == [
        "lenet-0003.params",
        "lenet-0006.params",
        "lenet-symbol.json",
    ]
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_goes_on_from_a_checkpoint(train):
    options = ("--network", "mlp", "--dataset", "digits", "--model-prefix", "mlp", "--lr", 0.02)
    first = train(*options, "--num-epochs", 2)
    second = train(*options, "--num-epochs", 4, "--load-epoch", 2)
    assert re.findall(r"^Epoch\[(\d)\] Validation-accuracy", second, re.M) == ["2", "3"]
    assert accuracy(second) >= accuracy(first) - 1


def test_same_seed_same_numbers(train):
    options = ("--network", "mlp", "--dataset", "digits", "--num-epochs", 1, "--seed", 7)
    lines = [re.findall(r"^.*(?:accuracy|entropy)=.*$", train(*options), re.M) for _ in range(2)]
    without_speed = [[re.sub(r"Speed: \S+", "", line) for line in each] for each in lines]
    assert without_speed[0] == without_speed[1]


def test_resnet_learns(train):
    output = train(
        "--network",
        "resnet",
        "--num-layers",
        8,
        "--dataset",
        "digits",
        "--num-epochs",
        2,
        "--optimizer",
        "adam",
        "--lr",
        0.003,
    )
    # BatchNorm's moving statistics lag behind in so short a run, so the training accuracy counts
    assert "training resnet on 1438 images of 1 x 28 x 28, validating on 359" in output
    assert float(re.findall(r"Train-accuracy=([\d.]+)", output)[-1]) >= 0.85


def test_says_that_it_uses_the_digits(train):
    """Neither on disk nor to be downloaded: a proxy that refuses stands for a missing network."""
    refuses = "http://127.0.0.1:9"
    output = train("--num-epochs", 1, http_proxy=refuses, https_proxy=refuses)
    assert len(re.findall("MNIST was not found .*: using 1,797 bundled digits", output)) == 1


def test_mnist_that_was_asked_for_is_not_replaced(train, tmp_path):
    refuses = "http://127.0.0.1:9"
    output = train(
        "--dataset",
        "mnist",
        "--data-dir",
        tmp_path / "empty",
        fails=True,
        http_proxy=refuses,
        https_proxy=refuses,
    )
    assert "digits" not in output.splitlines()[-1]


def test_plot_without_matplotlib(train, tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "matplotlib.py").write_text("raise ImportError('not here')\n")
    output = train(
        "--dataset",
        "digits",
        "--plot",
        "x.png",
        fails=True,
        PYTHONPATH=os.pathsep.join([str(broken), str(ROOT)]),
    )
    assert output.splitlines()[-1].startswith("--plot needs matplotlib")


WRONG = """
import contextlib, io, json, runpy, sys, traceback
(script,) = sys.argv[1:]
sys.path[0] = script.rpartition("/")[0]
for options in json.load(sys.stdin):
    sys.argv, said = [script, "--dataset", "digits", *options], io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            runpy.run_path(script, run_name="__main__")
            code = 0
        except SystemExit as end:
            code = end.code
            if isinstance(code, str):
                print(code)
        except BaseException:
            traceback.print_exc()
    print(json.dumps([bool(code), said.getvalue()]))
"""


def test_wrong_options(tmp_path):
    """All of them in one process."""
    wrong = [
        (("--network", "vgg"), "--network vgg: there are mlp, lenet, resnet, inception_bn, lstm"),
        (("--load-epoch", "3"), "--load-epoch needs --model-prefix"),
        (
            ("--network", "resnet", "--num-layers", "9"),
            "num_layers is 9; for images of up to 32x32 it must be 6n+2",
        ),
        (("--model-prefix", "missing/net"), "does not exist"),
        (("--model-prefix", "net", "--load-epoch", "3"), "--load-epoch 3: "),
        (("--model-prefix", "net", "--load-epoch", "20"), "--load-epoch 20: nothing is left"),
        (("--optimizer", "sdg"), "did you mean 'sgd'"),
        (("--kv-store", "locall"), "kvstore 'locall' is not known"),
        (("--plot", "missing/x.png"), "--plot missing/x.png: there is no such folder"),
        (("--num-epochs", "0"), "--num-epochs: invalid positive value: '0'"),
        (("--gpus", "one"), "--gpus: invalid indices value: 'one'"),
        (("--data-dir", "missing"), "--data-dir missing: there is no such folder"),
    ]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "CYNET_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-c", WRONG, str(SCRIPT)],
        input=json.dumps([args for args, _ in wrong]),
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=280,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(wrong), done.stderr
    for (args, message), (failed, output) in zip(wrong, found):
        assert failed and message in output.splitlines()[-1], (args, output)
        assert "Traceback" not in output and "training mlp on" not in output


@only_in_stress
def test_one_epoch_on_mnist(train, mnist_dir):
    if mnist_dir is None:
        pytest.skip("no MNIST under CYNET_DATA_DIR")
    output = train(
        "--network",
        "lenet",
        "--dataset",
        "mnist",
        "--data-dir",
        mnist_dir,
        "--batch-size",
        100,
        "--lr",
        0.05,
        "--num-epochs",
        1,
    )
    assert accuracy(output) >= 97.5
