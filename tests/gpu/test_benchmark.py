"""The rows of benchmarks/gpu.py that compare our kernels with cuDNN's, on small arrays: that they
run, not how fast."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parent.parent.parent / "benchmarks" / "gpu.py"


@pytest.fixture
def benchmark(monkeypatch):
    """The module, whose imports of examples leave sys.path as it was."""
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
