"""write_atomically."""

import os
import stat

import pytest

from cynet.files import write_atomically


def test_new_file_and_replacement(tmp_path):
    path = tmp_path / "a.bin"
    write_atomically(path, b"one")
    write_atomically(str(path), [b"t", memoryview(b"wo")])
    assert path.read_bytes() == b"two" and os.listdir(tmp_path) == ["a.bin"]


def test_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def chunks():
        yield b"half"
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write_atomically(path, chunks())
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["a.bin"]


def test_missing_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "none" / "a.bin", b"x")


@pytest.mark.skipif(os.name == "nt", reason="permissions and links of POSIX")
def test_permissions_and_links_are_kept(tmp_path):
    path, link = tmp_path / "a.bin", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_atomically(link, b"new")
    assert link.is_symlink() and path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
