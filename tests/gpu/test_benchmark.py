"""A step of the networks of benchmarks/gpu.py: that they run, not how fast."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from tests.gpu.test_graphs import Counted

PATH = Path(__file__).parent.parent.parent / "benchmarks" / "gpu.py"


@pytest.fixture
def benchmark(monkeypatch):
    """The module, whose imports of networks and examples leave sys.path as it was."""
    monkeypatch.syspath_prepend("")
    spec = importlib.util.spec_from_file_location("benchmark_gpu", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SMALL = {
    "lenet": (2, 1, 28, 28),
    "mobilenet2": (2, 3, 64, 64),
    "lstm": (2, 3, 4),
    "bert": (2, 3, 24),
}


@pytest.mark.parametrize("dtype", ("float32", "float16"))
@pytest.mark.parametrize("name", SMALL)
def test_a_step_of_a_network(gpu, benchmark, monkeypatch, name, dtype):
    """It trains: the weights move, and stay finite."""
    networks = benchmark.gpu_networks
    monkeypatch.setattr(networks, "LSTM_UNITS", 4)
    symbol = networks.network(name, dtype, SMALL[name])
    step = benchmark.training_step(symbol, gpu, SMALL[name], 10)
    module = step.__closure__[step.__code__.co_freevars.index("module")].cell_contents
    before = {n: a.asnumpy() for n, a in module.get_params()[0].items()}
    for _ in range(4):
        step()
    after = {n: a.asnumpy() for n, a in module.get_params()[0].items()}
    assert all(np.isfinite(value).all() for value in after.values())
    still = [n for n in before if np.array_equal(before[n], after[n])]
    assert not [n for n in still if "weight" in n], still


def test_a_step_by_gluon(gpu, benchmark):
    """Three graphs, and the loss falls."""
    shape = SMALL["lenet"]
    symbol = benchmark.gpu_networks.network("lenet", "float32", shape)
    step = benchmark.gluon_step(symbol, gpu, shape, 10)
    block, data, label = (
        step.__closure__[step.__code__.co_freevars.index(name)].cell_contents
        for name in ("block", "data", "label")
    )

    def loss():
        scores, classes = block(data, label).asnumpy(), label.asnumpy().astype(int)
        return -np.log(scores[np.arange(len(classes)), classes]).mean()

    before = loss()
    for _ in range(12):
        step()
    with Counted() as count:
        step()
    assert (count.recorded, count.replayed) == (0, 3)
    assert loss() < before
