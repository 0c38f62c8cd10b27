"""Damaged files of every format, the short form: `make fuzz` is the long one."""

import os

import pytest

from tests.fuzz.worker import run_cases


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads Linux's /proc")
def test_damaged_files(seed):
    """A result or an error of cynet, no crash, no hang, no more memory than the file and 64 MB."""
    faults = run_cases("tests.fuzz.files", seed, int(os.environ.get("CYNET_FUZZ_CASES", 500)))
    assert not faults, "\n".join(faults)
