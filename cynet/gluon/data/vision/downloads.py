"""Files of data sets: local folders, URLs, checksums.

MXNet's repository is tried first, then who made the data.
"""

import hashlib
import io
import os
import tarfile
from pathlib import Path

from ....base import config
from ....base.errors import FileError, FormatError
from ....base.files import naming, read_file, write_atomically
from ....io.fetch import fetch_first_valid
from ....test_utils import datasets as files
from ... import utils

_MAX_MEMBER_BYTES = 1 << 30  # maximum size of a file in an archive
_FASHION_URL = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
_FASHION_SHA1 = {  # FashionMNIST's files
    "train-images-idx3-ubyte": "0cf37b0d40ed5169c6b3aba31069a9770ac9043d",
    "train-labels-idx1-ubyte": "236021d52f1e40852b06a4c3008d8de8aef1e40b",
    "t10k-images-idx3-ubyte": "626ed6a7c06dd17c0eec72fa3be1740f146a2863",
    "t10k-labels-idx1-ubyte": "17f9ab60e7257a1620f4ad76bbbaf857c3920701",
}  # SHA-1 sums of the .gz files
_CIFAR_URL = "https://www.cs.toronto.edu/~kriz/"
_CIFAR_SHA1 = {  # file -> SHA-1 digest
    "data_batch_1.bin": "aadd24acce27caa71bf4b10992e9e7b2d74c2540",
    "data_batch_2.bin": "c0ba65cce70568cd57b4e03e9ac8d2a5367c1795",
    "data_batch_3.bin": "1dd00a74ab1d17a6e7d73e185b69dbf31242f295",
    "data_batch_4.bin": "aab85764eb3584312d3c7f65fd2fd016e36a258e",
    "data_batch_5.bin": "26e2849e66a845b7f1e4614ae70f4889ae604628",
    "test_batch.bin": "67eb016db431130d61cd03c7ad570b013799c88c",
    "train.bin": "e207cd2e05b73b1393c74c7f5e7bea451d63e08e",
    "test.bin": "8fb6623e830365ff53cf14adec797474f5478006",
}  # checksums of the files inside the archives


def _repository_url(namespace, name):
    return utils._get_repo_file_url(f"gluon/dataset/{namespace}", name)


def _sha1_digest(content):
    return hashlib.sha1(content).hexdigest()


def _make_folder(folder):
    with naming("make the folder", folder):
        os.makedirs(folder, exist_ok=True)


def find_mnist(root):
    """Return the paths of MNIST's four files, downloaded into the folder if they are not there."""
    return files.find_mnist(root) or files.find_mnist() or files.download_mnist(Path(root))


def find_fashion_mnist(root):
    """Return paths of FashionMNIST's four files: in the folder, CYNET_DATA_DIR, or downloaded."""
    data_dir = config.get("CYNET_DATA_DIR")
    for folder in [root, *([os.path.join(data_dir, "fashion-mnist")] if data_dir else [])]:
        found = files.find_idx_files(folder)
        if found:
            return found
    paths = {}
    _make_folder(root)
    for name, sha1 in _FASHION_SHA1.items():
        urls = [_repository_url("fashion-mnist", f"{name}.gz"), f"{_FASHION_URL}{name}.gz"]
        try:
            content = fetch_first_valid(urls, lambda found, sha1=sha1: _sha1_digest(found) == sha1)
        except OSError as error:
            raise FileError(
                f"FashionMNIST cannot be downloaded ({error}); put its four IDX files into {root}"
            ) from None
        paths[name] = os.path.join(root, f"{name}.gz")
        write_atomically(paths[name], content)
    return paths


def find_cifar(root, namespace, archive, below, names):
    """Return (path, bytes) of each of CIFAR's files `names`.

    They are looked for in the folder, in its subfolder `below` and in the archive there, then so in
    CYNET_DATA_DIR; else the archive is downloaded into the folder.
    """
    data_dir = config.get("CYNET_DATA_DIR")
    for place in [root, *([os.path.join(data_dir, below), data_dir] if data_dir else [])]:
        for folder in (place, os.path.join(place, below)):
            paths = [os.path.join(folder, name) for name in names]
            if all(map(os.path.isfile, paths)):
                return [(path, read_file(path)) for path in paths]
        path = os.path.join(place, archive)
        if os.path.isfile(path):
            return _select_named_files(_archive_members(read_file(path), path), path, names)
    path = os.path.join(root, archive)
    _make_folder(root)
    try:
        content = fetch_first_valid(
            [_repository_url(namespace, archive), _CIFAR_URL + archive],
            lambda content: _is_cifar_archive(content, archive, names),
        )
    except OSError as error:
        raise FileError(
            f"{archive} cannot be downloaded ({error}); put it, or {', '.join(names)}, into {root}"
        ) from None
    write_atomically(path, content)
    return _select_named_files(_archive_members(content, path), path, names)


def _archive_members(content, path):
    """Return a dict of names to contents of CIFAR's files in an archive."""
    found = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(content)) as packed:
            for member in packed:
                name = os.path.basename(member.name)
                if name in _CIFAR_SHA1 and member.isfile() and member.size <= _MAX_MEMBER_BYTES:
                    found[name] = packed.extractfile(member).read()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise FormatError(f"{path}: {error}") from None
    return found


def _select_named_files(found, path, names):
    """Return (path, bytes) of each of the names."""
    missing = [name for name in names if name not in found]
    if missing:
        raise FormatError(f"{path} has no {', '.join(missing)}")
    return [(f"{path}:{name}", found[name]) for name in names]


def _is_cifar_archive(content, archive, names):
    """Return whether an archive has the files `names`, and each file is CIFAR's own."""
    try:
        found = _archive_members(content, archive)
    except FormatError:
        return False
    return found.keys() >= set(names) and all(
        _sha1_digest(each) == _CIFAR_SHA1[name] for name, each in found.items()
    )
