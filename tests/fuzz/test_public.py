"""The short form of `make fuzz` for public calls that are no operators."""

import os

from tests.fuzz.worker import run_cases


def test_public_calls(seed):
    count = int(os.environ.get("CYNET_FUZZ_CASES", 600))
    faults = run_cases("tests.fuzz.public", seed, count)
    assert not faults, "\n".join(
        [*faults, f"repeat one: python -m tests.fuzz.public --seed {seed} --show NUMBER"]
    )
