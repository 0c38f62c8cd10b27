"""benchmarks/peers/operators.py: every row runs, and the page says what was measured."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PEERS = Path(__file__).parents[2] / "benchmarks" / "peers"


@pytest.fixture(scope="module")
def operators(peers):
    return peers("operators")


def test_every_row_is_a_call_of_cynet(operators):
    names = operators.names()
    assert len(names) > 90 and len(set(names)) == len(names)
    questions = "".join(json.dumps(["10", name, 0]) + "\n" for name in names)
    done = subprocess.run(
        [sys.executable, "operators_mx.py", "cynet"],
        input=questions,
        capture_output=True,
        text=True,
        cwd=PEERS,
        env={"PYTHONPATH": str(PEERS.parents[1])},
        check=True,
    )
    assert not done.stderr
    seconds = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(seconds) == len(names) and all(0 < s < 1 for s in seconds)


def test_a_row_of_the_page(operators):
    times = {"cynet": 2e-6, "torch": 1e-6, "mxnet": 30e-6}
    rows = list(operators.page({"zeros": {"10": times}}))
    assert "| zeros | 2 us, 0.5 / 15 | - | - |" in rows
