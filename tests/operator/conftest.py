"""Operators in Cython from outside the package, compiled once a session."""

from pathlib import Path

import pytest

import cynet as mx

PYX = Path(__file__).parent / "pyx"


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """``compiled(path)``: the module of a .pyx, from a cache of this session's own."""
    pytest.importorskip("Cython")
    pytest.importorskip("setuptools")
    home = str(tmp_path_factory.mktemp("compiled"))

    def compile_here(path):
        with mx.config.environment("CYNET_HOME", home):
            return mx.operator.compile_pyx(PYX / path)

    return compile_here
