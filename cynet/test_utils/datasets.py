"""Data sets for tests and examples: MNIST from disk or the network, with checksums."""

from __future__ import annotations

import gzip
import hashlib
import io
import logging
import os
import pickle
import tempfile
import urllib.parse
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..base import config
from ..base.errors import ArgumentError, FileError, FormatError, MissingFileError, shown
from ..base.files import file_name, naming, read_file, write_atomically
from ..io import MNISTIter, read_idx
from ..io.fetch import fetch_bytes, fetch_first_valid

if TYPE_CHECKING:
    from ..typing import DataIter, FileName, NumpyArray, Shape

__all__ = ["download", "download_model", "get_bz2_data", "get_cifar10", "get_im2rec_path"]
__all__ += ["get_mnist", "get_mnist_iterator", "get_mnist_pkl", "get_mnist_ubyte", "get_zip_data"]

_MAX_MNIST_BYTES = 47_040_017  # one more than the size of MNIST's largest file

_MIRRORS = (  # URLs of folders with MNIST
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
# SHA-256 of the unpacked files: mirrors compress them differently
_MNIST_CHECKSUMS = {  # file -> SHA-256 of its content
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}


def download(
    url: str,
    fname: FileName | None = None,
    dirname: FileName | None = None,
    overwrite: bool = False,
    retries: int = 5,
) -> str:
    """Download a file, unless it exists, and return its path, `fname` in `dirname`.

    Parameters
    ----------
    url : str
        Address of the file.
    fname : str, optional
        Name of the file; the last part of the URL by default.
    dirname : str, optional
        Folder of the file, made if it is missing.
    overwrite : bool
        Download the file even if it is there.
    retries : int
        Largest number of attempts.

    Raises
    ------
    ArgumentError
        If the URL has no file name and there is no `fname`.
    FileError
        One line that says what failed.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("weights.bin").write_bytes(b"1234")
    >>> address = Path("weights.bin").absolute().as_uri()  # file:///...
    >>> mx.test_utils.download(address, dirname="kept")
    'kept/weights.bin'
    >>> Path("kept/weights.bin").read_bytes()
    b'1234'
    """
    if fname is None:
        fname = os.path.basename(urllib.parse.urlsplit(url).path)
    if not fname:
        raise ArgumentError(f"download: {shown(url)} has no file name; give fname")
    path = os.path.join(dirname or "", fname)
    if os.path.dirname(path):
        with naming("make the folder of", path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
    if overwrite or not os.path.exists(path):
        write_atomically(path, _download_with_retries(url, retries))
        logging.info("downloaded %s into %s successfully", url, path)
    return path


def _download_with_retries(url, retries):
    for left in range(max(retries, 1) - 1, -1, -1):
        try:
            return fetch_bytes(url)
        except OSError as error:
            if not left:
                raise
            logging.info("%s; %d more attempts", error, left)


def _mnist_folders(path):
    roots = [path] if path else [config.get("CYNET_DATA_DIR"), config.cache_folder()]
    return [folder for root in roots if root for folder in (Path(root), Path(root) / "mnist")]


def find_idx_files(folder):
    """Return the paths of MNIST's four files in a folder; None if one is missing."""
    found = {}
    for name in _MNIST_CHECKSUMS:
        for file in (Path(folder) / name, Path(folder) / f"{name}.gz"):
            if file.is_file():
                found[name] = file
                break
    return found if len(found) == len(_MNIST_CHECKSUMS) else None


def find_mnist(path=None):
    """Return the paths of MNIST's four files, or None if no folder has all of them."""
    return next(filter(None, map(find_idx_files, _mnist_folders(path))), None)


def _unpack_gzip(packed):
    """Unpack gzip data, up to the size of MNIST's largest file."""
    with gzip.open(io.BytesIO(packed)) as file:
        return file.read(_MAX_MNIST_BYTES)


def download_mnist(folder):
    """Download MNIST's four files into a folder; raise OSError with one line if that fails."""
    with naming("make the folder", folder):
        folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name, checksum in _MNIST_CHECKSUMS.items():
        try:
            packed = fetch_first_valid(
                [f"{mirror}{name}.gz" for mirror in _MIRRORS],
                lambda content, checksum=checksum: _matches_checksum(content, checksum),
            )
        except OSError as error:
            raise FileError(
                f"MNIST cannot be downloaded ({error}); put its four IDX files into a"
                " folder and name it in CYNET_DATA_DIR"
            ) from None
        paths[name] = folder / f"{name}.gz"
        write_atomically(paths[name], packed)
    return paths


def _matches_checksum(packed, checksum):
    """Return whether gzip data unpack to content with the SHA-256 `checksum`."""
    try:
        return hashlib.sha256(_unpack_gzip(packed)).hexdigest() == checksum
    except (OSError, EOFError, zlib.error):
        return False


def _require_mnist_files(path=None):
    paths = find_mnist(path)
    if paths is None and path:
        raise MissingFileError(
            f"no folder {path} or {Path(path) / 'mnist'} with the four IDX"
            f" files of MNIST: {', '.join(_MNIST_CHECKSUMS)}, plain or .gz"
        )
    return paths or download_mnist(config.cache_folder() / "mnist")


def get_mnist(path: FileName | None = None) -> dict[str, NumpyArray]:
    """MNIST as arrays.

    The IDX files, plain or .gz, are looked for in `path`, else in the folder that CYNET_DATA_DIR
    names, else in the cache folder (CYNET_HOME, or ~/.cache/cynet), each time also in a ``mnist``
    folder there; else they are downloaded into the cache folder and their checksums compared.

    Parameters
    ----------
    path : str, optional
        Folder to read from; nothing else is tried then.

    Returns
    -------
    dict
        ``train_data`` (60000, 1, 28, 28) and ``test_data`` (10000, 1, 28, 28), float32 from 0 to 1;
        ``train_label`` (60000,) and ``test_label`` (10000,), int8.

    Raises
    ------
    FileError
        One line, when the files are neither there nor to be downloaded.
    FormatError
        When a file is damaged.

    Examples
    --------
    Four small files stand in for those of MNIST:

    >>> from pathlib import Path
    >>> def write(name, array):
    ...     head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes()
    ...     _ = Path(name).write_bytes(head + array.tobytes())
    >>> for part, n in ("train", 6), ("t10k", 4):
    ...     write(f"{part}-images-idx3-ubyte", np.full((n, 28, 28), 255, "uint8"))
    ...     write(f"{part}-labels-idx1-ubyte", np.arange(n, dtype="uint8"))
    >>> found = mx.test_utils.get_mnist(".")
    >>> found["train_data"].shape, found["train_data"].dtype, found["test_label"]
    ((6, 1, 28, 28), dtype('float32'), array([0, 1, 2, 3], dtype=int8))
    """
    paths = _require_mnist_files(path)
    arrays = {}
    for part, prefix in (("train", "train"), ("test", "t10k")):
        image_path, label_path = (
            paths[f"{prefix}-{kind}-ubyte"] for kind in ("images-idx3", "labels-idx1")
        )
        images, labels = read_idx(image_path), read_idx(label_path)
        if images.ndim != 3 or labels.shape != images.shape[:1]:
            raise FormatError(
                f"{image_path} has shape {images.shape}, {label_path} has shape"
                f" {labels.shape}: these do not belong together"
            )
        arrays[f"{part}_data"] = images[:, None].astype(np.float32) / 255
        arrays[f"{part}_label"] = labels.astype(np.int8)
    return arrays


def get_mnist_iterator(
    batch_size: int, input_shape: Shape, num_parts: int = 1, part_index: int = 0
) -> tuple[DataIter, DataIter]:
    """Make training and validation iterators over MNIST.

    Parameters
    ----------
    batch_size : int
        Number of examples in a batch.
    input_shape : tuple of int
        Shape of one image: (784,) or (1, 28, 28).
    num_parts, part_index : int
        Number of equal parts of the data, and which of them to read.

    Examples
    --------
    >>> from pathlib import Path
    >>> def write(name, array):
    ...     head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes()
    ...     _ = Path(name).write_bytes(head + array.tobytes())
    >>> for part, n in ("train", 6), ("t10k", 4):
    ...     write(f"{part}-images-idx3-ubyte", np.full((n, 28, 28), 255, "uint8"))
    ...     write(f"{part}-labels-idx1-ubyte", np.arange(n, dtype="uint8"))
    >>> with mx.test_utils.environment("CYNET_DATA_DIR", "."):
    ...     train, val = mx.test_utils.get_mnist_iterator(batch_size=2, input_shape=(784,))
    >>> [batch.label[0].asnumpy() for batch in val]
    [array([0., 1.], dtype=float32), array([2., 3.], dtype=float32)]
    """
    paths = _require_mnist_files()
    train, val = (
        MNISTIter(
            image=str(paths[f"{prefix}-images-idx3-ubyte"]),
            label=str(paths[f"{prefix}-labels-idx1-ubyte"]),
            input_shape=input_shape,
            batch_size=batch_size,
            shuffle=shuffle,
            flat=len(input_shape) == 1,
            num_parts=num_parts,
            part_index=part_index,
        )
        for prefix, shuffle in (("train", True), ("t10k", False))
    )
    return train, val


def get_mnist_ubyte() -> None:
    """Put MNIST's four IDX files, unpacked, into ``data`` in the current folder.

    They are looked for, and downloaded, as `get_mnist` does.

    Raises
    ------
    FileError
        One line, if the files are neither there nor to be downloaded.

    Examples
    --------
    >>> import gzip
    >>> from pathlib import Path
    >>> kinds = "images-idx3", "labels-idx1"
    >>> for name in [f"{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in kinds]:
    ...     _ = Path(f"{name}.gz").write_bytes(gzip.compress(b"one of the files"))
    >>> with mx.test_utils.environment("CYNET_DATA_DIR", "."):
    ...     mx.test_utils.get_mnist_ubyte()
    >>> sorted(path.name for path in Path("data").iterdir())
    ['t10k-images-idx3-ubyte', 't10k-labels-idx1-ubyte', 'train-images-idx3-ubyte',
     'train-labels-idx1-ubyte']
    """
    folder = Path("data")
    with naming("make the folder", folder):
        folder.mkdir(exist_ok=True)
    for name, path in _require_mnist_files().items():
        content = read_file(path)
        if str(path).endswith(".gz"):
            content = _unpack_gzip(content)
        write_atomically(folder / name, content)


def get_mnist_pkl() -> None:
    """Put MNIST into ``data/mnist.pkl.gz``: a pickle of three pairs (images, classes).

    They are for training (50,000), validation and tests (10,000 each); images are (n, 784) of
    float32 from 0 to 1, classes of int64. A file that is there is left alone.

    Raises
    ------
    FileError
        One line, if MNIST's files are neither there nor to be downloaded.
    FormatError
        If one of them is damaged.

    Examples
    --------
    >>> from pathlib import Path
    >>> def write(name, array):
    ...     head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes()
    ...     _ = Path(name).write_bytes(head + array.tobytes())
    >>> for part, n in ("train", 6), ("t10k", 4):
    ...     write(f"{part}-images-idx3-ubyte", np.full((n, 28, 28), 255, "uint8"))
    ...     write(f"{part}-labels-idx1-ubyte", np.arange(n, dtype="uint8"))
    >>> with mx.test_utils.environment("CYNET_DATA_DIR", "."):
    ...     mx.test_utils.get_mnist_pkl()
    >>> [path.name for path in Path("data").iterdir()]
    ['mnist.pkl.gz']
    """
    target = Path("data") / "mnist.pkl.gz"
    if target.exists():
        return
    with naming("make the folder", target.parent):
        target.parent.mkdir(exist_ok=True)
    mnist = get_mnist()

    def select_rows(part, rows):
        images, classes = mnist[f"{part}_data"][rows], mnist[f"{part}_label"][rows]
        return images.reshape(len(images), 28 * 28), classes.astype(np.int64)

    parts = (
        select_rows("train", slice(None, 50_000)),
        select_rows("train", slice(50_000, None)),
        select_rows("test", slice(None)),
    )
    write_atomically(target, gzip.compress(pickle.dumps(parts, protocol=2), 1))


def download_model(
    model_name: str, dst_dir: FileName = "./", meta_info: dict[str, dict[str, str]] | None = None
) -> tuple[str | None, int]:
    """Fetch the symbol and the parameters of a network.

    Parameters
    ----------
    model_name : str
        Name of the network in `meta_info`.
    dst_dir : str
        Folder of the files.
    meta_info : dict
        Addresses of each network, ``{"symbol": ..., "params": ...}``. MXNet's own server is gone,
        so there is no default.

    Returns
    -------
    (str, int)
        What ``mx.model.load_checkpoint`` takes; ``(None, 0)`` for a name that `meta_info` lacks.

    Raises
    ------
    ArgumentError
        If there is no `meta_info`, or it lacks one of the two addresses.
    FileError
        If a file cannot be downloaded.

    Examples
    --------
    >>> from pathlib import Path
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> values = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros((2,))}
    >>> mx.model.save_checkpoint("served", 0, net, values, {})
    >>> addresses = {kind: Path(f"served-{kind}").absolute().as_uri() for kind in
    ...              ("symbol.json", "0000.params")}
    >>> where = {"small": {"symbol": addresses["symbol.json"], "params": addresses["0000.params"]}}
    >>> prefix, epoch = mx.test_utils.download_model("small", "models", where)
    >>> prefix, mx.model.load_checkpoint(prefix, epoch)[0].list_outputs()
    ('models/small', ['fc_output'])
    """
    if meta_info is None:
        raise ArgumentError(
            f"download_model: give meta_info, the addresses of {shown(model_name)}; the server that"
            " MXNet loads from is gone"
        )
    if model_name not in meta_info:
        return None, 0
    prefix = os.path.join(file_name(dst_dir, "download_model: dst_dir"), model_name)
    for kind, end in (("symbol", "-symbol.json"), ("params", "-0000.params")):
        if kind not in meta_info[model_name]:
            raise ArgumentError(f"download_model: meta_info of {model_name} has no {kind!r}")
        download(meta_info[model_name][kind], fname=prefix + end)
    return prefix, 0


def get_im2rec_path(home_env: str = "MXNET_HOME") -> str:
    """Return the path of the program that packs images into records (``python PATH ...``).

    Parameters
    ----------
    home_env : str
        Part of MXNet's signature; the program is the one of this cynet in any case.

    Examples
    --------
    >>> import os
    >>> os.path.basename(mx.test_utils.get_im2rec_path())
    'im2rec.py'
    """
    return str(Path(__file__).parent.parent / "tools" / "im2rec.py")


def get_zip_data(data_dir: FileName, url: str, data_origin_name: str) -> None:
    """Download a zip archive into a folder, unless it exists, and unpack it there.

    Parameters
    ----------
    data_dir : str
        Folder of the archive, made if it is missing.
    url : str
        Address of the archive.
    data_origin_name : str
        Name of the archive's file.

    Raises
    ------
    FileError
        If the archive cannot be downloaded.
    FormatError
        If it is damaged; nothing is unpacked then.

    Examples
    --------
    >>> import zipfile
    >>> from pathlib import Path
    >>> with zipfile.ZipFile("served.zip", "w") as archive:
    ...     archive.writestr("words/a.txt", "alpha")
    >>> mx.test_utils.get_zip_data("data", Path("served.zip").absolute().as_uri(), "words.zip")
    >>> Path("data/words/a.txt").read_text()
    'alpha'
    """
    import zipfile  # imported late: rarely needed

    path = download(url, data_origin_name, data_dir)
    # the file is complete before it is moved into place
    with tempfile.TemporaryDirectory(dir=data_dir) as made:
        try:
            with zipfile.ZipFile(path) as archive:
                archive.extractall(made)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise FormatError(f"{path}: {error}") from None
        for folder, _, names in os.walk(made):
            place = os.path.join(data_dir, os.path.relpath(folder, made))
            os.makedirs(place, exist_ok=True)
            for name in names:
                os.replace(os.path.join(folder, name), os.path.join(place, name))


def get_bz2_data(data_dir: FileName, data_name: str, url: str, data_origin_name: str) -> None:
    """Download a bz2 file into a folder and unpack it there, unless `data_name` exists.

    Parameters
    ----------
    data_dir : str
        Folder of the file, made if it is missing.
    data_name : str
        Name of the unpacked file.
    url : str
        Address of the packed file.
    data_origin_name : str
        Name of the packed file, which is removed.

    Raises
    ------
    FileError
        If the file cannot be downloaded.
    FormatError
        If it is damaged.

    Examples
    --------
    >>> import bz2
    >>> from pathlib import Path
    >>> _ = Path("served.bz2").write_bytes(bz2.compress(b"1 2:0.5"))
    >>> address = Path("served.bz2").absolute().as_uri()
    >>> Path("data").mkdir()
    >>> mx.test_utils.get_bz2_data("data", "a9a", address, "a9a.bz2")
    >>> Path("data/a9a").read_text()
    '1 2:0.5'
    """
    import bz2  # imported late: rarely needed

    target = os.path.join(data_dir, data_name)
    if os.path.exists(target):
        return
    path = download(url, data_origin_name, data_dir)
    try:
        content = bz2.decompress(read_file(path))
    except (OSError, ValueError) as error:
        raise FormatError(f"{path}: {error}") from None
    write_atomically(target, content)
    os.remove(path)


def get_cifar10() -> None:
    """Put CIFAR-10 as record files into ``data/cifar`` of the current folder.

    They are downloaded if one of ``train.rec``, ``test.rec``, ``train.lst`` and ``test.lst`` is
    missing.

    Raises
    ------
    FileError
        One line, if they cannot be downloaded.

    Examples
    --------
    >>> from pathlib import Path
    >>> Path("data/cifar").mkdir(parents=True)
    >>> for name in "train.rec", "test.rec", "train.lst", "test.lst":
    ...     Path("data/cifar", name).touch()
    >>> mx.test_utils.get_cifar10()  # the files exist: nothing is downloaded
    """
    folder = os.path.join("data", "cifar")
    names = ("train.rec", "test.rec", "train.lst", "test.lst")
    if not all(os.path.exists(os.path.join(folder, name)) for name in names):
        get_zip_data("data", "http://data.mxnet.io/mxnet/data/cifar10.zip", "cifar10.zip")
