"""get_mnist: where it looks, that downloads are checked, one line on failure."""

import gzip
import hashlib
import io
import pickle
import struct
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, FormatError
from cynet.test_utils import datasets as module


def idx(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


@pytest.fixture
def contents(rng):
    out = {}
    for prefix, rows in (("train", 6), ("t10k", 3)):
        out[f"{prefix}-images-idx3-ubyte"] = idx(
            rng.integers(0, 256, (rows, 28, 28), dtype=np.uint8)
        )
        out[f"{prefix}-labels-idx1-ubyte"] = idx(np.arange(rows, dtype=np.uint8))
    return out


@pytest.fixture(autouse=True)
def nothing_at_hand(monkeypatch, tmp_path):
    """No data folder, an empty cache, no net."""
    monkeypatch.delenv("CYNET_DATA_DIR", raising=False)
    monkeypatch.setenv("CYNET_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(urllib.request, "urlopen", refuse)


def refuse(request, timeout):
    raise OSError("no net")


def write(folder, contents, packed=False):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        if packed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (folder / name).write_bytes(content)


def check(arrays):
    assert arrays["train_data"].shape == (6, 1, 28, 28)
    assert arrays["test_data"].shape == (3, 1, 28, 28)
    assert arrays["train_data"].dtype == np.float32
    assert 0 <= arrays["train_data"].min() <= arrays["train_data"].max() <= 1
    assert arrays["train_label"].tolist() == list(range(6))
    assert arrays["test_label"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("below", ["", "mnist"])
def test_where_it_looks(tmp_path, monkeypatch, contents, packed, below):
    folder = tmp_path / "data"
    write(folder / below, contents, packed)
    check(mx.test_utils.get_mnist(str(folder)))
    monkeypatch.setenv("CYNET_DATA_DIR", str(folder))
    check(mx.test_utils.get_mnist())
    monkeypatch.setenv("CYNET_HOME", str(folder))
    monkeypatch.delenv("CYNET_DATA_DIR")
    check(mx.test_utils.get_mnist())
    train, val = mx.test_utils.get_mnist_iterator(2, (784,))
    assert train.provide_data == [("data", (2, 784))] and len(list(val)) == 1


def test_one_line_where_there_is_nothing(tmp_path):
    with pytest.raises(OSError, match="CYNET_DATA_DIR") as caught:
        mx.test_utils.get_mnist()
    assert "no net" in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(FileNotFoundError, match="elsewhere"):
        mx.test_utils.get_mnist(str(tmp_path / "elsewhere"))


def test_download_checks_sums(tmp_path, monkeypatch, contents):
    timeouts = []

    def answer(request, timeout):
        timeouts.append(timeout)
        name = request.full_url.rsplit("/", 1)[1].removesuffix(".gz")
        return io.BytesIO(gzip.compress(contents[name]))

    monkeypatch.setattr(urllib.request, "urlopen", answer)
    with pytest.raises(OSError, match="checksum"):
        mx.test_utils.get_mnist()
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    monkeypatch.setattr(module, "_MNIST_CHECKSUMS", sums)
    check(mx.test_utils.get_mnist())
    assert max(timeouts) <= 10
    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    check(mx.test_utils.get_mnist())  # from the cache


def test_damaged_files(tmp_path, contents):
    contents["train-images-idx3-ubyte"] = contents["train-images-idx3-ubyte"][:-1]
    write(tmp_path / "data", contents)
    with pytest.raises(FormatError, match="train-images"):
        mx.test_utils.get_mnist(str(tmp_path / "data"))


def test_download(tmp_path, monkeypatch):
    with pytest.raises(OSError, match="no net"):
        mx.test_utils.download("http://example.org/a.bin", dirname=str(tmp_path), retries=2)
    tries = []

    def at_third(request, timeout):
        tries.append(request.full_url)
        if len(tries) < 3:
            raise OSError("not yet")
        return io.BytesIO(b"content")

    monkeypatch.setattr(urllib.request, "urlopen", at_third)
    path = mx.test_utils.download("http://example.org/a.bin", dirname=str(tmp_path / "new"))
    assert (tmp_path / "new" / "a.bin").read_bytes() == b"content" and path.endswith("a.bin")
    mx.test_utils.download("http://example.org/a.bin", dirname=str(tmp_path / "new"))
    assert len(tries) == 3  # the file is there
    with pytest.raises(ArgumentError, match="fname"):
        mx.test_utils.download("http://example.org/")


@pytest.mark.parametrize("packed", [False, True])
def test_files_of_mnist_are_put_into_data(tmp_path, monkeypatch, contents, packed):
    write(tmp_path / "mnist", contents, packed)
    monkeypatch.setenv("CYNET_DATA_DIR", str(tmp_path))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    mx.test_utils.get_mnist_ubyte()
    found = {path.name: path.read_bytes() for path in (tmp_path / "here" / "data").iterdir()}
    assert found == contents


def test_pickle_of_mnist(tmp_path, monkeypatch, contents):
    write(tmp_path / "mnist", contents)
    monkeypatch.setenv("CYNET_DATA_DIR", str(tmp_path))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    mx.test_utils.get_mnist_pkl()
    with gzip.open(tmp_path / "here" / "data" / "mnist.pkl.gz") as file:
        train, validation, test = pickle.load(file)
    mnist = mx.test_utils.get_mnist()
    count = len(mnist["train_label"])
    assert len(train[0]) == min(count, 50_000) and len(validation[0]) == max(count - 50_000, 0)
    assert test[0].dtype == np.float32 and test[1].dtype == np.int64
    np.testing.assert_array_equal(test[0], mnist["test_data"].reshape(-1, 784))
    np.testing.assert_array_equal(train[1], mnist["train_label"][:50_000])


def test_a_model(tmp_path, monkeypatch):
    asked = []

    def answer(url, fname):
        asked.append((url, Path(fname).name))

    monkeypatch.setattr(module, "download", answer)
    info = {"net": {"symbol": "http://e.org/a", "params": "http://e.org/b"}}
    prefix, epoch = mx.test_utils.download_model("net", tmp_path, info)
    assert (Path(prefix), epoch) == (tmp_path / "net", 0)
    wanted = [("http://e.org/a", "net-symbol.json"), ("http://e.org/b", "net-0000.params")]
    assert asked == wanted
    assert mx.test_utils.download_model("other", tmp_path, info) == (None, 0)
    with pytest.raises(ArgumentError, match="give meta_info"):
        mx.test_utils.download_model("net")
    with pytest.raises(ArgumentError, match="has no 'params'"):
        mx.test_utils.download_model("net", tmp_path, {"net": {"symbol": "http://e.org/a"}})
    assert Path(mx.test_utils.get_im2rec_path()).name == "im2rec.py"


def test_real_mnist(mnist_dir):
    if mnist_dir is None:
        pytest.skip("no MNIST at hand; set CYNET_DATA_DIR")
    arrays = mx.test_utils.get_mnist(str(mnist_dir))
    assert arrays["train_data"].shape == (60000, 1, 28, 28)
    assert arrays["test_label"][:5].tolist() == [7, 2, 1, 0, 4]
    assert abs(arrays["train_data"].mean() - 0.1307) < 1e-4
