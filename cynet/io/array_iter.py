"""NDArrayIter: batches from arrays in memory."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.dtype import name_of
from ..base.errors import (
    ArgumentError,
    ArgumentTypeError,
    FormatError,
    ShapeError,
    shown,
    warn_user,
)
from ..ndarray import NDArray, array
from ..ndarray.sparse.convert import rows_at_indices
from .base import DataBatch, DataDesc, DataIter
from .positions import check_keys, read_position, read_row_indices

if TYPE_CHECKING:
    from ..typing import IterData

_LAST_BATCH_MODES = ("pad", "discard", "roll_over")  # values of last_batch_handle


class NDArrayIter(DataIter):
    """Iterates over batches of arrays in memory.

    A batch of consecutive rows is a view and copies nothing; with `shuffle` the rows of a batch are
    gathered when the batch is read.

    Parameters
    ----------
    data : NDArray, numpy.ndarray, csr matrix of SciPy, list or dict of these, DataFrame, Dataset
        Arrays whose first axis is that of examples. NumPy arrays become float32, as by
        ``mx.nd.array``; the batches of a csr matrix are csr, too. A list of numbers is one array;
        any other list is one of arrays (or of lists that become arrays), named ``_0_data``,
        ``_1_data``, ..., as in MXNet; a dict is named by its keys, in sorted order, and so are the
        columns of a Dataset of the package ``datasets``. A DataFrame is one array.
    label : optional
        Labels, in the same form as `data`.
    shuffle : bool
        Draw a new order each epoch, from ``numpy.random``.
    last_batch_handle : str
        What to do with a last batch that is not full: ``'pad'`` fills it up with rows from the
        beginning, ``'discard'`` leaves it out, ``'roll_over'`` puts it at the start of the next
        epoch. If there are fewer rows than `batch_size`, ``'discard'`` gives no batch, with a
        warning; ``'roll_over'`` gives one when enough epochs have added up.
    data_name, label_name : str
        Names if `data` and `label` are single arrays.
    layout : str
        Layout of the data in ``provide_data``.

    Raises
    ------
    ArgumentError
        `batch_size` is below 1 or, with 'discard', above the number of rows, or
        `last_batch_handle` is not one of its names.
    ArgumentTypeError
        `batch_size` is not an int, or `data` or `label` cannot be made arrays.
    ShapeError
        Shapes do not fit; the message has them.

    Examples
    --------
    >>> it = NDArrayIter(np.arange(6).reshape(3, 2), np.arange(3), batch_size=2)
    >>> [(batch.data[0].shape, batch.label[0].asnumpy().tolist(), batch.pad) for batch in it]
    [((2, 2), [0.0, 1.0], 0), ((2, 2), [2.0, 0.0], 1)]
    """

    def __init__(
        self,
        data: IterData,
        label: IterData | None = None,
        batch_size: int = 1,
        shuffle: bool = False,
        last_batch_handle: str = "pad",
        data_name: str = "data",
        label_name: str = "softmax_label",
        layout: str = "NCHW",
    ) -> None:
        super().__init__(batch_size)
        if isinstance(batch_size, bool) or not isinstance(batch_size, (int, np.integer)):
            raise ArgumentTypeError(
                f"NDArrayIter: batch_size must be an int, got {shown(batch_size)}"
            )
        if batch_size < 1:
            raise ArgumentError(f"NDArrayIter: batch_size must be at least 1, got {batch_size}")
        if last_batch_handle not in _LAST_BATCH_MODES:
            raise ArgumentError(
                f"NDArrayIter: last_batch_handle must be one of"
                f" {', '.join(_LAST_BATCH_MODES)}, got {shown(last_batch_handle)}"
            )
        self.data = _init_data(data, False, data_name)
        self.label = _init_data(label, True, label_name)
        self.num_source = len(self.data) + len(self.label)
        self.num_data = self.data[0][1].shape[0]
        for name, values in self.data + self.label:
            if values.shape[0] != self.num_data:
                lists = isinstance(data, (list, tuple)) or isinstance(label, (list, tuple))
                hint = "; a list is one of several inputs, numpy.array(list) one input"
                raise ShapeError(
                    f"NDArrayIter: '{name}' has {values.shape[0]} rows,"
                    f" '{self.data[0][0]}' has {self.num_data}{hint if lists else ''}"
                )
        if self.num_data == 0:
            raise ShapeError(f"NDArrayIter: '{self.data[0][0]}' has no rows")
        if last_batch_handle == "discard" and self.num_data < batch_size:
            warn_user(
                f"NDArrayIter: batch_size {batch_size} with last_batch_handle='discard' gives no"
                f" batch of {self.num_data} rows"
            )
        self.last_batch_handle = last_batch_handle
        self.shuffle = shuffle
        self.layout = layout
        self.idx = np.arange(self.num_data)
        self._order = self.idx  # order of the rows
        self.cursor = -batch_size
        self._rolled = self._order[:0]  # rows left from the last epoch (roll_over)
        self._shuffle_rows()

    @property
    def provide_data(self) -> list[DataDesc]:
        """Return a list with the `DataDesc` of each data array; the first axis is the batch.

        Examples
        --------
        >>> two = {"image": np.zeros((6, 3, 8, 8)), "size": np.ones(6)}
        >>> NDArrayIter(two, batch_size=2).provide_data
        [DataDesc[image,(2, 3, 8, 8),<class 'numpy.float32'>,NCHW], DataDesc[size,(2,),<class
         'numpy.float32'>,NCHW]]
        """
        return [
            DataDesc(name, (self.batch_size, *values.shape[1:]), values.dtype, self.layout)
            for name, values in self.data
        ]

    @property
    def provide_label(self) -> list[DataDesc]:
        """Return a list with the `DataDesc` of each label array; empty without labels.

        Examples
        --------
        >>> NDArrayIter(np.ones((6, 2)), np.arange(6), batch_size=2).provide_label
        [DataDesc[softmax_label,(2,),<class 'numpy.float32'>,NCHW]]
        """
        return [
            DataDesc(name, (self.batch_size, *values.shape[1:]), values.dtype)
            for name, values in self.label
        ]

    def _shuffle_rows(self):
        if self.shuffle:
            self.idx = self.idx.copy()  # `state_dict` returned the old array
            np.random.shuffle(self.idx)
            # as in MXNet, permute the permuted rows: the same seed gives the same batches
            self._order = self._order[self.idx]

    def hard_reset(self) -> None:
        """Start over, and drop rows that were to roll over.

        Examples
        --------
        >>> batches = NDArrayIter(np.arange(5), batch_size=2, last_batch_handle="roll_over")
        >>> len(list(batches))
        2
        >>> batches.reset()
        >>> batches.next().data[0].asnumpy()  # the epoch begins with the row that was left over
        array([4., 0.], dtype=float32)
        >>> batches.hard_reset()
        >>> batches.next().data[0].asnumpy()
        array([0., 1.], dtype=float32)
        """
        self._rolled = self._order[:0]
        self._shuffle_rows()
        self.cursor = -self.batch_size

    def reset(self) -> None:
        """Start the next epoch, in a new order if the iterator shuffles."""
        left_over = self.num_data - self.cursor
        if self.last_batch_handle == "roll_over" and 0 < left_over < self.batch_size:
            both = np.concatenate([self._rolled, self._order])
            self._rolled = both[len(both) - left_over :]
            self.cursor = -self.batch_size - left_over
        else:
            self._rolled = self._order[:0]
            self.cursor = -self.batch_size
        self._shuffle_rows()

    def state_dict(self) -> dict[str, Any]:
        """Return the iterator's position, for `load_state_dict`.

        Returns
        -------
        dict
            An int and arrays of ints.

        Examples
        --------
        >>> batches = NDArrayIter(np.arange(4), batch_size=2)
        >>> _ = batches.next()
        >>> batches.state_dict()["cursor"]
        0
        """
        return {
            "idx": self.idx,
            "order": self._order,
            "rolled": self._rolled,
            "cursor": self.cursor,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue at the position from `state_dict`, with the same data.

        Raises
        ------
        FormatError
            If that is not a state of it, or one of another number of rows.

        Examples
        --------
        >>> before = NDArrayIter(np.arange(6), batch_size=2, shuffle=True)
        >>> after = NDArrayIter(np.arange(6), batch_size=2, shuffle=True)
        >>> _ = before.next()
        >>> after.load_state_dict(before.state_dict())
        >>> mx.test_utils.same(after.next().data[0], before.next().data[0])
        True
        """
        who, count, size = type(self).__name__, self.num_data, self.batch_size
        check_keys(state, who, ("idx", "order", "rolled", "cursor"))
        every = np.arange(count)
        idx, order = (read_row_indices(state, name, who, count, every) for name in ("idx", "order"))
        rolled = read_row_indices(state, "rolled", who, count)
        cursor = read_position(state, "cursor", who, 1 - 2 * size, count + size - 1)
        # the first row of the next or last batch
        begun = cursor + size if cursor < -size else cursor
        if -size < begun < 0 and len(rolled) != -begun:
            raise FormatError(
                f"expected a state of {who}, got one with {len(rolled)} rows rolled over"
            )
        self.idx, self._order, self._rolled, self.cursor = idx, order, rolled, cursor

    def iter_next(self) -> bool:
        padded = self.last_batch_handle == "pad"
        limit = self.num_data if padded else self.num_data - self.batch_size + 1
        if self.cursor < limit:
            self.cursor += self.batch_size
        return self.cursor < limit

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), None)

    def getdata(self) -> list[NDArray]:
        return self._read_batch_rows(self.data)

    def getlabel(self) -> list[NDArray]:
        return self._read_batch_rows(self.label)

    def getpad(self) -> int:
        """Return the number of padding rows at the end of the batch, without rows rolled over."""
        if self.last_batch_handle != "pad":
            return 0
        return max(self.cursor + self.batch_size - self.num_data, 0)

    def _read_batch_rows(self, sources):
        start, stop = self.cursor, self.cursor + self.batch_size
        if not self.shuffle and start >= 0 and stop <= self.num_data:
            return [values[start:stop] for _, values in sources]
        if start < 0:
            chosen = np.concatenate([self._rolled, self._order[:stop]])
        elif stop <= self.num_data:
            chosen = self._order[start:stop]
        else:
            chosen = np.take(self._order, np.arange(start, stop), mode="wrap")
        return [_gather_rows(values, chosen) for _, values in sources]


def _gather_rows(values, rows):
    """Copy rows into a new NDArray; NumPy reads them from the array's own memory."""
    if values.stype == "csr":
        return rows_at_indices(values.as_canonical(), rows)
    if name_of(values.dtype) == "bfloat16":  # NumPy lacks bfloat16
        return array(values.host_copy()[rows], dtype=values.dtype)
    return array(np.asarray(memoryview(values))[rows], dtype=values.dtype)


def _init_data(data, allow_empty, default_name):
    """Convert the user's data or labels to a sorted list of pairs (name, NDArray)."""
    if data is None or (isinstance(data, (list, tuple, dict)) and not data):
        if not allow_empty:
            raise ArgumentError(f"NDArrayIter: {default_name} must hold one or more arrays")
        return []
    # a data set or pyarrow table has column names
    if isinstance(names := getattr(data, "column_names", None), list):
        data = {name: data[name] for name in names}
    if isinstance(data, dict):
        named = dict(sorted(data.items()))
    elif isinstance(data, (list, tuple)) and not isinstance(data[0], numbers.Number):
        if len(data) == 1:
            named = {default_name: data[0]}
        else:
            named = {f"_{i}_{default_name}": each for i, each in enumerate(data)}
    else:
        named = {default_name: data}
    return [(name, _as_ndarray(name, values)) for name, values in named.items()]


def _as_ndarray(name, values):
    if not isinstance(values, NDArray):
        if isinstance(values, (str, bytes)) or not (
            hasattr(values, "shape") or hasattr(values, "__array__") or isinstance(values, Sequence)
        ):
            raise ArgumentTypeError(
                f"NDArrayIter: '{name}' must be an NDArray, a NumPy array or a list of numbers,"
                f" got {type(values).__name__}"
            )
        try:
            values = array(values)
        except (TypeError, ValueError) as error:
            raise ArgumentTypeError(
                f"NDArrayIter: '{name}' cannot become an NDArray: {error}"
            ) from None
    if values.stype == "row_sparse":
        raise ArgumentError(
            f"NDArrayIter: '{name}' is row_sparse, of which no batches are taken; give it as a csr"
            " matrix or a dense array"
        )
    if len(values.shape) == 0:
        raise ShapeError(f"NDArrayIter: '{name}' needs an axis of examples, got shape ()")
    return values
