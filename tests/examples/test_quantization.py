"""examples/quantization: int8 is as good, and what it saved works (README: test_topics.py)."""

import importlib.util
import re

import pytest

import cynet as mx
from tests.example_output import ROOT, run


@pytest.fixture(scope="module")
def common():
    spec = importlib.util.spec_from_file_location(
        "examples_gluon_common", ROOT / "examples" / "gluon" / "common.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "network, epochs, more",
    [("lenet", 4, ["--calib-mode", "entropy"]), ("resnet20", 3, ["--tolerance", 0.05])],
)
def test_int8_is_as_good(common, tmp_path, network, epochs, more):
    options = ["--network", network, "--epochs", epochs, *more]
    printed = run("quantization/quantize.py", *options, cwd=tmp_path)
    plain, quantized = (
        float(re.search(rf"^{kind}: ([\d.]+) %", printed, re.M)[1]) for kind in ("float32", "int8")
    )
    assert plain > 90
    assert quantized >= plain - 0.5  # percent; one of the images is 0.28
    _, (images, labels) = common.arrays("digits")
    prefix = str(tmp_path / "out" / f"{network}-int8")
    read = mx.gluon.SymbolBlock.imports(f"{prefix}-symbol.json", ["data"], f"{prefix}-0000.params")
    found = read(mx.nd.array(images)).asnumpy().argmax(1)
    assert 100 * (found == labels).mean() == pytest.approx(quantized, abs=0.005)


def test_training_in_few_bits(tmp_path):
    printed = run("quantization/train_quantized.py", "--epochs", 6, cwd=tmp_path)
    found = dict(re.findall(r"^(.*): ([\d.]+) %", printed, re.M))
    found = {name: float(each) for name, each in found.items()}
    assert found["float32"] > 95 and found["trained in 8 bits"] > 95
    assert found["trained in 4 bits"] > 94
    assert found["trained in 2 bits"] > found["rounded to 2 bits"] + 5
    assert found["int8 layers"] == pytest.approx(found["trained in 8 bits"], abs=0.6)


def test_bits_that_are_refused(tmp_path):
    with pytest.raises(AssertionError, match="--bits 9: each is from 2 to 8"):
        run("quantization/train_quantized.py", "--bits", 9, cwd=tmp_path)
