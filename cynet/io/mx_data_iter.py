"""MXDataIter: the common base of iterators over files."""

from __future__ import annotations

from typing import Any

from ..base.errors import ArgumentTypeError, StateError, shown
from .base import DataBatch, DataIter


class MXDataIter(DataIter):  # base of iterators over files
    r"""Base of the iterators over files: CSV, LibSVM, MNIST and image records.

    ``getdata`` and ``getlabel`` give one NDArray each, as MXNet's do, not a list. Asked for before
    the first batch, or after the last one, they raise StateError.

    A subclass defines ``_load_batch``, which moves on and gives what it wants to know of the next
    batch, or None at the end; ``_current_batch`` gives it again.

    Raises
    ------
    ArgumentTypeError
        `batch_size` is not an int.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("x.csv").write_text("1\n2\n3\n4\n")
    >>> batches = mx.io.CSVIter("x.csv", (1,), batch_size=2)
    >>> isinstance(batches, mx.io.MXDataIter)
    True
    >>> batches.getdata()
    Traceback (most recent call last):
        ...
    cynet.errors.StateError: CSVIter is at no batch: call next or iter_next
    """

    def __init__(self, batch_size: int = 0) -> None:
        if not isinstance(batch_size, int):  # in MXNet this is a C++ handle
            raise ArgumentTypeError(
                "iterators over files are made by mx.io.CSVIter, mx.io.ImageRecordIter and their"
                f" kin; MXDataIter itself takes a batch_size, got {shown(batch_size)}"
            )
        super().__init__(batch_size)
        self._batch: Any = None
        self._same = False

    def _load_batch(self) -> Any:
        return None

    def _current_batch(self) -> Any:
        if self._batch is None:
            raise StateError(f"{type(self).__name__} is at no batch: call next or iter_next")
        return self._batch

    def debug_skip_load(self) -> None:
        r"""Return the next batch again and again from now on, to time a training without reading.

        That shows what training costs without loading.

        Examples
        --------
        >>> from pathlib import Path
        >>> _ = Path("x.csv").write_text("1\n2\n3\n4\n")
        >>> batches = mx.io.CSVIter("x.csv", (1,), batch_size=2)
        >>> batches.debug_skip_load()
        >>> [batches.next().data[0].asnumpy()[0, 0].item() for _ in range(5)]
        [1.0, 1.0, 1.0, 1.0, 1.0]
        """
        self._same = True

    def iter_next(self) -> bool:
        if not self._same or self._batch is None:
            self._batch = self._load_batch()
        return self._batch is not None

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        return DataBatch([self.getdata()], [self.getlabel()], self.getpad(), self.getindex())
