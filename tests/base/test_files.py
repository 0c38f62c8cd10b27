"""Files: written whole or not at all, special ones, permissions, what dead processes leave."""

import errno
import os
import signal
import stat
import subprocess
import sys
import threading

import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError, FileError
from cynet.base.files import open_for_reading, overwrite, read_file, write_atomically

posix = pytest.mark.skipif(os.name == "nt", reason="permissions, links and pipes of POSIX")


def test_new_file_and_replacement(tmp_path):
    path = tmp_path / "a.bin"
    write_atomically(path, b"one")
    write_atomically(str(path), [b"t", memoryview(b"wo")])
    assert path.read_bytes() == b"two" and os.listdir(tmp_path) == ["a.bin"]
    assert read_file(path) == b"two"


def test_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def chunks():
        yield b"half"
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write_atomically(path, chunks())
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["a.bin"]


# --- errors --------------------------------------------------------------------------------------
def test_errors_name_the_file_asked_for(tmp_path):
    path = tmp_path / "none" / "a.bin"
    with pytest.raises(FileNotFoundError, match=r"cannot write '.*a.bin': there is no folder") as e:
        write_atomically(path, b"x")
    assert isinstance(e.value, mx.base.MXNetError) and ".part" not in str(e.value)
    assert e.value.errno == errno.ENOENT and e.value.filename == str(path)
    with pytest.raises(FileNotFoundError, match=r"cannot read '.*a.bin': no such file") as e:
        read_file(path)
    assert isinstance(e.value, mx.base.MXNetError)
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        write_atomically(tmp_path, b"x")
    with pytest.raises(IsADirectoryError, match="ends like a folder's name"):
        write_atomically(f"{tmp_path}/a/", b"x")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError, match="not a directory") as e:
        read_file(tmp_path / "file" / "a")
    assert isinstance(e.value, mx.base.MXNetError)
    with pytest.raises(FileError, match="name too long") as e:
        write_atomically(tmp_path / ("x" * 5000), b"x")
    assert len(str(e.value)) < 300


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800"])
def test_what_no_file_can_be_called(name):
    with pytest.raises(ArgumentError, match="a file name is expected"):
        write_atomically(name, b"")
    with pytest.raises(ArgumentError, match="a file name is expected"):
        read_file(name)


@pytest.mark.parametrize("name", [None, 3, b"bytes"])
def test_what_is_no_name(name):
    with pytest.raises(ArgumentTypeError, match="a file name is expected"):
        write_atomically(name, b"")


@pytest.mark.parametrize(
    "call",
    [
        lambda: mx.nd.load("/no/such"),
        lambda: mx.sym.load("/no/such"),
        lambda: mx.model.load_checkpoint("/no/such", 1),
        lambda: mx.model.load_params("/no/such", 1),
        lambda: mx.io.CSVIter(data_csv="/no/such", data_shape=(1,)),
        lambda: mx.io.MNISTIter(image="/no/such", label="/no/such"),
        lambda: mx.io.read_idx("/no/such"),
        lambda: mx.nd.save("/no/such/dir/x", [mx.nd.zeros(1)]),
        lambda: mx.sym.Variable("a").save("/no/such/dir/x"),
        lambda: mx.model.save_checkpoint("/no/such/dir/x", 1, None, {"a": mx.nd.zeros(1)}, {}),
        lambda: mx.operator.compile_pyx("/no/such.pyx"),
        lambda: mx.test_utils.get_mnist("/no/such"),
    ],
)
def test_missing_files_are_of_both_kinds(call):
    with pytest.raises(FileNotFoundError, match="/no/such") as found:
        call()
    assert isinstance(found.value, mx.base.MXNetError)


# --- special files -------------------------------------------------------------------------------
@posix
def test_a_pipe_is_written_to(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(FileError, match="it is a pipe without a reader"):
        write_atomically(path, b"x")
    read = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()), daemon=True)
    reader.start()
    while reader.is_alive() and not read:
        try:
            write_atomically(path, [b"a" * 100_000, b"b"])
        except FileError as error:  # the reader has not opened it yet
            assert "without a reader" in str(error)
        else:
            break
    reader.join(20)
    assert read == [b"a" * 100_000 + b"b"]
    assert stat.S_ISFIFO(path.stat().st_mode) and os.listdir(tmp_path) == ["pipe"]


@posix
def test_devices_and_sockets(tmp_path):
    write_atomically("/dev/null", b"x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    if os.path.exists("/dev/full"):
        with pytest.raises(FileError, match=r"cannot write '/dev/full': no space left"):
            write_atomically("/dev/full", b"x")
    with pytest.raises(FileError, match="it is a device"), open_for_reading("/dev/zero"):
        pass
    import socket

    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))
        with pytest.raises(FileError, match="it is a socket"):
            write_atomically(path, b"x")
    assert stat.S_ISSOCK(path.stat().st_mode)


@posix
def test_links_are_kept(tmp_path):
    path, link = tmp_path / "a.bin", tmp_path / "link"
    link.symlink_to(path)
    for content in (b"new", b"newer"):
        write_atomically(link, content)
        assert link.is_symlink() and path.read_bytes() == content
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(FileError, match="symbolic links"):
        write_atomically(tmp_path / "loop", b"")


# --- permissions ---------------------------------------------------------------------------------
@posix
def test_permissions_are_those_of_open_or_kept(tmp_path):
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "new", b"")
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
        for mode in (0o600, 0o664, 0o755):
            (tmp_path / "new").chmod(mode)
            write_atomically(tmp_path / "new", b"x")
            assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == mode
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)


@posix
def test_the_umask_is_never_touched(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "umask", None)
    write_atomically(tmp_path / "new", b"")


@posix
def test_owner(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(path, 12345, 12346)
        write_atomically(path, b"new")
        found = path.stat()
        assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (12345, 12346, 0o600)
    else:
        path.chmod(0o400)
        with pytest.raises(PermissionError, match="may not be written"):
            write_atomically(path, b"new")
        assert path.read_bytes() == b"old"


# --- what dead processes leave -------------------------------------------------------------------
SLEEPS = """
import sys, time
from cynet.base.files import overwrite
with overwrite(sys.argv[1]) as file:
    file.write(b"x" * 100_000)
    print("here", flush=True)
    time.sleep(60)
"""


def parts(folder):
    return [name for name in os.listdir(folder) if name.endswith(".part")]


@posix
def test_the_next_save_removes_what_killed_processes_left(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    victim, other = (
        subprocess.Popen(
            [sys.executable, "-c", SLEEPS, str(path)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    )
    try:
        for each in (victim, other):
            assert each.stdout.readline() == "here\n"
        assert len(parts(tmp_path)) == 2
        victim.kill()
        victim.wait(20)
        (tmp_path / ".other.part").write_bytes(b"")  # not of our making
        write_atomically(tmp_path / "b.bin", b"new")
        assert len(parts(tmp_path)) == 2  # that of the living process, and the stranger's
        other.send_signal(signal.SIGKILL)
        other.wait(20)
        write_atomically(tmp_path / "b.bin", b"new")
        assert parts(tmp_path) == [".other.part"] and path.read_bytes() == b"old"
    finally:
        for each in (victim, other):
            each.kill()
            each.communicate()


def test_saves_of_one_process_do_not_disturb_each_other(tmp_path):
    def save(number):
        for _ in range(20):
            write_atomically(tmp_path / str(number), str(number).encode() * 1000)

    with overwrite(tmp_path / "outer") as file:
        file.write(b"outer")
        threads = [threading.Thread(target=save, args=(i,)) for i in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(60)
    assert (tmp_path / "outer").read_bytes() == b"outer"
    for i in range(4):
        assert (tmp_path / str(i)).read_bytes() == str(i).encode() * 1000
    assert not parts(tmp_path)


@posix
def test_the_folder_is_synced_after_the_renaming(tmp_path, monkeypatch):
    done = []
    replace, fsync = os.replace, os.fsync

    def see_sync(number):
        done.append("folder" if stat.S_ISDIR(os.fstat(number).st_mode) else "file")
        fsync(number)

    def see_replace(*paths):
        done.append("rename")
        replace(*paths)

    monkeypatch.setattr(os, "fsync", see_sync)
    monkeypatch.setattr(os, "replace", see_replace)
    write_atomically(tmp_path / "a", b"x")
    assert done == ["file", "rename", "folder"]
