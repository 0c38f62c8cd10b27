"""benchmarks/peers, whose scripts import each other by name."""

import importlib
import sys
from pathlib import Path

import pytest

PEERS = Path(__file__).parents[2] / "benchmarks" / "peers"


@pytest.fixture(scope="session")
def peers():
    """Imports a module of that folder, as its scripts do."""

    def load(name):
        before = list(sys.path)
        sys.path.insert(0, str(PEERS))
        try:
            return importlib.import_module(name)
        finally:
            sys.path[:] = before

    return load
