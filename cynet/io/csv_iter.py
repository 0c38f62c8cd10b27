"""CSVIter: batches from comma-separated text."""

import os

import numpy as np

from ..errors import ArgumentError, FormatError, ShapeError
from ..ndarray import array
from .base import DataDesc, DataIter


class CSVIter(DataIter):
    """Batches from CSV files, one example a line.

    Parameters
    ----------
    data_csv : str
        Path of the data.
    data_shape : tuple of int
        Shape of one example; its size is the number of columns.
    label_csv : str, optional
        Path of the labels; without it labels are 0.
    label_shape : tuple of int
    batch_size : int
    round_batch : bool
        The last batch is filled up from the beginning either way; with `round_batch` the next epoch
        starts behind the rows that were used for it.
    dtype : numpy dtype
    data_name, label_name : str
    """

    def __init__(
        self,
        data_csv,
        data_shape,
        label_csv=None,
        label_shape=(1,),
        batch_size=1,
        round_batch=True,
        dtype="float32",
        data_name="data",
        label_name="softmax_label",
        **_,
    ):
        super().__init__(batch_size)
        self._data = _read(data_csv, data_shape, dtype)
        if label_csv in (None, "NULL"):
            self._label = np.zeros((len(self._data), *label_shape), dtype)
        else:
            self._label = _read(label_csv, label_shape, dtype)
        if len(self._data) != len(self._label):
            raise ShapeError(
                f"CSVIter: {len(self._data)} rows of data in '{data_csv}',"
                f" {len(self._label)} rows of labels in '{label_csv}'"
            )
        if batch_size < 1:
            raise ArgumentError(f"CSVIter: batch_size must be at least 1, got {batch_size}")
        if tuple(label_shape) == (1,):
            self._label = self._label[:, 0]
        self.round_batch = round_batch
        self._names = data_name, label_name
        self._first = 0
        self._cursor = -batch_size

    @property
    def provide_data(self):
        """DataDesc of the data."""
        return [
            DataDesc(
                self._names[0], (self.batch_size, *self._data.shape[1:]), self._data.dtype.type
            )
        ]

    @property
    def provide_label(self):
        """DataDesc of the labels."""
        return [
            DataDesc(
                self._names[1], (self.batch_size, *self._label.shape[1:]), self._label.dtype.type
            )
        ]

    def reset(self):
        self._first = self.getpad() if self.round_batch and self._cursor >= 0 else 0
        self._cursor = self._first - self.batch_size

    def iter_next(self):
        if self._cursor + self.batch_size >= len(self._data):
            return False
        self._cursor += self.batch_size
        return True

    def getindex(self):
        rows = np.arange(self._cursor, self._cursor + self.batch_size)
        return (rows % len(self._data)).astype(np.uint64)

    def getdata(self):
        return [array(self._data[self.getindex()], dtype=self._data.dtype)]

    def getlabel(self):
        return [array(self._label[self.getindex()], dtype=self._label.dtype)]

    def getpad(self):
        return max(self._cursor + self.batch_size - len(self._data), 0)


def _read(path, shape, dtype):
    if not os.path.isfile(path):
        raise ArgumentError(f"CSVIter: no file '{path}'")
    try:
        table = np.loadtxt(path, dtype=dtype, delimiter=",", ndmin=2)
    except ValueError as error:
        raise FormatError(f"CSVIter: '{path}': {error}") from None
    size = int(np.prod(shape))
    if table.shape[1] != size:
        raise ShapeError(
            f"CSVIter: rows of '{path}' have {table.shape[1]} columns, shape"
            f" {tuple(shape)} takes {size}"
        )
    return table.reshape(len(table), *shape)
