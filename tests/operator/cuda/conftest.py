"""The GPU forms that call cuBLAS and cuDNN run with the simulated ones (tests/cuda/simulated)."""

import pytest

from cynet.base import config
from tests.cuda import simulated


@pytest.fixture(scope="session", autouse=True)
def libraries():
    """The folder of the simulated libraries, which are opened from it."""
    folder = simulated.folder()
    with config.environment("CYNET_CUDA_LIBRARIES", str(folder)):
        yield folder
