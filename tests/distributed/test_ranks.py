"""What 2 and 4 processes compute together: programs/checks.py runs once for each number."""

import json
import os

import pytest

from tests.distributed.programs.training import rows
from tests.distributed.ranks import PROGRAMS, finish, need_mpi, start

need_mpi()
SIZES = (2, 3, 4) if os.environ.get("CYNET_STRESS_KILLS") else (2, 4)
NAMES = [
    line.removeprefix("def check_").partition("(")[0]
    for name in ("checks.py", "horovod_checks.py")
    for line in (PROGRAMS / name).read_text().splitlines()
    if line.startswith("def check_")
]
_found = {}


def results(n, folder):
    """{check: [one result a rank]} of n ranks, which run once."""
    if n not in _found:
        code, out, err = finish(start(n, "checks.py", folder))
        assert code == 0, out + err
        ranks = [json.loads((folder / f"rank-{rank}.json").read_text()) for rank in range(n)]
        _found[n] = {name: [each[name] for each in ranks] for name in ranks[0]}
    return _found[n]


CASES = [
    (n, name)
    for n in SIZES
    for name in [*NAMES, *("_".join(row) for row in rows(n)), "update_in_store"]
]


@pytest.mark.parametrize("n, name", CASES)
def test_together(n, name, tmp_path):
    found = results(n, tmp_path)[name]
    assert [state for state, _ in found] == ["passed"] * n, "\n".join(text for _, text in found)


@pytest.mark.parametrize("n", SIZES)
def test_all_checks_are_known(n, tmp_path):
    assert {*results(n, tmp_path)} == {name for size, name in CASES if size == n}
