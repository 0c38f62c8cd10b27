"""worker.py tells cases that are wrong, that die, that do not end; a busy machine is no fault."""

from tests.fuzz.worker import run_cases


def test_each_kind_of_end():
    faults = run_cases("tests.fuzz.odd_cases", 5, 8, seconds=0.5)
    assert [fault.rstrip(": ") for fault in faults] == [
        "case 1: seed 5 is wrong",
        "case 2, seed 5: no end after 0.5 s",
        "case 4, seed 5: no end after 0.5 s",
        "case 5, seed 5: ended with status 3",
    ]
