"""IDX files (the format of MNIST) and MNISTIter."""

from __future__ import annotations

import math
import os
import struct
from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import ArgumentError, FormatError, ShapeError, shown
from ..base.files import file_name
from ..base.guard import guarded
from ..ndarray import array
from .base import DataDesc
from .rows_iter import (
    RowsIter,
    check_float32,
    check_part,
    checked_batch_size,
    checked_flag,
    checked_shape,
    resolve_data_part,
)
from .unpack import read_exactly, read_unpacked_file

if TYPE_CHECKING:
    from ..kvstore import KVStoreBase
    from ..typing import DTypeLike, FileName, NDArray, NumpyArray, Shape

_IDX_DTYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_MAX_ARRAY_BYTES = 1 << 34  # more means a corrupt header
_MAX_AXES = 32  # the smallest limit of NumPy versions


@guarded
def read_idx(path: FileName) -> NumpyArray:
    """Read the array in an IDX file, plain or compressed by gzip, bzip2 or xz.

    Parameters
    ----------
    path : str
        Path of the file; its first bytes tell the compression, whatever its extension.

    Raises
    ------
    FormatError
        When the file is not an IDX file, damaged, truncated, or longer than its header says; no
        more is unpacked than that.
    FileError
        When it cannot be read; also the OSError of its kind.

    Examples
    --------
    An IDX file is two zeros, a code of the dtype (8: uint8), the number of axes, the shape, the
    data:

    >>> with open("numbers.idx", "wb") as file:
    ...     _ = file.write(bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3]) + bytes(range(6)))
    >>> read_idx("numbers.idx")
    array([[0, 1, 2],
           [3, 4, 5]], dtype=uint8)
    """
    name = file_name(path, "read_idx: a file name")
    with read_unpacked_file(name) as (file, packer):
        plain = packer is None and file.seekable()
        return _read_array(file, name, os.fstat(file.fileno()).st_size if plain else None)


def _read_array(file, name, size):
    """Read the array of an open IDX file; `size` in bytes is None for a compressed file."""
    start = file.read(4)
    if len(start) < 4 or start[:2] != b"\0\0" or start[2] not in _IDX_DTYPES:
        raise FormatError(f"{name}: expected an IDX file, got one that begins with {shown(start)}")
    dtype, ndim = np.dtype(_IDX_DTYPES[start[2]]), start[3]
    header = file.read(4 * ndim)
    if len(header) < 4 * ndim:
        raise FormatError(
            f"{name} is truncated: {4 + len(header)} bytes, the header takes {4 + 4 * ndim}"
        )
    shape = struct.unpack(f">{ndim}I", header)
    nbytes = dtype.itemsize * math.prod(shape)
    if ndim > _MAX_AXES or dtype.itemsize * math.prod(filter(None, shape)) > _MAX_ARRAY_BYTES:
        raise FormatError(f"{name}: no array has the shape {shown(shape)} that its header says")
    wanted = f"{name}: shape {shape} needs {4 + len(header) + nbytes} bytes"
    if size is not None and size != 4 + len(header) + nbytes:
        raise FormatError(f"{wanted}, found {size}")
    content = read_exactly(file, nbytes)
    if len(content) < nbytes:
        raise FormatError(f"{wanted}, found {4 + len(header) + len(content)}")
    if file.read(1):
        raise FormatError(f"{wanted}, found more")
    return np.frombuffer(content, dtype).reshape(shape)


class MNISTIter(RowsIter):
    """Iterates over batches of MNIST from IDX files; drops an incomplete last batch.

    Parameters
    ----------
    image, label : str
        Paths of the IDX files, plain or .gz.
    shuffle : bool
        Shuffle the examples once, in an order that `seed` decides.
    flat : bool
        Give images as rows of 784 instead of (1, 28, 28).
    seed : int
        Seed of the order.
    silent : bool
        Part of MXNet's signature; nothing is printed in any case.
    num_parts, part_index : int
        Number of equal parts of the data, and which of them to read; a KVStore as `num_parts` is
        one part for each of its ranks.
    input_shape, data_shape : tuple of int, optional
        Shape of one image, instead of `flat`; the two names mean the same.
    dtype : str, optional
        ``'float32'``, or None for the same.

    Raises
    ------
    ArgumentError
        `batch_size` is below 1, a flag is neither True nor False, `dtype` is not float32, or
        `part_index` is not below `num_parts`.
    ShapeError
        Shapes do not fit; the message has them.

    Examples
    --------
    Two small files stand in for those of MNIST:

    >>> def write(name, array):
    ...     head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes()
    ...     with open(name, "wb") as file:
    ...         _ = file.write(head + array.tobytes())
    >>> write("images", np.full((5, 28, 28), 128, "uint8"))
    >>> write("labels", np.arange(5, dtype="uint8"))
    >>> batches = mx.io.MNISTIter("images", "labels", batch_size=2, shuffle=False)
    >>> batches.provide_data
    [DataDesc[data,(2, 1, 28, 28),<class 'numpy.float32'>,NCHW]]
    >>> [batch.label[0].asnumpy().tolist() for batch in batches]
    [[0.0, 1.0], [2.0, 3.0]]
    """

    def __init__(
        self,
        image: FileName = "./train-images-idx3-ubyte",
        label: FileName = "./train-labels-idx1-ubyte",
        batch_size: int = 128,
        shuffle: bool = True,
        flat: bool = False,
        seed: int = 0,
        silent: bool = False,
        num_parts: int | KVStoreBase = 1,
        part_index: int = 0,
        input_shape: Shape | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: DTypeLike | None = None,
        prefetch_buffer: int = 4,
        ctx: str = "gpu",
        data_shape: Shape | None = None,
    ) -> None:
        check_float32(dtype, "MNISTIter")
        num_parts, part_index = resolve_data_part(num_parts, part_index, "MNISTIter")
        check_part(part_index, num_parts, "MNISTIter")
        batch_size = checked_batch_size(batch_size, "MNISTIter")
        images, labels = read_idx(image), read_idx(label)
        if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
            raise ShapeError(
                "MNISTIter: images must have shape (N, rows, columns), labels (N,),"
                f" found {images.shape} and {labels.shape}"
            )
        shuffle, flat = (
            checked_flag(what, value, "MNISTIter")
            for what, value in (("shuffle", shuffle), ("flat", flat))
        )
        shapes = [
            checked_shape(what, shape, "MNISTIter")
            for what, shape in (("input_shape", input_shape), ("data_shape", data_shape))
            if shape is not None
        ]
        order = np.arange(len(images))
        if shuffle:
            np.random.RandomState(seed).shuffle(order)
        bounds = (len(order) * i // num_parts for i in (part_index, part_index + 1))
        order = order[slice(*bounds)]
        if not shapes:
            shapes = [(math.prod(images.shape[1:]),) if flat else (1, *images.shape[1:])]
        for shape in shapes:
            if math.prod(shape) != math.prod(images.shape[1:]) or shape != shapes[0]:
                raise ShapeError(
                    f"MNISTIter: input_shape, data_shape {', '.join(map(shown, shapes))} for images"
                    f" of {images.shape[1:]}"
                )
        if len(order) < batch_size:
            raise ArgumentError(
                f"MNISTIter: batch_size {batch_size} is more than the {len(order)} images that"
                " there are"
            )
        super().__init__(
            images[order].reshape(len(order), *shapes[0]),
            labels[order].astype(np.float32),
            batch_size,
            "discard",
            (data_name, label_name),
        )

    @property
    def provide_data(self) -> list[DataDesc]:
        """Return a list with the `DataDesc` of the images, float32 from 0 to 255 / 256."""
        (desc,) = super().provide_data
        return [DataDesc(desc.name, desc.shape, np.float32)]

    def getdata(self) -> NDArray:
        """The current batch's images."""
        return array(self._data[self._current_batch()].astype(np.float32) / 256)
