"""Scripts written for MXNet and Horovod, under `cynet.launch`, plain mpiexec, and alone."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.launch.command import find_mpiexec
from cynet.launch.sweep import descendant_processes
from tests import scripts
from tests.distributed.ranks import finish, need_mpi, start

need_mpi()
FOLDER = Path(__file__).parent / "scripts"
ARGUMENTS = {"module": ["--kv-store", "dist_sync"], "gluon": [], "horovod": []}
ALL = bool(os.environ.get("CYNET_STRESS_KILLS"))  # every script in every way: `make stress`
SIZE = 3 if ALL else 2
TIMES = max(1, int(os.environ.get("CYNET_STRESS_KILLS") or 0) // 6)  # of each way to begin again


def accuracies(text):
    """{(rank, size): accuracy} of what ranks have printed."""
    rows = re.findall(r"rank (\d) of (\d): accuracy ([\d.]+)", text)
    return {(int(rank), int(size)): float(value) for rank, size, value in rows}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_alone(name):
    done = scripts.run(FOLDER / f"{name}_script.py", *ARGUMENTS[name])
    found = accuracies(done.stdout)
    assert done.returncode == 0, done.stderr
    assert [*found] == [(0, 1)] and found[0, 1] > 0.9


@pytest.mark.parametrize("name", ARGUMENTS)
def test_under_the_launcher(name, tmp_path):
    more = ["--model-prefix", tmp_path / "m"] if name == "module" else []
    launch = ["--log-dir", str(tmp_path / "logs")]
    script = FOLDER / f"{name}_script.py"
    code, out, err = finish(start(2, script, *ARGUMENTS[name], *more, launch=launch))
    assert code == 0, out + err
    found = accuracies(out)
    assert [*sorted(found)] == [(0, 2), (1, 2)] and min(found.values()) > 0.9
    assert found[0, 2] == found[1, 2]
    assert all(re.match(r"\[[01]\] ", line) for line in out.splitlines())
    log = (tmp_path / "logs" / "rank-1.log").read_text()
    assert accuracies(log) == {(1, 2): found[1, 2]}
    if name == "module":  # rank 0 speaks and writes
        assert "Node[0] Epoch[0] Batch [0-4]\tSpeed:" in err and "Node[1] Epoch" not in err
        names = sorted(path.name for path in tmp_path.glob("m*"))
        assert names == ["m-0001.params", "m-0002.params", "m-0003.params", "m-symbol.json"]
        assert err.count("2 ranks with batches of 8: 16 examples a step") == 1
        found = re.findall(
            r"a step took ([\d.]+) ms on rank 0; for ([\d.]+) ms .* ([\d.]+) ms", err
        )
        assert len(found) == 1 and 0 < float(found[0][1]) < float(found[0][0])


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """64 small pictures of four colors, as a file of records and its index."""
    folder = tmp_path_factory.mktemp("records")
    paths = [str(folder / "a.rec"), str(folder / "a.idx")]
    rng = np.random.RandomState(0)
    file = mx.recordio.MXIndexedRecordIO(paths[1], paths[0], "w")
    for i in range(64):
        color = [(200, 40, 40), (40, 200, 40), (40, 40, 200), (190, 190, 40)][i % 4]
        picture = np.clip(np.array(color) + rng.randint(-30, 30, (36, 40, 3)), 0, 255)
        header = mx.recordio.IRHeader(0, i % 4, i, 0)
        file.write_idx(i, mx.recordio.pack_img(header, picture.astype("uint8"), quality=95))
    file.close()
    return ["--rec-train", paths[0], "--rec-train-idx", paths[1]]


@pytest.mark.parametrize("mode", ["gluon", "module"])
def test_horovods_example_of_imagenet(mode, pictures, tmp_path):
    script = FOLDER / "horovod_imagenet_script.py"
    more = ["--mode", mode, "--save-dir", tmp_path, *pictures]
    code, out, err = finish(start(2, script, *more))
    assert code == 0, out + err
    found = accuracies(out)
    assert [*sorted(found)] == [(0, 2), (1, 2)] and min(found.values()) > 0.9
    assert found[0, 2] == found[1, 2]
    assert len([*tmp_path.glob(f"{mode}-*.params")]) == 4  # rank 0 has written each epoch


@pytest.mark.parametrize("name", ARGUMENTS if ALL else ["gluon"])
def test_under_plain_mpiexec(name):
    path, kind = find_mpiexec()
    more = ["--oversubscribe", "--bind-to", "none"] if kind != "mpich" else []
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    script = [sys.executable, str(FOLDER / f"{name}_script.py"), *ARGUMENTS[name]]
    done = subprocess.run(
        [path, *more, "-n", "2", *script],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **root, "PYTHONPATH": str(scripts.ROOT), "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(accuracies(done.stdout)) == 2


def test_ctrl_c_ends_all_ranks():
    process = start(2, FOLDER / "gluon_script.py", launch=["--env", "CYNET_NUM_THREADS:1"])
    until = time.monotonic() + 60
    while not descendant_processes(process.pid) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    code, _, err = finish(process, 30)
    assert code == 128 + signal.SIGINT and "SIGINT: all processes have ended" in err
    assert time.monotonic() - began < 15


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What a training prints in which nobody dies: size, epochs, accuracy, digest of weights."""
    code, out, err = finish(start(SIZE, "resumes.py", tmp_path_factory.mktemp("whole")))
    assert code == 0, out + err
    return re.search("weights.*", out)[0].split()[1:]


@pytest.mark.parametrize("number", range(TIMES))
@pytest.mark.parametrize("how", ["--restarts", "--elastic"] if ALL else ["--restarts"])
def test_begins_again_after_a_death(how, number, undisturbed, tmp_path, rng):
    death = (1, 3, 7) if number == 0 else [int(rng.integers(most)) for most in (SIZE, 6, 15)]
    launch = ["--restarts", "1"] if how == "--restarts" else ["--elastic"]
    code, out, err = finish(start(SIZE, "resumes.py", tmp_path, *death, launch=launch))
    assert code == 0, out + err
    assert "has died" in err and "begins again (1)" in err
    assert f"rank {death[0]} (" in err or find_mpiexec()[1] != "openmpi"
    if death[1]:
        epochs = "1 epoch" if death[1] == 1 else f"{death[1]} epochs"
        assert f"has {epochs}: training goes on with Epoch[{death[1]}]" in err
    _, size, epochs, accuracy, digest = re.search("weights.*", out)[0].split()
    assert int(epochs) == 6 and float(accuracy) > 0.9
    if how == "--restarts":
        assert [size, epochs, accuracy, digest] == undisturbed
        return
    assert size == str(SIZE - 1) and f"goes on with {SIZE - 1} of {SIZE} processes" in err
    if death[1]:
        assert f"{SIZE - 1} ranks instead of {SIZE}: data begin anew" in err
