"""LibSVMIter: batches from text files in LibSVM's format, as csr matrices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import FormatError, ShapeError, shown
from ..base.files import file_name, open_for_reading
from ..ndarray.sparse import csr_matrix
from .rows_iter import (
    RowsIter,
    check_float32,
    check_part,
    checked_batch_size,
    checked_flag,
    checked_shape,
    resolve_data_part,
)

if TYPE_CHECKING:
    from ..kvstore import KVStoreBase
    from ..typing import DTypeLike, FileName, ShapeLike


class LibSVMIter(RowsIter):
    r"""Iterates over batches from LibSVM files, one example per line: ``label index:value
    index:value ...`` with indices from 0. Data are csr matrices, and so are labels of a file of
    their own.

    Parameters
    ----------
    data_libsvm : str
        Path of the data.
    data_shape : tuple of int
        Shape of one example: the number of indices. One of several axes makes dense arrays.
    label_libsvm : str, optional
        Path of labels in the same format, whose own labels are not used; without it the first
        number of each line of `data_libsvm` is the label.
    round_batch : bool
        See :class:`CSVIter`.
    num_parts, part_index : int
        Number of parts that the examples are split into, and which of them to read; a KVStore as
        `num_parts` is one part for each of its ranks.
    dtype : str, optional
        ``'float32'``, or None for the same.

    Raises
    ------
    FormatError
        When a line is damaged, an index too large or twice in its line; the message names file
        and line.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("words.txt").write_text("1 0:0.5 3:2\n0 1:1\n1 2:4\n0 0:1 1:1\n")
    >>> batches = mx.io.LibSVMIter("words.txt", data_shape=(4,), batch_size=2)
    >>> first = batches.next()
    >>> first.data[0].stype, first.label[0].asnumpy()
    ('csr', array([1., 0.], dtype=float32))
    >>> first.data[0].asnumpy()
    array([[0.5, 0. , 0. , 2. ],
           [0. , 1. , 0. , 0. ]], dtype=float32)
    """

    def __init__(
        self,
        data_libsvm: FileName,
        data_shape: ShapeLike,
        label_libsvm: FileName | None = None,
        label_shape: ShapeLike = (1,),
        batch_size: int = 1,
        round_batch: bool = True,
        num_parts: int | KVStoreBase = 1,
        part_index: int = 0,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: DTypeLike | None = None,
        prefetch_buffer: int = 4,
        ctx: str = "gpu",
    ) -> None:
        check_float32(dtype, "LibSVMIter")
        num_parts, part_index = resolve_data_part(num_parts, part_index, "LibSVMIter")
        check_part(part_index, num_parts, "LibSVMIter")
        batch_size = checked_batch_size(batch_size, "LibSVMIter")
        data_shape = checked_shape("data_shape", data_shape, "LibSVMIter")
        label_shape = checked_shape("label_shape", label_shape, "LibSVMIter")
        data, label = _read_examples(data_libsvm, data_shape)
        if label_libsvm not in (None, "NULL"):
            label, _ = _read_examples(label_libsvm, label_shape)
            if len(data) != len(label):
                raise ShapeError(f"LibSVMIter: {len(data)} lines of data, {len(label)} of labels")
        elif label_shape != (1,):
            raise ShapeError(f"LibSVMIter: label_shape {label_shape} needs label_libsvm")
        each = -(-len(data) // num_parts)
        part = slice(part_index * each, (part_index + 1) * each)
        if not len(data[part]):
            raise FormatError(f"LibSVMIter: there are no examples for part {part_index}")
        last = "round" if checked_flag("round_batch", round_batch, "LibSVMIter") else "pad"
        super().__init__(data[part], label[part], batch_size, last, (data_name, label_name))


def _read_examples(path, shape):
    """Read a file; return (examples as csr, labels at the beginning of each line)."""
    name, size = file_name(path, "LibSVMIter: a file name"), math.prod(shape)
    numbers, rows, columns, values = [], [], [], []
    with open_for_reading(name) as file:
        for line_number, line in enumerate(file, 1):
            words = line.partition(b"#")[0].split()
            if not words:
                continue
            try:
                if b"_" in line.partition(b"#")[0]:  # Python takes 1_0 for 10
                    raise FormatError(f"expected 'label index:value ...', got {shown(line)}")
                seen = len(columns)
                for word in words[1:]:
                    index, _, value = word.partition(b":")
                    column = int(index)
                    if not 0 <= column < size:
                        raise FormatError(f"index {column} of {size}")
                    columns.append(column)
                    values.append(float(value))
                if len({*columns[seen:]}) < len(columns) - seen:
                    raise FormatError(f"an index comes twice: {sorted(columns[seen:])}")
                rows += [len(numbers)] * (len(columns) - seen)
                numbers.append(float(words[0]))
            except ValueError as error:
                raise FormatError(
                    f"LibSVMIter: {shown(name)}, line {line_number}: {error}"
                ) from None
    if not numbers:
        raise FormatError(f"LibSVMIter: {shown(name)} has no lines")
    with np.errstate(over="ignore"):  # too large values become infinite
        values = np.array(values, np.float64).astype(np.float32)
        first = np.array(numbers, np.float64).astype(np.float32)
    if len(shape) == 1:
        coordinates = np.array(rows, np.int64), np.array(columns, np.int64)
        return csr_matrix((values, coordinates), shape=(len(numbers), size)), first
    table = np.zeros((len(numbers), size), np.float32)
    table[rows, columns] = values
    return table.reshape(-1, *shape), first
