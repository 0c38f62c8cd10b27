"""Hostile requests and bodies, the short form: `make fuzz` is the long one."""

import os

import pytest

from tests.fuzz.worker import run_cases


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads Linux's /proc")
def test_hostile_requests(seed):
    """A right answer or a sentence; no 500, no hang, no memory that stays."""
    pytest.importorskip("waitress")
    faults = run_cases("tests.fuzz.requests", seed, int(os.environ.get("CYNET_FUZZ_CASES", 2000)))
    assert not faults, "\n".join(faults)
