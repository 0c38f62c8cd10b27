"""The rows of benchmarks/gpu.py that compare our kernels with cuDNN's, on small arrays, and a step
of its networks: that they run, not how fast."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

PATH = Path(__file__).parent.parent.parent / "benchmarks" / "gpu.py"


@pytest.fixture
def benchmark(monkeypatch):
    """The module, whose imports of networks and examples leave sys.path as it was."""
    monkeypatch.syspath_prepend("")
    spec = importlib.util.spec_from_file_location("benchmark_gpu", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module.median, "__defaults__", (1, 4))  # graphs are recorded in the third
    return module


def test_kernels_beside_cudnn(gpu, benchmark):
    """Every kind of row."""
    kinds = {}
    for name, params, shape in benchmark.LAYERS:
        key = name, params.get("pool_type"), len(shape)
        kinds[key] = name, params, (2, 3, *(4 for _ in shape[2:]))
    found = dict(benchmark.kernels_beside_cudnn(gpu, list(kinds.values()), 2))
    assert len(found) == 2 * len(kinds), found
    assert all(0 < ratio < 1e3 for ratio in found.values()), found
    assert "softmax, 2 x 3, forward: own kernels / cuDNN" in found
    assert "avg Pooling, 2 x 3 x 4 x 4, forward and backward: own kernels / cuDNN" in found


SMALL = {
    "lenet": (2, 1, 28, 28), "mobilenet2": (2, 3, 64, 64), "lstm": (2, 3, 4), "bert": (2, 3, 24),
}  # fmt: skip


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
