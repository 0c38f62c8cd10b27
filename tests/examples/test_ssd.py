"""examples/ssd: its symbols against MXNet 1.9.1, and training and detection from the terminal."""

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from tests import scripts
from tests.fixtures.networks import weights

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "ssd"
FIXTURE = ROOT / "tests" / "fixtures" / "networks" / "ssd.npz"


@pytest.fixture(scope="module")
def ssd():
    """The module symbols/ssd.py, under a name that no other example has."""
    spec = importlib.util.spec_from_file_location(
        "ssd_symbols",
        EXAMPLE / "symbols" / "__init__.py",
        submodule_search_locations=[str(EXAMPLE / "symbols")],
    )
    package = sys.modules["ssd_symbols"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    yield importlib.import_module("ssd_symbols.ssd")
    for name in [n for n in sys.modules if n.startswith("ssd_symbols")]:
        del sys.modules[name]


@pytest.mark.parametrize("network, side", [("tiny", 96), ("vgg16_reduced", 300)])
def test_as_mxnet(ssd, network, side):
    """Names, shapes, outputs and gradients of the same weights."""
    with mx.name.NameManager():
        symbol = ssd.get_symbol_train(network, 3)
    found = weights.run(mx, symbol, {"data": (1, 3, side, side), "label": (1, 4, 5)})
    with np.load(FIXTURE) as file:
        wanted = {name.partition("/")[2]: file[name] for name in file if name.startswith(network)}
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        if value.dtype.kind == "U":
            assert found[name].tolist() == value.tolist()
            continue
        # a gradient passes many maxima, of which float32 may choose others
        close = (1e-3 if name.startswith("grad") else 1e-4) * np.abs(value).max()
        np.testing.assert_allclose(found[name], value, 0, close, err_msg=name)


def run(script, *args, cwd, fails=False):
    """What a script prints; it must end as expected, without a traceback."""
    done = scripts.run(EXAMPLE / script, *args, cwd=cwd)
    assert (done.returncode != 0) == fails, done.stdout[-2000:] + done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with drawn shapes and a checkpoint of the second epoch."""
    pytest.importorskip("cv2")
    folder = tmp_path_factory.mktemp("ssd")
    run("train.py", "--epochs", 2, "--pictures", 32, cwd=folder)
    return folder


def test_pretrained(trained, tmp_path):
    """What fits is taken, of a network for other classes, too; and it is not begun anew."""
    file = trained / "out" / "ssd-0002.params"
    options = ["--epochs", 1, "--lr", 1e-9, "--pictures", 32]
    said = run("train.py", "--pretrained", file, *options, cwd=tmp_path)
    assert f"56 of 56 arrays of {file} fit" in said
    before, after = mx.nd.load(str(file)), mx.nd.load(str(tmp_path / "out" / "ssd-0001.params"))
    name = next(name for name in before if name.startswith("arg:") and name.endswith("weight"))
    np.testing.assert_allclose(before[name].asnumpy(), after[name].asnumpy(), atol=1e-5)


def test_detect(trained):
    args = ["out/shapes_val.rec", "--epoch", 2, "--most", 3, "--threshold", 0.01]
    said = run("detect.py", *args, cwd=trained)
    found = re.findall(r"(disc|square|triangle) 0\.\d\d.*: out/shapes_val_(\d)-found.png", said)
    assert found
    image = mx.image.imread(str(trained / "out" / "shapes_val_2-found.png"))
    assert image.shape == (384, 384, 3)  # three times as large
    # without --epoch: the newest that is there
    again = run("detect.py", "out/shapes_val_2-found.png", "--out", "again", cwd=trained)
    assert ": again/shapes_val_2-found-found.png" in again


def test_refusals(tmp_path):
    assert "--data-train needs --class-names" in run(
        "train.py", "--data-train", "x.rec", cwd=tmp_path, fails=True
    )
    assert "error: " in run("detect.py", "none.jpg", cwd=tmp_path, fails=True)
    assert "there is no out/ssd-0001.params or a later one" in run(
        "detect.py", "none.jpg", cwd=tmp_path, fails=True
    )
    for epoch in (3, 12):
        mx.model.save_checkpoint(str(tmp_path / "out" / "ssd"), epoch, None, {}, {})
    said = run("detect.py", "none.jpg", "--epoch", 20, cwd=tmp_path, fails=True)
    assert "ssd-0020.params: no such file; there is epoch 3, 12" in said
