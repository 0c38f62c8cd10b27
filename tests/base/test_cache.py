"""Compiled code on disk: whose it must be, and what happens to what is damaged."""

import os
import stat
import subprocess
import sys

import pytest

from cynet.base import cache

pytestmark = pytest.mark.skipif(os.name == "nt", reason="owners and permissions of POSIX")


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CYNET_HOME", str(tmp_path / "home"))
    cache._make_private_folder.cache_clear()
    return tmp_path / "home"


def test_what_is_kept_comes_back(home):
    place = cache.code_folder("kernels")
    assert place == home / "kernels" and stat.S_IMODE(place.stat().st_mode) == 0o700
    assert cache.read_cached(place / "a.so") is None
    cache.write_cached(place / "a.so", b"code")
    assert cache.read_cached(place / "a.so") == b"code"
    assert (place / "a.so").read_bytes().startswith(b"code")
    assert stat.S_IMODE((place / "a.so").stat().st_mode) == 0o600


def test_every_cut_and_every_changed_byte_is_seen(home):
    path = cache.code_folder("kernels") / "a.so"
    cache.write_cached(path, b"code of a kernel")
    good = path.read_bytes()
    for n in range(len(good)):
        path.write_bytes(good[:n])
        assert cache.read_cached(path) is None
        path.write_bytes(good[:n] + bytes([good[n] ^ 1]) + good[n + 1 :])
        assert cache.read_cached(path) is None
    path.write_bytes(good)
    assert cache.read_cached(path) == b"code of a kernel"
    os.rename(path, path.with_name("b.so"))  # what is another source's
    assert cache.read_cached(path.with_name("b.so")) is None


def test_what_others_can_write_is_not_taken(home):
    path = cache.code_folder("pyx") / "a.so"
    cache.write_cached(path, b"code")
    for mode in (0o620, 0o602, 0o666):  # for the group, for all
        path.chmod(mode)
        assert cache.read_cached(path) is None
    path.chmod(0o600)
    link = path.with_name("link.so")
    link.symlink_to(path)
    assert cache.read_cached(link) is None
    cache.write_cached(path, b"other")  # takes over neither permissions nor content
    assert cache.read_cached(path) == b"other"


def test_a_folder_that_others_can_write_is_closed_to_them(home):
    place = cache.code_folder("kernels")
    cache.write_cached(place / "a.so", b"code")
    place.chmod(0o777)
    assert cache.code_folder("kernels") == place and stat.S_IMODE(place.stat().st_mode) == 0o755
    assert cache.read_cached(place / "a.so") == b"code"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="needs a second owner")
def test_what_belongs_to_another(home):
    place = cache.code_folder("kernels")
    cache.write_cached(place / "a.so", b"code")
    os.chown(place / "a.so", 65534, 65534)
    assert cache.read_cached(place / "a.so") is None
    cache.write_cached(place / "a.so", b"code")
    assert (place / "a.so").stat().st_uid == 0
    os.chown(place, 65534, 65534)
    with pytest.warns(UserWarning, match="belongs to another user; each process"):
        other = cache.code_folder("kernels")
    assert other != place and stat.S_IMODE(other.parent.stat().st_mode) == 0o700
    assert cache.code_folder("kernels") == other  # the second time without a warning


KERNEL = """
import cynet as mx
source = 'extern "C" __global__ void f(float *y){ y[threadIdx.x] += 1; }'
k = mx.rtc.CudaModule(source).get_kernel("f", "float *y")
y = mx.nd.zeros((8,))
k.launch([y], mx.cpu(0), (1, 1, 1), (8, 1, 1))
print(y.asnumpy()[0])
"""


def test_a_kernel_that_is_cut_off_is_compiled_anew(home):
    def run():
        done = subprocess.run(
            [sys.executable, "-c", KERNEL], capture_output=True, text=True, timeout=200
        )
        assert (done.returncode, done.stdout.strip()) == (0, "1.0"), done.stderr
        (path,) = (home / "kernels").glob("*.so")
        return path

    path = run()
    good = path.read_bytes()
    path.write_bytes(good[:9000])
    run()
    assert cache.read_cached(path) is not None
