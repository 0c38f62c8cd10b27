"""The short form for programs: calls, bulks, blocks and Modules give equal bytes."""

import os

from tests.fuzz.worker import run_cases


def test_programs(seed):
    count = int(os.environ.get("CYNET_FUZZ_CASES", 300))
    faults = run_cases("tests.fuzz.programs", seed, count)
    assert not faults, "\n".join(
        [*faults, f"repeat one: python -m tests.fuzz.programs --seed {seed} --show NUMBER"]
    )
