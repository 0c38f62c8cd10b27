"""Settings: every number beyond what C holds is refused by the variable's name."""

import os
import subprocess
import sys

import pytest

import cynet as mx
from cynet.base import config
from cynet.base.errors import ArgumentError

NUMBERS = [
    s.name
    for s in config.settings()
    if isinstance(s.default, int) and s.default is not True and s.default is not False
]


def test_there_are_numbers():
    assert {"CYNET_CPU_WORKERS", "CYNET_NUM_THREADS", "CYNET_STORAGE_CACHE_MB"} <= {*NUMBERS}


@pytest.mark.parametrize("text", ["9" * 20, "9" * 5000, str(1 << 64), "-1", "1.5", "x", "1e3"])
@pytest.mark.parametrize("name", NUMBERS)
def test_what_does_not_fit(name, text, monkeypatch):
    monkeypatch.setenv(name, text)
    with pytest.raises(ArgumentError, match=f"environment variable {name}=.*whole number") as told:
        config.get(name)
    assert len(str(told.value)) < 400


@pytest.mark.parametrize("name", NUMBERS)
def test_what_fits(name, monkeypatch):
    monkeypatch.setenv(name, " 2 ")
    assert config.get(name) == 2


@pytest.mark.parametrize(
    "name, text",
    [("CYNET_CPU_WORKERS", "2147483648"), ("CYNET_NUM_THREADS", "4097")]
    + [("CYNET_STORAGE_CACHE_MB", "9" * 20)],
)
def test_a_process_says_so(name, text):
    """They are read where C code starts."""
    code = "import cynet as mx; mx.nd.ones((2, 2)).asnumpy()"
    env = {**os.environ, name: text}
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert run.returncode == 1
    assert f"ArgumentError: environment variable {name}='{text}'" in run.stderr


def test_the_largest_cache_is_no_overflow():
    largest = str((1 << 43) - 1)
    code = "import cynet as mx; print(mx.nd.ones((2, 2)).asnumpy().sum())"
    env = {**os.environ, "CYNET_STORAGE_CACHE_MB": largest}
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert run.stdout.strip() == "4.0", run.stderr
    assert mx.config is config
