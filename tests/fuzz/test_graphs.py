"""The short form of `make fuzz` for graphs that are bound and run."""

import os

from tests.fuzz.worker import run_cases


def test_graphs(seed):
    count = int(os.environ.get("CYNET_FUZZ_CASES", 400))
    faults = run_cases("tests.fuzz.graphs", seed, count)
    assert not faults, "\n".join(
        [*faults, f"repeat one: python -m tests.fuzz.graphs --seed {seed} --show NUMBER"]
    )
