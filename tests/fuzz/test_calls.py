"""The short form of `make fuzz` for calls of operators."""

import os

from tests.fuzz.worker import run_cases


def test_calls(seed):
    count = int(os.environ.get("CYNET_FUZZ_CASES", 400))
    faults = run_cases("tests.fuzz.calls", seed, count)
    assert not faults, "\n".join(
        [*faults, f"repeat one: python -m tests.fuzz.calls --seed {seed} --show NUMBER"]
    )
