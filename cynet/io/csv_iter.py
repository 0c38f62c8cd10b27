"""CSVIter: batches from comma-separated text."""

from __future__ import annotations

import functools
import io
import itertools
import math
import os
import re
from typing import TYPE_CHECKING

import numpy as np

from ..base.dtype import dtype_flag, numpy_dtype
from ..base.errors import ArgumentError, CynetError, FormatError, ShapeError, shown
from ..base.files import file_name
from ..base.kinds import to_index
from .rows_iter import RowsIter, checked_batch_size, checked_flag, checked_shape
from .unpack import expected_compression, read_unpacked_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import DTypeLike, FileName, ShapeLike

_MAX_NUMBER_CHARACTERS = 400  # enough for a float64 with spaces around it
_MAX_COMMENT_CHARACTERS = 1024  # of a line, beside its numbers
_MAX_LINE_CHARACTERS = 1 << 24  # limit if only some columns are read
_MISSING_TEXTS = ("", "NA", "N/A", "na", "null", "NULL")  # cells without a number
_BLOCK_CHARACTERS = 1 << 20  # read at once
# An unpacked file may exceed one of two limits: bytes, and a multiple of the compressed size.
_MAX_UNCHECKED_BYTES = 64 << 20  # of an unpacked file
_MAX_SIZE_RATIO = 200  # unpacked size to compressed size


class CSVIter(RowsIter):
    r"""Iterates over batches from CSV files, one example per line.

    Parameters
    ----------
    data_csv : str
        Path of the data, plain or compressed by gzip, bzip2 or xz.
    data_shape : tuple of int
        Shape of one example; its size is the number of columns.
    label_csv : str, optional
        Path of the labels; if it is not given, labels are 0.
    round_batch : bool
        The last batch is filled up from the beginning either way; with `round_batch` the next epoch
        starts after the rows that were used for it.
    dtype : str or numpy.dtype, optional
        Type of data and labels; float32 if it is None.
    skip_header : int
        Number of lines at the beginning of each file that are not examples.
    missing : float, optional
        Value of a field that is empty or ``NA``; if it is not given, such a field is an error.
    usecols, label_usecols : list of int, optional
        Columns of the data and of the labels, from 0; all by default. If both are given, data and
        labels may be in one file.

    Raises
    ------
    FileError
        When a file cannot be read; also the OSError of its kind.
    FormatError, ShapeError
        When it is damaged, holds something else than numbers or another number of columns (the
        message names the line), or a compressed file holds more than 64 MB and more than 200 times
        its size.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("points.csv").write_text("x,y,class\n0.5,1,0\n2,,1\n3,0.25,1\n")
    >>> batches = mx.io.CSVIter("points.csv", (2,), "points.csv", batch_size=2, skip_header=1,
    ...                         missing=0, usecols=[0, 1], label_usecols=[2])
    >>> for batch in batches:
    ...     print(batch.data[0].asnumpy().tolist(), batch.label[0].asnumpy().tolist(), batch.pad)
    [[0.5, 1.0], [2.0, 0.0]] [0.0, 1.0] 0
    [[3.0, 0.25], [0.5, 1.0]] [1.0, 0.0] 1
    """

    def __init__(
        self,
        data_csv: FileName,
        data_shape: ShapeLike,
        label_csv: FileName | None = None,
        label_shape: ShapeLike = (1,),
        batch_size: int = 1,
        round_batch: bool = True,
        dtype: DTypeLike | None = "float32",
        data_name: str = "data",
        label_name: str = "softmax_label",
        prefetch_buffer: int = 4,
        ctx: str = "gpu",
        skip_header: int = 0,
        missing: float | None = None,
        usecols: Sequence[int] | int | None = None,
        label_usecols: Sequence[int] | int | None = None,
    ) -> None:
        batch_size = checked_batch_size(batch_size, "CSVIter")
        data_shape = checked_shape("data_shape", data_shape, "CSVIter")
        label_shape = checked_shape("label_shape", label_shape, "CSVIter")
        dtype = numpy_dtype(dtype_flag("float32" if dtype is None else dtype))
        skipped = to_index("CSVIter: skip_header", skip_header, "a number of lines")
        if skipped < 0:
            raise ArgumentError(f"CSVIter: skip_header is 0 or more, got {skipped}")
        missing = None if missing is None else float(missing)
        data_columns = _column_indices("usecols", usecols, data_shape)
        label_columns = _column_indices("label_usecols", label_usecols, label_shape)
        data = _read_table(data_csv, data_shape, dtype, skipped, missing, data_columns)
        if label_csv in (None, "NULL"):
            label = np.zeros((len(data), *label_shape), dtype)
        else:
            label = _read_table(label_csv, label_shape, dtype, skipped, missing, label_columns)
        if len(data) != len(label):
            raise ShapeError(
                f"CSVIter: {len(data)} rows of data in '{data_csv}',"
                f" {len(label)} rows of labels in '{label_csv}'"
            )
        if label_shape == (1,):
            label = label[:, 0]
        last = "round" if checked_flag("round_batch", round_batch, "CSVIter") else "pad"
        super().__init__(data, label, batch_size, last, (data_name, label_name))


def _column_indices(what, given, shape):
    """Return the indices of selected columns, one for each element of an example; None for all."""
    if given is None:
        return None
    given = given if hasattr(given, "__iter__") and not isinstance(given, str) else [given]
    columns = [to_index(f"CSVIter: {what}", each) for each in given]
    if len(columns) != math.prod(shape) or min(columns) < 0:
        raise ShapeError(
            f"CSVIter: {what} are {math.prod(shape)} columns from 0 on for shape {shape}, got"
            f" {shown(columns)}"
        )
    return columns


def _line_blocks(text, name, shape, columns):
    """Yield the lines of a CSV file, as a list for each block that is read.

    No more is read than the shape of an example accounts for: a line has so many numbers, and a
    number a bounded number of characters.
    """
    longest = _MAX_NUMBER_CHARACTERS * math.prod(shape) + _MAX_COMMENT_CHARACTERS
    if columns is not None:  # a line may have more columns
        longest = max(longest, _MAX_LINE_CHARACTERS)
    rest = ""
    while block := text.read(_BLOCK_CHARACTERS):
        lines = (rest + block).split("\n")
        if max(map(len, lines)) > longest:
            raise FormatError(
                f"CSVIter: '{name}' has a line of more than {longest} characters; shape {shape}"
                f" takes {math.prod(shape)} numbers a line"
            )
        rest = lines.pop()
        yield lines
    yield [rest]


def _check_unpacked_size(file, name):
    """Refuse a file that unpacks to far more than its compressed size."""
    maximum, total = max(_MAX_UNCHECKED_BYTES, _MAX_SIZE_RATIO * os.path.getsize(name)), 0
    while block := file.read(_BLOCK_CHARACTERS):
        total += len(block)
        if total > maximum:
            raise FormatError(
                f"CSVIter: '{name}' holds more than {maximum >> 20} MB, more than {_MAX_SIZE_RATIO}"
                " times the size of the compressed file; if that is meant, unpack it first"
            )
    file.seek(0)


def _read_table(path, shape, dtype, skipped, missing, columns):
    """Read the table in a CSV file, one example per line."""
    name = file_name(path, "CSVIter: a file name")
    with read_unpacked_file(name) as (file, packer):
        kind = expected_compression(name)
        if kind and packer is None:
            raise FormatError(f"CSVIter: '{name}' should be a {kind} file by its name, and is none")
        if packer and file.seekable():
            _check_unpacked_size(file, name)
        text = io.TextIOWrapper(file, encoding="utf-8-sig")
        try:
            table = _parse_table(text, name, shape, dtype, skipped, missing, columns)
        except CynetError:
            raise
        except (ValueError, OverflowError) as error:
            hint = _cell_error_hint(str(error), skipped, missing)
            raise FormatError(f"CSVIter: '{name}': {error}{hint}") from None
        finally:
            text.detach()
    return table.reshape(len(table), *shape)


def _cell_error_hint(message, skipped, missing):
    """Return a hint for an error about a cell that is not a number."""
    if "could not convert" not in message:
        return ""
    if not skipped and " at row 0," in message:
        return " skip_header=1 leaves out a first line of names"
    cell = re.search(r"convert string '(.*?)'", message)
    if cell is not None and cell[1].strip() in _MISSING_TEXTS and missing is None:
        return " missing=0 takes empty cells for 0; usecols chooses columns"
    return " usecols chooses columns of numbers"


def _parse_field(missing, text):
    if "_" in text:  # Python takes 1_0 for 10
        raise FormatError(f"could not convert string {text!r}")
    return missing if text.strip() in _MISSING_TEXTS else float(text)


def _parse_table(text, name, shape, dtype, skipped, missing, columns):
    lines = itertools.chain.from_iterable(_line_blocks(text, name, shape, columns))
    for _ in range(skipped):
        next(lines, None)
    first = next((line for line in lines if line.partition("#")[0].strip()), None)
    if first is None:
        raise FormatError(f"CSVIter: '{name}' has no line with numbers")
    found, wanted = first.partition("#")[0].count(",") + 1, math.prod(shape)
    if columns is None and found != wanted:
        raise ShapeError(
            f"CSVIter: rows of '{name}' have {found} columns, shape {shape} takes {wanted}; usecols"
            " chooses among them"
        )
    if columns is not None and max(columns) >= found:
        raise ShapeError(f"CSVIter: rows of '{name}' have no column {max(columns)}, but {found}")
    more = {} if columns is None else {"usecols": columns}
    if missing is not None:
        read = functools.partial(_parse_field, missing)
        more |= {"converters": dict.fromkeys(range(found), read), "encoding": None}
    return np.loadtxt(itertools.chain([first], lines), dtype, delimiter=",", ndmin=2, **more)
