""".params files: MXNet's own files, byte for byte the same when written; damage of every kind."""

import contextlib
import os
import stat
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, FormatError
from cynet.ndarray.serialization import parse_params

FIXTURE = np.load(Path(__file__).parent.parent / "fixtures" / "params.npz")
FILES = sorted(name[:-5] for name in FIXTURE.files if name.endswith(".file"))
SPARSE = ("csr", "row_sparse")
DENSE = [name for name in FILES if name not in SPARSE]


def held(name):
    return [FIXTURE[f"{name}.{i}"] for i in range(99) if f"{name}.{i}" in FIXTURE.files]


def same(found, expected):
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.asnumpy(), expected)


@pytest.mark.parametrize("name", DENSE)
def test_loads_what_mxnet_wrote(name, tmp_path):
    path = tmp_path / f"{name}.params"
    path.write_bytes(FIXTURE[f"{name}.file"].tobytes())
    for loaded in (
        mx.nd.load(str(path)),
        mx.nd.load(path),
        mx.nd.load_frombuffer(path.read_bytes()),
    ):
        if name == "dict":
            assert list(loaded) == ["arg:w", "aux:b\u00e9"]
        arrays = list(loaded.values()) if isinstance(loaded, dict) else loaded
        assert len(arrays) == len(held(name))
        for found, expected in zip(arrays, held(name)):
            same(found, expected)
            assert found.context == mx.cpu(0)


@pytest.mark.parametrize("name", [n for n in DENSE if n not in ("v0", "v1")])
def test_writes_mxnets_bytes(name, tmp_path):
    path = tmp_path / "x.params"
    ctx = mx.cpu(1) if name == "cpu1" else mx.cpu()
    data = [mx.nd.array(v, dtype=v.dtype, ctx=ctx) for v in held(name)]
    if name == "dict":
        data = dict(zip(["arg:w", "aux:b\u00e9"], data))
    if name == "empty_dict":
        data = {}
    mx.nd.save(path, data[0] if name == "single" else data)
    assert path.read_bytes() == FIXTURE[f"{name}.file"].tobytes()
    assert mx.nd.save_tobuffer(data) == path.read_bytes()


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_arrays_are_read_and_written(name):
    (array,) = mx.nd.load_frombuffer(FIXTURE[f"{name}.file"].tobytes())
    assert array.stype == name
    assert mx.nd.save_tobuffer([array]) == FIXTURE[f"{name}.file"].tobytes()


def test_views_are_written_as_they_look(tmp_path):
    array = mx.nd.arange(12).reshape((3, 4))
    mx.nd.save(tmp_path / "x", [array[1:], array.reshape((4, 3))])
    rows, other = mx.nd.load(tmp_path / "x")
    same(rows, np.arange(4, 12, dtype="float32").reshape(2, 4))
    same(other, np.arange(12, dtype="float32").reshape(4, 3))


def test_pending_work_is_waited_for(tmp_path):
    array = mx.nd.zeros((200, 200))
    for _ in range(20):
        array += 1
    mx.nd.save(tmp_path / "x", array)
    assert (mx.nd.load(tmp_path / "x")[0].asnumpy() == 20).all()


# --- damage --------------------------------------------------------------------------------------
def small_file():
    """Two arrays with names, one of each kind of header there is."""
    v2 = struct.pack("<IiIqqiiiff", 0xF993FAC9, 0, 2, 1, 2, 1, 0, 0, 1.5, -2.5)
    v1 = struct.pack("<IIqiiib", 0xF993FAC8, 1, 1, 1, 0, 5, 7)
    v0 = struct.pack("<IIiiid", 1, 1, 1, 0, 1, 0.5)
    names = b"".join(struct.pack("<Q", len(n)) + n for n in (b"arg:w", b"aux:m", b"x"))
    return struct.pack("<QQQ", 0x112, 0, 3) + v2 + v1 + v0 + struct.pack("<Q", 3) + names


def test_the_small_file_is_sound():
    loaded = mx.nd.load_frombuffer(small_file())
    assert {k: v.asnumpy().tolist() for k, v in loaded.items()} == {
        "arg:w": [[1.5, -2.5]],
        "aux:m": [7],
        "x": [0.5],
    }


def test_every_truncation_is_an_error(tmp_path):
    data = small_file()
    for n in range(len(data)):
        with pytest.raises(FormatError, match=r"<buffer>: offset \d+: expected .*, found "):
            mx.nd.load_frombuffer(data[:n])
    path = tmp_path / "cut.params"
    for n in (0, 1, 7, 100):
        path.write_bytes(data[:n])
        with pytest.raises(FormatError, match=r"cut\.params: offset \d+: expected"):
            mx.nd.load(path)


def test_every_flip_of_a_byte_loads_or_is_an_error():
    """No crash, and nothing allocated beyond what the file's own size allows."""
    data = small_file()
    loaded = 0
    for at in range(len(data)):
        for change in (*(1 << bit for bit in range(8)), 0xFF, data[at]):
            bad = bytearray(data)
            bad[at] ^= change  # each bit, all of them, and to zero
            try:
                arrays, _ = parse_params(bad, "x")
                assert sum(a.nbytes for a in arrays) <= len(data)
                loaded += 1
            except FormatError as error:
                assert "x: offset" in str(error)
    assert loaded > 10 * 20  # the bytes of the data and of the names


def test_random_damage(rng, seed):
    data = small_file()
    for _ in range(3000):
        bad = bytearray(data)
        for at in rng.integers(0, len(bad), rng.integers(1, 9)):
            bad[at] = rng.choice([0, 1, 127, 128, 255, rng.integers(256)])
        cut = rng.integers(0, len(bad) + 1) if rng.uniform() < 0.3 else len(bad)
        with contextlib.suppress(FormatError):
            mx.nd.load_frombuffer(bytes(bad[:cut]))


NO_NAMES = struct.pack("<Q", 0)


def v2(*fields, count=1, tail=NO_NAMES):
    return struct.pack("<QQQ", 0x112, 0, count) + b"".join(fields) + tail


@pytest.mark.parametrize(
    "data, message",
    [
        (b"PK\x03\x04 a zip file", r"offset 0: expected 0x112"),
        (v2(count=2**60), r"offset 16: expected at most 0 arrays"),
        (
            v2(struct.pack("<IiI", 0xF993FAC9, 0, 9) + bytes(99)),
            "expected 1 to 8 axes of array 0, found 9",
        ),
        (v2(struct.pack("<IiI", 0xF993FAC9, 0, 0) + bytes(99)), "array without a shape"),
        (
            v2(struct.pack("<IiIqqiii", 0xF993FAC9, 0, 2, 2**40, 2**40, 1, 0, 0) + bytes(99)),
            r"data of array 0 \(float32, shape",
        ),
        (
            v2(struct.pack("<IiIqiii", 0xF993FAC9, 0, 1, -4, 1, 0, 0) + bytes(99)),
            "no negative sizes",
        ),
        (
            v2(struct.pack("<IiIqiii", 0xF993FAC9, 0, 1, 1, 1, 0, 11) + bytes(99)),
            r"a type flag \(0, 1, .*12\)",
        ),
        (
            v2(struct.pack("<IiIqiii", 0xF993FAC9, 7, 1, 1, 1, 0, 0) + bytes(99)),
            r"storage type 0 \(dense\)",
        ),
        (
            v2(
                struct.pack("<IiIqiiif", 0xF993FAC9, 0, 1, 1, 1, 0, 0, 1), tail=struct.pack("<Q", 2)
            ),
            "expected no name or 1, found 2",
        ),
        (
            v2(
                struct.pack("<IiIqiiif", 0xF993FAC9, 0, 1, 1, 1, 0, 0, 1),
                tail=struct.pack("<QQ", 1, 2**63),
            ),
            "bytes of name 0",
        ),
        (
            v2(
                struct.pack("<IiIqiiif", 0xF993FAC9, 0, 1, 1, 1, 0, 0, 1),
                tail=struct.pack("<QQ", 1, 2) + b"\xff\xfe",
            ),
            "UTF-8 in name 0",
        ),
        (small_file().replace(b"aux:m", b"arg:w"), "names that differ"),
        (small_file() + b"z", "expected the end of the file, found 1 more bytes"),
    ],
)
def test_messages(data, message):
    with pytest.raises(FormatError, match=message):
        mx.nd.load_frombuffer(data)


# --- other errors --------------------------------------------------------------------------------
def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        mx.nd.load(tmp_path / "nowhere.params")


@pytest.mark.parametrize(
    "data", [3, "w", np.zeros(3), [np.zeros(3)], {"w": 3}, {3: mx.nd.ones(1)}, None]
)
def test_what_cannot_be_saved(data, tmp_path):
    with pytest.raises(TypeError, match="save"):
        mx.nd.save(tmp_path / "x", data)
    assert not list(tmp_path.iterdir())


def test_wrong_arguments_of_load():
    with pytest.raises(TypeError, match="file name"):
        mx.nd.save(None, mx.nd.ones(1))
    with pytest.raises(TypeError, match="file name"):
        mx.nd.load(3)
    with pytest.raises(TypeError, match="bytes"):
        mx.nd.load_frombuffer("text")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.params"
    mx.nd.save(path, mx.nd.ones(3))
    before = path.read_bytes()

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        mx.nd.save(path, mx.nd.zeros(5))
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["x.params"]


def test_permissions_are_those_of_any_new_file(tmp_path):
    mx.nd.save(tmp_path / "x", mx.nd.ones(1))
    (tmp_path / "y").write_bytes(b"")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in "xy"]
    assert modes[0] == modes[1]


# --- sizes ---------------------------------------------------------------------------------------
def test_many_names(tmp_path):
    """Time grows with the number of arrays: 30,000 took a minute once, when two were equal."""
    n = 30_000
    names = [b"arg:%d" % i for i in range(n)]
    names[-1] = names[-2]
    array = struct.pack("<IIiiiB", 1, 1, 1, 0, 3, 0)
    data = struct.pack("<QQQ", 0x112, 0, n) + array * n + struct.pack("<Q", n)
    data += b"".join(struct.pack("<Q", len(x)) + x for x in names)
    begin = time.monotonic()
    with pytest.raises(FormatError, match="names that differ, found 'arg:29998' twice"):
        mx.nd.load_frombuffer(data)
    assert time.monotonic() - begin < 20


def test_bytes_of_bools_are_0_or_1():
    raw = struct.pack("<IiIqiii", 0xF993FAC9, 0, 1, 4, 1, 0, 7) + b"\x00\x02\xff\x01"
    (loaded,) = mx.nd.load_frombuffer(v2(raw))
    assert loaded.astype("int32").asnumpy().tolist() == [0, 1, 1, 1]
    assert mx.nd.save_tobuffer(loaded)[-12:-8] == b"\x00\x01\x01\x01"


@pytest.mark.parametrize("dtype", ["float32", "uint8", "bool"])
def test_arrays_larger_than_what_is_read_at_once(tmp_path, rng, dtype):
    values = (rng.random((3, 1_500_001)) * 9 > 3).astype(dtype)
    mx.nd.save(tmp_path / "x", {"a": mx.nd.array(values, dtype=dtype), "b": mx.nd.ones(3)})
    loaded = mx.nd.load(tmp_path / "x")
    same(loaded["a"], values)
    same(loaded["b"], np.ones(3, "f"))


MEMORY = """
import resource, sys
import cynet as mx
x = mx.nd.ones((40 << 18,))  # 40 MB
mx.nd.waitall()
def limit(more):
    size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + more, resource.RLIM_INFINITY))
limit(20 << 20)
mx.nd.save(sys.argv[1], {"a": x})
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
limit(60 << 20)
print(int(mx.nd.load(sys.argv[1])["a"].sum().asscalar()))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads Linux's /proc")
def test_memory_of_loading_and_saving(tmp_path):
    """Loading takes the arrays and a few MB, saving no copy of them."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(tmp_path / "x")],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "MALLOC_ARENA_MAX": "1"},
    )
    assert done.stdout.strip() == str(40 << 18), done.stderr


PEAK = """
import os, sys
import cynet as mx
def megabytes(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name)) / 1024
mx.nd.ones((3,)).asnumpy()
before, memory = megabytes("VmRSS"), megabytes("VmSize")
loaded = mx.nd.load(sys.argv[1])
mx.nd.waitall()
sums = [float(each[-1:].asscalar()) for each in loaded]
assert sums == list(map(float, range(len(sums)))), sums
print(megabytes("VmHWM") - before, megabytes("VmPeak") - memory)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads Linux's /proc")
@pytest.mark.parametrize(
    "sizes",
    [[(8 << 18) + 3] * 20, [2_600_003 + i * 1_100_007 for i in range(6)]],
    ids=["just above huge pages", "odd sizes"],
)
def test_peak_memory_of_loading_large_arrays(tmp_path, sizes):
    """What is resident is the file and a few MB, though large blocks are made of huge pages."""
    arrays = [mx.nd.full((n,), i) for i, n in enumerate(sizes)]
    mx.nd.save(tmp_path / "x", arrays)
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(tmp_path / "x")],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "MALLOC_ARENA_MAX": "1"},
    )
    assert done.returncode == 0, done.stderr
    resident, addresses = map(float, done.stdout.split())
    size = os.path.getsize(tmp_path / "x") / 2**20
    assert resident < size + 8
    assert addresses < size * 1.25 + 16  # blocks are of 32 sizes between two powers of 2


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_a_pipe_is_loaded(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(small_file()))
    writer.start()
    assert len(mx.nd.load(tmp_path / "pipe")) == 3
    writer.join(20)


@pytest.mark.parametrize("name", ["\ud800", "a\udc80"])
def test_names_without_a_form(tmp_path, name):
    with pytest.raises(ArgumentError, match="has no form in UTF-8"):
        mx.nd.save(tmp_path / "x", {name: mx.nd.ones(1)})


def test_arrays_without_elements(tmp_path):
    """The bytes are those of MXNet 1.9.1 for ``mx.nd.array([])``."""
    path = str(tmp_path / "empty.params")
    mx.nd.save(path, {"a": mx.nd.zeros((0, 3)), "b": mx.nd.ones((2,)), "c": mx.nd.zeros((2, 0))})
    found = mx.nd.load(path)
    assert {name: each.shape for name, each in found.items()} == {
        "a": (0, 3),
        "b": (2,),
        "c": (2, 0),
    }
    assert found["b"].asnumpy().tolist() == [1, 1]
    mx.nd.save(path, mx.nd.array([]))
    with open(path, "rb") as file:
        data = file.read()
    assert data == struct.pack("<QQQIiIqiiiQ", 0x112, 0, 1, 0xF993FAC9, 0, 1, 0, 1, 0, 0, 0)
    huge = struct.pack("<QQQIiIqqiiiQ", 0x112, 0, 1, 0xF993FAC9, 0, 2, 2**62, 0, 1, 0, 0, 0)
    with pytest.raises(mx.MXNetError, match="sizes in the shape of"):
        mx.nd.load_frombuffer(huge)
