"""The thread setting: bounds, the environment variable."""

import os
import subprocess
import sys

import pytest
from cynet.kernels.parallel import get_num_threads, set_num_threads

from cynet.errors import ArgumentError, ArgumentTypeError


def test_set_returns_the_setting_before():
    before = set_num_threads(3)
    try:
        assert get_num_threads() == 3
        assert set_num_threads(0) == 3
        assert get_num_threads() >= 1
    finally:
        set_num_threads(before)


def test_bad_settings_are_refused():
    with pytest.raises(ArgumentError, match="-1"):
        set_num_threads(-1)
    for bad in (1.5, "2", None, True):
        with pytest.raises(ArgumentTypeError, match="takes an int"):
            set_num_threads(bad)


def test_environment_variable():
    code = "from cynet.kernels.parallel import get_num_threads; print(get_num_threads())"
    out = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "CYNET_NUM_THREADS": "5"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert out.stdout.strip() == "5"
