"""RecordFileDataset: the records of a file with an index."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...base.errors import BoundsError, shown
from ...base.files import file_name
from ...base.guard import guarded
from ...recordio import MXIndexedRecordIO
from . import dataset
from .dataset import Dataset

if TYPE_CHECKING:
    from ...typing import FileName


@guarded(but=("__len__",))
class RecordFileDataset(Dataset):
    """The records (bytes) of a file with an index.

    Worker threads and processes of a DataLoader may read it at once.

    Parameters
    ----------
    filename : str
        The file of records, ``NAME.rec``; its index is ``NAME.idx``.

    Raises
    ------
    FileError
        When one of them cannot be read.
    FormatError
        When a record is damaged; the message names file and offset.

    Examples
    --------
    >>> with mx.recordio.MXIndexedRecordIO("data.idx", "data.rec", "w") as writer:
    ...     for i, text in enumerate([b"first", b"second"]):
    ...         writer.write_idx(i, text)
    ...
    >>> data = mx.gluon.data.RecordFileDataset("data.rec")
    >>> len(data), data[1]
    (2, b'second')
    """

    def __init__(self, filename: FileName) -> None:
        self.filename = file_name(filename)
        self.idx_file = os.path.splitext(self.filename)[0] + ".idx"
        self._record = MXIndexedRecordIO(self.idx_file, self.filename, "r")

    def __getitem__(self, idx: int) -> bytes:
        try:
            key = self._record.keys[idx]
        except IndexError:
            raise BoundsError(
                f"record {idx} of {shown(self.filename)}, whose index has {len(self)}"
            ) from None
        return self._record.read_idx(key)

    def __len__(self) -> int:
        return len(self._record.keys)


vars(dataset)["RecordFileDataset"] = RecordFileDataset  # MXNet's module of the class
