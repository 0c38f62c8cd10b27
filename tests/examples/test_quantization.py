"""examples/quantization: the program learns, int8 is as good, and what it saved works."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import cynet as mx

FILE = Path(__file__).parents[2] / "examples" / "quantization" / "quantize.py"


@pytest.fixture(scope="module")
def program():
    spec = importlib.util.spec_from_file_location("example_quantize", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("network, epochs, more", [
    ("lenet", "4", ["--calib-mode", "naive"]),
    ("resnet20", "3", ["--calib-mode", "naive", "--tolerance", "0.05"]),
    ("text", "8", ["--calib-mode", "entropy"]),
])  # fmt: skip
def test_int8_is_as_good(program, tmp_path, network, epochs, more):
    before = np.random.get_state(), mx.random.shuffle_state()
    try:
        options = ["--network", network, "--epochs", epochs, "--out", str(tmp_path)]
        plain, quantized = program.main([*options, *more])
        np.random.seed(0)
        made = program.sentences if network == "text" else program.digits
        _, (inputs, labels) = made()
    finally:
        np.random.set_state(before[0])
        mx.random.set_shuffle_state(before[1])
    assert plain > (85 if network == "text" else 90)
    assert quantized >= plain - 0.5  # percent; one of the images is 0.28
    read = mx.gluon.SymbolBlock.imports(
        str(tmp_path / f"{network}-int8-symbol.json"),
        ["data"],
        str(tmp_path / f"{network}-int8-0000.params"),
    )
    assert 100 * (read(mx.nd.array(inputs)).asnumpy().argmax(1) == labels).mean() == quantized
