"""Files of records that are written over old ones: whatever ends the program first, they stay.

Each way to end it, in a process of its own; the old pair is read afterwards.
"""

import os
import signal
import subprocess
import sys

import pytest

import cynet as mx

OLD = [b"old %d" % i for i in range(20)]
WRITER = """
import os, resource, signal, sys
import cynet as mx
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
rec, idx, how = sys.argv[1:]
{make}
def write(number):
    {write}
for number in range(8):
    write(number)
print("begun", flush=True)
if how == "disk":
    resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400))
    for number in range(8, 100):
        write(number)
elif how == "exception":
    raise ValueError("needle")
elif how == "reset":
    record.reset()
    os._exit(0)
elif how == "left":
    sys.exit(0)
elif how == "fork":
    if os.fork() == 0:
        del record
        sys.exit(0)
    os.wait()
    os._exit(0)
elif how in ("interrupt", "kill"):
    while True:
        signal.pause()
"""
KINDS = {
    "plain": WRITER.format(
        make="record = mx.recordio.MXRecordIO(rec, 'w')", write="record.write(b'new' * 9)"
    ),
    "indexed": WRITER.format(
        make="record = mx.recordio.MXIndexedRecordIO(idx, rec, 'w')",
        write="record.write_idx(number, b'new' * 9)",
    ),
}
SIGNALS = {"interrupt": signal.SIGINT, "kill": signal.SIGKILL}


@pytest.fixture
def pair(tmp_path):
    paths = tmp_path / "a.rec", tmp_path / "a.idx"
    with mx.recordio.MXIndexedRecordIO(paths[1], paths[0], "w") as record:
        for number, each in enumerate(OLD):
            record.write_idx(number, each)
    return paths


def read(pair):
    record = mx.recordio.MXIndexedRecordIO(pair[1], pair[0], "r")
    return [record.read_idx(key) for key in record.keys]


def run(kind, pair, how):
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", KINDS[kind], *map(str, pair), how],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "begun\n"
        if how in SIGNALS:
            process.send_signal(SIGNALS[how])
        errors = process.communicate(timeout=60)[1]
    return process.returncode, errors


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        *[("indexed", how) for how in ("disk", "exception", "fork", "interrupt", "kill")],
        ("plain", "exception"),
    ],
)
def test_the_old_pair_stays(pair, kind, how):
    status, errors = run(kind, pair, how)
    if how == "disk":
        assert "cannot write" in errors and "a.rec" in errors
    if how == "exception":
        assert "ValueError: needle" in errors
    assert (status == 0) == (how == "fork")
    assert read(pair) == OLD
    parts = [name for name in os.listdir(pair[0].parent) if name.endswith(".part")]
    assert bool(parts) == (how in ("kill", "fork"))
    mx.nd.save(str(pair[0].parent / "x.params"), mx.nd.ones(1))  # the next save removes them
    assert sorted(os.listdir(pair[0].parent)) == ["a.idx", "a.rec", "x.params"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_program_that_does_not_close_its_file(pair, kind):
    """MXNet's own scripts do not."""
    assert run(kind, pair, "left")[0] == 0
    record = mx.recordio.MXRecordIO(pair[0], "r")
    assert [record.read() for _ in range(9)] == [b"new" * 9] * 8 + [None]
    if kind == "indexed":
        assert read(pair) == [b"new" * 9] * 8


def test_in_one_process(pair):
    """The new files are seen when they are closed; an exception in a ``with`` leaves the old ones,
    and so does one that the disk has raised, also where ``close`` follows."""
    writer = mx.recordio.MXIndexedRecordIO(pair[1], pair[0], "w")
    writer.write_idx(0, b"new")
    assert read(pair) == OLD
    writer.reset()
    assert read(pair) == OLD
    writer.write_idx(5, b"newer")
    writer.close()
    writer.close()
    assert read(pair) == [b"newer"]
    with (
        pytest.raises(KeyError, match="^$"),
        mx.recordio.MXIndexedRecordIO(pair[1], pair[0], "w") as writer,
    ):
        writer.write_idx(1, b"newest")
        raise KeyError
    assert not writer.is_open and read(pair) == [b"newer"]
    writer = mx.recordio.MXIndexedRecordIO(pair[1], pair[0], "w")
    writer.write_idx(1, b"newest")

    class Full:
        def write(self, _):
            raise OSError(28, "No space left on device")

        def close(self):
            pass

    writer._new_files[0].file.close()
    writer._new_files[0].file = Full()
    with pytest.raises(OSError, match="a.rec': no space left"):
        writer.write_idx(2, b"x")
    writer.close()
    assert read(pair) == [b"newer"]
    with pytest.raises(OSError, match="none"):
        mx.recordio.MXIndexedRecordIO(pair[0].parent / "none" / "a.idx", pair[0], "w")
    assert read(pair) == [b"newer"] and sorted(os.listdir(pair[0].parent)) == ["a.idx", "a.rec"]


def test_in_the_middle_of_a_pair(pair, monkeypatch):
    """Between the two names there is no index rather than that of other records."""
    writer = mx.recordio.MXIndexedRecordIO(pair[1], pair[0], "w")
    writer.write_idx(0, b"new")

    def killed():
        raise SystemExit

    monkeypatch.setattr(writer._new_files[1], "replace_old", killed)
    with pytest.raises(SystemExit, match="^$"):
        writer.close()
    assert mx.recordio.MXRecordIO(pair[0], "r").read() == b"new" and not pair[1].exists()


def test_devices_and_pipes():
    with mx.recordio.MXRecordIO(os.devnull, "w") as record:
        record.write(b"x")
    assert os.path.exists(os.devnull)
