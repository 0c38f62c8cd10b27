"""RowsIter: batches from a file in memory; the base of CSVIter, LibSVMIter and MNISTIter."""

from __future__ import annotations

import ast
import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..ndarray import NDArray, array
from ..ndarray.sparse.convert import rows_at_indices
from .base import DataDesc
from .mx_data_iter import MXDataIter
from .positions import check_item_count, check_keys, read_position

if TYPE_CHECKING:
    from ..typing import NumpyArray

_MAX_COLUMNS = 1 << 31  # maximum of numbers in a row


class RowsIter(MXDataIter):  # batches of rows of a data and a label array
    """Iterates over batches of rows of a data and a label array.

    data, label: With as many rows.
    last: What becomes of a last batch that is not full: ``'round'`` fills it up from the beginning,
        and the next epoch starts after the rows that were used for it; ``'pad'`` fills it up;
        ``'discard'`` leaves it out.
    names: Of data and labels.
    """

    def __init__(
        self, data: NumpyArray, label: NumpyArray, batch_size: int, last: str, names: Any
    ) -> None:
        super().__init__(batch_size)
        self._data, self._label, self._last, self._names = data, label, last, names
        self._cursor = 0  # first row of the next batch

    @property
    def num_data(self) -> int:
        r"""Return the number of examples.

        Examples
        --------
        >>> from pathlib import Path
        >>> _ = Path("x.csv").write_text("1,2\n3,4\n5,6\n")
        >>> mx.io.CSVIter("x.csv", (2,), batch_size=2).num_data
        3
        """
        return len(self._data)

    @property
    def provide_data(self) -> list[DataDesc]:
        r"""Return a list with the `DataDesc` of the data.

        Examples
        --------
        >>> from pathlib import Path
        >>> _ = Path("x.csv").write_text("1,2\n3,4\n5,6\n")
        >>> mx.io.CSVIter("x.csv", (2,), batch_size=2).provide_data
        [DataDesc[data,(2, 2),<class 'numpy.float32'>,NCHW]]
        """
        return self._data_description(0, self._data)

    @property
    def provide_label(self) -> list[DataDesc]:
        r"""Return a list with the `DataDesc` of the labels.

        Examples
        --------
        >>> from pathlib import Path
        >>> _ = Path("x.csv").write_text("1,2\n3,4\n5,6\n")
        >>> mx.io.CSVIter("x.csv", (2,), batch_size=2, label_name="y").provide_label
        [DataDesc[y,(2,),<class 'numpy.float32'>,NCHW]]
        """
        return self._data_description(1, self._label)

    def _data_description(self, which, rows):
        dtype = np.dtype(rows.dtype).type
        return [DataDesc(self._names[which], (self.batch_size, *rows.shape[1:]), dtype)]

    def reset(self) -> None:
        over = max(self._cursor - self.num_data, 0) if self._last == "round" else 0
        self._cursor, self._batch = over % self.num_data, None

    def _load_batch(self) -> Any:
        left = self.num_data - self._cursor
        if left <= 0 or (self._last == "discard" and left < self.batch_size):
            return None
        rows = np.arange(self._cursor, self._cursor + self.batch_size) % self.num_data
        self._cursor += self.batch_size
        return rows

    def getdata(self) -> NDArray:
        """The current batch's data."""
        return _pick_rows(self._data, self._current_batch())

    def getlabel(self) -> NDArray:
        """The current batch's labels."""
        return _pick_rows(self._label, self._current_batch())

    def getindex(self) -> NumpyArray:
        """Return the indices of the current batch's rows, uint64."""
        return self._current_batch().astype(np.uint64)

    def getpad(self) -> int:
        self._current_batch()
        return max(self._cursor - self.num_data, 0)

    def state_dict(self) -> dict[str, int]:
        r"""Return the iterator's position, for `load_state_dict`.

        Returns
        -------
        dict of str to int
            ``'cursor'``, the row that the next batch begins with, and ``'rows'``, how many there
            are.

        Examples
        --------
        >>> from pathlib import Path
        >>> _ = Path("x.csv").write_text("1\n2\n3\n4\n")
        >>> batches = mx.io.CSVIter("x.csv", (1,), batch_size=2)
        >>> _ = batches.next()
        >>> batches.state_dict()
        {'cursor': 2, 'rows': 4}
        """
        return {"cursor": self._cursor, "rows": self.num_data}

    def load_state_dict(self, state: dict[str, int]) -> None:
        r"""Continue at the position from `state_dict`, with the same data.

        Raises
        ------
        FormatError
            If that is not a state of it, or one of another number of rows.

        Examples
        --------
        >>> from pathlib import Path
        >>> _ = Path("x.csv").write_text("1\n2\n3\n4\n")
        >>> before, after = (mx.io.CSVIter("x.csv", (1,), batch_size=2) for _ in range(2))
        >>> _ = before.next()
        >>> after.load_state_dict(before.state_dict())
        >>> after.next().data[0].asnumpy()
        array([[3.],
               [4.]], dtype=float32)
        """
        who = type(self).__name__
        check_keys(state, who, ("cursor", "rows"))
        check_item_count(state, "rows", who, self.num_data, "rows")
        cursor = read_position(state, "cursor", who, 0, self.num_data + self.batch_size - 1)
        self._cursor, self._batch = cursor, None


def _pick_rows(source, rows):
    if isinstance(source, NDArray):  # csr
        return rows_at_indices(source, rows)
    return array(source[rows], dtype=source.dtype)


def checked_shape(what, shape, name):
    """Check a shape, or one size; return a tuple of ints that are at least 1.

    It may be one int, or the text of either, ``"(3, 4)"``, as scripts hand options on.
    """
    try:
        if isinstance(shape, str):
            shape = ast.literal_eval(shape)
        shape = shape if hasattr(shape, "__iter__") else (shape,)
        sizes = tuple(operator.index(n) for n in shape)
    except (TypeError, ValueError, SyntaxError, MemoryError, RecursionError):
        raise ArgumentTypeError(
            f"{name}: {what} must be a tuple of ints, got {shown(shape)}"
        ) from None
    if not sizes or min(sizes) < 1 or math.prod(sizes) > _MAX_COLUMNS:
        raise ArgumentError(
            f"{name}: {what} must have sizes of at least 1 and at most {_MAX_COLUMNS} numbers,"
            f" got {shown(shape)}"
        )
    return sizes


def checked_batch_size(size, name):
    """Check a batch size; return an int that is at least 1."""
    sizes = checked_shape("batch_size", size, name)
    if len(sizes) != 1:
        raise ArgumentTypeError(f"{name}: batch_size must be an int, got {shown(size)}")
    return sizes[0]


def parse_flag(value):
    """Convert a flag, or its string from a script's option, to bool."""
    if isinstance(value, str):
        if value.lower() not in ("true", "false", "0", "1"):
            raise ArgumentError(f"True or False is expected, got {shown(value)}")
        return value.lower() in ("true", "1")
    return bool(value)


def checked_flag(what, value, name):
    """Check the option `what` of an iterator; return a bool."""
    try:
        return parse_flag(value)
    except ArgumentError as error:
        raise ArgumentError(f"{name}: {what}: {error}") from None


def check_float32(dtype, name):
    """Refuse a `dtype` other than None or float32, for iterators with float32 only."""
    if dtype is not None and np.dtype(dtype) != np.float32:
        raise ArgumentError(f"{name}: dtype is float32 or None, got {shown(dtype)}")


def resolve_data_part(num_parts, part_index, name):
    """Return (num_parts, part_index); a KVStore as `num_parts` means one part for each rank."""
    if not hasattr(num_parts, "num_workers"):
        return num_parts, part_index
    if part_index not in (0, num_parts.rank):
        raise ArgumentError(
            f"{name}: num_parts is a KVStore, so part_index is its rank, {num_parts.rank}; got"
            f" {shown(part_index)}"
        )
    return num_parts.num_workers, num_parts.rank


def check_part(part_index, num_parts, name):
    """Raise unless `part_index` is below `num_parts`."""
    for what, value in (("part_index", part_index), ("num_parts", num_parts)):
        if not isinstance(value, int):
            raise ArgumentTypeError(f"{name}: {what} must be an int, got {shown(value)}")
    if not 0 <= part_index < num_parts:
        raise ArgumentError(
            f"{name}: part_index {part_index} must be from 0 to num_parts - 1 = {num_parts - 1}"
        )
