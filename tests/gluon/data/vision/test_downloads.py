"""FashionMNIST and CIFAR, downloaded from a server that the tests start."""

import gzip
import hashlib
import io
import os
import struct
import tarfile

import numpy as np
import pytest

import cynet as mx
from cynet.gluon import utils
from cynet.gluon.data import vision
from cynet.gluon.data.vision import downloads
from tests.web import serving

IDX = [
    f"{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")
]


@pytest.fixture(autouse=True)
def nothing_there(monkeypatch, tmp_path):
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "CYNET_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CYNET_HOME", str(tmp_path / "home"))


@pytest.fixture
def server(monkeypatch):
    """Has MXNet's repository below /mxnet/ and the other one below /other/."""
    answers = {}
    with serving(answers) as (url, asked):
        monkeypatch.setattr(utils, "_REPOSITORY_URL", f"{url}/mxnet/")
        monkeypatch.setattr(downloads, "_CIFAR_URL", f"{url}/other/")
        monkeypatch.setattr(downloads, "_FASHION_URL", f"{url}/other/")
        yield answers, asked


def packed(files):
    """A .tar.gz with files in a folder."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"folder/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


@pytest.fixture
def cifar(monkeypatch, rng):
    """Its files with two images each, and their archive."""
    sizes = {
        name: 3074 if name in ("train.bin", "test.bin") else 3073 for name in downloads._CIFAR_SHA1
    }
    files = {name: rng.integers(0, 10, 2 * size, "uint8").tobytes() for name, size in sizes.items()}
    sums = {name: hashlib.sha1(content).hexdigest() for name, content in files.items()}
    monkeypatch.setattr(downloads, "_CIFAR_SHA1", sums)
    ten = {name: content for name, content in files.items() if "batch" in name}
    hundred = {name: content for name, content in files.items() if "batch" not in name}
    return ten, hundred


def test_cifar(server, cifar, tmp_path):
    answers, asked = server
    ten, hundred = cifar
    answers["/mxnet/gluon/dataset/cifar10/cifar-10-binary.tar.gz"] = [packed(ten)]
    answers["/mxnet/gluon/dataset/cifar100/cifar-100-binary.tar.gz"] = [packed(hundred)]
    train = vision.CIFAR10(tmp_path / "ten")
    assert len(train) == 10 and train[0][1] == ten["data_batch_1.bin"][0]
    assert os.listdir(tmp_path / "ten") == ["cifar-10-binary.tar.gz"] and len(asked) == 1
    assert len(vision.CIFAR10(tmp_path / "ten", train=False)) == 2 and len(asked) == 1
    fine = vision.CIFAR100(tmp_path / "hundred", fine_label=True, train=False)
    coarse = vision.CIFAR100(tmp_path / "hundred", train=False)
    assert [int(fine[0][1]), int(coarse[0][1])] == [hundred["test.bin"][1], hundred["test.bin"][0]]


def test_cifar_from_the_other_place(server, cifar, tmp_path):
    """The first one is gone, or has something else, or cuts it off: nothing of that is kept."""
    answers, asked = server
    ten, other = dict(cifar[0]), dict(cifar[0])
    other["test_batch.bin"] = bytes(2 * 3073)
    first = "/mxnet/gluon/dataset/cifar10/cifar-10-binary.tar.gz"
    whole = packed(ten)
    for number, wrong in enumerate(((404, b"", 0), packed(other), (200, whole[:500], len(whole)))):
        answers[first] = [wrong]
        answers["/other/cifar-10-binary.tar.gz"] = [whole]
        del asked[:]
        root = tmp_path / f"root{number}"
        assert len(vision.CIFAR10(root)) == 10
        assert asked == [first] * 2 + ["/other/cifar-10-binary.tar.gz"]
        assert (root / "cifar-10-binary.tar.gz").read_bytes() == whole


def test_what_cannot_be_downloaded(server, cifar, tmp_path):
    answers, _ = server
    with pytest.raises(OSError, match="cannot be downloaded") as caught:
        vision.CIFAR100(tmp_path / "root")
    assert "cifar-100-binary.tar.gz cannot be downloaded" in str(caught.value)
    assert "Not Found" in str(caught.value) and "\n" not in str(caught.value)
    assert f"put it, or train.bin, into {tmp_path / 'root'}" in str(caught.value)
    assert os.listdir(tmp_path / "root") == []
    answers["/mxnet/gluon/dataset/cifar100/cifar-100-binary.tar.gz"] = [b"no archive"]
    with pytest.raises(OSError, match="wrong checksum"):
        vision.CIFAR100(tmp_path / "root")
    with pytest.raises(OSError, match="FashionMNIST cannot be downloaded"):
        vision.FashionMNIST(tmp_path / "root")
    assert os.listdir(tmp_path / "root") == []


def test_fashion_mnist(server, monkeypatch, tmp_path):
    answers, asked = server
    contents = {}
    for name in IDX:
        count = 4 if name.startswith("train") else 3
        shape = (count, 28, 28) if "images" in name else (count,)
        array = np.arange(np.prod(shape), dtype="uint8").reshape(shape)
        head = struct.pack(f">BBBB{len(shape)}I", 0, 0, 8, len(shape), *shape)
        contents[name] = gzip.compress(head + array.tobytes())
    sums = {name: hashlib.sha1(content).hexdigest() for name, content in contents.items()}
    monkeypatch.setattr(downloads, "_FASHION_SHA1", sums)
    for number, (name, content) in enumerate(contents.items()):
        place = "/other/" if number % 2 else "/mxnet/gluon/dataset/fashion-mnist/"
        answers[f"{place}{name}.gz"] = [(503, b"", 0), content]
    train = vision.FashionMNIST(tmp_path / "root")
    assert len(train) == 4 and train[2][1] == 2 and train[0][0].shape == (28, 28, 1)
    assert sorted(os.listdir(tmp_path / "root")) == sorted(f"{name}.gz" for name in IDX)
    count = len(asked)
    assert len(vision.FashionMNIST(tmp_path / "root", train=False)) == 3 and len(asked) == count


def test_digits_are_no_clothes(server, tmp_path):
    """A folder `mnist` is where MNIST is, also for a folder of all data sets."""
    (tmp_path / "mnist").mkdir()
    for name in IDX:
        shape = (2, 28, 28) if "images" in name else (2,)
        head = struct.pack(f">BBBB{len(shape)}I", 0, 0, 8, len(shape), *shape)
        (tmp_path / "mnist" / name).write_bytes(head + bytes(int(np.prod(shape))))
    assert len(vision.MNIST(tmp_path)) == 2
    with pytest.raises(mx.MXNetError, match="FashionMNIST cannot be downloaded"):
        vision.FashionMNIST(tmp_path)
