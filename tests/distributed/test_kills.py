"""A rank is killed at any moment: all others raise within 5 s, on one host and on two.

`make stress` kills a hundred.
"""

import os

import pytest

from cynet.launch.command import find_mpiexec
from tests.distributed.ranks import HOSTS, TWO_HOSTS, Memory, can_unshare, finish, need_mpi, start

need_mpi()
KILLS = max(2, int(os.environ.get("CYNET_STRESS_KILLS") or 0) // 3)


@pytest.mark.skipif(find_mpiexec()[1] != "openmpi", reason="needs Open MPI 5: a death is an error")
@pytest.mark.parametrize("number", range(KILLS))
def test_survivors_raise(number, rng, tmp_path):
    several = number % 2
    if several and not can_unshare("--uts", "--mount"):
        pytest.skip("two hosts are emulated by unshare, which needs root")
    launch = ["-H", str(HOSTS / "hostfile"), "--mpi-args", TWO_HOSTS] if several else []
    victim, seconds = int(rng.integers(3)), float(rng.uniform(0, 0.5))
    program = ("killed.py", tmp_path, victim, seconds)
    (tmp_path / "shm").mkdir()
    memory = Memory(tmp_path / "shm")
    code, out, err = finish(start(3, *program, launch=launch, before=memory.before))
    assert code != 0, out + err
    killed = float((tmp_path / "killed").read_text())
    for rank in {0, 1, 2} - {victim}:
        noted = tmp_path / f"{rank}.error"
        assert noted.exists(), out + err
        when, _, text = noted.read_text().partition(" ")
        assert f"rank {victim} (" in text and "has died" in text, text
        assert ("node2" in text) == bool(several)
        assert float(when) - killed < 5
    assert not memory.left()
