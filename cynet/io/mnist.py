"""IDX files (the format of MNIST) and MNISTIter."""

import gzip
import os
import struct
import zlib

import numpy as np

from ..errors import ArgumentError, FormatError, ShapeError
from .array_iter import NDArrayIter

_IDX_DTYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_LARGEST = 1 << 34  # bytes; more is a corrupt header


def read_idx(path):
    """The array in an IDX file, plain or gzip-compressed.

    Parameters
    ----------
    path : str
        A ``.gz`` ending is not needed: the first bytes tell.

    Returns
    -------
    numpy.ndarray
        Shape and dtype as the file says.

    Raises
    ------
    FormatError
        When the file is no IDX file, truncated, or longer than its header says.
    """
    with open(path, "rb") as file:
        content = file.read()
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise FormatError(f"{path}: the gzip stream is damaged: {error}") from None
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in _IDX_DTYPES:
        raise FormatError(f"{path} is no IDX file: it begins with {content[:4]!r}")
    dtype, ndim = np.dtype(_IDX_DTYPES[content[2]]), content[3]
    start = 4 + 4 * ndim
    if len(content) < start:
        raise FormatError(f"{path} is truncated: {len(content)} bytes, the header takes {start}")
    shape = struct.unpack(f">{ndim}I", content[4:start])
    size = dtype.itemsize
    for extent in shape:
        size *= extent
    if size > _LARGEST or len(content) != start + size:
        raise FormatError(f"{path}: shape {shape} needs {start + size} bytes, found {len(content)}")
    return np.frombuffer(content, dtype, offset=start).reshape(shape)


class MNISTIter(NDArrayIter):
    """Batches of MNIST from IDX files; a last batch that is not full is left out.

    Parameters
    ----------
    image, label : str
        Paths of the IDX files, plain or .gz.
    batch_size : int
    shuffle : bool
        Mix the examples once, in an order that `seed` fixes.
    flat : bool
        Images as rows of 784 instead of (1, 28, 28).
    seed : int
    silent : bool
        Accepted; nothing is printed in any case.
    num_parts, part_index : int
        Take one of several equal parts of the data.
    input_shape : tuple of int, optional
        Shape of one image, as an alternative to `flat`.
    data_name, label_name : str
    """

    def __init__(
        self,
        image,
        label,
        batch_size=128,
        shuffle=True,
        flat=False,
        seed=0,
        silent=False,
        num_parts=1,
        part_index=0,
        input_shape=None,
        data_name="data",
        label_name="softmax_label",
        **_,
    ):
        for path in (image, label):
            if not os.path.isfile(path):
                raise ArgumentError(f"MNISTIter: no file '{path}'")
        if not 0 <= part_index < num_parts:
            raise ArgumentError(
                f"MNISTIter: part_index {part_index} must be from 0 to"
                f" num_parts - 1 = {num_parts - 1}"
            )
        images, labels = read_idx(image), read_idx(label)
        if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
            raise ShapeError(
                "MNISTIter: images must have shape (N, rows, columns), labels (N,),"
                f" found {images.shape} and {labels.shape}"
            )
        order = np.arange(len(images))
        if shuffle:
            np.random.RandomState(seed).shuffle(order)
        part = len(order) // num_parts
        order = order[part * part_index : part * (part_index + 1)]
        pixels = images[order].astype(np.float32) / 256
        if input_shape is None:
            input_shape = (-1,) if flat else (1, *images.shape[1:])
        super().__init__(
            pixels.reshape(len(order), *input_shape),
            labels[order],
            batch_size,
            last_batch_handle="discard",
            data_name=data_name,
            label_name=label_name,
        )
