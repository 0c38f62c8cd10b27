"""MNIST, FashionMNIST, CIFAR10 and CIFAR100, from local files or downloaded and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .... import ndarray as nd
from ....base.errors import FormatError, UndefinedError
from ....io import read_idx
from ..dataset import _DownloadedDataset
from .downloads import find_cifar, find_fashion_mnist, find_mnist
from .images import ImageFolderDataset, ImageRecordDataset

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....typing import FileName

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "MNIST",
    "FashionMNIST",
    "ImageFolderDataset",
    "ImageRecordDataset",
]

_DATASETS_FOLDER = "~/.mxnet/datasets/"


class _ImageDataset(_DownloadedDataset):
    """Base of data sets of images and labels in memory."""

    def _get_data(self):
        images, labels = self._read_arrays()
        self._data = nd.array(images, dtype="uint8")
        self._label = labels.astype(np.int32)

    def _read_arrays(self):
        """Return NumPy arrays (images (N, H, W, C) of uint8, labels (N,))."""
        raise UndefinedError(f"{type(self).__name__} defines no _read_arrays")

    def _array_fields(self):
        """Return arrays of all samples, one per field; a sample is a tuple."""
        plain = self._transform is None and type(self).__getitem__ is _ImageDataset.__getitem__
        return ([self._data, self._label], True) if plain else None


class MNIST(_ImageDataset):
    """Handwritten digits: images (28, 28, 1) of uint8, labels from 0 to 9.

    Parameters
    ----------
    root : str
        Folder of the IDX files, plain or .gz. Where it has none, those that
        ``mx.test_utils.get_mnist`` finds; where there are none either, they are downloaded into it.
    train : bool
        True for the 60,000 images of the training set, False for the 10,000 of the test set.
    transform : callable, optional
        Called as ``transform(image, label)``; returns the sample.

    Examples
    --------
    Files of one picture each, in the form of those of MNIST:

    >>> import struct
    >>> for part in ("train", "t10k"):
    ...     with open(f"{part}-images-idx3-ubyte", "wb") as file:
    ...         size = file.write(struct.pack(">4B3i", 0, 0, 8, 3, 1, 28, 28) + bytes(28 * 28))
    ...     with open(f"{part}-labels-idx1-ubyte", "wb") as file:
    ...         size = file.write(struct.pack(">4Bi", 0, 0, 8, 1, 1) + bytes([5]))
    >>> data = MNIST(".", train=False)
    >>> image, label = data[0]
    >>> len(data), image.shape, int(label)
    (1, (28, 28, 1), 5)
    """

    def __init__(
        self,
        root: FileName = _DATASETS_FOLDER + "mnist",
        train: bool = True,
        transform: Callable[..., Any] | None = None,
    ) -> None:
        self._train = train
        super().__init__(root, transform)

    def _find_files(self):
        return find_mnist(self._root)

    def _read_arrays(self):
        part, paths = ("train" if self._train else "t10k"), self._find_files()
        images = read_idx(paths[f"{part}-images-idx3-ubyte"])
        labels = read_idx(paths[f"{part}-labels-idx1-ubyte"])
        if images.ndim != 3 or labels.shape != images.shape[:1]:
            raise FormatError(
                f"{self._root}: images of shape {images.shape} and labels of {labels.shape} do not"
                " belong together"
            )
        return images[..., None], labels


class FashionMNIST(MNIST):
    """Pictures of clothes in MNIST's file format.

    Parameters
    ----------
    root : str
        Folder of the IDX files, plain or .gz; they are downloaded into it if they are neither there
        nor in CYNET_DATA_DIR/fashion-mnist.
    train, transform
        See :class:`MNIST`.

    Examples
    --------
    Files of one picture each, in the form of those of MNIST:

    >>> import struct
    >>> for part in ("train", "t10k"):
    ...     with open(f"{part}-images-idx3-ubyte", "wb") as file:
    ...         size = file.write(struct.pack(">4B3i", 0, 0, 8, 3, 1, 28, 28) + bytes(28 * 28))
    ...     with open(f"{part}-labels-idx1-ubyte", "wb") as file:
    ...         size = file.write(struct.pack(">4Bi", 0, 0, 8, 1, 1) + bytes([5]))
    >>> data = FashionMNIST(".", train=False)
    >>> image, label = data[0]
    >>> len(data), image.shape, int(label)
    (1, (28, 28, 1), 5)
    """

    def __init__(
        self,
        root: FileName = _DATASETS_FOLDER + "fashion-mnist",
        train: bool = True,
        transform: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(root, train, transform)

    def _find_files(self):
        return find_fashion_mnist(self._root)


class _Cifar(_ImageDataset):
    """Base of CIFAR10 and CIFAR100: records of labels and 3 x 32 x 32 bytes."""

    _labels = 1
    _namespace = _archive = _folder = ""

    def _read_records(self, names):
        width = self._labels + 3 * 32 * 32
        parts = []
        found = find_cifar(self._root, self._namespace, self._archive, self._folder, names)
        for name, content in found:
            if not content or len(content) % width:
                raise FormatError(
                    f"{name}: expected records of {width} bytes each, got {len(content)} bytes"
                )
            parts.append(np.frombuffer(content, np.uint8).reshape(-1, width))
        records = np.concatenate(parts)
        images = records[:, self._labels :].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return np.ascontiguousarray(images), records[:, : self._labels]


class CIFAR10(_Cifar):
    """Small pictures of 10 classes: images (32, 32, 3) of uint8, labels from 0 to 9.

    Parameters
    ----------
    root : str
        Folder of data_batch_1.bin to data_batch_5.bin and test_batch.bin, or of
        cifar-10-binary.tar.gz; that is downloaded into it if nothing is there or in CYNET_DATA_DIR.
    train, transform
        See :class:`MNIST`.

    Examples
    --------
    A file of one picture, in the form of those of CIFAR:

    >>> record = np.zeros(1 + 3 * 32 * 32, np.uint8)
    >>> record[0] = 7
    >>> record.tofile("test_batch.bin")
    >>> data = CIFAR10(".", train=False)
    >>> image, label = data[0]
    >>> len(data), image.shape, int(label)
    (1, (32, 32, 3), 7)
    """

    _namespace, _folder = "cifar10", "cifar-10-batches-bin"
    _archive = "cifar-10-binary.tar.gz"

    def __init__(
        self,
        root: FileName = _DATASETS_FOLDER + "cifar10",
        train: bool = True,
        transform: Callable[..., Any] | None = None,
    ) -> None:
        self._train = train
        super().__init__(root, transform)

    def _read_arrays(self):
        names = [f"data_batch_{i}.bin" for i in range(1, 6)] if self._train else ["test_batch.bin"]
        images, labels = self._read_records(names)
        return images, labels[:, 0]


class CIFAR100(_Cifar):
    """Small pictures of 100 classes in 20 groups: images (32, 32, 3) of uint8.

    Parameters
    ----------
    root : str
        Folder of train.bin and test.bin, or of cifar-100-binary.tar.gz; that is downloaded into it
        if nothing is there or in CYNET_DATA_DIR.
    fine_label : bool
        Labels are the 100 classes; else the 20 groups.
    train, transform
        See :class:`MNIST`.

    Examples
    --------
    A file of one picture, in the form of those of CIFAR:

    >>> record = np.zeros(2 + 3 * 32 * 32, np.uint8)
    >>> record[:2] = 19, 99  # the group and the class
    >>> record.tofile("test.bin")
    >>> [int(CIFAR100(".", fine, train=False)[0][1]) for fine in (False, True)]
    [19, 99]
    """

    _labels = 2
    _namespace, _folder = "cifar100", "cifar-100-binary"
    _archive = "cifar-100-binary.tar.gz"

    def __init__(
        self,
        root: FileName = _DATASETS_FOLDER + "cifar100",
        fine_label: bool = False,
        train: bool = True,
        transform: Callable[..., Any] | None = None,
    ) -> None:
        self._train = train
        self._fine_label = fine_label
        super().__init__(root, transform)

    def _read_arrays(self):
        images, labels = self._read_records(["train.bin" if self._train else "test.bin"])
        return images, labels[:, int(self._fine_label)]
